/* trace_format.c - names of the families and of the files of a trace. */
#include "host/util/trace_format.h"

#include <stdio.h>

#define X(WORD, NAME, ...) #NAME,
const char *const shi_family_name[SHI_FAMILIES] = {SHI_FOR_EACH_FAMILY(X)};
const char *const shi_way_name[SHI_WAYS] = {SHI_FOR_EACH_WAY(X)};
#undef X

char *shi_trace_part_name(const char *path, int pe)
{
    char *name;
    return asprintf(&name, "%s.%d.part", path, pe) < 0 ? NULL : name;
}

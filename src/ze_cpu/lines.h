/* lines.h - the source lines of a module's instructions, for race.h's library: kept only where there is one. */
#ifndef ZC_LINES_H
#define ZC_LINES_H

#include "ze_cpu/module.h"

/* While the module is lowered: the instructions from here on are of this line; file NULL: of none. */
void zc_lines_add(struct zc_module *m, const char *file, uint32_t line);
/* The module is lowered. */
void zc_lines_done(struct zc_module *m);
/* The line of an instruction; without a file, the instruction's number. */
struct zc_line zc_lines_of(const struct zc_module *m, const struct zc_ins *i);

#endif

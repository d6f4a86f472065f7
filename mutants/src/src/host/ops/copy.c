/* copy.c - strided copies. */
#include "host/ops/copy.h"

/* One element size a loop, so that the compiler makes each copy a move. */
#define COPY_ELEMENTS(B)                                                                                             \
    for (size_t i = 0; i < s->count; i++, to += s->dst * (B), from += s->sst * (B))                                  \
    memcpy(to, from, B)

void shi_copy_strided(char *to, const char *from, const struct shi_strided *s)
{
    size_t elem = s->block == 1 ? s->elem : 0, bytes = s->block * s->elem;
    switch (elem) {
    case 1: COPY_ELEMENTS(1); break;
    case 2: COPY_ELEMENTS(2); break;
    case 4: COPY_ELEMENTS(4); break;
    case 8: COPY_ELEMENTS(8); break;
    case 16: COPY_ELEMENTS(16); break;
    default:
        for (size_t i = 0; i < s->count; i++, to += s->dst * (ptrdiff_t)s->elem, from += s->sst * (ptrdiff_t)s->elem)
            shi_copy(to, from, bytes);
    }
}

/* lines.c - see lines.h. */
#include "ze_cpu/lines.h"

#include "ze_cpu/config.h"

void zc_lines_add(struct zc_module *m, const char *file, uint32_t line)
{
    if (zc_config.race)
        *zc_push(m, m->lines) = (struct zc_line){m->code.n, line, file};
}

void zc_lines_done(struct zc_module *m)
{
    if (zc_config.race)
        m->places = zc_keep(m, (m->code.n + 1) * sizeof *m->places);
}

struct zc_line zc_lines_of(const struct zc_module *m, const struct zc_ins *i)
{
    uint32_t at = (uint32_t)(i - m->code.v), lo = 0, hi = m->lines.n;
    while (lo < hi) { /* the last entry that begins before it */
        uint32_t mid = (lo + hi) / 2;
        if (m->lines.v[mid].pc <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo && m->lines.v[lo - 1].file ? m->lines.v[lo - 1] : (struct zc_line){.pc = at, .line = at};
}

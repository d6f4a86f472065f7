/*
 * trace_reader.h - what SHMEM_STATS and SHMEM_TRACE wrote, read back and summed for a picture: who sent how much to whom, and what
 * each PE did when.
 */
#ifndef OSHINFO_TRACE_READER_H
#define OSHINFO_TRACE_READER_H

#include <stddef.h>

#include "host/util/trace_format.h"

/* Jobs with more PEs are drawn in groups of neighbours; this many cells a side, and this many lanes. */
enum { TOLD_CELLS = 256, TOLD_LANES = 64, TOLD_COLUMNS = 1040 };

struct told {
    int n_pes, cells, lanes;
    double bytes;                 /* in all */
    double *sent;                 /* [cells][cells]: bytes from the row's PEs to the column's */
    double (*spent)[SHI_FAMILIES]; /* [lanes] seconds of all its PEs */
    double span_s;                /* of the timeline, or of the longest PE when there is none */
    int has_line;
    float (*busy)[TOLD_COLUMNS][SHI_FAMILIES]; /* [lanes] seconds in each column of the timeline */
};

/* Read the files, statistics and traces in any mixture. Bytes come from the statistics where there are some. 0, or -1 after
 * one line on stderr. The memory is the caller's to the end of the program. */
int told_read(char **paths, int n, struct told *out);

static inline int told_cell(const struct told *t, int pe)
{
    return (int)((long)pe * t->cells / t->n_pes);
}

static inline int told_lane(const struct told *t, int pe)
{
    return (int)((long)pe * t->lanes / t->n_pes);
}

#endif

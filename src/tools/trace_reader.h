/*
 * trace_reader.h - read files of SHMEM_STATS and SHMEM_TRACE and sum them up for a plot: bytes between each pair of PEs, time
 * by PE and family of operations, and a timeline.
 */
#ifndef OSHINFO_TRACE_READER_H
#define OSHINFO_TRACE_READER_H

#include <stddef.h>

#include "host/util/trace_format.h"

/* Limits of the plot's resolution: neighbouring PEs of larger jobs share a cell or a lane. */
enum { TRACE_CELLS = 256, TRACE_LANES = 64, TRACE_COLUMNS = 1040 };

struct trace_summary {
    int n_pes, cells, lanes;
    double bytes;                 /* total */
    double *sent;                 /* [cells][cells]: bytes from the row's PEs to the column's */
    double (*spent)[SHI_FAMILIES]; /* [lanes] seconds, summed over the lane's PEs */
    double span_s;                /* of the timeline; without one, of the PE that ran longest */
    int has_line;
    float (*busy)[TRACE_COLUMNS][SHI_FAMILIES]; /* [lanes] seconds in each column of the timeline */
};

/* Read n files, each statistics or a trace. With both, bytes come from the statistics. 0, or -1 after one line on stderr.
 * The memory is never freed. */
int trace_read(char **paths, int n, struct trace_summary *out);

static inline int trace_cell(const struct trace_summary *t, int pe)
{
    return (int)((long)pe * t->cells / t->n_pes);
}

static inline int trace_lane(const struct trace_summary *t, int pe)
{
    return (int)((long)pe * t->lanes / t->n_pes);
}

#endif

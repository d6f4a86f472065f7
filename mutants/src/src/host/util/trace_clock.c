/*
 * trace_clock.c - align the clocks of the nodes of a trace.
 *
 * PEs of a node share a clock. In each barrier of the start and the end of a job every PE leaves after every PE has entered. Let d be
 * what has to be added to a node's clock to get that of the reference node. Then
 *   the last enter of the reference <= the first exit of the node + d, and the last enter of the node + d <= the first exit of the reference,
 * which bounds d on both sides. The bounds of start and end together hold for the time between them.
 */
#include <stdlib.h>

#include "host/util/trace_join.h"

enum { SLEWED = 2000 }; /* a system's clock runs off by up to 1 ns in so many (500 ppm) */

struct bounds {
    int64_t least, most;
};

/* The last enter and the first exit of a node's PEs in a round; 0: a PE has no such round. */
static int round_of(const struct shi_trace_part *parts, int n, int node, int sync, uint32_t r, int64_t *enter, int64_t *exit)
{
    *enter = INT64_MIN;
    *exit = INT64_MAX;
    for (int i = 0; i < n; i++) {
        const struct shi_trace_head *h = parts[i].head;
        if (!h || h->node != node)
            continue;
        if (r >= h->sync[sync].n || r >= SHI_TRACE_ROUNDS)
            return 0;
        int64_t in = (int64_t)h->sync[sync].round[r].enter_ns, out = (int64_t)h->sync[sync].round[r].exit_ns;
        *enter = in > *enter ? in : *enter;
        *exit = out < *exit ? out : *exit;
    }
    return 1;
}

/* Bounds of what to add to `node`'s clock to get that of `reference`, from the barriers of the start or of the end. 0: none. */
static int bounds_at(const struct shi_trace_part *parts, int n, int node, int reference, int sync, struct bounds *b)
{
    int64_t in, out, ref_in, ref_out;
    *b = (struct bounds){INT64_MIN, INT64_MAX};
    for (uint32_t r = 0; round_of(parts, n, node, sync, r, &in, &out) && round_of(parts, n, reference, sync, r, &ref_in, &ref_out);
         r++) {
        b->least = ref_in - out > b->least ? ref_in - out : b->least;
        b->most = ref_out - in < b->most ? ref_out - in : b->most;
    }
    return b->least > INT64_MIN && b->least <= b->most;
}

static int64_t longest_ns(const struct shi_trace_part *parts, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++) {
        const struct shi_trace_head *h = parts[i].head;
        if (!h || !h->written)
            continue;
        const struct shi_trace_event *last = shi_trace_at(&parts[i], h->written - 1);
        int64_t ns = (int64_t)(last->start_ns + last->took_ns - h->start_ns);
        most = ns > most ? ns : most;
    }
    return most;
}

/* A job that was killed has no barriers at its end: the clocks may have drifted apart since the start. */
static int bounds_of(const struct shi_trace_part *parts, int n, int node, int reference, struct bounds *b)
{
    struct bounds end;
    if (!bounds_at(parts, n, node, reference, SHI_TRACE_AT_START, b))
        return 0;
    if (bounds_at(parts, n, node, reference, SHI_TRACE_AT_END, &end)) {
        b->least = end.least < b->least ? end.least : b->least;
        b->most = end.most > b->most ? end.most : b->most;
    } else {
        int64_t drift = longest_ns(parts, n) / SLEWED;
        b->least -= drift;
        b->most += drift;
    }
    return 1;
}

void shi_trace_align(struct shi_trace_part *parts, int n)
{
    const struct shi_trace_head *first = NULL, **of_node = calloc((size_t)n, sizeof *of_node); /* a part of each node */
    for (int i = 0; i < n; i++) {
        const struct shi_trace_head *h = parts[i].head;
        if (!h)
            continue;
        first = first ? first : h;
        const struct shi_trace_head *known = of_node ? of_node[h->node] : NULL;
        if (of_node && !known)
            of_node[h->node] = h;
        if (known) { /* the node's first part has the bounds */
            parts[i].shift_ns = parts[known->pe].shift_ns;
            parts[i].error_ns = parts[known->pe].error_ns;
            continue;
        }
        struct bounds b = {0, 0};
        if (h->node == first->node || bounds_of(parts, n, h->node, first->node, &b)) {
            parts[i].shift_ns = b.least + (b.most - b.least) / 2;
            parts[i].error_ns = (b.most - b.least + 1) / 2;
        } else { /* by the time of day */
            parts[i].shift_ns = h->to_real_ns - first->to_real_ns;
            parts[i].error_ns = SHI_TRACE_UNKNOWN;
        }
    }
    free(of_node);
    int64_t zero = INT64_MAX;
    for (int i = 0; i < n; i++)
        if (parts[i].head && (int64_t)parts[i].head->start_ns + parts[i].shift_ns < zero)
            zero = (int64_t)parts[i].head->start_ns + parts[i].shift_ns;
    for (int i = 0; i < n; i++)
        parts[i].shift_ns -= zero;
}

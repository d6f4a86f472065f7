/*
 * trace_join.h - the parts of a trace while they are joined: between trace_join.c, which writes the file, trace_clock.c, which
 * aligns the nodes' clocks, and trace_arrows.c, which finds the put that ended a wait.
 */
#ifndef SHI_TRACE_JOIN_H
#define SHI_TRACE_JOIN_H

#include <stddef.h>
#include <stdio.h>

#include "host/util/trace_format.h"

/* The part of one PE. */
struct shi_trace_part {
    const struct shi_trace_head *head; /* NULL: it is missing */
    size_t bytes;
    int64_t shift_ns; /* add to the node's clock to get the trace's time */
    int64_t error_ns; /* that may be wrong by so much against another node; SHI_TRACE_UNKNOWN: by anything */
    uint16_t *lane;   /* [events], of those on the tracks SHI_TRACE_KERNELS and _REQUESTS */
};
enum { SHI_TRACE_LANES = 64 };
#define SHI_TRACE_UNKNOWN (INT64_MAX / 8)

/* The events that were kept are first to written - 1. */
static inline uint64_t shi_trace_first(const struct shi_trace_head *h)
{
    return h->written > h->room ? h->written - h->room : 0;
}

static inline const struct shi_trace_event *shi_trace_at(const struct shi_trace_part *p, uint64_t i)
{
    return (const struct shi_trace_event *)((const char *)p->head + SHI_TRACE_HEAD_BYTES) + i % p->head->room;
}

/* 0: the PE was killed while it wrote this event. */
static inline int shi_trace_is_event(const struct shi_trace_event *e)
{
    return e->family < SHI_FAMILIES && e->way < SHI_WAYS;
}

static inline int64_t shi_trace_start_ns(const struct shi_trace_part *p, const struct shi_trace_event *e)
{
    return (int64_t)e->start_ns + p->shift_ns;
}

/* Set shift_ns and error_ns of all parts; time 0 is the start of the first PE. */
void shi_trace_align(struct shi_trace_part *parts, int n);

/* An arrow: a call of part `from` ended a wait of part `to`. */
struct shi_trace_arrow {
    int from, to;
    uint64_t from_event, to_event;
};

/* Call `each` for the arrows of all waits for which exactly one call can have written the value that ended them. 0 or -ENOMEM. */
int shi_trace_arrows(const struct shi_trace_part *parts, int n, void (*each)(void *arg, const struct shi_trace_arrow *a),
                     void *arg);

#endif

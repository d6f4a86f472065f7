/*
 * remote_op.h - one operation on a PE that only the network reaches, in steps that never wait: a put with or without a
 * signal, a get, or an atomic update. The proxy keeps many in progress; a blocking routine polls until its operation is
 * complete.
 *
 *   step      what shi_remote_op_advance does
 *   DATA      posts the data piece by piece, or the update; waits for each piece of a get that comes in records, and for
 *             the last piece of a transfer that is to be complete here. STAGED: waits until a put's last piece is posted, or
 *             a get's is here
 *   SIGNAL    posts the update of the signal behind the data, if there is one
 *   CONFIRM   until TARGET: waits for data and signal to be in place
 *   COMPLETE  nothing
 *
 * Owner. The caller allocates the operation and fills in the first part of it. shi_remote_op_advance returns
 *   0             complete: the operation is the caller's again;
 *   -EAGAIN       refused for now: poll, and call it again;
 *   -EINPROGRESS  the operation belongs to the network until ready(op) is called, once, inside progress, on any thread,
 *                 possibly before this call returns. Then call it again.
 * Later operations for the same PE may overtake this one while shi_remote_op_posted is 0. One thread at a time calls it. ready
 * publishes the operation (release) to the thread that calls it next (acquire).
 *
 * Errors. A transfer that cannot be started, or that fails, ends the job with one line (shi_stream_fail).
 */
#ifndef SHI_REMOTE_OP_H
#define SHI_REMOTE_OP_H

#include "host/net/stream/pipeline.h"
#include "host/net/stream/stream.h"

enum shi_remote_kind { SHI_REMOTE_PUT, SHI_REMOTE_GET, SHI_REMOTE_AMO };

/* When an operation is complete. POSTED: the network has all of it; quiet waits for completion. LOCAL: the source may
 * change, or the fetched data is here. TARGET, not for fetches: data and signal are in place. */
enum shi_remote_until { SHI_REMOTE_POSTED, SHI_REMOTE_LOCAL, SHI_REMOTE_TARGET };

enum shi_remote_step { SHI_REMOTE_DATA, SHI_REMOTE_SIGNAL, SHI_REMOTE_CONFIRM, SHI_REMOTE_COMPLETE };

struct shi_remote_op {
    /* the caller's */
    enum shi_remote_kind kind;
    enum shi_remote_way way; /* PUT, GET; POSTED means LOCAL if it is STAGED */
    enum shi_remote_until until;
    struct shi_lane *lane;
    struct shi_remote_addr at;
    char *local;                     /* source or dest; AMO: where the old value goes, or NULL */
    size_t bytes;                    /* AMO: width of the word */
    int hidden;                      /* STAGED: only the device accesses local */
    const struct shi_blocks *blocks; /* GET of one record: these blocks there, ... */
    ptrdiff_t stride;                /* ... this far apart in local; NULL: bytes in a row */
    struct {
        enum shi_amo op;
        uint64_t value, cond;
    } amo;
    struct {
        struct shi_remote_addr at;
        enum shi_amo op; /* SHI_AMO_FETCH: no signal */
        uint64_t value;
    } signal;
    void (*ready)(struct shi_remote_op *op);

    /* remote_op.c's; zero at first */
    enum shi_remote_step step;
    size_t moved;   /* bytes posted, or here */
    struct shi_stream_wait turn; /* of the call that was refused last */
    size_t piece;   /* bytes of the piece whose callback is outstanding */
    union {         /* one callback is outstanding at a time */
        struct shi_net_req req;
        struct shi_reply reply;
        struct shi_after after;
        struct shi_transfer transfer;
    } wait;
};

/* The best way for a put or get. hidden: the host cannot access local. */
enum shi_remote_way shi_remote_way(const struct shi_remote_addr *at, const void *local, size_t bytes, int hidden);

int shi_remote_op_advance(struct shi_remote_op *op);

/* Data and signal have been handed to the network: later operations for the same PE are posted behind them. */
static inline int shi_remote_op_posted(const struct shi_remote_op *op)
{
    return op->step > SHI_REMOTE_SIGNAL;
}

#endif

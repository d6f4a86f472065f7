/*
 * gpc_call.h - a GPC at one PE, as root or on behalf of a parent: its memory, its children, its answer.
 *
 *   word            written by                        read by               order
 *   call, failed*,  progress before the task is       dispatcher            queue.lock of gpc_run.c
 *   open            posted, then the dispatcher
 *   child[i].out    dispatcher (plain: exec) until    progress              a child answers only after the last byte
 *                   sent, progress from its reply on
 *   holds, pins     all                               all                   acq_rel: the last release ends it, frees it
 *   unsent          senders                           dispatcher            relaxed: 0 means that progress has sent all
 *   nbh->busy       the thread that completes it      the program           R1 -> A1 status and reply are complete
 *   root            threads that start or end one     the same              limit.h
 *   called          dispatcher (plain: exec)          progress, at a loss   R2 -> A2 child[] is filled in
 *   child[i].sent   with child[i].out                 progress, at a loss   seq_cst, as shi_am_loses: one of both sides answers for a
 *                                                                           child that is dead
 *   answered,       both; exchanged: one of them      the same              relaxed
 *    awaits_fin     acts
 *   newer, older    threads that make or end one      progress, at a loss   spin.h
 *   called_back,    dispatcher                        dispatcher            `running` of gpc_run.c
 *   later
 *
 * Memory is kept for later calls (kept.h) until none has used it for 10 s.
 */
#ifndef SHI_GPC_CALL_H
#define SHI_GPC_CALL_H

#include <shmemx_gpc.h>

#include "host/coll/team.h"
#include "host/gpc/gpc_run.h"
#include "host/gpc/gpc_wire.h"
#include "host/util/base.h"

struct shi_gpc_child {
    struct shi_gpc_call *parent;
    int exposed;
    int answered;             /* its reply has come, or its PE has died */
    int sent;                 /* kept where the job goes on when a PE dies */
    struct shi_gpc_out out;
};

/* A GPC at this PE, as root or on behalf of a parent. */
struct shi_gpc_call {
    struct shi_gpc_task task; /* func */
    shmemx_gpc_call_t call;
    struct shmem_team *team;  /* NULL: not known here, or destroyed */
    int *below;
    int is_root, plain;
    int err;                  /* it was not received completely */
    int failed, failed_pe;    /* of the world: the one that failed */
    int open;                 /* children that have not answered */
    int called;               /* children of which child[] tells: they are being called */
    int awaits_fin;           /* its reply is exposed */
    struct shi_gpc_call *newer, *older; /* calls of this PE, where the job goes on when a PE dies */
    int called_back;          /* a callback is on some thread's stack */
    struct shi_gpc_task *later; /* replies that arrived meanwhile, the last one first */
    int holds;                /* 1 until answered, and 1 for each child, message or fetch that needs this */
    int pins;                 /* 1 until holds is 0, and 1 for each GPC that func has started: the memory stays */
    int unsent, exposed;      /* children not completely sent; children that may fetch our data */
    shmemx_gpc_nbh_t *nbh;    /* root, until complete */
    struct shi_gpc_call *starter; /* root: the GPC whose func started it, until complete */
    int pe;                   /* of the world: the parent; plain root: the child */
    uint64_t token;           /* the parent's */
    struct shi_limited root;  /* of the SHI_GPC_IN_FLIGHT */
    struct shi_gpc_in in;     /* START; plain root: REPLY */
    union {
        struct shi_gpc_out out;   /* REPLY */
        struct shi_gpc_child one; /* plain root: its child, and then FIN to it */
    };
    size_t block;             /* bytes of this memory */
    int n_few, has_more;      /* room in few; whether child[] is elsewhere, in memory of its own */
    struct shi_gpc_child *child, few[];
};

static inline size_t shi_gpc_padded(size_t bytes)
{
    return shi_round_up(bytes, 16);
}

/* A zeroed head of `head` bytes, then a body: *body_at is NULL, and *err set, when there is no memory for it. Pair: shi_gpc_free
 * with *block. */
void *shi_gpc_alloc(size_t head, size_t body, char **body_at, size_t *block, int *err);

/* A new call with so many ids below it, and its body. Its task is not set. Pair: shi_gpc_call_answer, which ends it. */
struct shi_gpc_call *shi_gpc_call_new(int ids, size_t body, char **body_at, int *err);

/* The next piece of a body, NULL without one. */
void *shi_gpc_carve(char **body, size_t bytes);

/* Begin, once fewer than SHI_GPC_IN_FLIGHT roots are under way: post the task, or send a plain call to its child. */
void shi_gpc_call_begin(struct shi_gpc_call *g);
void shi_gpc_call_begin_in_turn(struct shi_gpc_call *g);

/* Send the call to its children. Their number, or -ENOMEM and nothing sent. */
int shi_gpc_call_children(struct shi_gpc_call *g);

/* This id has ended, without error if status is 0. Its children may still have to answer. */
void shi_gpc_call_answer(struct shi_gpc_call *g, int status);

/* Give the result of a root to the program. */
void shi_gpc_call_complete(struct shi_gpc_call *g, int status);

/* Release one of the call's holds; the last ends the call. */
void shi_gpc_call_drop(struct shi_gpc_call *g);

/* PE pe has died: its part of the calls of this PE ends. In progress. */
void shi_gpc_call_lose(int pe);

/* Answers for a child that is dead. Set with the other parts; NULL: the job ends when a PE dies. */
extern void (*shi_gpc_lost)(struct shi_gpc_child *k);

/* The parent has fetched the reply, or is dead. */
void shi_gpc_call_fetched(struct shi_gpc_call *g);

/* Number of calls at this PE; an acquire, which pairs with the end of the others. */
int shi_gpc_calls(void);

#endif

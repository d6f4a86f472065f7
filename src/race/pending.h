/*
 * pending.h - buffers that the library uses until a request is complete: of tagged messages and GPCs.
 *
 * They are accesses of a stream that no quiet completes, RACE_REQUESTS. When the request is complete they end, and the thread that knows it
 * has made a complete access in their place.
 */
#ifndef RACE_PENDING_H
#define RACE_PENDING_H

#include "race/op.h"

struct race_piece {
    const void *at;
    size_t bytes;
};

struct race_pending {
    const void *handle, *at; /* of the request, and the variable that had it first */
    struct race_pending *next;
    const void *pc;
    const char *routine;
    enum race_kind kind; /* RACE_SOURCE or RACE_DEST */
    uint32_t epoch;      /* 0: not pending */
    /* Of a message; otherwise 0: */
    uint64_t message, posted; /* a send's: the clock that it gives, and that a synchronous one takes */
    uint64_t group;           /* a receive's: the team, in which the PE is number `me` */
    int me, persistent;
    int n;
    struct race_piece piece[];
};

struct race_pending *race_pending_new(const struct race_op *op, enum race_kind kind, const struct race_piece *piece, int n);
/* The accesses begin; again for a persistent request. */
void race_pending_begin(struct race_thread *u, struct race_pending *p);
/* They end, after `bytes` bytes. */
void race_pending_end(struct race_thread *u, struct race_pending *p, size_t bytes);

/* A handle may stand for several: of sends that were complete at once. Then the variable that has it tells them apart, and where the program
 * has moved it all of them count as complete. */
void race_pending_enter(const void *handle, const void *at, struct race_pending *p);
/* Call `ends` for each one that the handle may stand for and that has begun; gone: they are no more. */
void race_pending_done(struct race_thread *u, const void *handle, const void *at, int gone,
                       void (*ends)(struct race_thread *u, struct race_pending *p, const void *arg), const void *arg);
/* A persistent one, or NULL. */
struct race_pending *race_pending_idle(const void *handle);

#endif

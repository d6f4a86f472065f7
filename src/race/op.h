/*
 * op.h - one call of an OpenSHMEM routine: its accesses, and the clocks that it gives and takes. wrap_*.c make these before the pshmem_ routine,
 * race_op_take and race_op_seen after it.
 */
#ifndef RACE_OP_H
#define RACE_OP_H

#include "race/stream.h"

struct race_op {
    struct race_thread *u; /* NULL: the job does not run, or the PE does not exist: nothing is recorded */
    struct race_stream *s;
    int pe;         /* of the world */
    uint32_t epoch; /* of the stream */
    const void *pc;
    const char *routine;
    uint32_t place; /* of a kernel's call; 0: pc and routine say it */
};

/* The calls that the thread makes are those of another place and routine; NULL: they are not. */
struct race_on_behalf {
    const char *routine;
    const void *pc;
};
extern RACE_HIDDEN __thread struct race_on_behalf race_on_behalf __attribute__((tls_model("initial-exec")));

struct race_op race_op_begin(const char *routine, const void *pc, shmem_ctx_t ctx, int pe);
/* The operation has a stream epoch of its own, so that others can know of it alone. */
void race_op_single(struct race_op *op);

/* The caller's buffer: read or written at the call, or until the quiet. */
void race_op_reads(const struct race_op *op, const void *at, size_t bytes, int nonblocking);
void race_op_writes(const struct race_op *op, const void *at, size_t bytes, int nonblocking);
/* Memory of the other PE. `atomic` of race_op_atomic, or 0. */
void race_op_remote(const struct race_op *op, enum race_kind kind, const void *at, size_t bytes, unsigned atomic);
/* Memory that a collective reads or writes until it returns. */
void race_op_collective(const struct race_op *op, enum race_kind kind, const void *at, size_t bytes);

/* A call that completes the PE's operations and is a barrier of the team; before and after it. SHMEM_TEAM_INVALID, or a call that is not
 * recorded: it has no effect, and NULL. */
struct race_group *race_op_barrier(const struct race_op *op, shmem_team_t team);
void race_op_barrier_end(const struct race_op *op, struct race_group *g);

/* An atomic's type and domain: bytes and whether it is a floating-point number. */
unsigned race_op_atomic(const struct race_op *op, size_t bytes, int floating);

/* What is written here may tell others to go on: they take the clock when they see it. single: with the data of race_op_single. */
void race_op_give(const struct race_op *op, const void *at, size_t bytes, int single);
/* The calling PE has read this word of the other PE by an atomic. */
void race_op_take(const struct race_op *op, const void *at);
/* The calling PE has seen the value that it waited for in its own word. */
void race_op_seen(const struct race_op *op, const void *at, size_t bytes);

#endif

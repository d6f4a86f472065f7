/*
 * stream.h - the PE's contexts as streams, and teams and active sets as groups of PEs.
 */
#ifndef RACE_STREAM_H
#define RACE_STREAM_H

#define SHMEM_NO_GENERICS
#include <pshmem.h>
#include <shmemx.h>

#include "race/race.h"

struct race_stream {
    shmem_ctx_t ctx;
    unsigned id;     /* as of clock.h */
    uint32_t epoch;  /* of operations that are issued now */
    unsigned domain; /* atomicity domain: 0 is that of SHMEM_TEAM_WORLD */
    shmem_team_t team;
    int used;
    uint64_t ring; /* of kernels' contexts; else 0 */
};

void race_stream_up(void);
void race_stream_create(shmem_ctx_t ctx, shmem_team_t team);
void race_stream_destroy(struct race_thread *u, shmem_ctx_t ctx);
struct race_stream *race_stream_of(shmem_ctx_t ctx);
/* The context of kernels with this ring; it is made at its first use. */
struct race_stream *race_stream_of_kernels(uint64_t ring);
/* A kernel has ended: what kernels have issued is complete for those that know this clock. */
void race_stream_end_kernel(struct race_clock *of);
/* Everything issued on it until now is complete, or delivered in order, for what the thread does later. */
void race_stream_quiet(struct race_thread *u, struct race_stream *s);
void race_stream_fence(struct race_thread *u, struct race_stream *s);

/* In parts: what was issued until the mark is complete for what the thread does later; at one PE (pe >= 0) or all. What fetches, and local
 * buffers, count as complete for all PEs in each case, since their cells do not say which PE it is. */
uint32_t race_stream_mark(struct race_stream *s);
void race_stream_complete(struct race_thread *u, unsigned id, uint32_t epoch, int pe);

struct race_group {
    uint64_t id;
    uint32_t turn; /* collectives on it until now; members count alike */
    uint32_t begun; /* the same of nonblocking ones */
    uint32_t agreed; /* the same of agreements: those that live have called the same ones, whichever collectives have failed */
    uint32_t splits;
    int n;
    int pe[];
};

struct race_group *race_group_of_team(shmem_team_t team);
struct race_group *race_group_of_set(int start, int log_stride, int size, const void *psync);
/* A team that the PEs of the list have made alone. */
void race_group_create(const int *pes, int n, shmem_team_t team);
/* `made` was split from `parent` by parameters that all of the new team's members know. */
void race_group_split(shmem_team_t parent, shmem_team_t made, uint64_t parameters);
void race_group_forget(shmem_team_t team);

/* A collective: the thread's clock is given to the members before it, if it is the root (-1: all are); that of the root, or of all, is taken after it. */
void race_group_give(struct race_thread *u, struct race_group *g, int root);
void race_group_take(struct race_thread *u, struct race_group *g, int root);

/* The same of a nonblocking one; g as it was after the call that begins it. */
void race_group_give_nb(struct race_thread *u, struct race_group *g, int root);
void race_group_take_nb(struct race_thread *u, const struct race_group *g, int root);

/* The same of an agreement. */
void race_group_give_agreed(struct race_thread *u, struct race_group *g);
void race_group_take_agreed(struct race_thread *u, struct race_group *g);

#endif

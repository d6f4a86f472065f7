/*
 * wrap_tag.h - for wrap_tag*.c: the ends of a tagged message, and the clocks that it carries.
 *
 * Messages with the same sender, receiver, team and tag have one clock, and so have all receives that a PE has posted for a team.
 */
#ifndef RACE_WRAP_TAG_H
#define RACE_WRAP_TAG_H

#include <dlfcn.h>

#include "race/pending.h"
#include "race/sync.h"
#include "race/wrap.h"

enum { SYNCHRONOUS = 1, PERSISTENT = 2 };

static inline uint64_t message_key(uint64_t group, int from, int to, uint64_t tag)
{
    return race_sync_key(race_sync_key(group, (uint64_t)from, (uint64_t)to), tag, 13);
}

static inline uint64_t posted_key(uint64_t group, int to)
{
    return race_sync_key(group, (uint64_t)to, 14);
}

/* The sender or receiver of a call. */
struct end {
    struct race_op op;
    uint64_t group;
    int me;
};

static inline struct end end_of(const char *routine, const void *pc, shmem_team_t team)
{
    struct end e = {.op = race_op_begin(routine, pc, SHMEM_CTX_DEFAULT, 0)};
    if (team == SHMEM_TEAM_INVALID)
        e.op.u = NULL;
    if (e.op.u) {
        e.group = race_group_of_team(team)->id;
        e.me = pshmem_team_my_pe(team);
    }
    return e;
}
#define END(TEAM) struct end e = end_of(__func__, RACE_CALLER, TEAM)
/* Of a message that was taken from matching: its probe has given the order. */
#define OF_MESSAGE struct end e = {.op = race_op_begin(__func__, RACE_CALLER, SHMEM_CTX_DEFAULT, 0)}

static inline void sends(const struct end *e, uint64_t tag, int pe)
{
    if (e->op.u)
        race_sync_give(e->op.u, message_key(e->group, e->me, pe, tag), NULL);
}

static inline void posts(const struct end *e)
{
    if (e->op.u)
        race_sync_give(e->op.u, posted_key(e->group, e->me), NULL);
}

/* A message was received or seen. */
static inline void received(struct race_thread *u, uint64_t group, int me, const shmemx_tag_status_t *status)
{
    if (u && group && !status->cancelled && status->source >= 0)
        race_sync_take(u, message_key(group, status->source, me, status->tag));
}

static inline const struct race_piece *pieces(const shmemx_tag_iov_t *iov)
{
    _Static_assert(sizeof *iov == sizeof(struct race_piece), "a piece is an iov");
    return (const struct race_piece *)iov;
}

#endif

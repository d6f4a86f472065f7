/*
 * nbc.h - nonblocking collectives: a call is a schedule of steps, each of which sends and receives tagged messages between members, and
 * progress carries it out.
 *
 * A step runs when all messages of the step before are complete: it uses what has come, and posts the next messages. Steps run on any
 * thread that makes progress, one at a time in the process. The messages have tags of their own (SHI_TEAM_NUMBER_COLL), with the number of
 * the call on the team; the tag layer keeps those that come before this PE's call, within its windows, and reads long data from the
 * sender's memory. So calls need no symmetric words, and any number of them may be under way.
 */
#ifndef SHI_NBC_H
#define SHI_NBC_H

#include <shmemx_complete.h>

#include "host/coll/coll.h"
#include "host/tag/tag.h"

enum {
    SHI_NBC_MESSAGES = SHI_ROUNDS,     /* that a step posts: a broadcast sends so many */
    SHI_NBC_PARTNERS = 8,              /* to which a step of an exchange sends, and so many from which it receives */
    SHI_NBC_OPEN = 256                 /* calls of one team under way, beyond which a further one waits */
};

/* What a step returns. LATER: it has posted nothing, call it again after other progress. */
struct shi_nbc;
enum shi_nbc_step { SHI_NBC_OVER, SHI_NBC_NEXT, SHI_NBC_LATER };

struct shi_nbc_message {
    struct shmemx_tag_request request;
    size_t bytes; /* of a receive */
};

/* Blocks of an array: block i begins at at[i], and has of[i] bytes, or, with of NULL, reaches to at[i + 1]; at NULL: `each` bytes, one after
 * the other. */
struct shi_nbc_blocks {
    const size_t *at, *of;
    size_t each;
};

static inline size_t shi_nbc_start(const struct shi_nbc_blocks *b, int i)
{
    return b->at ? b->at[i] : b->each * (size_t)i;
}

static inline size_t shi_nbc_length(const struct shi_nbc_blocks *b, int i)
{
    return b->of ? b->of[i] : b->at ? b->at[i + 1] - b->at[i] : b->each;
}

/* Elements of 16 bits, which a reduction combines as float; NULL: elements are combined as they are. */
struct shi_nbc_narrow {
    void (*widen)(float *to, const uint16_t *from, size_t n);
    void (*narrow)(uint16_t *to, const float *from, size_t n);
};

/* A call, as it begins; what a kind of call does not need is 0. */
struct shi_nbc_call {
    const char *routine;
    struct shmem_team *team;
    enum shi_nbc_step (*step)(struct shi_nbc *q);
    void *dest;
    const void *source;
    size_t bytes, n; /* of one member's contribution; of elements */
    int root, exclusive, halves; /* halves: a reduction by halves */
    size_t result_bytes;         /* of a reduction */
    struct shi_nbc_blocks in, out; /* of dest and of source */
    struct shi_reduction op;
    const struct shi_nbc_narrow *narrow;
    ptrdiff_t dst, sst;
    uint64_t quiet; /* of a barrier: its wait for the operations of this PE */
    char *room;     /* from shi_nbc_room, freed at the end; NULL: none */
    size_t room_bytes;
};

/* The same under way. Steps read c and round, which counts them; see the table in nbc.c. */
struct shi_nbc {
    struct shi_nbc *next;
    uint64_t serial; /* of the call, 0 when it is complete */
    uint64_t failed; /* the serial of a call that has failed, after which this one is not used again; else 0 */
    int index, err;  /* err: SHMEMX_ERR_, its messages are taken back */
    int round, n_messages;
    uint64_t tag;
    struct shi_nbc_call c;
    struct shmem_team as; /* the team with the number of its collectives' messages */
    struct shi_nbc_message message[SHI_NBC_MESSAGES];
};

/* Begin a call, which copies *c, and run its first steps. Dies without memory. */
void shi_nbc_begin(const struct shi_nbc_call *c, shmemx_req_t *req);

/* Memory for a call; dies without. */
char *shi_nbc_room(struct shi_nbc_call *c, size_t bytes);

/* 1: *req, whose lane_ is negative, is complete. shi_nbc_wait waits for that, or returns at once for SHMEMX_REQ_NULL;
 * 0, or the error with which it has failed, which shi_nbc_is_complete gives to shmemx_status only. */
int shi_nbc_is_complete(const char *routine, const shmemx_req_t *req);
int shi_nbc_wait(const char *routine, const shmemx_req_t *req);

/* Wait until all calls of the team, or, with NULL, of all teams, are complete. */
void shi_nbc_finish_team(const char *routine, const struct shmem_team *t);

/* Parts of the library, see init.c. */
void shi_nbc_finish(void);
void shi_nbc_down(void);
void shi_nbc_leave(void);

/* ---- for steps ---------------------------------------------------------------------------------------------------- */

/* Post a message to or from a member. `part` distinguishes the messages of a call between two members, which match in the order of posting
 * where it is equal. The memory must stay until the next step. */
void shi_nbc_send(struct shi_nbc *q, int to, int part, const void *data, size_t bytes);
void shi_nbc_recv(struct shi_nbc *q, int from, int part, void *data, size_t bytes);

/* Step q->round of an exchange of the blocks c.out of source and c.in of dest with all other members, a few in each step. Blocks without
 * bytes are not sent: both sides know the length. */
int shi_nbc_exchange_steps(const struct shi_nbc *q);
void shi_nbc_exchange(struct shi_nbc *q, char *dest, const char *source);

/* ---- the calls: nbc_move.c and nbc_reduce.c; arguments are those of the blocking routines ------------------------------------ */

void shi_nbc_sync(const char *routine, struct shmem_team *t, int quiet, shmemx_req_t *req);
void shi_nbc_broadcast(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes, int root, shmemx_req_t *req);
void shi_nbc_collect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes, shmemx_req_t *req);
void shi_nbc_fcollect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes, shmemx_req_t *req);
void shi_nbc_alltoall(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes, shmemx_req_t *req);
void shi_nbc_alltoalls(const char *routine, struct shmem_team *t, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
                       size_t elem, shmemx_req_t *req);

/* Offsets and lengths of the members' blocks, in elements; the call copies the arrays. */
struct shi_nbc_vector {
    const size_t *at, *of;
};
void shi_nbc_alltoallv(const char *routine, struct shmem_team *t, void *dest, struct shi_nbc_vector in, const void *source, struct shi_nbc_vector out,
                       size_t elem, shmemx_req_t *req);
void shi_nbc_reduce(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r,
                    shmemx_req_t *req);
void shi_nbc_reduce_narrow(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r,
                           const struct shi_nbc_narrow *as, shmemx_req_t *req);
void shi_nbc_scan(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r,
                  int exclusive, shmemx_req_t *req);

/* counts NULL: n elements for each member; else counts[i] for member i. */
void shi_nbc_reduce_scatter(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n, const size_t *counts,
                            const struct shi_reduction *r, shmemx_req_t *req);

#endif

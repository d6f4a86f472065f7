/* tag_calls.h - what the entry points of tagged messages share: checks of arguments, waits, starts of operations. */
#ifndef SHI_TAG_CALLS_H
#define SHI_TAG_CALLS_H

#include <shmemx.h>

#include "host/net/node/progress.h"
#include "host/ops/wait.h"
#include "host/policy/limits.h"
#include "host/tag/tag.h"
#include "host/util/log.h"
#include "host/util/tsan.h"

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static inline const struct shmem_team *shi_tag_team_of(const char *routine, shmem_team_t team)
{
    shi_tag_start(routine);
    const struct shmem_team *t = shi_team_of(routine, "team", team);
    shi_tsan_release();
    if (shi_unlikely(!t))
        shi_die(routine, "team is SHMEM_TEAM_INVALID");
    return t;
}

static inline struct shi_tag_data shi_tag_one(const char *routine, const void *base, size_t bytes)
{
    if (shi_unlikely(!base && bytes))
        shi_die(routine, "the buffer of %zu bytes is NULL", bytes);
    return (struct shi_tag_data){.one = {(void *)base, bytes}, .n = 1, .bytes = bytes};
}

static inline struct shi_tag_data shi_tag_many(const char *routine, const shmemx_tag_iov_t *iov, int n)
{
    size_t sum = 0;
    if (n < 0 || (n && !iov))
        shi_die(routine, "n = %d pieces at %p", n, (const void *)iov);
    for (int i = 0; i < n; i++) {
        if (!iov[i].base && iov[i].bytes)
            shi_die(routine, "piece %d of %zu bytes is NULL", i, iov[i].bytes);
        if (__builtin_add_overflow(sum, iov[i].bytes, &sum))
            shi_die(routine, "the lengths of %d pieces overflow", n);
    }
    return (struct shi_tag_data){.iov = n ? iov : NULL, .n = n, .bytes = sum};
}

static inline struct shi_tag_params shi_tag_accepts(const char *routine, shmem_team_t team, uint64_t tag, uint64_t mask,
                                                   int pe)
{
    const struct shmem_team *t = shi_tag_team_of(routine, team);
    if (shi_unlikely((unsigned)pe >= (unsigned)t->n && pe != SHMEMX_TAG_ANY_SOURCE))
        shi_die(routine, "pe = %d: neither a PE of the team, which has PEs 0 to %d, nor SHMEMX_TAG_ANY_SOURCE", pe,
                t->n - 1);
    return (struct shi_tag_params){.key = {.tag = tag, .mask = mask, .team = t->number, .source = pe},
                                   .pe = pe == SHMEMX_TAG_ANY_SOURCE ? SHI_MATCH_ANY : shi_team_world_pe(t, pe)};
}

/* Two routines: NAME has one buffer, of the type BUFFER, and NAMEV a list, behind the parameter FIRST and before those in REST, which are
 * in parentheses. CALL has the data in `d`. */
#define SHI_TAG_BUFFERS(NAME, NAMEV, FIRST, BUFFER, REST, CALL)                \
    void NAME(FIRST, BUFFER *buffer, size_t bytes, SHI_TAG_UNPACK REST)        \
    {                                                                          \
        const struct shi_tag_data d = shi_tag_one(__func__, buffer, bytes);    \
        CALL;                                                                  \
    }                                                                          \
    void NAMEV(FIRST, const shmemx_tag_iov_t *iov, int n, SHI_TAG_UNPACK REST) \
    {                                                                          \
        const struct shi_tag_data d = shi_tag_many(__func__, iov, n);          \
        CALL;                                                                  \
    }
#define SHI_TAG_UNPACK(...) __VA_ARGS__

/* What a call has met, for shmemx_status. */
static inline void shi_tag_met(int failed)
{
    if (shi_unlikely(failed))
        shi_team_faults->met(failed);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static inline void shi_tag_step(struct shi_wait *w)
{
    if (w->polls++ < SHI_TAG_POLLS && shi_progress_poll())
        shi_wait_anew(w);
    else if (w->polls > SHI_TAG_POLLS)
        shi_wait_slow(w);
}

static inline void shi_tag_wait_for(const char *routine, struct shmemx_tag_request *r)
{
    shi_wait_allow(routine);
    SHI_WAIT_LOOP(shi_tag_step, shi_tag_is_done(r), .routine = routine, .kind = SHI_FOR_OTHER,
                  .words = "a tagged message has not been sent, or has not come");
    shi_tag_met(shi_tag_failed(r));
    shi_tsan_acquire();
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

static inline void shi_tag_init_request(struct shmemx_tag_request *r, int is_send)
{
    r->done = SHI_TAG_OPEN;
    r->posted = 0;
    r->is_send = is_send;
}

static inline const struct shmem_team *shi_tag_target(const char *routine, shmem_team_t team, int pe)
{
    const struct shmem_team *t = shi_tag_team_of(routine, team);
    if (shi_unlikely((unsigned)pe >= (unsigned)t->n))
        shi_die(routine, "pe = %d: not a PE of the team, which has PEs 0 to %d", pe, t->n - 1);
    return t;
}

static inline void shi_tag_start_send(struct shmemx_tag_request *r, const struct shmem_team *t,
                                      const struct shi_tag_data *data, uint64_t tag, int pe, int sync)
{
    shi_tag_init_request(r, 1);
    shi_tag_send(r, t, data, tag, pe, sync);
}

/* tag_request.c: the request of a send that completed at once. */
extern struct shmemx_tag_request shi_tag_gone;

#endif

/* sync.c - entry points of ordering, barriers, signals and point-to-point waits. */
#include "host/api/def.h"

#include <shmemx.h>

#include "host/coll/agree.h"
#include "host/coll/team.h"
#include "host/net/node/doorbell.h"
#include "host/net/node/progress.h"
#include "host/ops/caller.h"
#include "host/ops/ctx.h"
#include "host/ops/dheap.h"
#include "host/ops/p2p.h"
#include "host/ops/remote.h"
#include "host/ops/rma.h"
#include "host/ops/span.h"
#include "host/util/log.h"

#define ONE(T) (&(struct shi_cond){__func__, ivar, 1, NULL, cmp, &cmp_value, 0, SHI_WORD_OF(T), NULL})
#define MANY(T) (&(struct shi_cond){__func__, ivars, nelems, status, cmp, &cmp_value, 0, SHI_WORD_OF(T), NULL})
#define VECTOR(T) (&(struct shi_cond){__func__, ivars, nelems, status, cmp, cmp_values, 1, SHI_WORD_OF(T), NULL})

#define DO_wait_until(T, E) shi_p2p_wait(ONE(T));
#define DO_test(T, E) return shi_p2p_test(ONE(T));
#define DO_wait_until_all(T, E) shi_p2p_wait_all(MANY(T));
#define DO_wait_until_any(T, E) return shi_p2p_wait_any(MANY(T));
#define DO_wait_until_some(T, E) return shi_p2p_wait_some(MANY(T), indices);
#define DO_wait_until_all_vector(T, E) shi_p2p_wait_all(VECTOR(T));
#define DO_wait_until_any_vector(T, E) return shi_p2p_wait_any(VECTOR(T));
#define DO_wait_until_some_vector(T, E) return shi_p2p_wait_some(VECTOR(T), indices);
#define DO_test_all(T, E) return shi_p2p_test_all(MANY(T));
#define DO_test_any(T, E) return shi_p2p_test_any(MANY(T));
#define DO_test_some(T, E) return shi_p2p_test_some(MANY(T), indices);
#define DO_test_all_vector(T, E) return shi_p2p_test_all(VECTOR(T));
#define DO_test_any_vector(T, E) return shi_p2p_test_any(VECTOR(T));
#define DO_test_some_vector(T, E) return shi_p2p_test_some(VECTOR(T), indices);

#define ROW(F, N, T, RMA, AMO, EXT, BIT, WT, ...)                                                                    \
    SHMEM_IF_##WT(SHMEM_API_WT(F##_C, F##_P, N, T) SHMEM_API_SYN(F##_C, F##_P, N, T))
SHMEM_TYPES(ROW, SHI_DEF)

void shmemx_wait_limit(uint64_t ns)
{
    shi_p2p_limit(ns);
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

SHI_DEF(uint64_t, shmem_signal_fetch, (const uint64_t *sig_addr))
{
    const struct shmem_ctx *const c = SHI_CTX_DEFAULT;
    const uint64_t *at = sig_addr;
    if (shi_likely(!shi_dheap_hides(sig_addr, sizeof *sig_addr)))
        at = shi_at(__func__, c, "sig_addr", sig_addr, sizeof *sig_addr, shi_world.pe);
    shi_progress(); /* programs call this in loops */
    return shi_p2p_fetch_signal(__func__, at);
}

SHI_DEF(uint64_t, shmem_signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value))
{
    return shi_p2p_wait_signal(__func__, sig_addr, cmp, cmp_value);
}

SHI_DEF_BOTH(void, shmem_signal_add, shmem_ctx_signal_add, (uint64_t *sig_addr, uint64_t signal, int pe),
             shi_signal(__func__, c, sig_addr, signal, SHMEM_SIGNAL_ADD, pe);)
SHI_DEF_BOTH(void, shmem_signal_set, shmem_ctx_signal_set, (uint64_t *sig_addr, uint64_t signal, int pe),
             shi_signal(__func__, c, sig_addr, signal, SHMEM_SIGNAL_SET, pe);)

/* ---- ordering ---------------------------------------------------------------------------------------------------- */

/* Order stores to each PE's memory. On SHMEM_CTX_INVALID none of these has an effect. */
static inline void order(const struct shmem_ctx *c)
{
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    if (shi_unlikely(c->lane != NULL))
        shi_remote_fence(c->lane);
}

/* All stores are visible before any later access, loads included. */
static inline void complete(const struct shmem_ctx *c)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    shi_doorbell_ring_words();
    if (shi_unlikely(c->lane != NULL))
        shi_remote_quiet(c->lane);
}

/* The context of an ordering routine. */
static inline const struct shmem_ctx *live(const char *routine, shmem_ctx_t ctx)
{
    shi_need_up(routine);
    const struct shmem_ctx *c = shi_ctx_of(ctx);
    if (shi_unlikely(!c->team))
        shi_ctx_die(routine, c);
    return c;
}

/* Measured outside: next to a fence even the test of an unused span is measurable. */
static __attribute__((cold, noinline)) void count(const char *routine, const struct shmem_ctx *c,
                                                  void (*what)(const struct shmem_ctx *))
{
    if (shi_world.check)
        shi_caller_check_ctx(routine, c);
    SHI_SPAN(span, SHI_ORDERS, routine, NULL, SHI_TO_NONE, 0);
    what(c);
}

static void fence(const char *routine, const struct shmem_ctx *c)
{
    shi_need_up(routine);
    if (shi_unlikely(shi_world.spans))
        count(routine, c, order);
    else
        order(c);
}

static void quiet(const char *routine, const struct shmem_ctx *c)
{
    shi_need_up(routine);
    if (shi_unlikely(shi_world.spans))
        count(routine, c, complete);
    else
        complete(c);
}

static void pe_quiet(const char *routine, const struct shmem_ctx *c, const int *target_pes, size_t npes)
{
    shi_need_up(routine);
    if (shi_unlikely(shi_world.check))
        shi_caller_check_ctx(routine, c);
    for (size_t i = 0; i < npes; i++)
        if ((unsigned)target_pes[i] >= c->n_pes)
            shi_die(routine, "target_pes[%zu]: pe = %d: not a PE of the context, which has PEs 0 to %d", i,
                    target_pes[i], (int)c->n_pes - 1);
    SHI_SPAN(span, SHI_ORDERS, routine, NULL, SHI_TO_NONE, 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    shi_doorbell_ring_words();
    for (size_t i = 0; c->lane && i < npes; i++)
        shi_remote_quiet_pe(c->lane, shi_team_world_pe(c->team, target_pes[i]));
}

SHI_DEF(void, shmem_fence, (void))
{
    fence(__func__, SHI_CTX_DEFAULT);
}

SHI_DEF(void, shmem_ctx_fence, (shmem_ctx_t ctx))
{
    if (ctx != SHMEM_CTX_INVALID)
        fence(__func__, live(__func__, ctx));
}

SHI_DEF(void, shmem_quiet, (void))
{
    quiet(__func__, SHI_CTX_DEFAULT);
}

SHI_DEF(void, shmem_ctx_quiet, (shmem_ctx_t ctx))
{
    if (ctx != SHMEM_CTX_INVALID)
        quiet(__func__, live(__func__, ctx));
}

SHI_DEF(void, shmem_pe_quiet, (const int *target_pes, size_t npes))
{
    pe_quiet(__func__, SHI_CTX_DEFAULT, target_pes, npes);
}

SHI_DEF(void, shmem_ctx_pe_quiet, (shmem_ctx_t ctx, const int *target_pes, size_t npes))
{
    if (ctx != SHMEM_CTX_INVALID)
        pe_quiet(__func__, live(__func__, ctx), target_pes, npes);
}

SHI_DEF(void, shmem_barrier_all, (void))
{
    shi_need_up(__func__);
    SHI_AGREE(__func__, &shi_team_world, {0});
    SHI_SPAN(span, SHI_BARRIERS, __func__, NULL, SHI_TO_NONE, 0);
    shi_team_quiet_barrier(__func__, &shi_team_world);
}

SHI_DEF(void, shmem_sync_all, (void))
{
    shi_need_up(__func__);
    SHI_AGREE(__func__, &shi_team_world, {0});
    SHI_SPAN(span, SHI_BARRIERS, __func__, NULL, SHI_TO_NONE, 0);
    shi_team_barrier(__func__, &shi_team_world);
}

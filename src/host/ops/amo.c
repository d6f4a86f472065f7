/* amo.c - atomic memory operations that missed the fast table. */
#include "host/ops/amo.h"

#include <sched.h>

#include "host/net/node/amo_wide.h"
#include "host/net/node/doorbell.h"
#include "host/net/node/progress.h"
#include "host/ops/dheap.h"
#include "host/ops/remote.h"
#include "host/ops/span.h"
#include "host/ops/wait.h"
#include "host/util/log.h"

/* The mapped address of a word in a space or in added memory, or NULL. Not NULL: no call is checked or measured, and the host accesses it. */
static inline void *fast(const struct shmem_ctx *ctx, const void *addr, size_t width, int pe)
{
    return (uintptr_t)addr & (width - 1) ? NULL : shi_fast_added(ctx, addr, width, pe);
}

static inline uint64_t update_fast(const struct shmem_ctx *ctx, void *at, size_t width, int pe, const struct shi_amo_call *call)
{
    uint64_t old = shi_amo_word(at, width, call->op, call->value, call->cond);
    shi_doorbell_ring_word(&ctx->peers[pe].rank);
    return old;
}

/* The mapped address of another word, or NULL and *remote, its remote address. */
static void *find(const struct shmem_ctx *ctx, const void *addr, size_t width, int pe, const struct shi_amo_call *call,
                  struct shi_remote_addr *remote)
{
    enum shi_use use = call->op == SHI_AMO_FETCH ? SHI_READ : SHI_WRITE;
    int is_remote = shi_is_remote(call->routine, ctx, use, call->arg, addr, width, pe, remote);
    void *at = is_remote ? NULL : shi_resolve_slow_copy(call->routine, ctx, use, call->arg, addr, width, pe);
    shi_check_aligned(call->routine, call->arg, addr, width, pe);
    return at;
}

/* For SHMEM_TRACE: the word, and its value after the call where that is known. */
static __attribute__((cold, noinline)) void describe(struct shi_span *s, const void *addr, size_t width,
                                                     const struct shi_amo_call *call, const uint64_t *old)
{
    uint64_t is = old ? *old : 0;
    if (call->op == SHI_AMO_FETCH)
        return;
    if (old)
        shi_amo_word(&is, width, call->op, call->value, call->cond);
    if (old && call->op == SHI_AMO_CSWAP && memcmp(old, &call->cond, width)) /* it has not changed the word */
        return;
    s->word = addr;
    s->word_bytes = width;
    s->value = call->op == SHI_AMO_SET ? call->value : is;
    s->has_value = old || call->op == SHI_AMO_SET;
}

/* Between the two copies no other agent may update the word, see proxy/staged.c. */
static uint64_t update_private(void *at, size_t width, int world_pe, const struct shi_amo_call *call)
{
    uint64_t old = 0, word, *held = call->op == SHI_AMO_FETCH ? NULL : shi_dheap_word_lock(world_pe);
    while (held && !shi_amo_try_lock(held)) /* A8; for microseconds, and nothing rings a doorbell when it is free */
        if (!shi_progress() && !shi_wait_aborted())
            sched_yield();
    if (call->op != SHI_AMO_SET)
        shi_dheap_copy(call->routine, &old, at, width);
    word = old;
    shi_amo_word(&word, width, call->op, call->value, call->cond);
    if (held) {
        shi_dheap_copy(call->routine, at, &word, width);
        shi_amo_unlock(held); /* R8 */
    }
    return old;
}

uint64_t shi_amo_mapped(const struct shmem_ctx *ctx, void *at, size_t width, int pe, const struct shi_amo_call *call)
{
    if (shi_dheap_is_private(at))
        return update_private(at, width, ctx->peers[pe].pe, call);
    return update_fast(ctx, at, width, pe, call);
}

static __attribute__((noinline)) void update_slow(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call)
{
    SHI_SPAN(span, SHI_ATOMICS, call->routine, ctx->team, pe, width);
    struct shi_remote_addr remote;
    void *at = find(ctx, addr, width, pe, call, &remote);
    uint64_t old = 0;
    if (at)
        old = shi_amo_mapped(ctx, at, width, pe, call);
    else
        shi_remote_update(ctx->lane, &remote, width, call->op, call->value, 0);
    if (span.began_ns)
        describe(&span, addr, width, call, at ? &old : NULL);
}

void shi_amo_update(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call)
{
    void *at = fast(ctx, addr, width, pe);
    if (at)
        update_fast(ctx, at, width, pe, call);
    else
        update_slow(ctx, addr, width, pe, call);
}

static __attribute__((noinline)) uint64_t fetch_slow(const struct shmem_ctx *ctx, void *addr, size_t width, int pe,
                                                     const struct shi_amo_call *call)
{
    SHI_SPAN(span, SHI_ATOMICS, call->routine, ctx->team, pe, width);
    struct shi_remote_addr remote;
    void *at = find(ctx, addr, width, pe, call, &remote);
    uint64_t old = at ? shi_amo_mapped(ctx, at, width, pe, call)
                      : shi_remote_fetch(ctx->lane, &remote, width, call->op, call->value, call->cond);
    if (span.began_ns)
        describe(&span, addr, width, call, &old);
    return old;
}

uint64_t shi_amo_fetch(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call)
{
    void *at = fast(ctx, addr, width, pe);
    return at ? update_fast(ctx, at, width, pe, call) : fetch_slow(ctx, addr, width, pe, call);
}

void shi_amo_fetch_nbi(const struct shmem_ctx *ctx, void *addr, size_t width, int pe, const struct shi_amo_call *call,
                       void *fetch)
{
    SHI_SPAN(span, SHI_ATOMICS, call->routine, ctx->team, pe, width);
    struct shi_remote_addr remote;
    void *at = fast(ctx, addr, width, pe);
    if (!at)
        at = find(ctx, addr, width, pe, call, &remote);
    shi_check_block(call->routine, "fetch", fetch, width, pe);
    if (!at && !shi_dheap_hides(fetch, width)) {
        shi_remote_fetch_nbi(ctx->lane, &remote, width, call->op, call->value, call->cond, fetch);
        if (span.began_ns)
            describe(&span, addr, width, call, NULL);
        return;
    }
    uint64_t old = at ? shi_amo_mapped(ctx, at, width, pe, call)
                      : shi_remote_fetch(ctx->lane, &remote, width, call->op, call->value, call->cond);
    if (span.began_ns)
        describe(&span, addr, width, call, &old);
    shi_dheap_memcpy(fetch, &old, width); /* the low bytes come first on every machine this runs on */
}

/* ---- 16 bytes ---------------------------------------------------------------------------------------------------- */

void shi_amo_wide(const struct shmem_ctx *ctx, const char *routine, void *dest, const uint64_t value[2], const uint64_t cond[2],
                  int pe, uint64_t old[2])
{
    SHI_SPAN(span, SHI_ATOMICS, routine, ctx->team, pe, SHI_WIDE_BYTES);
    struct shi_remote_addr remote;
    int is_remote = 0;
    void *at = shi_fast_added(ctx, dest, SHI_WIDE_BYTES, pe);
    if (!at)
        is_remote = shi_is_remote(routine, ctx, SHI_WRITE, "dest", dest, SHI_WIDE_BYTES, pe, &remote);
    if (!at && !is_remote)
        at = shi_resolve_slow_copy(routine, ctx, SHI_WRITE, "dest", dest, SHI_WIDE_BYTES, pe);
    shi_check_aligned(routine, "dest", dest, SHI_WIDE_BYTES, pe);
    if (!shi_wide_is_there())
        shi_die(routine, "this processor has no compare-and-swap of 16 bytes");
    if (shi_dheap_holds(dest, SHI_WIDE_BYTES) || shi_added_is_device(dest, 0))
        shi_die(routine, "dest = %p is in device memory, where there is no compare-and-swap of 16 bytes (pe = %d)", dest, pe);
    if (is_remote) {
        shi_remote_wide(ctx->lane, &remote, value, cond, old);
        return;
    }
    shi_wide_cswap(at, value, cond, old);
    shi_doorbell_ring_word(&ctx->peers[pe].rank);
}

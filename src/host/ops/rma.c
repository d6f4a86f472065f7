/* rma.c - the longer parts of put and get: strides, signals, argument checks. */
#include "host/ops/rma.h"

#include <string.h>

#include "host/net/node/doorbell.h"
#include "host/ops/amo.h"
#include "host/ops/dheap.h"
#include "host/ops/remote.h"
#include "host/ops/span.h"
#include "host/util/log.h"
#include "host/util/tsan.h"

/* SHMEM_CHECK=1: die when the two ranges, both addresses of this process, overlap. */
static void check_apart(const char *routine, const void *dest, const void *source, size_t bytes, int pe)
{
    uintptr_t d = (uintptr_t)dest, s = (uintptr_t)source;
    if (bytes && !source)
        shi_die(routine, "the local buffer is NULL (pe = %d)", pe);
    if (d < s + bytes && s < d + bytes)
        shi_die(routine, "dest and source overlap: %p and %p, %zu bytes (pe = %d)", dest, source, bytes, pe);
}

/* ---- for SHMEM_TRACE ---------------------------------------------------------------------------------------------- */

/* A put with a signal is one call: its span goes on in shi_signal. */
static _Thread_local struct shi_span with_signal;

static __attribute__((cold, noinline)) void describe_put(struct shi_span *s, const void *dest, const void *source, size_t bytes)
{
    s->at = dest;
    s->extent = bytes;
    if (bytes > sizeof s->value || bytes & (bytes - 1) || bytes == 0 || shi_dheap_hides(source, bytes))
        return;
    s->word = dest;
    s->word_bytes = bytes;
    s->has_value = 1;
    memcpy(&s->value, source, bytes);
}

static __attribute__((cold, noinline)) void describe_signal(struct shi_span *s, const uint64_t *sig_addr, uint64_t signal, int sig_op)
{
    if (with_signal.began_ns) {
        *s = with_signal;
        with_signal.began_ns = 0;
    }
    s->word = sig_addr;
    s->word_bytes = sizeof *sig_addr;
    s->value = signal;
    s->has_value = sig_op == SHMEM_SIGNAL_SET;
}

/* ---- put and get -------------------------------------------------------------------------------------------------- */

/* Where the host cannot access device memory, either side may be such memory: the device copies. Returns the way taken. */
static enum shi_way copy_slow(const char *routine, void *to, const void *from, size_t bytes, int pe)
{
    if (shi_world.check)
        check_apart(routine, to, from, bytes, pe);
    if (shi_world.dev_private && bytes) {
        shi_dheap_copy(routine, to, from, bytes);
        return SHI_BY_DEVICE;
    }
    shi_copy(to, from, bytes);
    return SHI_BY_STORES;
}

void shi_rma_put_slow(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source, size_t bytes,
                      int pe, int how)
{
    int signals = how & SHI_MORE;
    void *at = shi_fast_added(ctx, dest, bytes, pe);
    if (at) {
        shi_copy(at, source, bytes);
        return;
    }
    shi_check_block(routine, "source", source, bytes, pe);
    SHI_SPAN(span, signals ? SHI_SIGNALS : SHI_PUTS, routine, ctx->team, pe, bytes + (signals ? sizeof(uint64_t) : 0));
    SHI_TSAN_WRITES_IGNORED;
    struct shi_remote_addr to;
    if (shi_is_remote(routine, ctx, SHI_WRITE, "dest", dest, bytes, pe, &to))
        shi_remote_put(ctx->lane, &to, source, bytes, how);
    else
        span.way = copy_slow(routine, shi_resolve_slow_copy(routine, ctx, SHI_WRITE, "dest", dest, bytes, pe), source, bytes,
                             pe);
    if (span.began_ns && signals) {
        span.at = dest;
        span.extent = bytes;
        with_signal = span;
        span.began_ns = 0;
    } else if (span.began_ns) {
        describe_put(&span, dest, source, bytes);
    }
}

void shi_rma_get_slow(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source, size_t bytes,
                      int pe, int how)
{
    const void *at = shi_fast_added(ctx, source, bytes, pe);
    if (at) {
        shi_copy(dest, at, bytes);
        return;
    }
    shi_check_block(routine, "dest", dest, bytes, pe);
    SHI_SPAN(span, SHI_GETS, routine, ctx->team, pe, bytes);
    struct shi_remote_addr from;
    if (shi_is_remote(routine, ctx, SHI_READ, "source", source, bytes, pe, &from))
        shi_remote_get(ctx->lane, &from, dest, bytes, how);
    else
        span.way = copy_slow(routine, dest, shi_resolve_slow_copy(routine, ctx, SHI_READ, "source", source, bytes, pe), bytes,
                             pe);
}

/* Bytes from the first to past the last element of one side, or SIZE_MAX on overflow. */
static size_t reach(const struct shi_strided *s, ptrdiff_t stride)
{
    size_t gaps, elems;
    if (s->count == 0 || s->block == 0)
        return 0;
    if (__builtin_mul_overflow(s->count - 1, (size_t)stride, &gaps) || __builtin_add_overflow(gaps, s->block, &elems))
        return SIZE_MAX;
    return shi_bytes(elems, s->elem);
}

static void check_strides(const char *routine, const struct shi_strided *s, int pe)
{
    ptrdiff_t least = s->block > 1 && s->block <= PTRDIFF_MAX ? (ptrdiff_t)s->block : 1;
    if (s->dst < 1 || s->sst < 1)
        shi_die(routine, "strides dst = %td and sst = %td must be at least 1 (pe = %d)", s->dst, s->sst, pe);
    if (s->count > 1 && (s->dst < least || s->sst < least))
        shi_die(routine, "strides dst = %td and sst = %td are shorter than a block, bsize = %zu (pe = %d)", s->dst,
                s->sst, s->block, pe);
}

void shi_rma_put_strided(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source,
                         const struct shi_strided *s, int pe)
{
    SHI_SPAN(span, SHI_PUTS, routine, ctx->team, pe, s->count * s->block * s->elem);
    SHI_TSAN_WRITES_IGNORED;
    if (s->count && s->block)
        check_strides(routine, s, pe);
    size_t bytes = reach(s, s->dst);
    span.at = dest;
    span.extent = bytes;
    void *at = shi_fast_added(ctx, dest, bytes, pe);
    struct shi_remote_addr to;
    int remote = !at && shi_is_remote(routine, ctx, SHI_WRITE, "dest", dest, bytes, pe, &to);
    if (!at && !remote)
        at = shi_resolve_slow_copy(routine, ctx, SHI_WRITE, "dest", dest, bytes, pe);
    shi_check_block(routine, "source", source, reach(s, s->sst), pe);
    if (remote)
        shi_remote_put_strided(ctx->lane, &to, source, s);
    else if (bytes)
        shi_dheap_copy_strided(routine, at, source, s);
}

void shi_rma_get_strided(const char *routine, const struct shmem_ctx *ctx, void *dest, const void *source,
                         const struct shi_strided *s, int pe)
{
    SHI_SPAN(span, SHI_GETS, routine, ctx->team, pe, s->count * s->block * s->elem);
    if (s->count && s->block)
        check_strides(routine, s, pe);
    size_t bytes = reach(s, s->sst);
    const void *at = shi_fast_added(ctx, source, bytes, pe);
    struct shi_remote_addr from;
    int remote = !at && shi_is_remote(routine, ctx, SHI_READ, "source", source, bytes, pe, &from);
    if (!at && !remote)
        at = shi_resolve_slow_copy(routine, ctx, SHI_READ, "source", source, bytes, pe);
    shi_check_block(routine, "dest", dest, reach(s, s->dst), pe);
    if (remote)
        shi_remote_get_strided(ctx->lane, &from, dest, s);
    else if (bytes)
        shi_dheap_copy_strided(routine, dest, at, s);
}

void shi_signal(const char *routine, const struct shmem_ctx *ctx, uint64_t *sig_addr, uint64_t signal, int sig_op,
                int pe)
{
    SHI_SPAN(span, SHI_SIGNALS, routine, ctx->team, pe, sizeof *sig_addr);
    if (shi_unlikely(span.began_ns != 0))
        describe_signal(&span, sig_addr, signal, sig_op);
    uint64_t *at = shi_fast_added(ctx, sig_addr, sizeof *sig_addr, pe);
    struct shi_remote_addr remote;
    if (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD)
        shi_die(routine, "sig_op = %d is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD (pe = %d)", sig_op, pe);
    shi_check_aligned(routine, "sig_addr", sig_addr, sizeof *sig_addr, pe);
    if (!at && shi_is_remote(routine, ctx, SHI_WRITE, "sig_addr", sig_addr, sizeof *sig_addr, pe, &remote)) {
        shi_remote_update(ctx->lane, &remote, sizeof *sig_addr, sig_op == SHMEM_SIGNAL_SET ? SHI_AMO_SET : SHI_AMO_ADD, signal,
                          1);
        return;
    }
    at = at ? at : shi_resolve_slow_copy(routine, ctx, SHI_WRITE, "sig_addr", sig_addr, sizeof *sig_addr, pe);
    if (shi_unlikely(shi_world.dev_private))
        span.value = signal + shi_amo_mapped(ctx, at, sizeof *at, pe, &(struct shi_amo_call){.routine = routine, .value = signal,
                                             .op = sig_op == SHMEM_SIGNAL_SET ? SHI_AMO_SET : SHI_AMO_ADD});
    else if (sig_op == SHMEM_SIGNAL_SET)
        __atomic_store_n(at, signal, __ATOMIC_RELEASE);
    else
        span.value = signal + __atomic_fetch_add(at, signal, __ATOMIC_ACQ_REL);
    span.has_value = 1;
    shi_doorbell_ring_word(&ctx->peers[pe].rank);
}

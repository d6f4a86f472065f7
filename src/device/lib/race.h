/*
 * race.h - the device library's calls with a report before them, for kernels compiled by `oshcc --race`: shmemg.h includes it where SHI_RACE is set,
 * and calls below then mean these functions. race_words.h says what a report is.
 */
#ifndef SHI_RACE_H
#define SHI_RACE_H

#include "device/lib/amo.h"
#include "device/lib/complete.h"
#include "device/lib/many.h"
#include "device/lib/race_words.h"
#include "device/lib/sync.h"

/* The size of a T as a call of shi_amo has it: with a bit for a floating-point number. */
#define SHI_RACE_SIZE_(T) (sizeof(T) | ((T)0.5 != (T)0 ? 256 : 0))

SHI_FN void shi_race_word(int k, shi_u64 value)
{
    ((volatile SHI_GLOBAL shi_u64 *)SHI_RACE_WORDS)[k] = value;
}

SHI_FN void shi_race_end(void)
{
    shi_race_word(SHI_RACE_CALL, SHI_RACE_END);
}

/* The words that most calls have. For arguments that the call refuses, it is one that accesses nothing. */
SHI_FN void shi_race_call(shmem_ctx_t ctx, int call, const void *object, shi_u64 bytes, int pe, const void *buffer, int nbi)
{
    int good = ctx && ctx->version == SHI_DEV_VERSION && (shi_u32)pe < (shi_u32)ctx->n_pes;
    if (good) {
        shi_race_word(SHI_RACE_RING, ctx->ring);
        shi_race_word(SHI_RACE_OBJECT, shi_address(object));
        shi_race_word(SHI_RACE_BYTES, bytes);
        shi_race_word(SHI_RACE_PE, (shi_u64)shi_ctx_member(ctx, pe));
        shi_race_word(SHI_RACE_LOCAL, (shi_u64)shi_to_global(buffer));
        shi_race_word(SHI_RACE_NBI, (shi_u64)nbi);
    }
    shi_race_word(SHI_RACE_CALL, good ? (shi_u64)call : (shi_u64)SHI_RACE_INSIDE);
}

/* A group's call is one of its first item, after what the others did before it. */
SHI_FN void shi_race_group_call(shmem_ctx_t ctx, int g, int call, const void *object, shi_u64 bytes, int pe, const void *buffer, int nbi)
{
    shi_group_barrier(g);
    if (shi_rank(g) == 0)
        shi_race_call(ctx, call, object, bytes, pe, buffer, nbi);
    else
        shi_race_word(SHI_RACE_CALL, SHI_RACE_INSIDE);
}

/* ---- memory --------------------------------------------------------------------------------------------------------- */

SHI_FN void shi_race_put(shmem_ctx_t ctx, int g, void *dest, const void *source, shi_u64 bytes, int pe, int nbi)
{
    shi_race_group_call(ctx, g, SHI_RACE_PUT, dest, bytes, pe, source, nbi);
    shi_put(ctx, g, dest, source, bytes, pe, nbi);
    shi_race_end();
}

SHI_FN void shi_race_p(shmem_ctx_t ctx, void *dest, shi_u64 value, shi_u64 bytes, int pe)
{
    shi_race_call(ctx, SHI_RACE_PUT, dest, bytes, pe, 0, 0);
    shi_p(ctx, dest, value, bytes, pe);
    shi_race_end();
}

SHI_FN void shi_race_get(shmem_ctx_t ctx, int g, void *dest, const void *source, shi_u64 bytes, int pe, int nbi)
{
    shi_race_group_call(ctx, g, SHI_RACE_GET, source, bytes, pe, dest, nbi);
    shi_get(ctx, g, dest, source, bytes, pe, nbi);
    shi_race_end();
}

/* The PE's own memory. */
SHI_FN void shi_race_reads(shmem_ctx_t ctx, int g, const void *source, shi_u64 bytes, int me)
{
    shi_race_group_call(ctx, g, bytes ? SHI_RACE_GET : SHI_RACE_INSIDE, source, bytes, me, 0, 0);
    shi_race_end();
}

SHI_FN shi_u64 shi_race_g(shmem_ctx_t ctx, const void *source, shi_u64 bytes, int pe)
{
    shi_race_call(ctx, SHI_RACE_GET, source, bytes, pe, 0, 0);
    shi_u64 value = shi_g(ctx, source, bytes, pe);
    shi_race_end();
    return value;
}

SHI_FN void shi_race_put_signal(shmem_ctx_t ctx, int g, void *dest, const void *source, shi_u64 bytes, void *sig_addr, shi_u64 value,
                                int sig_op, int pe, int nbi)
{
    shi_race_word(SHI_RACE_SIGNAL, shi_address(sig_addr));
    shi_race_group_call(ctx, g, SHI_RACE_PUT_SIGNAL, dest, bytes, pe, source, nbi);
    shi_put_signal(ctx, g, dest, source, bytes, sig_addr, value, sig_op, pe, nbi);
    shi_race_end();
}

SHI_FN void shi_race_atomic(shmem_ctx_t ctx, int amo, const void *dest, shi_u64 size, int pe, const void *fetch, int fetches)
{
    shi_race_word(SHI_RACE_FLAGS, (shi_u64)((fetches ? SHI_RACE_FETCHES : 0) | (amo != SHI_AMO_FETCH ? SHI_RACE_UPDATES : 0) |
                                            (size & 256 ? SHI_RACE_FLOATING : 0)));
    shi_race_call(ctx, SHI_RACE_AMO, dest, size & 255, pe, fetch, 1);
}

SHI_FN shi_u64 shi_race_amo(shmem_ctx_t ctx, int amo, const void *dest, shi_u64 size, shi_u64 value, shi_u64 cond, int pe, int result)
{
    shi_race_atomic(ctx, amo, dest, size, pe, 0, result == SHI_RESULT_SLOT);
    shi_u64 before = shi_amo(ctx, amo, dest, size & 255, value, cond, pe, result);
    if (result == SHI_RESULT_SLOT)
        shi_race_call(ctx, SHI_RACE_FETCHED, dest, size & 255, pe, 0, 0);
    shi_race_end();
    return before;
}

SHI_FN void shi_race_amo_nbi(shmem_ctx_t ctx, int amo, void *fetch, const void *dest, shi_u64 size, shi_u64 value, shi_u64 cond, int pe)
{
    shi_race_atomic(ctx, amo, dest, size, pe, fetch, 1);
    shi_amo_nbi(ctx, amo, fetch, dest, size & 255, value, cond, pe);
    shi_race_end();
}

SHI_FN shi_u64 shi_race_amo_fadd(shmem_ctx_t ctx, const void *dest, shi_u64 bytes, shi_u64 value, int pe, int result)
{
    shi_race_atomic(ctx, SHI_AMO_ADD, dest, bytes | 256, pe, 0, result == SHI_RESULT_SLOT);
    shi_u64 before = shi_amo_fadd(ctx, dest, bytes, value, pe, result);
    if (result == SHI_RESULT_SLOT)
        shi_race_call(ctx, SHI_RACE_FETCHED, dest, bytes, pe, 0, 0);
    shi_race_end();
    return before;
}

SHI_FN void shi_race_amo_fadd_nbi(shmem_ctx_t ctx, void *fetch, const void *dest, shi_u64 bytes, shi_u64 value, int pe)
{
    shi_race_atomic(ctx, SHI_AMO_ADD, dest, bytes | 256, pe, fetch, 1);
    shi_amo_fadd_nbi(ctx, fetch, dest, bytes, value, pe);
    shi_race_end();
}

/* ---- order ---------------------------------------------------------------------------------------------------------- */

SHI_FN void shi_race_fence(shmem_ctx_t ctx, int g)
{
    shi_race_group_call(ctx, g, SHI_RACE_FENCE, 0, 0, 0, 0, 0);
    shi_fence(ctx, g);
    shi_race_end();
}

SHI_FN shi_u64 shi_race_quiet(shmem_ctx_t ctx, int g)
{
    shi_race_group_call(ctx, g, SHI_RACE_QUIET, 0, 0, 0, 0, 0);
    shi_u64 aborted = shi_quiet(ctx, g);
    shi_race_end();
    return aborted;
}

/* One report for each PE. */
SHI_FN void shi_race_pes(shmem_ctx_t ctx, int g, int call, const int *pes, size_t n)
{
    shi_race_word(SHI_RACE_CALL, SHI_RACE_INSIDE);
    for (size_t i = 0; i < n; i++)
        shi_race_group_call(ctx, g, call, 0, 0, pes[i], 0, 0);
}

SHI_FN void shi_race_pe_fence(shmem_ctx_t ctx, int g, const int *pes, size_t n)
{
    shi_race_pes(ctx, g, SHI_RACE_PE_FENCE, pes, n);
    shi_pe_fence(ctx, g, pes, n);
    shi_race_end();
}

SHI_FN void shi_race_pe_quiet(shmem_ctx_t ctx, int g, const int *pes, size_t n)
{
    shi_race_pes(ctx, g, SHI_RACE_PE_QUIET, pes, n);
    shi_pe_quiet(ctx, g, pes, n);
    shi_race_end();
}

SHI_FN void shi_race_flush(shmem_ctx_t ctx, int g)
{
    shi_race_group_call(ctx, g, SHI_RACE_FLUSH, 0, 0, 0, 0, 0);
    shi_flush(ctx, g);
    shi_race_end();
}

/* The first item has seen the word; the others are after it. */
SHI_FN void shi_race_seen(shmem_ctx_t ctx, int g, const void *ivar, shi_u64 bytes)
{
    if (shi_rank(g) == 0)
        shi_race_call(ctx, SHI_RACE_SEEN, ivar, bytes, 0, 0, 0);
    shi_group_barrier(g);
}

SHI_FN shi_u64 shi_race_wait_until(shmem_ctx_t ctx, int g, const void *ivar, shi_u64 bytes, int is_signed, int cmp, shi_u64 cmp_value)
{
    shi_race_word(SHI_RACE_CALL, SHI_RACE_INSIDE);
    shi_u64 value = shi_wait_until(ctx, g, ivar, bytes, is_signed, cmp, cmp_value);
    shi_race_seen(ctx, g, ivar, bytes);
    shi_race_end();
    return value;
}

SHI_FN int shi_race_test(shmem_ctx_t ctx, int g, const void *ivar, shi_u64 bytes, int is_signed, int cmp, shi_u64 cmp_value)
{
    shi_race_word(SHI_RACE_CALL, SHI_RACE_INSIDE);
    int yes = shi_test(ctx, g, ivar, bytes, is_signed, cmp, cmp_value);
    if (yes)
        shi_race_seen(ctx, g, ivar, bytes);
    shi_race_end();
    return yes;
}

SHI_FN shi_u64 shi_race_signal_fetch(shmem_ctx_t ctx, const void *sig_addr)
{
    shi_race_word(SHI_RACE_CALL, SHI_RACE_INSIDE);
    shi_u64 value = shi_signal_fetch(ctx, sig_addr);
    shi_race_seen(ctx, SHI_THREAD, sig_addr, 8);
    shi_race_end();
    return value;
}

SHI_FN void *shi_race_ptr(shmem_ctx_t ctx, const void *object, int pe)
{
    shi_race_word(SHI_RACE_CALL, SHI_RACE_INSIDE);
    void *at = shi_ptr(ctx, object, pe);
    if (at)
        shi_race_call(ctx, SHI_RACE_POINTER, object, 1, pe, at, 0);
    shi_race_end();
    return at;
}

/* All words count as seen. */
SHI_FN shi_u64 shi_race_many(shmem_ctx_t ctx, int g, int wait, int kind, const void *ivars, shi_u64 bytes, int is_signed,
                        size_t n, size_t *indices, const int *status, int cmp, shi_u64 value, const void *values, void *seen)
{
    shi_race_word(SHI_RACE_CALL, SHI_RACE_INSIDE);
    shi_u64 found = shi_many(ctx, g, wait, kind, ivars, bytes, is_signed, n, indices, status, cmp, value, values, seen);
    for (size_t i = 0; i < n; i++)
        shi_race_seen(ctx, g, (const char *)ivars + i * bytes, bytes);
    shi_race_end();
    return found;
}

SHI_FN shi_u64 shi_race_wait_count(shmem_ctx_t ctx, int g, void *sig_addr, shi_u64 n)
{
    shi_race_word(SHI_RACE_CALL, SHI_RACE_INSIDE);
    shi_u64 was = shi_wait_count(ctx, g, sig_addr, n);
    shi_race_seen(ctx, g, sig_addr, 8);
    shi_race_end();
    return was;
}

SHI_FN int shi_race_test_count(shmem_ctx_t ctx, int g, void *sig_addr, shi_u64 n)
{
    shi_race_word(SHI_RACE_CALL, SHI_RACE_INSIDE);
    int came = shi_test_count(ctx, g, sig_addr, n);
    if (came)
        shi_race_seen(ctx, g, sig_addr, 8);
    shi_race_end();
    return came;
}

/* Each member's entry is before the return of all. */
SHI_FN int shi_race_sync(shmem_ctx_t ctx, int g, shmem_team_t team)
{
    int leads = shi_rank(g) == 0 && team && team->n > 0;
    shi_group_barrier(g);
    if (leads)
        shi_race_word(SHI_RACE_OBJECT, team->flags);
    shi_race_word(SHI_RACE_CALL, leads ? (shi_u64)SHI_RACE_ENTER : (shi_u64)SHI_RACE_INSIDE);
    int bad = shi_sync(ctx, g, team);
    for (int i = 0; leads && !bad && i < team->n; i++) {
        shi_race_word(SHI_RACE_OBJECT, team->flags);
        shi_race_word(SHI_RACE_PE, (shi_u64)shi_member(team, i));
        shi_race_word(SHI_RACE_CALL, SHI_RACE_LEAVE);
    }
    shi_group_barrier(g);
    shi_race_end();
    return bad;
}

#define shi_put(...) shi_race_put(__VA_ARGS__)
#define shi_p(...) shi_race_p(__VA_ARGS__)
#define shi_get(...) shi_race_get(__VA_ARGS__)
#define shi_g(...) shi_race_g(__VA_ARGS__)
#define shi_put_signal(...) shi_race_put_signal(__VA_ARGS__)
#define shi_amo(...) shi_race_amo(__VA_ARGS__)
#define shi_amo_nbi(...) shi_race_amo_nbi(__VA_ARGS__)
#define shi_amo_fadd(...) shi_race_amo_fadd(__VA_ARGS__)
#define shi_amo_fadd_nbi(...) shi_race_amo_fadd_nbi(__VA_ARGS__)
#define shi_many(...) shi_race_many(__VA_ARGS__)
#define shi_wait_count(...) shi_race_wait_count(__VA_ARGS__)
#define shi_test_count(...) shi_race_test_count(__VA_ARGS__)
#define shi_fence(...) shi_race_fence(__VA_ARGS__)
#define shi_quiet(...) shi_race_quiet(__VA_ARGS__)
#define shi_pe_fence(...) shi_race_pe_fence(__VA_ARGS__)
#define shi_pe_quiet(...) shi_race_pe_quiet(__VA_ARGS__)
#define shi_flush(...) shi_race_flush(__VA_ARGS__)
#define shi_wait_until(...) shi_race_wait_until(__VA_ARGS__)
#define shi_test(...) shi_race_test(__VA_ARGS__)
#define shi_signal_fetch(...) shi_race_signal_fetch(__VA_ARGS__)
#define shi_ptr(...) shi_race_ptr(__VA_ARGS__)
#define shi_sync(...) shi_race_sync(__VA_ARGS__)

#endif

/*
 * tsan.c - what gcc and clang call with -fsanitize=thread: each load and store of the program, and its atomic operations, which are done here
 * and order threads.
 */
#include "race/tsan.h"

#include <string.h>

#include "race/shadow.h"
#include "race/sync.h"

void race_tsan_range(enum race_kind kind, const void *at, size_t bytes, const void *pc)
{
    struct race_thread *u = race_self();
    if (!u)
        return;
    const struct race_access a = {.u = u,
                                  .bits = (uint64_t)kind << RACE_KIND_AT | (uint64_t)u->actor << RACE_ACTOR_AT,
                                  .when = u->epoch,
                                  .pc = pc};
    race_shadow_here(&a, (uintptr_t)at, bytes);
}

static inline void one(enum race_kind kind, const void *at, size_t bytes, const void *pc)
{
    const struct race_thread *u = race_thread;
    if (u && (uintptr_t)at % RACE_GRANULE + bytes <= RACE_GRANULE && race_shadow_known(u, kind, (uintptr_t)at, bytes))
        return;
    race_tsan_range(kind, at, bytes, pc);
}

/* The compiler calls these and has no header of them. */
#define ENTRY(NAME, ...)                                                                                             \
    RACE_API void __tsan_##NAME(__VA_ARGS__);                                                                        \
    RACE_API void __tsan_##NAME(__VA_ARGS__)
#define ACCESS(BYTES, MORE)                                                                                          \
    ENTRY(MORE##read##BYTES, void *at)                                                                               \
    {                                                                                                                \
        one(RACE_LOAD, at, BYTES, RACE_CALLER);                                                                      \
    }                                                                                                                \
    ENTRY(MORE##write##BYTES, void *at)                                                                              \
    {                                                                                                                \
        one(RACE_STORE, at, BYTES, RACE_CALLER);                                                                     \
    }                                                                                                                \
    ENTRY(MORE##read_write##BYTES, void *at)                                                                         \
    {                                                                                                                \
        one(RACE_LOAD, at, BYTES, RACE_CALLER);                                                                      \
        one(RACE_STORE, at, BYTES, RACE_CALLER);                                                                     \
    }
#define ACCESSES(MORE) ACCESS(1, MORE) ACCESS(2, MORE) ACCESS(4, MORE) ACCESS(8, MORE) ACCESS(16, MORE)
ACCESSES()
ACCESSES(unaligned_)
ACCESSES(volatile_)
ACCESSES(unaligned_volatile_)

ENTRY(init, void)
{
}

ENTRY(func_entry, void *pc)
{
    (void)pc;
}

ENTRY(func_exit, void)
{
}

ENTRY(ignore_thread_begin, void)
{
}

ENTRY(ignore_thread_end, void)
{
}

ENTRY(read_range, void *at, size_t bytes)
{
    race_tsan_range(RACE_LOAD, at, bytes, RACE_CALLER);
}

ENTRY(write_range, void *at, size_t bytes)
{
    race_tsan_range(RACE_STORE, at, bytes, RACE_CALLER);
}

ENTRY(vptr_read, void **at)
{
    race_tsan_range(RACE_LOAD, at, sizeof *at, RACE_CALLER);
}

ENTRY(vptr_update, void **at, void *value)
{
    if (*at != value)
        race_tsan_range(RACE_STORE, at, sizeof *at, RACE_CALLER);
}

RACE_API void *__tsan_memcpy(void *to, const void *from, size_t bytes);
RACE_API void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    race_tsan_range(RACE_LOAD, from, bytes, RACE_CALLER);
    race_tsan_range(RACE_STORE, to, bytes, RACE_CALLER);
    return memcpy(to, from, bytes);
}

RACE_API void *__tsan_memmove(void *to, const void *from, size_t bytes);
RACE_API void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    race_tsan_range(RACE_LOAD, from, bytes, RACE_CALLER);
    race_tsan_range(RACE_STORE, to, bytes, RACE_CALLER);
    return memmove(to, from, bytes);
}

RACE_API void *__tsan_memset(void *to, int byte, size_t bytes);
RACE_API void *__tsan_memset(void *to, int byte, size_t bytes)
{
    race_tsan_range(RACE_STORE, to, bytes, RACE_CALLER);
    return memset(to, byte, bytes);
}

/* ---- atomics of the language ----------------------------------------------------------------------------------------- */

/* Each is as strong as seq_cst, and orders by its object. */
static void order(const volatile void *object, int gives, int takes)
{
    struct race_thread *u = race_self();
    struct race_clock *c = u ? race_sync_local((const void *)object) : NULL;
    if (c && takes)
        race_sync_take_from(u, c);
    if (c && gives)
        race_sync_give_to(u, c);
}

#define UPDATE(BITS, T, NAME)                                                                                        \
    RACE_API T __tsan_atomic##BITS##_##NAME(volatile T *at, T value, int how);                                       \
    RACE_API T __tsan_atomic##BITS##_##NAME(volatile T *at, T value, int how)                                        \
    {                                                                                                                \
        (void)how;                                                                                                   \
        race_tsan_range(RACE_STORE, (const void *)at, sizeof *at, RACE_CALLER);                                      \
        order(at, 1, 0);                                                                                             \
        T old = __atomic_##NAME(at, value, __ATOMIC_SEQ_CST);                                                        \
        order(at, 0, 1);                                                                                             \
        return old;                                                                                                  \
    }
#define EXCHANGE(BITS, T, NAME, WEAK)                                                                                     \
    RACE_API int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile T *at, T *expected, T value, int how, int fails); \
    RACE_API int __tsan_atomic##BITS##_compare_exchange_##NAME(volatile T *at, T *expected, T value, int how, int fails)  \
    {                                                                                                                     \
        (void)how, (void)fails;                                                                                           \
        race_tsan_range(RACE_STORE, (const void *)at, sizeof *at, RACE_CALLER);                                           \
        order(at, 1, 0);                                                                                                  \
        int done = __atomic_compare_exchange_n(at, expected, value, WEAK, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);            \
        order(at, 0, 1);                                                                                                  \
        return done;                                                                                                      \
    }
#define ATOMICS(BITS, T)                                                                                             \
    RACE_API T __tsan_atomic##BITS##_load(const volatile T *at, int how);                                            \
    RACE_API T __tsan_atomic##BITS##_load(const volatile T *at, int how)                                             \
    {                                                                                                                \
        (void)how;                                                                                                   \
        race_tsan_range(RACE_LOAD, (const void *)at, sizeof *at, RACE_CALLER);                                       \
        T value = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                             \
        order(at, 0, 1);                                                                                             \
        return value;                                                                                                \
    }                                                                                                                \
    RACE_API void __tsan_atomic##BITS##_store(volatile T *at, T value, int how);                                     \
    RACE_API void __tsan_atomic##BITS##_store(volatile T *at, T value, int how)                                      \
    {                                                                                                                \
        (void)how;                                                                                                   \
        race_tsan_range(RACE_STORE, (const void *)at, sizeof *at, RACE_CALLER);                                      \
        order(at, 1, 0);                                                                                             \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                               \
    }                                                                                                                \
    RACE_API T __tsan_atomic##BITS##_exchange(volatile T *at, T value, int how);                                     \
    RACE_API T __tsan_atomic##BITS##_exchange(volatile T *at, T value, int how)                                      \
    {                                                                                                                \
        (void)how;                                                                                                   \
        race_tsan_range(RACE_STORE, (const void *)at, sizeof *at, RACE_CALLER);                                      \
        order(at, 1, 0);                                                                                             \
        T old = __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                    \
        order(at, 0, 1);                                                                                             \
        return old;                                                                                                  \
    }                                                                                                                \
    RACE_API T __tsan_atomic##BITS##_compare_exchange_val(volatile T *at, T expected, T value, int how, int fails);  \
    RACE_API T __tsan_atomic##BITS##_compare_exchange_val(volatile T *at, T expected, T value, int how, int fails)   \
    {                                                                                                                \
        __tsan_atomic##BITS##_compare_exchange_strong(at, &expected, value, how, fails);                             \
        return expected;                                                                                             \
    }                                                                                                                \
    UPDATE(BITS, T, fetch_add)                                                                                       \
    UPDATE(BITS, T, fetch_sub)                                                                                       \
    UPDATE(BITS, T, fetch_and)                                                                                       \
    UPDATE(BITS, T, fetch_or)                                                                                        \
    UPDATE(BITS, T, fetch_xor)                                                                                       \
    UPDATE(BITS, T, fetch_nand)
#define WIDTH(BITS)                                                                                                  \
    EXCHANGE(BITS, uint##BITS##_t, strong, 0)                                                                        \
    EXCHANGE(BITS, uint##BITS##_t, weak, 1)                                                                          \
    ATOMICS(BITS, uint##BITS##_t)
WIDTH(8)
WIDTH(16)
WIDTH(32)
WIDTH(64)

/* Fences order by an object of their own: every fence is ordered with every other. */
static char fences;

ENTRY(atomic_thread_fence, int how)
{
    (void)how;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    order(&fences, 1, 1);
}

ENTRY(atomic_signal_fence, int how)
{
    (void)how;
}

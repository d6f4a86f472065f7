/*
 * tsan.c - what gcc and clang call with -fsanitize=thread: each load and store of the program, and its atomic operations, which are done here
 * and order threads.
 */
#include "race/tsan.h"

#include <string.h>

#include "race/clock.h"
#include "race/page.h"
#include "race/place.h"
#include "race/shadow.h"
#include "race/sync.h"

__attribute__((noinline)) void race_tsan_range(enum race_kind kind, const void *at, size_t bytes, const void *pc)
{
    struct race_thread *u = race_filtered_range((uintptr_t)at, bytes) ? NULL : race_self();
    if (u)
        race_shadow_first(u, kind, (uintptr_t)at, bytes, pc);
}

/* ---- the shortest ways ---------------------------------------------------------------------------------------------------- */

/* Is the address in this range of the PE's own symmetric memory? First pair of its cells; the state of its page. */
static inline int is_in(const struct race_range *r, uintptr_t addr)
{
    return addr - r->lo < r->bytes;
}

static inline uint64_t *pair_in(const struct race_range *r, uintptr_t addr)
{
    return (uint64_t *)(r->pairs + (addr & ~(uintptr_t)(RACE_GRANULE - 1)) * (RACE_PAIR / RACE_GRANULE));
}

static inline struct race_state *state_of(const uint64_t *pair)
{
    return (struct race_state *)(race_node.pages + ((uintptr_t)pair - (uintptr_t)race_node.cells) / RACE_PAGE_CELLS * RACE_LINE);
}

/* Do the cells have this load, or a store of its bytes, by the thread in this epoch? Then there is nothing to do. */
__attribute__((always_inline)) static inline int has(const struct race_thread *u, enum race_kind kind,
                                                                 const uint64_t *pair, uint64_t mask)
{
    uint64_t fields = RACE_CELL_WHO_AND_KIND | mask;
    return (kind == RACE_LOAD && !((__atomic_load_n(&pair[1], __ATOMIC_RELAXED) ^ (u->load | mask)) & fields)) ||
           !((__atomic_load_n(&pair[0], __ATOMIC_RELAXED) ^ (u->store | mask)) & fields);
}

/* Is the access of this cell, of memory of the thread's PE, ordered before its load or store x? Once it is, it remains so. */
static inline int is_before(struct race_thread *u, uint64_t cell, uint64_t x)
{
    const uint64_t actor = (((uint64_t)1 << race_dim.actor_bits) - 1) << RACE_MOMENT_AT;
    if (!cell || (!((cell ^ x) & actor) && (RACE_CELL_KIND_OF(cell) == RACE_LOAD || RACE_CELL_KIND_OF(cell) == RACE_STORE)))
        return 1;
    cell &= ~RACE_CELL_MASK;
    return *race_near_cell(u, cell) == cell || race_shadow_known(u, cell);
}

/* What remains of it after an access of these bytes that is after it. */
static inline uint64_t uncovered(enum race_kind kind, uint64_t cell, uint64_t mask)
{
    if (kind == RACE_STORE || !race_kind_writes(RACE_CELL_KIND_OF(cell)))
        cell &= ~mask;
    return cell & RACE_CELL_MASK ? cell : 0;
}

static inline void change(uint64_t *cell, uint64_t value)
{
    if (value != *cell)
        __atomic_store_n(cell, value, __ATOMIC_RELAXED);
}

/* The first access of an epoch at memory whose cells are all of accesses that are ordered before it, by the page's holder. Its own cell is the
 * one of its kind in the first pair; what remains of an older access there moves to a free one. 0: none is free, or it is another case; nothing
 * has changed. */
__attribute__((always_inline)) static inline int first(struct race_thread *u, enum race_kind kind, uint64_t *pair, uint64_t *second,
                                                                   struct race_state *state, uint64_t mask, uint64_t x)
{
    uint64_t *own = pair + (kind == RACE_LOAD), *other = pair + (kind != RACE_LOAD), c = 0, d = 0;
    uint64_t was = *own, rest = uncovered(kind, was, mask), b = uncovered(kind, *other, mask);
    if (!is_before(u, was, x) || !is_before(u, *other, x))
        return 0;
    if (race_unlikely(state->wide)) {
        if (!is_before(u, second[0], x) || !is_before(u, second[1], x))
            return 0;
        c = uncovered(kind, second[0], mask), d = uncovered(kind, second[1], mask);
    }
    if (!((was ^ x) & ~RACE_CELL_MASK))
        x |= was;
    else if (rest && !b)
        b = rest;
    else if (race_unlikely(rest != 0)) {
        if (c && d)
            return 0;
        *(c ? &d : &c) = rest;
        __atomic_store_n(&state->wide, 1, __ATOMIC_RELAXED);
    }
    __atomic_store_n(own, x, __ATOMIC_RELAXED);
    change(other, b);
    if (race_unlikely(state->wide)) {
        change(second, c);
        change(second + 1, d);
    }
    return 1;
}

__attribute__((always_inline)) static inline int only(struct race_thread *u, enum race_kind kind, uint64_t *pair, uint64_t *second,
                                                                  struct race_state *state, uint64_t mask, const void *pc)
{
    uint64_t x = (kind == RACE_LOAD ? u->load : u->store) | mask | race_place_of(pc, NULL, 0);
    enum race_hold how = race_page_try(u, state);
    if (how == RACE_NOT_HELD)
        return 0;
    int done = first(u, kind, pair, second, state, mask, x);
    race_page_done(u, state, how);
    return done;
}

static size_t bytes_of(uint64_t mask)
{
    return (size_t)__builtin_popcountll(mask);
}

/* The page's block of private memory, from a pair of its cells. */
static inline uint64_t *block_of(uint64_t *pair, uintptr_t addr)
{
    return pair - addr % RACE_PAGE / RACE_GRANULE * 2;
}

/* Is there nothing to do for a load or store of private memory? Those of a PE with one thread have no cells. */
__attribute__((always_inline)) static inline int is_done(const struct race_thread *u, enum race_kind kind, uint64_t *pair, uintptr_t addr,
                                                                     uint64_t mask)
{
    enum { SECOND = RACE_PAGE_CELLS / sizeof *pair };
    if (!race_alone)
        return has(u, kind, pair, mask);
    const struct race_state *state = (const struct race_state *)(block_of(pair, addr) + 2 * SECOND);
    return !(pair[0] | pair[1]) && (!state->wide || !(pair[SECOND] | pair[SECOND + 1]));
}

/* What a shorter way has not decided is called last, so that this way saves no registers. The thread takes part; own memory that has not this
 * access, private memory that has not, and memory that is not the PE's own symmetric one. */
#define LONGER(NAME, KIND)                                                                                           \
    __attribute__((noinline)) static void longest_##NAME(struct race_thread *u, uint64_t mask, uintptr_t addr, const void *pc) \
    {                                                                                                                \
        race_shadow_first(u, KIND, addr, bytes_of(mask), pc);                                                        \
    }                                                                                                                \
    __attribute__((noinline)) static void own_##NAME(struct race_thread *u, uint64_t *pair, uint64_t mask, uintptr_t addr, const void *pc) \
    {                                                                                                                \
        if (!only(u, KIND, pair, pair + race_node.second / sizeof *pair, state_of(pair), mask, pc))                  \
            longest_##NAME(u, mask, addr, pc);                                                                        \
    }                                                                                                                \
    __attribute__((noinline)) static void private_##NAME(struct race_thread *u, uint64_t *pair, uint64_t mask, uintptr_t addr, const void *pc) \
    {                                                                                                                \
        uint64_t *second = pair + RACE_PAGE_CELLS / sizeof *pair;                                                    \
        struct race_state *state = (struct race_state *)(block_of(pair, addr) + 2 * RACE_PAGE_CELLS / sizeof *pair); \
        if (race_alone || !only(u, KIND, pair, second, state, mask, pc))                                             \
            longest_##NAME(u, mask, addr, pc);                                                                        \
    }                                                                                                                \
    __attribute__((noinline)) static void other_##NAME(struct race_thread *u, uint64_t mask, uintptr_t addr, const void *pc) \
    {                                                                                                                \
        uintptr_t entry = race_page_entry(addr);                                                                     \
        if (entry & RACE_PRIVATE) {                                                                                  \
            uint64_t *pair = (uint64_t *)(entry - RACE_PRIVATE) + addr % RACE_PAGE / RACE_GRANULE * 2;               \
            if (!is_done(u, KIND, pair, addr, mask))                                                                 \
                private_##NAME(u, pair, mask, addr, pc);                                                             \
        } else if (entry != RACE_NO_CELLS || !race_alone)                                                            \
            longest_##NAME(u, mask, addr, pc);                                                                        \
    }
LONGER(load, RACE_LOAD)
LONGER(store, RACE_STORE)

__attribute__((noinline)) static void first_of_thread(enum race_kind kind, uint64_t mask, uintptr_t addr, const void *pc)
{
    struct race_thread *u = race_self();
    if (u)
        race_shadow_first(u, kind, addr, bytes_of(mask), pc);
}

__attribute__((always_inline)) static inline void in_own(struct race_thread *u, enum race_kind kind, uint64_t *pair, uint64_t mask,
                                                                     uintptr_t addr, const void *pc)
{
    if (!has(u, kind, pair, mask))
        (kind == RACE_LOAD ? own_load : own_store)(u, pair, mask, addr, pc);
}

/* A load or store of bytes of one granule. */
__attribute__((always_inline)) static inline void in_granule(enum race_kind kind, uintptr_t addr, size_t bytes, const void *pc)
{
    struct race_thread *u = race_thread;
    uint64_t mask = (uint64_t)((1u << bytes) - 1) << (addr % RACE_GRANULE) << RACE_CELL_MASK_AT;
    if (race_unlikely(!u))
        first_of_thread(kind, mask, addr, pc);
    else if (is_in(&race_ranges.heap, addr))
        in_own(u, kind, pair_in(&race_ranges.heap, addr), mask, addr, pc);
    else if (is_in(&race_ranges.statics, addr))
        in_own(u, kind, pair_in(&race_ranges.statics, addr), mask, addr, pc);
    else
        (kind == RACE_LOAD ? other_load : other_store)(u, mask, addr, pc);
}

__attribute__((always_inline)) static inline void one(enum race_kind kind, const void *at, size_t bytes, const void *pc)
{
    uintptr_t addr = (uintptr_t)at;
    if (addr % RACE_GRANULE + bytes <= RACE_GRANULE)
        in_granule(kind, addr, bytes, pc);
    else if (bytes == 2 * RACE_GRANULE && addr % RACE_GRANULE == 0) {
        in_granule(kind, addr, RACE_GRANULE, pc);
        in_granule(kind, addr + RACE_GRANULE, RACE_GRANULE, pc);
    } else
        race_tsan_range(kind, at, bytes, pc);
}

__attribute__((always_inline)) static inline void filtered(enum race_kind kind, const void *at, size_t bytes, const void *pc)
{
    if (__builtin_expect(race_filtered((uintptr_t)at), 1))
        return;
    one(kind, at, bytes, pc);
}

/* The code that link/as makes calls these where the filter has the address. */
#define HERE(NAME, KIND, BYTES)                                                                                      \
    RACE_API void __fulmar_##NAME##BYTES(void *at);                                                                  \
    RACE_API void __fulmar_##NAME##BYTES(void *at)                                                                   \
    {                                                                                                                \
        one(KIND, at, BYTES, RACE_CALLER);                                                                           \
    }
#define BOTH(BYTES) HERE(read, RACE_LOAD, BYTES) HERE(write, RACE_STORE, BYTES)
BOTH(1)
BOTH(2)
BOTH(4)
BOTH(8)
BOTH(16)

/* The compiler calls these and has no header of them. */
#define ENTRY(NAME, ...)                                                                                             \
    RACE_API void __tsan_##NAME(__VA_ARGS__);                                                                        \
    RACE_API void __tsan_##NAME(__VA_ARGS__)
#define ACCESS(BYTES, MORE)                                                                                          \
    ENTRY(MORE##read##BYTES, void *at)                                                                               \
    {                                                                                                                \
        filtered(RACE_LOAD, at, BYTES, RACE_CALLER);                                                                      \
    }                                                                                                                \
    ENTRY(MORE##write##BYTES, void *at)                                                                              \
    {                                                                                                                \
        filtered(RACE_STORE, at, BYTES, RACE_CALLER);                                                                     \
    }                                                                                                                \
    ENTRY(MORE##read_write##BYTES, void *at)                                                                         \
    {                                                                                                                \
        filtered(RACE_LOAD, at, BYTES, RACE_CALLER);                                                                      \
        filtered(RACE_STORE, at, BYTES, RACE_CALLER);                                                                     \
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

/* In symmetric memory, where other PEs may see it by shmem_ptr, it is an atomic of a type of its own; elsewhere a load or store. */
static void atomic(int writes, const volatile void *object, size_t bytes, const void *pc)
{
    enum { OF_THE_LANGUAGE = 1 }; /* no value of race_op_atomic */
    struct race_thread *u = race_self();
    uintptr_t at = (uintptr_t)object;
    if (!u)
        return;
    if (!race_page_symmetric(at)) {
        race_shadow_first(u, writes ? RACE_STORE : RACE_LOAD, at, bytes, pc);
        return;
    }
    const struct race_access a = {.u = u,
                                  .bits = (uint64_t)(writes ? RACE_AMO_FETCH : RACE_AMO_READ) << RACE_KIND_AT |
                                          (uint64_t)u->actor << RACE_ACTOR_AT | (uint64_t)OF_THE_LANGUAGE << RACE_ATOMIC_AT,
                                  .when = u->epoch,
                                  .pc = pc};
    race_shadow_here(&a, at, bytes);
}

/* Each is as strong as seq_cst, and orders by its object: PEs by the word of symmetric memory, threads by the address. */
static void order(const volatile void *object, int gives, int takes)
{
    struct race_thread *u = race_self();
    if (!u)
        return;
    struct race_where w = {.segment = -1};
    if (race_page_symmetric((uintptr_t)object))
        race_page_find((uintptr_t)object, &w);
    struct race_clock *c = race_sync_local((const void *)object);
    uint64_t key = race_sync_word(w.pe, w.segment, w.offset);
    if (takes && w.segment >= 0)
        race_sync_take(u, key);
    if (takes)
        race_sync_take_from(u, c);
    if (gives && w.segment >= 0)
        race_sync_give(u, key, NULL);
    if (gives)
        race_sync_give_to(u, c);
}

#define UPDATE(BITS, T, NAME)                                                                                        \
    RACE_API T __tsan_atomic##BITS##_##NAME(volatile T *at, T value, int how);                                       \
    RACE_API T __tsan_atomic##BITS##_##NAME(volatile T *at, T value, int how)                                        \
    {                                                                                                                \
        (void)how;                                                                                                   \
        atomic(1, at, sizeof *at, RACE_CALLER);                                                                      \
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
        atomic(1, at, sizeof *at, RACE_CALLER);                                                                           \
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
        atomic(0, at, sizeof *at, RACE_CALLER);                                                                      \
        T value = __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                             \
        order(at, 0, 1);                                                                                             \
        return value;                                                                                                \
    }                                                                                                                \
    RACE_API void __tsan_atomic##BITS##_store(volatile T *at, T value, int how);                                     \
    RACE_API void __tsan_atomic##BITS##_store(volatile T *at, T value, int how)                                      \
    {                                                                                                                \
        (void)how;                                                                                                   \
        atomic(1, at, sizeof *at, RACE_CALLER);                                                                      \
        order(at, 1, 0);                                                                                             \
        __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                               \
    }                                                                                                                \
    RACE_API T __tsan_atomic##BITS##_exchange(volatile T *at, T value, int how);                                     \
    RACE_API T __tsan_atomic##BITS##_exchange(volatile T *at, T value, int how)                                      \
    {                                                                                                                \
        (void)how;                                                                                                   \
        atomic(1, at, sizeof *at, RACE_CALLER);                                                                      \
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

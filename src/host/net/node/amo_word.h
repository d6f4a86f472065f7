/* amo_word.h - one atomic update of a word by a CPU of its node, for the proxy, the network and checked calls. */
#ifndef SHI_AMO_WORD_H
#define SHI_AMO_WORD_H

#include <string.h>

#include "device/lib/request.h"

/* T: the word; F: the floating-point type of its size. */
#define SHI_AMO_FADD_OF(T, F)                                                                                        \
    static inline T shi_amo_fadd_##T(T *at, T value)                                                                 \
    {                                                                                                                \
        T seen = __atomic_load_n(at, __ATOMIC_RELAXED), next;                                                        \
        F sum, add;                                                                                                  \
        memcpy(&add, &value, sizeof add);                                                                            \
        do {                                                                                                         \
            memcpy(&sum, &seen, sizeof sum);                                                                         \
            sum += add;                                                                                              \
            memcpy(&next, &sum, sizeof next);                                                                        \
        } while (!__atomic_compare_exchange_n(at, &seen, next, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));              \
        return seen;                                                                                                 \
    }
SHI_AMO_FADD_OF(uint32_t, float)
SHI_AMO_FADD_OF(uint64_t, double)

#define SHI_AMO_WORD(T)                                                                                              \
    static inline T shi_amo_##T(T *at, int amo, T value, T cond)                                                     \
    {                                                                                                                \
        switch (amo) {                                                                                               \
        case SHI_AMO_FETCH: return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                            \
        case SHI_AMO_SET: __atomic_store_n(at, value, __ATOMIC_SEQ_CST); return 0;                                   \
        case SHI_AMO_SWAP: return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                  \
        case SHI_AMO_ADD: return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                    \
        case SHI_AMO_AND: return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST);                                    \
        case SHI_AMO_OR: return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);                                      \
        case SHI_AMO_XOR: return __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST);                                    \
        case SHI_AMO_FADD: return shi_amo_fadd_##T(at, value);                                                       \
        default:                                                                                                     \
            __atomic_compare_exchange_n(at, &cond, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
            return cond;                                                                                             \
        }                                                                                                            \
    }
SHI_AMO_WORD(uint32_t)
SHI_AMO_WORD(uint64_t)

/* Update the aligned word of 4 or 8 bytes; its old value, of a SHI_AMO_SET 0. */
static inline uint64_t shi_amo_word(void *at, size_t bytes, int amo, uint64_t value, uint64_t cond)
{
    return bytes == 4 ? shi_amo_uint32_t(at, amo, (uint32_t)value, (uint32_t)cond)
                      : shi_amo_uint64_t(at, amo, value, cond);
}

/* The lock for updates of words in a PE's device memory that the host cannot load and store (`held` of net_shm.h). 1, or 0 when
 * another agent has it. */
static inline int shi_amo_try_lock(uint64_t *held)
{
    uint64_t unlocked = 0;
    return __atomic_compare_exchange_n(held, &unlocked, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED); /* A8 */
}

static inline void shi_amo_unlock(uint64_t *held)
{
    __atomic_store_n(held, 0, __ATOMIC_RELEASE); /* R8 */
}

#endif

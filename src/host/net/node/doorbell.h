/*
 * doorbell.h - wake threads of the node's PEs that sleep in a wait.
 *
 * Each PE has a doorbell, a futex word in the node's shared memory. A thread whose wait lasts announces itself and, from then
 * on, arms the doorbell before each check of its condition and each sleep. Every agent that has stored what a PE may await
 * rings afterwards. A ring is one load while no thread of the node is announced.
 *
 *   the awaited store                                    the ring, and where
 *   put, until the writer's quiet                        words: shmem_quiet, barriers with quiet, shmem_ctx_destroy
 *   AMO, signal, lock                                    word: the AMO itself
 *   word of a barrier, notification of a collective      pe: after the store
 *   active message, free slot of a FIFO, helped read     pe: after the store
 *   anything that a thread's progress handles            pe, its own: other threads of the PE may wait for it
 *   kernels' requests, carried out by the proxy          words, and pe, its own
 *
 * A put that no quiet follows, a kernel's store to memory and the lock of a word in private device memory ring no doorbell:
 * sleeps have a time limit.
 */
#ifndef SHI_DOORBELL_H
#define SHI_DOORBELL_H

#include <stddef.h>
#include <stdint.h>

#include "host/util/base.h"

/* The doorbells of a node's n PEs need so many zeroed bytes, in cache lines. */
size_t shi_doorbell_bytes(int n);

/* Use those at memory, in the node's file mapped at base; `me` is the local rank. */
void shi_doorbell_up(void *memory, int n, int me, const char *base);

/* The memory is about to be unmapped; no thread waits. */
void shi_doorbell_leave(void);

/* ---- sleeping ----------------------------------------------------------------------------------------------------- */

/* What an announced thread awaits besides rings for its PE: the aligned 8 bytes at this offset of the node's file; any
 * change of memory; or nothing else. */
enum { SHI_DOORBELL_NO_WORD = 0, SHI_DOORBELL_ANY_WORD = 1 };

/* Announce this thread. 0: there are no doorbells, or the PE has none to share. Pair: retract, with the same offset.
 * Agents that ring may not see the announcement yet: the first sleep has to be short, and comes before the first arm. */
int shi_doorbell_announce(uint64_t off);
void shi_doorbell_retract(uint64_t off);

/* Arm this PE's doorbell; check the condition, then pass the result to sleep. */
uint32_t shi_doorbell_arm(uint64_t off);

/* Sleep unless the doorbell has rung since it was armed. 0: ns have passed. 1: it rang, a ring from before came late, or
 * another thread armed it. */
int shi_doorbell_sleep(uint32_t armed, uint64_t ns);

/* ---- ringing ------------------------------------------------------------------------------------------------------ */

struct shi_doorbell_counts {
    uint32_t threads, words; /* announced threads of the node; those that await words */
};
extern const struct shi_doorbell_counts *shi_doorbell_counts;

void shi_doorbell_ring_pe_now(int rank);
void shi_doorbell_ring_word_now(int rank);
void shi_doorbell_ring_words_now(void);
void shi_doorbell_ring_own_now(void);

/* Wake the sleeping threads of the node's *rank-th PE. *rank, which is read only if there are any, may be -1: the PE is on
 * another node. */
static inline void shi_doorbell_ring_pe(const int *rank)
{
    if (shi_unlikely(__atomic_load_n(&shi_doorbell_counts->threads, __ATOMIC_RELAXED)))
        shi_doorbell_ring_pe_now(*rank);
}

/* Wake them if they await a word that has changed; rank as above. */
static inline void shi_doorbell_ring_word(const int *rank)
{
    if (shi_unlikely(__atomic_load_n(&shi_doorbell_counts->words, __ATOMIC_RELAXED)))
        shi_doorbell_ring_word_now(*rank);
}

/* The same for all PEs of the node. */
static inline void shi_doorbell_ring_words(void)
{
    if (shi_unlikely(__atomic_load_n(&shi_doorbell_counts->words, __ATOMIC_RELAXED)))
        shi_doorbell_ring_words_now();
}

/* Wake the other threads of this PE. */
static inline void shi_doorbell_ring_own(void)
{
    if (shi_unlikely(__atomic_load_n(&shi_doorbell_counts->threads, __ATOMIC_RELAXED)))
        shi_doorbell_ring_own_now();
}

#endif

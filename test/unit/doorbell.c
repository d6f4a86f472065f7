/*
 * doorbell.c - two PEs, one of which has two threads: each waiting thread sleeps until the doorbell rings, while the other PE
 * stores and rings at random times.
 */
#include "host/net/node/doorbell.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"

enum { ROUNDS = 3000, WORDS_OFF = 4096, THREADS = 2 };
static const uint64_t lost_ns = 10000000000;

static char *node; /* the doorbells, then at WORDS_OFF a word for each thread, and answers */
static int lost;

static uint64_t *word_of(int i)
{
    return (uint64_t *)(node + WORDS_OFF) + i * 16;
}

static uint64_t *answer_of(int i)
{
    return word_of(THREADS + i);
}

/* As in ops/wait.c: a short sleep after the announcement, then none without the doorbell. */
static void await(int i, uint64_t value)
{
    uint64_t off = (uint64_t)((char *)word_of(i) - node);
    shi_doorbell_announce(off);
    usleep(20);
    uint32_t armed = shi_doorbell_arm(off);
    while (__atomic_load_n(word_of(i), __ATOMIC_ACQUIRE) < value) {
        if (!shi_doorbell_sleep(armed, lost_ns))
            lost++;
        armed = shi_doorbell_arm(off);
    }
    shi_doorbell_retract(off);
}

static void *wait_and_answer(void *arg)
{
    int i = *(int *)arg;
    for (uint64_t k = 1; k <= ROUNDS && !lost; k++) {
        await(i, 2 * k);
        __atomic_store_n(answer_of(i), k, __ATOMIC_RELEASE);
    }
    __atomic_store_n(answer_of(i), ROUNDS, __ATOMIC_RELEASE);
    return NULL;
}

/* Store twice for each answer. The second one is what the thread waits for. */
static int store_and_ring(int i)
{
    static const int waiting_pe = 0;
    unsigned seed = 7 + (unsigned)i;
    for (uint64_t k = 1; k <= ROUNDS; k++) {
        for (uint64_t s = 2 * k - 1; s <= 2 * k; s++) {
            for (volatile unsigned d = tap_random(&seed) % 4000; d > 0; d--)
                ;
            if (tap_random(&seed) % 16 == 0)
                usleep(100);
            __atomic_store_n(word_of(i), s, __ATOMIC_RELEASE);
            if (i)
                shi_doorbell_ring_words();
            else
                shi_doorbell_ring_word(&waiting_pe);
        }
        while (__atomic_load_n(answer_of(i), __ATOMIC_ACQUIRE) < k)
            shi_relax();
    }
    return 0;
}

/* Catches: an event that is lost, although its agent rang. */
static void stores(void)
{
    pthread_t thread[THREADS];
    static int number[THREADS] = {0, 1};
    shi_doorbell_up(node, 2, 0, node);
    pid_t child[THREADS];
    for (int i = 0; i < THREADS; i++)
        if ((child[i] = fork()) == 0)
            _exit(store_and_ring(i));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, wait_and_answer, &number[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECKF(lost == 0, "%d sleeps lasted 10 s", lost);
    for (int i = 0; i < THREADS; i++)
        waitpid(child[i], NULL, 0);
    CHECK(shi_doorbell_counts->threads == 0 && shi_doorbell_counts->words == 0);
}

/* Catches: a ring that wakes a sleeper whose word has not changed. */
static void other_words(void)
{
    uint64_t off = (uint64_t)((char *)word_of(0) - node);
    static const int me = 0;
    shi_doorbell_announce(off);
    uint32_t armed = shi_doorbell_arm(off);
    ++*word_of(1);
    shi_doorbell_ring_words();
    shi_doorbell_ring_word(&me);
    CHECK(!shi_doorbell_sleep(armed, 1000000));
    shi_doorbell_ring_pe(&me);
    CHECK(shi_doorbell_sleep(armed, lost_ns));
    armed = shi_doorbell_arm(off);
    ++*word_of(0);
    shi_doorbell_ring_words();
    CHECK(shi_doorbell_sleep(armed, lost_ns));
    shi_doorbell_retract(off);
}

int main(void)
{
    CHECK(shi_doorbell_bytes(2) <= WORDS_OFF);
    node = mmap(NULL, 2 * WORDS_OFF, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    RUN(stores, "two threads sleep, two agents store and ring");
    RUN(other_words, "only an event for the PE, or a change of the word, wakes a sleeper");
    return tap_end();
}

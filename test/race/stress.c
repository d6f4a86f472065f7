/*
 * stress.c - random accesses by PEs and threads to words of one block, which a barrier after each round orders; run by stress.sh.
 *
 * stress SEED clean|racy THREADS. All PEs draw the same schedule from the seed: in each round a word of a PE is loaded and stored by that PE, put
 * and got by one other PE, read by all, updated by all with atomics, or stored byte by byte by all threads of all PEs. So no two accesses race, but
 * with racy those of one byte in one round, of which PE 0 prints the word and the PE. In that round its word has these accesses and loads of the
 * byte beside, four in all, so that the shadow has room for them.
 */
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 1536, ROUNDS = 12, MODES = 6 };
static long *block;
static int me, pes, threads, racy;
static uint64_t seed;
static pthread_barrier_t together;
static struct {
    int round, pe, other, byte, write; /* write: 1 that of `pe`, 2 that of the other one, 3 both */
    long word;
} pair;

static uint64_t draw(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = (seed * 0x9e3779b97f4a7c15u ^ a) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 29 ^ b) * 0x94d049bb133111ebu;
    h = (h ^ h >> 32 ^ c) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 30;
}

/* A load, and after it a store, of a part of the word. */
static void touch(volatile char *at, uint64_t r)
{
    switch (r % 4) {
    case 0:
        at += r / 4 % 8, *at = (char)(*at + 1);
        break;
    case 1:
        at += r / 4 % 4 * 2, *(volatile short *)at = (short)(*(volatile short *)at + 1);
        break;
    case 2:
        at += r / 4 % 2 * 4, *(volatile int *)at += 1;
        break;
    default:
        *(volatile long *)at += 1;
    }
}

/* Each byte of the word is stored by one thread of one PE, in the same round. */
static void bytes_of(int round, int pe, long w, int thread)
{
    for (int i = 0; i < 8; i++) {
        uint64_t r = draw((uint64_t)round, (uint64_t)pe, (uint64_t)(w * 8 + i) << 20);
        char *byte = (char *)&block[w] + i;
        if ((int)(r % (uint64_t)pes) != me || (int)(r / 16 % (uint64_t)threads) != thread)
            continue;
        if (me == pe)
            *(volatile char *)byte = 1;
        else
            shmem_char_p(byte, 1, pe);
    }
}

static void access_word(int round, int pe, long w, int thread)
{
    uint64_t r = draw((uint64_t)round, (uint64_t)pe, (uint64_t)w);
    int is_pair = racy && round == pair.round && pe == pair.pe && w == pair.word;
    if (r % MODES == 5 && !is_pair) {
        bytes_of(round, pe, w, thread);
        return;
    }
    if ((w + round) % threads != thread)
        return;
    int other = (pe + 1 + (int)(r / MODES % (uint64_t)(pes - 1))) % pes;
    volatile long sink;
    if (is_pair) {
        char *byte = (char *)&block[w] + pair.byte, *next = (char *)&block[w] + (pair.byte + 1) % 8;
        if (me == pair.pe && pair.write & 1)
            *(volatile char *)byte = 1;
        else if (me == pair.pe)
            sink = *(volatile char *)byte;
        else if (me == pair.other && pair.write & 2)
            shmem_char_p(byte, 2, pe);
        else if (me == pair.other)
            sink = shmem_char_g(byte, pe);
        if (me == pair.pe)
            sink = *(volatile char *)next;
        else if (me == pair.other)
            sink = shmem_char_g(next, pe);
        return;
    }
    switch (r % MODES) {
    case 0:
    case 1:
        for (int i = 0; me == pe && i < 3; i++)
            touch((char *)&block[w], r / 64 >> 4 * i);
        break;
    case 2:
        if (me == other) {
            shmem_long_p(&block[w], round, pe);
            shmem_quiet();
            sink = shmem_long_g(&block[w], pe);
        }
        break;
    case 3:
        sink = me == pe ? *(volatile long *)&block[w] : shmem_long_g(&block[w], pe);
        break;
    case 4:
        shmem_long_atomic_add(&block[w], 1, pe);
        break;
    default:
        break;
    }
    (void)sink;
}

/* A thread has a part of the words, another one in each round, in an order of its own. */
static void rounds(int thread)
{
    for (int round = 0; round < ROUNDS; round++) {
        long from = (long)(draw(1, (uint64_t)me, (uint64_t)round) % WORDS);
        for (long i = 0; i < WORDS; i++) {
            long w = (from + i) % WORDS;
            for (int k = 0; k < pes; k++)
                access_word(round, (me + k) % pes, w, thread);
        }
        pthread_barrier_wait(&together);
        if (thread == 0)
            shmem_barrier_all();
        pthread_barrier_wait(&together);
    }
}

static void *second(void *arg)
{
    (void)arg;
    rounds(1);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    if (argc < 4)
        return 2;
    seed = strtoull(argv[1], NULL, 0) + 1, racy = strcmp(argv[2], "racy") == 0, threads = atoi(argv[3]) > 1 ? 2 : 1;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe(), pes = shmem_n_pes();
    uint64_t r = draw(2, 0, 0);
    pair.round = (int)(r % ROUNDS), pair.pe = (int)(r / 16 % (uint64_t)pes), pair.word = (long)(r / 1024 % WORDS);
    pair.other = (pair.pe + 1) % pes, pair.byte = (int)(r >> 48) % 8, pair.write = 1 + (int)(r >> 40) % 3;
    block = shmem_calloc(WORDS, sizeof *block);
    if (me == 0 && racy)
        printf("word %ld of PE %d\n", pair.word, pair.pe);
    pthread_barrier_init(&together, NULL, (unsigned)threads);
    pthread_t t;
    if (threads == 2)
        pthread_create(&t, NULL, second, NULL);
    rounds(0);
    if (threads == 2)
        pthread_join(t, NULL);
    shmem_finalize();
    return 0;
}

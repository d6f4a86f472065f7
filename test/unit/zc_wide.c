/* zc_wide.c - the accesses of 16 bytes of the drivers on the CPU, by several threads. Also for other processors, under an emulator. */
#include "ze_cpu/wide.h"

#include <pthread.h>

#include "../tap.h"

enum { THREADS = 4, ROUNDS = 20000 };

static _Alignas(16) struct zc_wide counter, pair;

/* The second word is always the first one's complement. */
static struct zc_wide value(uint64_t x)
{
    return (struct zc_wide){{x, ~x}};
}

static int is_whole(struct zc_wide v)
{
    return v.word[1] == ~v.word[0];
}

static void add(void)
{
    for (struct zc_wide old = zc_wide_load(&counter), was;; old = was) {
        struct zc_wide next = {{old.word[0] + 1, old.word[1] + 3}};
        was = zc_wide_swap(&counter, old, next);
        if (was.word[0] == old.word[0] && was.word[1] == old.word[1])
            return;
    }
}

static void *run(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg << 32;
    uintptr_t torn = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        add();
        torn += !is_whole(zc_wide_load(&pair));
        if (i % 2)
            zc_wide_store(&pair, value(me + i));
        else
            torn += !is_whole(zc_wide_exchange(&pair, value(me + i)));
    }
    return (void *)torn;
}

/* Catches: an access in two halves; a swap that loses another thread's, or stores although the memory differs in one word only. */
static void threads(void)
{
    pthread_t t[THREADS];
    void *torn;
    pair = value(0);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&t[i], NULL, run, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], &torn);
        CHECKF(!torn, "%lu values of two stores", (unsigned long)(uintptr_t)torn);
    }
    CHECK(counter.word[0] == THREADS * ROUNDS && counter.word[1] == 3 * THREADS * ROUNDS);
    struct zc_wide was = zc_wide_swap(&counter, (struct zc_wide){{counter.word[0], 0}}, value(1));
    CHECK(was.word[1] == 3 * THREADS * ROUNDS && counter.word[1] == was.word[1]);
    was = zc_wide_swap(&counter, (struct zc_wide){{0, counter.word[1]}}, value(1));
    CHECK(was.word[0] == THREADS * ROUNDS && counter.word[0] == was.word[0]);
}

int main(void)
{
    RUN(threads, "accesses of 16 bytes are whole");
    return tap_end();
}

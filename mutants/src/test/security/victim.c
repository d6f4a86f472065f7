/*
 * victim.c - a job that checks its own results while another user attacks it: rounds of puts with signals, long puts, gets,
 * atomics and tagged messages, until the file named by its argument exists. Memory that no PE writes after the start must stay
 * as it was, and the memory of the process must stay bounded. PE 0 prints "under way" after a few rounds, and at the end one
 * line with the number of rounds; a PE that sees a mistake prints it and ends with status 1.
 *
 *   word    written by            order
 *   signal  previous PE           put with signal: data[] has arrived
 *   stop    PE 0                  before a barrier that all PEs pass before they read it
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WORDS = 256, LONG_WORDS = 1 << 15, GUARDED = 1 << 14, GROWTH_KB = 128 << 10 };

static uint64_t guarded[GUARDED], data[WORDS], signal_word;
static long count, sum, stop;
static int bad;

__attribute__((format(printf, 1, 2))) static void complain(const char *fmt, ...)
{
    va_list ap;
    if (bad++ >= 5)
        return;
    printf("wrong: PE %d: ", shmem_my_pe());
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
    fflush(stdout);
}

static uint64_t pattern(int pe, long round, int i)
{
    return ((uint64_t)round << 32) + ((uint64_t)pe << 24) + (uint64_t)i;
}

/* The bytes that the intruder searches for in memory that it reads; intruder.c has the same. */
static uint64_t secret(int pe, int i)
{
    return 0x5ec2e75ec2e70000 + (uint64_t)pe + ((uint64_t)i << 48);
}

static void check_guarded(const char *what, const uint64_t *at, int pe)
{
    for (int i = 0; i < GUARDED; i++)
        if (at[i] != secret(pe, i)) {
            complain("%s: word %d is %#lx", what, i, (unsigned long)at[i]);
            return;
        }
}

static void check_data(const char *what, const uint64_t *at, int words, int pe, long round)
{
    for (int i = 0; i < words; i++)
        if (at[i] != pattern(pe, round, i)) {
            complain("%s: round %ld: word %d is %#lx", what, round, i, (unsigned long)at[i]);
            return;
        }
}

static void send(long round, uint64_t *heap_data, uint64_t *from, int next)
{
    int me = shmem_my_pe();
    for (int i = 0; i < LONG_WORDS; i++)
        from[i] = pattern(me, round, i);
    if (round % 16 == 0)
        shmem_putmem(heap_data, from, LONG_WORDS * sizeof *from, next);
    shmem_putmem_signal(data, from, sizeof data, &signal_word, (uint64_t)round, SHMEM_SIGNAL_SET, next);
    shmem_long_atomic_add(&sum, round, next);
    shmem_long_atomic_fetch_add(&count, 1, 0);
    shmemx_tag_send(SHMEM_TEAM_WORLD, from, 256, (uint64_t)round, next);
}

static void receive(long round, const uint64_t *heap_data, int previous)
{
    uint64_t words[32];
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, (uint64_t)round);
    if (signal_word != (uint64_t)round)
        complain("round %ld: the signal is %lu", round, (unsigned long)signal_word);
    check_data("put with signal", data, WORDS, previous, round);
    shmemx_tag_recv(SHMEM_TEAM_WORLD, words, sizeof words, (uint64_t)round, SHMEMX_TAG_EXACT, previous, NULL);
    check_data("tagged message", words, 32, previous, round);
    shmem_barrier_all();
    if (round % 16 == 0)
        check_data("long put", heap_data, LONG_WORDS, previous, round);
}

static long resident_kb(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, previous = (me + n - 1) % n;
    uint64_t *heap_guarded = shmem_malloc(sizeof guarded), *heap_data = shmem_malloc(LONG_WORDS * sizeof *heap_data);
    uint64_t *from = malloc(LONG_WORDS * sizeof *from), *copy = malloc(sizeof guarded);
    long round = 0, begin_kb = 0;
    for (int i = 0; i < GUARDED; i++)
        heap_guarded[i] = guarded[i] = secret(me, i);
    shmem_barrier_all();
    while (!stop) {
        send(++round, heap_data, from, next);
        receive(round, heap_data, previous);
        shmem_getmem(copy, round % 2 ? guarded : heap_guarded, sizeof guarded, next);
        check_guarded("get", copy, next);
        if (round == 32)
            begin_kb = resident_kb();
        if (round == 32 && me == 0) {
            printf("under way\n");
            fflush(stdout);
        }
        if (me == 0 && round >= 32 && (argc < 2 || access(argv[1], F_OK) == 0))
            for (int pe = 0; pe < n; pe++)
                shmem_long_p(&stop, 1, pe);
        shmem_barrier_all();
    }
    check_guarded("heap", heap_guarded, me);
    check_guarded("static data", guarded, me);
    if (sum != round * (round + 1) / 2)
        complain("the sum after %ld rounds is %ld", round, sum);
    if (me == 0 && count != round * n)
        complain("the count after %ld rounds of %d PEs is %ld", round, n, count);
    if (resident_kb() - begin_kb > GROWTH_KB)
        complain("memory grew from %ld to %ld KiB", begin_kb, resident_kb());
    shmem_barrier_all();
    if (me == 0)
        printf("%ld rounds\n", round);
    shmem_finalize();
    return bad != 0;
}

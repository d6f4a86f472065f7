/*
 * tag_limit.c - floods of tagged messages without receives: their memory, other messages meanwhile, and memory
 * afterwards.
 */
#include "../tap_pes.h"

#include <malloc.h>
#include <shmemx.h>
#include <unistd.h>

enum { WINDOW = 1 << 20, HEADERS = 1000, FLOOD = 40000, BYTES = 1024 };
#if TAP_ASAN
enum { USUAL_GROWTH = 4 << 20 }; /* AddressSanitizer has memory of its own */
#else
enum { USUAL_GROWTH = 2 << 20 };
#endif

static const shmem_team_t world = SHMEM_TEAM_WORLD;
static shmemx_tag_request_t *sends;
static unsigned char *buffer; /* symmetric */

static size_t resident_bytes(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%*s %ld", &pages) == 1);
    if (f)
        fclose(f);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Bytes allocated by malloc; 0 if the allocator does not report them. */
#ifdef __GLIBC__
static size_t allocated_bytes(void)
{
    return mallinfo2().uordblks;
}
#else
static size_t allocated_bytes(void)
{
    return 0;
}
#endif

/* The documented bound for the senders' messages, plus the usual growth of a program. */
static size_t bound(int senders)
{
    return (size_t)senders * (WINDOW + HEADERS * 400) + USUAL_GROWTH;
}

static int is_sender(void)
{
    return n_pes == 1 || me > 0;
}

static int senders(void)
{
    return n_pes == 1 ? 1 : n_pes - 1;
}

static void start_flood(int n, uint64_t tag)
{
    for (int i = 0; is_sender() && i < n; i++)
        shmemx_tag_isend(world, buffer, BYTES, tag, 0, &sends[i]);
}

/* Poll until no more messages arrive. */
static void soak(void)
{
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 500; k++)
            shmemx_tag_iprobe(world, 99, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, NULL);
        usleep(1000);
    }
}

/* Receive n messages of each sender. */
static void drain(int n, uint64_t tag)
{
    static unsigned char in[BYTES];
    shmemx_tag_status_t status;
    for (long i = 0; me == 0 && i < (long)n * senders(); i++) {
        shmemx_tag_recv(world, in, sizeof in, tag, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &status);
        CHECKF(status.bytes == BYTES && in[0] == 0x5a && in[BYTES - 1] == 0x5a, "message %ld", i);
    }
    if (is_sender())
        shmemx_tag_wait_all(n, sends, NULL);
    shmem_barrier_all();
}

/* Catches: unexpected messages stored without bound (40,000 of 1 KiB are 39 MiB), a bound that headers exceed, memory
 * kept after the drain, a flood that cannot be drained because a window does not reopen. */
static void test_bound(void)
{
    size_t after[3];
    int n = FLOOD / senders();
    for (int turn = 0; turn < 3; turn++) {
        static unsigned char unused[1];
        shmemx_tag_request_t r; /* allocates requests and tables first */
        shmemx_tag_irecv(world, unused, 1, 98, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &r);
        size_t at_first = resident_bytes();
        shmem_barrier_all();
        if (n_pes > 1)
            start_flood(n, 1);
        else
            start_flood(n = 3000, 1); /* its own requests would count as memory */
        soak();
        shmem_barrier_all(); /* all senders have reached their limit, and their messages have arrived */
        if (me == 0 && n_pes > 1) {
            size_t grown = resident_bytes() - at_first;
            CHECKF(resident_bytes() < at_first + bound(senders()), "%zu bytes more, %d senders: bound %zu", grown,
                   senders(), bound(senders()));
        }
        drain(n, 1);
        shmemx_tag_cancel(&r);
        shmemx_tag_wait(&r, NULL);
        after[turn] = allocated_bytes();
    }
    /* Requests stay allocated: the turn that needs the most of them grows. A leak grows in each turn. */
    CHECKF(me || after[1] <= after[0] + 65536 || after[2] <= after[1] + 65536, "%zu, %zu, %zu bytes after the drains",
           after[0], after[1], after[2]);
}

/* A flood without receives, then two messages with receives. The second one is received first, by a receive, which may
 * be posted before the flood, or after a probe that leaves or removes it. */
static void get_through(int n, int way)
{
    enum { POSTED, RECV, PROBE, MPROBE };
    long x[2] = {77, 78}, y[2] = {0, 0};
    shmemx_tag_request_t s[2], r;
    if (me == 0 && way == POSTED)
        shmemx_tag_irecv(world, &y[1], sizeof y[1], 3, SHMEMX_TAG_EXACT, n_pes - 1, &r);
    shmem_barrier_all();
    start_flood(n, 1);
    for (int i = 0; me == n_pes - 1 && i < 2; i++)
        shmemx_tag_isend(world, &x[i], sizeof x[i], 2 + (uint64_t)i, 0, &s[i]);
    if (me == 0) {
        shmemx_tag_message_t m;
        shmemx_tag_status_t status = {.source = n_pes - 1, .tag = 3, .bytes = sizeof x[1]};
        if (way == PROBE)
            shmemx_tag_probe(world, 3, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &status);
        if (way == MPROBE)
            shmemx_tag_mprobe(world, 3, 3, SHMEMX_TAG_ANY_SOURCE, &m, &status);
        CHECK(status.source == n_pes - 1 && status.tag == 3 && status.bytes == sizeof x[1]);
        if (way == MPROBE)
            shmemx_tag_mrecv(&m, &y[1], sizeof y[1], NULL);
        else if (way == POSTED)
            shmemx_tag_wait(&r, NULL);
        else
            shmemx_tag_recv(world, &y[1], sizeof y[1], 3, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, NULL);
        shmemx_tag_recv(world, &y[0], sizeof y[0], 2, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, NULL);
        CHECKF(y[0] == 77 && y[1] == 78, "%ld %ld", y[0], y[1]);
    }
    if (me == n_pes - 1)
        shmemx_tag_wait_all(2, s, NULL);
    drain(n, 1);
}

/* Catches: a message with a receive that waits behind messages without one, in the window, among the headers, or at the
 * sender. */
static void test_live(void)
{
    for (int way = 0; way < 4; way++) {
        get_through(1500, way);
        get_through(4000, way);
    }
}

/* Catches: memory that one sender takes from another. PE 1 has used its share; PE 2's sends must still complete without
 * receives. */
static void test_fair(void)
{
    enum { N = 5000, OTHERS = 300 };
    if (n_pes < 3)
        return;
    for (int i = 0; me == 1 && i < N; i++)
        shmemx_tag_isend(world, buffer, BYTES, 1, 0, &sends[i]);
    soak();
    shmem_barrier_all();
    for (int i = 0; me == 2 && i < OTHERS; i++)
        shmemx_tag_send(world, buffer, BYTES, 3, 0);
    shmem_barrier_all();
    for (int i = 0; me == 0 && i < OTHERS; i++)
        shmemx_tag_recv(world, buffer, BYTES, 3, SHMEMX_TAG_EXACT, 2, NULL);
    for (int i = 0; me == 0 && i < N; i++)
        shmemx_tag_recv(world, buffer, BYTES, 1, SHMEMX_TAG_EXACT, 1, NULL);
    if (me == 1)
        shmemx_tag_wait_all(N, sends, NULL);
    shmem_barrier_all();
}

/* Catches: a wrong order when messages change from eager to header to waiting at the sender and back; a message whose data changes
 * while it is sent, behind the first word here, and which its receiver takes for a forged one. */
static void test_order(void)
{
    enum { N = 6000, LONG = 20000 };
    static long x[N + LONG / sizeof(long)];
    long y;
    shmemx_tag_status_t status;
    int to = next_pe(), from = (me + n_pes - 1) % n_pes;
    for (long i = 0; i < N; i++) { /* alternating lengths, all PEs at once; more headers than a sender's limit */
        x[i] = i;
        memcpy(buffer + 8 * i, &i, sizeof i);
        shmemx_tag_isend(world, i % 3 ? (unsigned char *)&x[i] : buffer + 8 * i, i % 2 ? 8 : LONG, 4, to, &sends[i]);
    }
    for (long i = 0; i < N; i++) {
        shmemx_tag_recv(world, &y, sizeof y, 4, SHMEMX_TAG_EXACT, from, &status);
        if (!CHECKF(y == i && status.bytes == (i % 2 ? 8 : LONG), "receive %ld got message %ld of %zu bytes", i, y,
                    status.bytes))
            break;
    }
    shmemx_tag_wait_all(N, sends, NULL);
    shmem_barrier_all();
}

int main(void)
{
    setenv("SHMEM_TEST_TAG_UNEXPECTED_PER_PEER", "1M", 1);
    setenv("SHMEM_TEST_TAG_UNEXPECTED_HEADERS_PER_PEER", "1000", 1);
    shmem_init();
    tap_pes_begin();
    sends = calloc(FLOOD, sizeof *sends);
    buffer = shmem_malloc(1 << 20);
    memset(buffer, 0x5a, 1 << 20);
    RUN(test_bound, "40,000 messages of 1 KiB unexpected, three times");
    RUN(test_live, "messages with receives arrive at the limit");
    RUN(test_fair, "one flood does not use the other senders' shares");
    RUN(test_order, "order across the limits, in both directions at once");
    int status = tap_end();
    shmem_finalize();
    return status;
}

/*
 * tag.c - tagged messages between PE 0 and PE 1: one-way time, bandwidth, message rate, and the cost of a match among
 * many messages or receives that do not match. Needs shmemx_tag; bench/mpi implements it on MPI (mpicc -I bench/mpi -I
 * bench bench/tag.c).
 */
#include "pingpong.h"

#include <shmemx.h>

enum { BYTES_MAX = 4 << 20, WINDOW = 64, STRIDE = 1021 };

static const size_t sizes[] = {8, 1024, 8192, 65536, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

struct transfer {
    char *out, *in;
    size_t bytes;
    int any_source; /* in its receives */
    int masked;
};

static int is_pair(void)
{
    return shmem_my_pe() < 2;
}

static int peer(void)
{
    return 1 - shmem_my_pe();
}

static uint64_t mask_of(int masked)
{
    return masked ? UINT32_MAX : SHMEMX_TAG_EXACT;
}

/* One call is a round trip. */
static void loop_latency(void *arg, long calls)
{
    const struct transfer *t = arg;
    const uint64_t mask = mask_of(t->masked);
    const int from = t->any_source ? SHMEMX_TAG_ANY_SOURCE : peer();

    for (; is_pair() && calls > 0; calls--) {
        if (shmem_my_pe() == 0)
            shmemx_tag_send(SHMEM_TEAM_WORLD, t->out, t->bytes, 1, peer());
        shmemx_tag_recv(SHMEM_TEAM_WORLD, t->in, t->bytes, 1, mask, from, NULL);
        if (shmem_my_pe() == 1)
            shmemx_tag_send(SHMEM_TEAM_WORLD, t->out, t->bytes, 1, peer());
    }
}

/* One call is a window of messages from PE 0 to PE 1 and a reply. */
static void loop_window(void *arg, long calls)
{
    const struct transfer *t = arg;
    shmemx_tag_request_t r[WINDOW];

    for (; is_pair() && calls > 0; calls--) {
        for (int i = 0; i < WINDOW; i++) {
            if (shmem_my_pe() == 0)
                shmemx_tag_isend(SHMEM_TEAM_WORLD, t->out, t->bytes, 1, 1, &r[i]);
            else
                shmemx_tag_irecv(SHMEM_TEAM_WORLD, t->in, t->bytes, 1, SHMEMX_TAG_EXACT, 0, &r[i]);
        }
        shmemx_tag_wait_all(WINDOW, r, NULL);
        if (shmem_my_pe() == 0)
            shmemx_tag_recv(SHMEM_TEAM_WORLD, t->in, 1, 2, SHMEMX_TAG_EXACT, 1, NULL);
        else
            shmemx_tag_send(SHMEM_TEAM_WORLD, t->out, 1, 2, 0);
    }
}

/* ---- match among others ------------------------------------------------------------------------------------------ */

/* The others: messages that wait at PE 1, or receives there. */
struct others {
    const char *name;
    int arrived;
    int strided;            /* tags that collide in a bad hash */
    int any_source, masked; /* of the others, if receives, else of the measured receive */
    int n;
    char *out, *in;
    shmemx_tag_request_t *r;
};

static int others_tag(const struct others *c, int i)
{
    return 1000 + (c->strided ? i * STRIDE : i);
}

static void start_others(const struct others *c)
{
    for (int i = 0; i < c->n; i++) {
        if (shmem_my_pe() == 1 && !c->arrived)
            shmemx_tag_irecv(SHMEM_TEAM_WORLD, c->in, 8, others_tag(c, i), mask_of(c->masked),
                             c->any_source ? SHMEMX_TAG_ANY_SOURCE : 0, &c->r[i]);
        if (shmem_my_pe() == 0 && c->arrived)
            shmemx_tag_isend(SHMEM_TEAM_WORLD, c->out, 8, others_tag(c, i), 1, &c->r[i]);
    }
}

static void complete_others(const struct others *c)
{
    for (int i = c->n - 1; i >= 0; i--) { /* last first: the end of a list */
        if (shmem_my_pe() == 0 && !c->arrived)
            shmemx_tag_send(SHMEM_TEAM_WORLD, c->out, 8, others_tag(c, i), 1);
        if (shmem_my_pe() == 1 && c->arrived)
            shmemx_tag_recv(SHMEM_TEAM_WORLD, c->in, 8, others_tag(c, i), SHMEMX_TAG_EXACT, 0, NULL);
    }
    if (shmem_my_pe() == (c->arrived ? 0 : 1))
        shmemx_tag_wait_all(c->n, c->r, NULL);
}

/* One call: start the others, report it, complete them. */
static void loop_drain(void *arg, long calls)
{
    const struct others *c = arg;
    const int first = c->arrived ? 0 : 1; /* the PE that reports it */

    for (; is_pair() && calls > 0; calls--) {
        start_others(c);
        if (shmem_my_pe() == first)
            shmemx_tag_send(SHMEM_TEAM_WORLD, c->out, 1, 2, peer());
        else
            shmemx_tag_recv(SHMEM_TEAM_WORLD, c->in, 1, 2, SHMEMX_TAG_EXACT, peer(), NULL);
        complete_others(c);
    }
}

static void measure_others(char *out, char *in)
{
    static const int depths[] = {0, 65536};
    static const struct others sets[] = {
        {.name = "match_posted"},
        {.name = "match_posted_any", .any_source = 1},
        {.name = "match_posted_masked", .masked = 1},
        {.name = "match_posted_stride", .strided = 1},
        {.name = "match_arrived", .arrived = 1},
        {.name = "match_arrived_any", .arrived = 1, .any_source = 1},
        {.name = "match_arrived_masked", .arrived = 1, .masked = 1},
        {.name = "match_arrived_stride", .arrived = 1, .strided = 1},
    };
    shmemx_tag_request_t *r = malloc(65536 * sizeof *r);

    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
        for (int d = 0; d < 2; d++) {
            struct others c = sets[k];
            struct transfer t = {out, in, 8, c.arrived && c.any_source, c.arrived && c.masked};
            struct bench_case one = {c.name, d ? "65536" : "0", NULL, BENCH_US, 8, 2, loop_latency, &t, 0, {0}};

            c.n = depths[d];
            c.out = out;
            c.in = in;
            c.r = r;
            start_others(&c);
            bench_joint(&one, 1);
            complete_others(&c);
            shmem_barrier_all();
        }
    for (int arrived = 0; arrived < 2; arrived++) {
        struct others few = {.arrived = arrived, .n = 64, .out = out, .in = in, .r = r}, many = few;
        const char *name = arrived ? "drain_arrived" : "drain_posted";
        struct bench_case both[] = {{name, "64", NULL, BENCH_US, 8, 64, loop_drain, &few, 0, {0}},
                                    {name, "65536", NULL, BENCH_US, 8, 65536, loop_drain, &many, 0, {0}}};

        many.n = 65536;
        bench_joint(both, 2);
    }
    free(r);
}

int main(int argc, char **argv)
{
    setenv("SHMEM_TEST_TAG_UNEXPECTED_PER_PEER", "32M", 0); /* 65,536 unexpected messages */
    bench_init("tag", 2);

    char *heap = bench_symmetric(2 * BYTES_MAX), *local = bench_private(2 * BYTES_MAX);

    for (int k = 0; k < SIZES; k++) {
        struct transfer on_heap = {heap, heap + BYTES_MAX, sizes[k], 0, 0};
        struct transfer alone = {local, local + BYTES_MAX, sizes[k], 0, 0};
        struct bench_case cases[] = {
            {"tag_latency", "heap", NULL, BENCH_US, sizes[k], 2, loop_latency, &on_heap, 0, {0}},
            {"tag_latency", "private", NULL, BENCH_US, sizes[k], 2, loop_latency, &alone, 0, {0}},
            {"tag_bandwidth", "heap", NULL, BENCH_GB_PER_S, sizes[k], WINDOW, loop_window, &on_heap, 0, {0}},
            {"tag_bandwidth", "private", NULL, BENCH_GB_PER_S, sizes[k], WINDOW, loop_window, &alone, 0, {0}},
            {"tag_rate", "private", NULL, BENCH_MILLION_PER_S, 8, WINDOW, loop_window, &alone, 0, {0}},
        };

        bench_joint(cases, k == 0 ? 5 : 4);
    }
    if (argc < 2 || strcmp(argv[1], "--no-match") != 0)
        measure_others(heap, heap + BYTES_MAX);
    free(local);
    shmem_free(heap);
    shmem_finalize();
    return 0;
}

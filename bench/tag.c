/*
 * tag.c - tagged messages between PE 0 and PE 1: one-way time, bandwidth, message rate, and what it costs to match among
 * many that do not. Needs shmemx_tag; bench/mpi stands in for it on MPI (mpicc -I bench/mpi -I bench bench/tag.c).
 */
#include "pingpong.h"

#include <shmemx.h>

enum { BYTES_MAX = 4 << 20, WINDOW = 64, STRIDE = 1021 };

static const size_t sizes[] = {8, 1024, 8192, 65536, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

struct transfer {
    char *out, *in;
    size_t bytes;
    int any_source; /* of its receives */
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

/* One call is a window of messages from PE 0 to PE 1 and an answer. */
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

/* ---- matching among others --------------------------------------------------------------------------------------------- */

/* The others: messages that wait at PE 1, or receives there. */
struct crowd {
    const char *name;
    int arrived;
    int strided;            /* tags that a bad hash puts together */
    int any_source, masked; /* the others, if they are receives, else the receive that is measured */
    int n;
    char *out, *in;
    shmemx_tag_request_t *r;
};

static int crowd_tag(const struct crowd *c, int i)
{
    return 1000 + (c->strided ? i * STRIDE : i);
}

static void crowd_comes(const struct crowd *c)
{
    for (int i = 0; i < c->n; i++) {
        if (shmem_my_pe() == 1 && !c->arrived)
            shmemx_tag_irecv(SHMEM_TEAM_WORLD, c->in, 8, crowd_tag(c, i), mask_of(c->masked),
                             c->any_source ? SHMEMX_TAG_ANY_SOURCE : 0, &c->r[i]);
        if (shmem_my_pe() == 0 && c->arrived)
            shmemx_tag_isend(SHMEM_TEAM_WORLD, c->out, 8, crowd_tag(c, i), 1, &c->r[i]);
    }
}

static void crowd_goes(const struct crowd *c)
{
    for (int i = c->n - 1; i >= 0; i--) { /* the last first: the far end of a list */
        if (shmem_my_pe() == 0 && !c->arrived)
            shmemx_tag_send(SHMEM_TEAM_WORLD, c->out, 8, crowd_tag(c, i), 1);
        if (shmem_my_pe() == 1 && c->arrived)
            shmemx_tag_recv(SHMEM_TEAM_WORLD, c->in, 8, crowd_tag(c, i), SHMEMX_TAG_EXACT, 0, NULL);
    }
    if (shmem_my_pe() == (c->arrived ? 0 : 1))
        shmemx_tag_wait_all(c->n, c->r, NULL);
}

/* One call: a crowd comes, is there, and goes. */
static void loop_drain(void *arg, long calls)
{
    const struct crowd *c = arg;
    const int first = c->arrived ? 0 : 1; /* who says that it is there */

    for (; is_pair() && calls > 0; calls--) {
        crowd_comes(c);
        if (shmem_my_pe() == first)
            shmemx_tag_send(SHMEM_TEAM_WORLD, c->out, 1, 2, peer());
        else
            shmemx_tag_recv(SHMEM_TEAM_WORLD, c->in, 1, 2, SHMEMX_TAG_EXACT, peer(), NULL);
        crowd_goes(c);
    }
}

static void measure_crowds(char *out, char *in)
{
    static const int depths[] = {0, 65536};
    static const struct crowd crowds[] = {
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

    for (size_t k = 0; k < sizeof crowds / sizeof *crowds; k++)
        for (int d = 0; d < 2; d++) {
            struct crowd c = crowds[k];
            struct transfer t = {out, in, 8, c.arrived && c.any_source, c.arrived && c.masked};
            struct bench_case one = {c.name, d ? "65536" : "0", NULL, BENCH_US, 8, 2, loop_latency, &t, 0, {0}};

            c.n = depths[d];
            c.out = out;
            c.in = in;
            c.r = r;
            crowd_comes(&c);
            bench_joint(&one, 1);
            crowd_goes(&c);
            shmem_barrier_all();
        }
    for (int arrived = 0; arrived < 2; arrived++) {
        struct crowd few = {.arrived = arrived, .n = 64, .out = out, .in = in, .r = r}, many = few;
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
    setenv("SHMEM_TAG_UNEXPECTED_PER_PEER", "32M", 0); /* 65,536 messages that nobody wants yet */
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
        measure_crowds(heap, heap + BYTES_MAX);
    free(local);
    shmem_free(heap);
    shmem_finalize();
    return 0;
}

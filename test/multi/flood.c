/*
 * flood.c - a million operations of all kinds and mixed lengths, from every PE to the next and to the previous one;
 * both sides send as fast as the other's window allows.
 *
 * An operation fills the next part of a ring of bytes on the target and then updates a count. Both sides draw the same
 * lengths and kinds from the sender's seed. FLOOD_OPS: operations of the job.
 */
#include "../tap_pes.h"

enum { RING = 8 << 20, LONGEST = 40000, PATTERN = 1 << 16 };
enum { PUT_FENCE_SET, PUT_SIGNAL, NBI_FENCE_ADD, NBI_SIGNAL_ADD, STRIDED_FENCE_P, KINDS };

/* One direction: what a PE receives from `from`, and the state of its own sends to `to`. Symmetric. */
struct way {
    uint64_t came;     /* operations that the sender has counted */
    uint64_t consumed; /* bytes of this PE's own operations that their receiver has read */
    unsigned char ring[RING];
};

/* The sequence of operations, which sender and receiver both compute. */
struct sequence {
    unsigned random;
    uint64_t op, bytes; /* done so far */
};

static struct way *way; /* [2] */
static unsigned char pattern[PATTERN + LONGEST];

static size_t draw(struct sequence *s, int *kind)
{
    unsigned r = tap_random(&s->random) % 100, most = r < 50 ? 64 : r < 80 ? 1024 : r < 95 ? 8300 : LONGEST;
    *kind = (int)(tap_random(&s->random) % KINDS);
    return (tap_random(&s->random) % most / 8 + 1) * 8;
}

/* Lengths are whole words; an operation does not wrap around the end of the ring. */
static size_t place(const struct sequence *s, size_t n, size_t *skipped)
{
    size_t at = s->bytes % RING;
    *skipped = at + n > RING ? RING - at : 0;
    return *skipped ? 0 : at;
}

static void issue(struct way *w, int kind, size_t at, size_t n, uint64_t op, int to)
{
    const unsigned char *from = pattern + op * 8 % PATTERN;
    uint64_t past = op + 1;
    shmem_fence(); /* after the count of the previous operation */
    switch (kind) {
    case PUT_FENCE_SET:
        shmem_putmem(w->ring + at, from, n, to);
        shmem_fence();
        shmem_uint64_atomic_set(&w->came, past, to);
        break;
    case PUT_SIGNAL: shmem_putmem_signal(w->ring + at, from, n, &w->came, past, SHMEM_SIGNAL_SET, to); break;
    case NBI_FENCE_ADD:
        shmem_putmem_nbi(w->ring + at, from, n, to);
        shmem_fence();
        shmem_uint64_atomic_inc(&w->came, to);
        break;
    case NBI_SIGNAL_ADD: shmem_putmem_signal_nbi(w->ring + at, from, n, &w->came, 1, SHMEM_SIGNAL_ADD, to); break;
    default: /* odd words, then even ones */
        shmem_iput64(w->ring + at, from, 2, 2, (n / 8 + 1) / 2, to);
        shmem_iput64(w->ring + at + 8, from + 8, 2, 2, n / 8 / 2, to);
        shmem_fence();
        shmem_uint64_p(&w->came, past, to);
    }
}

/* Send while the window is open. Returns 1 if anything was sent. */
static int send_some(struct way *w, struct sequence *s, uint64_t ops, int to)
{
    struct sequence next = *s;
    int kind;
    size_t skipped, n = draw(&next, &kind), at = place(s, n, &skipped);
    if (s->op == ops || s->bytes + skipped + n - shmem_signal_fetch(&w->consumed) > RING)
        return 0;
    issue(w, kind, at, n, s->op, to);
    *s = (struct sequence){next.random, s->op + 1, s->bytes + skipped + n};
    return 1;
}

/* Check the data that has arrived, and open the window. Returns 1 if any had arrived. */
static int receive_some(struct way *w, struct sequence *s, int from)
{
    uint64_t came = shmem_uint64_test(&w->came, SHMEM_CMP_GT, s->op) ? shmem_signal_fetch(&w->came) : 0;
    uint64_t first = s->op;
    int kind;
    while (s->op < came) {
        size_t n = draw(s, &kind), skipped, at = place(s, n, &skipped);
        if (!CHECKF(memcmp(w->ring + at, pattern + s->op * 8 % PATTERN, n) == 0, "operation %lu from PE %d: %zu bytes by %d",
                    (unsigned long)s->op, from, n, kind))
            shmem_global_exit(1);
        s->op++;
        s->bytes += skipped + n;
        if (s->op % 64 == 0 || s->op == came)
            shmem_uint64_atomic_set(&w->consumed, s->bytes, from);
    }
    return s->op > first;
}

/* Catches: a record, write or atomic that overtakes an earlier one across a fence, or its own data; a batch lost or
 * sent twice under back-pressure; two senders that deadlock. */
static void test_both_ways(void)
{
    const char *asked = getenv("FLOOD_OPS");
    uint64_t all = asked ? strtoull(asked, NULL, 10) : has_remote_pes() ? 200000 : 1000000;
    uint64_t ops = all / (2 * (uint64_t)n_pes) + 1;
    struct sequence out[2], in[2];
    int to[2] = {next_pe(), (me + n_pes - 1) % n_pes};
    for (int d = 0; d < 2; d++) { /* direction d sends to to[d] and receives from the other side */
        out[d] = (struct sequence){.random = 1 + 2 * (unsigned)me + (unsigned)d};
        in[d] = (struct sequence){.random = 1 + 2 * (unsigned)to[1 - d] + (unsigned)d};
    }
    while (out[0].op + out[1].op + in[0].op + in[1].op < 4 * ops)
        for (int d = 0; d < 2; d++) {
            for (int burst = 0; burst < 100 && send_some(&way[d], &out[d], ops, to[d]); burst++)
                ;
            receive_some(&way[d], &in[d], to[1 - d]);
        }
    shmem_barrier_all();
    CHECK(way[0].came == ops && way[1].came == ops && way[0].consumed == out[0].bytes && way[1].consumed == out[1].bytes);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    unsigned random = 1;
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)tap_random(&random);
    way = shmem_calloc(2, sizeof *way);
    RUN(test_both_ways, "mixed operations in both directions, as fast as the windows allow");
    int status = tap_end();
    shmem_finalize();
    return status;
}

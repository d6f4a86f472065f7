/* am_pull.c - memory of a PE that others of its node read; the owner helps to copy large amounts. */
#include "am_node.h"

#include <errno.h>

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static char private_memory[300000];

static void read_memory(void)
{
    struct shi_am_src *src = (struct shi_am_src *)(shared + 4096);
    struct shi_am_fetch f;
    char *heap = (char *)shm.heap_lo;
    CHECK(shi_am_start() == 0);
    if (me == 1) {
        write_message((unsigned char *)private_memory, sizeof private_memory, 11);
        write_message((unsigned char *)heap + 100, 5000, 22);
        CHECK(shi_am_expose(0, heap + 100, 5000, &src[0]) == 0);
        CHECK(shi_am_expose(0, heap + HEAP - 10, 10, &src[1]) == 0);
        int err = shi_am_expose(0, private_memory, sizeof private_memory, &src[2]);
        CHECKF(err == 0 || err == -EOPNOTSUPP, "private memory: %d", err);
        src[3].key = err == 0;
    }
    if (me == 2) { /* no PE reads it */
        CHECK(shi_am_expose(2, private_memory, 10, &src[4]) == 0);
        CHECK(shi_am_fetch(2, &src[4], 2, private_memory + 20, 5, &f) == 0);
        ((struct shi_shm_region *)shm.region)[shm.n - 1 - 3].pid = 0x7ffffff0;
        CHECK(shi_am_expose(3, private_memory, 10, &src[4]) == -EOPNOTSUPP);
    }
    sync_phase(1);
    if (me == 0) {
        static unsigned char to[300000];
        CHECK(shi_am_fetch(1, &src[0], 0, to, 5000, &f) == 0);
        for (int i = 0; i < 5000; i++)
            CHECKF(to[i] == (unsigned char)(22 + i * 7), "byte %d", i);
        CHECK(shi_am_fetch(1, &src[0], 4000, to, 7, &f) == 0 && to[0] == (unsigned char)(22 + 4000 * 7));
        CHECK(shi_am_fetch(1, &src[1], 0, to, 10, &f) == 0);
        if (src[3].key) {
            CHECK(shi_am_fetch(1, &src[2], 1, to, sizeof to - 1, &f) == 0);
            for (size_t i = 0; i < sizeof to - 1; i++)
                CHECKF(to[i] == (unsigned char)(11 + (i + 1) * 7), "private byte %zu", i);
            shi_am_withdraw(1, &src[2]);
        }
    }
    sync_phase(2);
}

/* Catches: an offset from the wrong base, a truncated length, memory reported as readable by a peer that cannot read
 * it. */
static void memory(void)
{
    as_pes(4, read_memory);
}

/* ---- much of it, copied by both sides ---------------------------------------------------------------------------------- */

enum { MUCH = 3 << 20, ROUNDS = 100, READS = 6 /* of one PE at a time: more than the number of jobs */ };

static unsigned char from_private[MUCH], to_private[READS][MUCH + 2];

/* Differs between neighbouring pieces everywhere. */
static unsigned char byte_at(size_t i, unsigned pattern)
{
    return (unsigned char)(pattern + i * 7 + (i >> 12) * 31 + (i >> 17) * 101);
}

static void fill(unsigned char *p, size_t bytes, unsigned pattern)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = byte_at(i, pattern);
}

struct read {
    struct shi_am_fetch f;
    size_t off, bytes;
    int over, err;
};

static int helped; /* reads of this PE that completed later, with the owner's help */

static void note_end(struct shi_am_fetch *f, int err)
{
    struct read *r = (struct read *)f;
    r->err = err;
    r->over++;
}

static void begin_read(struct read *r, int owner, const struct shi_am_src *src, unsigned char *to)
{
    *r = (struct read){.f.done = note_end, .off = r->bytes % 5000, .bytes = r->bytes};
    memset(to, 0x5a, r->bytes + 2);
    int err = shi_am_fetch(owner, src, r->off, to + 1, r->bytes, &r->f);
    if (err != -EINPROGRESS)
        note_end(&r->f, err);
    helped += err == -EINPROGRESS;
}

static void end_read(struct read *r, int owner, const struct shi_am_src *from, const unsigned char *to)
{
    unsigned pattern = (from->bytes == HEAP ? 22 : 11) + (unsigned)owner;
    size_t wrong = 0;
    while (!r->over)
        if (!source.poll())
            sched_yield();
    CHECKF(r->over == 1 && r->err == 0, "%zu bytes: %d ends, %d", r->bytes, r->over, r->err);
    for (size_t i = 0; i < r->bytes; i++)
        wrong += to[1 + i] != byte_at(r->off + i, pattern);
    CHECKF(!wrong, "%zu of %zu bytes from %zu are wrong", wrong, r->bytes, r->off);
    CHECKF(to[0] == 0x5a && to[r->bytes + 1] == 0x5a, "a byte beside %zu", r->bytes);
}

/* The memory of `owner` that `reader` reads: private memory or heap. */
static struct shi_am_src *src_of(int owner, int reader, int heap)
{
    return (struct shi_am_src *)(shared + 4096) + (owner * MOST + reader) * 2 + heap;
}

/* Where the system refuses access to another process's memory (a seccomp filter, qemu-user), PE 1 cannot help either. */
static int may_help(void)
{
    return src_of(1, me, 0)->bytes == MUCH;
}

static void own_much(void)
{
    fill(from_private, MUCH, 11 + (unsigned)me);
    fill((unsigned char *)shm.heap_lo, HEAP, 22 + (unsigned)me);
    for (int i = 0; i < shm.n; i++) {
        CHECK(shi_am_expose(i, (char *)shm.heap_lo, HEAP, src_of(me, i, 1)) == 0);
        int err = shi_am_expose(i, from_private, MUCH, src_of(me, i, 0));
        CHECKF(err == 0 || err == -EOPNOTSUPP, "private memory: %d", err);
        if (err)
            *src_of(me, i, 0) = *src_of(me, i, 1);
    }
}

static void read_round(int owner, unsigned *random)
{
    static struct read r[READS];
    int n = 1 + (int)(tap_random(random) % READS);
    const struct shi_am_src *from = src_of(owner, me, tap_random(random) % 2);
    for (int i = 0; i < n; i++) {
        r[i].bytes = 1 + tap_random(random) % (from->bytes - 5000);
        begin_read(&r[i], owner, from, to_private[i]);
    }
    for (int i = 0; i < n; i++)
        end_read(&r[i], owner, from, to_private[i]);
}

/* PEs 0 and 2 read from PE 1 and each other, a few reads at a time. PE 1 polls, then does not, then may not write. */
static void read_much(void)
{
    int *done = (int *)shared + 1;
    cpu_set_t cores;
    uint64_t until = shi_now_ns() + 20000000000ull;
    unsigned random = 17u + (unsigned)me;
    sched_getaffinity(0, sizeof cores, &cores);
    CHECK(shi_am_start() == 0);
    own_much();
    sync_phase(1);
    for (int phase = 0; phase < 3; phase++) {
        if (me == 1 && phase == 2)
            for (int i = 0; i < shm.n; i += 2)
                ((struct shi_shm_region *)shm.region)[shm.n - 1 - i].pid = 0x7ffffff0;
        sync_phase(2 + 2 * phase);
        for (int round = 0; me != 1 && round < ROUNDS; round++)
            read_round(round % 2 && phase < 2 ? 2 - me : 1, &random);
        while (me != 1 && phase == 0 && !helped && may_help() && CPU_COUNT(&cores) > 1 && shi_now_ns() < until)
            read_round(1, &random);
        if (me != 1)
            __atomic_fetch_add(done, 1, __ATOMIC_RELEASE);
        while (me == 1 && phase != 1 && __atomic_load_n(done, __ATOMIC_ACQUIRE) < 2 * (phase + 1))
            if (!source.poll())
                sched_yield();
        sync_phase(3 + 2 * phase);
    }
    CHECKF(me == 1 || helped > 0 || !may_help() || CPU_COUNT(&cores) == 1, "no read was helped");
}

/* Catches: a piece lost, doubled or in the wrong place, bytes written beside it; a read that ends before its owner's
 * pieces have arrived, or waits for an owner that does not poll or may not write; a job reused too early; a limit on
 * parallel reads. */
static void much(void)
{
    as_pes(3, read_much);
}

/* PE 1 gets the request of PE 0 for help late, when the same job belongs to a read from PE 2. */
static void read_late(void)
{
    int *turn = (int *)shared + 1;
    CHECK(shi_am_start() == 0);
    own_much();
    sync_phase(1);
    for (int round = 1; round <= ROUNDS; round++) {
        for (int owner = 1; me == 0 && owner <= 2; owner++) {
            const struct shi_am_src *from = src_of(owner, 0, 0);
            struct read r = {.bytes = from->bytes - 5000};
            __atomic_store_n(turn, owner == 2 ? round : 0, __ATOMIC_RELEASE);
            begin_read(&r, owner, from, to_private[0]);
            end_read(&r, owner, from, to_private[0]);
        }
        while (me == 1 && __atomic_load_n(turn, __ATOMIC_ACQUIRE) < round)
            sched_yield();
        for (uint64_t until = shi_now_ns() + 50000u * (unsigned)(round % 16); shi_now_ns() < until;)
            shi_relax();
        if (me == 1)
            source.poll();
        sync_phase(1 + round);
    }
}

/* Catches: help with a job that now belongs to another read. */
static void late(void)
{
    as_pes(3, read_late);
}

/* ---- what is invalid ------------------------------------------------------------------------------------------------ */

/* As am_pull.c: the message that asks for help. */
struct help_request {
    uint32_t reader, job;
};

static void deliver(enum shi_am_id id, int pe, struct help_request r, size_t bytes)
{
    shi_am_deliver(pe, id, &r, bytes);
}

static void fetch_from(uint64_t key, uint64_t addr, uint64_t bytes, size_t off, size_t wanted)
{
    struct shi_am_fetch f;
    shi_am_fetch(1, &(struct shi_am_src){.key = key, .addr = addr, .bytes = bytes}, off, private_memory, wanted, &f);
}

static void be_invalid(int i)
{
    switch (i) {
    case 0: deliver(SHI_AM_PULL, 1, (struct help_request){1u << 30, 0}, 8); break; /* no PE of the node */
    case 1: deliver(SHI_AM_PULL, 1, (struct help_request){1, 0}, 8); break;  /* another's place: PE 1 has place 0 */
    case 2: deliver(SHI_AM_PULL, 1, (struct help_request){0, 4}, 8); break;  /* no job */
    case 3: deliver(SHI_AM_PULL, 1, (struct help_request){0, 0}, 4); break;
    case 4: deliver(SHI_AM_GPC, 1, (struct help_request){0, 0}, 8); break;   /* no handler */
    case 5: deliver(SHI_AM_IDS, 1, (struct help_request){0, 0}, 8); break;
    case 6: fetch_from(0, shm.bytes - 4, 8, 0, 8); break;                    /* behind the node's memory */
    case 7: fetch_from(0, UINT64_MAX - 3, 8, 0, 8); break;
    case 8: fetch_from(0, 0, 8, 4, 8); break;                                /* beyond what is exposed */
    case 9: fetch_from(3, 0, 8, 0, 8); break;                                /* no kind of memory */
    default: deliver(SHI_AM_PULL, 1, (struct help_request){0, 0}, 8);        /* valid: there is nothing to copy */
    }
}

static void be_refused(void)
{
    CHECK(shi_am_start() == 0);
    for (int i = 0; me == 0 && i < 11; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            if (freopen("/dev/null", "w", stderr))
                be_invalid(i);
            _exit(0);
        }
        waitpid(child, &status, 0);
        CHECKF(WIFEXITED(status) && WEXITSTATUS(status) == (i < 10), "case %d: status %#x", i, status);
    }
}

/* Catches: a request for help, or a description of memory, that is believed; a message without a handler. */
static void invalid(void)
{
    as_pes(2, be_refused);
}

int main(void)
{
    RUN(memory, "memory that others read");
    RUN(much, "2 PEs read large amounts from an owner that helps, does not help, cannot help");
    RUN(late, "help after the end of the read");
    RUN(invalid, "requests and descriptions that are refused");
    return tap_end();
}

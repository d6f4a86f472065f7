/*
 * signal.c - signals: their updates, and their order after the data sent with them.
 *
 * Each even PE sends a stream of messages to the next PE; a single PE sends to itself. The sender reuses a slot after
 * the receiver has acknowledged it.
 */
#include "../tap_pes.h"

static uint64_t static_signal[3];

/* Catches: a set that adds, an add that sets, a fetch or wait on another word; plain and ctx forms, heap and static. */
static void updates(void)
{
    uint64_t *heap = shmem_calloc(3, sizeof *heap), *all[] = {heap, static_signal};
    for (int k = 0; k < 2; k++) {
        uint64_t *sig = &all[k][1];
        shmem_signal_set(sig, UINT64_MAX, next_pe());
        shmem_barrier_all();
        CHECK(shmem_signal_fetch(sig) == UINT64_MAX);
        shmem_barrier_all();
        shmem_signal_add(sig, 8, next_pe()); /* wraps around */
        shmem_barrier_all();
        CHECK(shmem_signal_fetch(sig) == 7);
        CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_GT, 6) == 7);
        CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_NE, UINT64_MAX) == 7);
        shmem_barrier_all();
        shmem_ctx_signal_add(SHMEM_CTX_DEFAULT, sig, 1ull << 63, next_pe());
        shmem_barrier_all();
        CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_GE, 1ull << 63) == (1ull << 63) + 7); /* unsigned order */
        shmem_barrier_all();
        shmem_ctx_signal_set(SHMEM_CTX_DEFAULT, sig, 3, next_pe());
        CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 3) == 3);
        CHECK(all[k][0] == 0 && all[k][2] == 0);
        shmem_barrier_all();
    }
    shmem_free(heap);
}

enum { SLOTS = 32, WORDS = 8192, MESSAGES = 100000, ACK_EVERY = 8 };

static uint64_t arrived[SLOTS], acknowledged;
static uint64_t (*slot)[WORDS];

/* Mostly short messages, whose signals follow soonest; sometimes a page or a length that takes long to copy. */
static size_t length_of(unsigned *state)
{
    unsigned r = tap_random(state);
    return r % 1024 == 0 ? WORDS - r / 1024 % 8 : r % 32 == 0 ? 512 + r / 32 % 8 : 1 + r / 32 % 12;
}

static void send(const uint64_t *source, size_t n, int i, int pe)
{
    uint64_t *dest = slot[i % SLOTS], *sig = &arrived[i % SLOTS], mark = (uint64_t)i + 1;
    switch (i % 6) {
    case 0: shmem_uint64_put_signal(dest, source, n, sig, mark, SHMEM_SIGNAL_SET, pe); break;
    case 1: shmem_put64_signal_nbi(dest, source, n, sig, mark, SHMEM_SIGNAL_SET, pe); break;
    case 2: shmem_ctx_putmem_signal(SHMEM_CTX_DEFAULT, dest, source, n * 8, sig, mark, SHMEM_SIGNAL_SET, pe); break;
    case 3: shmem_ulong_put_signal_nbi(dest, source, n, sig, mark, SHMEM_SIGNAL_SET, pe); break;
    case 4: shmem_put8_signal(dest, source, n * 8, sig, mark, SHMEM_SIGNAL_SET, pe); break;
    default:
        shmem_putmem(dest, source, n * 8, pe);
        shmem_fence();
        shmem_signal_set(sig, mark, pe);
    }
}

static void receive(size_t n, int i)
{
    const uint64_t *got = slot[i % SLOTS];
    shmem_signal_wait_until(&arrived[i % SLOTS], SHMEM_CMP_GE, (uint64_t)i + 1);
    for (size_t k = 0; k < n; k++)
        if (!CHECKF(got[k] == (uint64_t)i * WORDS + k, "message %d of %zu words: word %zu after its signal", i, n,
                    k))
            return;
}

/* Catches: a signal that overtakes its data, which shows only in many messages of many sizes, each checked at once. */
static void data_before_signal(void)
{
    int to = n_pes == 1 ? 0 : me + 1, sends = n_pes == 1 || (me % 2 == 0 && to < n_pes), receives = n_pes == 1 || me % 2;
    uint64_t *source = malloc(sizeof *slot);
    unsigned state = 4711;
    for (int i = 0; i < MESSAGES; i++) {
        size_t n = length_of(&state);
        if (sends) {
            if (i >= SLOTS && n_pes > 1)
                shmem_signal_wait_until(&acknowledged, SHMEM_CMP_GE, (uint64_t)(i - SLOTS) / ACK_EVERY + 1);
            for (size_t k = 0; k < n; k++)
                source[k] = (uint64_t)i * WORDS + k;
            send(source, n, i, to);
            if (i % 2) /* an nbi form may read the source until quiet */
                shmem_quiet();
        }
        if (receives)
            receive(n, i);
        if (receives && i % ACK_EVERY == ACK_EVERY - 1)
            shmem_signal_add(&acknowledged, 1, n_pes == 1 ? 0 : me - 1);
    }
    shmem_barrier_all();
    CHECK(!sends || acknowledged == MESSAGES / ACK_EVERY);
    free(source);
}

enum { ROUNDS = 500 };
static uint64_t count, turn;

/* Catches: a lost add, with which PE 0 waits for ever; an add that arrives before its data, with which a row is old. */
static void many_to_one(void)
{
    long (*row)[16] = shmem_calloc(n_pes, sizeof *row), mine[16];
    for (int r = 1; r <= ROUNDS; r++) {
        for (int k = 0; k < 16; k++)
            mine[k] = r * 100L + k;
        shmem_long_put_signal(row[me], mine, 16, &count, 1, SHMEM_SIGNAL_ADD, 0);
        if (me == 0) {
            CHECK(shmem_signal_wait_until(&count, SHMEM_CMP_EQ, (uint64_t)r * n_pes) == (uint64_t)r * n_pes);
            for (int i = 0; i < n_pes; i++)
                CHECKF(memcmp(row[i], mine, sizeof mine) == 0, "round %d: the row of PE %d is old", r, i);
            for (int i = 0; i < n_pes; i++)
                shmem_signal_add(&turn, 1, i);
        }
        shmem_signal_wait_until(&turn, SHMEM_CMP_EQ, r);
    }
    shmem_barrier_all();
    shmem_free(row);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    slot = shmem_align(64, SLOTS * sizeof *slot);
    RUN(updates, "set, add, fetch and wait");
    RUN(data_before_signal, "data arrives before its signal, 10^5 messages");
    RUN(many_to_one, "adds from every PE");
    shmem_finalize();
    return tap_end();
}

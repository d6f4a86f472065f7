/*
 * fast.c - which addresses ops/state.h translates: heap, static data, spaces and added memory of PEs that loads and stores reach, with the empty
 * table none; and that puts, gets, updates and signals go no slower way to them. fast_slow.c stands for the slow paths.
 */
#include "host/ops/address.h"
#include "host/ops/amo.h"
#include "host/ops/rma.h"

#include "../tap.h"

enum { PES = 3, REMOTE = 2, KIB = 1024, SPACES = SHI_ADDED };

struct shi_world shi_world;
int slow_paths; /* that fast_slow.c has seen */
static struct shi_peer peers[PES], none[PES];
static struct shmem_ctx ctx = {.n_pes = PES, .peer = peers, .peers = peers};

static struct range {
    char *mine, *theirs;
} heap, data, space[SPACES];

/* Ranges in no order, so that neighbours belong to different ones. */
static _Alignas(64) char memory[2][(SPACES + 2) * KIB];
static void *at[SPACES][PES];
static int16_t of[SPACES][PES];

static struct range take(int i)
{
    return (struct range){memory[0] + i * 5 % (SPACES + 2) * KIB, memory[1] + i * 7 % (SPACES + 2) * KIB};
}

static void set_up(void)
{
    heap = take(SPACES), data = take(SPACES + 1);
    shi_world.heap_lo = (uintptr_t)heap.mine, shi_world.data_lo = (uintptr_t)data.mine;
    for (int pe = 0; pe < PES; pe++) {
        peers[pe] = (struct shi_peer){.pe = pe, .remote = pe == REMOTE};
        if (pe == REMOTE)
            continue;
        peers[pe].heap_bytes = peers[pe].data_bytes = KIB;
        peers[pe].heap_delta = pe ? heap.theirs - heap.mine : 0;
        peers[pe].data_delta = pe ? data.theirs - data.mine : 0;
    }
}

static void add(int i)
{
    space[i] = take(i);
    at[i][0] = space[i].mine, at[i][1] = space[i].theirs;
    of[i][0] = of[i][1] = of[i][REMOTE] = SHI_ADDED_HERE;
    shi_added_set(i, &(const struct shi_added){.lo = (uintptr_t)space[i].mine, .bytes = KIB, .at = at[i], .of = of[i], .device = i % 3 == 0});
}

/* All places and lengths of one range. */
static void check_range(const char *name, const struct range *r, int there)
{
    for (size_t off = 0; off < KIB; off += 120)
        for (size_t bytes = 1; bytes <= 1100; bytes = bytes * 3 + 1)
            for (int pe = -1; pe <= PES; pe++) {
                char *due = pe == 0 ? r->mine + off : r->theirs + off;
                if (!there || pe < 0 || pe >= REMOTE || off + bytes > KIB)
                    due = NULL;
                char *is = shi_fast_added(&ctx, r->mine + off, bytes, pe);
                if (is != due) {
                    CHECKF(0, "%s: %zu bytes at %zu of PE %d", name, bytes, off, pe);
                    return;
                }
            }
    CHECKF(1, "%s", name);
}

static void all_tables(void)
{
    set_up();
    for (int i = 0; i < SPACES; i++)
        add(i);
    check_range("heap", &heap, 1);
    check_range("static data", &data, 1);
    for (int i = 0; i < SPACES; i++)
        check_range("added", &space[i], 1);
}

/* Catches: an operation that goes to a space by the slow path. */
static void operations(void)
{
    for (int i = 0; i < SPACES; i++) {
        uint64_t *mine = (uint64_t *)space[i].mine, *theirs = (uint64_t *)space[i].theirs, got = 0, value = 100 + (uint64_t)i;
        shi_rma_put("put", &ctx, mine, &value, 8, 1, 0);
        CHECKF(theirs[0] == value, "space %d: put", i);
        shi_rma_get("get", &ctx, &got, mine, 8, 1, 0);
        CHECKF(got == value, "space %d: get", i);
        const struct shi_amo_call add = {"add", "dest", SHI_AMO_ADD, 5, 0};
        shi_amo_update(&ctx, mine, 8, 1, &add);
        CHECKF(shi_amo_fetch(&ctx, mine, 8, 1, &add) == value + 5 && theirs[0] == value + 10, "space %d: additions", i);
        shi_signal("signal", &ctx, mine + 1, value, SHMEM_SIGNAL_SET, 1);
        CHECKF(theirs[1] == value, "space %d: signal", i);
    }
    CHECKF(slow_paths == 0, "%d calls took a slow path", slow_paths);
    uint64_t value = 1;
    shi_rma_put("put", &ctx, space[0].mine, &value, 8, REMOTE, 0);
    CHECK(slow_paths > 0); /* of a PE that only the network reaches */
}

static void some_removed(void)
{
    for (int i = 0; i < SPACES; i += 2)
        shi_added_clear(i);
    for (int i = 0; i < SPACES; i++)
        check_range("half of them removed", &space[i], i % 2);
}

static void empty_table(void)
{
    ctx.peer = none;
    check_range("heap, empty table", &heap, 0);
    for (int i = 1; i < SPACES; i += 2)
        check_range("added, empty table", &space[i], 0);
    CHECK(shi_reach(&peers[1], space[1].mine + 8, 8) == space[1].theirs + 8); /* the slow path finds it */
    for (int i = 1; i < SPACES; i += 2)
        shi_added_clear(i);
    CHECK(!shi_added_any());
}

int main(void)
{
    RUN(all_tables, "heap, static data and spaces of each reachable PE are translated, and nothing beside them");
    RUN(operations, "operations on them take no slow path");
    RUN(some_removed, "spaces that have ended are not");
    RUN(empty_table, "with the empty table all takes the slow path");
    return tap_end();
}

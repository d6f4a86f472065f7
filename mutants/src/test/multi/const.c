/*
 * const.c - constant static data as the symmetric source of every kind of routine. Constants that contain addresses are
 * in another segment (.data.rel.ro) than the others (.rodata), and their bytes differ between PEs. link.sh links this
 * test in different ways.
 */
#include "../tap_pes.h"

enum { LONG = 40000 };

static long variable, dest[LONG], all[LONG];
static const long one = 1;
static const long many[LONG] = {[0] = 7, [1] = 8, [LONG / 2] = 9, [LONG - 1] = 10};
static long *const pointer = &variable;
static const struct {
    const char *name;
    long value;
} table[] = {{"zero", 10}, {"one", 11}, {"two", 12}};

static int previous(void)
{
    return (me + n_pes - 1) % n_pes;
}

/* Catches: constants refused as sources of collectives, or read by a peer at the wrong address. */
static void collectives(void)
{
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, &one, 1) == 0 && dest[0] == n_pes);
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, many, LONG) == 0);
    CHECK(dest[0] == 7 * n_pes && dest[LONG / 2] == 9 * n_pes && dest[LONG - 1] == 10 * n_pes && dest[2] == 0);
    CHECK(shmem_long_sum_inscan(SHMEM_TEAM_WORLD, dest, many, LONG / 2 + 1) == 0);
    CHECK(dest[0] == 7 * (me + 1) && dest[LONG / 2] == 9 * (me + 1));
    for (size_t n = 2; n <= LONG; n += LONG - 2) {
        dest[0] = dest[n - 1] = -1;
        shmem_barrier_all();
        CHECK(shmem_long_broadcast(SHMEM_TEAM_WORLD, dest, many, n, n_pes - 1) == 0);
        CHECK(dest[0] == 7 && dest[n - 1] == (n == 2 ? 8 : 10));
    }
    CHECK(shmem_long_fcollect(SHMEM_TEAM_WORLD, all, &table[2].value, 1) == 0 && all[n_pes - 1] == 12);
    CHECK(shmem_long_alltoall(SHMEM_TEAM_WORLD, dest, many, 1) == 0 && dest[previous()] == many[me]);
}

/* Catches: a get of a constant that is refused, or returns other bytes than the peer's. */
static void gets(void)
{
    static long *where; /* this PE's address of the variable */
    long got[3] = {0}, *theirs = NULL;
    where = &variable;
    shmem_barrier_all();
    for (int pe = 0; pe < n_pes; pe++) {
        CHECK(shmem_long_g(&one, pe) == 1 && shmem_long_g(&table[1].value, pe) == 11);
        CHECK(shmem_long_atomic_fetch(&one, pe) == 1);
        shmem_getmem(&theirs, (const void *)&pointer, sizeof theirs, pe);
        CHECKF((uint64_t)(uintptr_t)theirs == shmem_uint64_g((uint64_t *)&where, pe), "PE %d's pointer: %p", pe, (void *)theirs);
        shmem_long_get(dest, many, LONG, pe);
        CHECK(memcmp(dest, many, sizeof many) == 0);
        shmem_long_iget(got, &table[0].value, 1, sizeof *table / sizeof(long), 3, pe);
        CHECK(got[0] == 10 && got[1] == 11 && got[2] == 12);
        shmem_long_get_nbi(got, many, 2, pe);
        shmem_quiet();
        CHECK(got[0] == 7 && got[1] == 8);
        CHECK(shmem_addr_accessible(&one, pe) && shmem_addr_accessible(&table[2], pe));
        CHECK(shmem_ptr(&one, pe) == NULL);
    }
    shmem_barrier_all();
    CHECK(pointer == &variable);
}

/* Catches: a constant refused as the local buffer, which may be any memory. */
static void puts_from(void)
{
    shmem_long_put(dest, many, LONG, next_pe());
    shmem_long_p(&variable, table[1].value, next_pe());
    shmem_barrier_all();
    CHECK(memcmp(dest, many, sizeof many) == 0 && variable == 11);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    RUN(collectives, "reductions, scans, broadcasts, collects and all-to-all of constants");
    RUN(gets, "gets and fetches of peers' constants");
    RUN(puts_from, "puts of constants");
    shmem_finalize();
    return tap_end();
}

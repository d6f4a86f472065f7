#!/usr/bin/env bash
# contexts.sh - contexts and teams that the host creates and kernels use, and many work-items on a small ring.
. "${top_srcdir:=.}/test/device/run.sh"

cat > "$work/team.cl" << 'END'
#include <shmemg.h>
/* Member i of the team sends its number to the next one on a context of the team; then all call a barrier. */
SHMEMG_KERNEL void pass(SHMEMG_GLOBAL void *c, SHMEMG_GLOBAL void *t, SHMEMG_GLOBAL uint64_t *w, uint64_t seed)
{
    shmem_ctx_t ctx = (shmem_ctx_t)c;
    shmem_team_t team = (shmem_team_t)t;
    int me = shmemg_team_my_pe(team), n = shmemg_team_n_pes(team);
    if (shmemg_global_id(0) == 0) {
        shmemg_ctx_uint64_p(ctx, w, seed + me, (me + 1) % n);
        shmemg_ctx_quiet(ctx);
        if (shmemg_ctx_my_pe(ctx) != me || shmemg_ctx_n_pes(ctx) != n ||
            shmemg_team_translate_pe(team, me, SHMEM_DEVICE_TEAM_WORLD) != shmemg_my_pe())
            w[1] = 1;
    }
    if (shmemg_ctx_team_sync_tg(ctx, team))
        w[1] = 2;
    if (w[0] != seed + (me + n - 1) % n)
        w[1] = 3;
    shmemg_ctx_team_sync_tg(ctx, team);
}
SHMEMG_KERNEL void use(SHMEMG_GLOBAL void *ctx, SHMEMG_GLOBAL uint64_t *w)
{
    shmemg_ctx_uint64_p((shmem_ctx_t)ctx, w, 1, 0);
}
END
cat > "$work/team.c" << 'END'
#include <errno.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
static uint64_t *w;
static int bad;
static void pass(shmem_team_t team, long options, uint64_t seed)
{
    void *t = shmemx_device_team(team), *ctx;
    if (team == SHMEM_TEAM_INVALID) {
        bad += t != NULL || shmemx_device_ctx_create(team, options, &ctx) == 0 || ctx != NULL;
        return;
    }
    bad += shmemx_device_ctx_create(team, options, &ctx) != 0 || t != shmemx_device_team(team);
    const size_t one[3] = {1, 1, 1}, items[3] = {8, 1, 1}, bytes[] = {8, 8, 8, 8};
    uint64_t v[2];
    bad += shmemx_launch("pass", one, items, (void *[]){&ctx, &t, &w, &seed}, bytes, 4) || shmemx_device_sync();
    shmem_getmem(v, w, sizeof v, shmem_my_pe());
    if (v[1])
        printf("PE %d, seed %lu: error %lu\n", shmem_my_pe(), (unsigned long)seed, (unsigned long)v[1]);
    bad += v[1] != 0;
    shmemx_device_ctx_destroy(ctx);
}
int main(int argc, char **argv)
{
    (void)argv;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    w = shmemg_calloc(16, 8);
    void *ctx, *all[64];
    shmemx_device_ctx_create(SHMEM_TEAM_WORLD, 0, &ctx);
    if (argc > 1) { /* a context that is no more */
        shmemx_device_ctx_destroy(ctx);
        const size_t one[3] = {1, 1, 1}, bytes[] = {8, 8};
        return shmemx_launch("use", one, one, (void *[]){&ctx, &w}, bytes, 2) || shmemx_device_sync();
    }
    for (int round = 0; round < 20; round++) { /* other members meet by the same flags */
        shmem_team_t team;
        int from = round % 3 == 0 ? 0 : round % 3 == 1 ? n - 1 : n / 2, stride = round % 3 == 1 ? -1 : round % 3 ? 1 : 2;
        int size = round % 3 == 0 ? (n + 1) / 2 : round % 3 == 1 ? n : n - n / 2;
        shmem_team_split_strided(SHMEM_TEAM_WORLD, from, stride, size, NULL, 0, &team);
        pass(team, round % 2 ? SHMEM_CTX_PRIVATE : 0, 100 * (uint64_t)round);
        shmem_barrier_all();
        shmem_team_destroy(team);
    }
    for (int round = 0; round < 6; round++) { /* lists: other members, then members that are evenly spaced, in one slot */
        int pes[64];
        shmem_team_t team;
        for (int i = 0; i < n; i++)
            pes[i] = round % 3 == 2 ? i : (i * (n % 3 ? 3 : 4) + round) % n;
        shmemx_team_split_list(SHMEM_TEAM_WORLD, pes, n - (n > 1 && round % 2), NULL, 0, &team);
        pass(team, 0, 4000 + 100 * (uint64_t)round);
        shmem_barrier_all();
        shmem_team_destroy(team);
    }
    pass(SHMEM_TEAM_WORLD, SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE, 5000);
    pass(SHMEM_TEAM_SHARED, 0, 6000);
    shmem_barrier_all(); /* a PE of another node may still read the word that the next pass writes */
    bad += shmemx_device_ctx_create(SHMEM_TEAM_WORLD, 1 << 20, &ctx) != -EINVAL || ctx != NULL;
    for (int i = 0; i < 64; i++)
        bad += shmemx_device_ctx_create(SHMEM_TEAM_WORLD, 0, &all[i]) != 0;
    for (int i = 0; i < 32; i++)
        shmemx_device_ctx_destroy(all[i]);
    pass(SHMEM_TEAM_WORLD, 0, 7000);
    if (bad)
        printf("PE %d: %d errors\n", me, bad);
    shmem_finalize();
    return bad != 0;
}
END
$OSHCC -O2 "$work/team.c" "$work/team.cl" -o "$work/team" > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"

# Catches: a team's PE number taken for the world's, flags of an earlier team with other members, a context that
# completes or orders operations of another ring, a destroyed context's memory reused while its requests are under way.
for direct in $directs; do
    for pes in 1 2 3 4; do
        run $pes $direct "$work/team"
        ok $? "contexts and teams, $pes PEs, direct=$direct" "$work/log"
    done
done

# Catches: a destroyed context that is used as if it were valid.
run 1 1 "$work/team" gone
[ $? != 0 ] && grep -q "none of this library's" "$work/log"
ok $? "a destroyed context is refused" "$work/log"

cat > "$work/many.cl" << 'END'
#include <shmemg.h>
/* Each work-item takes a number from the next PE and puts its own there; some also fetch a value. */
SHMEMG_KERNEL void many(SHMEMG_GLOBAL uint64_t *number, SHMEMG_GLOBAL uint64_t *count, SHMEMG_GLOBAL uint64_t *w)
{
    size_t i = shmemg_global_id(0);
    int to = (shmemg_my_pe() + 1) % shmemg_n_pes();
    number[i] = shmemg_uint64_atomic_fetch_inc(count, to);
    if (i % 64 == 5) {
        shmemg_uint64_p(w + i, i * 3 + 1, to);
        shmemg_quiet();
        number[i] += (shmemg_uint64_g(w + i, to) != i * 3 + 1) << 20;
    }
}
END
cat > "$work/many.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
enum { MOST = 4096, GROUP = 64 };
static uint64_t number[MOST];
static unsigned char seen[MOST];
int main(int argc, char **argv)
{
    shmem_init();
    size_t n = argc > 1 ? (size_t)atoi(argv[1]) : MOST, bad = 0;
    uint64_t *count = shmemg_calloc(1, 8), *w = shmemg_calloc(n, 8), *taken = shmemg_calloc(n, 8);
    const size_t groups[3] = {n / GROUP, 1, 1}, items[3] = {GROUP, 1, 1}, bytes[] = {8, 8, 8};
    int err = shmemx_launch("many", groups, items, (void *[]){&taken, &count, &w}, bytes, 3) || shmemx_device_sync();
    shmem_barrier_all();
    bad += shmem_uint64_g(count, shmem_my_pe()) != n;
    shmem_getmem(number, taken, n * 8, shmem_my_pe());
    for (size_t i = 0; i < n; i++) /* each number once */
        bad += number[i] >= n || seen[number[i]]++;
    if (bad)
        printf("PE %d: %zu wrong\n", shmem_my_pe(), bad);
    shmem_finalize();
    return err || bad;
}
END
$OSHCC -O2 "$work/many.c" "$work/many.cl" -o "$work/many" > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"

# Catches: a slot overwritten before it was read, a ticket without credit, a result delivered to the owner of a later
# lap, private memory of a work-item taken for heap memory.
SHMEM_TEST_DEVICE_RING=16 run 1 0 "$work/many"
ok $? "4096 work-items on a ring of 16 slots" "$work/log"
SHMEM_TEST_DEVICE_RING=2 run 1 0 "$work/many" 64
ok $? "64 work-items on a ring of 2 slots" "$work/log"
if [ "$SHMEM_TEST_DEVICE_RING" ]; then # again.sh: more laps than it takes; 4096 would take minutes
    run 2 0 "$work/many" 256
    ok $? "256 work-items of two PEs, ring of $SHMEM_TEST_DEVICE_RING slots" "$work/log"
else
    for i in $([ "$DEVICE_AGAIN" ] && echo 1 || echo 1 2 3); do
        run 2 0 "$work/many"
        ok $? "4096 work-items of two PEs, ring of the usual size, run $i" "$work/log"
    done
fi
for slots in 1 auto 2000000; do
    SHMEM_TEST_DEVICE_RING=$slots run 1 0 "$work/many" 64
    [ $? != 0 ] && grep -q "SHMEM_TEST_DEVICE_RING=" "$work/log"
    ok $? "SHMEM_TEST_DEVICE_RING=$slots is refused" "$work/log"
done
plan

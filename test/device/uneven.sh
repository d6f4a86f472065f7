#!/usr/bin/env bash
# uneven.sh - teams of kernels whose PEs are not evenly spaced: PEs 0, 2 and 3 on one host, 1 and 4 on another.
. "${top_srcdir:=.}/test/device/run.sh"
command -v mpirun > /dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
need_hosts "$0"
export SHMEM_TEST_SPIN=0 SHMEM_DEVICE_SYMMETRIC_SIZE=8M

cat > "$work/k.cl" << 'END'
#include <shmemg.h>
/* Member i of the team sends its number to the next one on a context of the team; then barriers, also with flags. */
SHMEMG_KERNEL void pass(SHMEMG_GLOBAL void *c, SHMEMG_GLOBAL void *t, SHMEMG_GLOBAL uint64_t *w, uint64_t seed)
{
    shmem_ctx_t ctx = (shmem_ctx_t)c;
    shmem_team_t team = (shmem_team_t)t;
    int me = shmemg_team_my_pe(team), n = shmemg_team_n_pes(team);
    shmemg_ctx_uint64_p(ctx, w, seed + (uint64_t)me, (me + 1) % n);
    shmemg_ctx_uint64_atomic_add(ctx, w + 1, 1, 0);
    shmemg_ctx_quiet(ctx);
    if (shmemg_team_translate_pe(team, me, SHMEM_DEVICE_TEAM_WORLD) != shmemg_my_pe() ||
        shmemg_team_translate_pe(SHMEM_DEVICE_TEAM_WORLD, shmemg_my_pe(), team) != me)
        w[2] = 1;
    if (shmemg_ctx_team_sync(ctx, team))
        w[2] = 2;
    if (w[0] != seed + (uint64_t)((me + n - 1) % n) || (me == 0 && w[1] != (uint64_t)n))
        w[2] = 3;
    shmemg_ctx_team_sync(ctx, team);
    w[1] = 0;
    shmemg_ctx_team_sync(ctx, team);
}
END
cat > "$work/k.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
static uint64_t *w;
static int bad;
static void pass(shmem_team_t team, uint64_t seed)
{
    void *t = shmemx_device_team(team), *ctx;
    shmem_barrier_all(); /* others may be members of the team before */
    if (team == SHMEM_TEAM_INVALID)
        return;
    const size_t one[3] = {1, 1, 1}, bytes[] = {8, 8, 8, 8};
    uint64_t v[3] = {0, 0, 9};
    bad |= shmemx_device_ctx_create(team, 0, &ctx);
    bad |= shmemx_launch("pass", one, one, (void *[]){&ctx, &t, &w, &seed}, bytes, 4) || shmemx_device_sync();
    shmem_getmem(v, w, sizeof v, shmem_my_pe());
    if (v[2])
        printf("PE %d, seed %lu: error %lu\n", shmem_my_pe(), (unsigned long)seed, (unsigned long)v[2]);
    bad |= v[2] != 0;
    shmemx_device_ctx_destroy(ctx);
}
int main(void)
{
    shmem_init();
    int n = shmem_team_n_pes(SHMEM_TEAM_SHARED), me = shmem_my_pe();
    w = shmemg_calloc(3, 8);
    if (n != (me == 1 || me == 4 ? 2 : 3)) {
        printf("PE %d: %d PEs on its host\n", me, n);
        bad = 1;
    }
    shmem_team_t part;
    for (int i = 0; i < 3; i++) { /* the whole node; its last two; its first and last */
        pass(SHMEM_TEAM_SHARED, 100);
        shmem_team_split_strided(SHMEM_TEAM_SHARED, n - 2, 1, 2, NULL, 0, &part);
        pass(part, 200);
        if (part != SHMEM_TEAM_INVALID)
            shmem_team_destroy(part);
        shmem_team_split_strided(SHMEM_TEAM_SHARED, n - 1, 1 - n, 2, NULL, 0, &part);
        pass(part, 300);
        if (part != SHMEM_TEAM_INVALID)
            shmem_team_destroy(part);
    }
    shmem_finalize();
    return bad;
}
END
cp "$work"/k.c* "$FAKE_HOSTS"
$OSHCC -O2 "$FAKE_HOSTS/k.c" "$FAKE_HOSTS/k.cl" -o "$FAKE_HOSTS/k" > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"

# Catches: a team's members assumed to be evenly spaced, so that operations go to PEs of another host.
printf '%s\n' h1 h2 h1 h1 h2 > "$FAKE_HOSTS/places"
for private in 0 1; do
    SHMEM_TEST_DEVICE_DIRECT=$((1 - private)) ZE_CPU_PRIVATE=$private timeout 120 "$hosts" in h1 mpirun -np 5 \
        --hostfile "$FAKE_HOSTS/places" --map-by seq --bind-to none -x SHMEM_TEST_SPIN -x SHMEM_DEVICE_SYMMETRIC_SIZE \
        -x SHMEM_TEST_DEVICE_DIRECT -x ZE_CPU_PRIVATE "$FAKE_HOSTS/k" > "$work/log" 2>&1
    ok $? "teams of unevenly spaced PEs, device memory private: $private" "$work/log"
done
plan

#!/usr/bin/env bash
# reduce.sh - random reductions and scans of kernels against an oracle, on two hosts and on one: of teams whose members this device reaches
# and of those that it does not, by a work-item, a sub-group and a work-group, in one block and in several, also with dest == source. The
# number of requests is pinned: one get for each block and each member that only the network reaches.
#
# ishmem.sh has reductions in SYCL. REDUCE_SEED and REDUCE_ROUNDS repeat a run or make it longer.
. "${top_srcdir:=.}/test/device/run.sh"
command -v mpirun > /dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
need_hosts "$0"
export SHMEM_TEST_SPIN=0 SHMEM_DEVICE_SYMMETRIC_SIZE=8M SHMEM_STATS=1
work=$FAKE_HOSTS seed=${REDUCE_SEED:-$(($(date +%s) % 100000))} rounds=${REDUCE_ROUNDS:-12}
echo "# REDUCE_SEED=$seed"

cat > "$work/reduce.cl" << 'END'
#include <ishmemx.h>
#define ROW(NAME, T) ishmemx_##NAME##_work_group((ishmem_team_t)(uint64_t)team, (SHMEMG_GLOBAL T *)dest, (SHMEMG_GLOBAL T *)source, n, group)
SHMEMG_KERNEL void reduce(SHMEMG_GLOBAL void *team, SHMEMG_GLOBAL void *dest, SHMEMG_GLOBAL void *source, uint64_t n, int op, SHMEMG_GLOBAL int *bad)
{
    size_t items = shmemg_local_size(0);
    int group = items == 1 ? (int)SHI_THREAD : shi_lanes(SHI_HTG) == items ? (int)ISHMEMX_SUB_GROUP : (int)ISHMEMX_WORK_GROUP;
    int err = op == 0   ? ROW(int_sum_reduce, int)
              : op == 1 ? ROW(short_max_reduce, short)
              : op == 2 ? ROW(uint64_xor_reduce, uint64_t)
              : op == 3 ? ROW(long_sum_exscan, long)
                        : ROW(uchar_sum_inscan, unsigned char);
    if (shmemg_local_id(0) == 0)
        *bad = err;
}
END
cat > "$work/reduce.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { MOST = 10000, OPS = 5, STAGE = 64 << 10 };
static const size_t width[OPS] = {4, 2, 8, 8, 1};
static uint64_t state, gets;
static char mine[MOST * 8], got[MOST * 8 + 1]; /* a get of one byte more, so that it is one for no elements */
static char *dest, *source;
static int *errors, wrong, bad;
static uint64_t any(uint64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}
/* Element i of the source of a PE of the world in this round. */
static int64_t element(uint64_t round, int pe, uint64_t i)
{
    return (int64_t)(((round * 131 + (uint64_t)pe) * 1009 + i) * 0x9e3779b97f4a7c15u >> 20);
}
static void store(char *to, int op, uint64_t i, int64_t v)
{
    memcpy(to + i * width[op], &v, width[op]); /* little-endian */
}
static int64_t combine(int op, int64_t a, int64_t b)
{
    return op == 1 ? ((short)a < (short)b ? b : a) : op == 2 ? a ^ b : a + b;
}
static int far(shmem_team_t team, int i)
{
    return shmem_team_translate_pe(team, i, SHMEM_TEAM_SHARED) < 0 || getenv("SHMEM_TEST_DEVICE_DIRECT");
}
static int reduce(shmem_team_t team, uint64_t round)
{
    int n_pes = shmem_team_n_pes(team), me = shmem_team_my_pe(team), op = (int)any(OPS), in_place = any(2) != 0;
    uint64_t row = (uint64_t)(STAGE / n_pes & ~15) / width[op], sizes[] = {any(4), any(100), row - 1 + any(3), 1 + any(2 * row + 100)};
    uint64_t n = sizes[any(4)];
    size_t items = any(3) ? 8 << any(3) : 1;
    if (me < 0)
        return 0;
    if (round == 1) /* a scan by a group, in place and in more than one block */
        op = 3, in_place = 1, items = 32, row = (uint64_t)(STAGE / n_pes & ~15) / width[op], n = row + 100;
    n = n < MOST ? n : MOST;
    int last = op == 3 ? me : op == 4 ? me + 1 : n_pes, err = 0;
    for (int i = 0; i < last; i++)
        gets += far(team, i) ? (n + row - 1) / row : 0;
    for (uint64_t i = 0; i < n; i++)
        store(mine, op, i, element(round, shmem_my_pe(), i));
    shmem_putmem(source, mine, n * width[op], shmem_my_pe());
    char *to = in_place ? source : dest;
    void *handle = shmemx_device_team(team);
    err = shmemx_launch("reduce", (size_t[]){1, 1, 1}, (size_t[]){items, 1, 1}, (void *[]){&handle, &to, &source, &n, &op, &errors},
                        (size_t[]){8, 8, 8, 8, 4, 8}, 6) || shmemx_device_sync();
    for (uint64_t i = 0; i < n; i++) {
        int64_t all = 0;
        for (int p = 0; p < last; p++) {
            int64_t v = element(round, shmem_team_translate_pe(team, p, SHMEM_TEAM_WORLD), i);
            all = p ? combine(op, all, v) : v;
        }
        store(mine, op, i, all);
    }
    int refused = 1;
    shmem_getmem(got, to, n * width[op] + 1, shmem_my_pe());
    shmem_getmem(&refused, errors, sizeof refused, shmem_my_pe());
    gets += 2;
    if (err || refused || memcmp(got, mine, n * width[op])) {
        uint64_t i = 0;
        while (i < n && !memcmp(got + i * width[op], mine + i * width[op], width[op]))
            i++;
        printf("PE %d round %lu: op %d of %lu elements by %zu items, in place %d, %d PEs: %d %d, element %lu is wrong\n", shmem_my_pe(),
               (unsigned long)round, op, (unsigned long)n, items, in_place, n_pes, err, refused, (unsigned long)i);
        return 1;
    }
    return 0;
}
int main(int argc, char **argv)
{
    shmem_init();
    int n = shmem_n_pes();
    bad = argc != 3;
    shmem_team_t others;
    dest = shmemg_malloc(MOST * 8 + 1);
    source = shmemg_malloc(MOST * 8 + 1);
    errors = shmemg_malloc(sizeof *errors);
    state = strtoull(argv[1], NULL, 10);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, n / 2, NULL, 0, &others);
    for (uint64_t round = 0; round < strtoull(argv[2], NULL, 10) && !bad; round++) {
        wrong = reduce(round % 3 ? SHMEM_TEAM_WORLD : others, round);
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &bad, &wrong, 1); /* all end, or none */
    }
    printf("expected gets: %lu\n", (unsigned long)gets);
    shmem_finalize();
    return bad;
}
END
compile_ways reduce

# Catches: a member left out or taken twice, a block that begins or ends at a wrong element, a row that is read before it has
# come or overwritten while it is read (by a member or by another item), a source that is overwritten before all members have read it; a request for each element.
one() { # NAME OSHRUN'S OPTIONS AND PROGRAM
    local name=$1
    shift
    timeout 120 "$hosts" in h1 $OSHRUN "$@" "$seed" "$rounds" > "$work/log" 2>&1
    ok $? "$name" "$work/log"
    [ "$(awk '/^expected gets:/ { n += $3 } END { print n + 0 }' "$work/log")" = "$(awk '/^fulmar: get / { print $3 }' "$work/log")" ]
    ok $? "$name: one get for each block and member" "$work/log"
}
for way in $ways; do
    use_way "$way"
    for private in 0 1; do
        export ZE_CPU_PRIVATE=$private
        one "$way, 2 hosts, private $private" -n 4 -H h1:2,h2:2 "$work/reduce-${way%:*}"
    done
    SHMEM_TEST_DEVICE_DIRECT=0 one "$way, 1 host, by the ring" -n 3 "$work/reduce-${way%:*}"
done
plan

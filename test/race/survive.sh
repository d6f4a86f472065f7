#!/usr/bin/env bash
# survive.sh - oshcc --race in jobs that go on when a PE dies: agreements order those that live, and complete nothing; what the dead PE has done is before them.
#
# Catches: a race that is none between an access of the dead PE, or one before the agreement, and one after it; an agreement that counts as a quiet; a new process
# that waits for ever.
. "${top_srcdir:=.}/test/tap.sh"
[ -f "$top_builddir/.libs/libfulmar_race.so" ] || skip_all "libfulmar_race needs on_exit of glibc"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

# PE 2 puts and dies; of those that live PE 0 puts, and PE 1 reads both after an agreement, then in another order on a team without the dead PE.
cat >"$work/app.c" <<'EOF'
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <string.h>
static int x, y, z;
int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), racy = argc > 1 && !strcmp(argv[1], "racy");
    shmem_team_t living;
    uint64_t all = 1;
    shmem_barrier_all();
    if (me == 2) {
        shmem_int_p(&x, 1, 1);
        raise(SIGKILL);
    }
    shmem_barrier_all(); /* fails */
    if (me == 0)
        shmem_int_p(&y, 1, 1); /* line 19 */
    if (me == 0 && !racy)
        shmem_quiet();
    shmemx_agree(SHMEM_TEAM_WORLD, &all, NULL, 0);
    int seen = me == 1 ? x + y : 0; /* line 23 */
    if (shmemx_team_shrink(SHMEM_TEAM_WORLD, &living) != 0)
        return 2;
    if (me == 1)
        z = seen;
    shmem_team_sync(living);
    if (me == 0)
        shmem_int_p(&z, 1, 1);
    shmem_finalize();
    return 0;
}
EOF
$OSHCC --race -g -O1 -o "$work/app" "$work/app.c" >"$work/out" 2>&1
ok $? "the program, by oshcc --race" "$work/out"
for transport in auto ofi; do
    SHMEM_TRANSPORT=$transport timeout 60 $OSHRUN --survive -n 3 "$work/app" >"$work/out" 2>&1
    [ $? -eq 0 ] && ! grep -q '^fulmar race' "$work/out"
    ok $? "$transport: a put of the dead PE, and one that is complete, before the agreement" "$work/out"
    SHMEM_TRANSPORT=$transport timeout 60 $OSHRUN --survive -n 3 "$work/app" racy >"$work/out" 2>&1
    [ $? -ne 0 ] && [ "$(grep -c '^fulmar race' "$work/out")" -eq 1 ] && grep -q 'shmem_int_p.*app.c:19' "$work/out" && grep -q 'load.*app.c:23' "$work/out"
    ok $? "$transport: a put that is not complete" "$work/out"
done

$OSHCC --race -O1 -o "$work/heat" "$top_srcdir/examples/heat_survive.c" >"$work/out" 2>&1 &&
    timeout 100 $OSHRUN --survive -n 4 "$work/heat" 60 1 33 >"$work/out" 2>&1
[ $? -eq 0 ] && ! grep -q '^fulmar race' "$work/out" && grep -q '^right with 3 of 4 PEs' "$work/out"
ok $? "heat_survive has no race" "$work/out"

$OSHCC --race -O1 -o "$work/replace" "$top_srcdir/test/fault/replace.c" >"$work/out" 2>&1 &&
    timeout 60 $OSHRUN --replace=1 -n 3 "$work/replace" 1 1 20000 2000 all >"$work/out" 2>&1
[ $? -ne 0 ] && [ "$(grep -c '^fulmar race: PE [12]: .*takes in no new processes' "$work/out")" -eq 1 ]
ok $? "a new process is refused" "$work/out"
plan

#!/usr/bin/env bash
# hosts.sh - a program by oshcc --race on two hosts ends at its start, after one line. The second fake host has process ids of its own, as a host has.
#
# Catches: PEs that hang or crash, or take the shadow of another job, where the memory of PE 0 cannot be opened.
. "${top_srcdir:=.}/test/tap.sh"
[ -f "$top_builddir/.libs/libfulmar_race.so" ] || skip_all "libfulmar_race needs on_exit of glibc"
command -v mpirun >/dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
need_hosts "$0"
dir=$FAKE_HOSTS # the host has a /tmp of its own

$OSHCC --race -O1 -o "$dir/litmus" "$top_srcdir/test/race/litmus.c" "$top_srcdir/test/race/litmus_more.c" \
    "$top_srcdir/test/race/litmus_again.c" >"$dir/out" 2>&1
ok $? "litmus.c, by oshcc --race" "$dir/out"

cat >"$dir/start" <<END
case \$(hostname) in
h2) exec unshare --pid --fork --kill-child --mount-proc "$dir/litmus" o4 racy ;;
*) exec "$dir/litmus" o4 racy ;;
esac
END
FULMAR_TEST_TIMEOUT=60 timeout -k 5 100 "$hosts" in h1 $OSHRUN --engine mpirun -H h1:1,h2:1 sh "$dir/start" >"$dir/out" 2>&1 </dev/null
[ $? -ne 0 ] && [ "$(grep -c '^fulmar race: PE 1: cannot open the memory of PE 0, or it is on another host' "$dir/out")" -eq 1 ] &&
    [ "$(grep -c '^fulmar race' "$dir/out")" -eq 1 ]
ok $? "two hosts are refused" "$dir/out"
plan

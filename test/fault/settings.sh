#!/usr/bin/env bash
# settings.sh - a setting that only some PEs have, of each kind that must be equal: one line that names it and the PE, and an end; settings
# that may differ do. Catches: a collective call that only some PEs make, a hang, a table of some of the PEs.
. "${top_srcdir:=.}/test/tap.sh"
why=$(command -v mpirun >/dev/null || echo "Open MPI (openmpi-bin) is not installed")
if [ -z "$FAKE_HOSTS$why" ]; then
    why=$("$hosts" can) && exec "$hosts" run "$0"
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
program=$top_builddir/test/conf/sync.pes
export SHMEM_SYMMETRIC_SIZE=64M SHMEM_DEVICE_SYMMETRIC_SIZE=8M

# refused NAME COMMAND...: the job ends with a line that names the variable.
refused() {
    name=$1
    shift
    timeout -k 5 60 "$@" >"$work/out" 2>&1
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ $status -ne 137 ] && grep -q "^fulmar: PE 0: .*PE 1.* $name\\>" "$work/out"
}

for value in TRANSPORT=ofi CHECK=1 STATS=1 STATS=all "STATS=$work/s" "TRACE=$work/t" SYMMETRIC_SIZE=32M DEVICE_SYMMETRIC_SIZE=4M REPRODUCIBLE=1; do
    refused "SHMEM_${value%%=*}" $OSHRUN -n 1 "$program" : -n 1 -x "SHMEM_$value" "$program"
    ok $? "SHMEM_$value on PE 1 only" "$work/out"
done
for value in WAIT=passive TEST_SPIN=0 PREFAULT=1 GPC_THREAD=0 DEBUG=1 TEST_TAG_EAGER_BYTES=100 START_TIMEOUT=0 STATS=0 CHECK=no; do
    timeout -k 5 60 $OSHRUN -n 1 "$program" : -n 1 -x "SHMEM_$value" "$program" >"$work/out" 2>&1
    ok $? "SHMEM_$value on PE 1 only: it may differ" "$work/out"
done

if [ -n "$FAKE_HOSTS" ]; then
    for value in TRANSPORT=ofi CHECK=1 STATS=1 "TRACE=$work/t" SYMMETRIC_SIZE=32M; do
        # a launcher that does not send the variable to the second host
        refused "SHMEM_${value%%=*}" "$hosts" in h1 $OSHRUN --engine mpirun -n 2 -H h1:1,h2:1 sh -c \
            "[ \"\$PMIX_RANK\" = 0 ] || export SHMEM_$value; exec $program"
        ok $? "SHMEM_$value on another host only" "$work/out"
    done
else
    skip "settings on another host only" "$why"
fi
plan

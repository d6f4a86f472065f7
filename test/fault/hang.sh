#!/bin/sh
# hang.sh - a job that hangs reports its waits on SIGUSR1, and when --timeout ends it. Catches: a wait that is not
# reported, one reported with the wrong word, value or PE, or one reported after it ended.
. "${top_srcdir:=.}/test/tap.sh"
hang=$top_builddir/test/fault/hang
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

# Start a job that hangs in MODE, and send SIGUSR1 until every PATTERN has appeared; WRONG must not appear.
reports() { # PEs MODE WRONG PATTERN...
    pes=$1 mode=$2 wrong=$3
    shift 3
    : >"$dir/out" # the background shell opens it later; an earlier job's lines must not be read as this one's
    $OSHRUN -n "$pes" "$hang" "$mode" >"$dir/out" 2>&1 &
    pid=$!
    bad=1
    if until_grep '^ready' "$dir/out"; then
        bad=0
        for pattern; do
            until_grep "^fulmar: $pattern" "$dir/out" $pid || bad=1
        done
        ! grep -E "^fulmar: $wrong" "$dir/out" || bad=1
    fi
    kill -TERM $pid
    wait $pid
    [ $? -eq 143 ] || bad=1
    ok $bad "$mode, $pes PEs" "$dir/out"
}

reports 2 signal 'PE 0: waits in shmem_s' \
    'PE 1: waits in shmem_signal_wait_until for [0-9.]+ s: 0x[0-9a-f]+ \(static data \+ 0x[0-9a-f]+\) is 41, wanted >= 42$' \
    'PE 0: waits in no routine of the library$'
reports 1 until x 'PE 0: waits in shmem_long_wait_until for .* is -5, wanted > -1$'
reports 1 any x 'PE 0: waits in shmem_long_wait_until_any for .* one of 3 words from 0x.* the first is 0, wanted != 0$'
reports 1 all x 'PE 0: waits in shmem_long_wait_until_all for .* is -5, wanted == 0$'
# Both barriers: the counting one has more PEs than cores.
reports 2 barrier x 'PE 0: waits in shmem_barrier_all for .* not arrived: PE 1 \(of 2 in the world\)$'
# Small heaps: test/arm64 limits the address space.
SHMEM_SYMMETRIC_SIZE=16M reports 70 barrier 'PE 69: waits in shmem' \
    'PE 0: waits in shmem_barrier_all for .* not arrived: PE 69 \(of 70 in the world\)$' \
    'PE 68: waits in shmem_barrier_all for .* not arrived: PE 69 \('
reports 3 collect x 'PE 1: waits in shmem_long_fcollect for .* nothing received from: PE 0 \(of 3' 'PE 2: .* from: PE 0 \(of 3'
reports 2 lock x 'PE 1: waits in shmem_set_lock for .* lock 0x.*, PE 0 is ahead in its queue$'
reports 3 malloc x 'PE 0: waits in shmem_malloc for .* not arrived: PE 1 \(' 'PE 2: .* not arrived: PE 1 \('
reports 1 threads x 'PE 0: waits in shmem_signal_wait_until for .* is 41, wanted == 1$' \
    'PE 0: waits in shmem_long_wait_until for .* is 0, wanted == 70$'

# --timeout: one line from oshrun, one from each PE, status 124. On a busy machine the PEs may need more time to hang.
for seconds in 1 5 25; do
    $OSHRUN --timeout $seconds -n 2 "$hang" barrier >"$dir/out" 2>&1
    status=$?
    [ $status -ne 124 ] || ! grep -q 'PE 0: waits in shmem_barrier_all' "$dir/out" || break
done
[ $status -eq 124 ] && [ "$(grep -c '^oshrun: ' "$dir/out")" -eq 1 ] &&
    grep -q '^fulmar: PE 0: waits in shmem_barrier_all for .* not arrived: PE 1 (of 2 in the world)$' "$dir/out" &&
    grep -q '^fulmar: PE 1: waits in no routine' "$dir/out"
ok $? "--timeout makes every PE report its wait, and ends with 124" "$dir/out"
plan

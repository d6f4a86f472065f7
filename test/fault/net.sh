#!/bin/sh
# net.sh - the network of one host, made to misbehave as providers may: completions late and out of order, no room at
# every third call, a queue that is nearly full, no order between writes and messages, a failed transfer.
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export SHMEM_TRANSPORT=ofi

run() { # faults, PEs, program...
    SHMEM_NET_FAULT=$1
    export SHMEM_NET_FAULT
    n=$2
    shift 2
    timeout -k 5 400 $OSHRUN -n "$n" "$@" > "$work/log" 2>&1
}

# Catches: a callback out of turn, a request used again while it is under way, a refused call counted as done, a record
# or a write that overtakes a fence, a signal ahead of its data.
for fault in delay=2 reorder=7,delay=3 again=3 window=4 unordered=3 reorder=2,delay=2,again=5,unordered=2; do
    for program in conf/rma conf/signal conf/amo multi/flood; do
        run $fault 2 "$top_builddir/test/$program.pes"
        ok $? "$program with $fault" "$work/log"
    done
done

# Catches: a failed transfer that nobody is told of, or a job that goes on without it.
run error=20 2 "$top_builddir/test/conf/rma.pes"
status=$?
[ $status != 0 ] && [ $status != 124 ] && grep -q 'PE [01].*network' "$work/log"
ok $? "a failed transfer ends the job with a line" "$work/log"

# Catches: a put or get that waits for ever, or is dropped, when its transfer cannot be started.
for what in put put_nbi get; do
    run rma=1 2 "$top_builddir/test/fault/silent" $what
    status=$?
    [ $status != 0 ] && [ $status != 124 ] && [ "$(grep -c 'PE 0: network: a transfer with PE 1 failed: ' "$work/log")" = 1 ]
    ok $? "$what whose transfer cannot be started ends the job with a line" "$work/log"
done

# Catches: a message of a PE that cannot be received, and is waited for without end.
SHMEM_HEARTBEAT=2 run receive=20 2 "$top_builddir/test/conf/rma.pes"
status=$?
[ $status != 0 ] && [ $status != 124 ] && grep -q 'PE [01]: network: a message could not be received: ' "$work/log" &&
    grep -q 'PE [01]: network: a message of PE [01] is lost .*Input/output error' "$work/log"
ok $? "a PE's message that cannot be received ends the job with a line" "$work/log"

# Catches: a thread that spins because the provider's wait fails.
SHMEM_DEBUG=1 run rest=1 3 "$top_builddir/test/multi/progress.pes"
status=$?
[ $status = 0 ] && [ "$(grep -c 'wait for messages fails' "$work/log")" = 3 ]
ok $? "the progress thread naps where the provider's wait fails" "$work/log"

# Catches: a context without an endpoint, and a line for each.
SHMEM_DEBUG=1 run lanes=2 2 "$top_builddir/test/fault/silent" contexts
status=$?
[ $status = 0 ] && [ "$(grep -c 'cannot open more than 2 endpoints' "$work/log")" = 2 ]
ok $? "contexts share endpoints where no more can be opened" "$work/log"

# Catches: puts, gets and quiet that hang while their target computes.
run '' 3 "$top_builddir/test/multi/progress.pes"
ok $? "a PE that only computes serves the network" "$work/log"

# Catches: a host that goes silent without its connections being closed, waited for for ever.
SHMEM_HEARTBEAT=2 run '' 2 "$top_builddir/test/fault/silent" stop
status=$?
[ $status != 0 ] && [ $status != 124 ] && grep -q 'PE 0: network: PE 1 .*has not answered for 2 s' "$work/log"
ok $? "a PE that goes silent ends the job with a line" "$work/log"

# Catches: a PE that takes nothing and so keeps others from getting what is theirs.
SHMEM_HEARTBEAT=60 run '' 3 "$top_builddir/test/fault/silent" slow
ok $? "a PE that has stopped holds up nobody else" "$work/log"

# Catches: sockets of the library that a program started by a PE inherits.
run '' 2 "$top_builddir/test/fault/silent" fds
ok $? "no descriptor of the network reaches exec'd children" "$work/log"

# Catches: a list of faults that is not understood and silently left out.
run late=3 2 "$top_builddir/test/conf/rma.pes"
[ $? != 0 ] && grep -q 'SHMEM_NET_FAULT=late=3: not accepted' "$work/log"
ok $? "an unknown fault is refused" "$work/log"

# Catches: a provider that is not there taken for another, and nobody told what was looked for.
SHMEM_OFI_PROVIDER=nosuch run '' 2 "$top_builddir/test/conf/rma.pes"
[ $? != 0 ] && grep -q 'SHMEM_OFI_PROVIDER=nosuch' "$work/log"
ok $? "a provider that is not there is named" "$work/log"

# Catches: order that one provider gives and another does not; files that a provider leaves where nobody closes.
touch "$work/begin"
for provider in 'tcp;ofi_rxm' shm; do
    SHMEM_OFI_PROVIDER=$provider run '' 2 "$top_builddir/test/conf/rma.pes"
    ok $? "conf/rma over $provider" "$work/log"
    SHMEM_OFI_PROVIDER=$provider run '' 2 "$top_builddir/test/conf/signal.pes"
    ok $? "conf/signal over $provider" "$work/log"
done
find /dev/shm -maxdepth 1 -name '*:*:*' -newer "$work/begin" >"$work/log"
[ ! -s "$work/log" ]
ok $? "no file of a provider stays" "$work/log"
plan

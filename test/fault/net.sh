#!/bin/sh
# net.sh - the network of one host, with faults that providers may have: completions late and out of order, -EAGAIN at
# every third call, a queue that is nearly full, no order between writes and messages, a failed transfer.
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export SHMEM_TRANSPORT=ofi

run() { # faults, PEs, program...
    SHMEM_TEST_NET_FAULT=$1
    export SHMEM_TEST_NET_FAULT
    n=$2
    shift 2
    timeout -k 5 400 $OSHRUN -n "$n" "$@" > "$work/log" 2>&1
}

# Catches: a callback out of order, a request reused while it is under way, a refused call counted as complete, a record
# or a write that overtakes a fence, a signal before its data.
for fault in delay=2 reorder=7,delay=3 again=3 window=4 unordered=3 reorder=2,delay=2,again=5,unordered=2 unordered=2,unreported=1; do
    for program in conf/rma conf/signal conf/amo multi/flood; do
        run $fault 2 "$top_builddir/test/$program.pes"
        ok $? "$program with $fault" "$work/log"
    done
done

# Catches: a failed transfer that is not reported, or a job that continues without it.
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

# Catches: a put or get that the network never ends, for which the job waits for ever, although its PE answers (within 5 s, even
# where it waits for a core).
for what in put put_nbi get; do
    SHMEM_HEARTBEAT=5 run lost=1 2 "$top_builddir/test/fault/silent" $what
    status=$?
    [ $status != 0 ] && [ $status != 124 ] &&
        grep -qE 'PE 0: network: a (read of [0-9]* bytes from|write of [0-9]* bytes to) PE 1 has not ended for 5 s' "$work/log"
    ok $? "$what that the network never ends ends the job with a line" "$work/log"
done

# Catches: an operation that the network always refuses for want of room, for which the job waits for ever, although its PE answers.
cat > "$work/pe0" <<'EOF'
#!/bin/sh
[ "$PMIX_RANK" = 0 ] || SHMEM_TEST_NET_FAULT=$(echo "$SHMEM_TEST_NET_FAULT" | sed 's/full[a-z_]*=[0-9]*,*//')
export SHMEM_TEST_NET_FAULT
exec "$@"
EOF
chmod +x "$work/pe0"
refused() { # kind of fault, what PE 0 is refused, program... PE 0 has 1.5 s before PE 1, which hears nothing, ends the job
    fault=$1 what=$2
    shift 2
    SHMEM_HEARTBEAT=6 run $fault 2 "$work/pe0" "$@"
    status=$?
    [ $status != 0 ] && [ $status != 124 ] && [ "$(grep -c '^fulmar:' "$work/log")" = 1 ] &&
        grep -qE "PE 0: network: libfabric has refused $what for want of room for 4.5 s" "$work/log"
    ok $? "$fault: $what, always refused, ends the job with a line" "$work/log"
}
for what in put put_nbi get; do
    refused full=1 '(a read|a write) of [0-9]+ bytes (from|to) PE 1' "$top_builddir/test/fault/silent" $what
done
refused full=50 '(a read|a write) of [0-9]+ bytes (from|to) PE 1' "$top_builddir/test/conf/rma.pes"
refused full=3,unordered=2 'a write of [0-9]+ bytes to PE 1' "$top_builddir/test/conf/signal.pes"
refused full_messages=50 'a message of [0-9]+ bytes to PE 1' "$top_builddir/test/multi/flood.pes"
refused full_messages=300 'a message of [0-9]+ bytes to PE 1' "$top_builddir/test/multi/tag.pes"
refused full_receives=150 'receives of [0-9]+ bytes' "$top_builddir/test/multi/flood.pes"

# Catches: an endless wait for a PE's message that cannot be received.
SHMEM_HEARTBEAT=2 run receive=20 2 "$top_builddir/test/conf/rma.pes"
status=$?
[ $status != 0 ] && [ $status != 124 ] && grep -q 'PE [01]: network: a message could not be received: ' "$work/log" &&
    grep -q 'PE [01]: network: a message of PE [01] is lost .*Input/output error' "$work/log"
ok $? "a PE's message that cannot be received ends the job with a line" "$work/log"

# Catches: a thread that spins because the provider's wait fails.
SHMEM_DEBUG=1 run rest=1 3 "$top_builddir/test/multi/progress.pes"
status=$?
[ $status = 0 ] && [ "$(grep -c 'wait for messages fails' "$work/log")" = 3 ]
ok $? "the progress thread sleeps if the provider's wait fails" "$work/log"

# Catches: a context that fails without its own endpoint, a line for each such context.
SHMEM_DEBUG=1 run lanes=2 2 "$top_builddir/test/fault/silent" contexts
status=$?
[ $status = 0 ] && [ "$(grep -c 'cannot open more than 2 endpoints' "$work/log")" = 2 ]
ok $? "contexts share endpoints if no more can be opened" "$work/log"

# Catches: puts, gets and quiet that hang while their target computes.
run '' 3 "$top_builddir/test/multi/progress.pes"
ok $? "a PE that only computes serves the network" "$work/log"

# Catches: an endless wait for a host that becomes silent while its connections stay open.
SHMEM_HEARTBEAT=2 run '' 2 "$top_builddir/test/fault/silent" stop
status=$?
[ $status != 0 ] && [ $status != 124 ] && grep -q 'PE 0: network: PE 1 .*has not answered for 2 s' "$work/log"
ok $? "a PE that becomes silent ends the job with a line" "$work/log"

# Catches: a PE that is declared dead because its messages wait behind its data, here for 8 s.
for what in many_puts many_gets; do
    LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=tcp FABRIC_RATE=20000000 SHMEM_HEARTBEAT=3 \
        run '' 2 "$top_builddir/test/fault/silent" $what
    ok $? "$what: a long transfer on a slow network is no silence" "$work/log"
done

# Catches: a PE that receives nothing and thereby blocks messages to other PEs.
SHMEM_HEARTBEAT=60 run '' 3 "$top_builddir/test/fault/silent" slow
ok $? "a stopped PE does not delay the others" "$work/log"

# Catches: sockets of the library that a program started by a PE inherits.
run '' 2 "$top_builddir/test/fault/silent" fds
ok $? "no descriptor of the network reaches exec'd children" "$work/log"

# Catches: libfabric's table of keys changed by a registration while a request of another PE is looked up in it.
run '' 3 "$top_builddir/test/multi/register.pes" 5000
ok $? "registrations beside reads of other PEs" "$work/log"

# Catches: an invalid list of faults that is silently ignored.
run late=3 2 "$top_builddir/test/conf/rma.pes"
[ $? != 0 ] && grep -q 'SHMEM_TEST_NET_FAULT=late=3: not accepted' "$work/log"
ok $? "an unknown fault is refused" "$work/log"

# Catches: a missing provider silently replaced by another one, or an error without its name.
SHMEM_OFI_PROVIDER=nosuch run '' 2 "$top_builddir/test/conf/rma.pes"
[ $? != 0 ] && grep -q 'SHMEM_OFI_PROVIDER=nosuch' "$work/log"
ok $? "a missing provider is named" "$work/log"

# Catches: code that relies on the order of one provider; files that a provider leaves after the job.
touch "$work/begin"
for provider in 'tcp;ofi_rxm' shm; do
    SHMEM_OFI_PROVIDER=$provider run '' 2 "$top_builddir/test/conf/rma.pes"
    ok $? "conf/rma over $provider" "$work/log"
    SHMEM_OFI_PROVIDER=$provider run '' 2 "$top_builddir/test/conf/signal.pes"
    ok $? "conf/signal over $provider" "$work/log"
done
find /dev/shm -maxdepth 1 -name '*:*:*' -newer "$work/begin" >"$work/log"
[ ! -s "$work/log" ]
ok $? "no file of a provider remains" "$work/log"
plan

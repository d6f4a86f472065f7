#!/bin/sh
# timeout.sh - the tests' own timeout (timeout.c): what it ends, what it does not end, and its exit status.
. "${top_srcdir:=.}/test/tap.sh"
timeout=$top_builddir/test/bin/timeout
work=$(mktemp -d) || exit 99
hogs=
trap 'kill $hogs 2>/dev/null; rm -rf "$work"' EXIT

# Run it under coreutils' timeout, which has to end what it does not end.
status_of() { # expected status, arguments
    expected=$1
    shift
    command -p timeout -k 1 100 "$timeout" "$@" >"$work/out" 2>&1
    status=$?
    [ $status -eq "$expected" ] || echo "status $status instead of $expected: timeout $*" >>"$work/wrong"
}

wrong() { # description: ok if there was no wrong status
    touch "$work/wrong"
    [ ! -s "$work/wrong" ]
    ok $? "$1" "$work/wrong"
    rm "$work/wrong"
}

# Catches: a failed test that passes because its status is lost.
touch "$work/no_program"
status_of 0 60 true
status_of 7 60 sh -c 'exit 7'
status_of 137 60 sh -c 'kill -KILL $$'
status_of 127 60 "$work/nothing"
status_of 126 60 "$work/no_program"
status_of 125 60
status_of 0 0 sleep 0.1 # no limit
wrong "the exit status is that of the program"

# Catches: a hanging test that is not ended, with its children.
status_of 124 0.3 sleep 1000
status_of 124 0.3 sh -c 'while :; do :; done'
status_of 124 0.3 sh -c 'sleep 1000 & echo $! >"$1"; wait' sh "$work/child"
for i in $(seq 100); do
    grep -q ') [^Z]' "/proc/$(cat "$work/child")/stat" 2>/dev/null || break
    sleep 0.1
done
[ "$i" -lt 100 ] || echo "a child of the program still runs" >>"$work/wrong"
status_of 137 -k 0.3 0.3 sh -c 'trap "" TERM; while :; do sleep 1; done'
wrong "programs that sleep, spin, have children or ignore SIGTERM are ended"

# Start it with a program that ends when there is a file; `go` creates the file and checks the status.
start() { # arguments
    rm -f "$work/go"
    "$timeout" "$@" &
    job=$!
}
go() {
    touch "$work/go"
    wait $job
    status=$?
    [ $status -eq 0 ] || echo "status $status" >>"$work/wrong"
}

# Catches: time that counts although the program waits for a processor.
if grep -q . /proc/self/schedstat; then
    for _ in $(seq $((4 * $(nproc)))); do # 4 for each processor, as all may be of the lowest priority
        sh -c 'while :; do :; done' &
        hogs="$hogs $!"
    done
    start 2 nice -n 19 sh -c 'until [ -e "$1" ]; do :; done' sh "$work/go"
    sleep 4
    # shellcheck disable=SC2086
    kill $hogs
    hogs=
    go
    wrong "time in which the program gets no processor does not count"
else
    skip "time in which the program gets no processor does not count" "this kernel has no /proc/PID/schedstat"
fi

# Catches: time that counts although the machine, and with it this process, was stopped.
start 3 sh -c 'until [ -e "$1" ]; do sleep 0.05; done' sh "$work/go"
sleep 0.2
kill -STOP $job
sleep 4
kill -CONT $job
go
wrong "time in which timeout itself is stopped does not count"
plan

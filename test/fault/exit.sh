#!/bin/sh
# exit.sh - however a PE ends, the job ends with the right status and leaves nothing behind. Catches: PEs left in a
# barrier, a lost status, output or exit handlers lost at exit, leftover files and processes.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/tmp" "$dir/bin"
cp "$top_builddir/test/fault/leave" "$dir/bin/leave" # a unique path identifies the processes
TMPDIR=$dir/tmp
export TMPDIR

# List leftover processes and files of the job.
left() {
    for p in /proc/[0-9]*; do
        [ "$(readlink "$p/exe" 2>/dev/null)" != "$dir/bin/leave" ] || echo "process $p"
    done
    find "$dir/tmp" -mindepth 1
    # those of nvcc, which other tests run, are no leftovers
    find /dev/shm /tmp -maxdepth 1 ! -name 'tmpxft_*' -newer "$dir/start" \( -name '*fulmar*' -o -name '*oshrun*' -o -name '*shmem*' \)
}

# ends PEs MODE STATUS [LINES]: the job ends with STATUS before the limit, leaves nothing, and LINES PEs have printed.
ends() {
    touch "$dir/start"
    timeout -k 5 20 $OSHRUN -n "$1" "$dir/bin/leave" "$2" >"$dir/out" 2>"$dir/err" </dev/null
    status=$?
    sleep 0.1 # children of a killed oshrun end a moment later
    left >"$dir/left"
    [ $status -eq "$3" ] && [ ! -s "$dir/left" ] && [ "$(grep -c 'was here' "$dir/out")" -ge "${4:-0}" ]
    r=$?
    [ $r -eq 0 ] || echo "status $status; lines of output: $(grep -c 'was here' "$dir/out"), wanted ${4:-0}" |
        cat - "$dir/left" >>"$dir/err"
    ok $r "$2 of one of $1 PEs: status $3" "$dir/err"
}

ends 3 all_exit_0 0 3
ends 3 all_return 0 3
ends 3 exit_0_others_finalize 0 3
ends 1 exit_3 3 1
ends 3 exit_3 3 1
ends 3 exit_3_wait 3
ends 3 exit_3_compute 3
ends 3 quick_exit_4 4
ends 3 abort 134
ends 3 segv 139
ends 3 kill 137
ends 3 kill_compute 137
ends 3 kill_gpc 137
ends 1 global_exit_7 7 1
ends 3 global_exit_7 7 1
ends 3 global_exit_7_compute 7 1
ends 3 global_exit_7_all 7
ends 2 global_exit_0 0

# Exit handlers and destructors of the PE that ends the job: they run and print three lines, and the status stays the
# same whatever they do.
ends 1 handler_7 7 4
ends 3 handler_7 7 4
ends 3 handler_0 0 4
ends 3 handler_exit_3 3 4
ends 3 handler_finalizes_7 7 4
ends 3 handler_puts_7 7 4
for mode in crashes_7 aborts_7 overflows_7 hangs_7 exits_again_7 misuses_7 waits_7; do
    ends 3 handler_$mode 7 1
done
ends 3 handler_crashes_0 0 1

# An error found by the library: the program's buffered output is flushed, unless another thread has stdout locked.
ends 3 misuse 1 1
ends 3 misuse_stdin_kept 1 1
ends 3 misuse_stdout_kept 1
ends 3 finalize_then_5 5 1
ends 3 finalize_then_quick_0 0 2
ends 3 finalize_one_of_two 0 3
ends 3 child_exits 0 3
ends 3 child_quick_exits 0 3
ends 3 no_init_9 9
if may_trace; then # 7 s
    ends 3 late_server 0 3
else
    skip "late_server of one of 3 PEs: status 0" "$no_trace"
fi

# A PE ends with _exit(0) while the others wait for it: the job must fail, with any status.
timeout -k 5 20 $OSHRUN -n 3 "$dir/bin/leave" quick_exit_0 >"$dir/out" 2>&1 </dev/null
status=$?
[ $status -ne 0 ] && [ $status -ne 124 ]
ok $? "quick_exit_0 of one of 3 PEs: neither success nor a hang (status $status)" "$dir/out"

# The launcher is killed: its PEs must end.
touch "$dir/start"
$OSHRUN -n 3 "$dir/bin/leave" killed_asleep >"$dir/out" 2>&1 </dev/null &
pid=$!
for i in $(seq 100); do
    [ "$(left | grep -c process)" -lt 3 ] || break
    sleep 0.2
done
kill -9 $pid
wait $pid 2>/dev/null
for i in $(seq 40); do # the PEs sleep for 30 s
    [ "$(left | grep -c process)" -gt 0 ] || break
    sleep 0.2
done
left | grep process >"$dir/left"
[ ! -s "$dir/left" ]
ok $? "oshrun killed: all PEs end" "$dir/left"
plan

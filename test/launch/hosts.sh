# hosts.sh - jobs on two fake hosts with one engine; sourced by hosts_mpirun.t.sh and hosts_slurm.t.sh, which set
# `engine` and the command `direct` (the engine without oshrun, for 2 + 2 PEs).
boot=$top_builddir/test/launch/boot
client=$top_builddir/test/launch/client
leave=$top_builddir/test/fault/leave
soak=$top_builddir/test/multi/soak

in_h1() {
    "$hosts" in h1 "$@"
}

# Run oshrun on h1 with two slots on each host; sets $status, writes $work/out and $work/err. A job that does not end: 124 or 137.
run() {
    in_h1 timeout -k 10 40 "$OSHRUN" --engine $engine -H h1:2,h2:2 "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

# Check the status and the maximum number of lines on stderr. Not counted, because only busy machines have them: PRRTE 3 and Open MPI 4 warn when ssh
# calls exec before they call setpgid for it, which has no effect; srun says that a job waits for a host that has been silent.
ended() { # status, lines of stderr
    [ $status -eq "$1" ] && [ "$(grep -cv 'plm:[rs]sh: Warning: setpgid\|^srun: Required node not available' "$work/err")" -le "$2" ]
}

result() { # status, description: ok, with all output if it fails
    { cat "$work/out" "$work/err"; echo "status $status"; } >"$work/seen"
    ok "$1" "$2" "$work/seen"
}

sorted() {
    sort "$work/out" | tr '\n' '|'
}

pes_of() { # host: print its PEs that run sleep
    "$hosts" pids "$1" | sed 's|.*|/proc/&/comm|' | xargs -r grep -lsx "sleep\|leave" | cut -d/ -f3
}

until_pes() { # on h1, on h2: wait until there are this many PEs
    local i
    for i in $(seq 150); do
        [ "$(pes_of h1 | wc -l) $(pes_of h2 | wc -l)" = "$1 $2" ] && return 0
        sleep 0.1
    done
    return 1
}

two_and_two="PE 0 of 4 on h1, node 0 1, 0 wrong|PE 1 of 4 on h1, node 0 1, 0 wrong|\
PE 2 of 4 on h2, node 2 3, 0 wrong|PE 3 of 4 on h2, node 2 3, 0 wrong|"

# Catches: ranks alternating between hosts, peers of another host taken for local ones, lost peer records.
test_places() {
    run "$boot"
    ended 0 0 && [ "$(sorted)" = "$two_and_two" ]
    result $? "2 + 2 PEs: ranks fill the hosts in order, and boot reports every PE's host"

    status=0
    direct "$boot" >"$work/out" 2>"$work/err" </dev/null && [ "$(sorted)" = "$two_and_two" ]
    result $? "2 + 2 PEs: the same without oshrun"

    printf '# two hosts\nh2 slots=1\n\nh1:1 # the second\n' >"$work/file"
    in_h1 "$OSHRUN" --engine $engine --hostfile "$work/file" -l hostname >"$work/out" 2>"$work/err" </dev/null
    [ "$(sorted)" = "[0] h2|[1] h1|" ]
    result $? "--hostfile: both styles of slots, in the file's order"

    printf 'h1\nh1\nh2\nh2\n' >"$work/nodes"
    in_h1 env PBS_JOBID=1 PBS_NODEFILE="$work/nodes" timeout -k 10 40 "$OSHRUN" --engine $engine "$boot" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    ended 0 0 && [ "$(sorted)" = "$two_and_two" ]
    result $? "PBS_NODEFILE: the same without -H"

    run -l -n 5 hostname
    [ "$(sorted)" = "[0] h1|[1] h1|[2] h1|[3] h2|[4] h2|" ]
    result $? "more PEs than slots: a second round over the hosts"

    run -l -n 2 hostname && [ "$(sorted)" = "[0] h1|[1] h1|" ]
    result $? "fewer PEs than slots: the first slots"

    run -l --map-by node hostname && [ "$(sorted)" = "[0] h1|[1] h2|[2] h1|[3] h2|" ]
    result $? "--map-by node: ranks alternate between hosts"

    run -l -N 1 hostname && [ "$(sorted)" = "[0] h1|[1] h2|" ]
    result $? "-N 1: one PE on each host"

    run --bind-to core --report-bindings --output-filename "$work/files" grep Cpus_allowed_list /proc/self/status &&
        [ "$(cut -f2 "$work/out" | sort | uniq -c | sort -n | head -1 | awk '{ print $1 }')" -ge 2 ] &&
        [ "$(grep -c "^PE [0-3] on h[12], bound to CPUs" "$work/err")" -eq 4 ] &&
        [ "$(sort "$work"/files/pe.?.out)" = "$(sort "$work/out")" ]
    result $? "--bind-to core: PEs of a host have cores of their own; --report-bindings and --output-filename work on both"
}

# Catches: a PE bound to one core that shares its session with other PEs. Linux 6.18 lets such a session starve others for seconds
# (src/DECISIONS.md). A PE that is not bound to one core has only a process group of its own.
test_sessions() {
    # shellcheck disable=SC2016
    local is_own='set -- $$ $(cut -d" " -f5,6 /proc/$$/stat); echo $(($1 == $2)) $(($1 == $3))'
    run --bind-to hwthread sh -c "$is_own"
    [ "$(sorted)" = "1 1|1 1|1 1|1 1|" ]
    result $? "PEs that are bound to one core have sessions of their own"
    if [ "$(nproc)" -eq 1 ]; then
        skip "PEs that are not bound to one core share a session" "needs two cores"
        return
    fi
    run --bind-to none sh -c "$is_own"
    [ "$(sorted)" = "1 0|1 0|1 0|1 0|" ]
    result $? "PEs that are not bound to one core share a session"
}

# Catches: jobs whose PEs find one another, and then cannot communicate or end, also without oshrun.
test_programs() {
    run "$soak" seconds=1
    ended 0 0
    result $? "2 + 2 PEs: random operations of all kinds"

    direct "$soak" seconds=1 >"$work/out" 2>"$work/err" </dev/null
    status=$?
    ended 0 0
    result $? "2 + 2 PEs: the same without oshrun"

    direct "$leave" global_exit_7 >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ $status -eq 7 ]
    result $? "without oshrun: shmem_global_exit(7) sets the status of $engine"

    direct "$client" status 4 >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ $status -eq 4 ]
    result $? "without oshrun: the status of the PE that failed"

    # All PEs have started: on a busy machine PRRTE 5.0.0rc1 does not always end a job of which a PE is killed earlier.
    direct "$leave" kill >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ]
    result $? "without oshrun: a killed PE ends the job"
}

# Catches: a look-up after the fence that needs the peer host's daemons: they are stopped meanwhile, so it would hang.
test_lookup() { # name of the engine's daemons
    local folder=$work/lookup i p
    mkdir "$folder"
    in_h1 timeout 40 "$OSHRUN" --engine $engine -H h1:1,h2:1 "$boot" "$folder" >"$work/out" 2>"$work/err" </dev/null &
    for i in $(seq 100); do
        [ ! -e "$folder/fenced.0" ] || [ ! -e "$folder/fenced.1" ] || break
        sleep 0.1
    done
    stopped=$("$hosts" pids h2 | sed 's|.*|/proc/&/comm|' | xargs grep -ls "^$1" | cut -d/ -f3)
    # shellcheck disable=SC2086
    kill -STOP $stopped
    touch "$folder/go"
    for i in $(seq 50); do
        [ ! -e "$folder/found.0" ] || break
        sleep 0.1
    done
    [ -n "$stopped" ] && [ -e "$folder/found.0" ]
    i=$?
    # shellcheck disable=SC2086
    kill -CONT $stopped
    wait $!
    status=$?
    [ $i$status = 00 ] && [ "$(grep -c '0 wrong' "$work/out")" = 2 ]
    result $? "values published before a fence are found while the other host's daemons are stopped"
}

# Catches: options or words that an engine interprets itself, or that apply on the first host only.
test_options() {
    run -l sh -c 'printf a; sleep 0.2; printf b; echo; echo err >&2'
    [ "$(sorted)" = "[0] ab|[1] ab|[2] ab|[3] ab|" ] && [ "$(sort "$work/err" | tr '\n' '|')" = "[0] err|[1] err|[2] err|[3] err|" ]
    result $? "-l labels whole lines, separately for output and errors"

    SHMEM_TEST_SPIN=77 run -l -n 1 -x "A=1 2:" --wdir /usr sh -c 'pwd; echo "$A $SHMEM_TEST_SPIN"' a b : -n 2 sh -c 'echo "$PMIX_RANK $0 $1 $A"' -n '=:'
    [ "$(sorted)" = "[0] /usr|[0] 1 2: 77|[1] 1 -n =: |[2] 2 -n =: |" ]
    result $? "several programs, -x, --wdir, SHMEM_ variables, and words that engines know"

    SHMEM_TEST_SPIN=77 FI_UNUSED=x run -l sh -c 'echo $SHMEM_TEST_SPIN $FI_UNUSED'
    [ "$(sorted)" = "[0] 77 x|[1] 77 x|[2] 77 x|[3] 77 x|" ]
    result $? "SHMEM_ and FI_ variables reach the PEs of every host"

    seq 3 | in_h1 timeout 40 "$OSHRUN" --engine $engine -H h1:1,h2:1 -l cat >"$work/out" 2>"$work/err"
    [ "$(sorted)" = "[0] 1|[0] 2|[0] 3|" ]
    result $? "standard input and its end go to PE 0 only"

    run --bind-to none -n 2 true && ended 0 1 # a Slurm without binding prints a line
    result $? "--bind-to none is understood"

    run -n 4 sh -c 'ls /proc/self/fd; for f in 0 1 2; do readlink /proc/$$/fd/$f; done'
    ended 0 0 && [ "$(sort -u "$work/out" | sed 's/pipe:.*/pipe/' | sort -u | tr '\n' ' ')" = "/dev/null 0 1 2 3 pipe " ]
    result $? "no descriptor of a launcher reaches a PE"
}

# Catches: the status of a PE that was ended because of the first failure, an engine's own messages and codes, jobs that
# continue.
test_ends() {
    local began=$SECONDS took
    run "$client" status 4
    took=$((SECONDS - began))
    ended 4 1 && grep -q '^oshrun: PE 1 .* on h1, .* exited with status 4; ending the others$' "$work/err"
    result $? "the status is that of the first PE that failed, with one line"

    run sh -c '[ $PMIX_RANK = 2 ] && exit 7; trap "" TERM; sleep 75'
    ended 7 1 && grep -q '^oshrun: PE 2 .* on h2, ' "$work/err"
    result $? "the same when the other PEs ignore SIGTERM"

    run "$client" signal 9
    ended 137 1 && grep -q 'PE 1 .* was killed by SIGKILL' "$work/err"
    result $? "a killed PE: 137 and one line"

    run "$client" abort_joined 7
    ended 7 1 && grep -q 'status 7' "$work/err"
    result $? "PMIx abort with 7: 7 and one line"

    run "$client" leave
    # mpirun does not always print the reason
    [ $status -ne 0 ] && ended $status 1 && grep -q "^oshrun: $engine ended the job with status $status" "$work/err"
    result $? "a PE that leaves without finalize: a failure, with one line"

    run "$leave" global_exit_7
    ended 7 1 && grep -q 'status 7' "$work/err" # Slurm may end the PE's launcher before it has named the PE
    result $? "shmem_global_exit(7): 7 and one line"

    run ./nothing_here
    ended 127 1 && grep -q 'nothing_here: No such file' "$work/err"
    result $? "a program that does not exist: 127 and one line"

    # An engine that is ended before it has started may leave its files: Open MPI 6.0.0rc2 did so on a busy machine after 3 s.
    run --timeout $((3 + 3 * took)) sleep 75
    ended 124 1 && grep -q 'longer than --timeout' "$work/err" && until_pes 0 0
    result $? "--timeout: 124 and no PE left"
}

# Tests in the background: an event from outside while PEs sleep. Sets the job's status after `what` was done to it.
pes="sleep 75" up=true # the PEs' command, and a command that waits until they run
disturb() { # the command `what` and its arguments
    # env: a shell starts background jobs with SIGINT ignored
    # shellcheck disable=SC2086
    in_h1 env --default-signal=INT timeout -k 10 60 "$OSHRUN" --engine $engine -H h1:2,h2:2 $pes >"$work/out" 2>"$work/err" </dev/null &
    job=$!
    if ! until_pes 2 2 || ! $up; then
        echo "the PEs did not start" >>"$work/err"
        kill $job
        wait $job
        status=255
        return
    fi
    "$@"
    wait $job 2>>"$work/out"
    status=$?
}

kill_pe_of_h2() {
    kill -9 "$(pes_of h2 | head -1)"
}

oshrun_of_job() { # the one with an engine: the only one whose arguments have no '='
    "$hosts" pids h1 | sed 's|.*|/proc/&/cmdline|' | xargs grep -lszx -e --engine | cut -d/ -f3 | while read -r p; do
        if [ "$(cat "/proc/$p/comm")" = oshrun ]; then echo "$p"; fi
    done | head -1
}

kill_oshrun() {
    kill -9 "$(oshrun_of_job)"
}

interrupt_oshrun() {
    kill -INT "$(oshrun_of_job)"
}

test_disturbed() {
    disturb kill_pe_of_h2
    ended 137 1 && grep -q '^oshrun: PE [23] (pid [0-9]* on h2, sleep) was killed by SIGKILL' "$work/err" && until_pes 0 0
    result $? "a PE killed from outside: 137, one line, no PE left"

    disturb interrupt_oshrun
    ended 130 0 && until_pes 0 0
    result $? "SIGINT to oshrun: 130, no message, no PE left"

    disturb kill_oshrun
    [ $status -eq 137 ] && until_pes 0 0
    result $? "oshrun killed: no PE left"
}

# Catches: a job that hangs when a host dies at once with its daemons, so that it cannot report its end.
test_host_killed() {
    disturb "$hosts" kill h2
    [ $status -ne 0 ] && ended $status 1 && grep -q 'a host was lost' "$work/err" && until_pes 0 0
    result $? "a host killed: one line, no PE left"
}

until_here() {
    local i
    for i in $(seq 300); do
        [ "$(grep -c 'was here' "$work/out")" -lt 4 ] || return 0
        sleep 0.1
    done
    return 1
}

# The same when only the library's heartbeat detects it: the engine's own time-out is much longer.
test_host_killed_heartbeat() {
    pes="-x SHMEM_HEARTBEAT=8 $leave killed_asleep" up=until_here
    disturb "$hosts" kill h2
    pes="sleep 75" up=true
    [ $status -eq 1 ] && ended 1 2 && grep -q 'PE [23] has not answered' "$work/err" && until_pes 0 0
    result $? "a host killed: the heartbeat of the remaining PEs ends the job, no PE left"
}

# Both hosts run but cannot reach each other: the PEs of each host detect it, also on the host that the engine has lost.
test_link_cut() {
    pes="-x SHMEM_HEARTBEAT=3 $leave killed_asleep" up=until_here
    disturb "$hosts" in h2 ip link set eth0 down
    pes="sleep 75" up=true
    [ $status -eq 1 ] && ended 1 2 && grep -q 'PE [23] has not answered for 3 s' "$work/err" && until_pes 0 0
    result $? "a link cut: the heartbeat ends the job on both hosts"
    "$hosts" in h2 ip link set eth0 up
}

# Catches: files and processes that remain on the hosts.
test_left() { # names of daemons that may remain
    local i
    for i in $(seq 50); do
        for h in h1 h2; do
            "$hosts" in $h find /tmp /dev/shm -mindepth 1 -maxdepth 1 -newer "$work/begin" ! -name "${work##*/}" |
                sed "s/^/$h: /"
            "$hosts" pids $h | sed 's|.*|/proc/&/comm|' | xargs -r grep -Hs . | sed "s/^/$h: /"
        done >"$work/left"
        grep -Ev ":(${1:-nothing})\$" "$work/left" >"$work/err"
        [ -s "$work/err" ] || break
        sleep 0.2
    done
    [ ! -s "$work/err" ]
    result $? "no process and no file in /tmp and /dev/shm remains"
}

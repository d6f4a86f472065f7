#!/usr/bin/env bash
# oshrun.t.sh - the launcher: options, output, input, exit statuses, ends of jobs, leftover processes and files. The
# comment above each test names the mistake that it catches.
#
# OSHRUN and CLIENT (test/launch/client.c) name the programs under test. Time limits are generous: only a hang fails.
top=${top_builddir:-.}
oshrun=${OSHRUN:-$top/src/tools/oshrun}
client=${CLIENT:-$top/test/launch/client}
work=$(mktemp -d) || exit 99
mark=74.$$ # an argument of sleep that identifies this test's processes
trap 'rm -rf "$work"' EXIT
tests=0
case $oshrun in */*) oshrun=$(cd "$(dirname "$oshrun")" && pwd)/${oshrun##*/} ;; esac
case $client in */*) client=$(cd "$(dirname "$client")" && pwd)/${client##*/} ;; esac

ok() { # $?, name
    tests=$((tests + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests - $2"
    else
        echo "not ok $tests - $2"
        sed 's/^/# out: /' "$work/out" | tail -5
        sed 's/^/# err: /' "$work/err" | tail -5
        echo "# status $status after $took s"
    fi
}

skip() { # name, reason
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

# Run oshrun; write $work/out and $work/err, set $status and $took.
run() {
    local begin=$SECONDS
    timeout -k 5 30 "$oshrun" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    took=$((SECONDS - begin))
}

# Check the status, the maximum number of lines on stderr, and at most 25 s: a hang ends after 30 s.
ended() { # status, lines of stderr
    [ "$status" -eq "$1" ] && [ "$(wc -l <"$work/err")" -eq "$2" ] && [ "$took" -lt 25 ]
}

ours() { # print the processes with the mark
    local p
    for p in /proc/[0-9]*; do
        if tr '\0' ' ' 2>/dev/null <"$p/cmdline" | grep -q "^sleep $mark"; then echo "${p#/proc/}"; fi
    done
}

# Wait until $1 processes have the mark; fail after 5 s.
until_ours() {
    local i
    for i in $(seq 100); do
        [ "$(ours | wc -l)" -eq "$1" ] && return 0
        sleep 0.05
    done
    return 1
}

files_of() { # pid of an oshrun: print files with this number or the library's name
    find /tmp /dev/shm -maxdepth 2 \( -name "*oshrun*$1*" -o -name "*pmix*$1*" -o -name "*.$1" \) 2>/dev/null
}

# An option that is ignored, or taken for the program.
run -n 3 sh -c 'echo $PMIX_RANK'
[ "$(sort "$work/out" | tr '\n' ' ')" = "0 1 2 " ] && ended 0 0
ok $? "-n sets the number of PEs, each has its rank"

# Forms of options that mpirun accepts, refused.
run --np 2 echo a && a=$(wc -l <"$work/out") && run -np=2 echo a && b=$(wc -l <"$work/out") && run --np=2 -- echo a &&
    [ "$a$b$(wc -l <"$work/out")" = 222 ]
ok $? "--np 2, -np=2, --np=2 and -- are understood"

# Without -n, 0 or 1 PEs instead of one per core.
run echo a
[ "$(wc -l <"$work/out")" -eq "$(nproc)" ]
ok $? "without -n there is one PE per core"

# PEs that oshrun does not wait for, so that their processor time is lost.
# shellcheck disable=SC2016
used=$( (TIMEFORMAT=%U; time run -n 2 bash -c 'for ((i = 0; i < 100000; i++)); do :; done; TIMEFORMAT=%U; times') 2>&1)
awk -v all="$used" 'NR == FNR && FNR % 2 == 1 { split($1, t, /[ms]/); pes += 60 * t[1] + t[2] }
    END { print "PEs " pes " s, all " all " s"; exit !(pes > 0 && all > 0.9 * pes) }' "$work/out" >"$work/err"
ok $? "the time of oshrun includes that of its PEs"

# A label inside a line, or missing on one of several lines from one read.
run -l -n 2 sh -c 'echo a; echo b'
[ "$(sort "$work/out" | tr '\n' ' ')" = "[0] a [0] b [1] a [1] b " ]
ok $? "-l labels every line"

# A label in the middle of a line longer than the line buffer.
run -l -n 1 sh -c 'head -c 200000 /dev/zero | tr "\0" x'
[ "$(wc -c <"$work/out")" -eq 200005 ] && [ "$(grep -o '\[' "$work/out" | wc -l)" -eq 1 ]
ok $? "a line of 200 kB without an end has one label and gets an end"

# Output of several PEs mixed in one line, because it is forwarded as it is read.
run -n 4 sh -c 'i=0; while [ $i -lt 300 ]; do printf "%s-%s" $PMIX_RANK $PMIX_RANK; printf "%s\n" -$PMIX_RANK; i=$((i+1)); done'
[ "$(sort "$work/out" | uniq -c | awk '{print $1 $2}' | tr '\n' ' ')" = "3000-0-0 3001-1-1 3002-2-2 3003-3-3 " ]
ok $? "lines written in two pieces by 4 PEs stay whole"

# A long line cut by another PE's output.
run -n 3 sh -c 'for i in 1 2 3 4 5; do head -c 60000 /dev/zero | tr "\0" $PMIX_RANK; echo; done'
[ "$(awk '{ print length($0), substr($0, 1, 1) }' "$work/out" | sort | uniq -c | awk '{print $1 "x" $2 ":" $3}' | tr '\n' ' ')" = \
    "5x60000:0 5x60000:1 5x60000:2 " ]
ok $? "lines of 60 kB of 3 PEs stay whole"

# Standard error that goes to standard output, or the reverse.
run -n 2 sh -c 'echo o; echo e >&2'
[ "$(tr '\n' ' ' <"$work/out")" = "o o " ] && [ "$(tr '\n' ' ' <"$work/err")" = "e e " ]
ok $? "output and errors stay separate"

# Output lost when a PE ends right after writing much of it.
run -n 2 seq 50000
[ "$(wc -l <"$work/out")" -eq 100000 ]
ok $? "nothing of 100,000 lines is lost"

# Output that oshrun drops after all PEs have ended, because its reader is slow.
[ "$("$oshrun" -n 2 seq 200000 2>"$work/err" | { sleep 1; wc -l; })" -eq 400000 ]
ok $? "nothing is lost to a slow reader"

# Input sent to all PEs, or to none.
printf 'one\ntwo\n' | timeout 30 "$oshrun" -l -n 2 cat >"$work/out" 2>"$work/err"
[ "$(tr '\n' ' ' <"$work/out")" = "[0] one [0] two " ]
ok $? "standard input and its end go to PE 0 only"

# A job that waits until its input is read, or an oshrun killed by SIGPIPE.
yes 2>"$work/err" | timeout -k 5 30 "$oshrun" -n 2 true >"$work/out" 2>>"$work/err"
[ "${PIPESTATUS[1]}" -eq 0 ]
ok $? "endless input that PE 0 does not read has no effect"

# Input that oshrun reads although no PE reads it (a shell loop would lose it).
printf 'one\ntwo\n' | { "$oshrun" -n 1 true; cat; } >"$work/out" 2>"$work/err"
[ "$(wc -l <"$work/out")" -eq 2 ]
ok $? "input that PE 0 does not read stays for the next command"

# A job that never ends after the reader of its output has exited.
begin=$SECONDS
timeout -k 5 30 "$oshrun" -n 2 yes 2>"$work/err" | head -1 >"$work/out"
status=${PIPESTATUS[0]} took=$((SECONDS - begin))
[ "$status" -eq 141 ] && [ "$took" -lt 25 ] && [ ! -s "$work/err" ]
ok $? "the job ends without a message when the reader of its output has exited"

# Output that cannot be written and is lost silently, while PEs run or after they have ended.
bad=
for job in "-n 2 yes" "-n 1 echo one" "--help" "--version"; do
    begin=$SECONDS
    # shellcheck disable=SC2086
    timeout -k 5 30 "$oshrun" $job >/dev/full 2>"$work/err"
    status=$? took=$((SECONDS - begin))
    ended 1 1 && grep -q '^oshrun: cannot write standard output: No space left on device' "$work/err" || bad="$bad [$job]"
done
[ -z "$bad" ]
ok $? "standard output on a full disk ends the job with one line$bad"

timeout -k 5 30 "$oshrun" -n 1 sh -c 'echo x >&2' 2>/dev/full
status=$?
[ $status -eq 1 ]
ok $? "standard error on a full disk is a failure, too"

# A lost exit status, or that of a PE that was ended because of the first failure.
run -n 3 sh -c '[ $PMIX_RANK = 1 ] && exit 7; sleep 60'
ended 7 1 && grep -q 'PE 1 .*pid [0-9]* on .*exited with status 7' "$work/err"
ok $? "a PE's status 7 ends the job with 7 and one line"

# A later failure of a lower rank reported instead of the first one.
run -n 2 sh -c '[ $PMIX_RANK = 1 ] && exit 5; sleep 1; exit 6'
[ "$status" -eq 5 ]
ok $? "the first failure in time sets the status"

run -n 3 sh -c '[ $PMIX_RANK = 2 ] && kill -9 $$; sleep 60'
ended 137 1 && grep -q 'PE 2 .*SIGKILL (Killed)' "$work/err"
ok $? "a killed PE ends the job with 137 and one line"

run -n 1 sh -c 'kill -SEGV $$'
ended 139 1 && grep -q 'SIGSEGV (Segmentation fault)' "$work/err"
ok $? "the line names the signal of a single PE, too"

# A missing program that is detected only after part of the job has started.
run -n 4 "$work/no such program"
ended 127 1 && grep -q 'no such program' "$work/err"
ok $? "a program that does not exist: 127, one line"

run -n 2 no-such-program-in-path
ended 127 1
ok $? "the same for a name that is searched in PATH"

echo data >"$work/data"
run -n 2 "$work/data"
ended 126 1
ok $? "a file that is not executable: 126, one line"

# Children of PEs, or PEs that ignore SIGTERM, that keep running.
run -n 2 sh -c "trap '' TERM; [ \$PMIX_RANK = 1 ] && { sleep 0.5; exit 3; }; sleep $mark & wait; wait"
ended 3 1 && until_ours 0
ok $? "PEs that ignore SIGTERM are ended with their children"

# A background child that keeps the pipe open, so that oshrun waits.
run -n 2 sh -c "sleep $mark & echo x"
ended 0 0 && [ "$(wc -l <"$work/out")" -eq 2 ] && until_ours 0
ok $? "leftover children of PEs end with the job"

# PEs and their children that survive when oshrun is killed.
"$oshrun" -n 2 sh -c "sleep $mark; true" >"$work/out" 2>"$work/err" &
pid=$!
until_ours 2 && { kill -9 $pid; wait $pid 2>/dev/null; until_ours 0; } && [ -z "$(files_of $pid)" ]
ok $? "SIGKILL of oshrun leaves no process and no file"

"$oshrun" -n 2 sleep "$mark" >"$work/out" 2>"$work/err" &
pid=$!
until_ours 2 && kill -9 "$(ours | tail -1)" && wait $pid
status=$?
[ $status -eq 137 ] && until_ours 0 && [ -z "$(files_of $pid)" ]
ok $? "SIGKILL of a PE leaves no process and no file"

# A signal that ends oshrun and not the PEs, or that the PEs do not get. set -m: background jobs accept SIGINT; env:
# they accept it even if the caller of the tests ignores it.
set -m
taking="env --default-signal=INT,TERM,HUP"
for sig in INT TERM HUP; do
    $taking "$oshrun" -n 2 bash -c "trap 'echo got; kill \$!; exit 0' $sig; sleep $mark & wait" >"$work/out" 2>"$work/err" &
    pid=$!
    until_ours 2 && kill -$sig $pid && wait $pid
    status=$?
    [ $status -eq $((128 + $(kill -l $sig))) ] && until_ours 0 && [ "$(grep -c got "$work/out")" -eq 2 ]
    ok $? "SIG$sig is forwarded and determines the status"
done

# A second Ctrl-C that waits for PEs that ignore the first.
$taking "$oshrun" -n 2 bash -c "trap '' INT; sleep $mark & wait; wait" >"$work/out" 2>"$work/err" &
pid=$!
until_ours 2 && kill -INT $pid && sleep 0.2 && kill -INT $pid && wait $pid
[ $? -eq 130 ] && until_ours 0
ok $? "a second SIGINT ends the job at once"

# A signal for the program that ends the job.
"$oshrun" -n 2 bash -c "trap 'echo usr1; kill \$!; exit 0' USR1; sleep $mark & wait" >"$work/out" 2>"$work/err" &
pid=$!
until_ours 2 && kill -USR1 $pid && wait $pid && [ "$(grep -c usr1 "$work/out")" -eq 2 ]
ok $? "SIGUSR1 is forwarded and does not end the job"
set +m

run --timeout 0.5 -n 2 sleep "$mark"
ended 124 1 && until_ours 0
ok $? "--timeout ends the job with 124 and one line"

run --timeout 20 -n 2 true
ended 0 0
ok $? "--timeout prints nothing when the job is faster"

# A program searched in the old directory, or in that of another program.
mkdir "$work/dir" && printf '#!/bin/sh\npwd\n' >"$work/dir/where" && chmod +x "$work/dir/where"
run -n 1 --wdir "$work/dir" ./where : -n 1 pwd
[ "$(sort "$work/out")" = "$(printf '%s\n' "$work/dir" "$PWD" | sort)" ]
ok $? "--wdir applies to its own program, before the search for the program"

run -n 2 --wdir "$work/nowhere" true
[ "$status" -ne 0 ] && grep -q nowhere "$work/err"
ok $? "the error names a directory that does not exist"

# A value truncated at a second '=', or a variable set for another program.
export FROM_HERE='a b'
run -n 1 -x FROM_HERE -x 'NEW=1=2' sh -c 'echo "$FROM_HERE,$NEW"' : -n 1 -x NEW=3 sh -c 'echo "$NEW"'
[ "$(sort "$work/out" | tr '\n' ' ')" = "3 a b,1=2 " ]
ok $? "-x sets variables, per program"

run -l -n 1 echo one : -n 2 echo two
[ "$(sort "$work/out" | tr '\n' ' ')" = "[0] one [1] two [2] two " ]
ok $? "several programs get consecutive ranks"

# A host list that is ignored, so that the job runs on this machine in any case.
run -H "localhost:2,127.0.0.1,$(hostname)" echo a
ended 0 0 && [ "$(wc -l <"$work/out")" -eq 4 ]
ok $? "-H accepts this machine's names, and their slots set the number of PEs"

printf '# hosts\nlocalhost slots=3 # three\n\n' >"$work/hosts"
run --hostfile "$work/hosts" echo a
ended 0 0 && [ "$(wc -l <"$work/out")" -eq 3 ]
ok $? "--hostfile is accepted, and its slots set the number of PEs"

# Programs accepted as engines that are none, such as another MPI's mpirun.
mkdir "$work/bin" && printf '#!/bin/sh\necho HYDRA build details\n' >"$work/bin/mpirun" && chmod +x "$work/bin/mpirun"
begin=$SECONDS
PATH=$work/bin "$oshrun" -n 2 -host localhost,elsewhere.example true >"$work/out" 2>"$work/err"
status=$? took=$((SECONDS - begin))
ended 2 1 && grep -q "elsewhere.example.*srun (not on PATH), prterun (not on PATH), mpirun (not Open MPI's)" "$work/err"
ok $? "without an engine for another host, one line names the host and the engines that were tried"

# An engine that gets another job than the requested one, or arguments that it interprets itself.
cat >"$work/bin/prterun" <<'END'
#!/bin/bash
while [ "$1" != --as-pe ]; do
    [ "$1" != --hostfile ] || { shift; set -- "" $(<"$1") "${@:2}"; }
    printf '%s ' "${1/#\/*\//}"
    shift
done
printf '\n'
printf '[%s]' "$@"
END
chmod +x "$work/bin/prterun"
(
    unset LD_LIBRARY_PATH
    PATH=$work/bin:$PATH "$oshrun" -H a:2,b --bind-to core -l -n 2 -x V='1 2' p : -n 2 --wdir /d q -n >"$work/out" 2>"$work/err"
)
status=$? took=0
root=
[ "$(id -u)" -ne 0 ] || root="--allow-run-as-root "
[ "$(cat "$work/out")" = "-n 4 $root a a a b --map-by seq --bind-to none oshrun 
[--as-pe][=-l][=--bind-to][=core][=-H][=a:3][=-H][=b:1][=-n][=2][=-x][=V=1 2][=--][=p][=:][=-n][=2][=--wdir][=/d][=--][=q][=-n]" ]
ok $? "--engine prterun: the job in prterun's arguments"

# PEs that fill the first host although they go to hosts in turn, and a PE bound to a core by its rank in the job.
(
    unset LD_LIBRARY_PATH
    PATH=$work/bin:$PATH "$oshrun" -H a:2,b:3,c:1 --map-by node -n 6 p >"$work/out" 2>"$work/err"
)
status=$? took=0
grep -q "a b c a b b --map-by seq" "$work/out"
ok $? "--map-by node: hosts in turn, as far as they have slots"

# A job of a batch system whose PEs all go to the first host, or whose slots are read as hosts, or hosts as slots.
own=$(uname -n)
printf '%s\n' a a b.cluster a b.cluster >"$work/pbs"
printf '%s\n' "a.cluster 2 all.q@a UNDEFINED" "b 1 all.q@b UNDEFINED" >"$work/sge"
printf '%s.cluster\n' "$own" "$own" "$own" >"$work/one"
printf '#!/bin/sh\necho "$*" | grep -q "getattr size" && echo 3\n' >"$work/bin/flux" && chmod +x "$work/bin/flux"
bad=
while IFS='|' read -r settings args want; do
    # shellcheck disable=SC2086
    (
        unset LD_LIBRARY_PATH
        env ${settings//;/ } LSB_HOSTS="c c d" PATH="$work/bin:$PATH" "$oshrun" $args p >"$work/out" 2>&1
    )
    grep -qF -- "$want" "$work/out" || bad="$bad [$settings $args: $(head -1 "$work/out")]"
done <<END
PBS_JOBID=1;PBS_NODEFILE=$work/pbs||-n 5 ${root} a a a b.cluster b.cluster --map-by seq
PBS_JOBID=1;PBS_NODEFILE=$work/pbs|-n 2|-n 2 ${root} a a --map-by seq
PBS_JOBID=1;PBS_NODEFILE=$work/pbs|-N 1|-n 2 ${root} a b.cluster --map-by seq
PBS_JOBID=1;PBS_NODEFILE=$work/pbs|-n 8|-n 8 ${root} a a a a a b.cluster b.cluster b.cluster --map-by seq
PBS_JOBID=1;PBS_NODEFILE=$work/pbs|-H e:2|-n 2 ${root} e e --map-by seq
PBS_JOBID=1;PBS_NODEFILE=$work/none|-n 2|cannot read the hosts of this PBS job: PBS_NODEFILE=$work/none: No such file or directory; -H gives them
PBS_JOBID=1;PBS_NODEFILE=$work/pbs;PMI_RANK=0|--dry-run -n 1|PE 0 on $own
PBS_JOBID=1;PBS_NODEFILE=$work/one|--dry-run|PE 2 on $own
LSB_JOBID=1||-n 3 ${root} c c d --map-by seq
LSB_JOBID=1;LSB_DJOB_HOSTFILE=$work/pbs||-n 5 ${root} a a a b.cluster b.cluster --map-by seq
JOB_ID=1;PE_HOSTFILE=$work/sge||-n 3 ${root} a.cluster a.cluster b --map-by seq
FLUX_URI=local|-n 2|this Flux job has 3 hosts
FLUX_URI=local|-n 2 -H f:2|-n 2 ${root} f f --map-by seq
END
LSB_JOBID=1 LSB_MCPU_HOSTS="c 2 d 1" LSB_HOSTS="a b" PATH=$work/bin:$PATH "$oshrun" p >"$work/out" 2>&1
grep -qF -- "-n 3 ${root} c c d --map-by seq" "$work/out" || bad="$bad [LSB_MCPU_HOSTS: $(head -1 "$work/out")]"
[ -z "$bad" ]
ok $? "the hosts of jobs of PBS, LSF, Grid Engine; a line in one of Flux$bad"

# An engine's message about a failure that a PE has reported, printed as well; or dropped, where no PE has reported one.
cat >"$work/bin/prterun" <<'END'
#!/bin/bash
printf -v rule %74s
[ "$FAKE" != reported ] || printf '\036oshrun 127 cannot start PE 2: ./p: No such file or directory\n' >&2
printf '%s\n\nprterun was unable to start the specified application as it encountered an\nerror:\n\n   Error code: 127\n%s\n' \
    "${rule// /-}" "${rule// /-}" >&2
echo '[h1:04474] PMIx_Spawn failed (-1): PMIX_ERROR' >&2
exit 213
END
for fake in reported silent; do
    (
        unset LD_LIBRARY_PATH
        FAKE=$fake PATH=$work/bin:$PATH "$oshrun" -H a:2,b:2 p >"$work/$fake" 2>&1
        echo "status $?" >>"$work/$fake"
    )
done
cat "$work/reported" "$work/silent" >"$work/err"
[ "$(cat "$work/reported")" = "oshrun: cannot start PE 2: ./p: No such file or directory
status 127" ] && grep -q "Error code: 127" "$work/silent" && grep -qx "status 213" "$work/silent"
ok $? "an engine's message about a failure is dropped if a PE has reported the failure, and printed if none has"
for rank in 0 1 2 3 4; do
    PMIX_RANK=$rank HWLOC_SYNTHETIC="pack:2 core:2 pu:1" "$oshrun" --as-pe =--dry-run =--bind-to =core =-H =a:2 =-H =b:3 =-n =5 =-- =p
done >"$work/out" 2>"$work/err"
[ "$(sed 's/.*bound to CPUs \(.*\): p/\1/' "$work/out" | tr '\n' ' ')" = "0 1 0 1 2 " ]
ok $? "on several hosts a PE is bound by its index on its host"

# A level that counts for another, cores outside the part, two PEs on one core while another is free.
bad=
while read -r args want; do
    # shellcheck disable=SC2086
    HWLOC_SYNTHETIC="pack:2 numa:2 core:2 pu:2" run --dry-run -n 9 ${args//_/ } p
    [ "$(sed 's/.*bound to CPUs \(.*\): p/\1/' "$work/out" | tr '\n' ' ')" = "$want " ] || bad="$bad [$args]"
done <<END
--bind-to_core 0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15 0-1
--bind-to_hwthread 0 2 4 6 8 10 12 14 1
--map-by_hwthread 0 1 2 3 4 5 6 7 8
--map-by_socket 0-1 8-9 2-3 10-11 4-5 12-13 6-7 14-15 0-1
--map-by_numa_--bind-to_numa 0-3 4-7 8-11 12-15 0-3 4-7 8-11 12-15 0-3
--map-by_socket_--bind-to_hwthread 0 8 2 10 4 12 6 14 1
--bind-to_socket 0-7 0-7 0-7 0-7 8-15 8-15 8-15 8-15 0-7
END
[ -z "$bad" ]
ok $? "--map-by and --bind-to place PEs on a machine of 2 sockets, 4 NUMA nodes, 8 cores, 16 threads$bad"

# A dry run that starts the job, or whose result is not what starts.
run --dry-run -n 2 --bind-to core touch "$work/started" && [ ! -e "$work/started" ] && grep -q "^PE 1 on .* bound to CPUs" "$work/out" &&
    cp "$work/out" "$work/dry" && run -n 2 --bind-to core --report-bindings touch "$work/started" &&
    cmp -s "$work/err" "$work/dry" && [ -e "$work/started" ]
ok $? "--dry-run prints what --report-bindings does, and starts nothing"

# Spellings of other launchers that start another number of PEs.
bad=
for args in "-n2" "-np 2" "-N 2" "-ppn 2" "--npernode 2" "-N2" "--map-by ppr:2:node" "-N 4 -n 2" "-n2 --oversubscribe"; do
    # shellcheck disable=SC2086
    run $args echo a
    [ "$status" -eq 0 ] && [ "$(wc -l <"$work/out")" -eq 2 ] || bad="$bad [$args]"
done
[ -z "$bad" ] && grep -q "note: --oversubscribe has no effect" "$work/err"
ok $? "spellings of other launchers for 2 PEs$bad"

# A variable that a program's own does not replace, or that only the first program gets.
# shellcheck disable=SC2016
run -n 1 -env B 2 sh -c 'echo $A $B' : -n 1 -genv A 1 -x A=3 sh -c 'echo $A $B'
[ "$(sort "$work/out" | tr '\n' '|')" = "1 2|3|" ] && ended 0 0
ok $? "-genv is for all programs, -env and -x for one"

# Output lost or labelled in the files, a last line without an end, or a folder that cannot be written, unnoticed.
run -l -n 2 --output-filename "$work/files" sh -c 'echo "$PMIX_RANK"; echo e >&2; printf last' && ended 0 2 &&
    [ "$(cat "$work/files/pe.0.out")$(cat "$work/files/pe.1.out")" = "0
last1
last" ] && [ "$(cat "$work/files/pe.1.err")" = e ] && [ "$(sort "$work/out" | tr '\n' '|')" = "[0] 0|[0] last|[1] 1|[1] last|" ]
ok $? "--output-filename writes each PE's output to files, too"
touch "$work/file"
run -n 2 --output-filename "$work/file/sub" touch "$work/started2"
ended 1 1 && [ ! -e "$work/started2" ] && grep -q "cannot write '$work/file/sub'" "$work/err"
ok $? "--output-filename: a folder that cannot be written ends the job before it starts"

# Input that goes to another PE, that the fastest of several PEs takes from the others, or that ends early.
seq 20000 | timeout 30 "$oshrun" -n 3 --stdin all sh -c 'cat >/dev/null; echo' >"$work/out" 2>"$work/err"
seq 20000 | timeout 30 "$oshrun" -n 3 --stdin all sh -c '[ "$PMIX_RANK" -ne 1 ] || sleep 0.3; [ "$PMIX_RANK" -eq 2 ] || cksum' >"$work/out" 2>>"$work/err"
[ "$(sort -u "$work/out")" = "$(seq 20000 | cksum)" ] && [ "$(wc -l <"$work/out")" -eq 2 ]
ok $? "--stdin all: each PE gets all of the input, though one is slow and one reads nothing"
echo one | timeout 30 "$oshrun" -l -n 3 --stdin 1 cat >"$work/out" 2>"$work/err"
echo two | timeout 30 "$oshrun" -l -n 3 --stdin none cat >>"$work/out" 2>>"$work/err"
[ "$(cat "$work/out")" = "[1] one" ]
ok $? "--stdin 1 and --stdin none"

# A message from which a new user does not learn that PATH has no folder for the program.
printf '#!/bin/sh\n' >"$work/hello" && chmod +x "$work/hello"
(cd "$work" && run -n 2 hello; ended 127 1)
grep -q "the program in this folder is ./hello" "$work/err"
ok $? "a program of this folder without ./ gives a hint"

# Invalid arguments that start PEs, or that are not reported.
bad=
for args in "-n 0 true" "-n x true" "-n 2x true" "-n -1 true" "-n" "-n 2" "--bogus true" "-l4 true" "--bind-to board true" \
    "--timeout 0 true" "--timeout soon true" "-n 1 true :" "-n 1 true : true" "" "-x =1 true" "--label=1 true" "-H , true" \
    "--hostfile $work/none true" "-H localhost:0 true" "--mca btl self true" "-N 2 -n 3 true" "--map-by core:PE=2 true" \
    "--stdin 2 -n 2 true" "--stdin x true" "-env A" "-H localhost -N 2 -n 3 true"; do
    # shellcheck disable=SC2086
    run $args
    ended 2 1 && grep -q '^oshrun: ' "$work/err" || bad="$bad [$args]"
done
[ -z "$bad" ]
ok $? "invalid arguments give one line and status 2$bad"

run --help && grep -q -- --bind-to "$work/out" && run --version && grep -q '[0-9]\.[0-9]' "$work/out"
ok $? "--help and --version"

# Two PEs on one core, or all PEs on the first.
if [ "$(nproc)" -lt 2 ]; then
    skip "--bind-to core gives distinct cores" "this machine has one core"
else
    run -n 2 --bind-to core grep Cpus_allowed: /proc/self/status
    ended 0 0 && [ "$(sort -u "$work/out" | wc -l)" -eq 2 ]
    ok $? "--bind-to core gives distinct cores"
fi

run -n 2 --bind-to none grep Cpus_allowed: /proc/self/status
[ "$(sort -u "$work/out")" = "$(grep Cpus_allowed: /proc/self/status)" ]
ok $? "--bind-to none does not bind PEs"

# PEs bound to cores that a batch system assigned to another job.
last=$(($(nproc) - 1))
if ! command -v taskset >/dev/null || ! taskset -c $last true 2>/dev/null; then
    skip "binding stays inside the cores oshrun was given" "taskset is missing, or refuses this CPU"
else
    status=0 took=0
    taskset -c $last timeout 30 "$oshrun" -n 2 --bind-to core grep Cpus_allowed_list: /proc/self/status >"$work/out" 2>"$work/err"
    [ "$(sort -u "$work/out" | awk '{print $2}')" = $last ]
    ok $? "binding stays inside the cores oshrun was given"
fi

run --bind-to core -n 5 true
ended 0 0
ok $? "--bind-to core with more PEs than cores shares them"

# A missing resource that is not reported, or only by pages of text from libpmix.
(
    ulimit -S -n 10
    run -n 4 sh -c 'ulimit -n'
    ended 0 0 && [ "$(sort -u "$work/out")" = 10 ]
)
ok $? "a low soft limit of open files: oshrun raises its own, the PEs keep the limit"

(
    ulimit -n 20
    run -n 4 true
    ended 1 1 && grep -q '^oshrun: 4 PEs need [0-9]* open files, and only 20 are allowed: .*ulimit -n' "$work/err"
)
ok $? "too few open files: one line with the required number"

(
    ulimit -n 200
    run -n 32 true
    ended 0 0
)
ok $? "the number of open files that the line gives suffices for 32 PEs"

run -n 32769 true
[ "$status" -eq 2 ] && grep -q "from 1 to 32768, not '32769'" "$work/err" && run -n 20000 true : -n 20000 true
[ "$status" -eq 2 ] && grep -q 'more than 32768 PEs in all' "$work/err"
ok $? "more PEs than the limit: one line"

mkdir "$work/gone"
(
    cd "$work/gone" && rmdir "$work/gone"
    run -n 2 echo a
    ended 0 1 && grep -q '^oshrun: warning: the current directory was removed' "$work/err" && [ "$(wc -l <"$work/out")" -eq 2 ]
)
ok $? "a current directory that was removed: one line"

if ! unshare -n true 2>/dev/null; then
    skip "no network interface: one line" "no permission to create a network namespace"
else
    status=0 took=0
    unshare -n timeout -k 5 30 "$oshrun" -n 2 true >"$work/out" 2>"$work/err"
    status=$?
    ended 1 1 && grep -q '^oshrun: .*no network interface is up.*ip link set lo up' "$work/err"
    ok $? "no network interface: one line"
fi

# Host names that overflow libpmix's buffers; Linux allows 64 letters.
if ! unshare -u hostname x 2>/dev/null; then
    skip "host names of all lengths" "no permission to create a UTS namespace"
else
    # shellcheck disable=SC2016
    unshare -u bash -c 'name=; for l in $(seq 64); do name=${name}a; hostname $name
        "$0" -n 1 true >"$1/out" 2>"$1/err" </dev/null || { echo "$l letters: status $?" >>"$1/err"; exit 1; }; done' \
        "$oshrun" "$work"
    ok $? "host names of 1 to 64 letters"
fi

if ! [ -x "$client" ]; then
    for name in modex fence collect refused abort0 abort7 signal leave lost lost_init status many; do
        skip "PMIx: $name" "$client is not built"
    done
    echo "1..$tests"
    exit
fi

# A get that is never answered when it arrives before the put, or before all PEs have connected (16 PEs: some are late).
bad=
for i in 1 2 3 4 5; do
    run -n 16 "$client" modex
    ended 0 0 && [ "$(grep -c 'of 16 got 4711' "$work/out")" -eq 16 ] || bad="$bad $i"
done
[ -z "$bad" ]
ok $? "PMIx: a get without a fence is answered$bad"

run -n 5 "$client" fence
ended 0 0 && [ "$(grep -c 'of 5 found 0 wrong' "$work/out")" -eq 5 ]
ok $? "PMIx: fence without data"

run -n 5 "$client" collect
ended 0 0 && [ "$(grep -c 'of 5 found 0 wrong' "$work/out")" -eq 5 ]
ok $? "PMIx: fence with data"

run -n 1 "$client" refused
ended 0 0 && grep -q 'spawned 0 found 0' "$work/out"
ok $? "PMIx: spawn and lookup are refused"

run -n 3 "$client" abort 0
ended 0 0
ok $? "PMIx: abort with 0 ends the job with 0, silently"

run -n 3 "$client" abort 7
ended 7 1 && grep -q 'PE 1 .*status 7.*as told' "$work/err"
ok $? "PMIx: abort with 7 ends the job with 7 and one line"

run -n 3 "$client" signal 11
ended 139 1 && grep -q 'PE 1 .*SIGSEGV' "$work/err"
ok $? "PMIx: a PE killed by a signal ends the job with one line"

run -n 3 "$client" leave
ended 1 1 && grep -q 'PE 1 ' "$work/err"
ok $? "PMIx: a PE that leaves without finalize ends the job"

# An abort or exit that is a consequence of another PE's death, reported as the first failure: its socket closes before
# oshrun can wait for the process. The order is random, so repeat it many times.
bad=
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    run -n 4 "$client" lost 3
    ended 3 1 && grep -q 'PE 1 .*exited with status 3' "$work/err" || bad="$bad $status"
done
[ -z "$bad" ]
ok $? "PMIx: a PE that dies in a fence sets the status, whatever the others do$bad"

# PEs of the library that print lines about the failed fence.
run -n 1 "${client%/*}/../fault/leave" all_return : -n 1 "$client" lost 3 : -n 1 "${client%/*}/../fault/leave" all_return
ended 3 1 && grep -q 'PE 1 .*exited with status 3' "$work/err"
ok $? "PMIx: a PE that dies in shmem_init's fence sets the status, and the library's PEs print nothing"

# A PE whose exit oshrun sees before the server says that it has left, reported as one that left without shmem_finalize. The
# server's news wait here until a PE has exited, while the other one is still there.
cat >"$work/late.c" <<'END'
#include <dlfcn.h>
#include <pmix_server.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static pmix_server_client_finalized_fn_t tell;
static pmix_status_t late(const pmix_proc_t *proc, void *pe, pmix_op_cbfunc_t done, void *arg)
{
    static int waited;
    siginfo_t how;
    if (!waited++)
        waitid(P_ALL, 0, &how, WEXITED | WNOWAIT);
    usleep(200000);
    fprintf(stderr, "told late\n");
    return tell(proc, pe, done, arg);
}
pmix_status_t PMIx_server_init(pmix_server_module_t *module, pmix_info_t info[], size_t n)
{
    __typeof__(&PMIx_server_init) next = (__typeof__(next))dlsym(RTLD_NEXT, "PMIx_server_init");
    tell = module->client_finalized;
    module->client_finalized = late;
    return next(module, info, n);
}
END
# shellcheck disable=SC2046
${CC:-cc} -D_GNU_SOURCE -shared -fPIC "$work/late.c" -o "$work/late.so" $(pkg-config --cflags pmix) -ldl 2>"$work/err" &&
    LD_PRELOAD=$work/late.so run -n 1 env -u LD_PRELOAD "$client" modex : -n 1 env -u LD_PRELOAD sh -c "'$client' modex; sleep 2"
[ "$status" -eq 0 ] && grep -q '^told late$' "$work/err"
ok $? "PMIx: a PE that has exited when its finalize arrives ends the job well"

run -n 3 "$client" status 4
[ "$status" -eq 4 ]
ok $? "PMIx: a nonzero status after finalize is reported"

run -n 64 "$client" modex
ended 0 0 && [ "$(grep -c 'of 64 got 4711' "$work/out")" -eq 64 ]
ok $? "PMIx: 64 PEs"

# Peer records of a few KB that arrive truncated, from the wrong PE or not at all; an incomplete list of local PEs.
run -n 5 "${client%/*}/boot"
ended 0 0 && [ "$(grep -c 'node 0 1 2 3 4, 0 wrong' "$work/out")" -eq 5 ]
ok $? "boot: 4 KB of each PE reach all, all PEs share the node"

echo "1..$tests"

#!/usr/bin/env bash
# survive.sh - oshrun --survive with PEs that use PMIx only (test/launch/survive.c): the job goes on when PEs die, at any moment, and
# its lines, exit status and end are right.
#
# Catches: a fence of the living PEs that waits for a dead one; a death that ends the job, or one too many that does not; a wrong
# status; a living process of a dead PE. SEEDS=N runs N jobs with deaths at random moments, from seed FROM on.
. "${top_srcdir:=.}/test/tap.sh"
: "${SEEDS:=12}" "${FROM:=1}"
pe=$(cd "$top_builddir" && pwd)/test/launch/survive
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

run() { # oshrun's arguments: its status is in $status, its output in log, errors and then output
    timeout -k 5 60 $OSHRUN "$@" > "$work/out" 2> "$work/err" < /dev/null
    status=$?
    cat "$work/err" "$work/out" > "$work/log"
    echo "status $status" >> "$work/log"
}
run_until() { # PATTERN of a line of errors after which PEs may end; oshrun's arguments
    : > "$work/err"
    rm -f "$GO"
    (run "${@:2}"; echo "$status" > "$work/status") &
    until_grep "$1" "$work/err"
    at_go
    touch "$GO"
    wait $!
    status=$(cat "$work/status")
}
at_go() { :; }
export GO=$work/go
err_is() { # the lines of standard error, without what is between parentheses after a PE's number
    sed 's/ (pid [^)]*)//; s/; ending the others$//' "$work/err" | diff - <(printf '%s\n' "$@") >> "$work/log"
}
ended() { # the PEs that ended, and no others
    sort "$work/out" | diff - <(printf 'PE %d ended, 0 wrong\n' "$@") >> "$work/log"
}

run_until 'goes on with 1 of 4' --survive -n 4 "$pe" turn 9
[ $status -eq 0 ] && ended 0 && err_is \
    "oshrun: PE 1 was killed by SIGKILL (Killed); the job goes on with 3 of 4 PEs" \
    "oshrun: PE 2 was killed by SIGKILL (Killed); the job goes on with 2 of 4 PEs" \
    "oshrun: PE 3 was killed by SIGKILL (Killed); the job goes on with 1 of 4 PEs" \
    "oshrun: 3 of 4 PEs died: 1, 2, 3"
ok $? "three of four PEs die one after the other: fences complete, the status is 0" "$work/log"

run --survive=3 -n 4 "$pe" turn 11
[ $status -eq 139 ] && err_is \
    "oshrun: PE 1 was killed by SIGSEGV (Segmentation fault); the job goes on with 3 of 4 PEs" \
    "oshrun: PE 2 was killed by SIGSEGV (Segmentation fault); 2 of 4 PEs left, --survive needs 3" \
    "oshrun: 2 of 4 PEs died: 1, 2"
ok $? "--survive=3: the second death ends the job" "$work/log"

run --survive=2 -n 3 "$pe" status 5
[ $status -eq 5 ] && err_is \
    "oshrun: PE 1 exited with status 5; the job goes on with 2 of 3 PEs" \
    "oshrun: PE 2 exited with status 6; 1 of 3 PEs left, --survive needs 2" \
    "oshrun: 2 of 3 PEs died: 1, 2"
ok $? "the status is that of the first failure" "$work/log"

run_until 'goes on with 1 of 3' --survive -n 3 "$pe" status 5
[ $status -eq 0 ] && ended 0 && grep -q '2 of 3 PEs died: 1, 2' "$work/err"
ok $? "exits with another status than 0 are survived" "$work/log"

run_until 'goes on with 2 of 3' --survive -n 3 "$pe" leave
[ $status -eq 0 ] && ended 0 2 && err_is \
    "oshrun: PE 1 exited with status 0 but without shmem_finalize; the job goes on with 2 of 3 PEs" "oshrun: 1 of 3 PEs died: 1"
ok $? "so is an end without finalize" "$work/log"

# Catches: a job that goes on after a death in shmem_init, where the others wait for that PE, as they end shmem_init before oshrun finds
# the death.
: > "$work/out"
rm -f "$GO"
$OSHRUN --survive --timeout 60 -l -n 3 "$pe" early > "$work/out" 2> "$work/err" &
job=$!
for i in 0 1 2; do until_grep "pid $i" "$work/out"; done
kill -STOP $job
kill -KILL "$(sed -n 's/.*pid 1 //p' "$work/out")"
touch "$GO"
sleep 0.3 # the others reach the fence
kill -CONT $job
wait $job
status=$?
cp "$work/err" "$work/log"
[ $status -eq 137 ] && err_is "oshrun: PE 1 was killed by SIGKILL (Killed)"
ok $? "a death in shmem_init ends the job" "$work/log"

touch "$GO"
run --survive -n 2 "$pe" end
[ $status -eq 0 ] && ended 0 1 && [ ! -s "$work/err" ]
ok $? "without a death nothing is printed" "$work/log"

run -n 3 "$pe" wait
[ $status -eq 137 ] && err_is "oshrun: PE 1 was killed by SIGKILL (Killed)"
ok $? "without --survive a death ends the job" "$work/log"

# Catches: a script's program that outlives the script, while the job goes on.
at_go() {
    gone=1
    child=$(sed -n 's/^child //p' "$work/out")
    for _ in $(seq 100); do
        grep -q '^State:.[^ZX]' "/proc/$child/status" 2> /dev/null || gone=0
        [ $gone -ne 0 ] || break
        sleep 0.1
    done
}
run_until 'goes on with 2 of 3' --survive -n 3 "$pe" orphan
at_go() { :; }
sed -i '/^child/d' "$work/out"
[ $status -eq 0 ] && ended 0 2 && [ -n "$child" ] && [ $gone -eq 0 ]
ok $? "the processes that a PE started end with it" "$work/log"

run --survive -n 3 "$pe" abort 7
[ $status -eq 7 ] && err_is "oshrun: PE 1 was killed by SIGKILL (Killed); the job goes on with 2 of 3 PEs" \
    "oshrun: PE 2 ended the job with status 7: as told" "oshrun: 1 of 3 PEs died: 1"
ok $? "PMIx_Abort ends the job after a death" "$work/log"

run --survive --timeout 2 -l -n 3 --output-filename "$work/files" "$pe" wait
[ $status -eq 124 ] && [ "$(sort "$work/out" | tr '\n' ' ')" = "[0] waiting [2] waiting " ] && [ "$(cat "$work/files/pe.0.out")" = waiting ] &&
    grep -q 'ran longer than --timeout' "$work/err"
ok $? "after a death: --timeout, labels, --output-filename" "$work/log"

# A process group of its own, so that the shell does not let it ignore SIGINT.
: > "$work/log"
setsid sh -c 'trap - INT; exec "$@"' sh env --default-signal=INT $OSHRUN --survive -n 3 "$pe" wait > "$work/log" 2>&1 &
job=$!
until_grep '^waiting' "$work/log" && until_grep 'goes on with 2 of 3' "$work/log" && kill -INT $job
wait $job
[ $? -eq 130 ] && tail -n 1 "$work/log" | grep -q '1 of 3 PEs died: 1'
ok $? "after a death: SIGINT" "$work/log"

run --survive -n 2 sh -c 'echo $SHMEM_FAULTS'
[ "$(cat "$work/out")" = "continue
continue" ]
ok $? "the PEs have SHMEM_FAULTS=continue" "$work/log"

run --survive=3 -n 2 true
[ $status -eq 2 ] && grep -q -- '--survive=3: the job has 2 PEs' "$work/err" && run --survive=0 -n 2 true && [ $status -eq 2 ] &&
    run --survive -H a,b -n 2 true && [ $status -eq 2 ] && grep -q -- '--survive: the PEs must be on this machine' "$work/err"
ok $? "a wrong number, and several hosts, are refused" "$work/log"

# Catches: a fence that libpmix completes twice, which hangs its server, when a PE that is in it dies with one for which it waits.
: > "$work/log"
$OSHRUN --survive --timeout 60 -n 4 "$pe" once > "$work/log" 2>&1 &
job=$!
for i in 0 1 2 3; do until_grep "^pid $i" "$work/log"; done
sleep 0.3 # the others reach the fence
kill -STOP $job
for i in 1 2; do kill -KILL "$(sed -n "s/^pid $i //p" "$work/log")"; done
kill -CONT $job
wait $job
[ $? -eq 0 ] && grep -q 'PE 0 ended, 0 wrong' "$work/log" && grep -q 'PE 3 ended, 0 wrong' "$work/log" && grep -q '2 of 4 PEs died: 1, 2' "$work/log"
ok $? "two deaths at once in a fence" "$work/log"

bad=0
for ((seed = FROM; seed < FROM + SEEDS; seed++)); do
    npes=$((2 + seed % 5))
    run --survive -n $npes "$pe" random $seed
    sed -n 's/.*PEs died: //p; s/^PE \([0-9]*\) ended, 0 wrong$/\1/p' "$work/err" "$work/out" | tr -d , | tr ' ' '\n' | sort -n > "$work/all"
    [ $status -eq 0 ] && seq 0 $((npes - 1)) | diff - "$work/all" >> "$work/log" && continue
    echo "# seed $seed, $npes PEs: status $status"
    tail -n 20 "$work/log" | sed 's/^/#   /'
    bad=1
done
ok $bad "deaths at random moments of fences: $SEEDS seeds"
plan

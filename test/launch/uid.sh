#!/usr/bin/env bash
# uid.sh - jobs that no launcher starts, whose processes meet by a unique id: how they start, who is refused, and how they end.
#
# Catches: a PE that waits for ever for one that does not come or has died, in each phase of the start too; a death that PEs which make no calls do
# not see; a line that names another PE, or none; another exit status than oshrun's job has; strangers and old files that disturb a job;
# a secret that others can read; an id that does not reach other hosts.
. "${top_srcdir:=.}/test/tap.sh"
need_hosts "$0"
uid=$top_builddir/test/launch/uid boot=$top_builddir/test/launch/boot uidrun=$top_srcdir/test/lib/uidrun
work=$(mktemp -d "$FAKE_HOSTS/uid.XXXXXX") || exit 99
export SHMEM_START_TIMEOUT=3

# job LIMIT N MODE [PE]: $took is in ms; the lines and statuses are in $work/out.
job() {
    local limit=$1 begin
    shift
    begin=$(date +%s%N)
    timeout -k 2 "$limit" "$uid" "$@" >"$work/out" 2>&1
    status=$?
    took=$((($(date +%s%N) - begin) / 1000000))
    echo "status $status, $took ms" >>"$work/out"
}

statuses() { # of PEs 0, 1, ...
    sed -n 's/^PE [0-9]*: //p' "$work/out" | tr '\n' ' '
}

lines() { # how many lines match
    grep -c "$1" "$work/out"
}

for n in 1 2 3 7 24; do
    job 30 $n fine
    [ $status = 0 ] && [ "$(lines fulmar)" = 0 ]
    ok $? "$n processes meet by the id" "$work/out"
done
job 20 1 args
[ $status = 0 ] && [ "$(lines fulmar)" = 4 ]
ok $? "what does not belong together is refused with a line" "$work/out"
job 20 7 two
[ $status = 0 ] && [ "$(lines fulmar)" = 0 ]
ok $? "two jobs beside each other" "$work/out"

# ---- who does not come, and who is refused
job 20 4 never 2
[ "$(statuses)" = "1 1 0 1 " ] && [ "$(lines 'PE 0: shmem_init: waiting for all PEs .*: PE 2 not there')" = 1 ] && [ $took -lt 9000 ]
ok $? "a PE that does not come is named, and the others end" "$work/out"
job 20 3 never 0
[ "$(statuses)" = "0 1 1 " ] && [ "$(lines 'does not listen')" = 2 ]
ok $? "the process that made the id does not come" "$work/out"
job 20 4 twice 2
[ $status = 1 ] && [ "$(lines 'PE 0: shmem_init: two processes have the number 1: pid [0-9]* on .* and pid')" = 1 ] && ! statuses | grep -qw 0
ok $? "two processes with one number" "$work/out"
job 20 4 size 3
[ $status = 1 ] && [ "$(lines 'PE 0: shmem_init: .* has 5 PEs, .* has 4')" = 1 ] && ! statuses | grep -qw 0
ok $? "a process that has another number of PEs" "$work/out"
job 20 3 changed 1
[ $status = 1 ] && [ "$(lines 'the unique id is not one of this library')" = 1 ] && [ "$(lines 'PE 1 not there')" = 1 ]
ok $? "an id that was changed on the way" "$work/out"
job 30 6 attack
[ $status = 0 ] && [ "$(lines fulmar)" = 0 ]
ok $? "150 strangers hold connections before the PEs come: the job starts ($took ms)" "$work/out"

# ---- deaths
# As under oshrun: the status of exit and shmem_global_exit is the job's, one line names the PE.
for pe in 0 1 4 6; do
    job 20 7 kill $pe
    want=$(for i in 0 1 2 3 4 5 6; do [ $i = $pe ] && echo 137 || echo 1; done | tr '\n' ' ')
    [ "$(statuses)" = "$want" ] && [ "$(lines fulmar)" = 1 ] && [ "$(lines "PE $pe (pid [0-9]* on .*uid) ended without shmem_finalize")" = 1 ] &&
        [ $took -lt 3000 ]
    ok $? "PE $pe is killed while the others compute ($took ms)" "$work/out"
done
for case in exit:7 global:5 quiet:1; do
    want=${case#*:}
    job 20 7 ${case%:*} 3
    [ "$(statuses | tr ' ' '\n' | sed '4d;/^$/d' | sort -u)" = "$want" ] && [ "$(lines fulmar)" = 1 ] && [ "$(lines 'PE 3 (pid')" = 1 ] && [ $took -lt 3000 ]
    ok $? "PE 3 ends by ${case%:*}: the others have status $want ($took ms)" "$work/out"
done
job 20 5 fork 2
[ "$(lines 'PE 2 (pid')" = 1 ] && [ $took -lt 3000 ]
ok $? "a PE dies whose forked child lives on ($took ms)" "$work/out"
bad=0
for ms in 0 1 2 3 4 5 6 8 10 12 15 20; do
    for pe in 0 1 3; do
        job 15 5 kill=$ms $pe
        # 0: it was over. Else nobody waits for longer than the limit of the start and some seconds.
        [ $status = 0 ] || { [ $status = 1 ] && [ $took -lt 10000 ] && [ "$(statuses | wc -w)" = 5 ]; } || { bad=1; cp "$work/out" "$work/bad"; }
    done
done
ok $bad "a PE that is killed in any phase of the start: all end" "$work/bad"

# ---- the file
for pe in 1 2 0; do
    SHMEM_UNIQUEID=$pe/3@$work/file timeout 20 "$boot" >"$work/out.$pe" 2>&1 &
    sleep 0.2
    [ ! -e "$work/file" ] || stat -c %a "$work/file" >>"$work/modes"
done
wait
[ "$(cat "$work"/out.? | grep -c 'of 3 on .*node 0 1 2, 0 wrong')" = 3 ] && [ ! -e "$work/file" ]
ok $? "processes that come before the file; it is removed" "$work/out.1"
(umask 0; SHMEM_UNIQUEID=0/2@$work/alone timeout 20 "$boot" >"$work/out" 2>&1) &
for i in $(seq 100); do [ -e "$work/alone" ] && break; sleep 0.02; done
[ "$(stat -c %a "$work/alone")" = 600 ]
ok $? "only its user can read the file, whatever the umask"
wait
for old in make squat; do
    if [ $old = squat ]; then
        "$uid" "$work/old" squat &
        squatter=$!
    else
        "$uid" "$work/old" make
    fi
    for i in $(seq 100); do [ -s "$work/old" ] && break; sleep 0.02; done
    SHMEM_START_TIMEOUT=20 SHMEM_UNIQUEID=1/2@$work/old timeout 20 "$boot" >"$work/out" 2>&1 &
    one=$!
    sleep 0.3
    SHMEM_UNIQUEID=0/2@$work/old timeout 20 "$boot" >>"$work/out" 2>&1
    wait $one
    [ "$(grep -c '0 wrong' "$work/out")" = 2 ]
    ok $? "an older job's file: its port is $([ $old = make ] && echo closed || echo "another's now")" "$work/out"
done
kill $squatter
for value in 2/2@x 1/2@ -1/2@x a/b@x nonsense; do
    env -u RANK -u SLURM_PROCID SHMEM_UNIQUEID=$value timeout 20 "$boot" >"$work/out" 2>&1
    [ $? = 1 ] && [ "$(lines SHMEM_UNIQUEID=)" = 1 ]
    ok $? "SHMEM_UNIQUEID=$value is refused with one line" "$work/out"
done
for pe in 0 1; do
    RANK=$pe WORLD_SIZE=2 SHMEM_UNIQUEID=$work/file timeout 20 "$boot" >"$work/out.$pe" 2>&1 &
done
wait
[ "$(cat "$work"/out.[01] | grep -c 'of 2 on')" = 2 ]
ok $? "numbers from torchrun's variables" "$work/out.0"

# ---- two hosts
UIDRUN_HOSTS="h1 h2" timeout 30 "$uidrun" -n 5 "$boot" >"$work/out" 2>&1
[ "$(grep -c 'on h1, node 0 1 2, 0 wrong' "$work/out")" = 3 ] && [ "$(grep -c 'on h2, node 3 4, 0 wrong' "$work/out")" = 2 ]
ok $? "3 PEs on one host, 2 on another: each knows its node" "$work/out"
for conf in rma coll; do
    UIDRUN_HOSTS="h1 h2" timeout 60 "$uidrun" -n 4 "$top_builddir/test/conf/$conf.pes" >"$work/out" 2>&1
    [ $? = 0 ] && ! grep -q '^not ok' "$work/out" && grep -q '^1\.\.' "$work/out"
    ok $? "test/conf/$conf on two hosts" "$work/out"
done
mkdir "$work/folder"
begin=$(date +%s%N)
UIDRUN_HOSTS="h1 h2" timeout 30 "$uidrun" -n 4 "$boot" "$work/folder" >"$work/out" 2>&1 &
job=$!
for i in $(seq 200); do [ -e "$work/folder/fenced.0" ] && [ -e "$work/folder/fenced.3" ] && break; sleep 0.05; done
"$hosts" kill h2
wait $job
status=$?
took=$((($(date +%s%N) - begin) / 1000000))
[ $status != 0 ] && [ $took -lt 8000 ] && [ "$(lines 'PE [23] (pid [0-9]* on h2, .*) ended without shmem_finalize')" = 1 ]
ok $? "all processes of a host are killed: the others end with one line ($took ms)" "$work/out"
plan

#!/bin/sh
# intruder.sh - jobs attacked over the network by a process that knows their ports but not their secret: it reads and writes
# nothing, the jobs go on, and their results are right. The process has the job's user, as libfabric accepts no connection of
# another one of this host (stranger.sh); it stands for the users of the job's other hosts.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/test/security/two_users.sh"
by=$owner

# refused ATTACKS WHAT: a job withstands these attacks at the same time.
refused() {
    start job $owner 2
    pids=
    for a in $1; do
        attack "$a" $owner &
        pids="$pids $!"
    done
    attacked=0
    for pid in $pids; do
        wait "$pid" || attacked=1
    done
    finish job
    right=$?
    rm -f "$work/job.stop"
    for a in $1; do
        grep -q ' 0 obtained' "$work/$a" || attacked=1
        cat "$work/$a" >> "$work/job"
    done
    ok $((attacked + right)) "$2" "$work/job"
}

# Catches: an attack that obtains nothing because it is wrong itself.
mkfifo "$work/serve.in"
"$top_builddir/test/security/intruder" serve $owner $owner < "$work/serve.in" > "$work/serve" 2>&1 &
exec 7> "$work/serve.in"
until_grep ready "$work/serve"
attack read $owner && grep -q ' [1-9][0-9]* obtained' "$work/read" && attack write $owner && grep -q ' [1-9][0-9]* obtained' "$work/write"
ok $? 'control: memory under key 5 is read and written' "$work/read"
exec 7>&-
wait

# Catches: forged messages that are dropped because they are malformed.
export SHMEM_INSECURE=1
start insecure $owner 2
attack forge $owner && ! finish insecure
ok $? 'control: a job without a secret applies forged messages' "$work/insecure"
unset SHMEM_INSECURE

refused forge 'forged puts and atomics'
refused garbage 'connections that send nothing, or nonsense'
refused flood 'a flood of forged messages and connections, in bounded memory'
plan

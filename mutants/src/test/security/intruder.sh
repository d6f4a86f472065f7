#!/bin/sh
# intruder.sh - jobs attacked over the network by another user of the machine, who knows their ports; and by the same user, in
# place of a user of another host, whose connections the library cannot tell from those of a PE. Neither reads, writes or ends
# anything: the jobs go on, and their results are right.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/test/security/two_users.sh"

# refused BY ATTACKS WHAT: a job withstands these attacks at the same time.
refused() {
    start job $owner 2
    pids=
    for a in $2; do
        attack "$a" "$1" $owner &
        pids="$pids $!"
    done
    attacked=0
    for pid in $pids; do
        wait "$pid" || attacked=1
    done
    finish job
    right=$?
    rm -f "$work/job.stop"
    for a in $2; do
        grep -q ' 0 obtained' "$work/$a" || attacked=1
        [ "$1" = $attacker ] || [ "$(sent "$a")" -gt 0 ] || attacked=1
        cat "$work/$a" >> "$work/job"
    done
    ok $((attacked + right)) "$3" "$work/job"
}

# Catches: an attack that obtains nothing because it is itself defective.
mkfifo "$work/serve.in"
"$top_builddir/test/security/intruder" serve $owner $owner < "$work/serve.in" > "$work/serve" 2>&1 &
exec 7> "$work/serve.in"
until_grep ready "$work/serve"
attack read $attacker $owner && grep -q ' [1-9][0-9]* obtained' "$work/read" &&
    attack write $attacker $owner && grep -q ' [1-9][0-9]* obtained' "$work/write"
ok $? 'control: memory under key 5 is read and written' "$work/read"
exec 7>&-
wait

# Catches: forged messages that are dropped because they are malformed.
export SHMEM_INSECURE=1
start insecure $owner 2
attack forge $owner $owner && ! finish insecure
ok $? 'control: a job without a secret applies forged messages' "$work/insecure"
unset SHMEM_INSECURE

# Catches: a connection of another user that reaches libfabric, which believes what it says, and may end the job.
refused $attacker 'read write forge malformed garbage cut' 'all attacks of another user'
grep -q "network: connections of user $attacker of this host are refused" "$work/job"
ok $? 'connections of that user are refused' "$work/job"

# Catches: registered memory whose key can be guessed.
refused $owner 'read write' 'reads and writes with guessed keys'

# Catches: a message that is applied without its tag, or before the whole of it is checked.
refused $owner forge 'forged puts and atomics'
refused $owner malformed 'malformed messages'

# Catches: a job that ends because a message cannot be received, which need not be one of a PE.
refused $owner 'garbage cut' "connections with nonsense, with a frame of libfabric that ends early, or with a wrong bit"

# Catches: memory that grows with what is sent.
refused $owner flood 'a flood of forged messages and connections'
plan

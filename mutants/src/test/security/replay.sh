#!/bin/sh
# replay.sh - messages of a job that another user captures on the network and sends again: unchanged, or with one bit,
# the sequence number or the version changed. The PEs count and drop every one.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/test/security/two_users.sh"

# Catches: messages that are applied twice, by their sender, by another PE, or after a change.
attack replay $owner $owner & # it captures from the job's start
attack_pid=$!
start job $owner 3
wait $attack_pid
attacked=$?
finish job
right=$?
cat "$work/replay" >> "$work/job"
ok $((attacked + right)) 'messages of a job, sent again to each of its PEs' "$work/job"
[ "$(dropped job)" -ge "$(sent replay)" ]
ok $? 'each of them is counted' "$work/job"
for why in 'has come before' 'tag is wrong' 'of another version'; do
    grep -q "network: dropped a message.*$why" "$work/job"
    ok $? "a line says: $why" "$work/job"
done

# Catches: messages of one job that another job applies.
start first $owner 2 && start second $other 2
attack replay $other $owner $other
attacked=$?
finish second
right=$?
cat "$work/replay" >> "$work/second"
ok $((attacked + right)) 'messages of one job, sent to another' "$work/second"
grep -q 'network: dropped a message of another job (id [0-9a-f]*, this job is' "$work/second"
ok $? 'a line names both jobs' "$work/second"
finish first
ok $? 'the first job' "$work/first"

plan

#!/bin/sh
# stranger.sh - another user connects to the ports of a job's PEs like a libfabric peer. libfabric trusts the messages
# of a connection, so it must not accept one of another user; see src/host/net/fabric/ofi_accept.h.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/test/security/two_users.sh"
seconds=${FULMAR_STRANGER_SECONDS:-1}

# pe_ports: print the ports on which this user's PEs listen.
pe_ports() {
    for pid in $(pgrep -u $owner -x victim); do
        ls -l "/proc/$pid/fd" 2> "$work/null" | sed -n 's/.*socket:\[\([0-9]*\)\].*/\1/p'
    done > "$work/inodes"
    awk 'NR == FNR { of[$1]; next } $4 == "0A" && $10 in of { split($2, a, ":"); print a[2] }' "$work/inodes" /proc/net/tcp |
        while read -r hex; do printf '%d ' "0x$hex"; done
}

# Catches: a peer's connection that libfabric closes because a stranger uses its name, a stranger's message that is too long or
# incomplete and ends the job, an acknowledgement that crashes a PE, descriptors or memory that strangers use up.
for mode in steal acknowledge long cut messages bytes hold churn; do
    start job $owner 2
    as $attacker "$top_builddir/test/security/stranger" $mode "$seconds" $(pe_ports) > "$work/stranger" 2>&1
    attacked=$?
    finish job
    right=$?
    rm -f "$work/job.stop"
    cat "$work/stranger" >> "$work/job"
    [ $attacked = 0 ] && [ $right = 0 ] && grep -q ': [1-9][0-9]* connections, 0 as a peer' "$work/stranger" &&
        [ "$(grep -c "connections of user $attacker of this host are refused" "$work/job")" -ge 1 ]
    ok $? "$mode: refused with a line, and the job continues" "$work/job"
done

# Catches: a refusal of the job's own user, with which the tests above would show nothing.
start job $owner 2
as $owner "$top_builddir/test/security/stranger" messages 1 $(pe_ports) > "$work/stranger" 2>&1
finish job
cat "$work/stranger" >> "$work/job"
grep -q ', [1-9][0-9]* as a peer' "$work/stranger"
ok $? 'control: libfabric accepts a connection of the same user' "$work/job"
plan

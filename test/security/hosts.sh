#!/usr/bin/env bash
# hosts.sh - attacks on a job on two hosts, by a user of each of them and from a host without a PE of the job. A PE
# refuses connections of other users of its host and from other hosts. It accepts those of users of the job's other
# host; then the tags of messages and the keys of memory protect the job.
. "${top_srcdir:=.}/test/tap.sh"
command -v mpirun >/dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
need_hosts "$0"
work=$FAKE_HOSTS
attacker=61003
chmod 711 "${work%/*}" "$work"
export SHMEM_TEST_SPIN=0

start() { # ARGUMENTS of oshrun: a job of two PEs; returns when it is under way
    rm -f "$work/stop"
    : > "$work/job" # the background shell opens it later; an earlier job's lines must not be read as this one's
    "$hosts" in h1 timeout -k 5 60 "$OSHRUN" "$@" "$top_builddir/test/security/victim" "$work/stop" >"$work/job" 2>&1 </dev/null &
    job=$!
    for _ in $(seq 300); do
        ! grep -q '^under way' "$work/job" || return 0
        sleep 0.1
    done
    return 1
}

finish() { # 0: the job did not end before, and all its results are right
    touch "$work/stop"
    wait $job && grep -q '^[0-9]* rounds' "$work/job" && ! grep -q '^wrong' "$work/job"
}

list() { # HOST: write the TCP sockets of its PEs to $work/HOST
    for pid in $("$hosts" pids "$1"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != victim ] || ls -l "/proc/$pid/fd" | sed -n 's/.*socket:\[\([0-9]*\)\].*/\1/p'
    done >"$work/inodes"
    "$hosts" in "$1" cat /proc/net/tcp | awk 'NR == FNR { of[$1]; next } $10 in of' "$work/inodes" - >"$work/$1"
}

attack() { # NAME FROM TO: a user of one host attacks the PEs on another one
    "$hosts" in "$2" env INTRUDER_TCP="$work/$3" SHMEM_OFI_DOMAIN=eth0 timeout -k 5 60 \
        "$top_builddir/test/security/intruder" "$1" 0 $attacker >"$work/attack" 2>&1
    cat "$work/attack" >>"$work/attacks"
    grep -q ' 0 obtained' "$work/attack"
}

sent() { # something came through
    grep -q ' [1-9][0-9]* sent' "$work/attack"
}

result() { # STATUS WHAT
    cat "$work/attacks" >>"$work/job"
    : >"$work/attacks"
    ok "$1" "$2" "$work/job"
}

# Catches: messages of another host that a PE trusts because it accepts the connection.
start --engine mpirun -H h1:1,h2:1
list h1
for name in read write forge malformed garbage cut; do
    attack $name h2 h1 && sent
    ok $? "$name: a user of the job's other host obtains nothing" "$work/attack"
done
grep -q 'network: dropped a message of another job' "$work/job"
ok $? "messages of a user of the job's other host are dropped" "$work/job"

# Catches: users of the own host taken for users of another one, because the address is not the loopback address.
attack forge h1 h1 && ! sent && grep -q "network: connections of user $attacker of this host are refused" "$work/job"
ok $? "connections of another user of the own host are refused" "$work/job"
finish
result $? "the results of the job are right"

# Catches: connections from any host.
SHMEM_TRANSPORT=ofi SHMEM_OFI_DOMAIN=eth0 start -n 2
list h1
attack forge h2 h1 && ! sent && grep -q 'network: connections from .*10.77.0.2 are refused: no PE of this job is there' "$work/job"
ok $? "connections from a host without a PE of the job are refused" "$work/job"
finish
result $? "the results of the job are right"
plan

#!/bin/sh
# hosts.sh - fake hosts, h1, h2, ..., on this machine, for tests of jobs on several hosts: two, or FAKE_HOSTS_N.
#
#   hosts.sh can                 exit with 0, or print the reason why fake hosts are impossible here
#   hosts.sh run COMMAND...      create the hosts, run COMMAND outside of both, end everything
#   hosts.sh in HOST COMMAND...  run COMMAND on a host (inside run)
#   hosts.sh rsh HOST WORDS...   the same with ssh's argument rules, for launchers that need an rsh agent
#   hosts.sh pids HOST           list the processes on a host
#   hosts.sh kill HOST           kill all of them at once, as a power failure does
#
# A host is a network, UTS, IPC and mount namespace: its own name, /etc/hosts, and empty /tmp and /dev/shm. All hosts
# see the source, build and work folders, as on a cluster with a shared home folder. A veth pair connects two (eth0,
# 10.77.0.1 and 10.77.0.2); a bridge in h1 connects more. Nothing has a name outside the namespaces, so several runs can overlap. All processes share
# one PID namespace whose first process is `hosts.sh`, so the kernel ends all of them when the run ends.
self=$(cd "$(dirname "$0")" && pwd)/${0##*/}

# The process that holds a host's namespaces.
keeper() {
    cat "$FAKE_HOSTS/$1.pid"
}

# The paths below /tmp that a host must see: tests build and work there.
shared() {
    for p in "${top_srcdir:-$PWD}" "${top_builddir:-$PWD}" "$FAKE_HOSTS"; do
        p=$(cd "$p" && pwd -P)
        case $p/ in /tmp/?*) echo "$p" ;; esac
    done | sort -u
}

# Set up host $1 in its new namespaces; then sleep until the run ends.
host() {
    hostname "$1"
    mount --bind "$FAKE_HOSTS/hosts" /etc/hosts
    new=$FAKE_HOSTS/$1.tmp
    mkdir "$new"
    mount -t tmpfs -o mode=1777 tmp "$new"
    shared | while read -r p; do
        mkdir -p "$new${p#/tmp}"
        mount --bind "$p" "$new${p#/tmp}"
    done
    mount --move "$new" /tmp
    mount -t tmpfs -o mode=1777 shm /dev/shm
    ip link set lo up
    echo $$ >"$FAKE_HOSTS/$1.new"
    mv "$FAKE_HOSTS/$1.new" "$FAKE_HOSTS/$1.pid"
    exec sleep infinity
}

# Connect the hosts: eth0 of each.
connect() {
    if [ "$FAKE_HOSTS_N" -eq 2 ]; then
        nsenter -t "$(keeper h1)" -n ip link add eth0 type veth peer name eth0 netns "$(keeper h2)"
    else # a host's eth0 and its port of the bridge; h1's eth0 is the bridge itself
        nsenter -t "$(keeper h1)" -n sh -c 'ip link add eth0 type bridge'
        for h in $names; do
            [ "$h" = h1 ] || nsenter -t "$(keeper h1)" -n sh -c "ip link add port$h type veth peer name eth0 netns $(keeper "$h") &&
                ip link set port$h master eth0 up"
        done
    fi
    n=0
    for h in $names; do
        n=$((n + 1))
        nsenter -t "$(keeper "$h")" -n sh -c "ip addr add 10.77.0.$n/24 dev eth0 && ip link set eth0 up"
    done
    for h in $names; do # a link comes up a moment after its interface
        looks=0
        until nsenter -t "$(keeper "$h")" -n ip -o link show eth0 | grep -q 'state UP'; do
            looks=$((looks + 1))
            [ $looks -lt 500 ] || { echo "hosts.sh: eth0 of the fake host $h does not come up in 10 s" >&2; exit 1; }
            sleep 0.02
        done
    done
}

# The first process of a run: create the hosts, run the command.
cluster() {
    mkdir "$FAKE_HOSTS"
    export FAKE_HOSTS_N="${FAKE_HOSTS_N:-2}"
    names=$(seq -f h%g "$FAKE_HOSTS_N")
    { echo 127.0.0.1 localhost; seq "$FAKE_HOSTS_N" | sed 's/.*/10.77.0.& h&/'; } >"$FAKE_HOSTS/hosts"
    for h in $names; do
        unshare --net --uts --ipc --mount --propagation private "$self" host "$h" </dev/null &
    done
    for h in $names; do
        until [ -s "$FAKE_HOSTS/$h.pid" ]; do
            [ -d /proc/$! ] || exit 1
            sleep 0.02
        done
    done
    connect
    # mpirun reaches the hosts by this agent: the first line is read by Open MPI 4, the second by PRRTE, part of Open MPI 5 and 6.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent="$self rsh"
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_plm_ssh_agent="$self rsh"
    status=0
    "$@" || status=$?
    exit $status
}

case ${1:-} in
can)
    [ "$(id -u)" = 0 ] || { echo "fake hosts need root"; exit 1; }
    command -v ip >/dev/null || { echo "fake hosts need the command ip (iproute2)"; exit 1; }
    unshare --pid --fork --net --uts --ipc --mount --propagation private sh -c '
        mount -t tmpfs tmp /tmp && ip link add eth0 type veth peer name eth1' >/dev/null 2>&1 ||
        { echo "fake hosts need namespaces and mounts, which are refused here"; exit 1; }
    ;;
run)
    shift
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    FAKE_HOSTS=$work/cluster
    export FAKE_HOSTS
    status=0
    unshare --pid --fork --kill-child --mount --mount-proc --propagation private "$self" cluster "$@" || status=$?
    exit $status
    ;;
cluster | host)
    "$@"
    ;;
in)
    h=$2
    shift 2
    exec nsenter -t "$(keeper "$h")" --net --uts --ipc --mount --wd="$PWD" -- "$@"
    ;;
rsh)
    shift
    while [ "${1#-}" != "$1" ]; do shift; done
    h=$1
    shift
    exec "$self" in "$h" env -i HOME="$HOME" PATH="$PATH" sh -c "$*" # as ssh: a new environment
    ;;
pids)
    k=$(keeper "$2")
    stat -L -c '%i %n' /proc/[0-9]*/ns/uts 2>/dev/null | awk -F '[ /]' -v keeper="$k" -v own="$(stat -L -c %i "/proc/$k/ns/uts")" '
        $1 == own && $4 != keeper { print $4 }'
    ;;
kill)
    for i in 1 2 3; do # a process may have started another meanwhile
        pids=$("$self" pids "$2")
        # shellcheck disable=SC2086
        [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
    done
    ;;
*)
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

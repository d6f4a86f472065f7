#!/bin/sh
# slurm.sh - a private Slurm with two nodes on the fake hosts (see hosts.sh); it ends with them.
#
#   slurm.sh can   exit with 0, or print what is missing
#   slurm.sh up    inside `hosts.sh run`: start munged, slurmctld and one slurmd per host; return when srun works
#   slurm.sh back HOST  start slurmd again on a killed host
#
# SLURM_PLUGINS is a folder of plugins to use instead of Slurm's own. Users set SLURM_CONF=$FAKE_HOSTS/slurm.conf. No cgroups, no
# accounting; all files lie in $FAKE_HOSTS.
set -eu
hosts=$(cd "$(dirname "$0")" && pwd)/hosts.sh
PATH=$PATH:/usr/sbin:/sbin

configure() {
    cat >"$FAKE_HOSTS/slurm.conf" <<-END
	ClusterName=fake
	SlurmctldHost=h1(10.77.0.1)
	NodeName=h1 NodeAddr=10.77.0.1 CPUs=8
	NodeName=h2 NodeAddr=10.77.0.2 CPUs=8
	PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE:8
	SlurmdParameters=config_overrides
	SlurmUser=root
	AuthInfo=socket=$FAKE_HOSTS/munge.socket
	StateSaveLocation=$FAKE_HOSTS/state
	SlurmdSpoolDir=$FAKE_HOSTS/spool.%n
	SlurmctldPidFile=$FAKE_HOSTS/slurmctld.pid
	SlurmdPidFile=$FAKE_HOSTS/slurmd.%n.pid
	SlurmctldLogFile=$FAKE_HOSTS/slurmctld.log
	SlurmdLogFile=$FAKE_HOSTS/slurmd.%n.log
	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	JobAcctGatherType=jobacct_gather/none
	SchedulerType=sched/builtin
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	MpiDefault=none
	ReturnToService=2
	KillWait=2
	SlurmdTimeout=4
	${SLURM_PLUGINS:+PluginDir=$SLURM_PLUGINS}
	END
    case $(slurmd -V) in
    *\ 22.*) ;;                                                # it has no such plugin, and needs none
    *) echo CgroupPlugin=disabled >"$FAKE_HOSTS/cgroup.conf" ;; # else slurmd would need cgroups
    esac
    mkdir "$FAKE_HOSTS/state"
    head -c 64 /dev/urandom >"$FAKE_HOSTS/munge.key"
    chmod 400 "$FAKE_HOSTS/munge.key"
}

# Start slurmd on these hosts, and wait until both nodes are idle.
nodes_up() {
    for h in "$@"; do "$hosts" in "$h" slurmd; done
    i=0
    until [ "$("$hosts" in h1 sinfo -h -t idle -o %D 2>/dev/null)" = 2 ]; do
        i=$((i + 1))
        [ $i -lt 150 ] || { echo "the two nodes did not come up" >&2; tail -n 5 "$FAKE_HOSTS"/*.log >&2; exit 1; }
        sleep 0.2
    done
}

case ${1:-} in
can)
    for c in munged slurmctld slurmd srun sinfo; do
        command -v $c >/dev/null || { echo "Slurm is not installed here: no $c (slurmctld, slurmd, slurm-client, munge)"; exit 1; }
    done
    ;;
up)
    configure
    export SLURM_CONF="$FAKE_HOSTS/slurm.conf"
    munged --force --socket="$FAKE_HOSTS/munge.socket" --key-file="$FAKE_HOSTS/munge.key" --pid-file="$FAKE_HOSTS/munge.pid" \
        --log-file="$FAKE_HOSTS/munge.log" --seed-file="$FAKE_HOSTS/munge.seed" >"$FAKE_HOSTS/munge.out" 2>&1
    "$hosts" in h1 slurmctld
    nodes_up h1 h2
    ;;
back)
    nodes_up "$2"
    ;;
*)
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

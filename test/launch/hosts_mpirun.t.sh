#!/usr/bin/env bash
# hosts_mpirun.t.sh - jobs on two fake hosts, started by Open MPI's mpirun.
. "${top_srcdir:=.}/test/tap.sh"
need_hosts "$0"
command -v mpirun >/dev/null || skip_all "Open MPI (openmpi-bin) is not installed"
work=$FAKE_HOSTS
engine=mpirun
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent="$hosts rsh"
. "$top_srcdir/test/launch/hosts.sh"

direct() {
    in_h1 timeout 40 mpirun -H h1:2,h2:2 -n 4 "$@"
}

touch "$work/begin"
test_places
test_lookup orted
test_options
test_ends
test_disturbed
test_left
test_host_killed
test_link_cut
plan

#!/usr/bin/env bash
# hosts_mpirun.t.sh - jobs on two fake hosts, started by Open MPI's mpirun or, for hosts_prterun.t.sh, by PRRTE's prterun.
. "${top_srcdir:=.}/test/tap.sh"
need_hosts "$0"
engine=${engine:-mpirun}
command -v $engine >/dev/null || skip_all "$engine is not installed (Open MPI: openmpi-bin, PRRTE: libprrte-bin)"
work=$FAKE_HOSTS
# for Open MPI 4, then for PRRTE, which Open MPI 5 contains
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent="$hosts rsh"
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_plm_ssh_agent="$hosts rsh"
. "$top_srcdir/test/launch/hosts.sh"

direct() {
    in_h1 timeout 40 $engine -H h1:2,h2:2 -n 4 "$@"
}

touch "$work/begin"
test_places
test_sessions
test_programs
case $($engine --version 2>&1) in
*"Open MPI) 5"* | *"PRRTE) 3"*) skip "look-up without the other host's daemons" "PRRTE 3 sends a fence's data on request" ;;
*) test_lookup 'orted\|prted' ;;
esac
test_options
test_ends
test_disturbed
test_left
test_host_killed
test_link_cut
plan

#!/usr/bin/env bash
# hosts_prterun.t.sh - jobs on two fake hosts, started by PRRTE's prterun.
engine=prterun
. "${top_srcdir:=.}/test/launch/hosts_mpirun.t.sh"

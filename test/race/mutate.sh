#!/bin/sh
# mutate.sh - of the calls that order or complete in some examples, each deleted alone, oshcc --race reports the races: test/race/mutate.py, which
# goes through all examples and conformance tests when it is run by hand.
#
# Catches: a rule that is right in the programs of litmus.c and misses races in whole programs.
. "${top_srcdir:=.}/test/tap.sh"
[ -f "$top_builddir/.libs/libfulmar_race.so" ] || skip_all "libfulmar_race needs on_exit of glibc"
command -v python3 >/dev/null || skip_all "python3 is not installed"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
e=$top_srcdir/examples
export top_srcdir OSHCC OSHRUN
python3 "$top_srcdir/test/race/mutate.py" "$e/first.c" "$e/ring.c" "$e/histogram.c /etc/hosts" "$e/routines/put_signal.c" "$e/routines/quiet.c" \
    "$e/routines/ctx.c" "$e/routines/get.c" "$e/routines/ptr.c" "$e/routines/wait_until.c" >"$work/log" 2>&1
ok $? "$(tail -1 "$work/log"), of examples without one call" "$work/log"
plan

#!/bin/sh
# mutants.sh - every pattern of test/mutants.txt matches its source once. Catches: an edit of a line that an entry
# names.
. "${top_srcdir:=.}/test/tap.sh"
out=$(mktemp) || exit 99
trap 'rm -f "$out"' EXIT
command -v python3 >/dev/null || skip_all "no python3"
"$top_srcdir/test/mutants" --check >"$out" 2>&1
ok $? "$(tail -n 1 "$out")" "$out"
plan

#!/usr/bin/env bash
# sycl_api.sh - in SYCL every routine of Intel SHMEM 1.5 that the host calls has, for every type, the result that sycl_api.cpp computes without
# the library. test/lint/ishmem.txt lists the routines. Kernels and queues: sycl.sh. Catches: a routine that is missing, that goes to
# another one or to another type's, that swaps arguments, that takes signed words for unsigned ones, that writes elsewhere.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/test/lib/sycl.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
find_sycl "$work/jit" || skip_all "$no_sycl"
export LC_ALL=C

$OSHCXX --sycl -O0 "$top_srcdir/test/device/sycl_api.cpp" -o "$work/api" > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"

for pes in 1 3; do
    timeout 60 $OSHRUN -n $pes "$work/api" > "$work/log" 2>&1
    status=$?
    grep -v '^right' "$work/log" > "$work/wrong"
    [ $status = 0 ] && [ "$(grep -c 'printed by by_host' "$work/wrong")" = $pes ] && ! grep -q '^fulmar:' "$work/wrong"
    ok $? "$pes PEs" "$work/wrong"
done
grep '^right' "$work/log" > "$work/right"

# The list's patterns, and how many names of each were right in a form: `FORM pattern count`.
types=$(printf '#include "shmem_table.h"\n#define ROW(F, N, ...) @N\nSHMEM_TYPES(ROW,)\n' |
    ${CC:-cc} -E -P "-I$top_srcdir/include" - | tr -d ' \n' | tr '@' '|' | sed 's/.*shmem[^|]*//; s/^|//')
sort -u "$work/right" | sed -E "s/^right //; s/_($types)_/_TYPENAME_/; s/(put|get)(8|16|32|64|128)(_|\$)/\\1SIZE\\3/" | sort | uniq -c |
    awk '{ name = $NF; n = $1; $1 = $NF = ""; gsub(/ /, ""); print $0, name, n }' > "$work/have"
sed -n '/^\.Sh NOT SUPPORTED/,/^\.Sh/s/^\.It Li //p' "$top_srcdir/man/ishmem.7" | grep -v -e '_on_queue' -e ishmemx_print -e ishmemx_nop -e ishmemx_t > "$work/excused"
grep -v '^#' "$top_srcdir/test/lint/ishmem.txt" | while read -r name where count; do
    while read -r glob; do
        # shellcheck disable=SC2254
        case $name in $glob) continue 2 ;; esac
    done < "$work/excused"
    echo "$name $where $count"
done > "$work/need"
# Neither OpenSHMEM nor the library has atomics on signed char, which the list counts.
awk '
    NR == FNR { have[$1, $2] = $3; next }
    { need = $3 - ($1 ~ /TYPENAME_atomic/ && $1 !~ /_nbi$/)
      if ($2 != "device" && $1 !~ /_on_queue$/ && have["bythehost", $1] + 0 < need) print $1 ": " have["bythehost", $1] + 0 " of " need }' \
    "$work/have" "$work/need" > "$work/missing"
[ "$(wc -l < "$work/need")" -gt 300 ] && [ ! -s "$work/missing" ]
ok $? "every routine of the list was right" "$work/missing"
plan

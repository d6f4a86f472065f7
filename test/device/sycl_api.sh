#!/usr/bin/env bash
# sycl_api.sh - in SYCL every routine of Intel SHMEM 1.5 has, for every type and in every form, the result that sycl_api.cpp computes without
# the library. test/lint/ishmem.txt lists the routines. Catches: a routine that is missing, that goes to another one or to another type's,
# that swaps arguments, that takes signed words for unsigned ones, that writes elsewhere.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/test/lib/sycl.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
find_sycl "$work/jit" || skip_all "$no_sycl"
export LC_ALL=C

# Without optimisation, but for the host alone.
$OSHCXX --sycl -O0 -Xclang -disable-O0-optnone "$top_srcdir/test/device/sycl_api.cpp" -o "$work/api" > "$work/log" 2>&1 &&
    ${CC:-cc} -O1 -shared -fPIC "$top_srcdir/test/lib/keep_calls.c" -o "$work/keep_calls.so" -ldl > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"

for setting in 1:1 2:1 3:0; do # the first compiles the kernels for all; direct, 3 PEs on 2 cores poll for a minute
    pes=${setting%:*}
    SHMEM_TEST_DEVICE_DIRECT=${setting#*:} timeout 200 $OSHRUN -n "$pes" env LD_PRELOAD="$work/keep_calls.so" "$work/api" > "$work/log" 2>&1
    status=$?
    grep -a -v -e '^right' -e 'AdaptiveCpp Warning' "$work/log" > "$work/wrong"
    [ $status = 0 ] && [ "$(grep -c 'printed by by_host' "$work/wrong")" = "$pes" ] && [ "$(grep -c 'printed by by_item' "$work/wrong")" = "$pes" ] &&
        ! grep -q '^fulmar:' "$work/wrong"
    ok $? "$pes PEs, direct ${setting#*:}" "$work/wrong"
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
      forms = $1 ~ /_on_queue$/ ? "asqueued" : $1 ~ /_work_group$/ ? "byawork-group byasub-group" : $2 == "host" ? "bythehost" : "bythehost byawork-item"
      n = split(forms, form, " ")
      for (i = 1; i <= n; i++) {
          names += have[form[i], $1]
          if (have[form[i], $1] + 0 < need) print form[i] ": " $1 ": " have[form[i], $1] + 0 " of " need
      } }
    END { print "# names and forms: " names > "/dev/stderr" }' \
    "$work/have" "$work/need" > "$work/missing" 2> "$work/names"
cat "$work/names"
[ "$(wc -l < "$work/need")" -gt 300 ] && [ ! -s "$work/missing" ]
ok $? "every routine of the list was right in each of its forms" "$work/missing"
plan

#!/bin/sh
# ishmem.sh - every routine of Intel SHMEM is declared in our headers for the host and, where Intel SHMEM has it, for
# kernels, with as many types; or ishmem(7) lists it as not supported. Catches: a lost or forgotten name, a constant
# that differs from shmem.h's, a C++ program that does not compile or calls another routine.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
LC_ALL=C
export LC_ALL
list=$top_srcdir/test/lint/ishmem.txt
page=$top_srcdir/man/ishmem.7
cc=${CC:-cc} cxx=${CXX:-c++}
include="-I$top_srcdir/include -I$top_srcdir/src"
types=$(printf '#include "shmem_table.h"\n#define ROW(F, N, ...) @N\nSHMEM_TYPES(ROW,)\n' |
    $cc -E -P $include - | tr -d ' \n' | tr '@' '|' | sed 's/.*shmem[^|]*//; s/^|//')

# Names in preprocessed text, with types and sizes replaced by a placeholder: `pattern count`.
patterns() {
    grep -oE '\bishmemx?_[A-Za-z0-9_]+' | sort -u |
        sed -E "s/_($types)_/_TYPENAME_/; s/(put|get)(8|16|32|64|128)(_|\$)/\\1SIZE\\3/" | sort | uniq -c |
        awk '{ print $2, $1 }'
}

text='#include "ishmemx.h"'
(echo "$text" | $cc -std=c99 -E -P $include -x c -
    echo "$text" | $cc -std=c11 -E -dM $include -x c - | sed -n 's/^#define \(ishmem[a-z0-9_]*\).*/\1/p'
    echo "$text" | $cxx -std=c++11 -E -P $include -x c++ -) | patterns >"$dir/host"
echo "$text" | $cc -E -P -D__OPENCL_C_VERSION__=200 $include -x c - 2>"$dir/out" | patterns >"$dir/device"
[ "$(wc -l <"$dir/host")" -gt 150 ] && [ "$(wc -l <"$dir/device")" -gt 200 ]
ok $? "names are found in the headers" "$dir/out"

# Names declared for too few types; atomics on signed char count as one type less (see ishmem(7)).
missing() { # host or device
    grep -v '^#' "$list" | awk -v where="$1" '
        NR == FNR { have[$1] = $2; next }
        $2 == where || $2 == "both" { need = $3 - ($1 ~ /TYPENAME_atomic/ && $1 !~ /_nbi$/)
                                      if (have[$1] + 0 < need) print $1 }' "$dir/$1" -
}
# Names and patterns that ishmem(7) lists as not supported.
sed -n '/^\.Sh NOT SUPPORTED/,/^\.Sh/s/^\.It Li //p' "$page" >"$dir/excused"
for where in host device; do
    missing $where | while read -r name; do
        while read -r glob; do
            # shellcheck disable=SC2254
            case $name in $glob) continue 2 ;; esac
        done <"$dir/excused"
        echo "$name"
    done >"$dir/out"
    [ ! -s "$dir/out" ]
    ok $? "every name for the $where is declared or in ishmem(7)" "$dir/out"
done
# An entry of NOT SUPPORTED that is supported or is not a name of Intel SHMEM.
(missing host; missing device) | sort -u >"$dir/missing"
while read -r glob; do
    grep -v '^#' "$list" | cut -d' ' -f1 | sed 's/TYPENAME/schar/' | while read -r name; do
        # shellcheck disable=SC2254
        case $name in $glob) echo "$name" ;; esac
    done | grep -q . || echo "$glob"
done <"$dir/excused" >"$dir/out"
[ -s "$dir/excused" ] && [ ! -s "$dir/out" ]
ok $? "ishmem(7) lists only unsupported names of Intel SHMEM" "$dir/out"

(echo '#include <ishmem.h>'
    for name in CMP_EQ CMP_NE CMP_GT CMP_LE CMP_LT CMP_GE SIGNAL_SET SIGNAL_ADD THREAD_SINGLE THREAD_FUNNELED \
        THREAD_SERIALIZED THREAD_MULTIPLE TEAM_NUM_CONTEXTS; do
        echo "_Static_assert(ISHMEM_$name == SHMEM_$name, \"\");"
    done
    echo '_Static_assert(sizeof ISHMEM_VENDOR_STRING == sizeof SHMEM_VENDOR_STRING, "");') |
    $cc -std=c11 $include -fsyntax-only -x c - >"$dir/out" 2>&1
ok $? "constants equal those of shmem.h" "$dir/out"

$OSHCXX -x c++ -std=c++11 -Wall -Wextra -Werror "$top_srcdir/test/conf/ishmem.c" -o "$dir/cxx" >"$dir/out" 2>&1 &&
    $OSHRUN -n 3 "$dir/cxx" >"$dir/out" 2>&1 && ! grep -q '^not' "$dir/out"
ok $? "test/conf/ishmem.c as C++" "$dir/out"
plan

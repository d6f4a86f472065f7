#!/bin/sh
# names.sh - more names under which the manual has pages, as `name page.section`: profiling names, from the links that page.awk
# made (standard input), routines of kernels, names of Intel SHMEM, constants. CC preprocesses.
dir=$(dirname "$0")
cat >"$1"
cat "$1"
sort "$dir/../test/lint/symbols.txt" | awk 'NR == FNR { page[$1] = $2; next } /^p/ { if (substr($0, 2) in page) print $0, page[substr($0, 2)] }' "$1" -
{
    printf '#include <shmemg.h>\n#include <ishmemx.h>\n' |
        ${CC:-cc} -E -P -D__OPENCL_C_VERSION__=200 -I"$dir/../include" -I"$dir/../src" -x c -
    echo '#include <ishmemx.h>' | ${CC:-cc} -E -P -I"$dir/../include" -x c -
} | grep -oE '\b(shmemx?g|ishmemx?)_[a-z0-9_]*[a-z0-9] *\(' | tr -d ' (' | sort -u |
    awk 'NR == FNR { page[$1] = $2; next } !($1 in page) { print $1, /^i/ ? "ishmem.7" : /_gpc_/ ? "shmemx_gpc.3" : "shmemg.7" }' "$1" -
sed -n 's/^\.It \(Dv .*\)/\1/p' "$dir/shmem_constants.7" | tr ' ' '\n' | grep SHMEM | sed 's/$/ shmem_constants.7/'

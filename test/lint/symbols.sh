#!/bin/sh
# symbols.sh - the exported symbols are exactly those of symbols.txt, every table entry also with p, all with a prefix.
# Catches: a missing routine, an exported helper, a removed name. --update rewrites symbols.txt.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
list=$top_srcdir/test/lint/symbols.txt
LC_ALL=C
export LC_ALL

table() { # every routine's name, and the same with p
    printf '%s\n' '#include "shmem_table.h"' '#define SHMEM_FN(R, NAME, PARAMS) @NAME@' \
        'SHMEM_FN(,shmem_global_exit,) SHMEM_FOR_EACH_UNTYPED(SHMEM_FN)' \
        'SHMEM_FOR_EACH_TYPED(SHMEM_EMIT) SHMEM_API_SIZED(SHMEM_EMIT_S)' |
        ${CC:-cc} -E -P -I"$top_srcdir/include" - | tr -d ' \n' | tr -s '@' '\n' | sed -n 's/^[a-z_].*/&\np&/p' | sort
}

exported() { # LIBRARY [nm option]: defined symbols that others can link to
    ${NM:-nm} -g --defined-only -P $2 "$1" | awk 'NF >= 3 && $2 !~ /[NA]/ { sub(/@.*/, "", $1); print $1 }' | sort -u
}

# The global patterns of the version script, as one regular expression.
ours=$(sed -n '/^global:/,/^local:/s/^ *\([A-Za-z_]*\)\(\**\);.*/^\1\2$/p' "$top_srcdir/src/libfulmar.map" |
    sed 's/\*\$$//' | tr '\n' '|')
no_prefix() { # names that no pattern covers
    grep -Ev "${ours%|}"
}

lib=$top_builddir/.libs/libfulmar.so
archive=$top_builddir/.libs/libfulmar.a
table >"$dir/table"
[ "$(wc -l <"$dir/table")" -gt 3000 ] && [ "$(uniq -d "$dir/table" | wc -l)" -eq 0 ]
ok $? "the table gives $(wc -l <"$dir/table") names, none twice"
if [ -f "$lib" ]; then
    readelf -d "$lib" | grep -q NODELETE
    ok $? "dlclose leaves the library loaded"
    exported "$lib" -D >"$dir/exported"
    [ "$1" != --update ] || cp "$dir/exported" "$list"
    grep -q shmemx_ze_ "$dir/exported" && cat "$list" >"$dir/list" || grep -Ev '^(shmemx_(sycl|ze)_|ze(ContextDestroy|ModuleCreate)$)' "$list" >"$dir/list"
    diff "$dir/list" "$dir/exported" >"$dir/out" 2>&1
    ok $? "exported symbols equal symbols.txt" "$dir/out"
    comm -23 "$dir/table" "$dir/exported" >"$dir/out"
    [ ! -s "$dir/out" ]
    ok $? "every name of the table is exported" "$dir/out"
    comm -23 "$top_srcdir/test/lint/backend.txt" "$dir/exported" >"$dir/out"
    [ "$(wc -l <"$top_srcdir/test/lint/backend.txt")" -eq 389 ] && [ ! -s "$dir/out" ]
    ok $? "every symbol that Intel SHMEM loads from an OpenSHMEM library is exported" "$dir/out"
    ${NM:-nm} -D --defined-only --with-symbol-versions "$lib" | grep -v '@@FULMAR_1$\| A FULMAR_1' >"$dir/out"
    [ ! -s "$dir/out" ]
    ok $? "every symbol has version FULMAR_1" "$dir/out"
else
    ok 0 "exported symbols # SKIP built without a shared library"
fi
if [ -f "$archive" ]; then
    exported "$archive" | no_prefix | grep -Ev '^(shi_|__)' >"$dir/out"
    [ ! -s "$dir/out" ]
    ok $? "every linkable name of the static library has a prefix" "$dir/out"
else
    ok 0 "static library # SKIP built without one"
fi
plan

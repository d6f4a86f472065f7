#!/bin/sh
# man.sh - the manual: every routine, option and program has a page, every page formats without a warning, and every
# cross-reference names an existing page. Catches: a routine or option that is not documented, a deleted page.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
LC_ALL=C
export LC_ALL
src=$top_srcdir/man
links=$top_builddir/man/links

[ "$(wc -l <"$links")" -gt 7000 ]
ok $? "$(wc -l <"$links") names have pages"
# Exported names except the handles and the functions of libpmix and Level Zero's loader that the library replaces; routines of kernels; constants.
grep -vE '^(SHMEM|PMIx_|ze(ContextDestroy|ModuleCreate)$)' "$top_srcdir/test/lint/symbols.txt" | sort -u >"$dir/routines"
[ ! -s "$dir/out" ]
ok $? "every routine has a page" "$dir/out"
for name in shmemg_int_p shmemg_ctx_double_put_nbi_tg shmemg_quiet shmemxg_gpc_exec ishmem_int_p ishmemx_putmem_work_group pshmem_int_put \
    SHMEM_TEAM_WORLD; do
    grep -q "^$name [a-z_]*\.[37]$" "$links" || echo "$name"
done >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "names of kernels, of Intel SHMEM, of profiling and of constants have pages" "$dir/out"
{
    echo '#include <shmemx.h>' | ${CC:-cc} -E -dM -I"$top_srcdir/include" -x c - | sed -n 's/^#define \(SHMEMX\{0,1\}_[A-Z0-9_]*[A-Z0-9]\) .*/\1/p'
    grep -ohE '\bSHMEMX_(GPC|MEMORY|REACH|TEAM)_[A-Z_]+|\bSHMEM_DEVICE_(CTX|TEAM)_[A-Z]+' "$top_srcdir"/include/shmemx_gpc.h "$top_srcdir"/include/shmemx_memory.h "$top_srcdir"/include/shmemx_team.h "$top_srcdir"/include/shmemg.h "$top_srcdir"/src/device/lib/*.h
    grep '^SHMEM' "$top_srcdir/test/lint/symbols.txt"
} | grep -vE '(_H|SHMEM_VENDOR_STRING|^SHMEM_TYPES)$' | sort -u >"$dir/constants"
sed -n 's/^\([A-Z_]*\) shmem_constants\.7$/\1/p' "$links" | sort | diff "$dir/constants" - >"$dir/out"
ok $? "shmem_constants.7 has the $(wc -l <"$dir/constants") constants and handles of the headers" "$dir/out"
cut -d' ' -f1 "$links" | sort | uniq -d >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "no routine has two pages" "$dir/out"

# Options and variables of the programs, from their --help.
for program in oshrun oshcc oshinfo; do
    "$top_builddir/src/tools/$program" --help | grep -oE '(^|[ ,|[])-?-[A-Za-z][a-z:-]*|OSHCC_[A-Z]*' |
        grep -oE -e '-?-[A-Za-z][a-z:-]*|OSHCC_[A-Z]*' | sort -u >"$dir/options"
    tr ' =' '\n\n' <"$src/$program.1" | sort -u | sed 's/[|,.]$//' >"$dir/words"
    while read -r option; do
        grep -qx -e "$option" -e "-$option" -e "${option#-}" "$dir/words" || echo "$option"
    done <"$dir/options" >"$dir/out"
    [ -s "$dir/options" ] && [ ! -s "$dir/out" ]
    ok $? "$program.1 has the $(wc -l <"$dir/options") options of $program" "$dir/out"
done

# Variables of the CPU driver, from its code.
grep -oh 'ZE_CPU_[A-Z]*"' "$top_srcdir"/src/ze_cpu/*.c | tr -d '"' | sort -u >"$dir/out"
sed -n 's/^\.It Ev \(ZE_CPU_.*\)/\1/p' "$src/shmemg.7" | cmp - "$dir/out" >"$dir/differ" 2>&1
ok $? "shmemg.7 has the $(wc -l <"$dir/out") variables of the CPU driver" "$dir/differ"
sed -n 's/^| `\(ZE_CPU_[A-Z]*\)`.*/\1/p' "$top_srcdir/src/ze_cpu/README.md" | sort | cmp - "$dir/out" >"$dir/differ" 2>&1
ok $? "src/ze_cpu/README.md has them too" "$dir/differ"

pages=$(ls "$top_builddir"/man/*.3 "$src"/*.[17])
for page in $pages; do
    sed -n 's/^\.Xr \([^ ]*\) \([0-9]\).*/\1 \2/p; s/^\.BR \([a-z_]*\) (\([0-9]\)).*/\1 \2/p' "$page" |
        while read -r name section; do
            case $name.$section in dlsym.3 | fork.2 | gdb.1 | mpirun.1 | srun.1) continue ;; esac
            [ -f "$src/$name.$section" ] || { [ "$section" = 3 ] && grep -q "^$name " "$links"; } ||
                echo "${page##*/} names $name($section)"
        done
done >"$dir/out"
[ ! -s "$dir/out" ]
ok $? "cross-references name existing pages" "$dir/out"

if command -v groff >/dev/null; then
    for page in $pages; do # aligned to the left, as groff 1.23 warns of short lines; 76 columns, as it indents by 2 more
        groff -mandoc -rLL=76n -ww -dAD=l -Tutf8 -z "$page" 2>&1 | sed "s|^|${page##*/}: |"
    done >"$dir/out"
    [ ! -s "$dir/out" ]
    ok $? "pages format without a warning" "$dir/out"
else
    tests=$((tests + 1))
    echo "ok $tests - pages format without a warning # SKIP groff is not installed"
fi
if command -v mandoc >/dev/null; then
    # shellcheck disable=SC2086
    mandoc -T lint -W warning $pages 2>&1 | grep -v 'unusual Xr order' >"$dir/out"
    [ ! -s "$dir/out" ]
    ok $? "mandoc finds nothing but another order in SEE ALSO" "$dir/out"
fi
plan

#!/usr/bin/env bash
# external_race.sh - the SHMEM programs of RMARaceBench under `oshcc --race`, on the node and over the network. Their sources are not in this tree.
#
#   FULMAR_RMARACEBENCH=DIR make check TESTS=test/external_race.sh
#   FULMAR_RMARACEBENCH    a checkout of https://github.com/RWTH-HPC/RMARaceBench
#
# A program's name ends with yes where it has a race. At least 70 of 73 have to be reported. Of the 49 others those of test/race/rrb.txt have a race by
# the rules of doc/memory-model.md, and no other may be reported.
#
# Catches: a rule that no longer holds for a program that somebody else has written.
. "${top_srcdir:=.}/test/tap.sh"
[ "${FULMAR_RMARACEBENCH-}" ] || skip_all "FULMAR_RMARACEBENCH names no checkout of RMARaceBench"
[ -f "$top_builddir/.libs/libfulmar_race.so" ] || skip_all "libfulmar_race needs on_exit of glibc"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

find "$FULMAR_RMARACEBENCH/SHMEM" -name '*.c' | sort > "$work/programs"
[ "$(grep -c -- '-yes.c$' "$work/programs")" -ge 73 ] && [ "$(grep -c -- '-no.c$' "$work/programs")" -ge 49 ]
ok $? "73 programs with a race and 49 without" "$work/programs"

while read -r source; do
    $OSHCC --race -fopenmp -O1 -w "$source" -o "$work/$(basename "$source" .c)" >> "$work/log" 2>&1 || echo "$source"
done < "$work/programs" > "$work/failed"
[ ! -s "$work/failed" ]
ok $? "they compile" "$work/log"

for transport in auto ofi; do
    found=0 races=0
    : > "$work/missed"
    : > "$work/reported"
    while read -r source; do
        name=$(basename "$source" .c)
        pes=$(sed -n 's/.*"NPROCS": *\([0-9]*\).*/\1/p' "$source" | head -1)
        SHMEM_TRANSPORT=$transport timeout -k 5 60 $OSHRUN -n "${pes:-2}" "$work/$name" > "$work/out" 2>&1 < /dev/null
        reports=$(grep -c '^fulmar race:' "$work/out")
        case $name in
        *-yes)
            races=$((races + 1))
            if [ "$reports" -gt 0 ]; then found=$((found + 1)); else echo "$name" >> "$work/missed"; fi
            ;;
        *) [ "$reports" -eq 0 ] || echo "$name" >> "$work/reported" ;;
        esac
    done < "$work/programs"
    [ $((races - found)) -le 3 ]
    ok $? "SHMEM_TRANSPORT=$transport: $found of $races found" "$work/missed"
    grep -vxFf "$top_srcdir/test/race/rrb.txt" "$work/reported" > "$work/false"
    [ ! -s "$work/false" ]
    ok $? "SHMEM_TRANSPORT=$transport: of those without a race $(wc -l < "$work/reported") are reported, $(wc -l < "$work/false") of them wrongly" "$work/false"
done
plan

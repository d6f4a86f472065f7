#!/bin/sh
# stress.sh - oshcc --race finds the one race in a random program, at its bytes, and none in the same program without it: many pages, PEs and threads
# at a time. Catches: a cell of the second pair that is not read. That two hold a page at
# a time is so rare that test/model/page.pml has to find it.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
if [ ! -f "$top_builddir/.libs/libfulmar_race.so" ]; then
    skip_all "libfulmar_race needs on_exit of glibc"
fi
$OSHCC --race -O1 -o "$dir/stress" "$top_srcdir/test/race/stress.c" -lpthread >"$dir/out" 2>&1
ok $? "stress.c, by oshcc --race" "$dir/out"

# Reports of other bytes, or of a race where there is none, are wrong.
judge() { # SEED HOW THREADS
    timeout -k 5 60 $OSHRUN -n 3 "$dir/stress" "$1" "$2" "$3" >"$dir/out" 2>&1 </dev/null
    status=$?
    if [ "$2" = clean ]; then
        [ $status -eq 0 ] && ! grep -q 'fulmar race' "$dir/out"
        return
    fi
    wanted=$(sed -n 's/^word \([0-9]*\) of PE \([0-9]*\)$/\1 \2/p' "$dir/out")
    found=$(sed -n 's/^fulmar race: byte \([0-9]*\) of .* of PE \([0-9]*\), .*/\1 \2/p' "$dir/out" | awk '{ print int($1 / 8), $2 }' | sort -u)
    [ $status -eq 66 ] && [ -n "$wanted" ] && [ "$wanted" = "$found" ]
}

for threads in 1 2; do
    for how in clean racy; do
        failed=
        for seed in 1 2 3 4 5 6 7 8; do
            judge $seed $how $threads || {
                failed="$failed $seed"
                cp "$dir/out" "$dir/wrong"
            }
        done
        [ -z "$failed" ]
        ok $? "8 seeds, $how, PEs with $threads threads${failed:+; not:$failed}" "$dir/wrong"
    done
done
plan

#!/bin/sh
# litmus.sh - oshcc --race: the racy program of each rule of doc/memory-model.md is reported, the mended one is not, with gcc and clang, on a node and over
# the network; and the forms of a report. Catches: a rule that libfulmar_race does not know, one that it applies where it does not hold,
# a rule without a program.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
if [ ! -f "$top_builddir/.libs/libfulmar_race.so" ]; then
    skip_all "libfulmar_race needs on_exit of glibc"
fi

# ---- the rules ----------------------------------------------------------------------------------------------------------

build() { # PROGRAM COMPILER
    OSHCC_CC=$2 $OSHCC --race -O1 -o "$1" "$top_srcdir/test/race/litmus.c" "$top_srcdir/test/race/litmus_more.c" \
        "$top_srcdir/test/race/litmus_again.c" >"$dir/build" 2>&1
}

# The object that its name says races, and a report ends the program with status 66.
reported() { # CASE STATUS OUTPUT
    case $1 in
    *_private) object='private memory' ;;
    *_heap) object='byte 12 of 256 from shmem_malloc at litmus.c:[0-9]*' ;;
    *_added) object='byte 12 of 65536 from shmemx_symmetric_add at litmus_[a-z]*.c:[0-9]*' ;;
    *_space) object='byte 12 of 256 from shmemx_space_malloc at litmus_more.c:[0-9]*' ;;
    *_d) object=d ;;
    *_spread) object='spread + 8' ;;
    *_half) object='half + 4' ;;
    *) object=x ;;
    esac
    [ "$2" -eq 66 ] && grep -q "^fulmar race: $object of PE [0-9], [48] bytes\$" "$3" &&
        grep -q ' in [a-z0-9_]* at litmus[a-z_]*.c:[0-9]' "$3" && grep -q '^    missing: ' "$3"
}

cases() { # PROGRAM WHAT
    "$1" | while read -r name rule; do
        for how in racy mended; do
            timeout -k 5 60 $OSHRUN -n 3 "$1" "$name" $how >"$dir/$name.$how" 2>&1 </dev/null
            status=$?
            if [ $how = racy ]; then
                reported "$name" $status "$dir/$name.$how"
            else
                [ $status -eq 0 ] && ! grep -q 'fulmar race' "$dir/$name.$how"
            fi || { echo "$name, of rule $rule, $how: status $status" && cat "$dir/$name.$how"; }
        done
    done >"$dir/wrong"
    [ ! -s "$dir/wrong" ]
    ok $? "each rule, racy and mended: $2" "$dir/wrong"
}

if build "$dir/gcc" gcc; then
    cases "$dir/gcc" "gcc"
    (export SHMEM_TRANSPORT=ofi && cases "$dir/gcc" "gcc, over the network" && echo "$tests" >"$dir/tests")
    tests=$(cat "$dir/tests")
else
    ok 1 "litmus.c, by gcc" "$dir/build"
fi
if ! command -v clang >/dev/null; then
    skip "each rule, racy and mended: clang" "no clang"
elif build "$dir/clang" clang; then
    cases "$dir/clang" "clang"
else
    ok 1 "litmus.c, by clang" "$dir/build"
fi

# ccache would return an object of another assembler.
echo 'int load(const int *p) { return *p; }' >"$dir/load.c"
if [ "$(uname -m)" = x86_64 ]; then
    CCACHE_DISABLE=1 OSHCC_CC=gcc $OSHCC --race -O1 -c -o "$dir/load.o" "$dir/load.c" >"$dir/out" 2>&1 &&
        [ "$($NM "$dir/load.o" | grep -c ' U __fulmar_filter_18_16\| U __fulmar_read4')" -eq 2 ]
    ok $? "gcc's code looks into the filter before a call" "$dir/out"
else
    skip "gcc's code looks into the filter before a call" "src/race/link/as knows x86-64 only"
fi

sed -n 's/^| \*\*\([CO][0-9]*\)\*\* |.*/\1/p' "$top_srcdir/doc/memory-model.md" | LC_ALL=C sort >"$dir/rules"
"$dir/gcc" | awk '{ print $2 }' | LC_ALL=C sort -u | diff "$dir/rules" - >"$dir/out" && [ "$(wc -l <"$dir/rules")" -gt 15 ]
ok $? "each rule of doc/memory-model.md has a program" "$dir/out"

# ---- the reports --------------------------------------------------------------------------------------------------------

run() { # SETTINGS... CASE: status
    timeout -k 5 60 env "$@" $OSHRUN -n 3 "$dir/gcc" o4 racy >"$dir/out" 2>&1 </dev/null
}
line() { # TEXT: its line in litmus.c, within o4
    awk -v text="$1" '/^static void o4\(/ { in_it = 1 } in_it && index($0, text) { print NR; exit }' "$top_srcdir/test/race/litmus.c"
}

run SHMEM_RACE=report
[ $? -eq 66 ] && ! grep -q 'is not a setting' "$dir/out" && [ "$(grep -c '^fulmar race' "$dir/out")" -eq 1 ] &&
    grep -q "PE 0 thread 0: shmem_int_p writes, in o4 at litmus.c:$(line shmem_int_p)\$" "$dir/out" &&
    grep -q "PE 1 thread 0: load reads, in read_x at litmus.c:" "$dir/out"
ok $? "one report with both accesses, their lines and functions" "$dir/out"

printf '%s\n' '#include <shmem.h>' 'static int a[4];' 'int main(void)' '{' '    shmem_init();' '    if (shmem_my_pe() == 1)' \
    '        a[0] = 1, a[1] = 2, a[2] = 3;' '    if (shmem_my_pe() == 0)' '        shmem_int_p(&a[0], 1, 1), shmem_int_p(&a[2], 1, 1);' \
    '    shmem_finalize();' '}' >"$dir/lines.c"
$OSHCC --race -O1 -o "$dir/lines" "$dir/lines.c" >"$dir/out" 2>&1 && timeout -k 5 60 $OSHRUN -n 2 "$dir/lines" >"$dir/out" 2>&1 </dev/null
[ $? -eq 66 ] && [ "$(grep -c '^fulmar race' "$dir/out")" -eq 1 ]
ok $? "one report for several places of the same lines" "$dir/out"

run SHMEM_RACE=json
status=$?
grep '^{"race"' "$dir/out" >"$dir/json"
[ $status -eq 66 ] && [ "$(wc -l <"$dir/json")" -eq 1 ] && grep -q '"object": "x", "pe": 1, "bytes": 4' "$dir/json" &&
    { ! command -v python3 >/dev/null || python3 -c 'import json, sys; assert len(json.load(sys.stdin)["race"]["accesses"]) == 2' <"$dir/json"; }
ok $? "SHMEM_RACE=json" "$dir/out"

run SHMEM_RACE=abort
[ $? -eq 66 ] && grep -q 'ended the job with status 66' "$dir/out"
ok $? "SHMEM_RACE=abort" "$dir/out"

run SHMEM_RACE=never
[ $? -eq 1 ] && grep -q 'SHMEM_RACE=never' "$dir/out"
ok $? "another value of SHMEM_RACE ends the job" "$dir/out"

failed=
for pattern in x shmem_int_p read_x litmus.c 'read_*'; do
    printf '# a comment\n%s\n' "$pattern" >"$dir/suppress"
    run SHMEM_RACE_SUPPRESS="$dir/suppress" || failed="$failed $pattern"
    ! grep -q 'fulmar race' "$dir/out" || failed="$failed $pattern"
done
printf 'y\nshmem_int_g\n' >"$dir/suppress"
run SHMEM_RACE_SUPPRESS="$dir/suppress"
[ $? -eq 66 ] && [ -z "$failed" ]
ok $? "SHMEM_RACE_SUPPRESS: object, routine, function, file, and patterns; others remain$failed" "$dir/out"

run SHMEM_RACE_SUPPRESS="$dir/none"
[ $? -eq 1 ] && grep -q "cannot read $dir/none" "$dir/out"
ok $? "a file of SHMEM_RACE_SUPPRESS that is not there ends the job" "$dir/out"

SHMEM_SYMMETRIC_SIZE=1M timeout -k 5 100 $OSHRUN -n 129 "$dir/gcc" o4 racy >"$dir/out" 2>&1 </dev/null
[ $? -eq 1 ] && [ "$(grep -c '^fulmar race' "$dir/out")" -eq 1 ] && grep -q '^fulmar race: 129 PEs: .* at most 128$' "$dir/out"
ok $? "more than 128 PEs are refused" "$dir/out"

# ---- oshcc --------------------------------------------------------------------------------------------------------------

for option in --static-shmem --sycl; do
    OSHCC_SYCL="icpx -fsycl" $OSHCC --race $option -o "$dir/no" "$top_srcdir/test/race/litmus.c" >"$dir/out" 2>&1
    [ $? -eq 1 ] && grep -q '^oshcc: --race: ' "$dir/out"
    ok $? "oshcc --race $option is refused" "$dir/out"
done

$OSHCC --race -c -o "$dir/litmus.o" "$top_srcdir/test/race/litmus.c" && $OSHCC --race -c -o "$dir/more.o" "$top_srcdir/test/race/litmus_more.c" &&
    $OSHCC --race -c -o "$dir/again.o" "$top_srcdir/test/race/litmus_again.c" && $OSHCC --race -o "$dir/linked" "$dir/litmus.o" "$dir/more.o" "$dir/again.o" >"$dir/out" 2>&1 &&
    timeout -k 5 60 $OSHRUN -n 3 "$dir/linked" o4 racy >>"$dir/out" 2>&1
reported o4 $? "$dir/out"
ok $? "compiled and linked by two commands" "$dir/out"

cat >"$dir/cxx.cc" <<'END'
#include <shmem.h>
#include <thread>
#include <vector>
static std::vector<int> *all;
static int x;
int main()
{
    shmem_init();
    std::thread t([] { all = new std::vector<int>(3, shmem_my_pe()); });
    t.join();
    shmem_p(&x, (*all)[1], (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_sync_all();
    int had = x;
    shmem_finalize();
    return had == 77;
}
END
$OSHCXX --race -std=c++17 -o "$dir/cxx" "$dir/cxx.cc" >"$dir/out" 2>&1 && timeout -k 5 60 $OSHRUN -n 3 "$dir/cxx" >>"$dir/out" 2>&1
[ $? -eq 66 ] && grep -q 'x of PE' "$dir/out" && grep -q 'cxx.cc:13' "$dir/out"
ok $? "C++, by oshc++ --race" "$dir/out"
plan

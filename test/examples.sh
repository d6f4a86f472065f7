#!/usr/bin/env bash
# examples.sh - every example builds without a warning, and its output equals that of standard tools.
#
# Catches: an example that no longer builds, or is correct only for one number of PEs. test/device/kernels.sh tests
# heat.cl, test/install hello and pass, test/guide.sh the guide, test/shmem4py.sh client.py and kernel.py.
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd "$work" || exit 99
log=$work/log

build() { # compiler, source
    "$1" -O2 -Wall -Wextra -Werror "$top_srcdir/examples/$2" -o "${2%.*}" > "$log" 2>&1
    ok $? "$2 builds" "$log"
}
gives() { # file of expected output, PEs, program, arguments
    timeout 100 $OSHRUN -n "$2" "${@:3}" > out 2> "$log" && cmp "$1" out >> "$log" 2>&1
    ok $? "${*:3}, $2 PEs" "$log"
}

build "$OSHCC" ring.c
build "$OSHCC" sort.c
build "$OSHCC" histogram.c
build "$OSHCXX" transpose.cc
build "$OSHCC" pipeline.c
build "$OSHCC" gpc_hash.c
build "$OSHCC" gpc_reduce.c
build "$OSHCC" heat_survive.c
awk 'BEGIN { srand(7); for (i = 0; i < 20000; i++) printf "%d\n", (rand() - 0.5) * 2 ^ (1 + i % 31) }' > numbers
sort -n numbers > numbers.sorted
yes 5 | head -1000 > equal
printf '3\n1\n2\n' > few
printf '1\n2\n3\n' > few.sorted
: > none
od -An -v -tu1 -w1 numbers | sort -n | uniq -c | awk '{ print $2, $1 }' > numbers.histogram
printf '%s: right\n' double float short 'long long' > transpose.right
for n in 1 2 3 4; do
    awk -v n=$n 'BEGIN { for (r = 1; r <= 5; r++) print "round " r ": the token holds " r * n * (n - 1) / 2 }' > ring.right
    gives ring.right $n ./ring 5
    gives numbers.sorted $n ./sort numbers
    gives equal $n ./sort equal
    gives few.sorted $n ./sort few
    gives none $n ./sort none
    gives numbers.histogram $n ./histogram numbers
    gives transpose.right $n ./transpose 17
    # a text of several blocks, each letter shifted by $n
    az=abcdefghijklmnopqrstuvwxyz
    moved=$(echo $az | cut -c$((n + 1))-26)$(echo $az | cut -c1-$n)
    tr "$az${az^^}" "$moved${moved^^}" < "$top_srcdir/README.md" > moved.text
    gives moved.text $n ./pipeline "$top_srcdir/README.md"
    gives none $n ./pipeline none
    for gpc in ./gpc_hash ./gpc_reduce; do # they check their own results
        timeout 60 $OSHRUN -n $n $gpc > "$log" 2>&1
        ok $? "$gpc, $n PEs" "$log"
    done
done
for dead in "1 57" "2 0 3 199" "0 133 2 133"; do # also at the start and the end, the first PE, two at a time
    timeout 60 $OSHRUN --survive -n 4 ./heat_survive 200 $dead > out 2> "$log" && grep -q '^right with [23] of 4 PEs$' out
    ok $? "heat_survive 200 $dead" "$log"
done
timeout 60 $OSHRUN -n 2 ./sort nowhere > out 2> "$log"
[ $? = 1 ] && [ ! -s out ] && grep -q nowhere "$log"
ok $? "sort names the missing file" "$log"
printf '1\nsecond\n' > words
timeout 60 $OSHRUN -n 2 ./sort words > out 2> "$log"
[ $? = 1 ] && [ ! -s out ] && grep -q words "$log"
ok $? "sort refuses input that is not a number" "$log"

with_each_n() { # program
    for n in 1 2 3; do
        timeout 60 $OSHRUN -n $n "$1" || return
    done
}
for source in "$top_srcdir"/examples/routines/*.c; do # the manual has these; they check their own results
    program=$(basename "$source" .c)
    "$OSHCC" -O2 -Wall -Wextra -Werror "$source" -o "routine_$program" > "$log" 2>&1 &&
        with_each_n "./routine_$program" >> "$log" 2>&1
    ok $? "routines/$program.c builds and runs with 1 to 3 PEs" "$log"
done
build "$OSHCC" first.c
timeout 60 $OSHRUN -n 4 ./first 2> "$log" | sort > out
[ "$(cat out)" = "$(printf 'PE %d of 4: 4 hits\n' 0 1 2 3)" ]
ok $? "./first, 4 PEs" out

# The heat equation in the other languages of kernels, against the solution of one PE.
heat() { # program, language
    for n in 1 2 3; do
        timeout 150 $OSHRUN -n $n "./$1" 48 60 "$1.png" > "$log" 2>&1 && grep -q ': right$' "$log" && [ -s "$1.png" ]
        ok $? "the heat equation in $2, $n PEs" "$log"
    done
}
. "$top_srcdir/test/lib/sycl.sh"
if ! pkg-config --exists libpng; then
    skip "the heat equation in CUDA C++ and in SYCL" "libpng-dev is not installed"
else
    png="$(pkg-config --cflags --libs libpng) -lm"
    # shellcheck disable=SC2086
    "$OSHCC" -O2 -Wall -Wextra -Werror "$top_srcdir/examples/heat.c" "$top_srcdir/examples/heat.cu" -o heat_cuda $png > "$log" 2>&1
    status=$?
    if no_cuda=$(grep 'compiling kernels needs' "$log") || ! [ -f "$top_builddir/.libs/libcuda_cpu.so" ]; then
        skip "the heat equation in CUDA C++" "${no_cuda:-this build has no device backend (libze-dev)}"
    else
        ok $status "heat.c and heat.cu build" "$log"
        SHMEM_DEVICE=cuda-cpu heat heat_cuda "CUDA C++"
    fi
    if find_sycl "$work/jit"; then
        # shellcheck disable=SC2086
        $OSHCXX --sycl -O2 -Wall -Wextra -Werror "$top_srcdir/examples/heat_sycl.cpp" -o heat_sycl $png > "$log" 2>&1
        ok $? "heat_sycl.cpp builds" "$log"
        heat heat_sycl SYCL
    else
        skip "the heat equation in SYCL" "$no_sycl"
    fi
fi

if command -v mpicc > /dev/null && command -v mpirun > /dev/null; then
    OSHCC_CC=mpicc && export OSHCC_CC
    build "$OSHCC" mpi.c
    unset OSHCC_CC
    echo 'the sum of the squares from 1 to 3 is 14' > mpi.right
    gives mpi.right 3 ./mpi
    OSHRUN="mpirun --map-by :oversubscribe" # an option that Open MPI 4 to 6 accept
    gives mpi.right 3 ./mpi
else
    skip "MPI and OpenSHMEM" "Open MPI (openmpi-bin, libopenmpi-dev) is not installed"
fi
plan

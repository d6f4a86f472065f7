#!/usr/bin/env bash
# gpu.sh - checks of run.sh's programs that need no GPU: the programs compile as OpenCL C and CUDA, and pass on the CPU
# driver with few rounds; run.sh prints one line if there is no GPU.
. "${top_srcdir:=.}/test/device/run.sh"
skip() { # DESCRIPTION, REASON
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

# Catches: a litmus test or benchmark that does not build, or that fails on a driver with correct ordering.
for k in test/gpu/litmus test/gpu/bench test/gpu/compare bench/ring; do
    name=${k##*/}
    $OSHCC -O2 "-I$top_srcdir/bench" "$top_srcdir/$k.c" "$top_srcdir/$k.cl" -o "$work/$name" > "$work/log" 2>&1
    ok $? "$name compiles" "$work/log"
    if command -v nvcc > /dev/null; then
        $OSHCC --kernels=cuda -O2 "-I$top_srcdir/bench" "$top_srcdir/$k.c" "$top_srcdir/$k.cl" -o "$work/$name.cuda" \
            > "$work/log" 2>&1
        ok $? "$name compiles with nvcc" "$work/log"
    else
        skip "$name compiles with nvcc" "not installed: nvcc"
    fi
done
# Catches: kernels that clang compiles to PTX that is refused or wrong, where there is no nvcc.
(. "$top_srcdir/src/tools/llvm.sh" && find_llvm && echo "$clang") > "$work/clang"
if "$(cat "$work/clang")" -print-targets 2> /dev/null | grep -q nvptx64; then
    NVCC=$(cat "$work/clang") $OSHCC --kernels=cuda -O2 "$top_srcdir/test/gpu/litmus.c" "$top_srcdir/test/gpu/litmus.cl" \
        -o "$work/litmus.clang" > "$work/log" 2>&1
    ok $? "litmus compiles to PTX with clang, without CUDA's headers" "$work/log"
    for direct in 1 0; do
        SHMEM_DEVICE=cuda-cpu run 2 $direct "$work/litmus.clang" 20
        ok $? "litmus compiled by clang, 2 PEs on CUDA on the CPU, direct=$direct" "$work/log"
    done
else
    skip "litmus compiled by clang for CUDA" "clang has no target nvptx64"
fi
if find_sycl "$work/jit"; then
    compile_sycl "$work/litmus.sycl" "$top_srcdir/test/gpu/litmus.c" "$top_srcdir/test/gpu/litmus.cl"
    ok $? "litmus compiles as SYCL" "$work/log"
    for setting in 1:1 2:1 2:0; do # the first compiles the kernels for all
        run "${setting%:*}" "${setting#*:}" "$work/litmus.sycl" 20
        ok $? "litmus as SYCL, ${setting%:*} PEs, direct=${setting#*:}" "$work/log"
    done
else
    skip "litmus compiles as SYCL" "$no_sycl"
fi
for pes in 1 2; do
    for direct in 1 0; do
        run $pes $direct "$work/litmus" 20
        ok $? "litmus, $pes PEs, direct=$direct" "$work/log"
    done
done
ZE_CPU_PRIVATE=1 run 1 0 "$work/litmus" 20
ok $? "litmus through the ring, on memory that the host cannot access" "$work/log"
run 1 0 "$work/bench" 0.05 && [ "$(grep -c '^{"bench": .*}$' "$work/log")" = 8 ]
ok $? "bench prints one JSON line per figure" "$work/log"
run 1 1 "$work/compare" 2 65536 && [ "$(grep -c '^{"bench": .*}$' "$work/log")" = 25 ]
ok $? "compare: one PE" "$work/log"
run 2 0 "$work/compare" 20 65536 && [ "$(grep -c '^{"bench": .*}$' "$work/log")" = 7 ]
ok $? "compare: two PEs" "$work/log"

# Catches: a script that prints many errors, or passes, without a GPU.
if [ -e /dev/nvidia0 ]; then
    skip "run.sh without a GPU" "this machine has a GPU"
else
    (cd "$top_srcdir" && test/gpu/run.sh) > "$work/log" 2>&1
    [ $? = 77 ] && [ "$(grep -c 'no NVIDIA GPU here' "$work/log")" = 1 ] && [ "$(wc -l < "$work/log")" = 1 ]
    ok $? "run.sh without a GPU: one line" "$work/log"
fi
plan

#!/usr/bin/env bash
# gpu.sh - what run.sh starts on a machine with a GPU, as far as one without can tell: the programs compile in both
# forms, and pass on the driver on the CPU with few rounds; run.sh says in one line that there is no GPU.
. "${top_srcdir:=.}/test/device/run.sh"
skip() { # DESCRIPTION, REASON
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

# Catches: a litmus test or benchmark that does not build, or that fails where the order is known to be right.
for k in test/gpu/litmus test/gpu/bench bench/ring; do
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
for pes in 1 2; do
    for direct in 1 0; do
        run $pes $direct "$work/litmus" 20
        ok $? "litmus, $pes PEs, direct=$direct" "$work/log"
    done
done
ZE_CPU_PRIVATE=1 run 1 0 "$work/litmus" 20
ok $? "litmus by the ring, on memory that the host cannot touch" "$work/log"
run 1 0 "$work/bench" 0.05 && [ "$(grep -c '^{"bench": .*}$' "$work/log")" = 8 ]
ok $? "bench prints a line of JSON a figure" "$work/log"

# Catches: a script that fails in many words, or passes, where there is nothing to run.
if [ -e /dev/nvidia0 ]; then
    skip "run.sh without a GPU" "there is one here"
else
    (cd "$top_srcdir" && test/gpu/run.sh) > "$work/log" 2>&1
    [ $? = 77 ] && [ "$(grep -c 'no NVIDIA GPU here' "$work/log")" = 1 ] && [ "$(wc -l < "$work/log")" = 1 ]
    ok $? "run.sh without a GPU: one line" "$work/log"
fi
plan

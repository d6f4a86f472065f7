#!/usr/bin/env bash
# kernels.sh - oshcc --race: the racy kernels of kernels.c are reported and the mended ones are not, in SPIR-V on libze_cpu.so and in PTX on
# libcuda_cpu.so, where kernels access the memory of other PEs themselves, where they request it of the proxy, and over the network; and what a
# report says of a kernel. Catches: a rule that the drivers or libfulmar_race do not know, or apply where it does not hold; a driver that
# reports nothing; a report with another line, work-item or kernel.
. "${top_srcdir:=.}/test/device/run.sh"
if [ ! -f "$top_builddir/.libs/libfulmar_race.so" ]; then
    skip_all "libfulmar_race needs on_exit of glibc"
fi
here=$top_srcdir/test/race
cp "$here/kernels.c" "$here/kernels.cl" "$work" || exit 99

build() { # PROGRAM OPTIONS...
    $OSHCC --race -O1 "${@:2}" -o "$1" "$work/kernels.c" "$work/kernels.cl" >"$work/log" 2>&1
}

cases() { # PROGRAM WHAT
    "$1" | while read -r name rule; do
        for how in racy mended; do
            timeout -k 5 100 $OSHRUN -n 3 "$1" "$name" $how >"$work/out" 2>&1 </dev/null
            status=$?
            if [ $how = racy ]; then
                [ $status -eq 66 ] && grep -q '^fulmar race: byte [0-9]* of 64 from shmemg_calloc at kernels.c:[0-9]* of PE [0-9], [0-9] bytes*$' "$work/out" &&
                    grep -q '^    PE [0-9] work-item [0-9]*: .*, in kernel [a-z_]* at .*kernels.cl:[0-9]*$' "$work/out" &&
                    grep -q '^    missing: ' "$work/out"
            else
                [ $status -eq 0 ] && ! grep -q 'fulmar race' "$work/out"
            fi || { echo "$name, of rule $rule, $how: status $status" && cat "$work/out"; }
        done
    done >"$work/wrong"
    [ ! -s "$work/wrong" ] && [ "$("$1" | wc -l)" -ge 20 ]
    ok $? "kernels, racy and mended: $2" "$work/wrong"
}

# In a build over the network there is no other way.
ways() { # PROGRAM WHAT
    [ "$SHMEM_TRANSPORT" = ofi ] || cases "$1" "$2"
    SHMEM_TRANSPORT=ofi cases "$1" "$2, over the network"
}

build "$work/spirv"
ok $? "the program compiles" "$work/log"
unset SHMEM_DEVICE
export SHMEM_DEVICE_SYMMETRIC_SIZE=8M
ways "$work/spirv" SPIR-V
[ "$SHMEM_TRANSPORT" = ofi ] || SHMEM_TEST_DEVICE_DIRECT=0 cases "$work/spirv" "SPIR-V, by the proxy"

if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
    build "$work/cuda" --kernels=cuda
    ok $? "the program compiles for CUDA" "$work/log"
    SHMEM_DEVICE=cuda-cpu ways "$work/cuda" PTX
else
    skip "kernels, racy and mended: PTX" "nvcc is not installed"
fi

sed -n 's/^| \*\*\(K[0-9]*\)\*\* |.*/\1/p' "$top_srcdir/doc/memory-model.md" | LC_ALL=C sort >"$work/rules"
"$work/spirv" | awk '{ print $2 }' | LC_ALL=C sort -u | diff "$work/rules" - >"$work/log" && [ "$(wc -l <"$work/rules")" -gt 4 ]
ok $? "each rule of kernels in doc/memory-model.md has a program" "$work/log"

# ---- streams ------------------------------------------------------------------------------------------------------------

streams() { # HOW LIBRARY-OR-MODULE: kernels without the device library, whose image has no line numbers
    for case in kernels host; do
        timeout -k 5 100 $OSHRUN -n 1 "$work/streams" "$1" "$2" $case racy >"$work/log" 2>&1
        racy=$?
        grep -q "work-item 0: store writes, in kernel write at instruction [0-9]*\$" "$work/log" || racy=none
        timeout -k 5 100 $OSHRUN -n 1 "$work/streams" "$1" "$2" $case mended >"$work/out" 2>&1
        mended=$?
        cat "$work/out" >>"$work/log"
        [ $racy = 66 ] && [ $mended = 0 ] && ! grep -q 'fulmar race' "$work/out"
        ok $? "two streams, $1: an event is missing for the $case, and mended" "$work/log"
    done
}
printf 'kernel void write(global int *x) { *x = 4; }\nkernel void read(global int *x, global int *y) { *y = *x; }\n' >"$work/streams.cl"
"$top_srcdir/test/ze_cpu/cl.sh" "$work/streams.cl" "$work/streams.spv" >"$work/log" 2>&1 &&
    $OSHCC --race -O1 -o "$work/streams" "$here/streams.c" -lze_loader -ldl >"$work/log" 2>&1
ok $? "streams.c compiles" "$work/log"
streams ze "$work/streams.spv"
SHMEM_DEVICE=cuda-cpu streams cuda "$(realpath "$top_builddir/.libs/libcuda_cpu.so")"

# ---- the reports --------------------------------------------------------------------------------------------------------

line() { # KERNEL TEXT: its line in kernels.cl, within the kernel
    awk -v kernel=" $1(" -v text="$2" 'index($0, kernel) { in_it = 1 } in_it && index($0, text) { print NR; exit }' "$work/kernels.cl"
}
run() { # SETTINGS... CASE
    timeout -k 5 100 env "${@:1:$#-1}" $OSHRUN -n 3 "$work/spirv" "${@: -1}" racy >"$work/log" 2>&1 </dev/null
}

run SHMEM_RACE=report k3_items
[ $? -eq 66 ] && [ "$(grep -c '^fulmar race' "$work/log")" -eq 1 ] &&
    grep -q "PE 0 work-item 2: store writes, in kernel items at .*kernels.cl:$(line items '*x = 1')\$" "$work/log" &&
    grep -q "PE 0 work-item 5: load reads, in kernel items at .*kernels.cl:$(line items '*y = *x')\$" "$work/log" &&
    grep -q 'missing: nothing orders the two work-items: a barrier of their group' "$work/log"
ok $? "one report, with both work-items, their kernel and lines" "$work/log"

run SHMEM_RACE=report k5_fence
[ $? -eq 66 ] && grep -q "PE 0 work-item 0: put writes, in kernel put_flag at .*kernels.cl:$(line put_flag 'shmemg_int_p')\$" "$work/log" &&
    grep -q 'PE 1 thread 0: load reads, in k5_fence at kernels.c:' "$work/log"
ok $? "a call of the device library is at the program's line" "$work/log"

run SHMEM_RACE=report k2_barrier
[ $? -eq 66 ] && grep -q "PE 0 thread [0-9]*: shmemx_getmem_on_queue reads, in k2_barrier at kernels.c:$(awk '/shmemx_getmem_on_queue/ { print NR; exit }' "$here/kernels.c")\$" "$work/log"
ok $? "a call on the queue is at its place" "$work/log"

run SHMEM_RACE=json k3_items
[ $? -eq 66 ] && grep -q '"pe": 0, "item": 2, "routine": "store", "writes": true, "function": "kernel items"' "$work/log"
ok $? "SHMEM_RACE=json" "$work/log"

printf 'kernel item*\n' >"$work/suppress"
run SHMEM_RACE_SUPPRESS="$work/suppress" k3_items && ! grep -q 'fulmar race' "$work/log"
ok $? "SHMEM_RACE_SUPPRESS: a kernel" "$work/log"
plan

#!/usr/bin/env bash
# cuda.sh - oshcc --race --cuda: races of kernels of one source that <<<>>> starts and that call NVSHMEM are reported with the kernel's name and
# the program's line, the mended ones are not; where kernels access the memory of other PEs themselves, and over the network.
# Catches: device code or host code that is not instrumented, calls of NVSHMEM that are not reported, a line of a header in place of the program's.
. "${top_srcdir:=.}/test/device/run.sh"
[ -f "$top_builddir/.libs/libfulmar_race.so" ] || skip_all "libfulmar_race needs on_exit of glibc"
command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ] || skip_all "nvcc is not installed"
cp "$top_srcdir/test/race/cuda.cu" "$work" || exit 99
$OSHCC --race --cuda -O1 -arch=sm_80 "$work/cuda.cu" -o "$work/cuda" > "$work/log" 2>&1
ok $? "cuda.cu compiles" "$work/log"
export SHMEM_DEVICE=cuda-cpu SHMEM_DEVICE_SYMMETRIC_SIZE=8M

cases() { # WHAT
    "$work/cuda" | while read -r name; do
        for how in racy mended; do
            timeout -k 5 100 $OSHRUN -n 2 "$work/cuda" "$name" $how > "$work/out" 2>&1 < /dev/null
            status=$?
            if [ $how = racy ]; then
                [ $status -eq 66 ] && grep -q '^    PE [01] work-item 0: .*, in kernel [a-zA-Z0-9_]* at .*/cuda.cu:[0-9]*$' "$work/out"
            else
                [ $status -eq 0 ] && ! grep -q 'fulmar race' "$work/out"
            fi || { echo "$name $how: status $status" && cat "$work/out"; }
        done
    done > "$work/wrong"
    [ ! -s "$work/wrong" ] && [ "$("$work/cuda" | wc -l)" -ge 8 ]
    ok $? "racy and mended: $1" "$work/wrong"
}
[ "$SHMEM_TRANSPORT" = ofi ] || cases "on a node"
SHMEM_TRANSPORT=ofi cases "over the network"

line=$(awk '/void put\(/ { in_it = 1 } in_it && /nvshmem_int_p/ { print NR; exit }' "$work/cuda.cu")
timeout -k 5 100 $OSHRUN -n 2 "$work/cuda" pes racy > "$work/out" 2>&1 < /dev/null
grep -q "PE 0 work-item 0: put writes, in kernel [a-zA-Z0-9_]*put[a-zA-Z0-9_]* at .*/cuda.cu:$line\$" "$work/out"
ok $? "a call of NVSHMEM is at the program's line" "$work/out"
plan

#!/usr/bin/env bash
# program.sh - CUDA C++ of one source (program.cu): compiled by oshcc with nvcc, with the CUDA runtime of src/cudart, on libcuda_cpu.so.
#
# Catches: a call of the runtime that does something else than NVIDIA's; kernels that are launched with <<<>>> and have no context.
export OSHCC_KERNELS=cuda SHMEM_DEVICE=cuda-cpu
if [ ! -f "$top_builddir/.libs/libcuda_cpu.so" ]; then
    echo "1..0 # SKIP this build has no libcuda_cpu.so (libze-dev)"
    exit 0
fi
. "${top_srcdir:=.}/test/device/run.sh"
ptx="-gencode arch=compute_90,code=compute_90" # all that libcuda_cpu.so uses

# shellcheck disable=SC2086
{ $OSHCC $ptx -c "$top_srcdir/test/device/program_other.cu" -o "$work/other.o" &&
    $OSHCC $ptx "$top_srcdir/test/device/program.cu" "$work/other.o" -o "$work/program"; } > "$work/log" 2>&1
ok $? "a program of two files compiles, one of them to an object" "$work/log"
for n in 1 2; do
    run $n 1 "$work/program" && [ "$(grep -c '^0 failed$' "$work/log")" = $n ]
    ok $? "$n PEs: memory, streams, launches, textures, calls of Fulmar in both files' kernels" "$work/log"
done
run 2 0 "$work/program"
ok $? "2 PEs, by the ring" "$work/log"

# Catches: parameters of nodes that the runtime passes on wrongly; a module that gets no context while a stream is captured.
$OSHCC $ptx "$top_srcdir/test/device/graphs.cu" -o "$work/graphs" > "$work/log" 2>&1 && run 2 1 "$work/graphs" && [ "$(grep -c '^graphs: 0 failed$' "$work/log")" = 2 ]
ok $? "graphs: captured, built, changed, with calls of Fulmar" "$work/log"

# Device code of several files, linked (-rdc=true): in one command; from objects; by -dlink; from a library; where PTX is all there is.
# Catches: functions, variables and constants of another file that are not found, or local ones that are mixed up.
rdc() { # DESCRIPTION, a command that makes $work/linked
    sh -c "cd '$work' && rm -f linked *.o *.a && $2" > "$work/log" 2>&1 && run 2 1 "$work/linked" && [ "$(grep -c '^linked: 0 failed$' "$work/log")" = 2 ]
    ok $? "device code is linked: $1" "$work/log"
}
a=$(realpath "$top_srcdir/test/device/linked.cu") b=$(realpath "$top_srcdir/test/device/linked_other.cu")
rdc "two files, PTX and machine code" "$OSHCC -rdc=true '$a' '$b' -o linked"
rdc "two files, PTX only" "$OSHCC -rdc=true $ptx '$a' '$b' -o linked"
rdc "-dc, -dlink" "$OSHCC -dc -arch=sm_90 '$a' '$b' && $OSHCC -dlink -arch=sm_90 linked.o linked_other.o -o device.o &&
    $OSHCC --cuda -arch=sm_90 linked.o linked_other.o device.o -o linked"
rdc "a library" "$OSHCC -dc $ptx '$a' '$b' && ar rcs libother.a linked_other.o && $OSHCC --cuda $ptx linked.o -L. -lother -o linked"

# Catches: a program without PTX that gives wrong results, or no reason.
(cd "$work" && $OSHCC -rdc=true -gencode arch=compute_90,code=sm_90 "$a" "$b" -o linked) > "$work/log" 2>&1 &&
    ! run 1 1 "$work/linked" && [ "$(grep -c 'no PTX: compile with nvcc -gencode' "$work/log")" = 1 ]
ok $? "device code that is linked without PTX: one line" "$work/log"

# Catches: a program that does not say which device it needs.
SHMEM_DEVICE=cuda "$work/program" > "$work/log" 2>&1
[ $? != 0 ] && { [ -e /dev/nvidia0 ] || grep -q 'with SHMEM_DEVICE=cuda-cpu the kernels run on the processor' "$work/log"; }
ok $? "without a GPU one line names the driver for the CPU" "$work/log"
plan

#!/usr/bin/env bash
# languages.sh - one program with kernels in SYCL, OpenCL C and CUDA C++: each runs where the PE's device is of its kind, and PEs with devices of
# different kinds communicate. Catches: an image that hides another, a kernel of another kind that is taken for a missing one, a heap of another
# kind that is mapped, a static library without the address that kernels in SYCL need.
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/test/lib/sycl.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
find_sycl "$work/jit" || skip_all "$no_sycl"
(. "$top_srcdir/src/tools/llvm.sh" && find_llvm) || skip_all "LLVM with llvm-spirv compiles kernels; it is not installed"

cat > "$work/three.cpp" << 'END'
/* Each kernel that argument 1 names puts into one of the next PE's words: 100, 200 or 300 and its PE's number. */
#include <ishmemx.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    ishmem_init();
    int me = ishmem_my_pe(), next = (me + 1) % ishmem_n_pes();
    long *words = (long *)ishmem_calloc(3, sizeof *words), got[3];
    if (!words || argc < 2)
        return 3;
    const size_t one[3] = {1, 1, 1}, bytes[1] = {sizeof words};
    void *args[1] = {&words};
    if (strstr(argv[1], "sycl"))
        sycl::queue().single_task([=] { ishmem_long_p(words, 100 + me, next); }).wait();
    if (strstr(argv[1], "opencl"))
        shmemx_launch("from_opencl", one, one, args, bytes, 1);
    if (strstr(argv[1], "cuda"))
        shmemx_launch("from_cuda", one, one, args, bytes, 1);
    ishmem_barrier_all();
    shmem_getmem(got, words, sizeof got, me);
    printf("PE %d: %ld %ld %ld\n", me, got[0], got[1], got[2]);
    ishmem_finalize();
}
END
cat > "$work/three.cl" << 'END'
#include <shmemg.h>
__kernel void from_opencl(__global long *words)
{
    shmemg_long_p(words + 1, 200 + shmemg_my_pe(), (shmemg_my_pe() + 1) % shmemg_n_pes());
}
END
cat > "$work/three.cu" << 'END'
#include <shmemg.h>
extern "C" __global__ void from_cuda(long *words)
{
    shmemg_long_p(words + 2, 300 + shmemg_my_pe(), (shmemg_my_pe() + 1) % shmemg_n_pes());
}
END
cat > "$work/each" << END
#!/bin/sh
case \$PMIX_RANK in
1) SHMEM_DEVICE=cuda-cpu exec "$work/three" cuda ;;
*) exec "$work/three" sycl,opencl ;;
esac
END
chmod +x "$work/each"
runs() { # PEs, words of each PE, program, argument
    timeout 120 $OSHRUN -n "$1" "${@:3}" > "$work/log" 2>&1 && [ "$(sed -n 's/^PE [0-9]: //p' "$work/log" | sort -n)" = "$2" ]
}
says() { # a message
    grep -q "$1" "$work/log"
}

cuda=$work/three.cu
if ! $OSHCC -c "$cuda" -o "$work/cuda.o" > "$work/log" 2>&1 && no_cuda=$(grep 'compiling kernels needs' "$work/log"); then
    cuda=
fi
# shellcheck disable=SC2086
$OSHCXX --sycl -O2 "$work/three.cpp" "$work/three.cl" $cuda -o "$work/three" > "$work/log" 2>&1
ok $? "a program with kernels in all languages compiles" "$work/log"
runs 2 "100 200 0
101 201 0" "$work/three" sycl,opencl
ok $? "kernels in SYCL and OpenCL C on one device" "$work/log"
# Catches: PEs that share a device although the node has more.
printf '#!/bin/sh\nZE_AFFINITY_MASK=$PMIX_RANK exec "%s" sycl\n' "$work/three" > "$work/own" && chmod +x "$work/own"
ZE_CPU_DEVICES=2 runs 2 "100 0 0
101 0 0" "$work/three" sycl && says "2 PEs of this node use SYCL's default device, 1 of 2"
ok $? "a line says that the PEs share SYCL's default device" "$work/log"
ZE_CPU_DEVICES=2 SHMEM_DEBUG=1 runs 2 "100 0 0
101 0 0" "$work/own" && ! says "use SYCL's default device" && says 'PE 1: device cpu:0 of 1: ze_cpu device 1'
ok $? "ZE_AFFINITY_MASK gives each PE a device of its own" "$work/log"
if [ "$cuda" ]; then
    timeout 60 $OSHRUN -n 2 "$work/three" cuda > "$work/log" 2>&1 && says 'no kernel "from_cuda" among those for cpu; the program has others, for another'
    ok $? "a line says that a kernel is for another kind of device" "$work/log"
    SHMEM_DEVICE=cuda-cpu runs 2 "0 0 300
0 0 301" "$work/three" cuda && says "kernels cannot communicate: SYCL's default device"
    ok $? "the kernel in CUDA C++ on its device, and a line that those in SYCL cannot communicate there" "$work/log"
    SHMEM_TRANSPORT=ofi runs 3 "0 0 301
100 200 0
102 202 0" "$work/each"
    ok $? "kernels in all languages in one job, PEs with devices of two kinds" "$work/log"
    ! timeout 60 $OSHRUN -n 2 "$work/each" > "$work/log" 2>&1 && says "this PE's device is cpu's, PE 1 of this node has one of another kind" &&
        says "this PE's device is cuda-cpu's, PE 0"
    ok $? "without a network: a line says what PEs with devices of two kinds need" "$work/log"
else
    skip "kernels in CUDA C++ in the same program" "$no_cuda"
fi
echo '__global__ void k() {} void start() { k<<<1, 1>>>(); }' > "$work/one.cu"
! $OSHCXX --sycl "$work/three.cpp" "$work/one.cu" -o "$work/refused" > "$work/log" 2>&1 && says 'takes from CUDA C++ only kernels that shmemx_launch starts'
ok $? "a line refuses CUDA C++ of one source in a program in SYCL" "$work/log"
if [ -f "$top_builddir/.libs/libfulmar.a" ]; then
    $OSHCXX --sycl --static-shmem -O2 "$top_srcdir/examples/pass_sycl.cpp" -o "$work/static" > "$work/log" 2>&1
    ok $? "oshc++ --sycl --static-shmem compiles" "$work/log"
    for direct in 1 0; do
        ZE_ENABLE_ALT_DRIVERS=$top_builddir/.libs/libze_cpu.so SHMEM_TEST_DEVICE_DIRECT=$direct timeout 60 $OSHRUN -n 3 "$work/static" > "$work/log" 2>&1 &&
            says '^PE 2 of 3: 10$' && says '^PE 0 of 3: 20$'
        ok $? "SYCL with the static library, direct $direct" "$work/log"
    done
else
    skip "SYCL with the static library" "this build has none"
fi
plan

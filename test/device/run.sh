# run.sh - for tests that compile kernels and run them on every PE's device; source it first. Skips the whole test where
# that is impossible; sets $work, a temporary folder, and defines run.
if [ "${OSHCC_KERNELS:-spirv}" = cuda ]; then
    if ! command -v "${NVCC:-nvcc}" > /dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
        echo "1..0 # SKIP nvcc compiles kernels for CUDA; it is not installed"
        exit 0
    fi
elif ! (. "${top_srcdir:=.}/src/tools/llvm.sh" && find_llvm); then
    echo "1..0 # SKIP LLVM with llvm-spirv compiles kernels; it is not installed"
    exit 0
elif [ ! -f "$top_builddir/.libs/libze_cpu.so" ]; then
    echo "1..0 # SKIP this build has no device backend (libze-dev)"
    exit 0
fi
# Variants of jobs. Over the network no PE maps another's memory.
# DEVICE_AGAIN: again.sh runs the test with its settings; parts that do not depend on them are left out.
directs='1 0' privates=${ZE_CPU_PRIVATE:-0 1}
[ "$SHMEM_TRANSPORT" != ofi ] || directs=0
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
. "${top_srcdir:=.}/test/tap.sh"
. "$top_srcdir/test/lib/sycl.sh"
# Compile a program with its kernels as SYCL.
compile_sycl() { # OUT FILE.c FILE.cl [OPTIONS]
    OSHCC=$OSHCC OSHCXX=$OSHCXX "$top_srcdir/bench/sycl_kernels" "$@" > "$work/log" 2>&1
}
# Compile $work/NAME.c and NAME.cl to $work/NAME-spirv and, with nvcc, NAME-cuda. $ways: those made, each with its device.
compile_ways() { # NAME
    $OSHCC -O2 "$work/$1.c" "$work/$1.cl" -o "$work/$1-spirv" > "$work/log" 2>&1
    ok $? "the program compiles" "$work/log"
    ways=spirv:auto
    if command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
        $OSHCC --kernels=cuda -O2 "$work/$1.c" "$work/$1.cl" -o "$work/$1-cuda" > "$work/log" 2>&1
        ok $? "the program compiles for CUDA" "$work/log"
        ways="$ways cuda:cuda-cpu"
    else
        skip "the program compiles for CUDA" "nvcc is not installed"
    fi
}
# The same program as SYCL, NAME-sycl, after compile_ways.
compile_way_sycl() { # NAME
    if find_sycl "$work/jit"; then
        compile_sycl "$work/$1-sycl" "$work/$1.c" "$work/$1.cl"
        ok $? "the program compiles as SYCL" "$work/log"
        ways="$ways sycl:auto"
    else
        skip "the program as SYCL" "$no_sycl"
    fi
}
use_way() { # one of $ways
    export SHMEM_DEVICE=${1#*:}
    [ "$SHMEM_DEVICE" != auto ] || unset SHMEM_DEVICE
}
run() { # PEs, direct, program, arguments
    SHMEM_TEST_DEVICE_DIRECT=$2 SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 120 $OSHRUN -n "$1" "${@:3}" > "$work/log" 2>&1
}

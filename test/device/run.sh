# run.sh - for tests that compile kernels and run them on every PE's device: sourced first. Skips the whole test where
# that cannot be; gives $work, a folder that goes at the end, and run.
if [ "${OSHCC_KERNELS:-spirv}" = cuda ]; then
    if ! command -v "${NVCC:-nvcc}" > /dev/null && [ ! -x /usr/local/cuda/bin/nvcc ]; then
        echo "1..0 # SKIP nvcc compiles kernels for CUDA; it is not installed"
        exit 0
    fi
elif ! command -v clang-14 > /dev/null || ! command -v llvm-spirv-14 > /dev/null; then
    echo "1..0 # SKIP clang-14 and llvm-spirv-14 compile kernels; they are not installed"
    exit 0
elif [ ! -f "$top_builddir/.libs/libze_cpu.so" ]; then
    echo "1..0 # SKIP this build has no device backend (libze-dev)"
    exit 0
fi
# What jobs differ in. Over the network no PE maps another's memory, and no atomic reaches memory that hosts cannot touch.
# DEVICE_AGAIN: again.sh runs the test with its settings, and what does not depend on them need not run.
directs='1 0' privates=${ZE_CPU_PRIVATE:-0 1}
[ "$SHMEM_TRANSPORT" != ofi ] || directs=0 privates=0
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
. "${top_srcdir:=.}/test/tap.sh"
run() { # PEs, direct, program, arguments
    SHMEM_DEVICE_DIRECT=$2 SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 120 $OSHRUN -n "$1" "${@:3}" > "$work/log" 2>&1
}

#!/usr/bin/env bash
# others.sh - well-known CUDA programs, unchanged, on libcuda_cpu.so: they compare their results with the host's. Their sources
# are not in this tree; the variables below name checkouts of their repositories.
#
#   FULMAR_CUDA_SAMPLES    https://github.com/NVIDIA/cuda-samples
#   FULMAR_POLYBENCH_GPU   https://github.com/sgrauerg/polybenchGpu
#   OTHERS                 names of the programs to run; default: all
#
# Samples that are not here need what the driver or the runtime for the CPU lacks, by the calls and instructions that they have: tensor cores (*TensorCoreGemm); launches by kernels (cdp*); pools of other processes (streamOrderedAllocationIPC); two GPUs (streamOrderedAllocationP2P); events of
# other processes (simpleIPC); attributes of streams (simpleAttributes); calls of virtual functions (newdelete); an error of its own for a failed assert (simpleAssert); or another library (NVRTC,
# cuBLAS, cuFFT, cuRAND, NPP, OpenGL and the like).
# graphMemoryFootprint, simpleStreams, simplePitchLinearTexture, convolutionTexture and HSOpticalFlow run for many minutes.
#
# Catches: PTX as nvcc writes it for others' kernels that is refused or computes something else.
. "${top_srcdir:=.}/test/tap.sh"
: "${top_builddir:=.}"
nvcc=$(command -v "${NVCC:-nvcc}" || ls /usr/local/cuda/bin/nvcc 2> /dev/null)
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ "${FULMAR_CUDA_SAMPLES-}${FULMAR_POLYBENCH_GPU-}" ] ||
    skip_all "FULMAR_CUDA_SAMPLES and FULMAR_POLYBENCH_GPU name no checkout of others' CUDA programs"
[ "$nvcc" ] || skip_all "nvcc compiles the programs; it is not installed"
[ -f "$top_builddir/.libs/libcuda_cpu.so" ] || skip_all "this build has no libcuda_cpu.so (libze-dev)"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export SHMEM_DEVICE=cuda-cpu
# Names that CUDA 13 no longer has.
printf '#define cudaThreadSynchronize cudaDeviceSynchronize\n#define cudaThreadExit cudaDeviceReset\n' > "$work/older.h"

# Compile a program and run it; it passes if it ends with 0 and a line of its output matches.
program() { # NAME, PATTERN, FLAGS, sources, then -- and arguments
    local name=$1 pattern=$2 flags=$3 sources=()
    shift 3
    [ ! "${OTHERS-}" ] || [[ " $OTHERS " == *" $name "* ]] || return
    while [ $# -gt 0 ] && [ "$1" != -- ]; do sources+=("$1") && shift; done
    shift
    # shellcheck disable=SC2086
    $OSHCC --cuda -w -gencode arch=compute_80,code=compute_80 -include "$work/older.h" $flags "${sources[@]}" -o "$work/$name" > "$work/log" 2>&1 &&
        (cd "$work" && timeout 600 "./$name" "$@") >> "$work/log" 2>&1 && grep -qE "$pattern" "$work/log" &&
        ! grep -q '^cuda_cpu:' "$work/log"
    ok $? "$name${*:+ $*}" "$work/log"
}

if [ "${FULMAR_CUDA_SAMPLES-}" ]; then
    samples=$FULMAR_CUDA_SAMPLES/Samples
    sample() { # FOLDER, PATTERN, arguments
        local dir=$samples/$1 pattern=$2 sources
        shift 2
        [ -d "$dir" ] || return
        [ ! -d "$dir/data" ] || cp -r "$dir/data" "$work"
        mapfile -t sources < <(find "$dir" -name '*.cu' -o -name '*.cpp')
        program "$(basename "$dir")" "$pattern" "${more-} -I$FULMAR_CUDA_SAMPLES/Common -I$dir -I$dir/inc" "${sources[@]}" -- "$@"
    }
    passed='[Pp]assed|PASS|SUCCESS|OK'
    for s in vectorAdd fp16ScalarProduct simpleVoteIntrinsics simpleAtomicIntrinsics; do
        sample "0_Introduction/$s" "$passed"
    done
    sample 0_Introduction/matrixMul 'Result = PASS' -wA=64 -hA=64 -wB=64 -hB=64 # the default takes minutes
    sample 0_Introduction/simpleCooperativeGroups 'tiledPartition16 group is 120 \(expected 120\)'
    sample 0_Introduction/asyncAPI 'CPU executed [0-9]+ iterations' # they end with 1 where a result is wrong
    sample 0_Introduction/simpleHyperQ 'Measured time'
    sample 0_Introduction/simpleCallback '^Success'
    sample 0_Introduction/simpleMultiGPU 'Relative difference: [0-9.]+E-(0[6-9]|1)'
    sample 0_Introduction/simpleMultiCopy 'Overlapped using 4 streams'
    sample 0_Introduction/simplePrintf '\[3, 7\]:.*Value is:10'
    sample 0_Introduction/simpleTemplates 'Test Results: 0 Failures'
    sample 0_Introduction/simpleZeroCopy 'Releasing CPU memory'
    sample 0_Introduction/template 'Processing time'
    for s in 0_Introduction/simpleOccupancy 0_Introduction/systemWideAtomics 1_Utilities/deviceQuery 1_Utilities/deviceQueryDrv; do
        sample "$s" "$passed"
    done
    for s in threadFenceReduction shfl_scan; do # they end with 1 where a result is wrong
        sample "2_Concepts_and_Techniques/$s" 'CPU result|CheckSum'
    done
    for s in scalarProd sortingNetworks histogram scan convolutionSeparable; do
        sample "2_Concepts_and_Techniques/$s" "$passed"
    done
    for s in 3_CUDA_Features/warpAggregatedAtomicsCG 0_Introduction/mergeSort 5_Domain_Specific/fastWalshTransform \
             6_Performance/LargeKernelParameter 6_Performance/alignedTypes; do
        sample "$s" "$passed"
    done
    sample 2_Concepts_and_Techniques/streamOrderedAllocation 'PostSync PASSED'
    sample 3_CUDA_Features/simpleCudaGraphs 'Cloned Graph Output'
    sample 3_CUDA_Features/graphMemoryNodes 'Cleanup complete'
    more=-rdc=true sample 3_CUDA_Features/graphConditionalNodes 'simpleSwitchGraph: Complete'
    more='-Xcompiler -fopenmp -lgomp' sample 0_Introduction/cudaOpenMP 'uses CUDA device 0' # it ends with 1 where a result is wrong
    sample 0_Introduction/clock 'Average clocks/block = [1-9]'
    sample 2_Concepts_and_Techniques/inlinePTX 'Test Successful'
    sample 3_CUDA_Features/binaryPartitionCG 'Odds = 50945 Sum of Odds = 1272565 Sum of Evens 1233938' # of rand() with its first seed
    for s in simpleTexture simpleLayeredTexture simpleCubemapTexture simpleSurfaceWrite; do
        sample "0_Introduction/$s" 'completed, returned OK|Comparing kernel output to expected data'
    done
    sample 2_Concepts_and_Techniques/dct8x8 'Test passed'
    sample 2_Concepts_and_Techniques/reductionMultiBlockCG 'GPU result = 1\.99240' # the host's sum is 1.99240136
    sample 5_Domain_Specific/quasirandomGenerator 'L1 norm: [0-9.]+E-(0[7-9]|1)'
    sample 5_Domain_Specific/SobolQRNG 'L1-Error: 0$'
    sample 0_Introduction/simpleAWBarrier "$passed" # mbarrier
    sample 3_CUDA_Features/globalToShmemAsyncCopy 'Result = PASS' -wA=64 -hA=64 -wB=64 -hB=64 # cp.async
    sample 4_CUDA_Libraries/lineOfSight 'Test passed' # Thrust's scan
    for k in 0 1 2 3 4 5 6 7 8 9; do
        sample 2_Concepts_and_Techniques/reduction 'Test passed' --n=65536 --kernel=$k --iterations=1
    done
fi
# Copies, whose sizes are smaller: the smallest of the repository take minutes for a kernel.
if [ "${FULMAR_POLYBENCH_GPU-}" ]; then
    mkdir "$work/polybench" && cp -r "$FULMAR_POLYBENCH_GPU/CUDA" "$FULMAR_POLYBENCH_GPU/common" "$work/polybench"
    sed -i -E 's/(define[ \t]+(N|M|N[I-Y])[ \t]+)[0-9]+/\1256/; s/(define[ \t]+(TSTEPS|TMAX)[ \t]+)[0-9]+/\14/' \
        "$work"/polybench/CUDA/*/*.cuh
    for file in "$work"/polybench/CUDA/*/*.cu; do
        [ -f "${file}h" ] || continue # the others have their sizes elsewhere
        [ "$(basename "$file")" != mvt.cu ] || continue # eight threads add to each element without atomics
        program "$(basename "$file" .cu)" 'Threshold of .* Percent: 0$|Number of misses: 0$' "-I$work/polybench/common" "$file" --
    done
fi
plan

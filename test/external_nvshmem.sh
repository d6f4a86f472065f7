#!/usr/bin/env bash
# external_nvshmem.sh - NVSHMEM's own examples and its perftest, unchanged, compiled with nvshmem.h of this tree, on libcuda_cpu.so. Their
# sources are not in this tree: FULMAR_NVSHMEM names a checkout of https://github.com/NVIDIA/nvshmem.
#
#   NVSHMEM_PROGRAMS   names of the programs to run (default: all but the GEMM for Blackwell and the tiles, which need CUTLASS)
#   NVSHMEM_PES        numbers of PEs (default: "1 2 4")
#
# Catches: a name of NVSHMEM that is missing, or whose parameters differ; a program that hangs, ends with an error, or prints a wrong result.
. "${top_srcdir:=.}/test/tap.sh"
: "${top_builddir:=.}"
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}
[ "${FULMAR_NVSHMEM-}" ] || skip_all "FULMAR_NVSHMEM names no checkout of NVSHMEM"
command -v "${NVCC:-nvcc}" > /dev/null || [ -x /usr/local/cuda/bin/nvcc ] || skip_all "nvcc compiles the programs; it is not installed"
[ -f "$top_builddir/.libs/libcuda_cpu.so" ] || skip_all "this build has no libcuda_cpu.so (libze-dev)"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export SHMEM_DEVICE=cuda-cpu OSHCC_CACHE=$work/cache
flags="-gencode arch=compute_90,code=compute_90 -w -I$FULMAR_NVSHMEM/perftest/common -I$work"
# perftest opens NVIDIA's library for management; where the toolkit is without its header, these are the names that perftest uses.
echo '#include <nvml.h>' | "${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}" -x c -E - > /dev/null 2>&1 || cat > "$work/nvml.h" << 'END'
#define NVML_API_VERSION 11
typedef int nvmlReturn_t;
typedef struct nvmlDevice_st *nvmlDevice_t;
typedef int nvmlGpuP2PCapsIndex_enum, nvmlGpuP2PStatus_t;
enum { NVML_SUCCESS };
END

# Each routine that NVSHMEM's headers declare is declared here, or has a line in nvshmem_names.txt; and each line is needed.
names() { # options of the compiler
    printf '#include <nvshmem.h>\n#include <nvshmemx.h>\n' > "$work/names.cu"
    "${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}" -E -arch=compute_90 "$@" "$work/names.cu" | grep -oE '\bnvshmemx?_[A-Za-z0-9_]+ *\(' | tr -d ' (' | sort -u
}
names "-I$FULMAR_NVSHMEM/src/include" > "$work/theirs"
names "-I$top_srcdir/include" "-I$top_srcdir/include/nvshmem" "-I$top_srcdir/src" > "$work/ours"
sed '/^#/d; s/ .*//; s/\*/.*/g' "$top_srcdir/include/nvshmem/nvshmem_names.txt" > "$work/patterns"
comm -23 "$work/theirs" "$work/ours" > "$work/missing"
{ grep -vxf "$work/patterns" "$work/missing"; while read -r p; do grep -qx "$p" "$work/missing" || echo "$p: all there"; done < "$work/patterns"; } > "$work/log"
[ "$(wc -l < "$work/theirs")" -gt 3000 ] && [ ! -s "$work/log" ]
ok $? "of $(wc -l < "$work/theirs") names all are there but $(wc -l < "$work/missing"), which nvshmem_names.txt lists" "$work/log"

wanted() {
    [ ! "${NVSHMEM_PROGRAMS-}" ] || [[ " $NVSHMEM_PROGRAMS " == *" $1 "* ]]
}
# Compile a program and run it with each number of PEs. A PE that finds a wrong result prints one of these words or ends with an error.
program() { # NAME, least number of PEs, sources and options, then -- and arguments
    local name=$1 least=$2 n built=()
    shift 2
    wanted "$name" || return
    while [ $# -gt 0 ] && [ "$1" != -- ]; do built+=("$1") && shift; done
    shift
    # shellcheck disable=SC2086
    $OSHCC --cuda $flags "${built[@]}" -o "$work/$name" > "$work/log" 2>&1
    ok $? "$name compiles" "$work/log"
    for n in ${NVSHMEM_PES:-1 2 4}; do
        [ "$n" -ge "$least" ] || continue
        for _ in $tries; do
            timeout 120 $OSHRUN -n "$n" "$work/$name" "$@" > "$work/log" 2>&1 < /dev/null &&
                ! grep -qiE 'error|mismatch|incorrect|fail|^fulmar:' <(grep -v 'No errors found' "$work/log") && break
        done
        ok $? "$name, $n PEs${*:+: $*}" "$work/log"
    done
    rm -f "$work/$name"
}

tries=1
for file in "$FULMAR_NVSHMEM"/examples/*.cu; do
    case $(basename "$file" .cu) in
    *mpi* | uid-based-init | shmem-based-init) continue ;; # need MPI, another SHMEM
    moe_shuffle) program moe_shuffle 16 "$file" -- -b 8 -t 64 ;; # has 16 experts, and takes the counts of as many PEs
    ring-reduce) program ring-reduce 1 "$file" -- -b 32768 -e 65536 -m 1024 -c 4 -t 32 ;;
    put-block) # a PE compares its data without waiting for the PE that puts it
        tries='1 2 3 4 5' program put-block 1 "$file" --
        ;;
    *) program "$(basename "$file" .cu)" 1 "$file" -- ;;
    esac
done
perf=$FULMAR_NVSHMEM/perftest
if [ -d "$perf" ]; then
    # shellcheck disable=SC2086
    $OSHCC --cuda $flags -c "$perf/common/utils.cu" -o "$work/utils.o" > "$work/log" 2>&1
    ok $? "the functions that perftest's programs share compile" "$work/log"
    for file in "$perf"/device/pt-to-pt/*.cu; do # of two PEs
        NVSHMEM_PES=2 program "$(basename "$file" .cu)" 2 "$file" "$work/utils.o" -- -b 8 -e 64 -n 2 -w 1 -c 2 -t 32
    done
    for file in "$perf"/device/coll/*.cu "$perf"/host/coll/*.cpp "$perf"/host/init/*.cpp; do
        program "$(basename "${file%.*}")" 1 "$file" "$work/utils.o" -- -b 8 -e 64 -n 2 -w 1
    done
    for file in "$perf"/host/pt-to-pt/*.cpp "$perf"/host/pt-to-pt/*.cu; do
        options='-b 8 -e 64 -n 2 -w 1'
        [ "$(basename "$file")" != stream_latency.cu ] || options='-s 8 -S 64 -n 2 -b 2 -t 32'
        # shellcheck disable=SC2086
        NVSHMEM_PES=2 program "$(basename "${file%.*}")" 2 "$file" "$work/utils.o" -- $options
    done
fi
plan

#!/usr/bin/env bash
# run.sh - run everything that needs an NVIDIA GPU, in eight minutes: build, benchmarks, beside NVSHMEM where that is found, litmus tests
# with many rounds, device tests on CUDA, compute-sanitizer. Prints a table and writes results.json beside the logs. Run it on a
# machine with a GPU; it installs nothing and changes no setting of the GPU. carry.sh collects what that machine lacks.
#
#   usage: test/gpu/run.sh [-c CARRIED] [-o OUT] [-r ROUNDS] [-t SECONDS] [-b BUILD [-q]]      from the root of a source tree
#     -c  folder made by carry.sh (default test/gpu/carried)
#     -o  where logs and results.json go (default gpu-results)
#     -r  rounds of each litmus test (default 1000000; a twentieth for PEs that time-share one GPU; 500 on the CPU)
#     -t  the time for all (default 480; on the CPU 0, no limit): what does not fit is skipped. The order is that of worth
#     -b  use this build of the tree, do not make one
#     -q  the build is complete and other tests run in it: leave out what does not depend on the device (test/device/cuda_cpu.sh)
#
# SHMEM_DEVICE=cuda-cpu test/gpu/run.sh is the rehearsal without a GPU: all programs run on the driver on the CPU.
#
# Exit: 0 all passed, 1 something failed, 77 no GPU here.
set -u
carried=test/gpu/carried out=gpu-results rounds= built= quick= limit=
export SHMEM_DEVICE=${SHMEM_DEVICE:-cuda} OSHCC_KERNELS=cuda
while getopts c:o:r:t:b:q option; do
    case $option in
    c) carried=$OPTARG ;; o) out=$OPTARG ;; r) rounds=$OPTARG ;; t) limit=$OPTARG ;; b) built=$OPTARG ;; q) quick=yes && export DEVICE_AGAIN=1 ;;
    *) sed -n '3,18s/^# \{0,1\}//p' "$0" && exit 2 ;;
    esac
done
gpu=yes
[ "$SHMEM_DEVICE" != cuda-cpu ] || gpu=
patience=$([ "$gpu" ] && echo 1 || echo 20) # on the CPU kernels are slow, and other programs use it
: "${rounds:=$([ "$gpu" ] && echo 1000000 || echo 500)}" "${limit:=$([ "$gpu" ] && echo 480 || echo 0)}"
if [ "$gpu" ] && ! [ -e /dev/nvidia0 ] && ! nvidia-smi -L > /dev/null 2>&1; then
    echo "run.sh: no NVIDIA GPU here (no /dev/nvidia0, and nvidia-smi fails): no test was run"
    exit 77
fi
[ -f configure.ac ] || { echo "run.sh: start it from the root of the source tree" >&2; exit 2; }
mkdir -p "$out" && out=$(realpath "$out")
json=$out/results.json table=$out/table
: > "$json"
: > "$table"
failed=0
result() { # NAME, pass|fail|skip, DETAIL
    printf '%-58s %-5s %s\n' "$1" "$2" "$3" | tee -a "$table"
    printf '{"test": "%s", "result": "%s", "detail": "%s"}\n' "$1" "$2" "$(echo "$3" | tr '"\\' "'/")" >> "$json"
    [ "$2" != fail ] || failed=1
}
# Run a command for at most SECONDS; its TAP or, without TAP, its exit status decides whether it passed.
check() { # NAME, LOG, SECONDS, COMMAND...
    local name=$1 log=$out/$2 status n bad seconds=$(($3 * patience)) left=$((limit - SECONDS))
    if [ "$limit" != 0 ] && [ $left -lt 5 ]; then
        result "$name" skip "the time is up (-t $limit)"
        return
    fi
    [ "$limit" = 0 ] || [ $left -ge $seconds ] || seconds=$left
    timeout -k 5 $seconds "${@:4}" > "$log" 2>&1
    status=$?
    n=$(grep -c '^ok ' "$log") bad=$(grep -c '^not ok ' "$log")
    if [ $status = 0 ] && [ "$bad" = 0 ]; then
        result "$name" pass "${n/#0/} $(grep -c '# SKIP' "$log" | sed 's/^0$//; s/^[0-9]\{1,\}$/(& skipped)/')"
    else
        result "$name" fail "exit $status, $bad of $((n + bad)) not ok: $2"
        grep -A3 '^not ok ' "$log" | head -12
    fi
}

# ---- build ----------------------------------------------------------------------------------------------------------

# Libraries that are not installed, and configure, come from the carried packages, unpacked beside the build.
build=$(realpath "${built:-$out/build}") prefix=$out/prefix
mkdir -p "$build"
png=$(pkg-config --cflags --libs libpng 2> /dev/null)
if ! pkg-config --exists pmix hwloc libfabric libpng 2> /dev/null; then
    ls "$carried"/*.deb > /dev/null 2>&1 ||
        { result "build" fail "libpmix, libhwloc, libfabric or libpng is missing; no packages in $carried: carry.sh"; exit 1; }
    for p in "$carried"/*.deb; do dpkg -x "$p" "$prefix" || exit 1; done
    lib=$(dirname "$(find "$prefix" -name 'libpmix.so.2' | head -1)")
    pmix=$(dirname "$(find "$prefix" -name pmix.h | head -1)") || exit 1
    export PMIX_CFLAGS="-I$pmix" PMIX_LIBS="-L$lib -lpmix" HWLOC_CFLAGS="-I$prefix/usr/include" HWLOC_LIBS="-L$lib -lhwloc"
    export OFI_CFLAGS="-I$prefix/usr/include" OFI_LIBS=-ldl # only headers: a job on one machine does not load libfabric
    png="-I$(dirname "$(find "$prefix" -name png.h | head -1)") -L$(dirname "$(find "$prefix" -name libpng16.so)") -lpng16"
    export LD_LIBRARY_PATH="$lib:$prefix/usr/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" LDFLAGS="-Wl,-rpath-link,$lib"
fi
source=$PWD
if [ "$built" ]; then
    :
elif [ ! -x configure ] && command -v autoreconf > /dev/null; then
    autoreconf -i > "$out/autoreconf.log" 2>&1
elif [ ! -x configure ]; then
    tar -xzf "$carried/configure.tar.gz" ||
        { result "build" fail "configure, autoreconf and $carried/configure.tar.gz are missing"; exit 1; }
    # Touch in the order of dependency, or make would run automake.
    touch aclocal.m4 && sleep 1 && touch configure config.h.in Makefile.in
fi
[ "$quick" ] || (cd "$build" && { [ "$built" ] || "$source/configure"; } && make -j"$(nproc)") > "$out/build.log" 2>&1 ||
    { result "build" fail "build.log"; tail -5 "$out/build.log"; exit 1; }
result "build" pass ""
export top_srcdir=$source top_builddir=$build OSHRUN=$build/src/tools/oshrun OSHCC=$build/src/tools/oshcc CC=${CC:-cc}
found=$("$build/src/tools/oshinfo" | grep -o "$SHMEM_DEVICE:.*" | head -1)
if [ -z "$found" ]; then
    result "device" fail "$(SHMEM_DEBUG=1 "$build/src/tools/oshinfo" 2>&1 | grep -o 'no CUDA device.*' | head -1)"
    exit 1
fi
driver=$(cat /sys/module/nvidia/version 2> /dev/null || nvidia-smi --query-gpu=driver_version --format=csv,noheader 2> /dev/null)
result "device" pass "$found${driver:+, driver $driver}"

# Build a program with its kernels: compiled here, or from the carried images.
program() { # FOLDER, NAME, more for the compiler
    local kernels=$source/$1/$2.cl
    command -v nvcc > /dev/null || [ -x /usr/local/cuda/bin/nvcc ] || kernels=$carried/$2.fatbin
    "$OSHCC" -O2 "$source/$1/$2.c" "$kernels" -o "$out/$2" "${@:3}" > "$out/$2.build.log" 2>&1
}
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2> /dev/null)

# ---- figures, and what they depend on: in the order of their worth, as the time may end --------------------------------------

[ "$quick" ] || (cd "$build" && make test/multi/device_private.pes test/multi/external_cuda.pes test/device/cuda_calls) > "$out/tests.build.log" 2>&1
direct_of() { # direct|ring: the value of SHMEM_TEST_DEVICE_DIRECT
    [ "$1" = ring ]
    echo $?
}
# Run a benchmark; its JSON lines go to the results.
figures() { # NAME, LOG, SECONDS, COMMAND...
    check "$@"
    grep '^{' "$out/$2" >> "$json"
    sed -n 's/^{"bench": "\([^"]*\)", "way": "\([^"]*\)", "unit": "\([^"]*\)", "value": \([-0-9.]*\).*/  \4 \3 \1, \2/p' "$out/$2" >> "$table"
}
rounds_of_call=$([ "$gpu" ] && echo 20000 || echo 10) rounds_of_request=$([ "$gpu" ] && echo 400 || echo 2)
bytes=$([ "$gpu" ] && echo $((64 << 20)) || echo 65536) mps=
if [ "$gpu" ] && command -v nvidia-cuda-mps-control > /dev/null; then mps=--mps; fi
for n in 1 2; do
    check "device heap and host routines, $n PEs" heap$n.log 60 "$OSHRUN" -n $n "$build/test/multi/device_private.pes"
done

# NVSHMEM, where it is found: NVSHMEM_HOME, or the wheel of the machine's Python.
nvshmem=${NVSHMEM_HOME:-$(python3 -c 'import nvidia.nvshmem; print(list(nvidia.nvshmem.__path__)[0])' 2> /dev/null)}
theirs=
if [ -z "$gpu" ] || [ -z "$nvcc" ] || [ -z "$nvshmem" ]; then
    result "the same loops with NVSHMEM" skip "it needs a GPU, nvcc and NVSHMEM (NVSHMEM_HOME, or the package nvidia-nvshmem)"
elif "$nvcc" -std=c++17 -O3 -rdc=true -arch=native "-I$nvshmem/include" "$source/test/gpu/compare_nvshmem.cu" -o "$out/compare_nvshmem" \
    "-L$nvshmem/lib" -l:"$(basename "$(ls "$nvshmem"/lib/libnvshmem_host.so* | head -1)")" -lnvshmem_device -lcuda -lnvidia-ml \
    "-L${nvcc%/bin/nvcc}/lib64/stubs" -Xlinker -rpath -Xlinker "$nvshmem/lib" > "$out/nvshmem.build.log" 2>&1; then
    theirs=$out/compare_nvshmem
    export NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo NVSHMEM_REMOTE_TRANSPORT=none
else
    result "the same loops with NVSHMEM" fail "does not build: nvshmem.build.log"
fi
if program test/gpu compare; then
    figures "calls of kernels, direct" compare-direct.log 60 env SHMEM_DEVICE_SYMMETRIC_SIZE=512M "$OSHRUN" -n 1 "$out/compare" "$rounds_of_call" "$bytes"
    [ -z "$theirs" ] || figures "calls of kernels, NVSHMEM" compare-nvshmem.log 60 "$theirs" 0 1 "$out/nvshmem.id1" "$rounds_of_call" "$bytes"
    figures "calls of kernels, through the ring" compare-ring.log 60 env SHMEM_TEST_DEVICE_DIRECT=0 "$OSHRUN" -n 1 "$out/compare" "$rounds_of_request" \
        $([ "$gpu" ] && echo $((4 << 20)) || echo 65536)
else
    result "calls of kernels" fail "does not build: compare.build.log"
fi
if program test/gpu bench; then
    for way in ring direct; do
        figures "bench, $way" bench-$way.log 60 env SHMEM_TEST_DEVICE_DIRECT="$(direct_of $way)" "$OSHRUN" -n 1 "$out/bench" $([ "$gpu" ] && echo 20 || echo 0.05)
    done
else
    result "bench" fail "does not build: bench.build.log"
fi
if [ "$gpu" ] && [ -z "$mps" ]; then
    result "2 PEs sharing the GPU by MPS" skip "nvidia-cuda-mps-control is not installed"
else
    [ ! -x "$out/compare" ] || for way in direct ring; do
        figures "calls between 2 PEs${mps:+, MPS}, $way" compare-2-$way.log 60 env SHMEM_TEST_DEVICE_DIRECT="$(direct_of $way)" \
            "$OSHRUN" $mps -n 2 "$out/compare" $((rounds_of_call / 5)) 1048576
    done
    if [ "$theirs" ]; then
        "$OSHRUN" $mps -n 1 bash -c 'timeout 40 "$0" 1 2 "$1" 4000 1048576 > /dev/null 2>&1 & timeout 40 "$0" 0 2 "$1" 4000 1048576' \
            "$theirs" "$out/nvshmem.id2" > "$out/nvshmem-2.log" 2>&1
        figures "calls between 2 PEs, MPS, NVSHMEM" compare-2-nvshmem.log 5 cat "$out/nvshmem-2.log"
    fi
fi

# ---- tests ----------------------------------------------------------------------------------------------------------

if program test/gpu litmus; then
    for way in direct ring; do
        # A request that writes device memory is a copy: tens of microseconds.
        many=$([ $way = ring ] && echo $((rounds / 50)) || echo "$rounds")
        check "litmus, 1 PE, $way, $many rounds" litmus-$way.log 150 env SHMEM_TEST_DEVICE_DIRECT="$(direct_of $way)" \
            "$OSHRUN" -n 1 "$out/litmus" "$many"
        [ -z "$mps" ] || check "litmus, 2 PEs sharing the GPU by MPS, $way" litmus2-mps-$way.log 100 \
            env SHMEM_TEST_DEVICE_DIRECT="$(direct_of $way)" "$OSHRUN" $mps -n 2 "$out/litmus" $((rounds / 100))
    done
else
    result "litmus" fail "does not build: litmus.build.log"
fi
if [ "$nvcc" ]; then
    check "calls of kernels (gpc.sh)" gpc.log 120 bash "$source/test/device/gpc.sh"
    check "tagged messages of kernels (tag.sh)" tag.log 120 bash "$source/test/device/tag.sh"
    check "contexts and teams (contexts.sh)" contexts.log 120 bash "$source/test/device/contexts.sh"
    check "Intel SHMEM's names (ishmem.sh)" ishmem.log 180 bash "$source/test/device/ishmem.sh"
    check "host calls in the kernels' queue (queue.sh)" queue.log 120 bash "$source/test/device/queue.sh"
    check "kernels started by several threads (threads.sh)" threads.log 120 bash "$source/test/device/threads.sh"
else
    result "contexts, tag, gpc, queue, threads, ishmem, kernels, ptx" skip "nvcc not found: it compiles their kernels"
fi
# The program's own memory, as an IPC handle with an offset, and, over the network, through staging or as a dma-buf.
for n in 1 2; do
    check "the program's own device memory, $n PEs" own$n.log 60 env LD_LIBRARY_PATH="$build/.libs:${LD_LIBRARY_PATH:-}" \
        "$OSHRUN" -n $n "$build/test/multi/external_cuda.pes"
done
check "the program's own device memory, network" own-net.log 60 env SHMEM_TRANSPORT=ofi \
    LD_LIBRARY_PATH="$build/.libs:${LD_LIBRARY_PATH:-}" "$OSHRUN" -n 2 "$build/test/multi/external_cuda.pes"
# shellcheck disable=SC2086
if program examples heat $png -lm; then
    for n in 1 2 4; do # PEs that time-share one GPU wait for each other in each step
        for way in direct ring; do
            [ "$quick" ] && [ $n = 4 ] && continue
            check "2-D heat equation, $n PEs, $way" heat-$way$n.log 60 env SHMEM_TEST_DEVICE_DIRECT="$(direct_of $way)" \
                "$OSHRUN" -n $n "$out/heat" $([ "$quick" ] && echo 48 40 || echo 96 100) "$out/heat.png"
        done
    done
else
    result "2-D heat equation" fail "does not build: heat.build.log"
fi
check "device heap and host routines, 3 PEs" heap3.log 60 "$OSHRUN" -n 3 "$build/test/multi/device_private.pes"
for tool in memcheck racecheck; do
    if [ -z "$gpu" ]; then
        result "compute-sanitizer $tool" skip "it needs a GPU"
    elif [ -x "$out/litmus" ] && command -v compute-sanitizer > /dev/null; then
        for way in direct ring; do
            check "compute-sanitizer $tool, litmus, $way" $tool-$way.log 100 env SHMEM_TEST_DEVICE_DIRECT="$(direct_of $way)" \
                compute-sanitizer --tool $tool --error-exitcode 9 "$out/litmus" 20
        done
    else
        result "compute-sanitizer $tool" skip "not installed"
    fi
done
if program bench ring "-I$source/bench"; then
    figures "bench/ring, 2 PEs${mps:+, MPS}" bench-2.log 100 "$OSHRUN" $mps -n 2 "$out/ring" $([ "$gpu" ] || echo 125)
else
    result "bench/ring" fail "does not build: ring.build.log"
fi
[ -z "$nvcc" ] || check "kernels, direct and through the ring (kernels.sh)" kernels.log 240 bash "$source/test/device/kernels.sh"
if [ -x "$out/litmus" ]; then
    for way in direct ring; do
        check "litmus, 2 PEs that time-share one GPU, $way" litmus2-$way.log 150 env SHMEM_TEST_DEVICE_DIRECT="$(direct_of $way)" \
            "$OSHRUN" -n 2 "$out/litmus" "$((rounds / 50 / 20000 + 5))"
    done
fi
[ "$quick" ] || [ -z "$nvcc" ] || check "PTX of the ordering edges (ptx.sh)" ptx.log 100 bash "$source/test/device/ptx.sh"
printf '\n== %s\n' "$found"
cat "$table"
echo "logs and results.json: $out"
exit $failed

#!/usr/bin/env bash
# run.sh - run everything that needs an NVIDIA GPU, in under ten minutes: build, device tests on CUDA, litmus tests with
# many rounds, compute-sanitizer, benchmarks. Prints a table and writes results.json beside the logs. Run it on a
# machine with a GPU; it installs nothing and changes no setting of the GPU. carry.sh collects what that machine lacks.
#
#   usage: test/gpu/run.sh [-c CARRIED] [-o OUT] [-r ROUNDS] [-b BUILD [-q]]      from the root of a source tree
#     -c  folder made by carry.sh (default test/gpu/carried)
#     -o  where logs and results.json go (default gpu-results)
#     -r  rounds of each litmus test (default 1000000; a twentieth for PEs that time-share one GPU; 500 on the CPU)
#     -b  use this build of the tree, do not make one
#     -q  the build is complete and other tests run in it: leave out what does not depend on the device (test/device/cuda_cpu.sh)
#
# SHMEM_DEVICE=cuda-cpu test/gpu/run.sh is the rehearsal without a GPU: all programs run on the driver on the CPU.
#
# Exit: 0 all passed, 1 something failed, 77 no GPU here.
set -u
carried=test/gpu/carried out=gpu-results rounds= built= quick=
export SHMEM_DEVICE=${SHMEM_DEVICE:-cuda} OSHCC_KERNELS=cuda
while getopts c:o:r:b:q option; do
    case $option in
    c) carried=$OPTARG ;; o) out=$OPTARG ;; r) rounds=$OPTARG ;; b) built=$OPTARG ;; q) quick=yes && export DEVICE_AGAIN=1 ;;
    *) sed -n '3,17s/^# \{0,1\}//p' "$0" && exit 2 ;;
    esac
done
gpu=yes
[ "$SHMEM_DEVICE" != cuda-cpu ] || gpu=
patience=$([ "$gpu" ] && echo 1 || echo 20) # on the CPU kernels are slow, and other programs use it
: "${rounds:=$([ "$gpu" ] && echo 1000000 || echo 500)}"
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
    local name=$1 log=$out/$2 status n bad
    timeout -k 5 $(($3 * patience)) "${@:4}" > "$log" 2>&1
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

# ---- tests ----------------------------------------------------------------------------------------------------------

[ "$quick" ] || (cd "$build" && make test/multi/device_private.pes test/multi/external_cuda.pes test/device/cuda_calls) > "$out/tests.build.log" 2>&1
for n in 1 2 3; do
    check "device heap and host routines, $n PEs" heap$n.log 60 "$OSHRUN" -n $n "$build/test/multi/device_private.pes"
done
# The program's own memory, as an IPC handle with an offset, and, over the network, through staging or as a dma-buf.
for n in 1 2; do
    check "the program's own device memory, $n PEs" own$n.log 60 env LD_LIBRARY_PATH="$build/.libs:${LD_LIBRARY_PATH:-}" \
        "$OSHRUN" -n $n "$build/test/multi/external_cuda.pes"
done
check "the program's own device memory, network" own-net.log 60 env SHMEM_TRANSPORT=ofi \
    LD_LIBRARY_PATH="$build/.libs:${LD_LIBRARY_PATH:-}" "$OSHRUN" -n 2 "$build/test/multi/external_cuda.pes"
if [ "$nvcc" ]; then
    check "kernels, direct and through the ring (kernels.sh)" kernels.log 240 bash "$source/test/device/kernels.sh"
    check "contexts and teams (contexts.sh)" contexts.log 120 bash "$source/test/device/contexts.sh"
    check "tagged messages of kernels (tag.sh)" tag.log 120 bash "$source/test/device/tag.sh"
    check "calls of kernels (gpc.sh)" gpc.log 120 bash "$source/test/device/gpc.sh"
    check "host calls in the kernels' queue (queue.sh)" queue.log 120 bash "$source/test/device/queue.sh"
    check "kernels started by several threads (threads.sh)" threads.log 120 bash "$source/test/device/threads.sh"
    check "Intel SHMEM's names (ishmem.sh)" ishmem.log 180 bash "$source/test/device/ishmem.sh"
    [ "$quick" ] || check "PTX of the ordering edges (ptx.sh)" ptx.log 100 bash "$source/test/device/ptx.sh"
else
    result "kernels, contexts, tag, gpc, queue, threads, ishmem, ptx" skip "nvcc not found: it compiles their kernels"
fi

# shellcheck disable=SC2086
if program examples heat $png -lm; then
    for n in 1 2 4; do # PEs that time-share one GPU wait for each other in each step
        for way in direct ring; do
            [ "$quick" ] && [ $n = 4 ] && continue
            check "2-D heat equation, $n PEs, $way" heat-$way$n.log 60 env SHMEM_DEVICE_DIRECT=$([ $way = ring ]; echo $?) \
                "$OSHRUN" -n $n "$out/heat" $([ "$quick" ] && echo 48 40 || echo 96 100) "$out/heat.png"
        done
    done
else
    result "2-D heat equation" fail "does not build: heat.build.log"
fi

if program test/gpu litmus; then
    for way in direct ring; do
        direct=$([ $way = ring ]; echo $?)
        # A request that writes device memory is a copy: tens of microseconds.
        many=$([ $way = ring ] && echo $((rounds / 50)) || echo "$rounds")
        check "litmus, 1 PE, $way, $many rounds" litmus-$way.log 150 env SHMEM_DEVICE_DIRECT=$direct \
            "$OSHRUN" -n 1 "$out/litmus" "$many"
        check "litmus, 2 PEs that time-share one GPU, $way" litmus2-$way.log 150 env SHMEM_DEVICE_DIRECT=$direct \
            "$OSHRUN" -n 2 "$out/litmus" "$((many / 20000 + 5))"
    done
    if [ -z "$gpu" ]; then
        if program bench ring "-I$source/bench"; then
            check "bench/ring, 2 PEs" bench-2.log 100 "$OSHRUN" -n 2 "$out/ring" 125
        else
            result "bench/ring" fail "does not build: ring.build.log"
        fi
    elif command -v nvidia-cuda-mps-control > /dev/null; then
        export CUDA_MPS_PIPE_DIRECTORY=$out/mps CUDA_MPS_LOG_DIRECTORY=$out/mps
        mkdir -p "$out/mps"
        if nvidia-cuda-mps-control -d > "$out/mps.log" 2>&1; then
            for way in direct ring; do
                check "litmus, 2 PEs sharing the GPU by MPS, $way" litmus2-mps-$way.log 100 \
                    env SHMEM_DEVICE_DIRECT=$([ $way = ring ]; echo $?) "$OSHRUN" -n 2 "$out/litmus" $((rounds / 100))
            done
            if program bench ring "-I$source/bench"; then # time-shared, each trip would wait for two slices
                check "bench/ring, 2 PEs sharing the GPU by MPS" bench-2.log 100 "$OSHRUN" -n 2 "$out/ring"
                grep '^{' "$out/bench-2.log" >> "$json"
            else
                result "bench/ring" fail "does not build: ring.build.log"
            fi
            echo quit | nvidia-cuda-mps-control > /dev/null 2>&1
        else
            result "2 PEs sharing the GPU by MPS" skip "MPS does not start: $(tail -1 "$out/mps.log")"
        fi
        unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
    else
        result "2 PEs sharing the GPU by MPS" skip "nvidia-cuda-mps-control is not installed"
    fi
    for tool in memcheck racecheck; do
        if [ -z "$gpu" ]; then
            result "compute-sanitizer $tool" skip "it needs a GPU"
        elif command -v compute-sanitizer > /dev/null; then
            for way in direct ring; do
                check "compute-sanitizer $tool, litmus, $way" $tool-$way.log 100 env \
                    SHMEM_DEVICE_DIRECT=$([ $way = ring ]; echo $?) \
                    compute-sanitizer --tool $tool --error-exitcode 9 "$out/litmus" 20
            done
        else
            result "compute-sanitizer $tool" skip "not installed"
        fi
    done
else
    result "litmus" fail "does not build: litmus.build.log"
fi

# ---- benchmarks -----------------------------------------------------------------------------------------------------

if program test/gpu bench; then
    for way in ring direct; do
        check "bench, $way" bench-$way.log 100 env SHMEM_DEVICE_DIRECT=$([ $way = ring ]; echo $?) "$OSHRUN" -n 1 "$out/bench" \
            $([ "$gpu" ] || echo 0.05)
        grep '^{' "$out/bench-$way.log" >> "$json"
        grep -E ' (us|million|%|x) +(ring|direct)$' "$out/bench-$way.log" >> "$table"
    done
else
    result "bench" fail "does not build: bench.build.log"
fi
printf '\n== %s\n' "$found"
cat "$table"
echo "logs and results.json: $out"
exit $failed

#!/usr/bin/env bash
# soak.sh - random operations of all kinds against an oracle (see soak.h), FULMAR_SOAK_SECONDS (4) on each path between
# PEs:
# memory, network, both, a network with faults, with threads, and from kernels. Catches: mistakes that no other test
# names. A failure prints seed and step; FULMAR_SOAK_SEED (1) is the seed of the first run, each run adds 1.
#
# soak.sh GROUP, or FULMAR_SOAK, runs one group: memory, network, hosts or kernels. For hours, by hand:
# SHMEM_TRANSPORT=ofi build/src/tools/oshrun -n 3 build/test/multi/soak seed=1 seconds=36000
. "${top_srcdir:=.}/test/tap.sh"
seconds=${FULMAR_SOAK_SECONDS:-4} seed=${FULMAR_SOAK_SEED:-1}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
soak=$top_builddir/test/multi/soak

run() { # DESCRIPTION, PEs, arguments of soak
    timeout -k 5 $((seconds + 120)) $launch -n "$2" "$soak" seed=$seed seconds=$seconds stall=60 "${@:3}" > "$work/log" 2>&1
    ok $? "$1: $(sed -n 's/^soak: //p' "$work/log" | head -1)" "$work/log"
    seed=$((seed + 1))
}

memory() {
    run "memory" 3
    run "memory, threads" 2 threads=3
    SHMEM_CHECK=1 run "memory, every argument checked" 4
}

network() {
    export SHMEM_TRANSPORT=ofi
    run "network" 3
    run "network, threads" 2 threads=3
    SHMEM_TEST_NET_FAULT=reorder=7,delay=3 run "network, completions late and out of order" 3
    SHMEM_TEST_NET_FAULT=again=3,window=4 run "network, few buffers" 2 threads=2
    SHMEM_TEST_NET_FAULT=reorder=2,delay=2,again=5,unordered=20 run "network without order" 4
    unset SHMEM_TRANSPORT
}

hosts() {
    if [ -n "$FAKE_HOSTS" ]; then
        export SHMEM_TEST_SPIN=0
        launch="$hosts in h1 $OSHRUN --engine mpirun -H h1:2,h2:1" run "memory and network" 3
    elif ! command -v mpirun > /dev/null; then
        skip "memory and network" "Open MPI (openmpi-bin) is not installed"
    elif why=$("$hosts" can); then # run this script inside the hosts
        FULMAR_SOAK_SEED=$seed "$hosts" run "$0" hosts > "$work/hosts"
        grep -q '^ok 1' "$work/hosts"
        ok $? "$(sed -n 's/^.*ok 1 - //p' "$work/hosts")" "$work/hosts"
        seed=$((seed + 1))
    else
        skip "memory and network" "$why"
    fi
}

kernels() {
    if ! (. "$top_srcdir/src/tools/llvm.sh" && find_llvm) || [ ! -f "$top_builddir/.libs/libze_cpu.so" ]; then
        skip "kernels" "LLVM with llvm-spirv compiles kernels, for a build with a device backend"
        return
    fi
    soak=$work/soak
    $OSHCC -O2 "$top_srcdir"/test/multi/soak*.c "$top_srcdir/test/multi/soak.cl" -lpthread -o "$soak" > "$work/log" 2>&1
    ok $? "the soak test with kernels compiles" "$work/log"
    run "kernels, loads and stores" 2 kernels=1
    SHMEM_TEST_DEVICE_DIRECT=0 run "kernels, ring" 3 kernels=1
    SHMEM_TRANSPORT=ofi run "kernels, network" 2 kernels=1
    SHMEM_TEST_DEVICE_RING=8 SHMEM_TRANSPORT=ofi run "kernels, network, a short ring" 2 kernels=1
    ZE_CPU_PRIVATE=1 run "kernels, private device memory" 2 kernels=1
}

# For ThreadSanitizer: only cases in which no other process establishes order (see README.md).
races() {
    run "memory, one PE, threads" 1 threads=3
    SHMEM_TRANSPORT=ofi run "network, threads" 2 threads=3
}

launch=$OSHRUN
for group in ${1:-${FULMAR_SOAK:-memory network hosts kernels}}; do
    $group
done
plan

#!/bin/sh
# hmem.sh - device memory that the host cannot access over a real libfabric with FI_HMEM for Level Zero: FULMAR_LIBFABRIC_ZE names
# its lib folder. Distributions build libfabric without Level Zero; of its providers that need no NIC, shm has FI_HMEM, tcp has not.
# libfabric_ze.sh, in this folder, builds one.
# Catches: registration, descriptors or copies that only test/fabric's libfabric accepts.
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
if [ ! "$FULMAR_LIBFABRIC_ZE" ]; then
    skip "device memory over libfabric" "FULMAR_LIBFABRIC_ZE names no libfabric with Level Zero"
    plan
    exit 0
fi
export SHMEM_TRANSPORT=ofi SHMEM_OFI_PROVIDER=shm SHMEM_DEVICE=cpu ZE_CPU_PRIVATE=1 SHMEM_DEBUG=1
for program in device_private tag_device_private external; do
    for pes in 2 3; do
        LD_LIBRARY_PATH=$FULMAR_LIBFABRIC_ZE timeout 120 $OSHRUN -n $pes "$top_builddir/test/multi/$program.pes" > "$work/log" 2>&1 &&
            ! grep -q 'cannot register' "$work/log" && [ "$(grep -c 'by registered' "$work/log")" -ge $pes ]
        ok $? "$program, $pes PEs" "$work/log"
    done
done
plan

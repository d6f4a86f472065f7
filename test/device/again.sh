#!/usr/bin/env bash
# again.sh - run the other device tests with small rings, over the network, and on memory that the host cannot access.
#
# Catches: a result lost or delivered for another ticket when several laps of the ring are under way; a put, or a reply
# without data, that works only where the host can access the memory.
. "${top_srcdir:=.}/test/device/run.sh"

# The tests themselves use the default ring, on a node, with memory that the host can access.
for suite in kernels contexts gpc ishmem own queue tag threads; do
    for setting in "4 ofi 0" "2 ofi 1"; do
        # shellcheck disable=SC2086
        set -- $setting
        DEVICE_AGAIN=1 SHMEM_TEST_DEVICE_RING=$1 SHMEM_TRANSPORT=$2 ZE_CPU_PRIVATE=$3 \
            bash "$top_srcdir/test/device/$suite.sh" > "$work/all" 2>&1
        grep -A 5 '^not ok' "$work/all" > "$work/log" || grep -q '^1\.\.[1-9]' "$work/all" && [ ! -s "$work/log" ]
        ok $? "$suite: $1 slots, transport $2, device memory private: $3" "$work/log"
    done
done
plan

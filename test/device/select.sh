#!/usr/bin/env bash
# select.sh - SHMEM_DEVICE: which of several devices each PE takes, and the error for one that does not exist.
if [ ! -f "$top_builddir/.libs/libze_cpu.so" ]; then
    echo "1..0 # SKIP this build has no device backend (libze-dev)"
    exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
. "${top_srcdir:=.}/test/tap.sh"
export ZE_CPU_DEVICES=2 SHMEM_DEBUG=1

# Print the devices that PEs 0, 1 and 2 take; every PE maps every PE's memory.
taken() { # SHMEM_DEVICE, program
    SHMEM_DEVICE=$1 timeout 60 $OSHRUN -n 3 "$top_builddir/test/multi/${2:-device}.pes" > "$work/log" 2>&1 || return 1
    sed -n 's/^fulmar: PE \([0-9]\): device \([a-z-]*:[0-9]\) of 2:.*/\1=\2/p' "$work/log" | sort | tr '\n' ' '
}

# Catches: all PEs on one device of several, memory of another device not mapped.
[ "$(taken cpu)" = "0=cpu:0 1=cpu:1 2=cpu:0 " ]
ok $? "PEs of a node take the devices round robin" "$work/log"

# Catches: a device number that is ignored.
[ "$(taken cpu:1)" = "0=cpu:1 1=cpu:1 2=cpu:1 " ]
ok $? "a device by kind and number" "$work/log"

# Catches: CUDA on the CPU that is not found, or that is chosen without its name.
[ "$(taken cuda-cpu:1 device_private)" = "0=cuda-cpu:1 1=cuda-cpu:1 2=cuda-cpu:1 " ] && ! taken auto | grep -q cuda-cpu
ok $? "cuda-cpu is chosen by its name, and only so" "$work/log"

# Catches: a missing device silently replaced by another.
! SHMEM_DEVICE=cpu:2 timeout 60 $OSHRUN -n 2 "$top_builddir/test/multi/device.pes" > "$work/log" 2>&1 &&
    grep -q "SHMEM_DEVICE=cpu:2: there are 2, from 0" "$work/log"
ok $? "a number past the last is refused" "$work/log"
for kind in ze cuda; do
    if "$top_builddir/src/tools/oshinfo" | grep -q "^\(devices\)\? *$kind:"; then
        tests=$((tests + 1))
        echo "ok $tests - $kind without such a device is refused # SKIP this machine has one"
        continue
    fi
    ! env -u ZE_ENABLE_ALT_DRIVERS SHMEM_DEVICE=$kind timeout 60 $OSHRUN -n 1 "$top_builddir/test/multi/device.pes" \
        > "$work/log" 2>&1 && grep -q "SHMEM_DEVICE=$kind: .*no " "$work/log"
    ok $? "$kind without such a device is refused" "$work/log"
done

# Catches: a tool that shows other devices than programs use.
[ "$("$top_builddir/src/tools/oshinfo" | grep -c ':[01] ze_cpu device [01];')" = 2 ] &&
    { [ "$("$top_builddir/src/tools/oshinfo" | grep -c 'cuda-cpu:[01] CPU')" = 2 ] || [ -e /dev/nvidia0 ]; }
ok $? "oshinfo shows every device"

# reach TEXT, ENVIRONMENT...: oshinfo must say this of device cpu:1. Catches: a way that oshinfo does not show, or another than jobs use.
reach() {
    text=$1
    shift
    env LD_LIBRARY_PATH="$top_builddir/test/fabric/.libs" "$@" "$top_builddir/src/tools/oshinfo" > "$work/log" 2>&1
    grep -q "cpu:1 between hosts, over $text" "$work/log"
    ok $? "oshinfo: device memory is reached over $text" "$work/log"
}
jobs() { # TEXT, ENVIRONMENT...: a job must say the same in its statistics
    text=$1
    shift
    env LD_LIBRARY_PATH="$top_builddir/test/fabric/.libs" SHMEM_STATS=1 SHMEM_TRANSPORT=ofi SHMEM_DEVICE=cpu "$@" timeout 100 \
        $OSHRUN -n 2 "$top_builddir/test/multi/device_private.pes" > "$work/log" 2>&1 &&
        grep -q "device memory of PEs: .*$text" "$work/log"
    ok $? "a job that does so: $text" "$work/log"
}
if [ -e "$top_builddir/test/fabric/.libs/libfabric.so.1" ]; then
    reach 'cxi: host access' FABRIC_PROFILE=cxi
    reach 'cxi: registered' FABRIC_PROFILE=cxi FABRIC_HMEM=iface ZE_CPU_PRIVATE=1
    reach 'cxi: pipeline' FABRIC_PROFILE=cxi FABRIC_HMEM=iface ZE_CPU_PRIVATE=1 SHMEM_OFI_HMEM=0
    reach 'psm3: pipeline' FABRIC_PROFILE=psm3 ZE_CPU_PRIVATE=1
    reach 'none: not reached' FABRIC_PROFILE=cxi SHMEM_OFI_PROVIDER=tcp
    jobs 'by registered' FABRIC_PROFILE=cxi FABRIC_HMEM=iface ZE_CPU_PRIVATE=1
    jobs 'by staged' FABRIC_PROFILE=cxi FABRIC_HMEM=iface ZE_CPU_PRIVATE=1 SHMEM_OFI_HMEM=0
    LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=cxi FABRIC_HMEM=iface ZE_CPU_PRIVATE=1 "$top_builddir/src/tools/oshinfo" \
        --json | python3 -c 'import json, sys; assert "registered" in json.load(sys.stdin)["device_memory_between_hosts"]["cpu:0"]'
    ok $? "the same as JSON"
else
    skip "oshinfo: how device memory is reached" "test/fabric is not built"
fi
plan

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
plan

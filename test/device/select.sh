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

# each LIST-VARIABLE ENVIRONMENT...: PE 0 sees device 0 alone, PE 1 device 1, and they map each other's heaps.
cat > "$work/own" << 'END'
#!/bin/sh
list=$1; shift
eval "export $list=$PMIX_RANK"
exec "$@"
END
chmod +x "$work/own"
each() {
    list=$1
    shift
    env "$@" timeout 60 $OSHRUN -n 2 "$work/own" "$list" "$top_builddir/test/multi/device_private.pes" > "$work/log" 2>&1
}

# Catches: a driver that does not hide devices; a heap of a hidden device that is not mapped where the driver can.
each ZE_AFFINITY_MASK SHMEM_DEVICE=cpu && [ "$(grep -c ': device cpu:0 of 1: ze_cpu device [01];' "$work/log")" = 2 ]
ok $? "ZE_AFFINITY_MASK: each PE sees one device, and they access each other" "$work/log"
[ "$(ZE_AFFINITY_MASK=1.0,0,7 ZE_CPU_DEVICES=3 "$top_builddir/src/tools/oshinfo" |
    grep -c '\(cpu:0 ze_cpu device 1\|cpu:1 ze_cpu device 0\);')" = 2 ]
ok $? "ZE_AFFINITY_MASK: in its order, up to the first that does not exist"

# Catches: a failure whose reason is not given, or given twice by a PE; a PE that waits for one that failed.
hidden() { # LIST-VARIABLE ENVIRONMENT...
    ! each "$@" && for pe in 0 1; do
        [ "$(grep -c "PE $pe: cannot map the memory of process [0-9]*: its device .* is not visible to this PE ($1=$pe)" "$work/log")" = 1 ] &&
            ! grep -q "PE $pe: \(Level Zero\|CUDA\): " "$work/log" || return 1
    done
}
hidden ZE_AFFINITY_MASK SHMEM_DEVICE=cpu ZE_CPU_PEERS=0
ok $? "a hidden device that cannot be accessed: one line" "$work/log"
hidden CUDA_VISIBLE_DEVICES SHMEM_DEVICE=cuda-cpu
ok $? "CUDA: a hidden device: one line" "$work/log"
each CUDA_VISIBLE_DEVICES SHMEM_DEVICE=cuda-cpu SHMEM_TRANSPORT=ofi
ok $? "CUDA: hidden devices, over a network" "$work/log"

# Catches: memory of a second device that is taken for memory of the PE's device.
cat > "$work/second.c" << 'END'
#include <level_zero/ze_api.h>
#include <shmem.h>
#include <shmemx.h>
#include <shmemx_ze.h>
#include <stdio.h>
int main(void)
{
    ze_driver_handle_t driver;
    ze_context_handle_t context;
    ze_device_handle_t device, all[2];
    ze_device_mem_alloc_desc_t d = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    uint32_t n = 2;
    void *second;
    static char text[64] = "from a second device", seen[64];
    shmem_init();
    char *heap = shmemg_malloc(64);
    if (!heap || shmemx_ze_get(&driver, &context, &device) || zeDeviceGet(driver, &n, all) || n != 2 ||
        zeMemAllocDevice(context, &d, 64, 0, all[all[0] == device], &second))
        return 2;
    printf("second %p\n", second);
    fflush(stdout);
    shmem_getmem(second, text, 64, shmem_my_pe());
    shmem_putmem(heap, second, 64, shmem_my_pe());
    shmem_getmem(seen, heap, 64, shmem_my_pe());
    puts(seen);
    zeMemFree(context, second);
    shmem_finalize();
    return 0;
}
END
$OSHCC "$work/second.c" -o "$work/second" -lze_loader > "$work/log" 2>&1
ok $? "a program with memory of a second device compiles" "$work/log"
second() { # environment
    env ZE_CPU_PRIVATE=1 SHMEM_DEVICE=cpu "$@" timeout 60 $OSHRUN -n 1 "$work/second" > "$work/log" 2>&1
}
second && grep -q '^from a second device' "$work/log"
ok $? "memory of a second device that the PE's device can access" "$work/log"
! second ZE_CPU_PEERS=0 &&
    [ "$(grep -c "$(sed -n 's/^second //p' "$work/log") is memory of another device, which this PE's device cannot" "$work/log")" = 1 ]
ok $? "memory of a second device that it cannot access: the line names it" "$work/log"

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
    reach 'cxi: pipeline' FABRIC_PROFILE=cxi FABRIC_HMEM=iface ZE_CPU_PRIVATE=1 SHMEM_TEST_OFI_HMEM=0
    reach 'psm3: pipeline' FABRIC_PROFILE=psm3 ZE_CPU_PRIVATE=1
    reach 'none: not reached' FABRIC_PROFILE=cxi SHMEM_OFI_PROVIDER=tcp
    jobs 'by registered' FABRIC_PROFILE=cxi FABRIC_HMEM=iface ZE_CPU_PRIVATE=1
    jobs 'by staged' FABRIC_PROFILE=cxi FABRIC_HMEM=iface ZE_CPU_PRIVATE=1 SHMEM_TEST_OFI_HMEM=0
    LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=cxi FABRIC_HMEM=iface ZE_CPU_PRIVATE=1 "$top_builddir/src/tools/oshinfo" \
        --json | python3 -c 'import json, sys; assert "registered" in json.load(sys.stdin)["device_memory_between_hosts"]["cpu:0"]'
    ok $? "the same as JSON"
else
    skip "oshinfo: how device memory is reached" "test/fabric is not built"
fi
plan

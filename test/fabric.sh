#!/bin/sh
# fabric.sh - the library over each network that the libfabric of test/fabric imitates: other message order,
# registration, limits, back-pressure, late and unordered completions. A misuse of libfabric ends the job with a line.
# Catches: code that relies on properties of the network of the development machine.
#
# FULMAR_FABRIC lists profiles (all), FULMAR_FABRIC_TESTS programs (a few per profile; "all": whole suites, for hours);
# FULMAR_TEST_PES (2) lists numbers of PEs; FULMAR_FABRIC_SEED (1) is the seed of the first run, each run adds 1.
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
seed=${FULMAR_FABRIC_SEED:-1}
all=$(cd "$top_builddir/test" && ls conf/*.pes multi/*.pes | grep -v heap_pinned) # heap_pinned needs FABRIC_PINNED
export SHMEM_TRANSPORT=ofi
device=
[ ! -e "$top_builddir/test/multi/device.pes" ] || device=multi/device.pes # a build without Level Zero has none

job() { # PROFILES, PEs, program...
    LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=$1 FABRIC_SEED=$seed timeout -k 5 ${limit:-300} \
        $OSHRUN -n "$2" "$top_builddir/test/$3" $4 $5 $6 > "$work/log" 2>&1
}

run() { # PROFILE, program, PEs
    case $2 in
    *soak)
        export FABRIC_MAX=$((seed % 2 * 20000)) # 0: the provider's own limit
        job $1 $3 $2 seed=$seed seconds=${FULMAR_SOAK_SECONDS:-2} stall=60
        rc=$?
        unset FABRIC_MAX
        ;;
    *register.pes)
        job $1 $3 $2 100 # rounds
        rc=$?
        ;;
    *)
        job $1 $3 $2
        rc=$?
        ;;
    esac
    ok $rc "$2 over $1, $3 PEs, seed $seed" "$work/log"
    seed=$((seed + 1))
}

# Catches: a job that hangs, ends without a reason, or gives several reasons, when a transfer fails.
fail() { # PROFILE
    export FABRIC_FAIL=$((seed * 7))
    job $1 2 conf/rma.pes
    [ $? = 1 ] && [ "$(grep -c '^fulmar:' "$work/log")" = 1 ] && grep -q "PE 1: network: .* fail.*: Input/output error" "$work/log"
    ok $? "transfer $FABRIC_FAIL of PE 1 fails over $1: one line says so" "$work/log"
    unset FABRIC_FAIL
}

for profile in ${FULMAR_FABRIC:-tcp verbs cxi cxi-key efa psm3 psm3-basic opx}; do
    case ${FULMAR_FABRIC_TESTS:-$profile} in
    all) limit=3000 programs="$all multi/soak" ;;
    cxi | efa) programs="conf/rma.pes conf/sync.pes multi/thread.pes multi/tag.pes multi/gpc.pes multi/soak" ;;
    psm3) programs="conf/rma.pes conf/sync.pes multi/thread.pes multi/progress.pes multi/tag.pes multi/gpc.pes multi/soak" ;;
    cxi-key) programs="conf/rma.pes multi/soak $device" ;;
    verbs) programs="conf/rma.pes multi/thread.pes multi/soak" ;;
    tcp) programs="conf/rma.pes multi/register.pes multi/soak" ;;
    $profile) programs="conf/rma.pes multi/soak" ;;
    *) programs=$FULMAR_FABRIC_TESTS ;;
    esac
    for program in $programs; do
        case $program in *soak) pes=3 ;; *) pes=${FULMAR_TEST_PES:-2} ;; esac
        for n in $pes; do
            run $profile $program $n
        done
    done
    fail $profile
done

# Catches: PEs that disagree on a block which PE 0 cannot register; memory of a later session that the network does not
# use, because the pages of the earlier one were returned.
for profile in verbs cxi efa; do
    case " ${FULMAR_FABRIC:-$profile} " in *" $profile "*) ;; *) continue ;; esac
    job $profile 2 multi/info.pes
    ok $? "multi/info.pes over $profile" "$work/log"
    FABRIC_PINNED=345000000 job $profile 2 multi/heap_pinned.pes &&
        [ "$(grep -c 'register 209715200 bytes of the symmetric heap (SHMEM_SYMMETRIC_SIZE): Cannot alloc' "$work/log")" -eq 3 ]
    ok $? "a heap that $profile cannot register: NULL on all PEs" "$work/log"
done
# Catches: data in device memory that is announced before it is visible, device memory without its descriptor, PEs that disagree on
# what the network can access, memory that is released while it is registered, a way to register that is never used. Short
# transfers are writes, too.
hmem_job() { # PROFILE, FABRIC_HMEM, program
    ZE_CPU_PRIVATE=1 SHMEM_DEVICE=cpu SHMEM_TEST_OFI_BCOPY=64 FABRIC_HMEM=$2 job $1 3 $3
}
hmem() { # the same; each PE says that it reaches a device by registered memory
    SHMEM_DEBUG=1 hmem_job $1 $2 $3 && [ "$(grep -c 'by registered' "$work/log")" -ge 3 ]
    ok $? "$3 over $1, device memory: $2, seed $seed" "$work/log"
    seed=$((seed + 1))
}
for profile in verbs cxi efa; do
    case " ${FULMAR_FABRIC:-$profile} " in *" $profile "*) ;; *) continue ;; esac
    [ "$device" ] || continue
    for how in iface dmabuf refuse1; do
        hmem $profile $how multi/device_private.pes
        hmem $profile $how multi/tag_device_private.pes
        hmem $profile $how multi/external.pes # memory of the program
    done
done
# Catches: the same for CUDA's memory, which is registered by dma-bufs: a descriptor of other memory, a host that touches it. The
# driver on the CPU, with the calls of test/device/fake/cuda.c, which checks what the documentation says.
cuda() { # PROFILE, program
    (
        LD_LIBRARY_PATH=$work:$top_builddir/test/fabric/.libs
        export LD_LIBRARY_PATH FAKE_CUDA_DRIVER="$top_builddir/.libs/libcuda_cpu.so" ZE_CPU_PRIVATE=1 SHMEM_DEVICE=cuda SHMEM_DEBUG=1
        export SHMEM_TEST_OFI_BCOPY=64 FABRIC_HMEM=dmabuf FABRIC_PROFILE=$1 FABRIC_SEED=$seed
        timeout -k 5 300 $OSHRUN -n 3 "$top_builddir/test/$2" > "$work/log" 2>&1
    ) && [ "$(grep -c 'by registered' "$work/log")" -ge 3 ] && ! grep -q '^fake:' "$work/log"
    ok $? "$2 over $1, CUDA's memory: dmabuf, seed $seed" "$work/log"
    seed=$((seed + 1))
}
if [ "$device" ] && [ -e "$top_builddir/.libs/libcuda_cpu.so" ]; then
    ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -fPIC -shared -fvisibility=hidden -Wl,-soname,libcuda.so.1 "-I$top_srcdir/src" \
        "$top_srcdir/test/device/fake/cuda.c" -o "$work/libcuda.so.1" -ldl -lpthread > "$work/log" 2>&1
    ok $? "the driver of CUDA with checks compiles" "$work/log"
    for profile in verbs cxi efa; do
        case " ${FULMAR_FABRIC:-$profile} " in *" $profile "*) ;; *) continue ;; esac
        cuda $profile multi/device_private.pes
        cuda $profile multi/tag_device_private.pes
    done
else
    skip "registered memory of CUDA" "this build has no libcuda_cpu.so"
fi
# Catches: a job that hangs when a transfer from or to device memory fails.
if [ "$device" ]; then
    for n in 3 10 30; do
        ! FABRIC_FAIL=$n hmem_job verbs iface multi/device_private.pes &&
            [ "$(grep -c '^fulmar: PE 1: network: .* fail.*: Input/output error' "$work/log")" = 1 ]
        ok $? "transfer $n of PE 1 fails, device memory is registered: one line says so" "$work/log"
    done
    ZE_CPU_PRIVATE=1 SHMEM_DEVICE=cpu FABRIC_HMEM=refuse SHMEM_DEBUG=1 job cxi 2 multi/device_private.pes
    [ $? = 0 ] && [ "$(grep -c 'cxi cannot register 67108864 bytes of device memory: .*; transfers are copied through' "$work/log")" -ge 2 ]
    ok $? "device memory that cannot be registered: one line at each PE" "$work/log"
else
    skip "registered device memory" "this build has no device backend (libze-dev)"
fi
! job verbs 2 multi/heap_pinned.pes beyond && grep -q 'bytes behind all blocks of the symmetric heap' "$work/log"
ok $? "a put behind all blocks" "$work/log"

plan

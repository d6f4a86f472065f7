#!/usr/bin/env bash
# kernels.sh - kernels compiled by oshcc, launched on every PE's device, that communicate with each other.
#
# Each program runs with loads and stores to peers' memory, and with all operations through ring and proxy.
. "${top_srcdir:=.}/test/device/run.sh"

# Catches: a kernel that is not found, arguments in the wrong order, a module's default context that is not set, an
# operation of the device library that differs between loads and stores and the ring.
cat > "$work/all.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void everything(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *sig, SHMEMG_GLOBAL shi_u64 *given,
                              int to)
{
    shmem_ctx_t ctx = (shmem_ctx_t)given;
    uint64_t mine[4] = {10 + (uint64_t)shmemg_my_pe(), 20, 30, 40}, got[4];
    if (shmemg_global_id(0) == 0) {
        shmemg_putmem(w, mine, sizeof mine, to);
        shmemg_ctx_uint64_p(ctx, w + 4, 50, to);
        shmemg_uint64_atomic_add(w + 5, 7, to);
        shmemg_fence();
        shmemg_putmem_signal(w + 6, mine, 8, sig, 1, SHMEM_SIGNAL_ADD, to);
        shmemg_signal_wait_until(sig, SHMEM_CMP_GE, 1);
        shmemg_quiet();
        shmemg_getmem(got, w, sizeof got, to);
        w[8] = got[0] == mine[0] && got[3] == 40;
        w[9] = shmemg_uint64_atomic_fetch_add(w + 10, 1, 0);
        w[11] = shmemg_uint64_g(w + 4, to);
    }
    shmemg_sync_all_tg();
}
SHMEMG_KERNEL void wrong(SHMEMG_GLOBAL uint64_t *w) { shmemg_uint64_p(w, 1, 1000); }
SHMEMG_KERNEL void wrong_context(SHMEMG_GLOBAL uint64_t *w) { shmemg_ctx_uint64_p((shmem_ctx_t)w, w, 1, 0); }
END
cat > "$work/all.c" << 'END'
#include <errno.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    (void)argv;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), to = (me + 1) % n, from = (me + n - 1) % n;
    uint64_t *w = shmemg_calloc(16, 8), *sig = shmemg_calloc(1, 8), v[16];
    void *ctx = shmemx_device_ctx(), *args[] = {&w, &sig, &ctx, &to};
    const size_t one[3] = {1, 1, 1}, items[3] = {8, 1, 1}, bytes[] = {8, 8, 8, 4};
    if (argc > 1)
        return shmemx_launch(argc > 2 ? "wrong_context" : "wrong", one, one, args, bytes, 1) || shmemx_device_sync();
    if (shmemx_launch("everything", one, items, args, bytes, 4) || shmemx_device_sync())
        return 1;
    shmem_barrier_all();
    shmem_getmem(v, w, sizeof v, me);
    int ok = v[0] == 10u + (unsigned)from && v[3] == 40 && v[4] == 50 && v[5] == 7 && v[6] == v[0] && v[8] == 1 &&
             v[9] < (uint64_t)n && v[11] == 50 && (me != 0 || v[10] == (uint64_t)n);
    if (!ok)
        for (int i = 0; i < 12; i++)
            printf("PE %d: w[%d] = %lu\n", me, i, (unsigned long)v[i]);
    ok &= shmemx_launch("no_such_kernel", one, items, args, bytes, 4) < 0;
    const size_t wide[] = {8, 8, 8, 8}, flat[3] = {0, 1, 1}; /* the last argument is an int */
    void *more[] = {&w, &sig, &ctx, &to, &to};
    ok &= shmemx_launch("everything", one, items, args, wide, 4) == -EINVAL;
    ok &= shmemx_launch("everything", one, items, args, bytes, 3) == -EINVAL;
    ok &= shmemx_launch("everything", one, items, more, (size_t[]){8, 8, 8, 4, 4}, 5) == -EINVAL;
    ok &= shmemx_launch("everything", one, flat, args, bytes, 4) < 0;
    shmem_finalize();
    return !ok;
}
END
$OSHCC -O2 "$work/all.c" "$work/all.cl" -o "$work/all" > "$work/log" 2>&1
ok $? "oshcc compiles C and OpenCL C together" "$work/log"
for direct in $directs; do
    for pes in 1 2 3; do
        for private in $privates; do
            ZE_CPU_PRIVATE=$private run $pes $direct "$work/all"
            ok $? "operations of a kernel, $pes PEs, direct=$direct, private=$private" "$work/log"
        done
    done
done

# Catches: wrong arguments reported by an error code only.
grep -q 'kernel everything takes an argument 3: 8 bytes were given, 4 are taken' "$work/log" &&
    grep -q 'kernel everything takes an argument 3, which is missing: 0 bytes were given, 4 are taken' "$work/log" &&
    grep -q 'kernel everything takes no argument 4: 4 bytes were given, 0 are taken' "$work/log" &&
    grep -qE 'zeKernelSetGroupSize failed: ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION|cuLaunchKernel failed with 1, CUDA_ERROR_INVALID_VALUE' "$work/log"
ok $? "wrong arguments and groups are reported in words" "$work/log"

# Catches: a request that works only on mapped memory; a get, an update or a signal lost between nodes.
networks='0 1' # settings of ZE_CPU_PRIVATE
if ! ldconfig -p | grep -q libfabric.so.1; then
    skip "operations and order over the network" "libfabric is not installed"
    networks=
fi
for private in $networks; do
    ZE_CPU_PRIVATE=$private SHMEM_TRANSPORT=ofi run 2 1 "$work/all"
    ok $? "operations of a kernel over the network, private=$private" "$work/log"
done

# Catches: proxies that lose each other's updates of one word, a signal before its data, a result for another ticket.
cat > "$work/many.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void many(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *data, SHMEMG_GLOBAL uint64_t *sig, int rounds)
{
    int n = shmemg_n_pes(), me = shmemg_my_pe(), last = (int)shmemg_local_id(0);
    uint64_t seen = 0;
    for (int i = 1; i <= rounds; i++) {
        uint64_t before = shmemg_uint64_atomic_fetch_add(w + 1 + last, 1, 0);
        if (before < seen || before >= (uint64_t)(rounds * n))
            shmemg_uint64_atomic_inc(w, me);
        seen = before + 1;
        if (last == 0) {
            uint64_t value = (uint64_t)i;
            int next = (me + 1) % n;
            shmemg_uint64_put_signal(data, &value, 1, sig, 1, SHMEM_SIGNAL_ADD, next);
            shmemg_signal_wait_until(sig, SHMEM_CMP_GE, (uint64_t)i);
            if (shmemg_uint64_g(data, me) < (uint64_t)i)
                shmemg_uint64_atomic_inc(w, me);
        }
    }
}
END
cat > "$work/many.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    shmem_init();
    enum { ITEMS = 4 };
    int me = shmem_my_pe(), rounds = argc > 1 ? atoi(argv[1]) : 1000;
    uint64_t *w = shmemg_calloc(1 + ITEMS, 8), *data = shmemg_calloc(1, 8), *sig = shmemg_calloc(1, 8), v[1 + ITEMS];
    void *args[] = {&w, &data, &sig, &rounds};
    const size_t one[3] = {1, 1, 1}, items[3] = {ITEMS, 1, 1}, bytes[] = {8, 8, 8, 4};
    int bad = shmemx_launch("many", one, items, args, bytes, 4) || shmemx_device_sync();
    shmem_barrier_all();
    shmem_getmem(v, w, sizeof v, me);
    bad |= v[0] != 0;
    for (int i = 1; me == 0 && i <= ITEMS; i++)
        bad |= v[i] != (uint64_t)(rounds * shmem_n_pes());
    if (bad)
        printf("PE %d: %lu wrong; %lu of %d\n", me, (unsigned long)v[0], (unsigned long)v[1], rounds * shmem_n_pes());
    shmem_finalize();
    return bad;
}
END
$OSHCC "$work/many.c" "$work/many.cl" -o "$work/many" > "$work/log" 2>&1
for private in $privates; do
    ZE_CPU_PRIVATE=$private run 3 0 "$work/many"
    ok $? "many updates of one word through the ring, private=$private" "$work/log"
done
for private in $networks; do
    ZE_CPU_PRIVATE=$private SHMEM_TRANSPORT=ofi run 3 0 "$work/many"
    ok $? "many updates of one word over the network, private=$private" "$work/log"
done

# Catches: devices without access to each other that end the job; a device's atomics on words that other PEs, whose devices
# do not access them, update by copies.
for program in all many; do
    [ "$SHMEM_DEVICE" != cuda ] || { skip "$program: devices that cannot access each other" "a GPU is used"; continue; }
    ZE_CPU_DEVICES=2 ZE_CPU_PEERS=0 ZE_CPU_PRIVATE=1 run 3 1 "$work/$program"
    ok $? "$program: 3 PEs on two devices that cannot access each other" "$work/log"
    [ "${OSHCC_KERNELS:-spirv}" != cuda ] || { skip "$program: the same by copies that end later" "Level Zero only"; continue; }
    # The driver on the CPU under another name is used as one of a GPU: its copies end later, but for those between devices. A round of
    # many takes milliseconds then.
    job=$work/$program
    [ $program = all ] || job="$job 100"
    ln -sf "$(realpath "$top_builddir/.libs/libze_cpu.so")" "$work/libze_other.so"
    ZE_ENABLE_ALT_DRIVERS=$work/libze_other.so SHMEM_DEVICE=ze ZE_CPU_REORDER=1 ZE_CPU_DEVICES=2 ZE_CPU_PEERS=0 ZE_CPU_PRIVATE=1 \
        run 3 1 $job
    ok $? "$program: the same by copies that end later" "$work/log"
done

# Catches: a request that waits for network buffers and is overtaken by a later one to the same PE.
cat > "$work/order.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void order(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL char *block, int to, uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++) {
        shmemg_putmem_nbi(block + 8000, block, 8000, to);
        shmemg_uint64_p(w, i, to); /* nothing between but its place in the program */
    }
    shmemg_quiet();
}
END
cat > "$work/order.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
int main(void)
{
    shmem_init();
    int to = (shmem_my_pe() + 1) % shmem_n_pes(), bad = 0;
    uint64_t *w = shmemg_calloc(1, 8), v;
    char *block = shmemg_calloc(2, 8000);
    const size_t one[3] = {1, 1, 1}, bytes[] = {8, 8, 4, 8};
    for (uint64_t n = 1; n <= 1000 && !bad; n += 199) {
        void *args[] = {&w, &block, &to, &n};
        bad = shmemx_launch("order", one, one, args, bytes, 4) || shmemx_device_sync();
        shmem_getmem(&v, w, sizeof v, to);
        if (v != n)
            printf("PE %d: the last of %lu puts left %lu\n", shmem_my_pe(), (unsigned long)n, (unsigned long)v);
        bad |= v != n;
    }
    shmem_finalize();
    return bad;
}
END
$OSHCC "$work/order.c" "$work/order.cl" -o "$work/order" > "$work/log" 2>&1
for private in $networks; do
    ZE_CPU_PRIVATE=$private SHMEM_TRANSPORT=ofi run 2 0 "$work/order"
    ok $? "puts to one word arrive in order over the network, private=$private" "$work/log"
done

# Catches: an invalid request that is carried out, or a refusal that is not reported.
run 2 1 "$work/all" wrong
[ $? != 0 ] && [ "$(grep -c 'PE 1000 does not exist' "$work/log")" -ge 1 ]
ok $? "an invalid PE in a kernel ends the job with one line" "$work/log"

# Catches: an invalid context that is accepted, or refused without a report.
run 1 1 "$work/all" wrong context
[ $? != 0 ] && grep -q "none of this library's" "$work/log"
ok $? "an invalid context ends the job with one line" "$work/log"

# Catches: a finalize that stops the proxy while a kernel still needs it.
cat > "$work/late.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void late(SHMEMG_GLOBAL uint64_t *w, int to)
{
    for (uint64_t i = 1; i <= 2000; i++)
        shmemg_uint64_p(w, i, to);
    shmemg_quiet();
    shmemg_uint64_atomic_add(w + 1, 1, to);
}
END
cat > "$work/late.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
int main(void)
{
    shmem_init();
    int to = (shmem_my_pe() + 1) % shmem_n_pes();
    uint64_t *w = shmemg_calloc(2, 8);
    void *args[] = {&w, &to};
    const size_t one[3] = {1, 1, 1}, bytes[] = {8, 4};
    int err = shmemx_launch("late", one, one, args, bytes, 2);
    shmem_finalize();
    shmem_init(); /* and once more, with the module built anew */
    w = shmemg_calloc(2, 8);
    err |= shmemx_launch("late", one, one, args, bytes, 2) || shmemx_device_sync();
    shmem_barrier_all();
    err |= shmem_uint64_g(w + 1, to) != 1 || shmem_uint64_g(w, to) != 2000;
    shmem_finalize();
    return err;
}
END
$OSHCC "$work/late.c" "$work/late.cl" -o "$work/late" > "$work/log" 2>&1 && run 2 0 "$work/late"
ok $? "finalize waits for kernels, and a second session works" "$work/log"

# Catches: a request counted more than once, a negative number of requests.
for private in $privates; do
    ZE_CPU_PRIVATE=$private SHMEM_STATS=all run 2 0 "$work/late" && # 4 times: 2 PEs, 2 sessions
        [ "$(sed -n 's/.*the ring brought \([0-9]*\) requests in [0-9]* rounds, at most \([0-9]*\) at a time/\1 \2/p' "$work/log" |
            awk '$1 == 2001 && $2 >= 1 && $2 <= 2001' | wc -l)" = 4 ]
    ok $? "statistics count each request once, private=$private" "$work/log"
done

# Catches: halos that arrive late or in the wrong grid.
if pkg-config --exists libpng; then
    # shellcheck disable=SC2046
    $OSHCC -O2 "$top_srcdir/examples/heat.c" "$top_srcdir/examples/heat.cl" -o "$work/heat" \
        $(pkg-config --cflags --libs libpng) -lm > "$work/log" 2>&1
    ok $? "the heat example compiles" "$work/log"
    for direct in $directs; do
        run 3 $direct "$work/heat" 48 60 "$work/heat.png" && grep -q right "$work/log" && [ -s "$work/heat.png" ]
        ok $? "the heat example computes the reference, 3 PEs, direct=$direct" "$work/log"
    done
else
    tests=$((tests + 1))
    echo "ok $tests - the heat example # SKIP libpng-dev is not installed"
fi

if [ "$DEVICE_AGAIN" ]; then
    plan
    exit
fi

# Catches: a lost compiler error, leftover temporary files.
printf 'SHMEMG_KERNEL void bad( {}' > "$work/bad.cl"
TMPDIR=$work $OSHCC "$work/all.c" "$work/bad.cl" -o "$work/bad" > "$work/log" 2>&1
[ $? != 0 ] && [ ! -e "$work/bad" ] && [ "$(find "$work" -maxdepth 1 -type d | wc -l)" = 1 ]
ok $? "a kernel that does not compile fails the link and leaves nothing" "$work/log"

# Catches: an image in the wrong format passed to the device, or reported as a missing kernel; kernels compiled
# elsewhere that are not embedded; a missing compiler that is not named.
if command -v nvcc > /dev/null && (. "$top_srcdir/src/tools/llvm.sh" && find_llvm); then
    $OSHCC --kernels=spirv,cuda "$work/late.c" "$work/late.cl" -o "$work/both" > "$work/log" 2>&1 && run 2 1 "$work/both"
    ok $? "one file of kernels in two formats, of which the device takes its own" "$work/log"
    other=$([ "${OSHCC_KERNELS:-spirv}" = cuda ] && echo spirv || echo cuda)
    $OSHCC --kernels=$other "$work/late.c" "$work/late.cl" -o "$work/other" > "$work/log" 2>&1
    ! run 1 1 "$work/other" && grep -q 'another kind of device' "$work/log"
    ok $? "only kernels in another format: one line reports it" "$work/log"
else
    tests=$((tests + 1))
    echo "ok $tests - kernels in two formats # SKIP nvcc, or LLVM with llvm-spirv, is not installed"
fi
cp "$work/late.cl" "$work/late.cu"
NVCC=$work/none $OSHCC "$work/late.c" "$work/late.cu" -o "$work/bad" > "$work/log" 2>&1
[ $? != 0 ] && [ ! -e "$work/bad" ] && [ "$(grep -c 'install the package nvidia-cuda-toolkit' "$work/log")" = 1 ]
ok $? "a missing nvcc is named" "$work/log"
printf '\003\002#\007no more' > "$work/late.spv"
$OSHCC "$work/late.c" "$work/late.spv" -o "$work/image" > "$work/log" 2>&1 && grep -q 'no more' "$work/image"
ok $? "an image compiled elsewhere is embedded" "$work/log"
! $OSHCC --kernels=metal "$work/late.c" "$work/late.cl" -o "$work/image" > "$work/log" 2>&1 && grep -q metal "$work/log"
ok $? "an unknown format is refused by name" "$work/log"
plan

#!/usr/bin/env bash
# race.sh - in a build with ThreadSanitizer: kernels on the CPU driver have no races with the proxy and the host, and
# the sanitizer reports a release or an acquire of the device library that the test weakens. Skipped in other builds.
. "${top_srcdir:=.}/test/device/run.sh"
if ! ${NM:-nm} -D "$top_builddir/.libs/libze_cpu.so" | grep -q __tsan_init; then
    echo "1..0 # SKIP not a build with ThreadSanitizer (./check makes one)"
    exit 0
fi

cat > "$work/race.cl" << 'END'
#include "device/lib/dialect.h"
#ifdef WEAK_PUBLISH /* the signal of a put-with-signal by stores */
#define shi_store_release(p, v) shi_store_relaxed(p, v)
#endif
#ifdef WEAK_LOOK /* at the tag of a result */
#define shi_load_acquire(p) shi_load_relaxed(p)
#define shi_fence_acquire(x) FENCE_##x /* its definition gets another name, a call disappears */
#define FENCE_void fence_not_called(void)
#define FENCE_ ((void)0)
#endif
#include <shmemg.h>
__kernel void race(__global ulong *data, __global ulong *signal, __global ulong *sum, int rounds)
{
    ulong mine[8], all = 0;
    for (int i = 1; i <= rounds; i++) {
        for (int k = 0; k < 8; k++)
            mine[k] = (ulong)i * 8 + k;
        shmemg_putmem_signal(data + i * 8, mine, sizeof mine, signal, i, SHMEM_SIGNAL_SET, 0);
        all += shmemg_uint64_atomic_fetch_add(sum, 1, 0);
        shmemg_signal_wait_until(signal + 1, SHMEM_CMP_EQ, i);
    }
    sum[1] = all;
}
END
cat > "$work/race.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
int main(void)
{
    shmem_init();
    uint64_t *data, *signal = shmemg_calloc(2, 8), *sum = shmemg_calloc(2, 8), bad = 0;
    const size_t one[3] = {1, 1, 1}, bytes[] = {8, 8, 8, 4};
    int rounds = 200;
    data = shmemg_calloc(8 * ((size_t)rounds + 1), 8); /* each round has its own: a put is not ordered behind earlier reads */
    if (shmemx_launch("race", one, one, (void *[]){&data, &signal, &sum, &rounds}, bytes, 4))
        return 2;
    for (uint64_t i = 1; i <= (uint64_t)rounds; i++) { /* while the kernel runs */
        shmem_signal_wait_until(signal, SHMEM_CMP_EQ, i);
        for (uint64_t k = 0; k < 8; k++)
            bad += data[i * 8 + k] != i * 8 + k;
        shmem_uint64_atomic_set(signal + 1, i, 0);
    }
    if (shmemx_device_sync())
        return 2;
    bad += sum[1] != 199 * 200 / 2;
    shmem_finalize();
    return bad != 0;
}
END
compile() { # NAME, options
    $OSHCC -g -O1 -fsanitize=thread "$work/race.c" "${@:2}" "$work/race.cl" -o "$work/$1" > "$work/log" 2>&1
    ok $? "$1 compiles" "$work/log"
}
export TSAN_OPTIONS="exitcode=66 halt_on_error=0"
race() { # direct, program
    SHMEM_TEST_DEVICE_DIRECT=$1 SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 120 "$work/$2" > "$work/log" 2>&1
}

compile sound
compile weak_publish -DWEAK_PUBLISH
compile weak_look -DWEAK_LOOK

# Catches: a missing ordering edge of the ring or of a signal.
for direct in 1 0; do
    race $direct sound
    ok $? "the device library has no race, direct=$direct" "$work/log"
done

# Catches: a sanitizer that does not observe the kernels' accesses, which would make the checks above void.
reported() { # as race; beside other load one run may not meet the race
    local i
    for i in 1 2 3; do
        race "$@"
        [ $? = 66 ] && grep -q 'data race' "$work/log" && return 0
    done
    return 1
}
reported 1 weak_publish
ok $? "a signal stored without release is reported as a race" "$work/log"
reported 0 weak_look
ok $? "a result read without acquire is reported as a race" "$work/log"
plan

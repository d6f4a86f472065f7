#!/usr/bin/env bash
# hang.sh - kernels that do not continue: descheduled between ticket and slot, ended there, waiting for ever, out of
# bounds.
. "${top_srcdir:=.}/test/device/run.sh"

cat > "$work/k.cl" << 'END'
#include <shmemg.h>
/* Take a ticket, and write its slot when the host allows it. */
SHMEMG_KERNEL void starve(SHMEMG_GLOBAL uint64_t *w)
{
    shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;
    SHMEMG_GLOBAL struct shi_ring *r = shi_ctx_ring(ctx);
    struct shi_request q = {0};
    shi_u64 epoch = shi_ring_epoch(r), t = shi_add_relaxed(&r->head, 1);
    while (shi_load_acquire((SHMEMG_GLOBAL shi_u64 *)w) == 0)
        shi_pause();
    q.arg[0] = 41;
    shi_request_put_inline(&q, (shi_u64)(w + 1) - ctx->heap, 8);
    shi_ring_wait_credit(r, 0, r->log_n, t);
    shi_ring_write(shi_ring_slots(r), t, epoch, q.op, 0, q.arg, 0);
    shmemg_quiet();
}
SHMEMG_KERNEL void give_up(SHMEMG_GLOBAL uint64_t *w)
{
    shi_add_relaxed(&shi_ctx_ring(SHMEM_DEVICE_CTX_DEFAULT)->head, 1);
}
SHMEMG_KERNEL void wait(SHMEMG_GLOBAL uint64_t *w)
{
    shmemg_uint64_wait_until(w + 2, SHMEM_CMP_EQ, 7);
}
SHMEMG_KERNEL void stray(SHMEMG_GLOBAL uint64_t *w)
{
    w[1ul << 40] = 1;
}
END
cat > "$work/k.c" << 'END'
#include <shmemx.h>
#include <stdio.h>
#include <unistd.h>
/* k KERNEL [FILE]: launch the kernel; when FILE exists, let it continue. */
int main(int argc, char **argv)
{
    shmem_init();
    uint64_t *w = shmemg_calloc(4, 8), got = 0, go = 1;
    void *args[] = {&w};
    const size_t one[3] = {1, 1, 1}, bytes[] = {8};
    if (shmemx_launch(argv[1], one, one, args, bytes, 1))
        return 2;
    fprintf(stderr, "ready\n");
    while (argc > 2 && access(argv[2], F_OK))
        usleep(10000);
    if (argc > 2)
        shmem_putmem(w, &go, sizeof go, 0);
    int err = shmemx_device_sync();
    shmem_getmem(&got, w + 1, sizeof got, 0);
    fprintf(stderr, "sync %d, got %d\n", err, (int)got);
    shmem_finalize();
    return 0;
}
END
$OSHCC -I"$top_srcdir/src" "$work/k.c" "$work/k.cl" -o "$work/k" > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"

start() { # arguments of the program
    : > "$work/log"
    SHMEM_DEVICE_SYMMETRIC_SIZE=8M $OSHRUN -n 1 "$work/k" "$@" > "$work/log" 2>&1 &
    pid=$!
}

# Catches: a job ended because its kernel is slow or stopped in a debugger; a warning without the name, or repeated.
for private in 0 1; do
    ZE_CPU_PRIVATE=$private start starve "$work/go$private"
    until_grep 'PE 0: proxy: kernel starve took ticket 0 of the ring and has not filled its slot' "$work/log"
    touch "$work/go$private"
    wait $pid && grep -q 'sync 0, got 41' "$work/log" && [ "$(grep -c 'has not filled' "$work/log")" = 1 ]
    ok $? "a kernel that is late is reported once and continues, private=$private" "$work/log"
done

# Catches: an endless wait for a request that a kernel has not written and never will.
start give_up
wait $pid
[ $? = 1 ] && grep -q 'PE 0: proxy: kernel give_up took ticket 0 of the ring and ended without filling its slot' "$work/log"
ok $? "a kernel that ends without its request ends the job" "$work/log"

# Catches: a hang in a kernel that is not reported as such.
for native in 1 0; do
    where='0x[0-9a-f]+ \(device heap \+ 0x[0-9a-f]+\)'
    [ $native = 0 ] || where="($where|a word \(ZE_CPU_NATIVE=0 shows its address\))"
    ZE_CPU_NATIVE=$native start wait
    until_grep '^ready' "$work/log" &&
        until_grep 'PE 0: waits in shmemx_device_sync for [0-9.]+ s: kernel wait has not ended$' "$work/log" $pid &&
        until_grep "PE 0: 1 work-item of kernel wait polls $where, which is 0\$" "$work/log" $pid
    bad=$?
    kill -TERM $pid
    wait $pid
    ok $bad "the report of a hang has the kernel that waits, native=$native" "$work/log"
done

# Catches: a crash report that does not name the kernel.
for native in 1 0; do
    ZE_CPU_NATIVE=$native start stray
    wait $pid
    [ $? != 0 ] && grep -q 'kernel stray .*ZE_CPU_CHECK=1' "$work/log"
    ok $? "an access out of bounds is reported with its kernel, native=$native" "$work/log"
done
plan

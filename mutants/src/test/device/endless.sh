#!/usr/bin/env bash
# endless.sh - a kernel's quiet beside a work-item or a thread of the host that puts without end, to another
# node: it ends, for those are not what it waits for.
. "${top_srcdir:=.}/test/device/run.sh"

cat > "$work/endless.cl" << 'END'
#include <shmemg.h>
/* Work-item 0 puts until work-item 1 has waited ROUNDS times for a put of its own. */
SHMEMG_KERNEL void beside(SHMEMG_GLOBAL char *dest, SHMEMG_GLOBAL char *source, SHMEMG_GLOBAL uint64_t *stop, uint64_t bytes,
                          uint64_t rounds, int to)
{
    if (shmemg_global_id(0) == 0) {
        while (!shmemg_uint64_atomic_fetch(stop, shmemg_my_pe()))
            shmemg_putmem_nbi(dest, source, bytes, to);
    } else {
        for (uint64_t i = 0; i < rounds; i++) {
            shmemg_putmem_nbi(dest + bytes, source + bytes, 8, to);
            shmemg_quiet();
        }
        shmemg_uint64_atomic_set(stop, 1, shmemg_my_pe());
    }
    shmemg_quiet();
}
/* Puts and waits; nothing else of the kernel goes on. */
SHMEMG_KERNEL void alone(SHMEMG_GLOBAL char *dest, SHMEMG_GLOBAL char *source, uint64_t bytes, uint64_t rounds, int to)
{
    for (uint64_t i = 0; i < rounds; i++) {
        shmemg_putmem_nbi(dest, source, bytes, to);
        shmemg_quiet();
    }
}
END
cat > "$work/endless.c" << 'END'
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>

enum { LONG = 65536, ROOM = 2 * LONG };
static const size_t one[3] = {1, 1, 1}, two[3] = {2, 1, 1};
static int to, stop, begun;
static char *heap;
static size_t length;

static void *put(void *arg)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        shmem_putmem_nbi(heap, heap + LONG, length, to);
        __atomic_store_n(&begun, 1, __ATOMIC_RELAXED);
    }
    return arg;
}

int main(int argc, char **argv)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    to = (shmem_my_pe() + 1) % shmem_n_pes();
    length = (size_t)atoi(argv[1 % argc]);
    uint64_t bytes = length, rounds = 30, *flag = shmemg_calloc(1, 8);
    char *dest = shmemg_calloc(ROOM, 1), *source = shmemg_calloc(ROOM, 1);
    heap = shmem_calloc(ROOM, 1);
    if (!flag || !dest || !source || !heap)
        return 2;
    shmem_barrier_all();
    void *args[] = {&dest, &source, &flag, &bytes, &rounds, &to};
    if (shmemx_launch("beside", one, two, args, (const size_t[]){8, 8, 8, 8, 8, 4}, 6) || shmemx_device_sync())
        return 3;
    shmem_barrier_all();
    pthread_t thread;
    pthread_create(&thread, NULL, put, NULL);
    while (!__atomic_load_n(&begun, __ATOMIC_RELAXED))
        ;
    void *few[] = {&dest, &source, &bytes, &rounds, &to};
    if (shmemx_launch("alone", one, one, few, (const size_t[]){8, 8, 8, 8, 4}, 5) || shmemx_device_sync())
        return 3;
    shmem_barrier_all();
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    shmem_quiet();
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
END
$OSHCC -O2 "$work/endless.c" "$work/endless.cl" -o "$work/endless" -lpthread > "$work/log" 2>&1
ok $? "oshcc compiles the program" "$work/log"

# Catches: a quiet of a kernel that waits for what other work-items or the host start after it.
for private in $privates; do
    for length in 8 65536; do
        ZE_CPU_PRIVATE=$private SHMEM_TRANSPORT=ofi run 2 0 "$work/endless" $length
        ok $? "tcp, puts of $length bytes, private=$private" "$work/log"
        for profile in efa; do # test/fabric plays it
            [ -e "$top_builddir/test/fabric/.libs/libfabric.so.1" ] || break
            LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=$profile ZE_CPU_PRIVATE=$private SHMEM_TRANSPORT=ofi \
                run 2 0 "$work/endless" $length
            ok $? "$profile, puts of $length bytes, private=$private" "$work/log"
        done
    done
done
plan

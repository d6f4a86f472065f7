#!/usr/bin/env bash
# staging.sh - puts and gets between nodes of device memory that neither the host nor the network can access: of all lengths
# and alignments, of host and kernels, many at once, with signals, fences and quiet behind them.
. "${top_srcdir:=.}/test/device/run.sh"

cat > "$work/staging.cl" << 'END'
#include <shmemg.h>
/* Puts with a signal, then waits for the peer's. */
SHMEMG_KERNEL void signalled(SHMEMG_GLOBAL char *dest, SHMEMG_GLOBAL char *source, SHMEMG_GLOBAL uint64_t *sig, uint64_t bytes,
                             uint64_t value, int to)
{
    shmemg_putmem_signal_nbi(dest, source, bytes, sig, value, SHMEM_SIGNAL_SET, to);
    shmemg_signal_wait_until(sig, SHMEM_CMP_GE, value);
    shmemg_quiet();
}
/* Every work-item: a put, a fence, a shorter put into it; then a get of another part. */
SHMEMG_KERNEL void many(SHMEMG_GLOBAL char *dest, SHMEMG_GLOBAL char *source, SHMEMG_GLOBAL char *back, uint64_t bytes, int to)
{
    uint64_t at = shmemg_global_id(0) * bytes;
    shmemg_putmem_nbi(dest + at, source + at, bytes, to);
    shmemg_fence();
    shmemg_putmem_nbi(dest + at, source, bytes / 3, to);
    shmemg_getmem_nbi(back + at, source + at, bytes, to);
    shmemg_quiet();
}
END
cat > "$work/staging.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 << 20, ROOM = MOST + 64, ITEMS = 40, EACH = 20001 };
static const size_t lengths[] = {1, 7, 8, 4096, 8191, 8192, 8193, 20000, 262143, 262144, 262145, 1048576, 5000001, MOST};
static const size_t one[3] = {1, 1, 1}, items[3] = {ITEMS, 1, 1};
static int me, n, to, from, bad;
static char *device[2], *heap[2], *private[2], *expected, *seen;
static uint64_t *sig, round_;

static void fill(char *p, size_t bytes, int pe, uint64_t seed)
{
    uint64_t x = seed * 2654435761u + (uint64_t)pe * 977 + 1;
    for (size_t i = 0; i < bytes; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        p[i] = (char)(x >> 56);
    }
}

static void check(const char *what, const char *at, size_t off, size_t bytes, int pe, uint64_t seed)
{
    fill(expected, bytes, pe, seed);
    if (at == device[0] || at == device[1])
        shmem_getmem(seen, at + off, bytes, me);
    else
        memcpy(seen, at + off, bytes);
    if (!memcmp(seen, expected, bytes))
        return;
    size_t i = 0;
    while (seen[i] == expected[i])
        i++;
    printf("PE %d: %s: %zu bytes at %zu differ from byte %zu on\n", me, what, bytes, off, i);
    bad = 1;
}

static void give(char *source, size_t off, size_t bytes, uint64_t seed)
{
    fill(seen, bytes, me, seed);
    if (source == device[0])
        shmem_putmem(source + off, seen, bytes, me);
    else
        memcpy(source + off, seen, bytes);
}

/* The host: from each kind of memory to the other, blocking or not, a signal or a fence behind it. */
static void host(size_t bytes, size_t off)
{
    char *const sources[] = {device[0], heap[0], private[0]}, *const dests[] = {device[1], heap[1]};
    char *const locals[] = {device[1], heap[1], private[1]}, *const remotes[] = {device[0], heap[0]};
    for (int s = 0; s < 3; s++)
        for (int d = 0; d < 2; d++) {
            uint64_t seed = ++round_;
            give(sources[s], off, bytes, seed);
            if (seed % 3 == 0) {
                shmem_putmem_nbi(dests[d] + off + 3, sources[s] + off, bytes, to);
                shmem_fence();
                shmem_uint64_p(sig, seed, to);
            } else {
                (seed % 3 == 1 ? shmem_putmem_signal_nbi : shmem_putmem_signal)(dests[d] + off + 3, sources[s] + off, bytes, sig,
                                                                                seed, SHMEM_SIGNAL_SET, to);
            }
            shmem_signal_wait_until(sig, SHMEM_CMP_GE, seed);
            check("a put of the host", dests[d], off + 3, bytes, from, seed);
            shmem_quiet();
            shmem_barrier_all();
        }
    for (int l = 0; l < 3; l++)
        for (int r = 0; r < 2; r++) {
            uint64_t seed = ++round_;
            give(remotes[r], off + 1, bytes, seed);
            shmem_barrier_all();
            (seed % 2 ? shmem_getmem : shmem_getmem_nbi)(locals[l] + off, remotes[r] + off + 1, bytes, to);
            shmem_quiet();
            check("a get of the host", locals[l], off, bytes, to, seed);
            shmem_barrier_all();
        }
}

static void kernel(uint64_t bytes, size_t off, uint64_t *dsig)
{
    uint64_t seed = ++round_;
    char *dest = device[1] + off + 1, *source = device[0] + off;
    give(device[0], off, bytes, seed);
    void *args[] = {&dest, &source, &dsig, &bytes, &seed, &to};
    if (shmemx_launch("signalled", one, one, args, (const size_t[]){8, 8, 8, 8, 8, 4}, 6) || shmemx_device_sync())
        exit(2);
    check("a put of a kernel", device[1], off + 1, bytes, from, seed);
    shmem_barrier_all();
}

static void kernels(void)
{
    uint64_t bytes = EACH, seed = ++round_;
    char *back = device[0] + MOST / 2;
    void *args[] = {&device[1], &device[0], &back, &bytes, &to};
    give(device[0], 0, (size_t)ITEMS * EACH, seed);
    shmem_barrier_all();
    if (shmemx_launch("many", one, items, args, (const size_t[]){8, 8, 8, 8, 4}, 5) || shmemx_device_sync())
        exit(2);
    shmem_barrier_all();
    fill(seen, (size_t)ITEMS * EACH, from, seed);
    for (int i = 0; i < ITEMS; i++)
        memcpy(expected + i * EACH, seen, EACH / 3), memcpy(expected + i * EACH + EACH / 3, seen + i * EACH + EACH / 3, EACH - EACH / 3);
    shmem_getmem(seen, device[1], (size_t)ITEMS * EACH, me);
    if (memcmp(seen, expected, (size_t)ITEMS * EACH)) {
        printf("PE %d: puts of many work-items differ\n", me);
        bad = 1;
    }
    fill(expected, (size_t)ITEMS * EACH, to, seed);
    shmem_getmem(seen, back, (size_t)ITEMS * EACH, me);
    if (memcmp(seen, expected, (size_t)ITEMS * EACH)) {
        printf("PE %d: gets of many work-items differ\n", me);
        bad = 1;
    }
    shmem_barrier_all();
}

/* Transfers in both directions are in progress when a PE ends. A PE that stops may be silent for longer the more is on its way. */
static int end(const char *how)
{
    size_t bytes = strcmp(how, "stop") ? MOST : 1 << 20;
    for (int i = 0; i < 100; i++) {
        shmem_putmem_nbi(device[1], device[0], bytes, to);
        shmem_getmem_nbi(device[1], device[0], bytes / 2, to);
        if (i == 2 && me == 1 && !strcmp(how, "die"))
            raise(SIGKILL);
        if (i == 2 && me == 1 && !strcmp(how, "stop"))
            raise(SIGSTOP);
        if (i == 2 && me == 1 && !strcmp(how, "exit"))
            shmem_global_exit(7);
        if (i == 2 && !strcmp(how, "finalize"))
            break;
    }
    shmem_finalize();
    return 0;
}

/* PE 0 makes a copy of 3392 bytes, itself or by a request of a kernel. */
static int copy_once(int by_kernel)
{
    uint64_t bytes = 3392, value = 1;
    uint64_t *word = shmemg_calloc(1, 8);
    void *args[] = {&device[1], &device[0], &word, &bytes, &value, &me};
    if (me == 0 && by_kernel && shmemx_launch("signalled", one, one, args, (const size_t[]){8, 8, 8, 8, 8, 4}, 6))
        return 2;
    if (me == 0 && !by_kernel)
        shmem_putmem(device[1], device[0], bytes, 0);
    if (me == 0)
        shmemx_device_sync();
    shmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    size_t longest = argc > 1 && strtoul(argv[1], NULL, 0) ? strtoul(argv[1], NULL, 0) : MOST;
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    to = (me + 1) % n;
    from = (me + n - 1) % n;
    uint64_t *dsig = shmemg_calloc(1, 8);
    for (int i = 0; i < 2; i++) {
        device[i] = shmemg_calloc(ROOM, 1);
        heap[i] = shmem_calloc(ROOM, 1);
        private[i] = malloc(ROOM);
    }
    sig = shmem_calloc(1, 8);
    expected = malloc(ROOM);
    seen = malloc(ROOM);
    if (!dsig || !device[1] || !heap[1] || !private[1] || !expected || !seen)
        return 2;
    if (argc > 1 && !strtoul(argv[1], NULL, 0))
        return strcmp(argv[1], "copy") && strcmp(argv[1], "request") ? end(argv[1]) : copy_once(!strcmp(argv[1], "request"));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && lengths[i] <= longest; i++) {
        host(lengths[i], i % 5);
        kernel(lengths[i], i % 3, dsig);
    }
    kernels();
    shmem_finalize();
    return bad;
}
END
$OSHCC -O2 "$work/staging.c" "$work/staging.cl" -o "$work/staging" > "$work/log" 2>&1
ok $? "oshcc compiles the program" "$work/log"

# network PES PROGRAM...: between nodes, on private memory.
network() {
    ZE_CPU_PRIVATE=1 SHMEM_TRANSPORT=ofi SHMEM_DEVICE_SYMMETRIC_SIZE=40M timeout 120 $OSHRUN -n "$@" > "$work/log" 2>&1
}

# Catches: a piece lost, repeated or at a wrong offset; a chunk reused too early; a signal, a fence or quiet that does not wait
# for pieces; PEs that block each other.
network 2 "$work/staging"
ok $? "puts and gets of 1 B to 16 MiB, two PEs" "$work/log"
# Catches: copies that no statistics show.
SHMEM_STATS=$work/stats.json network 2 "$work/staging" 4096 && python3 - "$work/stats.json" > "$work/log" 2>&1 << 'END'
import json, sys
for pe in json.load(open(sys.argv[1])):
    records = pe["device_copies"]["records"]
    assert records["copies"] >= records["submissions"] > 0 and records["updates"] > 0, pe
END
ok $? "statistics count copies, submissions and updates" "$work/log"
SHMEM_TEST_DEVICE_STAGING=32K network 3 "$work/staging" 300000
ok $? "the same up to 256 KiB through chunks of 8 KiB, three PEs" "$work/log"
SHMEM_TEST_NET_FAULT=reorder=3,delay=2,again=5,unordered=1 SHMEM_TEST_DEVICE_STAGING=200K network 2 "$work/staging" 300000
ok $? "the same over a network without order that refuses posts" "$work/log"
SHMEM_TEST_NET_FAULT=reorder=5,unordered=2,unreported=1 network 2 "$work/staging" 300000
ok $? "the same where the network does not report writes at their target" "$work/log"
for profile in cxi efa psm3 opx; do # test/fabric plays them
    [ -e "$top_builddir/test/fabric/.libs/libfabric.so.1" ] || break
    LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=$profile network 2 "$work/staging" 300000
    ok $? "the same with the promises of $profile" "$work/log"
done

# Catches: a transfer that keeps a job from ending, or that is forgotten.
network 2 "$work/staging" finalize
ok $? "transfers in progress end with shmem_finalize" "$work/log"
network 2 "$work/staging" exit
[ $? -eq 7 ]
ok $? "shmem_global_exit ends a job with transfers in progress" "$work/log"
network 2 "$work/staging" die
status=$?
[ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(grep -c '^fulmar:' "$work/log")" -le 1 ] &&
    [ "$(grep -c '^oshrun: PE 1 .* was killed' "$work/log")" -eq 1 ]
ok $? "a PE that dies ends a job with transfers in progress" "$work/log"
# Catches: transfers that wait for ever for a PE whose death only the network shows.
SHMEM_HEARTBEAT=1 network 2 "$work/staging" stop
status=$?
[ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(grep -c 'PE 0: network: PE 1 has not answered for 1 s' "$work/log")" -eq 1 ]
ok $? "a PE that no longer answers ends a job with transfers in progress" "$work/log"
# Catches: a piece that the network never ends, for which the job waits for ever, although its PE answers (within 5 s, even where it
# waits for a core).
SHMEM_HEARTBEAT=5 SHMEM_TEST_NET_FAULT=lost=3 network 2 "$work/staging" finalize
status=$?
[ $status -ne 0 ] && [ $status -ne 124 ] && grep -q -E 'network: a (read of [0-9]* bytes from|write of [0-9]* bytes to) PE [01] has not ended for 5 s' "$work/log"
ok $? "a piece that the network never ends ends the job with a line" "$work/log"
# Catches: the same of a copy that the driver makes in the thread that polls: a line that blames the network, or none.
cat > "$work/stall.c" << 'END'
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>
void *memmove(void *to, const void *from, size_t bytes)
{
    static void *(*real)(void *, const void *, size_t);
    if (!real)
        real = (void *(*)(void *, const void *, size_t))dlsym(RTLD_NEXT, "memmove");
    while (bytes == 3392) /* the last piece of a transfer of multi/device_private through chunks of 8 KiB */
        pause();
    return real(to, from, bytes);
}
END
$CC -D_GNU_SOURCE -shared -fPIC -fno-builtin "$work/stall.c" -o "$work/stall.so" -ldl
# The driver on the CPU under another name is used as one of a GPU: its copies end later. ZE_CPU_REORDER: in any order without barriers.
ln -s "$(realpath "$top_builddir/.libs/libze_cpu.so")" "$work/libze_other.so"
other() { ZE_ENABLE_ALT_DRIVERS=$work/libze_other.so SHMEM_DEVICE=ze "$@"; }
stuck() { # copies that the program's own thread makes, and those of the proxy, on a node and between nodes
    for how in copy request; do
        for transport in auto ofi; do
            (
                LD_PRELOAD=$work/stall.so SHMEM_HEARTBEAT=5 ZE_CPU_PRIVATE=1 SHMEM_TRANSPORT=$transport SHMEM_TEST_DEVICE_DIRECT=0 SHMEM_DEVICE_SYMMETRIC_SIZE=40M \
                    timeout 120 $OSHRUN -n 2 "$work/staging" $how > "$work/stuck.$how.$transport" 2>&1
                echo "status $?" >> "$work/stuck.$how.$transport"
            ) &
        done
    done
    (
        LD_PRELOAD=$work/stall.so SHMEM_HEARTBEAT=5 ZE_CPU_PRIVATE=1 SHMEM_TEST_DEVICE_DIRECT=0 SHMEM_DEVICE_SYMMETRIC_SIZE=40M \
            other timeout 120 $OSHRUN -n 2 "$work/staging" request > "$work/stuck.later" 2>&1
        echo "status $?" >> "$work/stuck.later"
    ) &
}
stuck
LD_PRELOAD=$work/stall.so SHMEM_HEARTBEAT=5 SHMEM_TEST_DEVICE_STAGING=32K network 2 "$top_builddir/test/multi/device_private.pes"
status=$?
[ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(grep -c '^fulmar: .*network' "$work/log")" -ge 1 ] &&
    [ "$(grep '^fulmar: .*network' "$work/log" | grep -cv 'the device has not ended a copy of 3392 bytes for 2.5 s (SHMEM_HEARTBEAT)')" -eq 0 ]
ok $? "a copy of the polling thread that never ends ends the job with a line" "$work/log"
wait
! grep -qE '^status (0|124)$' "$work/stuck.later" && grep -q '^fulmar: PE 0: proxy: the device has ended none of [0-9]* copies for 5 s (SHMEM_HEARTBEAT)' "$work/stuck.later"
ok $? "a copy of a copy engine that never ends ends the job with a line" "$work/stuck.later"
# Catches: copies of a copy engine that overtake each other, or that count before they have ended; an engine that stays unused.
ZE_CPU_REORDER=1 other network 2 "$work/staging" 300000
ok $? "puts and gets of 1 B to 256 KiB by copies that end later" "$work/log"
# Catches: the same of a copy that keeps another thread than the one that polls, for which the job waits for ever.
for how in copy request; do
    routine=$([ $how = copy ] && echo shmem_putmem || echo proxy)
    for transport in auto ofi; do
        log=$work/stuck.$how.$transport
        ! grep -qE '^status (0|124)$' "$log" && [ "$(grep -c '^fulmar: ' "$log")" -eq 1 ] &&
            grep -q "^fulmar: PE 0: $routine: the device has not ended a copy of 3392 bytes for 2.5 s (SHMEM_HEARTBEAT)" "$log"
        ok $? "a copy that never ends ends the job with a line: $how, $transport" "$log"
    done
done
for profile in verbs cxi efa; do # the same where the network accesses device memory itself
    [ -e "$top_builddir/test/fabric/.libs/libfabric.so.1" ] || break
    for how in die exit finalize; do
        LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=$profile FABRIC_HMEM=iface network 2 "$work/staging" $how
        status=$?
        case $how in
        die) [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(grep -c '^fulmar:' "$work/log")" -le 1 ] &&
            [ "$(grep -c '^oshrun: PE 1 .* was killed' "$work/log")" -eq 1 ] ;;
        exit) [ $status -eq 7 ] && [ "$(grep -c . "$work/log")" -eq 1 ] && grep -q 'ended the job with status 7' "$work/log" ;;
        *) [ $status -eq 0 ] && [ ! -s "$work/log" ] ;;
        esac
        ok $? "transfers of registered device memory in progress over $profile: $how" "$work/log"
    done
    # Catches: a transfer of registered memory that waits for ever for a PE that is silent, or that the network never ends or accepts.
    # A PE that answers does so within 5 s, see above.
    for fault in '' lost=3 full=3; do
        limit=5 how=finalize
        case $fault in
        '') limit=2 how=stop text='PE 0: network: PE 1 has not answered for [0-9]+ s' ;; # longer for each 32 MiB that PE 0 reads
        lost*) text='(a read of [0-9]* bytes from|a write of [0-9]* bytes to) PE [01] has not ended for 5 s' ;;
        *) text='libfabric has refused (a read of [0-9]* bytes from|a write of [0-9]* bytes to) PE [01] for want of room' ;;
        esac
        LD_LIBRARY_PATH=$top_builddir/test/fabric/.libs FABRIC_PROFILE=$profile FABRIC_HMEM=iface SHMEM_HEARTBEAT=$limit \
            SHMEM_TEST_NET_FAULT=$fault network 2 "$work/staging" $how
        status=$?
        # Two PEs that are refused at the same time have a line each.
        [ $status -ne 0 ] && [ $status -ne 124 ] && grep -q '^fulmar: .*network' "$work/log" && ! grep '^fulmar: ' "$work/log" | grep -qvE "$text"
        ok $? "a transfer of registered device memory over $profile, ${fault:-a stopped PE}: a line" "$work/log"
    done
done
plan

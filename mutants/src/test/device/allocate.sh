#!/usr/bin/env bash
# allocate.sh - no operation allocates memory: once the pools have grown, further operations of the same kinds call no malloc.
. "${top_srcdir:=.}/test/device/run.sh"

# Counts the calls of malloc and the like from libfulmar alone, not those of libfabric or the driver.
cat > "$work/count.c" << 'END'
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
enum { MOST = 8 };
static uintptr_t lo, hi;
static struct { uintptr_t at; unsigned n; } places[MOST];
static int on;
static int find(struct dl_phdr_info *i, size_t bytes, void *arg)
{
    (void)bytes, (void)arg;
    for (int k = 0; strstr(i->dlpi_name, "libfulmar.so") && k < i->dlpi_phnum; k++)
        if (i->dlpi_phdr[k].p_type == PT_LOAD) {
            lo = i->dlpi_addr;
            hi = hi < i->dlpi_addr + i->dlpi_phdr[k].p_vaddr + i->dlpi_phdr[k].p_memsz ? i->dlpi_addr + i->dlpi_phdr[k].p_vaddr + i->dlpi_phdr[k].p_memsz : hi;
        }
    return 0;
}
static void count(uintptr_t at)
{
    if (!__atomic_load_n(&on, __ATOMIC_ACQUIRE) || at < lo || at >= hi)
        return;
    for (int i = 0; i < MOST; i++) {
        uintptr_t none = 0;
        if (__atomic_compare_exchange_n(&places[i].at, &none, at - lo, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || none == at - lo) {
            __atomic_fetch_add(&places[i].n, 1, __ATOMIC_RELAXED);
            return;
        }
    }
}
/* Begin to count; end, and tell how often and where. */
void count_begin(void)
{
    if (!lo)
        dl_iterate_phdr(find, NULL);
    memset(places, 0, sizeof places);
    __atomic_store_n(&on, 1, __ATOMIC_RELEASE);
}
unsigned count_end(char *text, size_t bytes)
{
    unsigned n = 0;
    __atomic_store_n(&on, 0, __ATOMIC_RELEASE);
    for (int i = 0, at = 0; i < MOST && places[i].at; n += places[i++].n)
        at += snprintf(text + at, bytes - (size_t)at, " %u at %#zx", places[i].n, (size_t)places[i].at);
    return n;
}
#define HERE ((uintptr_t)__builtin_return_address(0))
void *malloc(size_t n) { count(HERE); return __libc_malloc(n); }
void *calloc(size_t n, size_t each) { count(HERE); return __libc_calloc(n, each); }
void *realloc(void *p, size_t n) { count(HERE); return __libc_realloc(p, n); }
void *aligned_alloc(size_t a, size_t n) { count(HERE); return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { count(HERE); return (*p = __libc_memalign(a, n)) ? 0 : ENOMEM; }
END
cat > "$work/allocate.cl" << 'END'
#include <shmemg.h>
/* Waits for the host's word, so that the launch is over; then operations of all kinds on the next PE. */
SHMEMG_KERNEL void all(SHMEMG_GLOBAL char *dest, SHMEMG_GLOBAL char *source, SHMEMG_GLOBAL uint64_t *words, uint64_t round, int to)
{
    const uint64_t lengths[] = {8, 3000, 20000, 300000}, room = 1 << 19;
    int from = (shmemg_my_pe() + shmemg_n_pes() - 1) % shmemg_n_pes();
    uint64_t item = shmemg_global_id(0);
    shmemxg_tag_status_t s;
    shmemg_signal_wait_until(words, SHMEM_CMP_GE, round);
    for (int k = 0; k < 4; k++) {
        shmemg_putmem_nbi(dest + item * room, source + item * room, lengths[k], to);
        shmemg_putmem_signal_nbi(dest + item * room, source + item * room, lengths[k], words + 2, 1, SHMEM_SIGNAL_ADD, to);
        shmemg_getmem_nbi(dest + (2 + item) * room, source + item * room, lengths[k], to);
    }
    shmemg_quiet();
    shmemg_uint64_atomic_fetch_inc(words + 3, to);
    shmemg_uint64_atomic_inc(words + 3, to);
    for (int k = 0; k < 3; k++) {
        shmemxg_tag_request_t r;
        if (k == 1)
            shmemxg_tag_irecv(dest + (2 + item) * room, lengths[k], 10 * item + k, SHMEMX_TAG_EXACT, from, &r);
        shmemxg_tag_send_nbi(source + item * room, lengths[k], 10 * item + k, to);
        if (k == 1)
            shmemxg_tag_wait(&r, 0);
        else {
            shmemxg_tag_probe(10 * item + k, SHMEMX_TAG_EXACT, from, &s);
            shmemxg_tag_recv(dest + (2 + item) * room, s.bytes, 10 * item + k, SHMEMX_TAG_EXACT, from, 0);
        }
    }
    shmemg_quiet();
    shmemg_uint64_atomic_inc(words + 1, shmemg_my_pe());
}
END
cat > "$work/allocate.c" << 'END'
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void count_begin(void);
unsigned count_end(char *text, size_t bytes);
enum { ROOM = 1 << 19, PHASES = 40, CLEAN = 3, BURST = 100 };
static const size_t lengths[] = {8, 3000, 20000, 300000};
static int me, to, from;
static char *heap[2], *device[2], *private, text[400];
static uint64_t *sig, *word;

static void host(void)
{
    for (int k = 0; k < 4; k++)
        for (int s = 0; s < 3; s++)
            for (int d = 0; d < 2; d++) {
                char *source = s == 0 ? heap[0] : s == 1 ? device[0] : private, *dest = d ? device[1] : heap[1];
                shmem_putmem_signal(dest, source, lengths[k], sig, 1, SHMEM_SIGNAL_ADD, to);
                shmem_putmem_nbi(dest, source, lengths[k], to);
                shmem_fence();
                shmem_putmem_nbi(dest, source, lengths[k], to);
                shmem_getmem(source == heap[0] ? heap[1] : source, d ? device[1] : heap[1], lengths[k], to);
                shmem_quiet();
            }
    for (int i = 0; i < BURST; i++) { /* more messages than slots for those that wait */
        shmem_putmem_nbi(device[1], private, 8000, to);
        shmem_putmem_nbi(heap[1], private, 8000, to);
        shmem_uint64_atomic_inc(word, to);
    }
    shmem_uint64_atomic_fetch_inc(word, to);
    shmem_quiet();
}

static void tags(void)
{
    for (int k = 0; k < 4; k++)
        for (int early = 0; early < 2; early++) {
            shmemx_tag_request_t s, r;
            if (early)
                shmemx_tag_irecv(SHMEM_TEAM_WORLD, heap[1], lengths[k], 7, SHMEMX_TAG_EXACT, from, &r);
            shmem_barrier_all();
            shmemx_tag_isend(SHMEM_TEAM_WORLD, k % 2 ? private : heap[0], lengths[k], 7, to, &s);
            if (!early) {
                shmemx_tag_probe(SHMEM_TEAM_WORLD, 7, SHMEMX_TAG_EXACT, from, NULL);
                shmemx_tag_irecv(SHMEM_TEAM_WORLD, heap[1], lengths[k], 7, SHMEMX_TAG_EXACT, from, &r);
            }
            shmemx_tag_wait(&r, NULL);
            shmemx_tag_wait(&s, NULL);
        }
}

/* Run what, until CLEAN times in a row nothing was allocated. */
static int settles(const char *what, void (*run)(void))
{
    int clean = 0;
    static int all;
    for (int i = 0; i < PHASES && clean < CLEAN; i++) {
        shmem_barrier_all();
        count_begin();
        run();
        shmem_barrier_all();
        all = count_end(text, sizeof text) != 0;
        for (int pe = 0; pe < 2; pe++) { /* the same number of phases on both */
            shmem_barrier_all();
            clean = pe == 0 ? clean + 1 : clean;
            clean = shmem_int_g(&all, pe) ? 0 : clean;
        }
    }
    if (clean < CLEAN)
        printf("PE %d: %s: allocations of the last of %d rounds:%s\n", me, what, PHASES, text);
    return clean < CLEAN;
}

static uint64_t *words, round_;
static void kernels(void)
{
    uint64_t done = 0;
    shmem_uint64_p(words, round_, me);
    while (done < 2 * round_)
        done = shmem_uint64_atomic_fetch(words + 1, me);
}

/* The same for kernels; their launch is not counted. */
static int kernels_settle(void)
{
    static const size_t one[3] = {1, 1, 1}, two[3] = {2, 1, 1};
    int clean = 0;
    static int all;
    for (int i = 0; i < PHASES && clean < CLEAN; i++) {
        round_++;
        void *args[] = {&device[1], &device[0], &words, &round_, &to};
        if (shmemx_launch("all", two, one, args, (const size_t[]){8, 8, 8, 8, 4}, 5))
            exit(2);
        shmem_barrier_all();
        count_begin();
        kernels();
        shmem_barrier_all();
        all = count_end(text, sizeof text) != 0;
        if (shmemx_device_sync())
            exit(2);
        for (int pe = 0; pe < 2; pe++) {
            shmem_barrier_all();
            clean = pe == 0 ? clean + 1 : clean;
            clean = shmem_int_g(&all, pe) ? 0 : clean;
        }
    }
    if (clean < CLEAN)
        printf("PE %d: kernels: allocations of the last of %d rounds:%s\n", me, PHASES, text);
    return clean < CLEAN;
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    to = from = 1 - me;
    for (int i = 0; i < 2; i++) {
        heap[i] = shmem_calloc(ROOM, 1);
        device[i] = shmemg_calloc(4 * ROOM, 1);
    }
    private = malloc(ROOM);
    sig = shmem_calloc(1, 8);
    word = shmem_calloc(1, 8);
    words = shmemg_calloc(4, 8);
    memset(private, 1, ROOM);
    int bad = settles("puts, gets and atomics of the host", host) + settles("tagged messages of the host", tags) + kernels_settle();
    shmem_finalize();
    return bad != 0;
}
END
$CC -D_GNU_SOURCE -O1 -shared -fPIC -fno-builtin "$work/count.c" -o "$work/libcount.so" > "$work/log" 2>&1 &&
    $OSHCC -O2 "$work/allocate.c" "$work/allocate.cl" -L"$work" -lcount -Wl,-rpath,"$work" -o "$work/allocate" >> "$work/log" 2>&1
ok $? "oshcc compiles the program" "$work/log"

# Catches: memory that an operation takes from malloc each time, of messages that wait for a copy of the device among others.
for private in 1 0; do
    for net in ofi auto; do
        ZE_CPU_PRIVATE=$private SHMEM_TRANSPORT=$net SHMEM_DEVICE_SYMMETRIC_SIZE=8M timeout 60 $OSHRUN -n 2 "$work/allocate" > "$work/log" 2>&1
        ok $? "operations allocate nothing, private=$private, $net" "$work/log"
    done
done
plan

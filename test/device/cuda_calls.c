/*
 * cuda_calls.c - the driver calls of cuda.c and its reactions to their results. cuda.sh runs it on the driver on the CPU with
 * faults injected (test/device/fake/cuda.c): the test shows nothing about a GPU.
 *
 *   usage: cuda_calls [probe | up | share | load | launch [late] | is_local SYSFS ID]
 */
#include "../tap.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/device.h"
#include "host/util/log.h"
#include "host/util/numa.h"

enum { POLLS = 600000 }; /* a minute */
static const struct shi_device_ops *const cuda = &shi_device_cuda;
/* store: the number of groups to the first word, the argument to the second. hold: waits until the word is not 0. */
static const char ptx[] =
    "//\n.version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 8 .u64 shmemg_default_10_;\n"
    ".visible .entry store(.param .u64 p, .param .u32 v)\n{ .reg .b64 %a; .reg .b32 %v, %n; ld.param.u64 %a, [p];"
    "ld.param.u32 %v, [v]; mov.u32 %n, %nctaid.x; st.global.u32 [%a], %n; st.global.u32 [%a+4], %v; ret; }\n"
    ".visible .entry empty() { ret; }\n"
    ".visible .entry hold(.param .u64 p)\n{ .reg .b64 %a; .reg .b32 %v; .reg .pred %q; ld.param.u64 %a, [p];\n"
    "L: ld.relaxed.sys.global.u32 %v, [%a]; setp.eq.u32 %q, %v, 0; @%q bra L; ret; }\n";

static int launch(void *m, const char *name, size_t groups, void *const *args, const size_t *bytes, int n)
{
    const struct shi_device_grid g = {{groups, 1, 1}, {32, 1, 1}};
    return cuda->launch(m, name, &g, args, bytes, n);
}

/* Start a kernel that runs until let_go(word), in so many groups. 0 or -errno. */
static int hold(void *m, size_t groups, uint32_t **word)
{
    int err = cuda->alloc_shared(4096, (void **)word);
    return err ? err : launch(m, "hold", groups, (void *[]){word}, (const size_t[]){8}, 1);
}

static void let_go(uint32_t *word)
{
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
}

/* Catches: a copy in one direction only or not complete, memory that is not freed, two blocks in one page. */
static void test_memory(void)
{
    char *a, *b = NULL, in[300], out[300] = "";
    int host_access = 1;
    CHECK(cuda->up(1, &host_access) == 0 && host_access == 0);
    CHECK(cuda->alloc(100, (void **)&a) == 0 && cuda->alloc(3 << 20, (void **)&b) == 0);
    CHECK((size_t)(b > a ? b - a : a - b) >= 2 << 20);
    memset(in, 7, sizeof in);
    CHECK(cuda->copy(a, in, 300) == 0 && cuda->copy(b + (2 << 20), a, 300) == 0);
    CHECK(cuda->copy(out, b + (2 << 20), 300) == 0 && memcmp(in, out, 300) == 0);
    cuda->release(a);
    cuda->release(b);
    cuda->down();
}

/* Catches: a copy reported complete that is not, a completion that is never reported, a wait for another stream. */
static void test_requests(void)
{
    int host_access;
    uint64_t *host, n = 9, out = 0;
    char *a;
    CHECK(cuda->up(0, &host_access) == 0 && cuda->alloc(4096, (void **)&a) == 0);
    CHECK(cuda->alloc_shared(4096, (void **)&host) == 0);
    for (enum shi_device_queue q = 0; q < SHI_DEVICE_QUEUES; q++)
        CHECK(cuda->copies_ended(q, &n) == 0 && n == 0);
    for (uint64_t k = 2; k < 42; k++) {
        enum shi_device_queue q = k % 2 ? SHI_DEVICE_RECORDS : SHI_DEVICE_REQUESTS;
        uint64_t i = k / 2;
        host[0] = i;
        const struct shi_device_copy both[] = {{a, host, 8, 0}, {host + 1, a, 8, 0}};
        CHECK(k % 4 < 2 ? cuda->copies_start(q, both, 2) == 0 : cuda->copies_start(q, both, 1) == 0 && cuda->copies_start(q, both + 1, 1) == 0);
        int polls = 0;
        do
            CHECK(cuda->copies_ended(q, &n) == 0 && n <= 2 * i && (n < 2 * i || host[1] == i));
        while (n < 2 * i && ++polls < POLLS && !usleep(100));
        CHECK(polls < POLLS && cuda->copy(&out, a, 8) == 0 && out == i);
    }
    cuda->release(a);
    cuda->down();
}

/* Catches: pinned memory that is not zero, or that only one context can use. */
static void test_shared(void)
{
    int host_access;
    uint64_t *p;
    CHECK(cuda->up(0, &host_access) == 0 && cuda->alloc_shared(4096, (void **)&p) == 0);
    for (int i = 0; i < 512; i++)
        CHECK(p[i] == 0);
    cuda->down();
    CHECK(cuda->up(0, &host_access) == 0); /* the second initialization */
    cuda->down();
}

static int child_of(const struct shi_device_share *s)
{
    int host_access, ok;
    int copies_only;
    char *p = NULL, seen[4] = "", *mine = NULL;
    ok = cuda->up(0, &host_access) == 0 && cuda->map(s, 4096, (void **)&p, &copies_only) == 0 && !copies_only && cuda->copy(seen, p, 4) == 0 &&
         strcmp(seen, "abc") == 0 && cuda->alloc(8, (void **)&mine) == 0 && cuda->copy(p, "xyz", 4) == 0;
    cuda->unmap(p);
    cuda->release(mine);
    cuda->down();
    return !ok;
}

/* Catches: a handle of other memory, a mapping that is a copy, a process that maps its own memory. */
static void test_sharing(void)
{
    struct shi_device_share s;
    char *p = NULL, seen[4] = "";
    int host_access, status;
    fflush(NULL);
    int pipe_of[2];
    CHECK(pipe(pipe_of) == 0);
    pid_t child = fork(); /* before the driver is initialized, like PEs */
    if (child == 0) {
        _exit(read(pipe_of[0], &s, sizeof s) != sizeof s || child_of(&s));
    }
    CHECK(cuda->up(0, &host_access) == 0 && cuda->alloc(4096, (void **)&p) == 0);
    CHECK(cuda->copy(p, "abc", 4) == 0 && cuda->share(p, &s) == 0);
    void *again;
    CHECK(cuda->map(&s, 4096, &again, &status) == -EINVAL);
    CHECK(write(pipe_of[1], &s, sizeof s) == sizeof s && waitpid(child, &status, 0) == child && status == 0);
    CHECK(cuda->copy(seen, p, 4) == 0 && strcmp(seen, "xyz") == 0);
    cuda->release(p);
    cuda->down();
}

/* Catches: a dma-buf of part of a page, which the driver refuses, or of another place; memory of the program that is not a
 * device's or ends behind its allocation; memory whose copies the driver does not synchronise (the driver with faults reports it). */
static void test_export(void)
{
    struct shi_device_memory m;
    struct shi_device_share s;
    char *a = NULL, *b = NULL, host[64];
    int host_access;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    CHECK(cuda->up(0, &host_access) == 0 && cuda->alloc(100, (void **)&a) == 0 && cuda->alloc(3 << 20, (void **)&b) == 0);
    CHECK(cuda->export_memory(a, 100, &m) == 0 && m.fd >= 0 && m.fd_off == 0 && m.index == 0);
    close(m.fd);
    CHECK(cuda->export_memory(b + 3 * page + 40, page, &m) == 0 && m.fd >= 0 && m.fd_off == 40);
    close(m.fd);
    CHECK(cuda->adopt(b + 40, 1 << 20) == 0 && cuda->share(b + 40, &s) == 0 && s.offset == 40);
    CHECK(cuda->adopt(b + 40, 4 << 20) == -EINVAL && cuda->adopt(host, sizeof host) == -EINVAL);
    cuda->release(a);
    cuda->release(b);
    cuda->down();
}

/* Catches: SPIR-V or an executable passed to the driver, an unknown CUDA image format, a lost log. */
static void test_images(void)
{
    static const unsigned char spirv[40] = {3, 2, 0x23, 7}, elf[40] = {0x7f, 'E', 'L', 'F', [18] = 62},
                               cubin[40] = {0x7f, 'E', 'L', 'F', [18] = 190}, fatbin[40] = {0x50, 0xed, 0x55, 0xba};
    void *m, *at;
    int host_access;
    CHECK(cuda->up(0, &host_access) == 0);
    CHECK(cuda->load(spirv, sizeof spirv, &m) == -ENOEXEC && cuda->load(elf, sizeof elf, &m) == -ENOEXEC);
    CHECK(cuda->load("text of another kind, long enough for a look", 40, &m) == -ENOEXEC);
    CHECK(cuda->load("", 0, &m) == -ENOEXEC);
    CHECK(cuda->load(cubin, sizeof cubin, &m) == -EIO && cuda->load(fatbin, sizeof fatbin, &m) == -EIO);
    CHECK(cuda->load("\n.version 8.0\nbroken, and so on for a while", 40, &m) == -EIO);
    CHECK(cuda->load(ptx, sizeof ptx, &m) == 0);
    CHECK(cuda->variable(m, "shmemg_default_10_", &at) == 0 && cuda->variable(m, "none", &at) == -ENOENT);
    CHECK(cuda->copy(at, &m, sizeof m) == 0);
    cuda->down();
}

/* Catches: a copy within the device that loses bytes; with FAKE_CUDA_WAITING, one that needs the device's processors. */
static void test_within(void)
{
    enum { BYTES = 600001 }; /* more than two bounces */
    static unsigned char sent[BYTES], got[BYTES];
    int host_access;
    uint64_t n = 0;
    char *a, *b;
    void *m;
    uint32_t *word = NULL;
    CHECK(cuda->up(0, &host_access) == 0 && cuda->alloc(BYTES, (void **)&a) == 0 && cuda->alloc(BYTES, (void **)&b) == 0);
    for (int i = 0; i < BYTES; i++)
        sent[i] = (unsigned char)(i * 7 + i / 256);
    CHECK(cuda->load(ptx, sizeof ptx, &m) == 0 && hold(m, 8, &word) == 0 && cuda->busy());
    CHECK(cuda->copy(a, sent, BYTES) == 0 && cuda->copies_start(SHI_DEVICE_REQUESTS, &(struct shi_device_copy){b, a, BYTES, 0}, 1) == 0);
    for (int i = 0; n < 1 && i < POLLS && !usleep(100); i++)
        CHECK(cuda->copies_ended(SHI_DEVICE_REQUESTS, &n) == 0);
    CHECK(n == 1 && cuda->copy(got, b, BYTES) == 0 && memcmp(got, sent, BYTES) == 0);
    CHECK(launch(m, "empty", 1, NULL, NULL, 0) == 0); /* must have been loaded before `hold` ran */
    CHECK(cuda->copy(a, sent, BYTES) == 0);
    CHECK(cuda->copy(a + 8, b, BYTES - 8) == 0 && cuda->busy());
    let_go(word);
    CHECK(cuda->sync() == 0);
    CHECK(cuda->copy(got, a + 8, BYTES - 8) == 0 && memcmp(got, sent, BYTES - 8) == 0);
    cuda->release(a);
    cuda->release(b);
    cuda->down();
}

/* Catches: arguments out of order, too many, too few or of another size; a kernel of another module. */
static void test_launch(void)
{
    void *m = NULL, *p;
    int host_access, seven = 7, out[2] = {0, 0};
    CHECK(cuda->up(0, &host_access) == 0 && cuda->load(ptx, sizeof ptx, &m) == 0 && cuda->alloc(64, &p) == 0);
    void *const args[] = {&p, &seven, &seven};
    const size_t bytes[] = {8, 4, 4}, wrong[] = {8, 8, 4};
    CHECK(launch(m, "store", 3, args, bytes, 2) == 0 && cuda->sync() == 0);
    CHECK(cuda->copy(out, p, sizeof out) == 0 && out[0] == 3 && out[1] == 7);
    CHECK(launch(m, "none", 1, args, bytes, 2) == -ENOENT);
    CHECK(launch(m, "store", 1, args, bytes, 1) == -EINVAL && launch(m, "store", 1, args, bytes, 3) == -EINVAL);
    CHECK(launch(m, "store", 1, args, wrong, 2) == -EINVAL);
    CHECK(launch(m, "empty", 8, NULL, NULL, 0) == 0 && cuda->sync() == 0); /* all 4 x 2 groups fit */
    cuda->release(p);
    cuda->down();
}

static struct {
    void *m;
    uint32_t *word;
    int launched, err; /* atomic */
} many;

static void *launch_many(void *none)
{
    for (int i = 0; i < 3000; i++) {
        many.err |= launch(many.m, "empty", 1, NULL, NULL, 0);
        __atomic_add_fetch(&many.launched, 1, __ATOMIC_RELEASE);
    }
    return none;
}

/* Catches: a launch that waits inside the driver, with the lock for which the copies wait on which the kernels wait. A thread
 * launches more kernels than the driver's queue has room for, behind one that waits for a copy of another thread. */
static void test_queue(void)
{
    int host_access, before = -1, now;
    static char sent[5000], got[5000];
    char *p = NULL;
    pthread_t t;
    CHECK(cuda->up(0, &host_access) == 0 && cuda->load(ptx, sizeof ptx, &many.m) == 0 && cuda->alloc(sizeof sent, (void **)&p) == 0);
    CHECK(hold(many.m, 8, &many.word) == 0 && pthread_create(&t, NULL, launch_many, NULL) == 0);
    memset(sent, 3, sizeof sent);
    for (int same = 0; same < 20; same = now == before ? same + 1 : 0, before = now) { /* until the thread makes no progress */
        usleep(5000);
        now = __atomic_load_n(&many.launched, __ATOMIC_ACQUIRE);
    }
    CHECK(before > 100 && before < 1000);
    CHECK(cuda->copy(p, sent, sizeof sent) == 0 && cuda->copy(got, p, sizeof got) == 0 && memcmp(sent, got, sizeof got) == 0);
    let_go(many.word);
    pthread_join(t, NULL);
    CHECK(many.err == 0 && cuda->sync() == 0);
    cuda->release(p);
    cuda->down();
}

enum { STALLED = 4194304 }; /* FAKE_CUDA_STALL */
static char large[STALLED];

static void *copy_large(void *to)
{
    return cuda->copy(to, large, sizeof large) ? to : NULL;
}

/* Catches: a thread that waits in a stream for the copy of another thread, which may wait for this thread. With FAKE_CUDA_STALL
 * the long copy ends after another one. */
static void test_threads(void)
{
    int host_access;
    char *p = NULL, got[8];
    pthread_t t;
    void *failed;
    CHECK(cuda->up(0, &host_access) == 0 && cuda->alloc(sizeof large + 8, (void **)&p) == 0);
    CHECK(pthread_create(&t, NULL, copy_large, p) == 0);
    usleep(50000); /* so that the long copy is first */
    CHECK(cuda->copy(p + sizeof large, "1234567", 8) == 0 && cuda->copy(got, p + sizeof large, 8) == 0 && !strcmp(got, "1234567"));
    CHECK(pthread_join(t, &failed) == 0 && !failed);
    cuda->release(p);
    cuda->down();
}

static char *cleared;

static void see(void *p) /* a host call that makes CUDA calls, and takes its time */
{
    int *seen = p;
    usleep(20000);
    seen[2] = cuda->busy() && cuda->copy(seen, cleared, 2 * sizeof *seen) == 0;
}

/* Catches: a launch that does not wait for the host call before it, a sync that does not wait for both, lost arguments. */
static void test_host_calls(void)
{
    void *m = NULL, *p = NULL;
    int host_access, seven = 7, out[2] = {0, 0}, seen[3] = {0, 0, 0}, again[3] = {0, 0, 0};
    CHECK(cuda->up(0, &host_access) == 0 && cuda->load(ptx, sizeof ptx, &m) == 0 && cuda->alloc(64, &p) == 0);
    cleared = p;
    void *const args[] = {&p, &seven};
    const size_t bytes[] = {8, 4};
    CHECK(launch(m, "store", 3, args, bytes, 2) == 0 && cuda->host_call(see, seen) == 0);
    seven = 8;
    CHECK(launch(m, "store", 4, args, bytes, 2) == 0 && cuda->host_call(see, again) == 0 && cuda->busy());
    seven = 9;
    CHECK(launch(m, "empty", 4, NULL, NULL, 0) == 0 && cuda->sync() == 0 && !cuda->busy());
    CHECK(seen[0] == 3 && seen[1] == 7 && seen[2] == 1);
    CHECK(again[0] == 4 && again[1] == 8 && again[2] == 1);
    CHECK(cuda->copy(out, p, sizeof out) == 0 && out[0] == 4 && out[1] == 8);
    cuda->release(p);
    cuda->down();
}

/* Catches: memory that is not zero at one end, bytes beyond it that are; with FAKE_CUDA_WAITING, a fill by a kernel. */
static void test_clear(void)
{
    enum { BYTES = 200001 };
    static char ones[BYTES + 2], got[BYTES + 2];
    int host_access;
    void *m = NULL;
    char *p = NULL;
    uint32_t *word = NULL;
    memset(ones, 1, sizeof ones);
    CHECK(cuda->up(0, &host_access) == 0 && cuda->load(ptx, sizeof ptx, &m) == 0 && cuda->alloc(sizeof ones, (void **)&p) == 0);
    for (int running = 0; running < 2; running++) {
        CHECK(cuda->copy(p, ones, sizeof ones) == 0 && cuda->clear(p + 1, BYTES) == 0 && cuda->copy(got, p, sizeof got) == 0);
        CHECK(got[0] == 1 && got[1] == 0 && memcmp(got + 1, got + 2, BYTES - 1) == 0 && got[BYTES + 1] == 1);
        if (!running)
            CHECK(hold(m, 1, &word) == 0);
    }
    let_go(word);
    CHECK(cuda->sync() == 0);
    cuda->release(p);
    cuda->down();
}

/* End the kernel when the backend's line about it is in the file that is stderr, after a minute at most. */
static void *let_go_late(void *word)
{
    static char text[65536];
    int log = open("/proc/self/fd/2", O_RDONLY);
    for (int i = 0; i < 600 && !strstr(text, "it never ends"); i++) {
        usleep(100000);
        ssize_t n = pread(log, text, sizeof text - 1, 0);
        text[n > 0 ? n : 0] = 0;
    }
    close(log);
    let_go(word);
    return NULL;
}

/* A kernel in more groups than the device runs at once, which ends late or at once. */
static int oversized(void *m, int late)
{
    uint32_t *word;
    pthread_t t;
    int err = hold(m, 9, &word);
    if (late)
        err |= pthread_create(&t, NULL, let_go_late, word);
    else
        let_go(word);
    err |= cuda->sync();
    if (late)
        pthread_join(t, NULL);
    return err;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    void *m, *p;
    int host_access;
    struct shi_device_share s;
    if (!strcmp(what, "is_local"))
        return argc < 4 || !shi_numa_is_local(argv[2], argv[3]);
    shi_log_set(0, 1);
    int n = cuda->probe();
    if (!strcmp(what, "probe"))
        return printf("%d\n", n) < 0;
    if (!strcmp(what, "up"))
        return cuda->up(0, &host_access) == 0;
    if (*what) /* each of these must fail */
        return cuda->up(0, &host_access) || cuda->alloc(8, &p) ||
               !((!strcmp(what, "share") && cuda->share(p, &s) == -EIO) ||
                 (!strcmp(what, "load") && cuda->load(ptx, sizeof ptx, &m) == -EINVAL) ||
                 (!strcmp(what, "launch") && cuda->load(ptx, sizeof ptx, &m) == 0 && oversized(m, argc > 2) == 0));
    CHECK(n == 2);
    RUN(test_sharing, "memory is shared between processes");
    RUN(test_memory, "device memory and copies");
    RUN(test_requests, "copies completed by polling");
    RUN(test_within, "copies within a device");
    RUN(test_shared, "pinned memory");
    RUN(test_export, "memory for networks, and of the program");
    RUN(test_images, "image formats, and variables");
    RUN(test_launch, "kernels and their arguments");
    RUN(test_queue, "more launches than the driver's queue holds");
    RUN(test_threads, "copies of several threads");
    RUN(test_host_calls, "host calls between kernels");
    RUN(test_clear, "memory cleared");
    return tap_end();
}

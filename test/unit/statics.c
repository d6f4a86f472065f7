/*
 * statics.c - static data moved into a file, and the effect of fork on it. Built as PIE and as non-PIE.
 *
 * The sources are linked in, so their own variables move too, as in a program linked with the static library.
 */
#include "host/ops/statics.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"

enum { SPARSE = 256 << 20, OFFSET = 4 << 20, THREADS = 4, FORKS = 60 };

static char sparse[SPARSE];
static int initialised = 1234, bss;
static char text[5000] = "kept";
/* Linkers give them a segment of their own, behind a gap. */
static _Alignas(65536) long aligned[4];
static _Alignas(65536) long aligned_one[4] = {1};
static char *in_gap; /* a page that is not the program's; NULL where the linker makes no gap */
static int fd;
static char *map; /* the same file, as a peer sees it */

static const int constant = 12;
static const char *const relocated = text;

static void *peer_of(const void *p)
{
    const struct shi_statics *st = shi_statics_find();
    return map + ((const char *)p - (const char *)(st->lo - st->relro_bytes));
}

static int *function_static(void)
{
    static int word = 55;
    return &word;
}

/* Run `does` in a child; return its status. */
static int in_child(int (*does)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(does());
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static char *map_gap(uintptr_t at)
{
    void *p = mmap((void *)((at & -65536) - 4096), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    return p == MAP_FAILED ? NULL : memset(p, 0x5a, 4096);
}

/* Catches: contents lost in the move; a copy that the program continues to use instead of the file. */
static void moved(void)
{
    const struct shi_statics *st = shi_statics_find();
    const void *inside[] = {&initialised, &bss, text, function_static(), &sparse[0], &sparse[SPARSE - 1], aligned, aligned_one};
    for (int i = 0; i < 8; i++)
        CHECKF((uintptr_t)inside[i] - st->lo < st->bytes, "object %d is outside the range", i);
    if (!(in_gap = map_gap((uintptr_t)aligned)))
        in_gap = map_gap((uintptr_t)aligned_one);
    bss = 77;
    aligned[3] = 6;
    sparse[SPARSE / 2] = 3;
    *function_static() = 56;
    fd = memfd_create("statics", 0);
    CHECK(fd >= 0 && ftruncate(fd, OFFSET + (off_t)(st->relro_bytes + st->bytes)) == 0);
    CHECK(shi_statics_remap(fd, OFFSET) == 0);
    map = mmap(NULL, st->relro_bytes + st->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, OFFSET);
    CHECK(map != MAP_FAILED);
    CHECK(initialised == 1234 && bss == 77 && strcmp(text, "kept") == 0 && sparse[SPARSE / 2] == 3);
    CHECK(*function_static() == 56 && aligned[3] == 6 && aligned_one[0] == 1 && (!in_gap || in_gap[4095] == 0x5a));
    *(long *)peer_of(&aligned_one[1]) = 9;
    CHECK(*(volatile long *)&aligned_one[1] == 9);
    initialised = 4321;
    CHECK(*(int *)peer_of(&initialised) == 4321);
    *(int *)peer_of(&bss) = 78;
    CHECK(*(volatile int *)&bss == 78);
}

/* Catches: constants that are not recognized, or other memory taken for them. */
static void constants(void)
{
    const struct shi_statics *st = shi_statics_find();
    int local = 0;
    CHECK(shi_statics_same(&constant, sizeof constant));
    CHECK(!shi_statics_same(&bss, 1) && !shi_statics_same(text, 1) && !shi_statics_same(&local, 1));
    CHECK(!shi_statics_same(&constant, (size_t)1 << 40));
    size_t before = st->lo - (uintptr_t)&relocated;
    if (!shi_statics_same((const void *)&relocated, 1)) /* it is constant bytes at a fixed address */
        CHECK(before <= st->relro_bytes && *(const char **)peer_of((const void *)&relocated) == text);
}

/* Catches: every page of a large untouched array written to the file. */
static void stays_sparse(void)
{
    struct stat s;
    CHECK(fstat(fd, &s) == 0);
    CHECKF(s.st_blocks * 512 < 8 << 20, "%ld KiB in use", (long)s.st_blocks / 2);
}

static int writes_all(void)
{
    int good = initialised == 1 && bss == 2 && strcmp(text, "before") == 0 && *function_static() == 3 &&
               sparse[SPARSE / 2] == 4 && sparse[SPARSE / 2 + 8192] == 0 && aligned[3] == 6 && aligned_one[0] == 1 &&
               (!in_gap || in_gap[4095] == 0x5a);
    aligned[3] = aligned_one[0] = -1;
    initialised = bss = *function_static() = -1;
    strcpy(text, "child");
    memset(sparse, 9, 100000);
    return good ? 0 : 1;
}

/* Catches: a child that writes into its parent's globals, or that does not start with their values. */
static void child_is_private(void)
{
    initialised = 1, bss = 2, *function_static() = 3, sparse[SPARSE / 2] = 4;
    strcpy(text, "before");
    CHECK(in_child(writes_all) == 0);
    CHECK(initialised == 1 && bss == 2 && *function_static() == 3 && strcmp(text, "before") == 0 && sparse[0] == 0 &&
          aligned[3] == 6 && aligned_one[0] == 1);
}

static int to_child[2], to_parent[2];

static int looks_later(void)
{
    char c;
    if (write(to_parent[1], "x", 1) != 1 || read(to_child[0], &c, 1) != 1)
        return 2;
    return initialised == 10 && *(int *)peer_of(&initialised) == 20 ? 0 : 1;
}

/* Catches: what the parent or peers write after the fork seen by the child, whose memory must be its own. */
static void parent_goes_on(void)
{
    char c;
    int status = -1;
    CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
    initialised = 10;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(looks_later());
    initialised = 20;
    CHECK(read(to_parent[0], &c, 1) == 1 && write(to_child[1], "x", 1) == 1);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static int has_child_too(void)
{
    initialised = 31;
    bss = 0;
    int status = in_child(writes_all); /* fails, because it finds 31 */
    return status == 1 && initialised == 31 && bss == 0 ? 0 : 1;
}

/* Catches: a child of a child that uses the grandparent's words. */
static void nested(void)
{
    initialised = 30;
    bss = 5;
    CHECK(in_child(has_child_too) == 0);
    CHECK(initialised == 30 && bss == 5);
}

static int execs(void)
{
    execlp("sh", "sh", "-c", "exit 23", (char *)NULL);
    return 1;
}

/* Catches: programs started by functions that fork without fork handlers, or that replace the child, and then fail. */
static void other_programs(void)
{
    char line[32] = "";
    initialised = 40;
    CHECK(in_child(execs) == 23);
    CHECK(WEXITSTATUS(system("exit 24")) == 24);
    FILE *p = popen("echo told", "r");
    CHECK(p && fgets(line, sizeof line, p) && strcmp(line, "told\n") == 0);
    CHECK(p && pclose(p) == 0);
    CHECK(initialised == 40);
}

static int generation[THREADS], failures[THREADS];

static void *forks(void *arg)
{
    int t = (int)(intptr_t)arg;
    for (int i = 1; i <= FORKS; i++) {
        generation[t] = i;
        pid_t pid = fork();
        if (pid == 0)
            _exit(generation[t] == i ? 0 : 1);
        generation[t] = -1;
        int status = -1;
        waitpid(pid, &status, 0);
        failures[t] += status != 0;
    }
    return NULL;
}

/* Catches: a thread's child that sees writes of a parent that continued before another thread's child had its copy. */
static void threads_fork(void)
{
    pthread_t thread[THREADS];
    fflush(stdout);
    for (int t = 0; t < THREADS; t++)
        CHECK(pthread_create(&thread[t], NULL, forks, (void *)(intptr_t)t) == 0);
    for (int t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
        CHECKF(failures[t] == 0, "thread %d: %d of %d children saw writes from after the fork", t, failures[t],
               FORKS);
    }
}

/* Catches: variables that still are in the file of the job before, or whose values or neighbours are lost on the way out of it and into the next. */
static void leaves(void)
{
    const struct shi_statics *st = shi_statics_find();
    size_t bytes = st->relro_bytes + st->bytes;
    char *old = map;
    initialised = 50, bss = 51, sparse[SPARSE / 2] = 3;
    CHECK(shi_statics_leave() == 0 && shi_statics_leave() == 0);
    CHECK(initialised == 50 && bss == 51 && aligned[3] == 6 && sparse[SPARSE / 2] == 3 && (!in_gap || in_gap[4095] == 0x5a));
    initialised = 60;
    CHECK(*(int *)peer_of(&initialised) == 50);
    CHECK(shi_statics_leave() == 0);
    close(fd);
    fd = memfd_create("statics", 0);
    CHECK(fd >= 0 && ftruncate(fd, OFFSET + (off_t)bytes) == 0 && shi_statics_remap(fd, OFFSET) == 0);
    map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, OFFSET);
    CHECK(map != MAP_FAILED && initialised == 60 && bss == 51 && sparse[SPARSE / 2] == 3);
    *(int *)peer_of(&bss) = 61;
    CHECK(*(volatile int *)&bss == 61);
    munmap(old, bytes);
}

int main(void)
{
    RUN(moved, "contents and addresses stay, the file is shared");
    RUN(constants, "constants with and without addresses in them");
    RUN(stays_sparse, "256 MiB of untouched .bss");
    RUN(child_is_private, "a child's writes");
    RUN(parent_goes_on, "the parent's later writes");
    RUN(nested, "a child of a child");
    RUN(other_programs, "exec, system, popen");
    RUN(threads_fork, "threads that fork at once");
    RUN(leaves, "out of the file, and into another one");
    RUN(stays_sparse, "256 MiB of untouched .bss, again");
    RUN(child_is_private, "a child's writes, again");
    return tap_end();
}

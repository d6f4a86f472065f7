/*
 * fork.c - processes that a PE starts: their stores stay theirs, they are no PEs, and the job goes on.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap_pes.h"

enum { N = 1 << 16, CHILDREN = 8 };

extern char **environ;
static long word[N], *heap;
static int told[2], files_before;

static int count_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (d && readdir(d))
        n++;
    closedir(d);
    return n;
}

/* In the child: what the PE had written is here, and a store stays in this process and its children. */
static int sees_a_copy(void)
{
    for (int i = 0; i < N; i++)
        if (word[i] != me + i || heap[i] != 2 * me + i)
            return 1;
    memset(word, 0xff, sizeof word);
    memset(heap, 0xff, N * sizeof *heap);
    return 0;
}

static int child_ends_with(int (*f)(void), int want)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(f());
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == want;
}

static int is_unchanged(void)
{
    for (int i = 0; i < N; i++)
        if (word[i] != me + i || heap[i] != 2 * me + i)
            return 0;
    return 1;
}

/* A put to the next PE, and from the one before: the job still works. */
static int goes_on(void)
{
    static long from;
    long mine = me + 1;
    shmem_barrier_all();
    shmem_long_put(&from, &mine, 1, next_pe());
    shmem_barrier_all();
    return from == (me + n_pes - 1) % n_pes + 1;
}

/* Catches: a child's store that the PE or another PE sees, in the heap or in static data. */
static void stores(void)
{
    for (int i = 0; i < CHILDREN; i++)
        CHECK(child_ends_with(sees_a_copy, 0));
    CHECK(is_unchanged());
    CHECK(goes_on());
}

static long *of_next;

static int stores_to_a_peer(void)
{
    memset(of_next, 0xff, N * sizeof *of_next);
    return of_next[0] == -1 ? 0 : 1;
}

/* Catches: the same through an address of shmem_ptr. */
static void peers(void)
{
    of_next = shmem_ptr(heap, next_pe());
    if (of_next)
        CHECK(child_ends_with(stores_to_a_peer, 0));
    shmem_barrier_all();
    CHECK(is_unchanged());
}

static int is_the_childs_copy(void)
{
    for (int i = 0; i < N; i++)
        if (word[i] != -1 || heap[i] != -1)
            return 1;
    return 0;
}

static int forks_again(void)
{
    return sees_a_copy() || !child_ends_with(is_the_childs_copy, 0);
}

/* Catches: a child's child that gets the PE's memory instead of the child's. */
static void generations(void)
{
    CHECK(child_ends_with(forks_again, 0));
    CHECK(is_unchanged());
}

static void tell(void)
{
    CHECK(write(told[1], "x", 1) == 1);
}

/* A child that ends by exit: the program's handlers run in it. */
static int ends_by_exit(void)
{
    exit(7);
}

/* Catches: a child whose end ends the job or finalises the library, or in which the program's exit handlers do not run. */
static void ends(void)
{
    char got[4];
    int status;
    CHECK(child_ends_with(ends_by_exit, 7));
    CHECK(read(told[0], got, sizeof got) == 1);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    CHECK(goes_on());
}

/* Catches: functions that start programs and fail, or change the PE; descriptors of the library in these programs. */
static void programs(void)
{
    char line[64] = "", *args[] = {"sh", "-c", "exit 5", NULL};
    int status = -1, files = 0;
    CHECK(WEXITSTATUS(system("exit 3")) == 3);
    FILE *p = popen("ls /proc/self/fd | wc -l; echo told", "r");
    CHECK(p && fgets(line, sizeof line, p) && sscanf(line, "%d", &files) == 1);
    CHECK(p && fgets(line, sizeof line, p) && strcmp(line, "told\n") == 0 && pclose(p) == 0);
    CHECKF(files <= files_before, "%d descriptors, %d before shmem_init", files, files_before);
    pid_t pid;
    CHECK(posix_spawnp(&pid, "sh", NULL, NULL, args, environ) == 0);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    pid = vfork();
    if (pid == 0) {
        execvp("sh", args);
        _exit(1);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    CHECK(is_unchanged());
    CHECK(goes_on());
}

static int exits(void)
{
    return 4;
}

/* Catches: a fork while operations are under way that loses them, or sends them twice. */
static void under_way(void)
{
    static long sum, copy[N];
    static int64_t all, mine;
    mine = 0;
    for (int i = 0; i < 20; i++) {
        shmem_long_atomic_add(&sum, 1, next_pe());
        shmem_long_put_nbi(copy, heap, N, me);
        CHECK(child_ends_with(exits, 4));
        shmem_fence();
    }
    shmem_barrier_all();
    CHECKF(sum == 20, "sum %ld", sum);
    CHECK(memcmp(copy, heap, sizeof copy) == 0);
    mine = sum;
    CHECK(shmem_int64_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1) == 0 && all == 20 * n_pes);
}

static volatile int stop;

static void *puts_on(void *arg)
{
    static long to;
    for (long i = 0; !stop; i++) {
        shmem_long_p(&to, i, next_pe());
        shmem_fence();
        if (i % 64 == 0)
            shmem_quiet();
    }
    return arg;
}

/* Catches: a child of a thread while another thread is in a call. */
static void threads(void)
{
    pthread_t other;
    CHECK(pthread_create(&other, NULL, puts_on, NULL) == 0);
    for (int i = 0; i < CHILDREN; i++)
        CHECK(child_ends_with(sees_a_copy, 0));
    stop = 1;
    pthread_join(other, NULL);
    CHECK(is_unchanged());
    CHECK(goes_on());
}

int main(void)
{
    int level;
    if (pipe(told) || atexit(tell))
        return 1;
    files_before = count_files() - 2; /* without . and ..; ls opens one, too */
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    tap_pes_begin();
    heap = shmem_malloc(N * sizeof *heap);
    for (int i = 0; i < N; i++)
        word[i] = me + i, heap[i] = 2 * me + i;
    shmem_barrier_all();
    RUN(stores, "a child's stores are its own");
    RUN(peers, "also those to memory of other PEs");
    RUN(generations, "a child of a child");
    RUN(ends, "exit, exit handlers, signals");
    RUN(programs, "system, popen, posix_spawn, vfork");
    RUN(under_way, "operations under way");
    RUN(threads, "threads that communicate");
    shmem_finalize();
    return tap_end();
}

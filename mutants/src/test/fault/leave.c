/*
 * leave.c - ways to end a PE: the last PE ends as the mode says while the others wait, compute or finish; see exit.sh.
 */
#include <dirent.h>
#include <pthread.h>
#include <shmemx.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static long *word;

/* The exit handlers of modes with "handler" in their name; the one registered last does what the mode says. */
static int handlers_print;
static void (*in_handler)(void);

static void print_line(const char *which)
{
    if (handlers_print)
        printf("%s was here\n", which);
}

static void last_handler(void)
{
    if (in_handler)
        in_handler();
    print_line("a handler from after shmem_init");
}

static void first_handler(void)
{
    print_line("a handler from before shmem_init");
}

__attribute__((destructor)) static void destructor(void)
{
    print_line("a destructor");
}

static void crash(void)
{
    *(volatile char *)(uintptr_t)in_handler = 0; /* code is not writable */
}

static volatile int deep;

__attribute__((noinline)) static int overflow(int n)
{
    volatile char some[4096];
    some[n % 4096] = (char)n;
    return deep ? n : overflow(n + 1) + some[n % 4096];
}

static void overflow_stack(void)
{
    printf("%d", overflow(0));
}

static void hang(void)
{
    for (;;)
        pause();
}

static void exit_globally(void)
{
    shmem_global_exit(9);
}

static void misuse(void)
{
    shmem_long_p(word, 1, -1);
}

static void finalize_and_free(void)
{
    shmem_free(word);
    shmem_finalize();
}

static void put_and_get(void)
{
    shmem_long_p(word, 5, shmem_my_pe());
    if (shmem_long_g(word, shmem_my_pe()) != 5)
        hang();
}

/* End the PE by end(status), with an exit handler that calls what(). */
static void with_handler(void (*what)(void), void (*end)(int), int status)
{
    handlers_print = 1;
    in_handler = what;
    end(status);
}

/* A thread that locks a stream for ever. */
static void *keep(void *stream)
{
    flockfile(stream);
    hang();
    return NULL;
}

static void misuse_beside(FILE *kept)
{
    pthread_t t;
    pthread_create(&t, NULL, keep, kept);
    while (ftrylockfile(kept) == 0) {
        funlockfile(kept);
        usleep(1000);
    }
    misuse();
}

static void child_exits(void)
{
    if (fork() == 0)
        exit(5); /* runs the exit handlers in a process that is not a PE */
    wait(NULL);
}

static void in_child(void (*end)(int))
{
    if (fork() == 0)
        end(6);
    wait(NULL);
}

static int h_die;

static int die(shmemx_gpc_call_t *c)
{
    (void)c;
    return raise(SIGKILL);
}

static void call_last(void)
{
    shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_die, shmem_n_pes() - 1, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL);
}

/* The launcher's process: the parent, or the parent of an oshrun that starts one PE. */
static pid_t launcher(void)
{
    char path[64], text[4096] = "";
    pid_t pid = getppid(), parent = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        fclose(f);
    if (!memmem(text, n, "--as-pe", 7))
        return pid;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    f = fopen(path, "r");
    if (!f || fscanf(f, "%*d (%*[^)]) %*c %d", &parent) != 1)
        exit(8);
    fclose(f);
    return parent;
}

static bool hold_thread(pid_t thread)
{
    return ptrace(PTRACE_SEIZE, thread, 0, 0) == 0 && ptrace(PTRACE_INTERRUPT, thread, 0, 0) == 0 &&
           waitpid(thread, NULL, __WALL) == thread;
}

/* The launcher's PMIx thread, which is one of all but the first, does not run for 4 s: it reads that PEs finalize after they have
 * ended, if they do not wait for it. */
static void finalize_beside_late_server(void)
{
    char path[64], c = 0;
    int ready[2];
    pid_t server = launcher();
    snprintf(path, sizeof path, "/proc/%d/task", server);
    if (pipe(ready) == 0 && fork() == 0) {
        DIR *d = opendir(path);
        int held = 0;
        for (struct dirent *e; d && (e = readdir(d));)
            held += atoi(e->d_name) > 0 && atoi(e->d_name) != server && hold_thread(atoi(e->d_name));
        if (held == 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        sleep(4);
        _exit(0);
    }
    close(ready[1]);
    if (read(ready[0], &c, 1) != 1) {
        puts("the launcher's threads cannot be held");
        fflush(stdout);
        shmem_global_exit(8);
    }
    shmem_finalize();
}

/* One shmem_init too many: the return from main finalizes the library. */
static void finalize_one_of_two(void)
{
    shmem_init();
    shmem_finalize();
    shmem_long_atomic_inc(word, 0);
    shmem_barrier_all();
    if (shmem_long_atomic_fetch(word, 0) != shmem_n_pes())
        exit(8);
}

/* M(mode, what the last PE does, what the others do) */
#define MODES(M)                                                                                                     \
    M(all_exit_0, exit(0), exit(0))                                                                                  \
    M(all_return, (void)0, (void)0)                                                                                  \
    M(exit_0_others_finalize, exit(0), shmem_finalize())                                                             \
    M(exit_3, exit(3), shmem_barrier_all())                                                                          \
    M(exit_3_wait, exit(3), shmem_long_wait_until(word, SHMEM_CMP_NE, 0))                                            \
    M(exit_3_compute, exit(3), for (;;) sleep(1))                                                                    \
    M(quick_exit_0, _exit(0), shmem_barrier_all())                                                                   \
    M(quick_exit_4, _exit(4), shmem_barrier_all())                                                                   \
    M(abort, abort(), shmem_barrier_all())                                                                           \
    M(segv, (signal(SIGSEGV, SIG_DFL), raise(SIGSEGV)), shmem_barrier_all())                                         \
    M(kill, raise(SIGKILL), shmem_barrier_all())                                                                     \
    M(kill_compute, raise(SIGKILL), for (;;) sleep(1))                                                               \
    M(global_exit_7, shmem_global_exit(7), shmem_barrier_all())                                                      \
    M(global_exit_7_compute, shmem_global_exit(7), for (;;) sleep(1))                                                \
    M(global_exit_7_all, shmem_global_exit(7), shmem_global_exit(7))                                                 \
    M(handler_7, with_handler(NULL, shmem_global_exit, 7), shmem_barrier_all())                                      \
    M(handler_0, with_handler(NULL, shmem_global_exit, 0), for (;;) sleep(1))                                        \
    M(handler_exit_3, with_handler(NULL, exit, 3), shmem_barrier_all())                                              \
    M(handler_crashes_7, with_handler(crash, shmem_global_exit, 7), shmem_barrier_all())                             \
    M(handler_crashes_0, with_handler(crash, shmem_global_exit, 0), shmem_barrier_all())                             \
    M(handler_aborts_7, with_handler(abort, shmem_global_exit, 7), shmem_barrier_all())                              \
    M(handler_overflows_7, with_handler(overflow_stack, shmem_global_exit, 7), shmem_barrier_all())                  \
    M(handler_hangs_7, with_handler(hang, shmem_global_exit, 7), shmem_barrier_all())                                \
    M(handler_exits_again_7, with_handler(exit_globally, shmem_global_exit, 7), shmem_barrier_all())                 \
    M(handler_misuses_7, with_handler(misuse, shmem_global_exit, 7), shmem_barrier_all())                            \
    M(handler_waits_7, with_handler(shmem_barrier_all, shmem_global_exit, 7), for (;;) sleep(1))                     \
    M(handler_finalizes_7, with_handler(finalize_and_free, shmem_global_exit, 7), shmem_barrier_all())               \
    M(handler_puts_7, with_handler(put_and_get, shmem_global_exit, 7), shmem_barrier_all())                          \
    M(misuse, misuse(), shmem_barrier_all())                                                                         \
    M(misuse_stdout_kept, misuse_beside(stdout), for (;;) sleep(1))                                                  \
    M(misuse_stdin_kept, misuse_beside(stdin), for (;;) sleep(1))                                                    \
    M(global_exit_0, shmem_global_exit(0), shmem_barrier_all())                                                      \
    M(finalize_then_5, (shmem_finalize(), exit(5)), (shmem_finalize(), exit(0)))                                     \
    M(finalize_then_quick_0, (shmem_finalize(), _exit(0)), shmem_finalize())                                         \
    M(finalize_one_of_two, finalize_one_of_two(), finalize_one_of_two())                                             \
    M(late_server, finalize_beside_late_server(), (void)0)                                                           \
    M(child_exits, child_exits(), shmem_barrier_all(); shmem_finalize())                                             \
    M(child_quick_exits, in_child(_exit), shmem_barrier_all(); shmem_finalize())                                     \
    M(kill_gpc, shmem_barrier_all(), call_last())                                                                    \
    M(killed_asleep, (fflush(stdout), sleep(30)), (fflush(stdout), sleep(30)))

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOFBF, 4096);
    atexit(first_handler);
    if (strcmp(mode, "no_init_9") == 0)
        return 9;
    shmem_init();
    atexit(last_handler);
    word = shmem_calloc(1, sizeof *word);
    *word = 0;
    if (strcmp(mode, "kill_gpc") == 0)
        h_die = shmemx_gpc_register(die);
    printf("PE %d was here\n", shmem_my_pe());
    shmem_barrier_all();
    int last = shmem_my_pe() == shmem_n_pes() - 1;
#define M(NAME, LAST, OTHERS)                                                                                        \
    if (strcmp(mode, #NAME) == 0) {                                                                                  \
        if (last) {                                                                                                  \
            LAST;                                                                                                    \
            if (strncmp(mode, "child", 5) == 0)                                                                      \
                shmem_barrier_all();                                                                                 \
        } else {                                                                                                     \
            OTHERS;                                                                                                  \
        }                                                                                                            \
    }
    MODES(M)
#undef M
    return 0;
}

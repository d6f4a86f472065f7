/*
 * leave.c - one way to end a mode, taken by the last PE while the others wait, compute or finish; exit.sh knows the rest.
 */
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long *word;

static void child_exits(void)
{
    if (fork() == 0)
        exit(5); /* runs the exit handlers of a process that is no PE */
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

/* An initialisation that is left open: the return from main completes and ends it. */
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
    M(segv, (signal(SIGSEGV, SIG_DFL), raise(SIGSEGV)), shmem_barrier_all())                                                                     \
    M(kill, raise(SIGKILL), shmem_barrier_all())                                                                     \
    M(kill_compute, raise(SIGKILL), for (;;) sleep(1))                                                               \
    M(global_exit_7, shmem_global_exit(7), shmem_barrier_all())                                                      \
    M(global_exit_7_compute, shmem_global_exit(7), for (;;) sleep(1))                                                \
    M(global_exit_7_all, shmem_global_exit(7), shmem_global_exit(7))                                                 \
    M(global_exit_0, shmem_global_exit(0), shmem_barrier_all())                                                      \
    M(finalize_then_5, (shmem_finalize(), exit(5)), (shmem_finalize(), exit(0)))                                     \
    M(finalize_then_quick_0, (shmem_finalize(), _exit(0)), shmem_finalize())                                         \
    M(finalize_one_of_two, finalize_one_of_two(), finalize_one_of_two())                                             \
    M(child_exits, child_exits(), shmem_barrier_all(); shmem_finalize())                                             \
    M(child_quick_exits, in_child(_exit), shmem_barrier_all(); shmem_finalize())                                     \
    M(kill_gpc, shmem_barrier_all(), call_last())                                                                    \
    M(killed_asleep, (fflush(stdout), sleep(30)), (fflush(stdout), sleep(30)))

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOFBF, 4096);
    if (strcmp(mode, "no_init_9") == 0)
        return 9;
    shmem_init();
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

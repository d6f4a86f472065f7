/*
 * last.c - for replace.sh: PEs 1 and 2 die and are started again; PE 0, which has the job's state alone, dies in shmemx_grow while the new processes wait.
 *
 * usage: last choice|go. It dies when it has chosen the new processes, or when it has let in one of them.
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int watched, at_go, grows;

/* In place of libc's: the library watches both new processes, then wakes the one that it lets in. */
__attribute__((visibility("default"))) long syscall(long number, ...)
{
    static long (*of_libc)(long, ...);
    va_list ap;
    long a[6];
    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    watched += grows && number == SYS_pidfd_open;
    int is_go = number == SYS_futex && (int)a[1] == FUTEX_WAKE;
    if (grows && watched == 2 && (at_go ? is_go : number == SYS_pidfd_open))
        kill(getpid(), SIGKILL);
    if (!of_libc)
        of_libc = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return of_libc(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int main(int argc, char **argv)
{
    at_go = argc == 2 && strcmp(argv[1], "go") == 0;
    shmem_init();
    int me = shmem_my_pe();
    shmem_team_t team;
    if (shmemx_is_new()) {
        printf("joined: PE %d\n", me);
        return 0;
    }
    shmem_barrier_all();
    if (me > 0)
        kill(getpid(), SIGKILL);
    while (shmemx_failed_pes(NULL, 0) < 2)
        usleep(1000);
    grows = 1;
    shmemx_grow(-1, &team);
    printf("wrong: PE 0 has grown\n");
    return 1;
}

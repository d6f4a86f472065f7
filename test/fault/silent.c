/*
 * silent.c - what a PE does on a network of one host: "stop" stops PE 1 as a host that hangs would; "fds" looks at the
 * descriptors that a program started by each PE inherits.
 */
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long word;

/* The child lists its own descriptors: 0 to 2, the pipe and the folder it reads, and whatever came from us. */
static int look(void)
{
    int bad = 0;
    char line[512];
    FILE *f = popen("ls -l /proc/self/fd", "re");
    while (f && fgets(line, sizeof line, f))
        if (strstr(line, "socket:") || strstr(line, "eventpoll") || strstr(line, "eventfd")) {
            fprintf(stderr, "inherited: %s", line);
            bad = 1;
        }
    if (f)
        pclose(f);
    return bad || !f;
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), bad = 0;
    shmem_long_p(&word, 1, 1 - me); /* both have met */
    shmem_long_wait_until(&word, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    if (argc > 1 && strcmp(argv[1], "stop") == 0) {
        if (me == 1)
            raise(SIGSTOP);
        shmem_long_wait_until(&word, SHMEM_CMP_EQ, 2);
    } else {
        bad = look();
    }
    shmem_barrier_all();
    shmem_finalize();
    return bad;
}

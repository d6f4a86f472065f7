/*
 * again.c - processes that are in many jobs, one after the other, each with other members, other numbers and another number of PEs.
 *
 *   again N JOBS          N processes, forked by this one, each in JOBS jobs. Prints for each what it had open after the tenth job and after the
 *                         last one, and fails where that has grown.
 *   again N JOBS KILL     and process 1 is killed in the middle of job KILL: the others end.
 *   again pes JOBS        the PEs of a launcher: they agree on ids in the launcher's job, leave it, and are in JOBS jobs by these ids.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "again.h"

enum { PROCESSES = 4, TENTH = 9 };

/* An id that a member of a job has made for the others. */
struct meeting {
    shmemx_uniqueid_t id;
    int ready;
};
static struct meeting (*meeting)[PROCESSES]; /* [jobs], by the job's first member */
static int n_processes, n_jobs, killed_in;

static unsigned below(unsigned *state, unsigned n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % n;
}

/* The job of process i in this round: its members in the order of their PEs. Returns how many. All processes compute the same. */
static int members(int round, int i, int out[PROCESSES])
{
    int order[PROCESSES];
    unsigned state = (unsigned)round * 2654435761u + 1;
    for (int k = 0; k < n_processes; k++)
        order[k] = k;
    for (int k = n_processes - 1; k > 0; k--) {
        int other = (int)below(&state, (unsigned)k + 1), was = order[k];
        order[k] = order[other];
        order[other] = was;
    }
    int all = round == TENTH || round == n_jobs - 1 || round == killed_in;
    for (int at = 0, n; at < n_processes; at += n) {
        n = all ? n_processes : 1 + (int)below(&state, (unsigned)(n_processes - at));
        for (int k = 0; k < n; k++)
            out[k] = all ? k : order[at + k];
        for (int k = 0; k < n; k++)
            if (out[k] == i)
                return n;
    }
    return 0;
}

static int join(const shmemx_uniqueid_t *id, int pe, int n, int round)
{
    shmemx_init_attr_t attr;
    int provided;
    return shmemx_set_attr_uniqueid_args(pe, n, id, &attr) ||
           shmemx_init_thread_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr, round % 2 ? SHMEM_THREAD_SINGLE : SHMEM_THREAD_MULTIPLE, &provided);
}

/* Process i in one round. 0, or 1 after a line. */
static int one_job(int round, int i)
{
    int who[PROCESSES], n = members(round, i, who), me = 0, maker = round % n;
    while (who[me] != i)
        me++;
    struct meeting *m = &meeting[round][who[0]];
    if (me == maker) {
        if (shmemx_get_uniqueid(&m->id))
            return 1;
        __atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
    }
    while (!__atomic_load_n(&m->ready, __ATOMIC_ACQUIRE))
        usleep(100);
    if (join(&m->id, me, n, round))
        return 1;
    int bad = again_work(me, n, 1000L * round);
    if (round == killed_in && i == 1)
        raise(SIGKILL);
    if (round == killed_in)
        for (;;)
            pause();
    shmem_finalize();
    return bad;
}

static int entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    while (d && readdir(d))
        n++;
    closedir(d);
    return n;
}

/* What a process has. */
struct held {
    int descriptors, threads, mappings;
    long kib; /* resident, private */
};

static struct held look(void)
{
    struct held h = {.descriptors = entries("/proc/self/fd"), .threads = entries("/proc/self/task")};
    FILE *f = fopen("/proc/self/maps", "r");
    for (int c; f && (c = getc(f)) != EOF;)
        h.mappings += c == '\n';
    fclose(f);
    long resident = 0, shared = 0;
    f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld %ld", &resident, &shared) != 2)
        abort();
    fclose(f);
    h.kib = (resident - shared) * (sysconf(_SC_PAGESIZE) / 1024);
    return h;
}

static int process(int i)
{
    struct held first = {0}, last;
    for (int round = 0; round < n_jobs; round++) {
        if (one_job(round, i))
            return 1;
        if (again_jobs != round + 1) {
            fprintf(stderr, "process %d: static data has %ld after %d jobs\n", i, again_jobs, round + 1);
            return 1;
        }
        if (round == TENTH)
            first = look();
    }
    last = look();
    printf("process %d, after job 10 and job %d: descriptors %d %d, threads %d %d, mappings %d %d, private memory %ld %ld KiB\n", i, n_jobs,
           first.descriptors, last.descriptors, first.threads, last.threads, first.mappings, last.mappings, first.kib, last.kib);
    fflush(stdout);
    /* Over the network, PEs of the job have one connection or two. Threads may get heaps of their own, and memory is not returned at once. */
    return last.descriptors > first.descriptors + n_processes || last.threads != first.threads || last.mappings > first.mappings + 8 || last.kib > first.kib + 2048;
}

/* ---- PEs of a launcher -------------------------------------------------------------------------------------------- */

static shmemx_uniqueid_t id_of[16]; /* in static data, which the launcher's job shares */

static int pes(int jobs)
{
    int bad = 0;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    bad |= again_work(me, n, 5);
    for (int k = 0; k < jobs; k++) {
        if (k % n == me && shmemx_get_uniqueid(&id_of[k]))
            return 1;
        shmem_barrier_all();
        if (k % n != me)
            shmem_getmem(&id_of[k], &id_of[k], sizeof id_of[k], k % n);
    }
    shmem_barrier_all();
    shmem_finalize();
    shmem_init(); /* the launcher's job again */
    bad |= again_work(me, n, 6);
    shmem_finalize();
    for (int k = 0; k < jobs; k++) {
        int size = 1 + k % n, pe = (me - k % n + n) % n; /* the PEs from the one that made the id on */
        if (pe >= size)
            continue;
        if (join(&id_of[k], pe, size, k))
            return 1;
        bad |= again_work(pe, size, 7 + k);
        shmem_finalize();
        if (k % 3 == 0) { /* the same job again */
            shmem_init();
            bad |= again_work(pe, size, 8 + k);
            shmem_finalize();
        }
    }
    printf("PE %d of %d: %s\n", me, n, bad ? "wrong" : "right");
    return bad;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 99;
    if (strcmp(argv[1], "pes") == 0)
        return pes(atoi(argv[2]));
    n_processes = atoi(argv[1]);
    n_jobs = atoi(argv[2]);
    killed_in = argc > 3 ? atoi(argv[3]) : -1;
    meeting = mmap(NULL, (size_t)n_jobs * sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child[PROCESSES];
    for (int i = 0; i < n_processes; i++)
        if ((child[i] = fork()) == 0)
            return process(i);
    int bad = 0;
    for (int i = 0; i < n_processes; i++) {
        int status;
        waitpid(child[i], &status, 0);
        status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (status || killed_in >= 0)
            printf("process %d: status %d\n", i, status);
        bad |= status;
    }
    return bad != 0;
}

/*
 * oshrun_spawn.c - start processes: binding of PEs to cores, the PEs, and the guardian that ends them when oshrun is
 * killed. oshrun.c watches them.
 */
#include "oshrun.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/util/libc.h"

static pid_t guardian;
static int guardian_fd = -1;
static struct rlimit inherited; /* of open files */
static bool raised;

static void end_groups(const pid_t *group, size_t n, double grace_s)
{
    size_t left = n;

    for (size_t i = 0; i < n; i++)
        kill(-group[i], SIGTERM);
    for (int i = 0; left && i < grace_s * 20; i++) {
        usleep(50000);
        left = 0;
        for (size_t k = 0; k < n; k++)
            left += !kill(-group[k], 0);
    }
    for (size_t i = 0; i < n; i++)
        kill(-group[i], SIGKILL);
}

/* Read process groups from fd. A 0 means that oshrun exits normally; end of file means that it was killed. */
static _Noreturn void guard(int fd, double grace_s)
{
    pid_t *group = NULL, pid;
    size_t n = 0;

    setsid();
    prctl(PR_SET_NAME, "oshrun-guard");
    while (read(fd, &pid, sizeof pid) == sizeof pid) {
        pid_t *more = realloc(group, (n + 1) * sizeof *group);
        if (pid == 0 || !more)
            _exit(0);
        group = more;
        group[n++] = pid;
    }
    end_groups(group, n, grace_s);
    _exit(0);
}

int guardian_up(double grace_s)
{
    sigset_t all, old;
    int fd[2];

    if (pipe2(fd, O_CLOEXEC))
        return -errno;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    guardian = fork();
    if (guardian == 0) {
        if (dup2(fd[0], 0) < 0)
            _exit(1);
        close_range(1, ~0U, 0);
        guard(0, grace_s);
    }
    int err = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    close(fd[0]);
    guardian_fd = fd[1];
    return guardian < 0 ? -err : 0;
}

int files_up(int npes)
{
    enum { OWN = 15, OF_PE = 3 }; /* OWN: mostly libpmix's; OF_PE: two pipes and a connection */
    struct rlimit most;
    rlim_t need = OWN + OF_PE * (rlim_t)npes;

    for (int fd = 3; fd < 256; fd++)
        need += fcntl(fd, F_GETFD) >= 0;
    if (getrlimit(RLIMIT_NOFILE, &inherited) || inherited.rlim_cur >= need)
        return 0;
    most = inherited;
    most.rlim_cur = need < most.rlim_max ? need : most.rlim_max;
    if (most.rlim_cur < need || setrlimit(RLIMIT_NOFILE, &most)) {
        say("oshrun: %d PEs need %d open files, and only %d are allowed: raise that with ulimit -n", npes, (int)need,
            (int)most.rlim_max);
        return -EMFILE;
    }
    raised = true;
    return 0;
}

static void guardian_tell(pid_t pid)
{
    while (write(guardian_fd, &pid, sizeof pid) < 0 && errno == EINTR)
        ;
}

void guardian_down(void)
{
    guardian_tell(0);
    waitpid(guardian, NULL, 0);
}

/* A minimal topology for PMIx, which would otherwise discover the whole machine, PCI included. */
static hwloc_topology_t topology_made_up(void)
{
    hwloc_topology_t t;

    if (hwloc_topology_init(&t) || hwloc_topology_set_synthetic(t, "pu:1") || hwloc_topology_load(t))
        abort();
    return t;
}

/* The cores in oshrun's own affinity mask: a container or taskset may exclude some. */
static hwloc_topology_t topology_of_machine(void)
{
    static hwloc_topology_t t;
    hwloc_bitmap_t mine;

    if (t)
        return t;
    bool quiet = !getenv("HWLOC_HIDE_ERRORS");
    if (quiet) /* no error messages in a container without sysfs */
        setenv("HWLOC_HIDE_ERRORS", "2", 1);
    if (hwloc_topology_init(&t))
        return t = topology_made_up();
    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    bool failed = hwloc_topology_load(t) != 0;
    if (quiet) /* the PEs must not inherit it */
        unsetenv("HWLOC_HIDE_ERRORS");
    if (failed) {
        hwloc_topology_destroy(t);
        return t = topology_made_up();
    }
    mine = hwloc_bitmap_alloc();
    if (mine && !hwloc_get_cpubind(t, mine, HWLOC_CPUBIND_PROCESS))
        hwloc_topology_restrict(t, mine, 0);
    hwloc_bitmap_free(mine);
    return t;
}

int cores_count(void)
{
    int n = hwloc_get_nbobjs_by_type(topology_of_machine(), HWLOC_OBJ_CORE);

    return n > 0 ? n : 1;
}

static void pe_bind(struct pe *pe, hwloc_topology_t t, hwloc_obj_t core)
{
    int cpus = hwloc_bitmap_last(core->cpuset) + 1;

    pe->mask = CPU_ALLOC(cpus);
    if (!pe->mask || hwloc_cpuset_to_glibc_sched_affinity(t, core->cpuset, pe->mask, CPU_ALLOC_SIZE(cpus)))
        return;
    pe->nmask = CPU_ALLOC_SIZE(cpus);
    pe->cpuset = core->cpuset;
}

void *cores_assign(struct pe *pe, int npes, enum bind bind)
{
    cpu_set_t cpus;
    hwloc_topology_t t;
    int ncores;

    /* a single PE is unbound by default: several jobs of one PE would all run on the first core */
    if (bind == BIND_NONE || (bind == BIND_DEFAULT && npes == 1) ||
        (bind == BIND_DEFAULT && !sched_getaffinity(0, sizeof cpus, &cpus) && CPU_COUNT(&cpus) < npes))
        return topology_made_up();
    t = topology_of_machine();
    ncores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
    if (ncores < 1 || (bind == BIND_DEFAULT && ncores < npes))
        return t;
    for (int i = 0; i < npes; i++)
        pe_bind(&pe[i], t, hwloc_get_obj_by_type(t, HWLOC_OBJ_CORE, i % ncores));
    return t;
}

/* The child's part of pe_spawn. It shares the parent's memory until exec and writes only *error and *what. */
static _Noreturn void become(struct pe *pe, const int fd[3], char **env, pid_t parent, volatile int *error,
                             const char *volatile *what)
{
    static const int defaults[] = {SIGPIPE, SIGTTIN, SIGTTOU};
    sigset_t none;

    setpgid(0, 0);
    if (prctl(PR_SET_PDEATHSIG, pe->death_sig) || getppid() != parent)
        _exit(1);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        signal(defaults[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (pe->nmask)
        sched_setaffinity(0, pe->nmask, pe->mask);
    if (raised)
        setrlimit(RLIMIT_NOFILE, &inherited);
    *what = NULL;
    for (int i = 0; i < 3; i++)
        if (fd[i] != i && dup2(fd[i], i) < 0)
            *what = "dup2";
    if (pe->app->wdir && chdir(pe->app->wdir))
        *what = pe->app->wdir;
    if (!*what) {
        *what = pe->app->argv[0];
        execvpe(pe->app->argv[0], pe->app->argv, env);
    }
    *error = errno;
    _exit(EXIT_NOT_FOUND);
}

int pe_spawn(struct pe *pe, const int fd[3], char **env, const char **what)
{
    volatile int error = 0;
    const char *volatile failed = NULL;
    pid_t parent = getpid(), pid = vfork();

    if (pid == 0)
        become(pe, fd, env, parent, &error, &failed);
    if (pid < 0) {
        *what = "vfork";
        return -errno;
    }
    if (error) {
        waitpid(pid, NULL, 0);
        *what = failed;
        return -error;
    }
    pe->pid = pid;
    guardian_tell(pid);
    return 0;
}

/*
 * oshrun_pmix.c - the PMIx server in oshrun: its start, and the calls of PEs.
 *
 * The callbacks run on PMIx's thread. They set the state word of a PE and the abort record, and wake the main thread through
 * an eventfd. They answer all other calls at once, because all PEs of the job are on this machine.
 *
 *   word          written by            read by      order
 *   pe->pmix      PMIx thread           main thread  P1 -> M1
 *   connected     PMIx thread, once     main thread  relaxed: no other data
 *   fenced        PMIx thread           main thread  relaxed: the same
 *   started       PMIx thread; main     both         P3 -> M3; STARTED relaxed: the same
 *   meeting       PMIx thread, once     main thread  plain; ordered by P3 -> M3
 *   thread_error  any thread            main thread  relaxed: the same
 *   abort record  PMIx thread, once     main thread  plain; ordered by P2 -> M2
 *   aborted       PMIx thread, once     main thread  P2 -> M2
 *
 * P1 -> M1  a client is answered after P1, so the state of a PE whose exit was found is final.
 * P2 -> M2, P3 -> M3  the record, or meeting, is complete before it is read.
 */
#include "oshrun.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/boot/boot.h"
#include "host/util/random.h"

/* Open MPI 4 treats a program without a daemon's address as a job of one process. The address is never used. */
#define NOT_ALONE "0.0;tcp://127.0.0.1:1"

static char nspace[PMIX_MAX_NSLEN + 1];
static int wake = -1;
static struct abort_record record;
static atomic_int aborted, connected, fenced, started, thread_error;
static struct meeting {
    pmix_modex_cbfunc_t done;
    char *data;
    size_t ndata;
    void *arg;
} meeting; /* the fence at the end of shmem_init, with --survive */
enum { STARTED_HELD = 1, STARTED };

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t done, void *arg)
{
    struct pe *pe = object;

    (void)proc, (void)info, (void)ninfo, (void)done, (void)arg;
    atomic_store_explicit(&pe->pmix, PMIX_CONNECTED, memory_order_release); /* P1 */
    if (!atomic_exchange_explicit(&connected, 1, memory_order_relaxed))
        eventfd_write(wake, 1);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done, void *arg)
{
    struct pe *pe = object;

    (void)proc, (void)done, (void)arg;
    atomic_store_explicit(&pe->pmix, PMIX_FINALIZED, memory_order_release); /* P1 */
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char msg[], pmix_proc_t procs[], size_t nprocs,
                              pmix_op_cbfunc_t done, void *arg)
{
    struct pe *pe = object;

    (void)procs, (void)nprocs, (void)done, (void)arg;
    atomic_store_explicit(&pe->pmix, PMIX_ABORTED, memory_order_release); /* P1 */
    if (!atomic_load_explicit(&aborted, memory_order_relaxed)) {
        record.rank = proc->rank;
        record.status = status;
        snprintf(record.words, sizeof record.words, "%s", msg ? msg : "");
        record.words[strcspn(record.words, "\n")] = 0;
        atomic_store_explicit(&aborted, 1, memory_order_release); /* P2 */
        eventfd_write(wake, 1);
    }
    return PMIX_OPERATION_SUCCEEDED;
}

/* Is the fence the one at the end of shmem_init? */
static bool ends_start(const pmix_info_t info[], size_t ninfo)
{
    size_t i = 0;

    while (i < ninfo && !PMIX_CHECK_KEY(&info[i], SHI_SURVIVE_NAME))
        i++;
    return i < ninfo;
}

/* libpmix leaves PEs that died out of fences, so those of the others complete. The end of shmem_init needs all PEs: server_start_all
 * answers that fence. */
static pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo, char *data, size_t ndata,
                              pmix_modex_cbfunc_t done, void *arg)
{
    (void)procs, (void)nprocs;
    atomic_store_explicit(&fenced, 1, memory_order_relaxed);
    if (done && ends_start(info, ninfo) && !atomic_load_explicit(&started, memory_order_relaxed)) {
        meeting = (struct meeting){done, data, ndata, arg};
        atomic_store_explicit(&started, STARTED_HELD, memory_order_release); /* P3 */
        eventfd_write(wake, 1);
    } else if (done)
        done(PMIX_SUCCESS, data, ndata, arg, free, data);
    return PMIX_SUCCESS;
}

/* Called only for PEs of other hosts, and there are none. */
static pmix_status_t on_modex(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo, pmix_modex_cbfunc_t done, void *arg)
{
    (void)proc, (void)info, (void)ninfo, (void)done, (void)arg;
    return PMIX_ERR_NOT_FOUND;
}

static pmix_status_t on_spawn(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo, const pmix_app_t apps[],
                              size_t napps, pmix_spawn_cbfunc_t done, void *arg)
{
    (void)proc, (void)info, (void)ninfo, (void)apps, (void)napps, (void)done, (void)arg;
    return PMIX_ERR_NOT_SUPPORTED;
}

/* The server library delivers events between PEs of this job itself. */
static pmix_status_t on_register(pmix_status_t *codes, size_t ncodes, const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t done, void *arg)
{
    (void)codes, (void)ncodes, (void)info, (void)ninfo, (void)done, (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_deregister(pmix_status_t *codes, size_t ncodes, pmix_op_cbfunc_t done, void *arg)
{
    (void)codes, (void)ncodes, (void)done, (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t *source, pmix_data_range_t range, pmix_info_t info[], size_t ninfo,
                               pmix_op_cbfunc_t done, void *arg)
{
    (void)code, (void)source, (void)range, (void)info, (void)ninfo, (void)done, (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

/* Leave a tool without an answer. Without this function libpmix admits every tool that brings a name of its own; and when it
 * refuses one that brings the job's name, it drops the job (libpmix 4.2.2). */
static void on_tool(pmix_info_t *info, size_t ninfo, pmix_tool_connection_cbfunc_t done, void *arg)
{
    (void)info, (void)ninfo, (void)done, (void)arg;
}

/* A newer PMIx than this file was compiled with reads more functions behind those of its own headers: they are 0. */
static struct {
    pmix_server_module_t module;
    void *newer[100];
} server = {
    .module.client_connected2 = on_connected,
    .module.client_finalized = on_finalized,
    .module.abort = on_abort,
    .module.fence_nb = on_fence,
    .module.direct_modex = on_modex,
    .module.spawn = on_spawn,
    .module.register_events = on_register,
    .module.deregister_events = on_deregister,
    .module.notify_event = on_notify,
    .module.tool_connected = on_tool,
};

#ifdef __SANITIZE_THREAD__
#define TSAN 1
#elif defined __has_feature
#define TSAN __has_feature(thread_sanitizer)
#else
#define TSAN 0
#endif

#if !TSAN /* its runtime replaces the function, too */
/* Called in place of libc's function by libpmix, which ignores that a thread cannot be created: all clients would wait for ever. */
int our_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg) REPLACES("pthread_create");
int our_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = (__typeof__(next))dlsym(RTLD_NEXT, "pthread_create");
    int err = next(thread, attr, fn, arg);

    if (err)
        atomic_store_explicit(&thread_error, err, memory_order_relaxed);
    return err;
}
#endif

/* Threads of libpmix get little memory, for the sake of ulimit -d and -v. */
static void small_stacks(void)
{
    enum { STACK_BYTES = 1 << 20 };
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
}

static int shown = 2; /* standard error while descriptor 2 is /dev/null */

/* The abort then continues. */
static void on_library_abort(int sig)
{
    static const char line[] = "oshrun: libpmix aborted in the PMIx server (PMIX_OUTPUT_STDERR_FD=2 shows what it says); does a sandbox "
                               "refuse a system call?\n";

    if (write(shown, line, sizeof line - 1) >= 0)
        signal(sig, SIG_DFL);
}

/* Start libpmix and drop its messages on standard error, now (help texts go to descriptor 2) and later. A user who sets
 * PMIX_OUTPUT_STDERR_FD gets them. */
static pmix_status_t init_hushed(pmix_info_t *info, size_t ninfo)
{
    bool chosen = getenv("PMIX_OUTPUT_STDERR_FD");
    int fd = chosen ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC), own = fd < 0 ? -1 : fcntl(2, F_DUPFD_CLOEXEC, 3);
    char number[16];
    pmix_status_t rc;

    snprintf(number, sizeof number, "%d", fd);
    if (fd >= 0)
        setenv("PMIX_OUTPUT_STDERR_FD", number, 1);
    if (own >= 0) {
        dup2(fd, 2);
        shown = own;
    }
    signal(SIGABRT, on_library_abort); /* from now on, also on libpmix's threads */
    small_stacks();
    rc = PMIx_server_init(&server.module, info, ninfo);
    if (own >= 0) {
        shown = 2;
        dup2(own, 2);
        close(own);
    }
    if (fd >= 0)
        unsetenv("PMIX_OUTPUT_STDERR_FD");
    return rc;
}

static void say_why(pmix_status_t rc)
{
    if (!have_interface())
        say("oshrun: cannot start the PMIx server: no network interface is up, not even the loopback (ip link set lo up)");
    else if (atomic_load_explicit(&thread_error, memory_order_relaxed))
        say("oshrun: cannot start a thread of the PMIx server: %s (ulimit -u, -v and -d limit threads and their memory)",
            strerror(atomic_load_explicit(&thread_error, memory_order_relaxed)));
    else
        say("oshrun: cannot start the PMIx server: %s (PMIX_OUTPUT_STDERR_FD=2 shows what libpmix says)",
            PMIx_Error_string(rc));
}

/* A name that other users cannot guess: libpmix admits clients that know it. */
static void name_job(const unsigned char *bits, size_t n)
{
    int at = sprintf(nspace, "oshrun-");

    for (size_t i = 0; i < n; i++)
        at += sprintf(nspace + at, "%02x", bits[i]);
}

int server_up(struct pe *pe, int npes, int napps, void *topology, bool survive, bool replace, int *wake_fd)
{
    pmix_topology_t topo = {.source = (char *)"hwloc", .topology = topology};
    bool no = false;
    struct {
        unsigned char name[16], secret[SHI_SECRET_BYTES];
    } bits;
    pmix_info_t info[3];
    int err = shi_random_bytes(&bits, sizeof bits);
    pmix_status_t rc;

    if (err) {
        say("oshrun: cannot make the job's secret: getrandom: %s", strerror(-err));
        return -1;
    }
    name_job(bits.name, sizeof bits.name);
    wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0) {
        say("oshrun: eventfd: %s", strerror(errno));
        return -1;
    }
    accept_up(wake);
    setenv("PMIX_MCA_gds", "hash", 1); /* the other stores use files, which would remain when oshrun is killed */
    if (survive) /* else libpmix does not call on_fence */
        setenv("PMIX_MCA_pmix_server_fence_localonly_opt", "0", 1);
    setenv("OMPI_MCA_orte_local_daemon_uri", NOT_ALONE, 0);
    PMIX_INFO_LOAD(&info[0], PMIX_TOPOLOGY2, &topo, PMIX_TOPO);
    PMIX_INFO_LOAD(&info[1], PMIX_SERVER_TOOL_SUPPORT, &no, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_REMOTE_CONNECTIONS, &no, PMIX_BOOL);
    rc = init_hushed(info, sizeof info / sizeof *info);
    if (rc == PMIX_SUCCESS && atomic_load_explicit(&thread_error, memory_order_relaxed))
        rc = PMIX_ERR_OUT_OF_RESOURCE;
    if (rc == PMIX_SUCCESS)
        rc = data_up(nspace, pe, npes, napps, bits.secret, survive, replace);
    explicit_bzero(&bits, sizeof bits);
    if (rc != PMIX_SUCCESS) {
        say_why(rc);
        return -1;
    }
    *wake_fd = wake;
    return 0;
}

int server_env(const struct pe *pe, char ***env)
{
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, nspace, pe->rank);
    return PMIx_server_setup_fork(&proc, env) == PMIX_SUCCESS ? 0 : -EIO;
}

const char *server_job(void)
{
    return nspace;
}

void server_is_late(void)
{
    static const char line[] = "oshrun: the PMIx server did not start within SHMEM_START_TIMEOUT (default: 60 s)\n";

    _exit(write(shown, line, sizeof line - 1) < 0 ? 2 : 1);
}

bool server_connected(void)
{
    return atomic_load_explicit(&connected, memory_order_relaxed);
}

bool server_fenced(void)
{
    return atomic_load_explicit(&fenced, memory_order_relaxed);
}

bool server_asks(void)
{
    return atomic_load_explicit(&started, memory_order_acquire) == STARTED_HELD; /* M3 */
}

bool server_started(void)
{
    return atomic_load_explicit(&started, memory_order_relaxed) == STARTED;
}

void server_start_all(void)
{
    atomic_store_explicit(&started, STARTED, memory_order_relaxed);
    meeting.done(PMIX_SUCCESS, meeting.data, meeting.ndata, meeting.arg, free, meeting.data);
}

const struct abort_record *server_aborted(void)
{
    return atomic_load_explicit(&aborted, memory_order_acquire) ? &record : NULL; /* M2 */
}

/*
 * oshrun_pmix.c - the PMIx server in oshrun: the job's data for PEs, and their finalize and abort calls.
 *
 * The callbacks run on PMIx's thread. They set the state word of a PE and the abort record, and wake the main thread through
 * an eventfd. They answer all other calls at once, because all PEs of the job are on this machine.
 *
 *   word          written by            read by      order
 *   pe->pmix      PMIx thread           main thread  P1 -> M1
 *   connected     PMIx thread, once     main thread  relaxed: no other data
 *   fenced        PMIx thread; main     both         P3 -> M3; FENCE_PASSED relaxed: the same
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

static char nspace[PMIX_MAX_NSLEN + 1], hostname[PMIX_MAX_NSLEN + 1];
static int wake = -1;
static struct abort_record record;
static atomic_int aborted, connected, fenced, thread_error;
static bool holds; /* --survive: the first fence waits for server_meet */
static struct meeting { /* that fence */
    pmix_modex_cbfunc_t done;
    char *data;
    size_t ndata;
    void *arg;
} meeting;
enum { FENCE_HELD = 1, FENCE_PASSED };

/* A call of the server's interface whose callback runs on PMIx's thread. */
struct answer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int left;
    pmix_status_t status;
};

static void answered(pmix_status_t status, void *arg)
{
    struct answer *a = arg;

    pthread_mutex_lock(&a->lock);
    a->left--;
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
        a->status = status;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static pmix_status_t await(struct answer *a)
{
    pthread_mutex_lock(&a->lock);
    while (a->left > 0)
        pthread_cond_wait(&a->changed, &a->lock);
    pthread_mutex_unlock(&a->lock);
    return a->status;
}

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

/* libpmix leaves PEs that died out of fences, so those of the others complete. The first one needs all PEs: server_meet answers it. */
static pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo, char *data, size_t ndata,
                              pmix_modex_cbfunc_t done, void *arg)
{
    (void)procs, (void)nprocs, (void)info, (void)ninfo;
    bool first = !atomic_load_explicit(&fenced, memory_order_relaxed), hold = holds && first;

    if (hold)
        meeting = (struct meeting){done, data, ndata, arg};
    if (first)
        atomic_store_explicit(&fenced, hold ? FENCE_HELD : FENCE_PASSED, memory_order_release); /* P3 */
    if (hold)
        eventfd_write(wake, 1);
    else if (done)
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

struct keys {
    pmix_info_t *info;
    size_t n;
};

static void key_add(struct keys *k, const char *key, const void *value, pmix_data_type_t type)
{
    PMIX_INFO_LOAD(&k->info[k->n], key, value, type);
    k->n++;
}

static void key_add_text(struct keys *k, const char *key, pmix_status_t (*text_of)(const pmix_cpuset_t *, char **), const pmix_cpuset_t *set)
{
    char *text = NULL;

    if (text_of(set, &text) == PMIX_SUCCESS && text)
        key_add(k, key, text, PMIX_STRING);
    free(text);
}

static void keys_of_pe(struct keys *job, const struct pe *pe)
{
    enum { MOST = 9 };
    struct keys own = {.n = 0};
    pmix_rank_t rank = pe->rank;
    uint16_t local = pe->rank;
    uint32_t node = 0, appnum = pe->appnum;

    PMIX_INFO_CREATE(own.info, MOST);
    key_add(&own, PMIX_RANK, &rank, PMIX_PROC_RANK);
    key_add(&own, PMIX_LOCAL_RANK, &local, PMIX_UINT16);
    key_add(&own, PMIX_NODE_RANK, &local, PMIX_UINT16);
    key_add(&own, PMIX_HOSTNAME, hostname, PMIX_STRING);
    key_add(&own, PMIX_NODEID, &node, PMIX_UINT32);
    key_add(&own, PMIX_APPNUM, &appnum, PMIX_UINT32);
    key_add(&own, PMIX_GLOBAL_RANK, &rank, PMIX_PROC_RANK);
    if (pe->cpuset) {
        pmix_cpuset_t set = {.source = (char *)"hwloc", .bitmap = pe->cpuset};
        key_add_text(&own, PMIX_CPUSET, PMIx_server_generate_cpuset_string, &set);
        key_add_text(&own, PMIX_LOCALITY_STRING, PMIx_server_generate_locality_string, &set);
    }
    pmix_data_array_t array = {.type = PMIX_INFO, .size = own.n, .array = own.info};
    key_add(job, PMIX_PROC_DATA, &array, PMIX_DATA_ARRAY);
    PMIX_INFO_FREE(own.info, MOST);
}

static char *rank_list(int npes)
{
    char *list = malloc(12 * (size_t)npes), *p = list;

    for (int i = 0; list && i < npes; i++)
        p += sprintf(p, "%s%d", i ? "," : "", i);
    return list;
}

/* libpmix up to 4.2 overruns a buffer of 50 bytes when it compresses a long name; "raw:" is the uncompressed form. */
static pmix_status_t node_map(char **out)
{
    enum { COMPRESSED = 49 };

    if (strlen(hostname) <= COMPRESSED)
        return PMIx_generate_regex(hostname, out);
    return asprintf(out, "raw:%s", hostname) < 0 ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

static pmix_status_t register_job(struct pe *pe, int npes, int napps, const unsigned char secret[SHI_SECRET_BYTES])
{
    struct answer a = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 1, PMIX_SUCCESS};
    struct keys job = {.n = 0};
    size_t most = 17 + npes;
    uint32_t n = npes, one = 1, apps = napps;
    pmix_rank_t leader = 0;
    pmix_byte_object_t object = {.bytes = (char *)secret, .size = SHI_SECRET_BYTES};
    char *ranks = rank_list(npes), *nodes, *procs;
    pmix_status_t rc;

    if (!ranks)
        return PMIX_ERR_NOMEM;
    if ((rc = node_map(&nodes)) || (rc = PMIx_generate_ppn(ranks, &procs)))
        return rc;
    PMIX_INFO_CREATE(job.info, most);
    key_add(&job, PMIX_JOBID, nspace, PMIX_STRING);
    key_add(&job, PMIX_NODE_MAP, nodes, PMIX_REGEX);
    key_add(&job, PMIX_PROC_MAP, procs, PMIX_REGEX);
    key_add(&job, PMIX_JOB_SIZE, &n, PMIX_UINT32);
    key_add(&job, PMIX_UNIV_SIZE, &n, PMIX_UINT32);
    key_add(&job, PMIX_MAX_PROCS, &n, PMIX_UINT32);
    key_add(&job, PMIX_LOCAL_SIZE, &n, PMIX_UINT32);
    key_add(&job, PMIX_NODE_SIZE, &n, PMIX_UINT32);
    key_add(&job, PMIX_NUM_NODES, &one, PMIX_UINT32);
    key_add(&job, PMIX_JOB_NUM_APPS, &apps, PMIX_UINT32);
    key_add(&job, PMIX_LOCAL_PEERS, ranks, PMIX_STRING);
    key_add(&job, PMIX_LOCALLDR, &leader, PMIX_PROC_RANK);
    for (int i = 0; i < npes; i++)
        keys_of_pe(&job, &pe[i]);
    key_add(&job, SHI_SECRET_NAME, &object, PMIX_BYTE_OBJECT);
    rc = PMIx_server_register_nspace(nspace, npes, job.info, job.n, answered, &a);
    if (rc == PMIX_SUCCESS)
        rc = await(&a);
    PMIX_INFO_FREE(job.info, most);
    free(ranks);
    return rc == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : rc;
}

/* Register all clients before the first one starts: the server may never answer a request for a PE's data while some
 * clients are not registered (libpmix 4.2.2). */
static pmix_status_t register_clients(struct pe *pe, int npes)
{
    struct answer a = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, npes, PMIX_SUCCESS};
    pmix_proc_t proc;

    for (int i = 0; i < npes; i++) {
        PMIX_LOAD_PROCID(&proc, nspace, i);
        pmix_status_t rc = PMIx_server_register_client(&proc, getuid(), getgid(), &pe[i], answered, &a);
        if (rc != PMIX_SUCCESS)
            answered(rc, &a);
    }
    return await(&a);
}

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

int server_up(struct pe *pe, int npes, int napps, void *topology, bool hold, int *wake_fd)
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
    gethostname(hostname, sizeof hostname - 1);
    name_job(bits.name, sizeof bits.name);
    wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0) {
        say("oshrun: eventfd: %s", strerror(errno));
        return -1;
    }
    accept_up(wake);
    setenv("PMIX_MCA_gds", "hash", 1); /* the other stores use files, which would remain when oshrun is killed */
    holds = hold;
    if (holds) /* else libpmix does not call on_fence */
        setenv("PMIX_MCA_pmix_server_fence_localonly_opt", "0", 1);
    setenv("OMPI_MCA_orte_local_daemon_uri", NOT_ALONE, 0);
    PMIX_INFO_LOAD(&info[0], PMIX_TOPOLOGY2, &topo, PMIX_TOPO);
    PMIX_INFO_LOAD(&info[1], PMIX_SERVER_TOOL_SUPPORT, &no, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_REMOTE_CONNECTIONS, &no, PMIX_BOOL);
    rc = init_hushed(info, sizeof info / sizeof *info);
    if (rc == PMIX_SUCCESS && atomic_load_explicit(&thread_error, memory_order_relaxed))
        rc = PMIX_ERR_OUT_OF_RESOURCE;
    if (rc == PMIX_SUCCESS)
        rc = register_job(pe, npes, napps, bits.secret);
    explicit_bzero(&bits, sizeof bits);
    if (rc == PMIX_SUCCESS)
        rc = register_clients(pe, npes);
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
    return atomic_load_explicit(&fenced, memory_order_relaxed) == FENCE_PASSED;
}

bool server_meets(void)
{
    return atomic_load_explicit(&fenced, memory_order_acquire) == FENCE_HELD; /* M3 */
}

void server_meet(void)
{
    atomic_store_explicit(&fenced, FENCE_PASSED, memory_order_relaxed);
    if (meeting.done)
        meeting.done(PMIX_SUCCESS, meeting.data, meeting.ndata, meeting.arg, free, meeting.data);
}

const struct abort_record *server_aborted(void)
{
    return atomic_load_explicit(&aborted, memory_order_acquire) ? &record : NULL; /* M2 */
}

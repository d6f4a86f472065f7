/* boot_pmix.c - the PMIx client: rank, size, PEs of the node, publish and look up, fence, abort. */
#include "host/boot/boot.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/util/end.h"
#include "host/util/fds.h"
#include "host/util/log.h"

enum {
    LATE_SERVER_S = 5 /* for a server that does not answer PMIx_Finalize in time */
};

static pmix_proc_t self;
static bool survive; /* the launcher lets others go on when a PE dies */
static bool has_left;
static bool before_others; /* PMIx was not initialised when this module initialised it */

/* Replaces libpmix's function for the whole process, and returns false while only this module has initialised PMIx. Open MPI 5
 * calls PMIx_Init, which counts its calls, only after false; after true its MPI_Init fails, without the process's name. */
__attribute__((visibility("default"))) int PMIx_Initialized(void);
int PMIx_Initialized(void)
{
    int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "PMIx_Initialized");
    return !before_others && next && next();
}

/* Log the one line of a failed PMIx call and turn it into -errno. */
static int failed(const char *call, pmix_status_t rc)
{
    shi_log_error("%s failed: %s", call, PMIx_Error_string(rc));
    return rc == PMIX_ERR_UNREACH ? -ECONNREFUSED : -EIO;
}

/* Convert an integer of any type: PMIx servers differ in the type of a key. 0 and *out, or -1. */
static int as_long(const pmix_value_t *v, long *out)
{
    switch (v->type) {
    case PMIX_UINT32: *out = v->data.uint32; return 0;
    case PMIX_INT32: *out = v->data.int32; return 0;
    case PMIX_INT: *out = v->data.integer; return 0;
    case PMIX_UINT: *out = v->data.uint; return 0;
    case PMIX_UINT64: *out = (long)v->data.uint64; return 0;
    case PMIX_INT64: *out = v->data.int64; return 0;
    case PMIX_UINT16: *out = v->data.uint16; return 0;
    case PMIX_INT16: *out = v->data.int16; return 0;
    case PMIX_SIZE: *out = (long)v->data.size; return 0;
    case PMIX_PROC_RANK: *out = v->data.rank; return 0;
    default: return -1;
    }
}

static int publish(const char *key, const void *data, size_t bytes)
{
    pmix_value_t v = {.type = PMIX_BYTE_OBJECT};
    v.data.bo.bytes = (char *)data;
    v.data.bo.size = bytes;
    pmix_status_t rc = PMIx_Put(PMIX_GLOBAL, key, &v);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Commit();
    return rc == PMIX_SUCCESS ? 0 : failed("PMIx_Put", rc);
}

static int lookup(int pe, const char *key, void *data, size_t bytes)
{
    pmix_proc_t p;
    PMIX_LOAD_PROCID(&p, self.nspace, pe);
    pmix_value_t *v = NULL;
    pmix_status_t rc = PMIx_Get(&p, key, NULL, 0, &v);
    if (rc != PMIX_SUCCESS)
        return failed("PMIx_Get", rc);
    size_t found = v->type == PMIX_BYTE_OBJECT ? v->data.bo.size : 0;
    if (found)
        memcpy(data, v->data.bo.bytes, found < bytes ? found : bytes);
    int err = found == bytes ? 0 : -EMSGSIZE;
    PMIX_VALUE_RELEASE(v);
    return err;
}

/* The namespace beside the job's does not exist: with it libpmix asks oshrun, and without it a fence in which PEs die may hang. */
static int fence_with(const char *attribute)
{
    bool yes = true;
    pmix_info_t with;
    PMIX_INFO_LOAD(&with, attribute, &yes, PMIX_BOOL);
    pmix_proc_t names[2];
    PMIX_LOAD_PROCID(&names[0], self.nspace, PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&names[1], SHI_SURVIVE_NAME, PMIX_RANK_WILDCARD);
    pmix_status_t rc = survive ? PMIx_Fence(names, 2, &with, 1) : PMIx_Fence(NULL, 0, &with, 1);
    if (rc == PMIX_SUCCESS)
        return 0;
    /* A PE died. The launcher reports it and ends this PE; wait for that instead of printing a second error. */
    sleep(SHI_END_LAUNCHER_S);
    return failed("PMIx_Fence", rc);
}

static int fence(void)
{
    return fence_with(PMIX_COLLECT_DATA);
}

static void abort_job(int status)
{
    if (!has_left)
        PMIx_Abort(status, "", NULL, 0);
}

/* libpmix waits for the server's answer for 2 s at most (from version 6 on: 10 s) and then leaves without one. A server on a busy
 * machine that finds the end of this process before it reads the message of PMIx_Finalize takes the PE for a failed one, so give it
 * time to read. */
static void down(void)
{
    struct timespec begin, end;
    if (has_left)
        return;
    has_left = true;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    PMIx_Finalize(NULL, 0);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (end.tv_sec - begin.tv_sec > 1)
        sleep(LATE_SERVER_S);
}

/* Other servers than oshrun's end the job when a process is gone that has not left them, as Slurm's does whatever srun's options are: so it leaves here. */
static int started(int survives)
{
    if (survive)
        return fence_with(SHI_SURVIVE_NAME);
    if (survives)
        down();
    return 0;
}

static const struct shi_boot_ops ops = {"pmix", publish, lookup, fence, started, NULL, abort_job, down};

static int job_size(int *out)
{
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    pmix_value_t *v = NULL;
    pmix_status_t rc = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &v);
    if (rc != PMIX_SUCCESS)
        return failed("PMIx_Get(PMIX_JOB_SIZE)", rc);
    long n = 0;
    int bad = as_long(v, &n) || n < 1 || n > INT_MAX;
    PMIX_VALUE_RELEASE(v);
    if (bad) {
        shi_log_error("the launcher provides no valid job size (PMIX_JOB_SIZE)");
        return -EPROTO;
    }
    *out = (int)n;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Parse "0,1,4-7". 0 and the count, or -EPROTO. */
static int parse_peers(const char *text, int n_pes, int *local_pe, int *n_out)
{
    int n = 0;
    for (const char *p = text; *p;) {
        char *end;
        long lo = strtol(p, &end, 10), hi = lo;
        if (end == p)
            return -EPROTO;
        if (*end == '-')
            hi = strtol(end + 1, &end, 10);
        if (lo < 0 || hi < lo || hi >= n_pes || n + (hi - lo) + 1 > n_pes)
            return -EPROTO;
        for (long r = lo; r <= hi; r++)
            local_pe[n++] = (int)r;
        p = *end == ',' ? end + 1 : end;
        if (p == end && *end)
            return -EPROTO;
    }
    qsort(local_pe, n, sizeof *local_pe, by_number);
    *n_out = n;
    return 0;
}

/* Node locality comes from PMIX_LOCAL_PEERS only; without it every PE is a node of its own. */
static int find_local(struct shi_boot *b)
{
    int *local_pe = b->local_pe = malloc((size_t)b->n_pes * sizeof *local_pe);
    if (!local_pe)
        return -ENOMEM;
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    pmix_value_t *v = NULL;
    int err = 0;
    if (PMIx_Get(&all, PMIX_LOCAL_PEERS, NULL, 0, &v) == PMIX_SUCCESS && v->type == PMIX_STRING) {
        err = parse_peers(v->data.string, b->n_pes, local_pe, &b->n_local);
        if (err)
            shi_log_error("PMIX_LOCAL_PEERS=\"%s\" is not a list of ranks", v->data.string);
    } else {
        local_pe[0] = b->pe;
        b->n_local = 1;
    }
    if (v)
        PMIX_VALUE_RELEASE(v);
    for (int i = 0; !err && i < b->n_local; i++)
        if (local_pe[i] == b->pe)
            b->local_index = i;
    return err;
}

/* What oshrun's job data has under `key`, which a client has since PMIx_Init; NULL: nothing. PMIX_OPTIONAL: do not ask the server, as
 * servers other than oshrun's may wait for a key that they do not know. */
static pmix_value_t *given(const char *key)
{
    bool yes = true;
    pmix_info_t optional;
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    pmix_proc_t all;
    PMIX_LOAD_PROCID(&all, self.nspace, PMIX_RANK_WILDCARD);
    pmix_value_t *v = NULL;
    return PMIx_Get(&all, key, &optional, 1, &v) == PMIX_SUCCESS ? v : NULL;
}

static void find_secret(struct shi_boot *b)
{
    pmix_value_t *v = given(SHI_SECRET_NAME);
    if (!v)
        return;
    b->has_secret = v->type == PMIX_BYTE_OBJECT && v->data.bo.size == sizeof b->secret;
    if (b->has_secret) {
        memcpy(b->secret, v->data.bo.bytes, sizeof b->secret);
        explicit_bzero(v->data.bo.bytes, sizeof b->secret);
    }
    PMIX_VALUE_RELEASE(v);
}

static bool has(const char *key)
{
    pmix_value_t *v = given(key);
    bool is = v;
    if (v)
        PMIX_VALUE_RELEASE(v);
    return is;
}

/* The variable of another job means nothing: a PE may start one. */
static void find_survive(struct shi_boot *b)
{
    const char *of = getenv(SHI_REPLACE_ENV);
    survive = has(SHI_SURVIVE_NAME);
    b->replaces = has(SHI_REPLACE_NAME);
    b->is_new = b->replaces && of && strcmp(of, self.nspace) == 0;
}

/* PMIx 5 and later read the topology inside PMIx_Init, which does not use what hwloc's plugins for devices find. The one for Level
 * Zero opens the loader: on a machine without a GPU that is before libze_cpu.so is named (device/ze_loader.h). The one for OpenCL
 * opens PoCL, which starts threads, and whose LLVM catches signals: kill -SEGV would no longer end the PE. */
static void hwloc_without_drivers(void)
{
    static const char *const plugins[] = {"levelzero", "opencl"};
    for (int i = 0; i < 2; i++) {
        const char *set = getenv("HWLOC_COMPONENTS");
        char with[512];
        if (set && strstr(set, plugins[i]))
            continue;
        snprintf(with, sizeof with, "-%s%s%s", plugins[i], set ? "," : "", set ? set : "");
        setenv("HWLOC_COMPONENTS", with, 1);
    }
}

/* PMIx_Init without libpmix's warnings about the environment. Its later messages reach standard error; with
 * PMIX_OUTPUT_STDERR_FD set by the user, the warnings do, too. */
static pmix_status_t init_quietly(void)
{
    int fd = getenv("PMIX_OUTPUT_STDERR_FD") ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
    char number[16];
    snprintf(number, sizeof number, "%d", fd);
    if (fd >= 0)
        setenv("PMIX_OUTPUT_STDERR_FD", number, 1);
    hwloc_without_drivers();
    before_others = !PMIx_Initialized();
    struct shi_fds before;
    shi_fds_note(&before);
    pmix_status_t rc = PMIx_Init(&self, NULL, 0);
    has_left = false;
    shi_fds_close_on_exec(&before);
    if (fd >= 0) {
        unsetenv("PMIX_OUTPUT_STDERR_FD");
        dup3(STDERR_FILENO, fd, O_CLOEXEC);
    }
    return rc;
}

int shi_boot_pmix_up(struct shi_boot *out)
{
    pmix_status_t rc = init_quietly();
    if (rc != PMIX_SUCCESS) {
        shi_log_error("PMIx_Init failed: %s; the launcher's PMIx server cannot be reached (PMIX_OUTPUT_STDERR_FD=2 shows "
                      "what libpmix says)", PMIx_Error_string(rc));
        return -ECONNREFUSED;
    }
    struct shi_boot b = {.pe = (int)self.rank, .job = self.nspace, .ops = &ops};
    int err = job_size(&b.n_pes);
    if (!err)
        err = find_local(&b);
    if (err) {
        down();
        return err;
    }
    find_secret(&b);
    find_survive(&b);
    *out = b;
    explicit_bzero(&b, sizeof b);
    return 0;
}

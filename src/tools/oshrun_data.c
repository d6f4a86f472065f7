/*
 * oshrun_data.c - the data of the job that the PMIx server gives to PEs: where each PE is, sizes, names, the secret.
 */
#include "oshrun.h"

#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/boot/boot.h"

static const char *nspace;
static char hostname[PMIX_MAX_NSLEN + 1];

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

static pmix_status_t register_job(struct pe *pe, int npes, int napps, const unsigned char secret[SHI_SECRET_BYTES], bool survive, bool replace)
{
    struct answer a = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 1, PMIX_SUCCESS};
    struct keys job = {.n = 0};
    size_t most = 19 + npes;
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
    if (survive)
        key_add(&job, SHI_SURVIVE_NAME, &survive, PMIX_BOOL);
    if (replace)
        key_add(&job, SHI_REPLACE_NAME, &replace, PMIX_BOOL);
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

int data_up(const char *job_name, struct pe *pe, int npes, int napps, const unsigned char *secret, bool survive, bool replace)
{
    nspace = job_name;
    gethostname(hostname, sizeof hostname - 1);
    pmix_status_t rc = register_job(pe, npes, napps, secret, survive, replace);
    return rc == PMIX_SUCCESS ? register_clients(pe, npes) : rc;
}

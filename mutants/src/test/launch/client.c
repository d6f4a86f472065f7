/*
 * client.c - a process that uses PMIx and not the library, for the tests of the launcher. Its first argument is the
 * mode.
 *
 * Every mode prints at most one line per PE, and exits with status 0 unless the mode tests another status.
 */
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;

static void check(const char *what, pmix_status_t rc)
{
    if (rc == PMIX_SUCCESS)
        return;
    fprintf(stderr, "client: rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(rc));
    _exit(9);
}

static unsigned job_size(void)
{
    pmix_proc_t all;
    pmix_value_t *value;
    unsigned n;

    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    check("job size", PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value));
    n = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return n;
}

static void put(unsigned number)
{
    pmix_value_t value;

    PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
    check("put", PMIx_Put(PMIX_GLOBAL, "test.number", &value));
    check("commit", PMIx_Commit());
}

static unsigned get(unsigned rank)
{
    pmix_proc_t from;
    pmix_value_t *value;
    unsigned number;

    PMIX_LOAD_PROCID(&from, me.nspace, rank);
    check("get", PMIx_Get(&from, "test.number", NULL, 0, &value));
    number = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return number;
}

/* All PEs read a value that PE 0 publishes, without a fence. */
static void modex(void)
{
    if (me.rank == 0)
        put(4711);
    printf("rank %u of %u got %u\n", me.rank, job_size(), get(0));
}

/* All PEs publish a value, and after the fence read those of all. */
static void fence(bool collect)
{
    pmix_info_t info;
    unsigned n = job_size(), wrong = 0;

    put(100 + me.rank);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    check("fence", PMIx_Fence(NULL, 0, &info, 1));
    for (unsigned i = 0; i < n; i++)
        wrong += get(i) != 100 + i;
    printf("rank %u of %u found %u wrong\n", me.rank, n, wrong);
}

/* The launcher must refuse requests that it does not support, and not block them. */
static void refused(void)
{
    char *argv[] = {(char *)"true", NULL};
    char nspace[PMIX_MAX_NSLEN + 1];
    pmix_app_t app = {.cmd = argv[0], .argv = argv, .maxprocs = 1};
    pmix_pdata_t data;

    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_KEY(data.key, "test.nothing");
    int spawned = PMIx_Spawn(NULL, 0, &app, 1, nspace) == PMIX_SUCCESS;
    int found = PMIx_Lookup(&data, 1, NULL, 0) == PMIX_SUCCESS;
    printf("spawned %d found %d\n", spawned, found);
}

/* PE 1 exits while the others are in a fence, which fails: they end at once, PE 0 by an abort. */
static void lost(int code)
{
    if (me.rank == 1) {
        usleep(100000);
        _exit(code);
    }
    if (PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS && me.rank == 0)
        PMIx_Abort(8, "", NULL, 0);
    sleep(me.rank == 0);
    _exit(9);
}

/* A job that ends while PEs of another host still connect can leave slurmstepd 22.05 running; its server still ends its part of the
 * connections after the fence. */
static void join(void)
{
    check("fence", PMIx_Fence(NULL, 0, NULL, 0));
    usleep(300000);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int code = argc > 2 ? atoi(argv[2]) : 0;

    check("init", PMIx_Init(&me, NULL, 0));
    if (!strcmp(mode, "modex"))
        modex();
    else if (!strcmp(mode, "fence"))
        fence(false);
    else if (!strcmp(mode, "collect"))
        fence(true);
    else if (!strcmp(mode, "refused"))
        refused();
    else if (!strcmp(mode, "abort") || !strcmp(mode, "abort_joined")) { /* PE 1 ends the job while the others wait */
        if (!strcmp(mode, "abort_joined"))
            join();
        if (me.rank == 1)
            PMIx_Abort(code, "as told", NULL, 0);
        sleep(60);
    } else if (!strcmp(mode, "signal")) { /* a signal kills PE 1 while the others wait */
        join();
        if (me.rank == 1)
            kill(getpid(), code);
        sleep(60);
    } else if (!strcmp(mode, "leave")) { /* PE 1 exits without finalize while the others wait */
        join();
        if (me.rank == 1)
            _exit(0);
        sleep(60);
    } else if (!strcmp(mode, "lost"))
        lost(code);
    else if (!strcmp(mode, "status")) {
        join();
        check("finalize", PMIx_Finalize(NULL, 0));
        return me.rank == 1 ? code : 0;
    }
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
}

/*
 * join.c - a process that connects to a job's PMIx server. Usage: join MODE UID:GID.
 *
 * The environment names the job (PMIX_NAMESPACE, PMIX_RANK, PMIX_SERVER_URI*). Modes:
 *
 *   client   join as the PE PMIX_RANK that claims to be of user UID and group GID; print the job's secret
 *   abort    the same, then end the job
 *   tool     connect as a tool
 *   silent   open 4000 connections, or as many as the limit of open files allows, send nothing, wait for SIGTERM
 *
 * Status: 0 joined, 3 refused.
 */
#include <arpa/inet.h>
#include <pmix.h>
#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REFUSED = 3 };

static unsigned uid, gid; /* claimed */

/* libpmix sends the results of these functions. */
#pragma GCC visibility push(default)
uid_t geteuid(void)
{
    return uid;
}

gid_t getegid(void)
{
    return gid;
}
#pragma GCC visibility pop

static int end(const char *what, pmix_status_t rc)
{
    printf("%s: %s\n", what, PMIx_Error_string(rc));
    fflush(stdout);
    _exit(rc == PMIX_SUCCESS ? 0 : REFUSED);
}

static void client(int abort_job)
{
    bool yes = true;
    pmix_proc_t me;
    pmix_value_t *v;
    pmix_info_t optional;
    pmix_status_t rc = PMIx_Init(&me, NULL, 0);
    if (rc != PMIX_SUCCESS)
        end("PMIx_Init", rc);
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    me.rank = PMIX_RANK_WILDCARD;
    rc = PMIx_Get(&me, "fulmar.secret", &optional, 1, &v);
    printf("secret: ");
    for (size_t i = 0; rc == PMIX_SUCCESS && i < v->data.bo.size; i++)
        printf("%02x", (unsigned char)v->data.bo.bytes[i]);
    printf("\n");
    if (abort_job)
        end("PMIx_Abort", PMIx_Abort(7, "from a stranger", NULL, 0));
    PMIx_Finalize(NULL, 0);
}

static void silent(void)
{
    const char *uri = getenv("PMIX_SERVER_URI4"), *colon = uri ? strrchr(uri, ':') : NULL;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int n = 0;
    to.sin_port = htons(colon ? atoi(colon + 1) : 0);
    for (int s; n < 4000 && (s = socket(AF_INET, SOCK_STREAM, 0)) >= 0 && connect(s, (void *)&to, sizeof to) == 0;)
        n++;
    printf("%d connections\n", n);
    fflush(stdout);
    pause();
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    pmix_proc_t me;
    if (argc > 2 && sscanf(argv[2], "%u:%u", &uid, &gid) != 2)
        return 2;
    if (!strcmp(mode, "client") || !strcmp(mode, "abort"))
        client(*mode == 'a');
    else if (!strcmp(mode, "tool"))
        end("PMIx_tool_init", PMIx_tool_init(&me, NULL, 0));
    else if (!strcmp(mode, "silent"))
        silent();
    else
        return 2;
    return 0;
}

/*
 * dead.c - destroyed handles: calls every routine of the table that takes a context or a team, and those of tagged
 * messages and GPCs, with a destroyed one. Catches: a routine that follows the handle into freed memory, takes it for a
 * newer object, ignores it silently, or names another argument.
 *
 * The process replaces _exit: the job's end returns to the test, which checks the line that the library wrote.
 */
#include "../conf/args.h"
#include "../tap.h"

#include <setjmp.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static sigjmp_buf back;
static int leaving, lines_fd;
static const char *wanted; /* the expected text about the handle */

__attribute__((visibility("default"))) _Noreturn void _exit(int status);
_Noreturn void _exit(int status)
{
    if (leaving)
        syscall(SYS_exit_group, status);
    alarm(0); /* the library limits the duration of an exit by an alarm */
    siglongjmp(back, 1);
}

static shmem_ctx_t ctx;
static shmem_team_t team;
static shmemx_tag_request_t request;
static void *block;

/* The parameters of the table, as local variables; the object is symmetric. */
#define LOCALS(T)                                                                                                    \
    T *const dest = block, *const source = block, *const fetch = block, value = *dest, cond = *dest;                 \
    const size_t nelems = 1, bsize = 1, nblocks = 1;                                                                 \
    const ptrdiff_t dst = 1, sst = 1;                                                                                \
    uint64_t *const sig_addr = block;                                                                                \
    const uint64_t signal = 1;                                                                                       \
    const int pe = 0, sig_op = SHMEM_SIGNAL_SET, PE_root = 0;                                                        \
    (void)source, (void)fetch, (void)value, (void)cond, (void)nelems, (void)bsize, (void)nblocks, (void)dst;         \
    (void)sst, (void)sig_addr, (void)signal, (void)pe, (void)sig_op, (void)PE_root;

#define NOTHING(...)
#define CALL_CTX(R, NAME, N, T, PARAMS)                                                                              \
    static void ctx_##N##NAME(void)                                                                                  \
    {                                                                                                                \
        LOCALS(T)                                                                                                    \
        shmem_ctx_##N##NAME(ctx, ARGS##NAME);                                                                        \
    }
#define CALL_SIZED(R, NAME, KEY, B, PARAMS)                                                                          \
    static void ctx_##NAME(void)                                                                                     \
    {                                                                                                                \
        LOCALS(char)                                                                                                 \
        shmem_ctx_##NAME(ctx, ARGS##KEY);                                                                            \
    }
#define CALL_TEAM(R, NAME, N, T, PARAMS)                                                                             \
    static void team_##N##NAME(void)                                                                                 \
    {                                                                                                                \
        LOCALS(T)                                                                                                    \
        shmem_##N##NAME(ARGS##NAME);                                                                                 \
    }
#define ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, ...)                                                     \
    SHMEM_IF_##RMA(SHMEM_API_RMA(F##_CTX, NOTHING, N, T) SHMEM_API_COLL(NOTHING, F##_TEAM, N, T))                    \
    SHMEM_IF_##AMO(SHMEM_API_AMO(F##_CTX, NOTHING, N, T)) SHMEM_IF_##EXT(SHMEM_API_EXT(F##_CTX, NOTHING, N, T))      \
    SHMEM_IF_##BIT(SHMEM_API_BIT(F##_CTX, NOTHING, N, T)) SHMEM_IF_##AND(SHMEM_API_AND(NOTHING, F##_TEAM, N, T))     \
    SHMEM_IF_##MAX(SHMEM_API_MAX(NOTHING, F##_TEAM, N, T)) SHMEM_IF_##SUM(SHMEM_API_SUM(NOTHING, F##_TEAM, N, T))
SHMEM_TYPES(ROW, CALL)
SHMEM_API_SIZED(CALL_SIZED)

/* Routines without a type: name, call with the globals below. */
static shmem_ctx_t new_ctx;
static shmem_team_t new_team, new_teams[2];
static shmem_team_config_t config;
static uint64_t word;
static char bytes[8];
#define UNTYPED_CTX(X)                                                                                               \
    X(shmem_ctx_destroy, (ctx))                                                                                      \
    X(shmem_ctx_get_team, (ctx, &new_team))                                                                          \
    X(shmem_ctx_session_start, (ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0))                                              \
    X(shmem_ctx_session_stop, (ctx))                                                                                 \
    X(shmem_ctx_fence, (ctx))                                                                                        \
    X(shmem_ctx_quiet, (ctx))                                                                                        \
    X(shmem_ctx_pe_quiet, (ctx, NULL, 0))                                                                            \
    X(shmem_ctx_signal_add, (ctx, &word, 1, 0))                                                                      \
    X(shmem_ctx_signal_set, (ctx, &word, 1, 0))
#define UNTYPED_TEAM(X)                                                                                              \
    X(shmem_team_my_pe, (team))                                                                                      \
    X(shmem_team_n_pes, (team))                                                                                      \
    X(shmem_team_get_config, (team, SHMEM_TEAM_NUM_CONTEXTS, &config))                                               \
    X(shmem_team_split_strided, (team, 0, 1, 1, NULL, 0, &new_team))                                                 \
    X(shmem_team_split_2d, (team, 1, NULL, 0, &new_teams[0], NULL, 0, &new_teams[1]))                                \
    X(shmem_team_destroy, (team))                                                                                    \
    X(shmem_team_ptr, (team, &word, 0))                                                                              \
    X(shmem_team_create_ctx, (team, 0, &new_ctx))                                                                    \
    X(shmem_team_sync, (team))                                                                                       \
    X(shmem_broadcastmem, (team, block, block, 1, 0))                                                                \
    X(shmem_collectmem, (team, block, block, 1))                                                                     \
    X(shmem_fcollectmem, (team, block, block, 1))                                                                    \
    X(shmem_alltoallmem, (team, block, block, 1))                                                                    \
    X(shmem_alltoallsmem, (team, block, block, 1, 1, 1))                                                             \
    X(shmemx_tag_send, (team, bytes, 8, 1, 0))                                                                       \
    X(shmemx_tag_ssend, (team, bytes, 8, 1, 0))                                                                      \
    X(shmemx_tag_sendv, (team, NULL, 0, 1, 0))                                                                       \
    X(shmemx_tag_ssendv, (team, NULL, 0, 1, 0))                                                                      \
    X(shmemx_tag_isend, (team, bytes, 8, 1, 0, &request))                                                            \
    X(shmemx_tag_issend, (team, bytes, 8, 1, 0, &request))                                                           \
    X(shmemx_tag_isendv, (team, NULL, 0, 1, 0, &request))                                                            \
    X(shmemx_tag_issendv, (team, NULL, 0, 1, 0, &request))                                                           \
    X(shmemx_tag_send_init, (team, bytes, 8, 1, 0, &request))                                                        \
    X(shmemx_tag_ssend_init, (team, bytes, 8, 1, 0, &request))                                                       \
    X(shmemx_tag_sendv_init, (team, NULL, 0, 1, 0, &request))                                                        \
    X(shmemx_tag_ssendv_init, (team, NULL, 0, 1, 0, &request))                                                       \
    X(shmemx_tag_recv_init, (team, bytes, 8, 1, ~0ull, 0, &request))                                                 \
    X(shmemx_tag_recvv_init, (team, NULL, 0, 1, ~0ull, 0, &request))                                                 \
    X(shmemx_tag_recv, (team, bytes, 8, 1, ~0ull, 0, NULL))                                                          \
    X(shmemx_tag_recvv, (team, NULL, 0, 1, ~0ull, 0, NULL))                                                          \
    X(shmemx_tag_irecv, (team, bytes, 8, 1, ~0ull, 0, &request))                                                     \
    X(shmemx_tag_irecvv, (team, NULL, 0, 1, ~0ull, 0, &request))                                                     \
    X(shmemx_tag_iprobe, (team, 1, ~0ull, 0, NULL))                                                                  \
    X(shmemx_tag_probe, (team, 1, ~0ull, 0, NULL))                                                                   \
    X(shmemx_tag_improbe, (team, 1, ~0ull, 0, &(shmemx_tag_message_t){0}, NULL))                                     \
    X(shmemx_tag_mprobe, (team, 1, ~0ull, 0, &(shmemx_tag_message_t){0}, NULL))                                      \
    X(shmemx_gpc_exec, (team, 2, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL))                                       \
    X(shmemx_gpc_chained_exec, (team, 2, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 0, NULL, NULL, 0))
#define UNTYPED_REQUEST(X)                                                                                           \
    X(shmemx_tag_test, (&request, NULL))                                                                             \
    X(shmemx_tag_test_any, (1, &request, (int[1]){0}, NULL))                                                         \
    X(shmemx_tag_test_some, (1, &request, (int[1]){0}, NULL))                                                        \
    X(shmemx_tag_test_all, (1, &request, NULL))                                                                      \
    X(shmemx_tag_request_get_status, (request, NULL))                                                                \
    X(shmemx_tag_start, (&request))                                                                                  \
    X(shmemx_tag_start_all, (1, &request))                                                                           \
    X(shmemx_tag_request_free, (&request))                                                                           \
    X(shmemx_tag_wait, (&request, NULL))                                                                             \
    X(shmemx_tag_wait_any, (1, &request, NULL))                                                                      \
    X(shmemx_tag_wait_some, (1, &request, (int[1]){0}, NULL))                                                        \
    X(shmemx_tag_wait_all, (1, &request, NULL))                                                                      \
    X(shmemx_tag_cancel, (&request))

#define CALL_UNTYPED(NAME, ARGS)                                                                                     \
    static void call_##NAME(void)                                                                                    \
    {                                                                                                                \
        (void)NAME ARGS;                                                                                             \
    }
UNTYPED_CTX(CALL_UNTYPED)
UNTYPED_TEAM(CALL_UNTYPED)
UNTYPED_REQUEST(CALL_UNTYPED)
static void src_team(void)
{
    shmem_team_translate_pe(team, 0, SHMEM_TEAM_WORLD);
}
static void dest_team(void)
{
    shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, team);
}

struct call {
    const char *routine, *arg;
    void (*make)(void);
};
#define ROW_UNTYPED_CTX(NAME, ARGS) {#NAME, "ctx", call_##NAME},
#define ROW_UNTYPED_TEAM(NAME, ARGS) {#NAME, "team", call_##NAME},
#define ROW_UNTYPED_REQUEST(NAME, ARGS) {#NAME, "request", call_##NAME},
#define IN_CTX(R, NAME, N, T, PARAMS) {"shmem_ctx_" #N #NAME, "ctx", ctx_##N##NAME},
#define IN_TEAM(R, NAME, N, T, PARAMS) {"shmem_" #N #NAME, "team", team_##N##NAME},
#define IN_SIZED(R, NAME, KEY, B, PARAMS) {"shmem_ctx_" #NAME, "ctx", ctx_##NAME},
static const struct call
    calls[] = {SHMEM_TYPES(ROW, IN) SHMEM_API_SIZED(IN_SIZED) UNTYPED_CTX(ROW_UNTYPED_CTX) UNTYPED_TEAM(ROW_UNTYPED_TEAM)
               UNTYPED_REQUEST(ROW_UNTYPED_REQUEST){"shmem_team_translate_pe", "src_team", src_team},
               {"shmem_team_translate_pe", "dest_team", dest_team}};
enum { N_CALLS = sizeof calls / sizeof *calls };

/* Make the call, which must end the job with one line: routine, argument, the error. */
static void refused(const struct call *c)
{
    char line[512], want[128];
    volatile int came_back = 1;
    if (ftruncate(lines_fd, 0) || lseek(lines_fd, 0, SEEK_SET))
        abort();
    fflush(stderr);
    int own = dup(STDERR_FILENO);
    dup2(lines_fd, STDERR_FILENO);
    if (sigsetjmp(back, 0) == 0) {
        c->make();
        came_back = 0;
    }
    dup2(own, STDERR_FILENO);
    close(own);
    ssize_t n = pread(lines_fd, line, sizeof line - 1, 0);
    line[n > 0 ? n : 0] = 0;
    char *end = strchr(line, '\n');
    snprintf(want, sizeof want, "fulmar: PE 0: %s: %s = 0x", c->routine, strcmp(c->arg, "team") ? c->arg : "");
    size_t fixed = strlen(want) - (strcmp(c->arg, "team") ? 0 : strlen(" = 0x")); /* a split calls it parent_team */
    CHECKF(came_back && end && !end[1] && strncmp(line, want, fixed) == 0 && strstr(line, c->arg) && strstr(line, wanted),
           "%s: %s", c->routine, came_back ? line : "let through");
}

static void each(const char *prefix, const char *what)
{
    wanted = what;
    for (int i = 0; i < N_CALLS; i++)
        if (strstr(calls[i].arg, prefix))
            refused(&calls[i]);
}

static void contexts(void)
{
    CHECK(shmem_ctx_create(SHMEM_CTX_SERIALIZED, &ctx) == 0);
    shmem_ctx_destroy(ctx);
    each("ctx", "was destroyed");
}

static void contexts_of_teams(void)
{
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team) == 0);
    CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
    shmem_team_destroy(team);
    each("ctx", "was destroyed");
}

static void teams(void)
{
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &team) == 0);
    shmem_team_destroy(team);
    each("team", "was destroyed");
}

static void no_teams(void)
{
    const uintptr_t garbage[] = {0x1000, (uintptr_t)bytes, (uintptr_t)block + 1, UINTPTR_MAX};
    for (int i = 0; i < 4; i++) {
        team = (shmem_team_t)garbage[i];
        each("team", "is not a team");
    }
}

static void requests(void)
{
    shmemx_tag_request_t r;
    shmemx_tag_irecv(SHMEM_TEAM_WORLD, bytes, 8, 1, ~0ull, 0, &r);
    request = r;
    shmemx_tag_send(SHMEM_TEAM_WORLD, &word, 8, 1, 0);
    shmemx_tag_wait(&r, NULL);
    each("request", "was completed");
}

/* Catches: a limit on the number of contexts over the life of the job, a new context that does not work. */
static void many(void)
{
    static long cell;
    for (int i = 0; i < 20000; i++) {
        shmem_ctx_t c[3];
        for (int k = 0; k < 3; k++)
            CHECK(shmem_ctx_create(0, &c[k]) == 0);
        shmem_ctx_long_p(c[i % 3], &cell, i, 0);
        for (int k = 0; k < 3; k++)
            shmem_ctx_destroy(c[k]);
        if (!CHECK(cell == i))
            return;
    }
}

/* Catches: a routine of the table that takes a handle and is missing in this test. */
#define SHMEM_FN(R, NAME, PARAMS) {#NAME, #PARAMS},
static void complete(void)
{
    static const char *const all[][2] = {SHMEM_FOR_EACH_UNTYPED(SHMEM_FN) SHMEM_FOR_EACH_TYPED(SHMEM_EMIT)
                                             SHMEM_API_SIZED(SHMEM_EMIT_S)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int found = !strstr(all[i][1], "shmem_team_t ") && !strstr(all[i][1], "shmem_ctx_t ctx");
        for (int k = 0; k < N_CALLS; k++)
            found |= strcmp(calls[k].routine, all[i][0]) == 0;
        CHECKF(found, "%s is not called", all[i][0]);
    }
}

int main(void)
{
    shmem_init();
    block = shmem_calloc(16, 16);
    lines_fd = memfd_create("lines", 0);
    RUN(complete, "every routine that takes a context or a team is tested");
    RUN(many, "contexts are created and destroyed many times");
    RUN(contexts, "destroyed contexts");
    RUN(contexts_of_teams, "contexts of destroyed teams");
    RUN(teams, "destroyed teams");
    RUN(no_teams, "handles that are not teams");
    RUN(requests, "completed requests");
    leaving = 1;
    _exit(tap_end());
}

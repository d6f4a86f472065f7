/*
 * world.h - stubs of the rest of the library for the linked sources: PE 0 of three, no device, no threads. An error of
 * the library is a longjmp to the input that caused it.
 */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#include <setjmp.h>

#include "../unit/fabric.h"
#include "../unit/no_device.h"
#include "host/coll/team.h"
#include "host/gpc/gpc_run.h"
#include "host/net/am/am.h"
#include "host/net/node/progress.h"
#include "host/net/stream/am_remote.h"
#include "host/ops/wait.h"

struct shi_world shi_world = {.up = 1, .n_pes = PES};
struct shmem_team shi_team_world = {.n = PES, .stride = 1};
int shi_progress_on;
_Thread_local int shi_progress_own;
_Thread_local const char *shi_wait_inside;
int (*shi_wait_fails)(const struct shi_wait_for *what);

/* ---- errors ------------------------------------------------------------------------------------------------------- */

static jmp_buf refused;
static char last_words[400];

void shi_die(const char *routine, const char *fmt, ...)
{
    va_list ap;
    (void)routine;
    va_start(ap, fmt);
    vsnprintf(last_words, sizeof last_words, fmt, ap);
    va_end(ap);
    longjmp(refused, 1);
}

/* Different refusals: their texts up to the first number. */
enum { WAYS = 64, WAY_BYTES = 90 };
struct way {
    char words[WAY_BYTES];
    long n;
};
static struct way *ways; /* [WAYS], or NULL: do not count */

static void count_way(void)
{
    char words[WAY_BYTES];
    const char *from = last_words;
    from += strncmp(from, "protocol error: ", 16) == 0 ? 16 : 0;
    from += strncmp(from, "PE ", 3) == 0 ? 5 : 0;
    snprintf(words, sizeof words, "%.*s", (int)strcspn(from, "(0123456789"), from);
    for (struct way *w = ways; w && w < ways + WAYS; w++)
        if (!w->n || strcmp(w->words, words) == 0) {
            w->n++;
            memcpy(w->words, words, sizeof words);
            return;
        }
}

/* Call f; 1: it returned; 0: the library refused its input, with an error that an invalid message may cause. */
static int attempt(void (*f)(const void *arg), const void *arg)
{
    if (setjmp(refused) == 0) {
        f(arg);
        return 1;
    }
    if (strncmp(last_words, "protocol error: ", 16) != 0 && strncmp(last_words, "out of memory for a message of ", 31) != 0) {
        fprintf(stderr, "%s\n", last_words);
        abort();
    }
    count_way();
    return 0;
}

void shi_log_debug(const char *fmt, ...)
{
    (void)fmt;
}

void shi_log_error(const char *fmt, ...)
{
    (void)fmt;
}

/* ---- progress and waits ------------------------------------------------------------------------------------------- */

static struct shi_progress_source source; /* of active messages: its poll retries refused sends */

int shi_progress_add(struct shi_progress_source *s)
{
    source = *s;
    return 0;
}

void shi_progress_stop(void)
{
}

int shi_progress_poll(void)
{
    return 0;
}

int shi_wait_aborted(void)
{
    return 0;
}

void shi_wait_refuse(const char *routine)
{
    (void)routine;
    abort();
}

void shi_wait_register(struct shi_wait *w, const struct shi_wait_for *what)
{
    (void)w, (void)what;
}

void shi_wait_unregister(struct shi_wait *w)
{
    (void)w;
}

void shi_need_up(const char *routine)
{
    (void)routine;
}

/* ---- teams and devices -------------------------------------------------------------------------------------------- */

void shi_team_barrier(const char *routine, struct shmem_team *t)
{
    (void)routine, (void)t;
}

void shi_team_exchange(struct shmem_team *t, const void *data, size_t bytes)
{
    static struct shi_slot *slot;
    t->slot = &slot;
    t->buffer_bytes = SHI_EXCHANGE_BYTES;
    if (!slot)
        slot = calloc(1, sizeof *slot + 8192);
    for (int i = 0; i < PES; i++)
        memcpy(shi_team_buffer(t, 0, i), data, bytes);
}

shmem_team_t shi_team_handle(struct shmem_team *t)
{
    return t == &shi_team_world ? SHMEM_TEAM_WORLD : SHMEM_TEAM_INVALID;
}

int shi_team_member(const struct shmem_team *t, int world_pe)
{
    (void)t;
    return world_pe >= 0 && world_pe < PES ? world_pe : -1;
}

const struct shi_team_faults *shi_team_faults;

struct shmem_team *shi_team_find(uint64_t number, int *later)
{
    *later = 0;
    return number == 0 ? &shi_team_world : NULL;
}

void shi_team_on_change(const struct shi_team_hooks *h)
{
    (void)h;
}

/* ---- tasks of GPCs ------------------------------------------------------------------------------------------------ */

static struct shi_gpc_task *tasks, **last_task = &tasks;

void shi_gpc_post(struct shi_gpc_task *t)
{
    t->next = NULL;
    *last_task = t;
    last_task = &t->next;
}

void shi_gpc_post_on_team(struct shi_gpc_task *t)
{
    shi_gpc_post(t);
}

void shi_gpc_post_pending(struct shi_gpc_task *t)
{
    shi_gpc_post(t);
}

void shi_gpc_wake(struct shi_gpc_task *t)
{
    (void)t;
}

void shi_gpc_wait_step(struct shi_wait *w)
{
    (void)w;
}

int shi_gpc_run_up(void)
{
    return 0;
}

void shi_gpc_run_down(void)
{
}

/* ---- numbers of an input ------------------------------------------------------------------------------------------ */

/* An input is read from its beginning; after its end it continues with zeros. */
struct input {
    const uint8_t *at;
    size_t left;
};

static uint64_t take(struct input *in, size_t bytes)
{
    uint64_t v = 0;
    size_t n = bytes < in->left ? bytes : in->left;
    memcpy(&v, in->at, n);
    in->at += n;
    in->left -= n;
    return v;
}

#endif

/*
 * message.c - see message.h. A message about a team that this PE has yet to make, because it has not returned from the split, is kept until then.
 *
 *   word     written by                            read by   order
 *   early    handler of messages, makers of teams  same      under lock (spin.h), also while messages are taken; teams that end take it, too
 *   unsent   senders, retries                      callers   relaxed: a caller that sees it late polls once more
 */
#include "host/survive/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/am/am.h"
#include "host/survive/failed.h"
#include "host/util/log.h"
#include "host/util/spin.h"

/* A message that waits: for room, or for its team. */
struct kept {
    struct shi_am_pending_send send;
    struct kept *next;
    int pe;
    size_t bytes;
    struct shi_message m;
};

static shi_message_take *takes[SHI_MESSAGE_KINDS];
static uint8_t lock;
static struct kept *early; /* the latest first */
static int unsent;

static struct kept *keep(int pe, const struct shi_message *m, size_t bytes)
{
    struct kept *k = malloc(sizeof *k + bytes - sizeof k->m);
    if (!k)
        shi_die("SHMEM_FAULTS=continue", "out of memory for a message of %zu bytes", bytes);
    *k = (struct kept){.pe = pe, .bytes = bytes};
    memcpy(&k->m, m, bytes);
    return k;
}

/* 0: sent, or dropped; -EAGAIN: no room. */
static int try(int pe, const struct shi_message *m, size_t bytes)
{
    if (shi_failed_is(pe))
        return 0;
    void *room = shi_am_begin(pe, SHI_AM_SURVIVE, bytes);
    if (!room)
        return -EAGAIN;
    memcpy(room, m, bytes);
    shi_am_end(pe, bytes);
    return 0;
}

static int retry(struct shi_am_pending_send *s)
{
    struct kept *k = (struct kept *)s;
    int err = try(k->pe, &k->m, k->bytes);
    if (err)
        return err;
    __atomic_sub_fetch(&unsent, 1, __ATOMIC_RELAXED);
    free(k);
    return 0;
}

void shi_message_send(int pe, const struct shi_message *m, size_t bytes)
{
    if (try(pe, m, bytes) == 0)
        return;
    struct kept *k = keep(pe, m, bytes);
    k->send.retry = retry;
    __atomic_add_fetch(&unsent, 1, __ATOMIC_RELAXED);
    shi_am_queue(pe, &k->send);
}

int shi_message_unsent(void)
{
    return __atomic_load_n(&unsent, __ATOMIC_RELAXED);
}

static void on_message(int pe, const void *msg, size_t bytes)
{
    const struct shi_message *m = msg;
    int later = 0;
    if (bytes < sizeof *m || m->kind >= SHI_MESSAGE_KINDS)
        shi_am_refuse(pe, "an invalid message about a team");
    shi_spin_lock(&lock);
    struct shmem_team *t = shi_team_find(m->team, &later);
    if (t || !later) {
        takes[m->kind](t, pe, m, bytes);
    } else {
        struct kept *k = keep(pe, m, bytes);
        k->next = early;
        early = k;
    }
    shi_spin_unlock(&lock);
}

static void on_made(const struct shmem_team *made)
{
    int later;
    shi_spin_lock(&lock);
    struct shmem_team *t = shi_team_find(made->number, &later);
    struct kept *again = NULL, *k;
    for (struct kept **at = &early; (k = *at);) {
        if (k->m.team != made->number) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        k->next = again; /* the oldest first */
        again = k;
    }
    for (; (k = again); free(k)) {
        again = k->next;
        takes[k->m.kind](t, k->pe, &k->m, k->bytes);
    }
    shi_spin_unlock(&lock);
}

/* Its memory may be another team's now: no message about it is being taken. */
static void on_ended(const struct shmem_team *t)
{
    (void)t;
    shi_spin_lock(&lock);
    shi_spin_unlock(&lock);
}

int shi_message_up(shi_message_take *const take[SHI_MESSAGE_KINDS])
{
    static const struct shi_team_hooks hooks = {on_made, on_ended};
    memcpy(takes, take, sizeof takes);
    unsent = 0;
    shi_am_handle(SHI_AM_SURVIVE, on_message);
    shi_team_on_change(&hooks);
    return shi_am_start();
}

/* Messages that wait for room belong to the queues of their PEs. */
void shi_message_down(void)
{
    for (struct kept *k; (k = early); free(k))
        early = k->next;
}

/*
 * am_remote.c - between the stream and the handlers: a message that arrives is handed over at once; while a handler runs, or
 * before shi_am_start, it is queued here, with all that arrive behind it, until am.c polls.
 *
 *   word    written by                    read by   order
 *   first   arrivals and poll, with lock  the same  lock; arrivals also read it without. One arrives at a time, so an empty
 *                                                   queue stays empty meanwhile, and the poll that emptied it has handed
 *                                                   over its last message before shi_am_deliver_now can take `polling`
 *   last    arrivals and poll, with lock  the same  lock
 */
#include "host/net/stream/am_remote.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "host/net/am/am.h"
#include "host/net/stream/stream.h"
#include "host/policy/limits.h"
#include "host/util/kept.h"
#include "host/util/log.h"


struct queued {
    struct queued *next;
    size_t bytes;
    int pe;
    unsigned id;
    uint64_t msg[];
};

static struct queued *first, **last = &first;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shi_kept kept = {.most = SHI_KEPT_REQUESTS};

void shi_am_remote_arrived(int pe, unsigned id, const void *msg, size_t bytes)
{
    if (!__atomic_load_n(&first, __ATOMIC_RELAXED) &&
        shi_am_deliver_now(pe, (enum shi_am_id)id, msg, bytes))
        return;
    struct queued *k = shi_kept_get(&kept, sizeof *k + bytes);
    if (!k)
        shi_die("network", "out of memory for an active message of PE %d (%zu bytes)", pe, bytes);
    k->next = NULL;
    k->bytes = bytes;
    k->pe = pe;
    k->id = id;
    memcpy(k->msg, msg, bytes);
    pthread_mutex_lock(&lock);
    __atomic_store_n(last, k, __ATOMIC_RELAXED);
    last = &k->next;
    pthread_mutex_unlock(&lock);
}

static struct queued *take(void)
{
    pthread_mutex_lock(&lock);
    struct queued *k = first;
    if (k)
        __atomic_store_n(&first, k->next, __ATOMIC_RELAXED);
    if (!first)
        last = &first;
    pthread_mutex_unlock(&lock);
    return k;
}

static int deliver(int budget)
{
    int n = 0;
    for (struct queued *k; n < budget && __atomic_load_n(&first, __ATOMIC_RELAXED) && (k = take()); n++) {
        shi_am_deliver(k->pe, (enum shi_am_id)k->id, k->msg, k->bytes);
        shi_kept_put(&kept, k, sizeof *k + k->bytes);
    }
    return n;
}

/* Drop what is left of the PE that died: the owners of its requests have completed them. */
static void renew(int pe)
{
    pthread_mutex_lock(&lock);
    struct queued *k = first;
    last = &first;
    __atomic_store_n(&first, NULL, __ATOMIC_RELAXED);
    for (struct queued *next; k; k = next) {
        next = k->next;
        if (k->pe == pe) {
            shi_kept_put(&kept, k, sizeof *k + k->bytes);
            continue;
        }
        k->next = NULL;
        __atomic_store_n(last, k, __ATOMIC_RELAXED);
        last = &k->next;
    }
    pthread_mutex_unlock(&lock);
}

static int expose(int pe, const void *addr, size_t bytes, struct shi_am_src *out)
{
    (void)pe;
    return shi_stream_sends(addr, bytes) ? shi_stream_expose(addr, bytes, out) : -EOPNOTSUPP;
}

static int fetch(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f)
{
    return shi_stream_sends(to, bytes) ? shi_stream_fetch(pe, src, off, to, bytes, f) : -EOPNOTSUPP;
}

static void withdraw(int pe, const struct shi_am_src *src)
{
    (void)pe;
    shi_stream_withdraw(src);
}

void shi_am_remote_up(int all)
{
    static struct shi_am_carrier carrier = {.begin = shi_stream_am_begin, .end = shi_stream_am_end,
                                            .poll = deliver, .renew = renew,
                                            .expose = expose, .withdraw = withdraw, .fetch = fetch};
    const struct shi_message_facts facts = shi_stream_am_facts();
    carrier.lengths = shi_message_lengths_of(&facts);
    carrier.fetch_bytes = shi_stream_rma_bytes();
    shi_am_set_remote(&carrier, all);
}

void shi_am_remote_down(void)
{
    for (struct queued *k; (k = take());)
        shi_kept_put(&kept, k, sizeof *k + k->bytes);
    shi_kept_clear(&kept);
}

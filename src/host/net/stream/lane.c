/* lane.c - lanes are made at first use and kept; a failed transfer ends the job. */
#include "host/net/stream/lane.h"

#include <stdlib.h>

#include "host/util/log.h"
#include "host/util/table.h"

#define NET (shi_stream_net.ops)

struct shi_stream_net shi_stream_net;

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

void shi_lane_free(struct shi_lane *l)
{
    size_t pes = (size_t)shi_stream_net.n_pes;
    shi_table_free(l->to, pes, sizeof *l->to);
    shi_table_free(l->open, 4 * pes, sizeof *l->open);
    free(l);
}

static struct shi_lane *make_lane(struct shi_net_lane *n, int index)
{
    size_t pes = (size_t)shi_stream_net.n_pes;
    struct shi_lane *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->net = n;
    l->index = index;
    l->to = shi_table(pes, sizeof *l->to);
    l->open = shi_table(4 * pes, sizeof *l->open);
    l->dirty = l->open + pes;
    l->waiting = l->dirty + pes;
    l->used = l->waiting + pes;
    for (int i = 0; i < MAX_REPLIES; i++)
        l->free_reply[l->n_free_replies++] = MAX_REPLIES - 1 - i;
    if (l->to && l->open)
        return l;
    shi_lane_free(l);
    return NULL;
}

/* One more lane that sends by way of n. NULL: there are as many as can be, or no memory is left. */
static struct shi_lane *add_lane(struct shi_net_lane *n)
{
    int i = shi_stream_net.n_lanes;
    struct shi_lane *made = i < SHI_NET_LANES ? make_lane(n, i) : NULL;
    if (made) {
        shi_stream_net.lane[i] = made;
        __atomic_store_n(&shi_stream_net.n_lanes, i + 1, __ATOMIC_RELEASE); /* R1 */
    }
    return made;
}

struct shi_lane *shi_stream_lane(int i)
{
    struct shi_net_lane *n = NET->lane(i);
    struct shi_lane *l = NULL;
    pthread_mutex_lock(&making);
    for (int k = 0; k < shi_stream_net.n_lanes && !l; k++)
        l = shi_stream_net.lane[k]->net == n ? shi_stream_net.lane[k] : NULL; /* the first: a later one is beside it */
    if (!l)
        l = add_lane(n);
    pthread_mutex_unlock(&making);
    return l ? l : shi_stream_net.lane[0];
}

struct shi_lane *shi_stream_lane_beside(void)
{
    pthread_mutex_lock(&making);
    struct shi_lane *l = add_lane(shi_stream_net.lane[0]->net);
    pthread_mutex_unlock(&making);
    return l ? l : shi_stream_net.lane[0];
}

struct shi_lane *shi_stream_lane_made(int i)
{
    return i < shi_stream_n_lanes() ? shi_stream_net.lane[i] : NULL;
}

int shi_stream_lane_index(const struct shi_lane *l)
{
    return l->index;
}

int shi_stream_suspect(int pe)
{
    if (!shi_stream_net.suspect || pe < 0 || pe == shi_stream_net.me)
        return 0;
    if (!shi_stream_is_lost(pe))
        shi_stream_net.suspect(pe);
    return 1;
}

void shi_stream_fail(int pe, int err)
{
    if (shi_stream_suspect(pe)) {
        shi_log_debug("a transfer with PE %d failed: %s", pe, NET->error(err));
        return;
    }
    if (pe < 0)
        shi_die("network", "transfers fail: %s (%s)", NET->error(err), NET->provider());
    shi_die("network", "a transfer with PE %d failed: %s (%s)", pe, NET->error(err), NET->provider());
}

void shi_stream_net_failed(int pe, int err)
{
    if (pe == SHI_NET_RECEIVE) {
        if (!shi_stream_net.receive_err && !shi_stream_closing())
            shi_log_error("network: a message could not be received: %s (%s)", NET->error(err), NET->provider());
        shi_stream_net.receive_err = err;
    } else if (!shi_stream_closing()) {
        shi_stream_fail(pe, err);
    }
}

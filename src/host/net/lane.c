/* lane.c - lanes are made at first use and kept; a failed transfer ends the job. */
#include "host/net/lane.h"

#include <stdlib.h>

#include "host/util/log.h"
#include "host/util/table.h"

#define NET (shi_stream_net.ops)

struct shi_stream_net shi_stream_net;

static struct shi_lane *make_lane(struct shi_net_lane *n)
{
    size_t pes = (size_t)shi_stream_net.n_pes;
    struct shi_lane *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->net = n;
    l->index = n->index;
    l->to = shi_table(pes, sizeof *l->to);
    l->open = shi_table(4 * pes, sizeof *l->open);
    l->dirty = l->open + pes;
    l->waiting = l->dirty + pes;
    l->used = l->waiting + pes;
    for (int i = 0; i < MAX_REPLIES; i++)
        l->free_reply[l->n_free_replies++] = MAX_REPLIES - 1 - i;
    if (l->to && l->open)
        return l;
    shi_table_free(l->to, pes, sizeof *l->to);
    shi_table_free(l->open, 4 * pes, sizeof *l->open);
    free(l);
    return NULL;
}

struct shi_lane *shi_stream_lane(int i)
{
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    struct shi_net_lane *n = NET->lane(i);
    pthread_mutex_lock(&making);
    if (n->index == shi_stream_net.n_lanes && n->index < SHI_NET_LANES) {
        struct shi_lane *made = make_lane(n);
        if (made) {
            shi_stream_net.lane[n->index] = made;
            __atomic_store_n(&shi_stream_net.n_lanes, n->index + 1, __ATOMIC_RELEASE); /* R1 */
        }
    }
    int index = n->index < shi_stream_net.n_lanes ? n->index : 0;
    pthread_mutex_unlock(&making);
    return shi_stream_net.lane[index];
}

int shi_stream_lanes(void)
{
    return shi_stream_n_lanes();
}

void shi_stream_fail(int pe, int err)
{
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

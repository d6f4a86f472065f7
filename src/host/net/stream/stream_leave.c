/* stream_leave.c - the process leaves its job: the streams give back all that they have. */
#include <stdlib.h>
#include <string.h>

#include "host/net/stream/admit.h"
#include "host/net/stream/auth.h"
#include "host/net/stream/batch.h"
#include "host/net/stream/settle.h"
#include "host/net/stream/stream_rx.h"
#include "host/net/stream/written.h"
#include "host/util/table.h"

static void leave_lanes(void)
{
    for (int i = 0; i < shi_stream_net.n_lanes; i++) {
        struct shi_lane *l = shi_stream_net.lane[i];
        shi_batch_leave(l);
        for (int k = 0; k < l->n_used; k++)
            free(l->to[l->used[k]].announcement);
        shi_lane_free(l);
    }
}

void shi_stream_leave(void)
{
    size_t n = (size_t)shi_stream_net.n_pes;
    if (!shi_stream_stop())
        return;
    shi_stream_net.ops->leave();
    shi_stream_rx_leave();
    leave_lanes();
    shi_written_leave();
    shi_stream_memory_leave();
    shi_settle_leave();
    shi_admit_leave();
    shi_auth_leave();
    free(shi_stream_net.pipeline);
    shi_table_free(shi_stream_net.memory, n, sizeof *shi_stream_net.memory);
    for (int i = 0; i < SHI_STREAM_ADDED; i++)
        shi_table_free(shi_stream_net.added[i], n, sizeof *shi_stream_net.added[i]);
    shi_table_free(shi_stream_net.peer_rx, n, sizeof *shi_stream_net.peer_rx);
    shi_table_free(shi_stream_net.peer_info, n, sizeof *shi_stream_net.peer_info);
    memset(&shi_stream_net, 0, sizeof shi_stream_net);
}

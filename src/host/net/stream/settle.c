/* settle.c - one read at a time of this PE's device memory: see settle.h. */
#include "host/net/stream/settle.h"

#include <errno.h>

#include "host/net/stream/lane.h"

static uint64_t started, ended; /* number of reads */

static void read_ended(struct shi_net_req *req, int err)
{
    if (err)
        shi_stream_fail(req->pe, err);
    ended = started;
}

static void start(void)
{
    static struct shi_net_req req;
    static char byte;
    struct shi_lane *l = shi_stream_net.lane[0];
    int me = shi_stream_net.me;
    if (started != ended)
        return;
    req.done = read_ended;
    shi_lane_lock(l);
    int rc = shi_stream_net.ops->read(l->net, me, &shi_stream_net.memory[me][SHI_REGION_DEVICE], 0, &byte, 1, &req);
    shi_lane_unlock(l);
    if (rc == -EINPROGRESS)
        started++;
    else if (rc != -EAGAIN)
        shi_stream_fail(me, rc);
}

uint64_t shi_settle(void)
{
    uint64_t n = started + 1; /* one that is under way may have passed the data */
    if (!shi_stream_reaches(shi_stream_net.me, SHI_REGION_DEVICE))
        return 0;
    start();
    return n;
}

int shi_settle_ended(uint64_t n)
{
    if (ended < n)
        start();
    return ended >= n;
}

void shi_settle_leave(void)
{
    started = ended = 0;
}

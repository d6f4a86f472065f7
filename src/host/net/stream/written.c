/* written.c - numbers and counters of writes that are in place: see written.h. */
#include "host/net/stream/written.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/util/log.h"

#define NET (shi_stream_net.ops)

enum { LANE_BITS = 3, SPARE_BITS = 9 }; /* SPARE_BITS: numbers of twice SHI_WRITTEN_AHEAD writes differ */

_Static_assert(SHI_NET_LANES <= 1 << LANE_BITS && 2 * SHI_WRITTEN_AHEAD <= 1 << SPARE_BITS, "immediate data has room for these");

int shi_written_add(struct shi_written *w, uint32_t number, int bits)
{
    uint32_t distance = (number - (uint32_t)w->first) & ((1U << bits) - 1);
    if (distance == 0 || distance > SHI_WRITTEN_AHEAD)
        return 0;
    w->ahead[(distance - 1) / 64] |= 1ULL << (distance - 1) % 64;
    while (w->ahead[0] & 1) {
        w->first++;
        for (int i = 0; i < SHI_WRITTEN_AHEAD / 64; i++)
            w->ahead[i] = w->ahead[i] >> 1 | (i + 1 < SHI_WRITTEN_AHEAD / 64 ? w->ahead[i + 1] << 63 : 0);
    }
    return 1;
}

int shi_written_up(int n_pes)
{
    struct shi_written_state *w = &shi_stream_net.written;
    int ordered = shi_stream_net.limits.ordered, bits = 32 - LANE_BITS;
    while (n_pes > 1 && (uint64_t)n_pes > 1ULL << (32 - LANE_BITS - bits))
        bits--;
    *w = (struct shi_written_state){.number_bits = bits};
    if (ordered & SHI_NET_SAW)
        return 0;
    if (ordered & SHI_NET_WAW) {
        size_t bytes = (size_t)n_pes * sizeof *w->counters;
        w->by = SHI_WRITTEN_COUNTER;
        w->peer = calloc((size_t)n_pes, sizeof *w->peer);
        w->counters = calloc(1, bytes);
        return w->counters && w->peer ? NET->expose(w->counters, bytes, SHI_NET_WRITE, &w->own) : -ENOMEM;
    }
    if (ordered & SHI_NET_IMMEDIATE && bits >= SPARE_BITS && shi_stream_net.limits.peer_cap <= SHI_WRITTEN_AHEAD) {
        w->by = SHI_WRITTEN_IMMEDIATE;
        w->numbers = calloc((size_t)n_pes, sizeof *w->numbers);
        return w->numbers ? 0 : -ENOMEM;
    }
    return 0;
}

void shi_written_leave(void)
{
    struct shi_written_state *w = &shi_stream_net.written;
    for (int pe = 0; w->numbers && pe < shi_stream_net.n_pes; pe++)
        free(w->numbers[pe]);
    free(w->numbers);
    free(w->counters);
    free(w->peer);
}

void shi_written_forget(int pe)
{
    struct shi_written_state *w = &shi_stream_net.written;
    if (w->numbers && w->numbers[pe])
        memset(w->numbers[pe], 0, SHI_NET_LANES * sizeof **w->numbers);
    for (int i = 0; w->counters && i < SHI_NET_LANES; i++)
        __atomic_store_n(&w->counters[pe][i], 0, __ATOMIC_RELAXED);
}

uint32_t shi_written_immediate(int lane, uint64_t number)
{
    int bits = shi_stream_net.written.number_bits;
    uint32_t stream = (uint32_t)shi_stream_net.me << LANE_BITS | (uint32_t)lane;
    return stream << bits | ((uint32_t)number & ((1U << bits) - 1));
}

void shi_written_arrived(uint32_t immediate)
{
    struct shi_written_state *w = &shi_stream_net.written;
    uint32_t stream = immediate >> w->number_bits, pe = stream >> LANE_BITS;
    if (!w->numbers || pe >= (uint32_t)shi_stream_net.n_pes)
        return;
    if (!w->numbers[pe] && !(w->numbers[pe] = calloc(SHI_NET_LANES, sizeof **w->numbers)))
        shi_die("network", "out of memory for the writes of PE %u", pe);
    shi_written_add(&w->numbers[pe][stream % (1U << LANE_BITS)], immediate, w->number_bits);
}

int shi_written_is(int pe, int lane, uint64_t n)
{
    const struct shi_written_state *w = &shi_stream_net.written;
    if (w->by == SHI_WRITTEN_COUNTER)
        return __atomic_load_n(&w->counters[pe][lane], __ATOMIC_ACQUIRE) >= n; /* A1 */
    return n == 0 || (w->numbers && w->numbers[pe] && w->numbers[pe][lane].first >= n);
}

int shi_written_announce(struct shi_lane *l, int pe)
{
    const struct shi_written_state *w = &shi_stream_net.written;
    struct stream *s = &l->to[pe];
    if (w->by == SHI_WRITTEN_IMMEDIATE || s->announced == s->order.writes || shi_stream_is_lost(pe))
        return 1;
    int slots = shi_stream_net.limits.peer_cap + 1; /* so that the write of one's last use has ended */
    if (!s->announcement && !(s->announcement = calloc((size_t)slots, sizeof *s->announcement)))
        shi_die("network", "out of memory for writes to PE %d", pe);
    uint64_t *number = &s->announcement[s->announcements % (unsigned)slots];
    *number = s->order.writes;
    size_t at = ((size_t)shi_stream_net.me * SHI_NET_LANES + (size_t)l->index) * sizeof *number;
    int rc = NET->write(l->net, pe, &w->peer[pe], at, number, sizeof *number, 0, NULL);
    if (rc == -EAGAIN)
        return 0;
    if (rc != -EINPROGRESS)
        shi_stream_fail(pe, rc);
    s->announcements++;
    s->announced = s->order.writes;
    return 1;
}

/* stream_gone.h - of stream.c: operations to a PE that is gone while the job goes on. */
#ifndef TEST_UNIT_STREAM_GONE_H
#define TEST_UNIT_STREAM_GONE_H

#include "host/net/stream/admit.h"
#include "host/net/stream/lost.h"
#include "host/net/stream/stream_ack.h"

static int n_ended;

static void fetch_ended(struct shi_reply *r)
{
    (void)r;
    n_ended++;
}

static void after_ended(struct shi_after *a)
{
    (void)a;
    n_ended++;
}

/* One of each kind to PE 1, which does not answer. How many callbacks they have. */
static int ask_in_vain(struct shi_lane *l, struct shi_reply reply[2], struct shi_after *a)
{
    static uint64_t source[WORDS], got[2];
    struct shi_remote_addr word = at_remote(1, SHI_REGION_HEAP, &memory[1].area[0][1].count), sync = at_remote(1, SHI_REGION_SYNC, &memory[1].sync[0][1]);
    reply[0] = (struct shi_reply){.to = (char *)&got[0], .block = 8, .done = fetch_ended};
    reply[1] = (struct shi_reply){.to = (char *)&got[1], .block = 8};
    *a = (struct shi_after){.done = after_ended};
    shi_stream_put(l, &word, source, 8, SHI_STREAM_MORE, NULL);
    shi_stream_write(l, &word, source, sizeof source, NULL, NULL);
    shi_stream_read(l, &word, got, 8, NULL);
    shi_stream_fence(l);
    shi_stream_put(l, &sync, source, 8, 0, NULL);
    int fetches = shi_stream_amo(l, &word, 8, SHI_AMO_ADD, 1, 0, &reply[0], 0, NULL) == 0;
    shi_stream_amo(l, &word, 8, SHI_AMO_ADD, 1, 0, &reply[1], 0, NULL);
    return fetches + (shi_stream_after(l, 1, a, 0, NULL) == -EINPROGRESS);
}

/* Each adds 1 to a word of the other PE, n times on each lane. */
static void add_both_ways(int n)
{
    struct shi_remote_addr word[2] = {at_remote(1, SHI_REGION_HEAP, &memory[1].area[0][1].count), at_remote(0, SHI_REGION_HEAP, &memory[0].area[1][0].count)};
    for (int i = 0; i < 2 * n * LANES; i++) {
        int err = -EAGAIN;
        for (int tries = 0; err && tries < 400; tries++) {
            fabric_be(i & 1);
            err = shi_stream_amo(shi_stream_net.lane[i / 2 % LANES], &word[i & 1], 8, SHI_AMO_ADD, 1, 0, NULL, 0, NULL);
            fabric_tick();
            fabric_poll();
        }
        CHECKF(err == 0, "an update of PE %d finds no room", i & 1);
    }
}

/* Another process has the place of PE 1, whose last message is under way, and in the list of acknowledgements, at PE 0. */
static void comes_back(int trial)
{
    enum { N = 5 };
    int back = 0;
    uint64_t dropped = shi_admit_dropped();
    fabric_be(1);
    struct shi_remote_addr word = at_remote(0, SHI_REGION_HEAP, &memory[0].area[1][0].count);
    CHECK(shi_stream_amo(shi_stream_net.lane[0], &word, 8, SHI_AMO_ADD, 1, 0, NULL, 0, NULL) == 0);
    shi_stream_net.peer_rx[0].known = 0; /* the dead process asks no more */
    fabric_life = 1;
    fabric_open_pe(1, own[1]);
    uint64_t before[2] = {memory[1].area[0][1].count, memory[0].area[1][0].count};
    for (int pe = 0; pe < PES; pe += 2) {
        fabric_be(pe);
        shi_stream_lose(1);
        shi_stream_meet(1, 1);
        shi_ack_queue(&(const struct head){.pe = 1, .flags = ACK_SOON});
        back = shi_stream_return(1);
        CHECKF(!back, "trial %d: PE 1 is back before a poll", trial);
        for (int i = 0; i < 200 && !(back = shi_stream_return(1)); i++)
            fabric_poll();
        CHECKF(back && shi_stream_net.n_ack_queue == 0, "trial %d: PE 1 stays lost, or in a list", trial);
    }
    fabric_tell_all();
    fabric.refusals = 64;
    add_both_ways(N);
    uint64_t wait[2] = {0}, quiet[2] = {0};
    for (int i = 0; i < 4000 && !(quiet[0] && quiet[1]); i++) {
        fabric_tick();
        fabric_be(i & 1);
        fabric_poll();
        quiet[i & 1] = quiet[i & 1] || shi_stream_quiet(shi_stream_net.lane[1], -1, &wait[i & 1]);
    }
    for (int i = 0; i < 400; i++) {
        fabric_tick();
        fabric_be(i & 1);
        fabric_poll();
    }
    CHECKF(quiet[0] && quiet[1], "trial %d: quiet does not end after PE 1 has come back", trial);
    CHECKF(memory[1].area[0][1].count == before[0] + N * LANES && memory[0].area[1][0].count == before[1] + N * LANES,
           "trial %d: of %d updates %lu are applied at the new process, %lu of it", trial, N * LANES,
           (unsigned long)(memory[1].area[0][1].count - before[0]), (unsigned long)(memory[0].area[1][0].count - before[1]));
    fabric_be(0);
    CHECKF(shi_stream_net.lane[1]->n_used == 1 && shi_stream_net.n_ack_queue <= PES && shi_admit_dropped() == dropped, "trial %d: %d, %d entries, %lu dropped", trial,
           shi_stream_net.lane[1]->n_used, shi_stream_net.n_ack_queue, (unsigned long)(shi_admit_dropped() - dropped));
}

/* Catches: an operation to a PE that is gone that never ends, before or after that is known; a message of that PE that is taken later, also when another
 * process has its number; numbers that do not begin anew with that. */
static void gone(void)
{
    static const int orders[] = {SHI_NET_SAW | SHI_NET_WAW, SHI_NET_WAW, SHI_NET_IMMEDIATE, 0};
    for (int trial = 0; trial < 400; trial++) {
        struct shi_reply reply[2][2];
        struct shi_after a[2];
        uint64_t seq[PES] = {0}, wait = 0, before = 0;
        int asked = 0, delivered = 0, quiet = 0;
        memset(memory, 0, sizeof memory);
        open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24, .ordered = orders[trial % 4]});
        fabric.random = (unsigned)trial + 1;
        fabric.refusals = 4;
        fabric.patience = 50;
        fabric_be(0);
        n_ended = 0;
        struct shi_lane *l = shi_stream_net.lane[1];
        asked = ask_in_vain(l, reply[0], &a[0]);
        for (int i = 0; i < trial % 7; i++)
            fabric_tick();
        fabric_be(0);
        CHECKF(n_ended == 0, "trial %d: %d operations have ended without an answer", trial, n_ended);
        shi_stream_lose(1);
        asked += ask_in_vain(l, reply[1], &a[1]);
        struct shi_am_fetch f;
        uint64_t part;
        int err = shi_stream_fetch(1, &(const struct shi_am_src){.addr = 0}, 0, &part, sizeof part, &f);
        CHECKF(err != -EAGAIN && err != -EINPROGRESS, "trial %d: a fetch from a PE that is gone goes on", trial);
        for (int i = 0; i < 2000 && !(delivered && quiet && n_ended == asked); i++) {
            fabric_tick();
            fabric_be(0);
            fabric_poll();
            delivered = shi_stream_delivered(seq);
            quiet = quiet || shi_stream_quiet(l, -1, &wait);
        }
        CHECKF(delivered && quiet && n_ended == asked, "trial %d: %d of %d callbacks, %s, %s", trial, n_ended, asked,
               delivered ? "delivered" : "not delivered", quiet ? "quiet" : "not quiet");
        before = memory[0].area[1][0].count;
        fabric_be(1);
        struct shi_remote_addr back = at_remote(0, SHI_REGION_HEAP, &memory[0].area[1][0].count);
        CHECK(shi_stream_amo(shi_stream_net.lane[0], &back, 8, SHI_AMO_ADD, 1, 0, NULL, 0, NULL) == 0);
        for (int i = 0; i < 200; i++) {
            fabric_tick();
            fabric_be(i & 1);
            fabric_poll();
        }
        CHECKF(memory[0].area[1][0].count == before, "trial %d: a record of a PE that is gone is applied", trial);
        comes_back(trial);
    }
}

#endif

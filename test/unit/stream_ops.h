/* stream_ops.h - the operations that stream.c's PEs start at random, each recorded for the oracle. */
#ifndef TEST_UNIT_STREAM_OPS_H
#define TEST_UNIT_STREAM_OPS_H

#include "oracle.h"

static struct shi_remote_addr at_remote(int to, enum shi_region region, const void *at)
{
    const char *base = region == SHI_REGION_DEVICE ? (const char *)&memory[to]
                       : region == SHI_REGION_HEAP   ? (const char *)memory[to].area
                       : region == SHI_REGION_SYNC ? (const char *)memory[to].sync
                                                   : (const char *)memory[to].pattern;
    return (struct shi_remote_addr){to, region, (uint64_t)((const char *)at - base)};
}

/* One of lane 1's words or slots, or words of the pattern. */
static enum shi_region region_of(int lane, enum shi_region host)
{
    return on_devices && lane == 1 ? SHI_REGION_DEVICE : host;
}

static unsigned ways[4]; /* weights of this phase: 0 write, 1 record, 2 record of blocks */

/* Put a new value into a slot; then perhaps a signal. */
static void put(struct shi_lane *l, int pe, int lane, int to)
{
    struct flow *f = &flows[pe][lane][to];
    int slot = (int)fabric_below(SLOTS), n = 1 + (int)fabric_below(WORDS), rc;
    enum shi_region region = fabric_below(2) ? region_of(lane, SHI_REGION_HEAP) : SHI_REGION_HEAP;
    unsigned way = region == SHI_REGION_DEVICE ? 1 + fabric_below(2) : ways[fabric_below(4)];
    if (f->busy[slot] || f->n + 2 > MOST)
        return;
    uint64_t *at = memory[to].area[pe][lane].slot[slot], value = ++values;
    struct shi_remote_addr there = at_remote(to, region, at);
    struct shi_remote_addr word = at_remote(to, region_of(lane, SHI_REGION_HEAP), &memory[to].area[pe][lane].signal);
    for (int i = 0; i < n; i++)
        f->source[slot][i] = value;
    if (way == 0) {
        rc = shi_stream_write(l, &there, f->source[slot], (size_t)n * 8, NULL);
    } else if (way == 1) {
        rc = shi_stream_put(l, &there, f->source[slot], (size_t)n * 8, fabric_below(2) ? SHI_STREAM_MORE : 0);
    } else {
        n = n > 2 ? (n - 1) / 2 * 2 + 1 : 1;
        rc = shi_stream_put_blocks(l, &there, &(struct shi_blocks){8, (uint32_t)(n / 2 + 1), 16}, f->source[slot], 8);
    }
    if (rc == -EAGAIN)
        return;
    struct pending *p = expect_in_place(f, pe, lane, at, value);
    p->last = &at[n - 1];
    p->kind = SLOT;
    p->slot = slot;
    f->busy[slot] = 1;
    long data = p->index;
    if (fabric_below(2) ||
        shi_stream_amo(l, &word, 8, SHI_AMO_ADD, 1, 0, NULL, SHI_STREAM_AFTER_WRITES) == -EAGAIN)
        return;
    p = expect_in_place(f, pe, lane, &memory[to].area[pe][lane].signal, ++f->signalled);
    p->kind = SIGNAL;
    p->data = data;
}

static void count(struct shi_lane *l, int pe, int lane, int to)
{
    struct flow *f = &flows[pe][lane][to];
    uint64_t *at = &memory[to].area[pe][lane].count;
    struct shi_remote_addr there = at_remote(to, region_of(lane, SHI_REGION_HEAP), at);
    if (f->n < MOST && shi_stream_amo(l, &there, 8, SHI_AMO_ADD, 1, 0, NULL, 0) != -EAGAIN)
        expect_in_place(f, pe, lane, at, ++f->counted);
}

static void sync_store(struct shi_lane *l, int pe, int lane, int to)
{
    struct flow *f = &flows[pe][lane][to];
    uint64_t *at = &memory[to].sync[pe][lane], value = f->synced + 1;
    struct shi_remote_addr there = at_remote(to, SHI_REGION_SYNC, at);
    if (f->n == MOST || shi_stream_put(l, &there, &value, 8, SHI_STREAM_AFTER_WRITES) == -EAGAIN)
        return;
    f->synced++;
    expect_in_place(f, pe, lane, at, value)->kind = SYNC;
}

static struct fetch *new_fetch(int pe, int lane, int of)
{
    struct fetch *f = &fetches[pe][lane][fabric_below(FETCHES)];
    if (f->used)
        return NULL;
    memset(f, 0, sizeof *f);
    f->of = of;
    return f;
}

static void fetch_came(struct fetch *f)
{
    CHECKF(f->used == ANSWERED && memcmp(f->got, f->want, (size_t)f->n * sizeof *f->got) == 0,
           "a reply differs from the requested words");
    f->used = NO;
}

static void replied(struct shi_reply *r)
{
    fetch_came((struct fetch *)r);
}

static void has_read(struct shi_net_req *r, int err)
{
    if (err)
        shi_stream_fail(r->pe, err);
    fetch_came((struct fetch *)r);
}

static void fetch_add(struct shi_lane *l, int pe, int lane, int to)
{
    struct flow *f = &flows[pe][lane][to];
    struct fetch *x = new_fetch(pe, lane, to);
    uint64_t *at = &memory[to].area[pe][lane].fetched;
    struct shi_remote_addr there = at_remote(to, region_of(lane, SHI_REGION_HEAP), at);
    if (!x || f->n == MOST)
        return;
    x->n = 1;
    x->want[0] = f->fetched;
    x->got[0] = ~0ull;
    int alone = (int)fabric_below(2);
    x->reply = (struct shi_reply){.to = (char *)x->got, .block = 8, .done = alone ? NULL : replied};
    if (shi_stream_amo(l, &there, 8, SHI_AMO_ADD, 1, 0, &x->reply, 0) == -EAGAIN)
        return;
    x->used = alone ? ALONE : ANSWERED;
    expect_in_place(f, pe, lane, at, ++f->fetched);
}

/* Words of the pattern, each at a stride there and here. */
static void get_blocks(struct shi_lane *l, int pe, int lane, int to)
{
    struct fetch *x = new_fetch(pe, lane, to);
    int n = 1 + (int)fabric_below(WORDS / 2), stride = 1 + (int)fabric_below(8), first = (int)fabric_below(FROM - 8 * WORDS / 2);
    int spread = 1 + (int)fabric_below(2), alone = (int)fabric_below(2);
    struct shi_remote_addr there = at_remote(to, region_of(lane, SHI_REGION_DATA), &memory[to].pattern[first]);
    if (!x)
        return;
    x->n = (n - 1) * spread + 1;
    for (int i = 0; i < n; i++)
        x->want[i * spread] = memory[to].pattern[first + i * stride];
    x->reply = (struct shi_reply){.to = (char *)x->got, .block = 8, .stride = 8 * spread, .done = alone ? NULL : replied};
    if (shi_stream_get_blocks(l, &there, &(struct shi_blocks){8, (uint32_t)n, 8 * stride}, &x->reply) != -EAGAIN)
        x->used = alone ? ALONE : ANSWERED;
}

static void read_words(struct shi_lane *l, int pe, int lane, int to)
{
    struct fetch *x = new_fetch(pe, lane, to);
    int n = 1 + (int)fabric_below(WORDS), first = (int)fabric_below(FROM - WORDS), alone = (int)fabric_below(2);
    struct shi_remote_addr there = at_remote(to, SHI_REGION_DATA, &memory[to].pattern[first]);
    if (!x)
        return;
    x->n = n;
    memcpy(x->want, &memory[to].pattern[first], (size_t)n * 8);
    x->req = (struct shi_net_req){.done = has_read};
    if (shi_stream_read(l, &there, x->got, (size_t)n * 8, alone ? NULL : &x->req) != -EAGAIN)
        x->used = alone ? ALONE : ANSWERED;
}

static void confirmed(struct shi_after *a)
{
    struct watch *w = (struct watch *)a;
    must_be_there("after", w->pe, w->lane, w->to, w->index);
    w->used = 0;
}

static void after(struct shi_lane *l, int pe, int lane, int to)
{
    struct watch *w = &watches[fabric_below(WATCHES)];
    if (w->used)
        return;
    *w = (struct watch){{.done = confirmed}, 1, pe, lane, to, flows[pe][lane][to].index};
    int rc = shi_stream_after(l, to, &w->after);
    if (rc == 0)
        confirmed(&w->after);
    else if (rc == -EAGAIN)
        w->used = 0;
}

static int quiet(struct shi_lane *l, int pe, int lane, int to)
{
    if (!shi_stream_quiet(l, to))
        return 0;
    must_have_come("quiet", pe, lane, to);
    for (int k = 0; k < PES; k++)
        if (to < 0 || k == to)
            must_be_there("quiet", pe, lane, k, flows[pe][lane][k].index);
    return 1;
}

static void idle(struct shi_lane *l, int pe, int lane, int to)
{
    if (shi_stream_idle(l, to))
        must_be_there("idle", pe, lane, to, flows[pe][lane][to].index);
}

static void local(struct shi_lane *l, int pe, int lane)
{
    if (!shi_stream_local(l))
        return;
    CHECKF(!fabric_busy(pe, lane), "PE %d lane %d: a buffer is in use after local", pe, lane);
    must_have_come("local", pe, lane, -1);
}

static void message(int pe, int to)
{
    void *p = shi_stream_am_begin(to, 64);
    if (!p)
        return;
    memcpy(p, &sent[pe][to], 8);
    sent[pe][to]++;
    shi_stream_am_end(to, 1, 8);
}

/* As for a PE that was silent for long. */
static void ping(struct shi_lane *l, int to)
{
    pthread_mutex_lock(&l->net->lock);
    shi_batch_send(l, to, ACK_NOW);
    pthread_mutex_unlock(&l->net->lock);
}

static void fence(struct shi_lane *l, int pe, int lane)
{
    shi_stream_fence(l);
    epoch[pe][lane]++;
}

static void change_session(struct shi_lane *l, int pe, int lane)
{
    in_session[pe][lane] ^= 1;
    shi_stream_session(l, in_session[pe][lane] ? 1 : -1);
}

enum action { PUT, ADD, FETCH_ADD, GET, READ_WORDS, SYNC_STORE, SEND, AFTER, FENCE, LOCAL, PING, SESSION, IDLE, QUIET, ACTIONS };
static enum action deck[64]; /* the actions of this phase */
static unsigned n_deck;

static void act(int pe)
{
    int lane = (int)fabric_below(LANES), to = (pe + 1 + (int)fabric_below(PES - 1)) % PES;
    struct shi_lane *l = shi_stream_net.lane[lane];
    switch (deck[fabric_below(n_deck)]) {
    case PUT: put(l, pe, lane, to); break;
    case ADD: count(l, pe, lane, to); break;
    case FETCH_ADD: fetch_add(l, pe, lane, to); break;
    case GET: get_blocks(l, pe, lane, to); break;
    case READ_WORDS: read_words(l, pe, lane, to); break;
    case SYNC_STORE: sync_store(l, pe, lane, to); break;
    case SEND: message(pe, to); break;
    case AFTER: after(l, pe, lane, to); break;
    case FENCE: fence(l, pe, lane); break;
    case LOCAL: local(l, pe, lane); break;
    case PING: ping(l, to); break;
    case SESSION: change_session(l, pe, lane); break;
    case IDLE: idle(l, pe, lane, to); break;
    default: quiet(l, pe, lane, fabric_below(2) ? -1 : to); break;
    }
}

#endif

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

static unsigned ways[4]; /* weights of this phase: 0 write, 1 record, 2 record of blocks; to device memory also 3 pull, 4 staged */

static struct shi_am_src own_memory(const void *at)
{
    return (struct shi_am_src){.addr = (uint64_t)at};
}

static void chunk_confirmed(struct shi_after *a)
{
    shi_chunk_arrived(shi_container_of(a, struct shi_chunk, wait.after));
}

static void chunk_replied(struct shi_reply *r)
{
    shi_chunk_arrived(shi_container_of(r, struct shi_chunk, wait.reply));
}

static int put_piece(struct shi_transfer *t, struct shi_chunk *c)
{
    struct staged_put *s = (struct staged_put *)t;
    struct shi_lane *l = shi_stream_net.lane[s->lane];
    struct shi_remote_addr there = s->there;
    struct shi_am_src src = shi_chunk_src(c);
    there.off += c->off;
    if (there.region != SHI_REGION_DEVICE) {
        c->wait.req = (struct shi_net_req){.done = shi_chunk_moved};
        return shi_stream_write(l, &there, c->memory, c->bytes, &c->wait.req, NULL);
    }
    if (t->pool == SHI_POOL_SHORT)
        return shi_stream_put(l, &there, c->memory, c->bytes, 0, NULL);
    c->wait.after = (struct shi_after){.done = chunk_confirmed};
    int err = shi_stream_pull(l, &there, &src, c->bytes, &c->wait.after, NULL);
    return err ? err : -EINPROGRESS;
}

static struct pending *expect_slot(struct flow *f, int pe, int lane, int slot, uint64_t *at, int n, uint64_t value)
{
    struct pending *p = expect_in_place(f, pe, lane, at, value);
    p->last = &at[n - 1];
    p->kind = SLOT;
    p->slot = slot;
    return p;
}

/* All pieces are posted, and the source is free: from now on it is an operation like others. */
static void put_staged(struct shi_transfer *t)
{
    struct staged_put *s = (struct staged_put *)t;
    struct flow *f = &flows[s->pe][s->lane][s->to];
    int slot = (int)(s - f->staged);
    expect_slot(f, s->pe, s->lane, slot, s->at, s->n, f->source[slot][0]);
    memset(f->source[slot], 0xff, sizeof f->source[slot]);
    s->used = 0;
}

static void stage_put(struct flow *f, int slot, int pe, int lane, int to, const struct shi_remote_addr *there, uint64_t *at, int n)
{
    struct staged_put *s = &f->staged[slot];
    *s = (struct staged_put){.used = 1, .pe = pe, .lane = lane, .to = to, .n = n, .there = *there, .at = at};
    s->transfer = (struct shi_transfer){.wire = put_piece, .done = put_staged, .local = (char *)f->source[slot],
                                        .bytes = (size_t)n * 8, .hidden = fabric_below(2) == 0, .detached = 1,
                                        .pool = fabric_below(3) ? SHI_POOL_OWN : SHI_POOL_SHORT};
    shi_pipeline_start(&s->transfer);
}

/* Put a new value into a slot; then perhaps a signal. */
static void put(struct shi_lane *l, int pe, int lane, int to)
{
    struct flow *f = &flows[pe][lane][to];
    int slot = (int)fabric_below(SLOTS), n = fabric_below(4) ? 1 + (int)fabric_below(WORDS) : WORDS, rc;
    enum shi_region region = fabric_below(2) ? region_of(lane, SHI_REGION_HEAP) : SHI_REGION_HEAP;
    unsigned way = region == SHI_REGION_DEVICE             ? 1 + fabric_below(4)
                   : on_devices && fabric_below(4) == 0 ? 4
                                                        : ways[fabric_below(4)];
    if (f->busy[slot] || f->n + 2 > MOST)
        return;
    uint64_t *at = memory[to].area[pe][lane].slot[slot], value = ++values;
    struct shi_remote_addr there = at_remote(to, region, at);
    struct shi_remote_addr word = at_remote(to, region_of(lane, SHI_REGION_HEAP), &memory[to].area[pe][lane].signal);
    for (int i = 0; i < n; i++)
        f->source[slot][i] = value;
    if (way == 0) {
        rc = shi_stream_write(l, &there, f->source[slot], (size_t)n * 8, NULL, NULL);
    } else if (way == 1) {
        rc = shi_stream_put(l, &there, f->source[slot], (size_t)n * 8, fabric_below(2) ? SHI_STREAM_MORE : 0, NULL);
    } else if (way == 3) {
        struct shi_am_src src = own_memory(f->source[slot]);
        rc = shi_stream_pull(l, &there, &src, (size_t)n * 8, NULL, NULL);
    } else if (way == 4) {
        stage_put(f, slot, pe, lane, to, &there, at, n);
        f->busy[slot] = 1;
        return;
    } else {
        n = n > 2 ? (n - 1) / 2 * 2 + 1 : 1;
        rc = shi_stream_put_blocks(l, &there, &(struct shi_blocks){8, (uint32_t)(n / 2 + 1), 16}, f->source[slot], 8, NULL);
    }
    if (rc == -EAGAIN)
        return;
    struct pending *p = expect_slot(f, pe, lane, slot, at, n, value);
    p->pulled = way == 3;
    f->busy[slot] = 1;
    long data = p->index;
    int sets = fabric_below(2) == 0; /* to what an addition makes of it: signals of a stream are in order */
    if (fabric_below(2) || shi_stream_amo(l, &word, 8, sets ? SHI_AMO_SET : SHI_AMO_ADD, sets ? f->signalled + 1 : 1, 0, NULL,
                                          SHI_STREAM_AFTER_WRITES, NULL) == -EAGAIN)
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
    if (f->n < MOST && shi_stream_amo(l, &there, 8, SHI_AMO_ADD, 1, 0, NULL, 0, NULL) != -EAGAIN)
        expect_in_place(f, pe, lane, at, ++f->counted);
}

static void sync_store(struct shi_lane *l, int pe, int lane, int to)
{
    struct flow *f = &flows[pe][lane][to];
    uint64_t *at = &memory[to].sync[pe][lane], value = f->synced + 1;
    struct shi_remote_addr there = at_remote(to, SHI_REGION_SYNC, at);
    if (f->n == MOST || shi_stream_put(l, &there, &value, 8, SHI_STREAM_AFTER_WRITES, NULL) == -EAGAIN)
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
    f->number = ++n_fetches;
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
    fetch_came(shi_container_of(r, struct fetch, reply));
}

static void has_read(struct shi_net_req *r, int err)
{
    if (err)
        shi_stream_fail(r->pe, err);
    fetch_came(shi_container_of(r, struct fetch, req));
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
    if (shi_stream_amo(l, &there, 8, SHI_AMO_ADD, 1, 0, &x->reply, 0, NULL) == -EAGAIN)
        return;
    x->used = alone ? ALONE : ANSWERED;
    expect_in_place(f, pe, lane, at, ++f->fetched);
}

static int get_piece(struct shi_transfer *t, struct shi_chunk *c)
{
    struct fetch *x = (struct fetch *)t;
    struct shi_lane *l = shi_stream_net.lane[x->lane];
    struct shi_remote_addr there = x->there;
    struct shi_am_src dest = shi_chunk_src(c);
    there.off += c->off;
    if (there.region != SHI_REGION_DEVICE) {
        c->wait.req = (struct shi_net_req){.done = shi_chunk_moved};
        return shi_stream_read(l, &there, c->memory, c->bytes, &c->wait.req);
    }
    c->wait.reply = (struct shi_reply){.done = chunk_replied};
    int err = shi_stream_push(l, &there, &dest, c->bytes, &c->wait.reply, NULL);
    return err ? err : -EINPROGRESS;
}

static void got_staged(struct shi_transfer *t)
{
    fetch_came((struct fetch *)t);
}

/* Words of the pattern in a row, through chunks here or pushed. */
static void get_pushed(struct shi_lane *l, int pe, int lane, int to)
{
    struct fetch *x = new_fetch(pe, lane, to);
    int n = 1 + (int)fabric_below(WORDS), first = (int)fabric_below(FROM - WORDS), alone = (int)fabric_below(2);
    if (!x)
        return;
    enum shi_region region = region_of(lane, SHI_REGION_DATA);
    x->n = n;
    x->lane = lane;
    x->there = at_remote(to, region, &memory[to].pattern[first]);
    memcpy(x->want, &memory[to].pattern[first], (size_t)n * 8);
    if (region != SHI_REGION_DEVICE || fabric_below(2)) {
        x->transfer = (struct shi_transfer){.wire = get_piece, .done = got_staged, .local = (char *)x->got, .bytes = (size_t)n * 8,
                                            .pool = SHI_POOL_OWN, .in = 1, .hidden = fabric_below(2) == 0};
        x->used = ANSWERED;
        shi_pipeline_start(&x->transfer);
        return;
    }
    struct shi_am_src dest = own_memory(x->got);
    x->reply = (struct shi_reply){.done = alone ? NULL : replied};
    if (shi_stream_push(l, &x->there, &dest, (size_t)n * 8, &x->reply, NULL) != -EAGAIN)
        x->used = alone ? ALONE : ANSWERED;
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
    if (shi_stream_get_blocks(l, &there, &(struct shi_blocks){8, (uint32_t)n, 8 * stride}, &x->reply, NULL) != -EAGAIN)
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
    int rc = shi_stream_after(l, to, &w->after, fabric_below(2) == 0, NULL);
    if (rc == 0)
        confirmed(&w->after);
    else if (rc == -EAGAIN)
        w->used = 0;
}

/* Between its calls others go on. */
static int quiet(struct shi_lane *l, int pe, int lane, int to)
{
    struct quiet *q = &quiets[pe][lane][to + 1];
    for (int k = 0; k < PES && !q->wait; k++)
        q->index[k] = flows[pe][lane][k].index;
    q->fetches = q->wait ? q->fetches : n_fetches;
    if (!shi_stream_quiet(l, to, &q->wait))
        return 0;
    q->wait = 0;
    must_have_come("quiet", pe, lane, to, q->fetches);
    for (int k = 0; k < PES; k++)
        if (to < 0 || k == to)
            must_be_there("quiet", pe, lane, k, q->index[k]);
    return 1;
}

static void idle(struct shi_lane *l, int pe, int lane, int to)
{
    if (shi_stream_idle(l, to))
        must_be_there("idle", pe, lane, to, flows[pe][lane][to].index);
}

static void local(struct shi_lane *l, int pe, int lane)
{
    uint64_t wait = 0;
    if (!shi_stream_local(l, &wait))
        return;
    CHECKF(!fabric_busy(pe, lane), "PE %d lane %d: a buffer is in use after local", pe, lane);
    must_have_come("local", pe, lane, -1, n_fetches);
    for (int to = 0; to < PES; to++)
        for (int i = 0; i < flows[pe][lane][to].n; i++)
            CHECKF(!flows[pe][lane][to].pending[i].pulled || in_place(&flows[pe][lane][to].pending[i]),
                   "PE %d lane %d: a put is to be pulled after local", pe, lane);
}

static uint64_t pattern_of(uint64_t message, size_t word)
{
    return (message << 32 ^ word) * 0x9e3779b97f4a7c15;
}

static void message(int pe, int to)
{
    static const size_t lengths[] = {SHI_AM_MAX_BYTES, SHI_AM_MAX_BYTES + 8, 40000, SHI_AM_LONGEST_BYTES};
    size_t bytes = fabric_below(16) ? 8 : lengths[fabric_below(4)];
    uint64_t *p = shi_stream_am_begin(to, bytes + 8 <= SHI_AM_MAX_BYTES ? bytes + 8 : bytes);
    if (!p)
        return;
    size_t n = bytes / 8;
    p[0] = p[n - 1] = sent[pe][to];
    for (size_t i = 1; i < n - 1 && bytes > 8; i++)
        p[i] = pattern_of(sent[pe][to], i);
    sent[pe][to]++;
    shi_stream_am_end(to, 1, bytes);
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
    case GET: (on_devices && fabric_below(2) ? get_pushed : get_blocks)(l, pe, lane, to); break;
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

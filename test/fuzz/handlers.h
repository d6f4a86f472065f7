/*
 * handlers.h - tagged messages and GPCs: PE 0 exchanges messages with itself, and one of them is changed.
 *
 * A message from PE 0 to PE 1 or 2 arrives at PE 0 as if that PE had sent it, as a record of a message with a valid
 * tag. So the senders' own code makes every message, and it names existing objects. Pointers in a changed message are
 * replaced by those of other objects of this exchange, because the handlers trust pointers (am.h).
 */
#ifndef FUZZ_HANDLERS_H
#define FUZZ_HANDLERS_H

#include "host/gpc/gpc.h"
#include "host/gpc/gpc_handle.h"
#include "host/gpc/gpc_wire.h"
#include "host/tag/tag.h"
#include "records.h"

enum { QUEUE = 64, REQUESTS = 24, LONG = 30000, ROOM = 32768, POINTERS = 64, STEPS = 60, CALLS = 4 };

/* ---- an exchange ------------------------------------------------------------------------------------------------- */

static struct message {
    int pe;
    unsigned id;
    size_t bytes;
    _Alignas(8) char data[SHI_AM_MAX_BYTES + 64];
} queue[QUEUE], changed;
static int n_queue, sending_pe;
static struct shmemx_tag_request requests[REQUESTS];
static int n_requests;
static char buffers[2][LONG];
static int no_room, no_expose; /* every no_room-th send, no_expose-th exposure is refused; 0: none */
static struct shi_am_src exposed[POINTERS];
static int n_exposed;
static unsigned dice;

/* Pointers of unanswered GPCs. */
static uint64_t tokens[POINTERS], fins[POINTERS];
static int n_tokens, n_fins;

static int once_in(int n)
{
    return n && tap_random(&dice) % (unsigned)n == 0;
}

/* ---- the carrier -------------------------------------------------------------------------------------------------- */

static int reaches(int pe)
{
    (void)pe;
    return 1;
}

static int up(const struct shi_am_world *w)
{
    (void)w;
    return 0;
}

static void drop(const struct shi_am_world *w)
{
    (void)w;
    n_queue = 0;
}

static void *begin(int pe, size_t bytes)
{
    sending_pe = pe;
    return n_queue < QUEUE && bytes <= SHI_AM_MAX_BYTES && !once_in(no_room) ? queue[n_queue].data : NULL;
}

static void keep_pointer(uint64_t *list, int *n, uint64_t p)
{
    if (p && *n < POINTERS)
        list[(*n)++] = p;
}

static void end(int pe, enum shi_am_id id, size_t bytes)
{
    struct message *m = &queue[n_queue++];
    const union shi_gpc_head *h = (const union shi_gpc_head *)m->data;
    m->pe = pe;
    m->id = id;
    m->bytes = bytes;
    if (id == SHI_AM_GPC && h->kind == SHI_GPC_START)
        keep_pointer(tokens, &n_tokens, h->start.token);
    if (id == SHI_AM_GPC && h->kind == SHI_GPC_REPLY && h->reply.flags & SHI_GPC_FETCH)
        keep_pointer(fins, &n_fins, h->reply.fin);
}

static int poll_nothing(int budget)
{
    (void)budget;
    return 0;
}

static int expose(int pe, const void *addr, size_t bytes, struct shi_am_src *out)
{
    (void)pe;
    if (n_exposed == POINTERS || once_in(no_expose))
        return -EOPNOTSUPP;
    static uint64_t handle;
    *out = exposed[n_exposed++] = (struct shi_am_src){.addr = (uint64_t)addr, .bytes = bytes, .handle = ++handle};
    return 0;
}

static void withdraw(int pe, const struct shi_am_src *src)
{
    (void)pe;
    for (int i = 0; i < n_exposed; i++)
        if (exposed[i].handle == src->handle)
            exposed[i] = exposed[--n_exposed];
}

/* Like hardware: memory that is not exposed cannot be read. */
static int fetch(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f)
{
    (void)pe, (void)f;
    for (int i = 0; i < n_exposed; i++)
        if (exposed[i].addr == src->addr && off <= exposed[i].bytes && bytes <= exposed[i].bytes - off) {
            memcpy(to, (const char *)src->addr + off, bytes);
            return 0;
        }
    return -EIO;
}

static const struct shi_am_carrier carrier = {.up = up, .reaches = reaches, .drop = drop, .begin = begin, .end = end,
                                              .poll = poll_nothing, .expose = expose,
                                              .lengths = {SHI_AM_MAX_BYTES, SHI_AM_MAX_BYTES - SHI_MESSAGE_HEAD_BYTES, SHI_AM_MAX_BYTES,
                                                          SHI_AM_MAX_BYTES},
                                              .withdraw = withdraw, .fetch_bytes = SIZE_MAX, .fetch = fetch};

/* ---- pointers ----------------------------------------------------------------------------------------------------- */

static int is_request(uint64_t p, int is_send)
{
    for (int i = 0; i < n_requests; i++)
        if (p == (uint64_t)&requests[i] && requests[i].is_send == is_send)
            return 1;
    return 0;
}

static void fix_request(uint64_t *p, int is_send)
{
    uint64_t at = *p;
    if (at == 0 || is_request(at, is_send))
        return;
    *p = 0;
    for (int i = 0; i < n_requests; i++)
        if (requests[i].is_send == is_send && (*p == 0 || (at >> i & 1)))
            *p = (uint64_t)&requests[i];
}

/* Take a pointer from the list, which is used once; 0: the list is empty. */
static void use_pointer(uint64_t *p, uint64_t *list, int *n)
{
    int at = 0;
    while (at < *n && list[at] != *p)
        at++;
    at = at < *n ? at : (int)(*p % POINTERS);
    *p = at < *n ? list[at] : 0;
    if (*p)
        list[at] = list[--*n];
}

static void fix_pointers(struct message *m)
{
    struct shi_tag_note *note = (struct shi_tag_note *)m->data;
    struct shi_tag_part *part = (struct shi_tag_part *)m->data;
    union shi_gpc_head *h = (union shi_gpc_head *)m->data;
    if (m->id == SHI_AM_TAG && (h->kind == SHI_TAG_FIN || h->kind == SHI_TAG_CLEAR || h->kind == SHI_TAG_TAKEN ||
                                h->kind == SHI_TAG_REFUSED || h->kind == SHI_TAG_CANCEL_ACK)) {
        fix_request(&note->send, 1);
        fix_request(&note->recv, 0);
    } else if (m->id == SHI_AM_TAG && h->kind == SHI_TAG_PART) {
        fix_request(&part->recv, 0);
    } else if (m->id == SHI_AM_GPC && h->kind == SHI_GPC_REPLY) {
        use_pointer(&h->reply.token, tokens, &n_tokens);
    } else if (m->id == SHI_AM_GPC && h->kind == SHI_GPC_FIN) {
        use_pointer(&h->fin.fin, fins, &n_fins);
    }
}

/* ---- deliveries --------------------------------------------------------------------------------------------------- */

/* The handler gets a message that ends at the end of its allocation. */
static void take_am(int pe, unsigned id, const void *msg, size_t bytes)
{
    static void *copy; /* of the last message, which may have been refused */
    free(copy);
    copy = memcpy(malloc(bytes), msg, bytes);
    shi_am_deliver(pe, (enum shi_am_id)id, copy, bytes);
}

static void deliver(const struct message *m)
{
    static _Alignas(8) char room[SHI_NET_MESSAGE_BYTES];
    struct head *h = (struct head *)room;
    struct record *r = (struct record *)(h + 1);
    *h = (struct head){.bytes = (uint32_t)(sizeof *h + sizeof *r + shi_round_up(m->bytes, 8))};
    *r = (struct record){.op = OP_AM, .what = (uint8_t)m->id, .bytes = (uint32_t)m->bytes};
    fill_head(h, m->pe == 2 ? FROM_2 : 0);
    memcpy(r + 1, m->data, m->bytes);
    if (!arrive(h)) { /* a longjmp may have left spin locks taken */
        shi_tag.lock = 0;
        for (int i = 0; shi_tag.up && i < PES; i++)
            shi_tag.peer[i].lock = 0;
    }
}

static void run_task(const void *task)
{
    struct shi_gpc_task *t = (struct shi_gpc_task *)task;
    t->run(t);
}

static void run_tasks(void)
{
    for (struct shi_gpc_task *t; (t = tasks);) {
        tasks = t->next;
        if (!tasks)
            last_task = &tasks;
        n_refused += !attempt(run_task, t);
    }
}

static void retry(const void *arg)
{
    (void)arg;
    source.poll();
}

/* Change the kind of a tagged message or GPC, and its length accordingly. */
static void change_kind(struct message *m, uint64_t value)
{
    static const size_t lengths[] = {[SHI_TAG_READY] = sizeof(struct shi_tag_rts), [SHI_TAG_OFFER] = sizeof(struct shi_tag_offer),
                                     [SHI_TAG_CLAIM] = offsetof(struct shi_tag_claim, query) + sizeof(struct shi_tag_query),
                                     [SHI_TAG_CANCEL_ACK] = 0};
    unsigned kind = (unsigned)(value >> 8) % (SHI_TAG_CANCEL_ACK + 3);
    m->data[0] = (char)kind;
    if (m->id == SHI_AM_TAG && value & 16 && kind <= SHI_TAG_CANCEL_ACK)
        m->bytes = lengths[kind] ? lengths[kind] : sizeof(struct shi_tag_note);
    else if (m->id == SHI_AM_GPC && value & 16 && kind == SHI_GPC_FIN)
        m->bytes = sizeof(struct shi_gpc_fin);
}

/* Make one change to a message. 1: it must arrive a second time. */
static int change(struct message *m, struct input *in)
{
    size_t at = take(in, 1), n = 1u << take(in, 1) % 4;
    unsigned how = (unsigned)take(in, 1);
    uint64_t value = take(in, 8), now = 0;
    at = at % 16 < 14 ? at / 2 * 2 : at * 37;
    at = m->bytes > n ? at % (m->bytes - n + 1) : 0;
    switch (how % 16) {
    case 0: m->bytes = value % (m->bytes + 1); break;
    case 1: m->bytes += value % 64; break;
    case 2: return 1;
    case 3: m->pe = 3 - m->pe; break;
    case 4: m->id = (unsigned)value % 4; break;
    case 5: case 6: change_kind(m, value); break;
    default:
        memcpy(&now, m->data + at, n);
        value = how & 16 ? now + value : value;
        memcpy(m->data + at, &value, n);
    }
    if (m->bytes > SHI_AM_MAX_BYTES)
        m->bytes = SHI_AM_MAX_BYTES;
    return 0;
}

/* Deliver all messages, with message number `step` changed. */
static void converse(int step, struct input *in)
{
    for (int i = 0; i < STEPS && (n_queue || tasks); i++) {
        run_tasks();
        if (n_queue) {
            changed = queue[0];
            memmove(queue, queue + 1, (size_t)--n_queue * sizeof *queue);
            int twice = 0;
            while (i == step && in->left)
                twice = change(&changed, in);
            fix_pointers(&changed);
            deliver(&changed);
            if (twice) {
                fix_pointers(&changed);
                deliver(&changed);
            }
        }
        attempt(retry, NULL);
    }
}

/* ---- scripts ------------------------------------------------------------------------------------------------------ */

static int handle, chained_handle;

static int echo(shmemx_gpc_call_t *c)
{
    if (c->hlen && c->hlen <= c->rhlen)
        memcpy(c->rhdr, c->hdr, c->rhsize = c->hlen);
    if (c->dlen && c->dlen <= c->rdlen)
        memcpy(c->rdata, c->data, c->rdsize = c->dlen);
    return 0;
}

/* Room for so many bytes that end at a page that cannot be accessed. */
static char *ending(int slot, size_t bytes)
{
    static char *room[REQUESTS + 2 * CALLS];
    room[slot] = room[slot] ? room[slot] : guarded(ROOM);
    return room[slot] + ROOM - bytes;
}

static void call(int chained, size_t hlen, size_t bytes, int tree)
{
    static shmemx_gpc_nbh_t nbh[CALLS];
    static char hdr[SHI_GPC_HLEN];
    static const int ids[] = {1, 2}, below[] = {1, 0};
    static int n;
    int i = n++ % CALLS;
    char *rhdr = ending(REQUESTS + 2 * i, hlen), *rdata = ending(REQUESTS + 2 * i + 1, bytes);
    struct shi_gpc_params w = {.team = &shi_team_world, .func = handle, .callback = SHMEMX_GPC_NONE, .plain = !chained,
                               .pe = 1, .nested = 1, .tree = chained ? tree : SHMEMX_GPC_NONE, .hdr = hdr, .hlen = hlen,
                               .data = buffers[0], .dlen = bytes, .rhdr = rhdr, .rhlen = hlen, .rdata = rdata,
                               .rdlen = bytes, .nbh = &nbh[i]};
    if (chained) {
        w.idlen = 2;
        w.ids = ids;
        w.below = tree >= SHI_GPC_FIRST_HANDLE ? below : NULL;
    }
    shi_gpc_start(&w);
}

static struct shmemx_tag_request *new_request(int is_send)
{
    struct shmemx_tag_request *r = &requests[n_requests++ % REQUESTS];
    memset(r, 0, sizeof *r);
    r->is_send = is_send;
    n_requests = n_requests < REQUESTS ? n_requests : REQUESTS;
    return r;
}

static void send(size_t bytes, uint64_t tag, int sync)
{
    const struct shi_tag_data data = {.one = {buffers[0], bytes}, .bytes = bytes};
    if (!sync && shi_tag_send_now(&shi_team_world, &data, tag, 1))
        return;
    shi_tag_send(new_request(1), &shi_team_world, &data, tag, 1, sync);
}

static void receive(size_t bytes, uint64_t tag)
{
    struct shmemx_tag_request *r = new_request(0);
    const struct shi_tag_params params = {.key = {.tag = tag, .mask = tag ? ~0ull : 0, .source = SHI_MATCH_ANY},
                                          .pe = SHI_MATCH_ANY};
    char *to = ending((int)(r - requests), bytes);
    shi_tag_recv(r, &params, &(struct shi_tag_data){.one = {to, bytes}, .bytes = bytes});
}

/* Tagged messages of one length: eager, in parts, by a header; expected or not; more than the receiver's window. */
static void tags(unsigned script, size_t bytes)
{
    int n = script & 8 ? 6 : 2;
    for (int i = 0; i < n && script & 1; i++)
        receive(script & 2 ? bytes : bytes / 2 + 8, (uint64_t)(script & 16 ? 0 : i + 1));
    for (int i = 0; i < n; i++)
        send(bytes, (uint64_t)i + 1, script & 4 && i % 2);
    for (int i = 0; i < n_requests && script & 64; i++)
        if (requests[i].is_send && i % 3 != 2)
            shi_tag_cancel_send(&requests[i]);
}

static void gpcs(unsigned script, size_t bytes)
{
    call(script & 1, script & 2 ? 900 : 8, bytes, script & 4 ? chained_handle : script & 8 ? SHMEMX_GPC_BINOMIAL : 0);
    if (script & 16)
        call(0, 40, bytes / 2, 0);
}

static void close_conversation(void)
{
    shi_tag_down();
    shi_am_down();
    shi_am_up(&(struct shi_am_world){.n_pes = PES}, &carrier);
    tasks = NULL;
    last_task = &tasks;
    n_queue = n_requests = n_exposed = n_tokens = n_fins = 0;
}

static void try_handlers(struct input *in)
{
    static const size_t lengths[] = {0, 8, 33, 500, 7000, SHI_AM_MAX_BYTES - 40, 12000, LONG};
    unsigned script = (unsigned)take(in, 1), what = (unsigned)take(in, 1);
    int step = (int)take(in, 1) % STEPS;
    size_t bytes = lengths[what % 8];
    dice = (unsigned)take(in, 2) * 2654435761u + 1;
    no_room = what & 8 ? 3 : 0;
    no_expose = what & 16 ? 1 : 0;
    shi_world.config.tag_eager_bytes = what & 32 ? 600 : 20000;
    shi_world.config.tag_unexpected_headers_per_peer = what & 64 ? 1 : 100;
    am_is_live = 1;
    shi_tag_start("fuzz");
    if (script & 128)
        gpcs(script, bytes);
    else
        tags(script, bytes);
    converse(step, in);
    for (int i = 0; !(script & 128) && i < 6; i++)
        receive(bytes, script & 32 ? 0 : (uint64_t)i + 1);
    converse(step - 20, in);
    close_conversation();
    am_is_live = 0;
}

static void make_handlers(void)
{
    shi_world.config = (struct shi_config){.tag_unexpected_bytes = 1 << 20, .tag_unexpected_per_peer = 60000,
                                           .tag_unexpected_headers = 1000, .tag_eager_bytes = 20000};
    memset(buffers, 7, sizeof buffers);
    shi_am_up(&(struct shi_am_world){.n_pes = PES}, &carrier);
    if (shi_tag_prepare() || shi_gpc_up())
        abort();
    handle = shi_gpc_register("fuzz", SHI_GPC_FUNC, (union shi_gpc_entry){.func = echo});
    chained_handle = handle + 1; /* of a program's tree, which only the root evaluates */
}

#endif

/* tag_recv.c - the receiver's side of tagged messages: matching, and receiving the payload. */
#include <errno.h>
#include <string.h>

#include "host/tag/tag.h"
#include "host/util/log.h"

/* A head that has arrived, whatever its kind. */
struct arrival {
    int pe;
    const struct shi_tag_head *head;
    size_t total;
    uint64_t send; /* the send request for FIN, or 0 */
    const char *payload;
    size_t have;   /* bytes of it */
    const struct shi_tag_rts *rts;
};

static struct shmemx_tag_request discard; /* claims messages that are to be discarded */
static uint64_t dead[SHI_SLOTS];         /* teams of a slot with numbers below this have ended; under shi_tag.lock */

static struct arrival read_head(int pe, const void *msg, size_t bytes)
{
    const struct shi_tag_long_head *h = msg;
    struct arrival a = {.pe = pe, .head = msg};
    if (a.head->kind == SHI_TAG_EAGER) {
        a.payload = (const char *)(a.head + 1);
        a.total = a.have = bytes - sizeof *a.head;
        return a;
    }
    a.send = h->send;
    a.payload = (const char *)(h + 1);
    a.have = bytes - sizeof *h;
    a.total = a.head->kind == SHI_TAG_EAGER_SYNC ? a.have : h->total;
    a.rts = a.head->kind == SHI_TAG_READY ? msg : NULL;
    return a;
}

/* ---- answers to the sender --------------------------------------------------------------------------------------- */

static void send_fin(int pe, uint64_t send)
{
    const struct shi_tag_note note = {.kind = SHI_TAG_FIN, .send = send};
    if (send)
        shi_tag_notify(pe, &note);
}

/* Under the lock: `cost` bytes of a window are free again. Bytes for a CREDIT now, which is sent a quarter of the window at a
 * time; else 0. */
static uint64_t add_credit(int pe, size_t cost)
{
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    p->credit_due += cost;
    if (shi_likely(p->credit_due < p->window / 4))
        return 0;
    uint64_t now = p->credit_due;
    p->credit_due = 0;
    return now;
}

static void send_credit(int pe, uint64_t bytes)
{
    const struct shi_tag_note note = {.kind = SHI_TAG_CREDIT, .bytes = bytes};
    if (shi_unlikely(bytes))
        shi_tag_notify(pe, &note);
}

/* ---- the payload ------------------------------------------------------------------------------------------------- */

static void set_match(struct shmemx_tag_request *r, int pe, const struct shi_match_key *k, size_t total)
{
    r->pe = pe;
    r->status = (shmemx_tag_status_t){.tag = k->tag, .bytes = total, .source = k->source,
                                      .truncated = total > r->data.bytes};
}

/* Bytes of the message that fit the receive's buffers. */
static size_t wanted(const struct shmemx_tag_request *r)
{
    return r->status.bytes < r->data.bytes ? r->status.bytes : r->data.bytes;
}

static void received(struct shmemx_tag_request *r)
{
    send_fin(r->pe, r->send);
    shi_tag_complete(r);
}

/* The rest cannot be fetched: request it by CLEAR. */
static void ask_for_rest(struct shmemx_tag_request *r)
{
    size_t at = r->flow.got;
    r->flow.total = wanted(r);
    const struct shi_tag_note note = {.kind = SHI_TAG_CLEAR, .send = r->send, .recv = (uint64_t)r, .at = at,
                                      .bytes = r->flow.total - at};
    shi_tag_notify(r->pe, &note);
}

/* Fetch the rest, piece by piece. 0: complete; -EINPROGRESS: `fetched` will be called; another -errno. */
static int fetch(struct shmemx_tag_request *r)
{
    size_t want = wanted(r), most = shi_am_fetch_bytes(r->pe), some;
    while (r->flow.got < want) {
        void *to = shi_tag_piece(&r->data, r->flow.got, &some);
        r->end = some < want - r->flow.got ? some : want - r->flow.got;
        r->end = r->end < most ? r->end : most;
        int err = shi_am_fetch(r->pe, &r->src, r->flow.got, to, r->end, &r->fetch);
        if (err)
            return err;
        r->flow.got += r->end;
    }
    return 0;
}

static int fetch_on(struct shmemx_tag_request *r)
{
    int err = fetch(r);
    if (err == 0)
        received(r);
    else if (err != -EINPROGRESS && err != -EAGAIN)
        ask_for_rest(r);
    return err;
}

static int fetch_again(struct shi_am_pending_send *pending_send)
{
    struct shmemx_tag_request *r = shi_container_of(pending_send, struct shmemx_tag_request, pending_send);
    return fetch_on(r) == -EAGAIN ? -EAGAIN : 0;
}

static void start_fetch(struct shmemx_tag_request *r)
{
    r->pending_send.retry = fetch_again;
    if (fetch_on(r) == -EAGAIN)
        shi_am_queue(r->pe, &r->pending_send);
}

static void fetched(struct shi_am_fetch *f, int err)
{
    struct shmemx_tag_request *r = shi_container_of(f, struct shmemx_tag_request, fetch);
    if (err) {
        ask_for_rest(r);
        return;
    }
    r->flow.got += r->end;
    start_fetch(r);
}

/* A header has matched r. */
static void receive_header(struct shmemx_tag_request *r, uint64_t send, const struct shi_am_src *src)
{
    r->send = send;
    r->flow.got = 0;
    r->fetch.done = fetched;
    r->src = *src;
    if (src->bytes || !wanted(r))
        start_fetch(r);
    else
        ask_for_rest(r);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static void begin_flow(struct shi_tag_flow *f, const struct arrival *a, struct shmemx_tag_request *r,
                       struct shmemx_tag_message *to)
{
    struct shi_tag_peer *p = shi_tag_peer_of(a->pe);
    *f = (struct shi_tag_flow){.next = p->flows, .id = a->head->id, .recv = r, .to = to, .total = a->total,
                               .got = a->have};
    p->flows = f;
}

/* All parts of an unexpected message have arrived: deliver it to r, which has claimed it. */
static void deliver(struct shmemx_tag_request *r, struct shmemx_tag_message *m)
{
    if (r == &discard) {
        send_fin(m->pe, m->send);
        shi_tag_free_message(m);
        return;
    }
    r->send = m->send;
    shi_tag_scatter(&r->data, 0, m->payload, m->total);
    shi_tag_free_message(m);
    received(r);
}

static void end_flow(struct shi_tag_flow *f)
{
    struct shmemx_tag_message *m = f->to;
    if (f->recv) {
        received(f->recv);
        return;
    }
    shi_spin_lock(&shi_tag.lock);
    m->whole = 1;
    struct shmemx_tag_request *r = m->claimed;
    shi_spin_unlock(&shi_tag.lock);
    if (r)
        deliver(r, m);
}

/* Parts arrive in order. */
static void check_part(int pe, const struct shi_tag_flow *f, const struct shi_tag_part *part, size_t bytes)
{
    if (part->at != f->got || bytes > f->total - f->got)
        shi_am_refuse(pe, "a part of a tagged message that does not follow the one before");
}

void shi_tag_on_part(int pe, const struct shi_tag_part *part, size_t bytes)
{
    const char *payload = (const char *)(part + 1);
    struct shmemx_tag_request *r = (struct shmemx_tag_request *)part->recv;
    bytes -= sizeof *part;
    if (r) { /* sent for a CLEAR: the sender needs no FIN */
        if (r->is_send || r->pe != pe)
            shi_am_refuse(pe, "a part of another PE's tagged message");
        check_part(pe, &r->flow, part, bytes);
        shi_tag_scatter(&r->data, part->at, payload, bytes);
        r->flow.got += bytes;
        if (r->flow.got == r->flow.total)
            shi_tag_complete(r);
        return;
    }
    struct shi_tag_flow **at = &shi_tag_peer_of(pe)->flows;
    while (*at && (*at)->id != part->id)
        at = &(*at)->next;
    struct shi_tag_flow *f = *at;
    if (!f)
        return; /* of a team that has ended */
    check_part(pe, f, part, bytes);
    if (f->recv)
        shi_tag_scatter(&f->recv->data, part->at, payload, bytes);
    else
        shi_copy_lines(f->to->payload + part->at, payload, bytes);
    f->got += bytes;
    if (f->got == f->total) {
        *at = f->next;
        end_flow(f);
    }
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

void shi_tag_accept_header(struct shmemx_tag_request *r, int pe, const struct shi_tag_rts *rts)
{
    const struct shi_match_key k = shi_tag_key_of(&rts->head.head);
    set_match(r, pe, &k, rts->head.total);
    receive_header(r, rts->head.send, &rts->src);
}

static void accept(struct shmemx_tag_request *r, const struct arrival *a)
{
    if (a->rts) {
        shi_tag_accept_header(r, a->pe, a->rts);
        return;
    }
    const struct shi_match_key k = shi_tag_key_of(a->head);
    set_match(r, a->pe, &k, a->total);
    r->send = a->send;
    shi_tag_scatter(&r->data, 0, a->payload, a->have);
    if (a->head->kind == SHI_TAG_EAGER_LONG)
        begin_flow(&r->flow, a, r, NULL);
    else
        received(r);
}

/* A new unexpected message: of a header (rts), or else with room for the payload, which the caller fills in. NULL without
 * memory. */
static struct shmemx_tag_message *new_message(int pe, const struct shi_tag_head *h, size_t total, uint64_t send,
                                              const struct shi_tag_rts *rts)
{
    struct shmemx_tag_message *m = shi_kept_get(&shi_tag_kept, sizeof *m + (rts ? 0 : total));
    if (!m)
        return NULL;
    m->entry.key = shi_tag_key_of(h);
    m->pe = pe;
    m->kind = rts ? SHI_TAG_READY : h->kind;
    m->total = total;
    m->cost = rts ? 0 : shi_tag_cost(total);
    m->send = send;
    m->whole = m->kind != SHI_TAG_EAGER_LONG;
    m->held = 0;
    m->claimed = NULL;
    if (rts)
        m->src = rts->src;
    return m;
}

void shi_tag_free_message(struct shmemx_tag_message *m)
{
    if (m)
        shi_kept_put(&shi_tag_kept, m, sizeof *m + (m->kind == SHI_TAG_READY ? 0 : m->total));
}

struct shmemx_tag_message *shi_tag_message_of(int pe, const struct shi_tag_rts *rts)
{
    return new_message(pe, &rts->head.head, rts->head.total, rts->head.send, rts);
}

/* Under the lock: one more, or one fewer, of the PE's unmatched headers here. */
static void hold(struct shmemx_tag_message *m)
{
    m->held = 1;
    shi_tag.full += ++shi_tag_peer_of(m->pe)->held == shi_tag_peer_of(m->pe)->header_window;
}

static void release(struct shmemx_tag_message *m)
{
    shi_tag.full -= shi_tag_peer_of(m->pe)->held-- == shi_tag_peer_of(m->pe)->header_window;
    m->held = 0;
}

/* Under the lock: store an unexpected message. It is within the sender's window, so there should be memory. */
static void keep(const struct arrival *a)
{
    struct shmemx_tag_message *m = new_message(a->pe, a->head, a->total, a->send, a->rts);
    if (!m)
        shi_die("shmemx_tag", "out of memory for a message of %zu bytes from PE %d (see SHMEM_TAG_UNEXPECTED_BYTES)",
                a->total, a->pe);
    if (a->rts)
        hold(m);
    else
        shi_copy_lines(m->payload, a->payload, a->have);
    if (!m->whole)
        begin_flow(&m->flow, a, NULL, m);
    shi_match_add(&shi_tag.arrived, &m->entry);
}

void shi_tag_on_head(int pe, const void *msg, size_t bytes)
{
    struct arrival a = read_head(pe, msg, bytes);
    const struct shi_match_key k = shi_tag_key_of(a.head);
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    uint64_t credit = 0;
    shi_spin_lock(&shi_tag.lock);
    int gone = shi_unlikely(k.team < dead[shi_team_slot_of(k.team)]);
    struct shmemx_tag_request *r = gone ? NULL : (struct shmemx_tag_request *)shi_match_find(&shi_tag.posted, &k);
    if (r) {
        shi_match_remove(&shi_tag.posted, &r->entry);
        r->posted = 0;
    }
    if ((r || gone) && !a.rts)
        credit = add_credit(pe, shi_tag_cost(a.total));
    if (!r && !gone)
        keep(&a);
    int full = a.rts && shi_tag_is_full(p);
    shi_spin_unlock(&shi_tag.lock);
    if (full)
        shi_tag_claim(pe);
    if (r)
        accept(r, &a);
    else if (gone)
        send_fin(pe, a.send);
    send_credit(pe, credit);
}

/* Under the lock: take a message out. Bytes for a CREDIT, as from add_credit. */
static uint64_t take(struct shmemx_tag_message *m)
{
    shi_match_remove(&shi_tag.arrived, &m->entry);
    return m->cost ? add_credit(m->pe, m->cost) : 0;
}

/* Under the lock: the unmatched message of a send. Walks the list: cancels are rare. */
static struct shmemx_tag_message *find_send(int pe, uint64_t send)
{
    for (struct shi_match_entry *e = shi_tag.arrived.first; e; e = e->next) {
        struct shmemx_tag_message *m = (struct shmemx_tag_message *)e;
        if (m->pe == pe && m->send == send)
            return m;
    }
    return NULL;
}

void shi_tag_on_cancel(int pe, const struct shi_tag_note *note)
{
    uint64_t credit = 0;
    if (!note->send)
        shi_am_refuse(pe, "a cancel of no message");
    shi_spin_lock(&shi_tag.lock);
    struct shmemx_tag_message *m = find_send(pe, note->send);
    if (m) {
        credit = take(m);
        if (m->held)
            release(m);
    }
    shi_spin_unlock(&shi_tag.lock);
    if (m && !m->whole)
        shi_am_refuse(pe, "a cancel within a message");
    const struct shi_tag_note answer = {.kind = SHI_TAG_CANCEL_ACK, .send = note->send, .bytes = m != NULL};
    shi_tag_free_message(m);
    shi_tag_notify(pe, &answer);
    send_credit(pe, credit);
}

/* ---- receives ---------------------------------------------------------------------------------------------------- */

void shi_tag_recv_message(struct shmemx_tag_request *r, struct shmemx_tag_message *m, const struct shi_tag_data *data)
{
    r->data = *data;
    r->posted = 0;
    set_match(r, m->pe, &m->entry.key, m->total);
    if (m->kind == SHI_TAG_READY) {
        if (m->held) { /* a probe has taken it, but it still counts */
            shi_spin_lock(&shi_tag.lock);
            release(m);
            shi_spin_unlock(&shi_tag.lock);
        }
        uint64_t send = m->send;
        const struct shi_am_src src = m->src;
        shi_tag_free_message(m);
        receive_header(r, send, &src);
        return;
    }
    shi_spin_lock(&shi_tag.lock);
    int whole = m->whole;
    m->claimed = r;
    shi_spin_unlock(&shi_tag.lock);
    if (whole)
        deliver(r, m);
}

void shi_tag_recv(struct shmemx_tag_request *r, const struct shi_tag_params *params, const struct shi_tag_data *data)
{
    uint64_t credit = 0;
    int pe = 0, claims = 0;
    r->entry.key = params->key;
    r->data = *data;
    shi_spin_lock(&shi_tag.lock);
    struct shmemx_tag_message *m = (struct shmemx_tag_message *)shi_match_find(&shi_tag.arrived, &params->key);
    if (m) {
        pe = m->pe;
        credit = take(m);
        if (m->held)
            release(m);
    } else {
        r->posted = 1;
        r->pe = params->pe;
        shi_match_add(&shi_tag.posted, &r->entry);
        claims = shi_tag.full != 0;
    }
    shi_spin_unlock(&shi_tag.lock);
    if (m)
        shi_tag_recv_message(r, m, data);
    send_credit(pe, credit);
    if (shi_unlikely(claims))
        shi_tag_claim(params->pe);
}

static int probe(const struct shi_tag_params *params, struct shmemx_tag_message **taken, shmemx_tag_status_t *status,
                int *full)
{
    uint64_t credit = 0;
    int pe = 0;
    shi_spin_lock(&shi_tag.lock);
    struct shmemx_tag_message *m = (struct shmemx_tag_message *)shi_match_find(&shi_tag.arrived, &params->key);
    if (m) {
        *status = (shmemx_tag_status_t){.tag = m->entry.key.tag, .bytes = m->total, .source = m->entry.key.source};
        pe = m->pe;
        if (taken)
            credit = take(m);
    }
    *full = shi_tag.full;
    shi_spin_unlock(&shi_tag.lock);
    send_credit(pe, credit);
    if (taken)
        *taken = m;
    return m != NULL;
}

int shi_tag_probe(const struct shi_tag_params *params, struct shmemx_tag_message **taken, shmemx_tag_status_t *status)
{
    int full;
    if (probe(params, taken, status, &full))
        return 1;
    /* Messages that arrive during the claims precede those that senders keep. */
    return shi_unlikely(full) && (shi_tag_probe_kept(params, taken, status) || probe(params, taken, status, &full));
}

int shi_tag_probe_step(struct shi_tag_search *s, const struct shi_tag_params *params, shmemx_tag_status_t *status)
{
    int full, found;
    if (!s->begun && ((found = probe(params, NULL, status, &full)) || !full))
        return found;
    found = shi_tag_search(s, params, NULL, status);
    return found ? found : probe(params, NULL, status, &full); /* as above */
}

void shi_tag_cancel(struct shmemx_tag_request *r)
{
    shi_spin_lock(&shi_tag.lock);
    int posted = r->posted;
    if (posted)
        shi_match_remove(&shi_tag.posted, &r->entry);
    r->posted = 0;
    shi_spin_unlock(&shi_tag.lock);
    if (!posted)
        return;
    r->status = (shmemx_tag_status_t){.cancelled = 1, .source = SHMEMX_TAG_ANY_SOURCE};
    shi_tag_complete(r);
}

/* ---- the end of a team ------------------------------------------------------------------------------------------- */

/* Under the lock: take out the next message of a team that has ended; *credit: bytes for a CREDIT. */
static struct shmemx_tag_message *take_dead(uint64_t team, uint64_t *credit)
{
    struct shi_match_entry *e = shi_tag.arrived.first;
    while (e && e->key.team != team)
        e = e->next;
    struct shmemx_tag_message *m = (struct shmemx_tag_message *)e;
    if (!m)
        return NULL;
    *credit = take(m);
    if (m->held)
        release(m);
    if (!m->whole)
        m->claimed = &discard;
    return m;
}

void shi_tag_forget(const struct shmem_team *t)
{
    shi_spin_lock(&shi_tag.lock);
    dead[t->index] = t->number + 1; /* also if no message has arrived yet */
    shi_spin_unlock(&shi_tag.lock);
    while (shi_tag.up) {
        uint64_t credit = 0;
        shi_spin_lock(&shi_tag.lock);
        struct shmemx_tag_message *m = take_dead(t->number, &credit);
        int whole = m && m->whole;
        int pe = m ? m->pe : 0;
        shi_spin_unlock(&shi_tag.lock);
        if (!m)
            return;
        if (whole)
            deliver(&discard, m);
        send_credit(pe, credit);
    }
}

/* tag_recv.c - the receiver's side of tagged messages: which receive gets which message, and the credit for what is received. */
#include "host/tag/tag.h"

#include <errno.h>

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

/* ---- matching ---------------------------------------------------------------------------------------------------- */

static void accept(struct shmemx_tag_request *r, const struct arrival *a)
{
    if (a->rts) {
        shi_tag_accept_header(r, a->pe, a->rts);
        return;
    }
    const struct shi_match_key k = shi_tag_key_of(a->head);
    shi_tag_set_match(r, a->pe, &k, a->total);
    r->send = a->send;
    shi_tag_scatter(&r->data, 0, a->payload, a->have);
    if (a->head->kind == SHI_TAG_EAGER_LONG) {
        r->flow.recv = r;
        __atomic_store_n(&r->awaits, 1, __ATOMIC_RELEASE); /* R5 */
        shi_tag_begin_flow(&r->flow, a->pe, a->head->id, a->total, a->have);
    } else {
        shi_tag_received(r);
    }
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
    struct shmemx_tag_message *m = shi_tag_new_message(a->pe, a->head, a->total, a->send, a->rts);
    if (!m)
        shi_die("shmemx_tag", "out of memory for a message of %zu bytes from PE %d, for which no receive is posted",
                a->total, a->pe);
    if (a->rts)
        hold(m);
    else
        shi_copy_lines(m->payload, a->payload, a->have);
    if (!m->whole) {
        m->flow.recv = NULL;
        m->flow.to = m;
        shi_tag_begin_flow(&m->flow, a->pe, a->head->id, a->total, a->have);
    }
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
    else if (gone && a.send)
        shi_tag_send_fin(pe, a.send);
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
    r->posted = r->awaits = 0;
    shi_tag_set_match(r, m->pe, &m->entry.key, m->total);
    if (m->kind == SHI_TAG_READY) {
        if (m->held) { /* a probe has taken it, but it still counts */
            shi_spin_lock(&shi_tag.lock);
            release(m);
            shi_spin_unlock(&shi_tag.lock);
        }
        uint64_t send = m->send;
        const struct shi_am_src src = m->src;
        shi_tag_free_message(m);
        shi_tag_receive_header(r, send, &src);
        return;
    }
    shi_spin_lock(&shi_tag.lock);
    int whole = m->whole;
    m->claimed = r;
    r->awaits = !whole;
    shi_spin_unlock(&shi_tag.lock);
    if (whole)
        shi_tag_deliver(r, m);
}

void shi_tag_recv(struct shmemx_tag_request *r, const struct shi_tag_params *params, const struct shi_tag_data *data)
{
    uint64_t credit = 0;
    int pe = 0, claims = 0;
    r->entry.key = params->key;
    r->data = *data;
    r->awaits = 0;
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

int shi_tag_unpost(struct shmemx_tag_request *r)
{
    int posted = r->posted;
    if (posted)
        shi_match_remove(&shi_tag.posted, &r->entry);
    r->posted = 0;
    return posted;
}

void shi_tag_cancel(struct shmemx_tag_request *r)
{
    shi_spin_lock(&shi_tag.lock);
    int posted = shi_tag_unpost(r);
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
        m->claimed = &shi_tag_discard;
    return m;
}

void shi_tag_recv_leave(void)
{
    memset(dead, 0, sizeof dead);
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
            shi_tag_deliver(&shi_tag_discard, m);
        send_credit(pe, credit);
    }
}

/*
 * tag_claim.c - the receiver's side of claims: how receives and probes find messages that their senders keep.
 *
 * A sender keeps messages once its unmatched headers here fill its window (tag_send.c). Then this PE asks the sender, with
 * CLAIM, for a message that matches one of the receives posted here. The sender offers the first kept message that
 * matches. This PE takes the offer if the receive it is for is still the earliest posted one that matches the message, and
 * refuses it otherwise; a refused message stays in its place. So:
 *
 *   - Memory stays bounded: a receive or a probe takes an offer, or nothing of it is stored here.
 *   - Messages do not overtake: those sent before the offer have arrived and do not match the receive, nor do those
 *     kept before the offered message; the sender sends none behind an offered message.
 *   - Receives do not overtake: an offer that matches an earlier receive is refused. That receive was claimed for before
 *     the message was kept, so it is claimed for again.
 *   - Every receive is claimed for, and again when the sender keeps more messages after it has answered a claim: it sends
 *     NEWS. The next round begins when the last receive has been claimed for, not at once, so that a sender that always
 *     keeps more does not delay receives.
 *
 * At most one claim is open for each sender. A probe's claim has a single query and alternates with claims of receives. Its
 * offer is refused if a posted receive matches the message, or if a message that the probe accepts has arrived meanwhile;
 * a probe that does not take the message has its status from the offer, and refuses it.
 *
 *   word        written by           read by      order
 *   probing     under shi_tag.lock   the same     spin.h; the prober polls .key without: R1 -> A1 the answer is here
 *   prober      probers              the same     spin.h; one probes at a time, perhaps in several calls
 *
 * Checked by test/model/tag_claim.pml.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "host/net/node/progress.h"
#include "host/ops/wait.h"
#include "host/tag/tag.h"
#include "host/util/log.h"

static uint8_t prober;

/* The probe that is under way. */
static struct {
    const struct shi_match_key *key; /* NULL: it is answered, or there is none */
    int pe;                          /* the sender */
    int takes, found;
    struct shmemx_tag_message *taken;
    shmemx_tag_status_t status;
} probing;

/* ---- claims ------------------------------------------------------------------------------------------------------ */

static int accepts(const struct shi_match_entry *e, int pe)
{
    const struct shmemx_tag_request *r = (const struct shmemx_tag_request *)e;
    return r->pe == pe || r->pe == SHI_MATCH_ANY;
}

/* Under the lock: the first receive posted as number `seq` or later that accepts messages of PE pe, or NULL. */
static const struct shi_match_entry *next_posted(uint64_t seq, int pe)
{
    const struct shi_match_entry *e = shi_tag.posted.last;
    if (!e || e->seq < seq)
        return NULL;
    while (e->prev && e->prev->seq >= seq)
        e = e->prev;
    while (e && !accepts(e, pe))
        e = e->next;
    return e;
}

/* Under the lock: the first receive to claim for, or NULL. */
static const struct shi_match_entry *next_to_ask(struct shi_tag_peer *p, int pe)
{
    const struct shi_match_entry *e = next_posted(p->next_claim, pe);
    if (!e && p->again) {
        p->again = 0;
        p->next_claim = 0;
        e = next_posted(0, pe);
    }
    if (!e)
        p->next_claim = shi_tag.posted.seq;
    return e;
}

static struct shi_tag_query query_of(const struct shi_match_key *k, uint64_t seq)
{
    return (struct shi_tag_query){.tag = k->tag, .mask = k->mask, .seq = seq, .team = k->team};
}

/* Under the lock: fill in the next queries for PE pe. Their number, 0: none. Queries may be repeated. */
static uint32_t fill(struct shi_tag_peer *p, int pe, struct shi_tag_query *q)
{
    uint32_t n = 0;
    if (!shi_tag_is_full(p))
        return 0;
    const struct shi_match_entry *e = next_to_ask(p, pe);
    p->probing = probing.key && probing.pe == pe && !(e && p->probed);
    if (p->probing) {
        q[0] = query_of(probing.key, SHI_TAG_PROBE);
        return 1;
    }
    for (; e && n < SHI_TAG_QUERIES; e = e->next) {
        if (accepts(e, pe))
            q[n++] = query_of(&e->key, e->seq);
        p->last = e->seq;
    }
    return n;
}

/* Send a PE's claim, which is filled in once a message slot is free. */
static int claim(struct shi_am_pending_send *pending_send)
{
    struct shi_tag_peer *p = shi_container_of(pending_send, struct shi_tag_peer, claim);
    int pe = (int)(p - shi_tag.peer);
    struct shi_tag_claim c;
    shi_spin_lock(&shi_tag.lock);
    c.kind = SHI_TAG_CLAIM;
    c.n = fill(p, pe, c.query);
    p->open = c.n != 0;
    shi_spin_unlock(&shi_tag.lock);
    if (!c.n)
        return 0;
    size_t bytes = offsetof(struct shi_tag_claim, query) + c.n * sizeof *c.query;
    void *room = shi_am_begin(pe, SHI_AM_TAG, bytes);
    if (!room)
        return -EAGAIN;
    memcpy(room, &c, bytes);
    shi_am_end(pe, bytes);
    return 0;
}

static void claim_from(int pe)
{
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    shi_spin_lock(&shi_tag.lock);
    int is_open = p->open;
    p->open = 1;
    shi_spin_unlock(&shi_tag.lock);
    if (is_open)
        return; /* its answer starts the next */
    p->claim.retry = claim;
    if (claim(&p->claim))
        shi_am_queue(pe, &p->claim);
}

/* The first PE from `pe` on that is full, or n_pes. */
static int next_full(int pe)
{
    shi_spin_lock(&shi_tag.lock);
    while (pe < shi_world.n_pes && !shi_tag_is_full(&shi_tag.peer[pe]))
        pe++;
    shi_spin_unlock(&shi_tag.lock);
    return pe;
}

void shi_tag_claim(int pe)
{
    if (pe != SHI_MATCH_ANY)
        claim_from(pe);
    else
        for (int i = next_full(0); i < shi_world.n_pes; i = next_full(i + 1))
            claim_from(i);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Under the lock. */
static void end_probe(void)
{
    __atomic_store_n(&probing.key, NULL, __ATOMIC_RELEASE); /* R1 */
}

/* The open claim is answered, and so is the offer that was the answer: the sender has one offer open at a time, and TAKEN
 * must reach it before the FIN that a probe's program may cause. */
static void close_claim(int pe)
{
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    shi_spin_lock(&shi_tag.lock);
    p->open = 0;
    p->probed = p->probing;
    if (p->probing)
        end_probe();
    p->probing = 0;
    shi_spin_unlock(&shi_tag.lock);
    claim_from(pe);
}

/* Its header window is open from now on: no claim is sent to it. */
void shi_tag_forget_claims(int pe)
{
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    shi_spin_lock(&shi_tag.lock);
    shi_tag.full -= shi_tag_is_full(p);
    __atomic_store_n(&p->header_window, UINT64_MAX, __ATOMIC_RELAXED);
    p->open = 0;
    if (p->probing)
        end_probe();
    p->probing = 0;
    shi_spin_unlock(&shi_tag.lock);
}

static void check_claimed(int pe)
{
    shi_spin_lock(&shi_tag.lock);
    int is_open = shi_tag_peer_of(pe)->open;
    shi_spin_unlock(&shi_tag.lock);
    if (!is_open)
        shi_am_refuse(pe, "an answer to no claim of this PE");
}

void shi_tag_on_none(int pe)
{
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    check_claimed(pe);
    shi_spin_lock(&shi_tag.lock);
    if (!p->probing)
        p->next_claim = p->last + 1;
    shi_spin_unlock(&shi_tag.lock);
    close_claim(pe);
}

void shi_tag_on_news(int pe)
{
    shi_spin_lock(&shi_tag.lock);
    shi_tag_peer_of(pe)->again = 1;
    shi_spin_unlock(&shi_tag.lock);
    claim_from(pe);
}

/* Under the lock: offer a message that matches no receive to the probe. 1: the probe takes it. */
static int offer_to_probe(int pe, const struct shi_tag_rts *rts)
{
    if (shi_match_find(&shi_tag.arrived, probing.key))
        return 0;
    probing.found = 1;
    probing.status = (shmemx_tag_status_t){.tag = rts->head.head.tag, .bytes = rts->head.total,
                                           .source = rts->head.head.source};
    if (!probing.takes)
        return 0;
    probing.taken = shi_tag_message_of(pe, rts);
    if (!probing.taken)
        shi_die("shmemx_tag_mprobe", "out of memory for a message of PE %d", pe);
    return 1;
}

void shi_tag_on_offer(int pe, const struct shi_tag_offer *offer)
{
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    const struct shi_tag_head *head = &offer->rts.head.head;
    const struct shi_match_key k = shi_tag_key_of(head);
    int taken = 0;
    check_claimed(pe);
    shi_spin_lock(&shi_tag.lock);
    struct shmemx_tag_request *r = (struct shmemx_tag_request *)shi_match_find(&shi_tag.posted, &k);
    if (r && r->entry.seq == offer->seq) {
        shi_match_remove(&shi_tag.posted, &r->entry);
        r->posted = 0;
        taken = 1;
    } else if (!r && p->probing) {
        taken = offer_to_probe(pe, &offer->rts);
    }
    if (!p->probing)
        p->next_claim = offer->seq + 1;
    shi_spin_unlock(&shi_tag.lock);
    const struct shi_tag_note answer = {.kind = taken ? SHI_TAG_TAKEN : SHI_TAG_REFUSED, .send = offer->rts.head.send};
    shi_tag_notify(pe, &answer);
    if (taken && r)
        shi_tag_accept_header(r, pe, &offer->rts);
    close_claim(pe);
}

/* ---- probes ------------------------------------------------------------------------------------------------------ */

/* Make progress, without running functions of the program. */
static void poll(unsigned *idle)
{
    if (shi_progress_poll())
        *idle = 0;
    else if (++*idle < 64)
        shi_relax();
    else if (shi_wait_aborted() == 0)
        sched_yield();
}

/* Begin to probe the messages that one sender keeps. */
static void begin_probe(int pe, const struct shi_match_key *key, int takes)
{
    shi_spin_lock(&shi_tag.lock);
    probing.pe = pe;
    probing.takes = takes;
    probing.found = 0;
    probing.taken = NULL;
    probing.key = key;
    shi_spin_unlock(&shi_tag.lock);
    claim_from(pe);
}

/* Is the probe of that sender answered? */
static int probe_ended(int pe)
{
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    if (__atomic_load_n(&probing.key, __ATOMIC_ACQUIRE) == NULL) /* A1 */
        return 1;
    shi_spin_lock(&shi_tag.lock);
    int sends = !shi_tag_is_full(p) && !(p->open && p->probing); /* the messages that it keeps */
    if (sends)
        end_probe();
    shi_spin_unlock(&shi_tag.lock);
    return sends;
}

int shi_tag_search(struct shi_tag_search *s, const struct shi_tag_params *params, struct shmemx_tag_message **taken,
                   shmemx_tag_status_t *status)
{
    int any = params->pe == SHI_MATCH_ANY, last = any ? shi_world.n_pes - 1 : params->pe, found = 0;
    if (!s->begun) {
        if (!shi_spin_try(&prober))
            return -EAGAIN;
        s->begun = 1;
        s->pe = next_full(any ? 0 : params->pe);
    } else if (!probe_ended(s->pe)) {
        return -EAGAIN;
    } else {
        found = probing.found;
        s->pe = next_full(s->pe + 1);
    }
    if (!found && s->pe <= last) {
        begin_probe(s->pe, &params->key, taken != NULL);
        return -EAGAIN;
    }
    if (found)
        *status = probing.status;
    if (taken)
        *taken = found ? probing.taken : NULL;
    shi_spin_unlock(&prober);
    return found;
}

int shi_tag_probe_kept(const struct shi_tag_params *params, struct shmemx_tag_message **taken,
                      shmemx_tag_status_t *status)
{
    struct shi_tag_search s = {0};
    unsigned idle = 0;
    int found;
    while ((found = shi_tag_search(&s, params, taken, status)) == -EAGAIN)
        poll(&idle);
    return found;
}

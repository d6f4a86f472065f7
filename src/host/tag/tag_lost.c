/*
 * tag_lost.c - tagged messages with PEs that have died, and of teams that are revoked (host/survive).
 *
 * Nothing is sent to a PE that has died, and nothing comes from it (shi_am_is_lost). From then on only its owner, a retry that the owner has
 * queued, or a fetch accesses a request with that PE; so the owner completes it, when it tests or waits. shi_tag_on_loss removes from the tables
 * of the protocol what only that PE would remove.
 */
#include "host/tag/tag.h"

#include <shmemx_survive.h>
#include <stdlib.h>

#include "host/util/log.h"

static int fail(struct shmemx_tag_request *r, int err)
{
    r->status = (shmemx_tag_status_t){.source = SHMEMX_TAG_ANY_SOURCE, .failed = err};
    __atomic_store_n(&r->done, SHI_TAG_FAILED, __ATOMIC_RELEASE);
    return 1;
}

static int is_done(const struct shmemx_tag_request *r)
{
    return __atomic_load_n(&r->done, __ATOMIC_ACQUIRE) & SHI_TAG_DONE;
}

/* ---- requests ------------------------------------------------------------------------------------------------------ */

/* On a revoked team the receiver may have given up its receive: the message is taken back, unless a receive has matched it. */
static int has_send_failed(struct shmemx_tag_request *r)
{
    if (!shi_am_is_lost(r->pe)) {
        int err = r->status.failed ? 0 : shi_team_faults->receive(r->entry.key.team, 0);
        if (err) {
            r->status.failed = err;
            shi_tag_cancel_send(r);
        }
        return is_done(r);
    }
    if (__atomic_load_n(&r->queued, __ATOMIC_ACQUIRE)) /* A4 */
        return 0;
    if (is_done(r))
        return 1;
    shi_tag_withdraw(r);
    return fail(r, SHMEMX_ERR_PE_FAILED);
}

static int error_of(const struct shi_match_key *key, int pe)
{
    if (pe != SHI_MATCH_ANY && shi_am_is_lost(pe))
        return SHMEMX_ERR_PE_FAILED;
    return shi_team_faults->receive(key->team, key->source == SHI_MATCH_ANY);
}

static int has_receive_failed(struct shmemx_tag_request *r)
{
    int pe = __atomic_load_n(&r->pe, __ATOMIC_RELAXED), lost = pe != SHI_MATCH_ANY && shi_am_is_lost(pe);
    int err = error_of(&r->entry.key, pe);
    if (!err)
        return 0;
    shi_spin_lock(&shi_tag.lock);
    int posted = shi_tag_unpost(r);
    shi_spin_unlock(&shi_tag.lock);
    if (posted)
        return fail(r, err);
    if (!lost || !__atomic_load_n(&r->awaits, __ATOMIC_ACQUIRE)) /* A5 */
        return 0;
    return is_done(r) || fail(r, SHMEMX_ERR_PE_FAILED);
}

int shi_tag_end_failed(struct shmemx_tag_request *r)
{
    return r->is_send ? has_send_failed(r) : has_receive_failed(r);
}

int shi_tag_why_none(const struct shi_tag_params *params)
{
    return shi_team_faults_now() ? error_of(&params->key, params->pe) : 0;
}

/* ---- tables -------------------------------------------------------------------------------------------------------- */

/* Sends that wait: their owners complete them. Later ones fail at once, for the PE waits from now on (enqueue_pending). */
static void forget_kept(struct shi_tag_peer *p)
{
    shi_spin_lock(&p->lock);
    struct shi_tag_pending *l = p->pending;
    while (l && l->kept.first) {
        ((struct shmemx_tag_request *)l->kept.first)->kept = 0;
        shi_match_remove(&l->kept, l->kept.first);
    }
    if (l)
        l->offered = NULL;
    __atomic_store_n(&p->waits, 1, __ATOMIC_RELAXED);
    shi_spin_unlock(&p->lock);
}

/* Under the lock: take out a message that has not come completely, unless a receive or a probe has taken it. */
static int take_part(struct shmemx_tag_message *m)
{
    struct shi_match_entry *e = shi_tag.arrived.first;
    while (e && e != &m->entry)
        e = e->next;
    if (e)
        shi_match_remove(&shi_tag.arrived, e);
    return e != NULL;
}

static void forget_flows(struct shi_tag_peer *p)
{
    for (struct shi_tag_flow *f; (f = p->flows);) {
        struct shmemx_tag_message *m = f->to;
        p->flows = f->next;
        if (f->recv)
            continue;
        shi_spin_lock(&shi_tag.lock);
        int free = m->claimed || take_part(m);
        shi_spin_unlock(&shi_tag.lock);
        if (free)
            shi_tag_free_message(m);
    }
}

void shi_tag_on_loss(int pe)
{
    if (!shi_tag.up)
        return;
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    forget_kept(p);
    forget_flows(p);
    shi_tag_forget_claims(pe);
}

/* Under the lock: take out the next message of the dead PE that no receive has taken. */
static struct shmemx_tag_message *take_from(int pe)
{
    struct shi_match_entry *e = shi_tag.arrived.first;
    while (e && ((struct shmemx_tag_message *)e)->pe != pe)
        e = e->next;
    if (e)
        shi_match_remove(&shi_tag.arrived, e);
    return (struct shmemx_tag_message *)e;
}

void shi_tag_on_return(int pe)
{
    struct shmemx_tag_message *m;
    if (!shi_tag.up)
        return;
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    shi_spin_lock(&shi_tag.lock);
    while ((m = take_from(pe)))
        shi_tag_free_message(m);
    shi_spin_unlock(&shi_tag.lock);
    if (p->pending) {
        shi_match_down(&p->pending->kept);
        free(p->pending);
    }
    *p = (struct shi_tag_peer){0}; /* as before its first use */
}

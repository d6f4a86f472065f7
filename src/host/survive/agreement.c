/* agreement.c - see agreement.h. The caller serialises the calls for one agreement. */
#include "host/survive/agreement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void set(uint64_t *bits, int member)
{
    bits[member / 64] |= 1ull << (member % 64);
}

int shi_agreement_make(struct shi_agreement *a, int n, int me, const struct shi_agree_ops *ops, void *arg)
{
    *a = (struct shi_agreement){.ops = ops, .arg = arg, .n = n, .me = me, .coordinator = -1};
    size_t bits = shi_agree_words(n) * sizeof(uint64_t), value = shi_agree_value_bytes(n);
    char *at = calloc(1, 3 * (bits + value));
    if (!at)
        return -ENOMEM;
    a->voted = (uint64_t *)at;
    a->asked = (uint64_t *)(at + bits);
    a->accepted = (uint64_t *)(at + 2 * bits);
    a->mine = (struct shi_agree_value *)(at + 3 * bits);
    a->merged = (struct shi_agree_value *)(at + 3 * bits + value);
    a->proposal = (struct shi_agree_value *)(at + 3 * bits + 2 * value);
    shi_agreement_reset(a, 0);
    return 0;
}

void shi_agreement_free(struct shi_agreement *a)
{
    free(a->voted);
    a->voted = NULL;
}

void shi_agreement_reset(struct shi_agreement *a, uint64_t number)
{
    size_t bits = shi_agree_words(a->n) * sizeof(uint64_t);
    a->number = number;
    a->begun = a->adopted = a->decided = a->proposed = 0;
    a->coordinator = -1;
    memset(a->voted, 0, bits);
    memset(a->asked, 0, bits);
    memset(a->accepted, 0, bits);
    memset(a->merged, 0, shi_agree_value_bytes(a->n));
    for (int i = 0; i < SHI_AGREE_ALL; i++)
        a->merged->record.all[i] = UINT64_MAX;
}

static void merge(struct shi_agreement *a, const struct shi_agree_value *v)
{
    struct shi_agree_record *to = &a->merged->record;
    for (int i = 0; i < SHI_AGREE_ALL; i++)
        to->all[i] &= v->record.all[i];
    for (int i = 0; i < SHI_AGREE_MOST; i++)
        to->most[i] = v->record.most[i] > to->most[i] ? v->record.most[i] : to->most[i];
    for (size_t w = 0; w < shi_agree_words(a->n); w++)
        a->merged->dead[w] |= v->dead[w];
}

static void copy(const struct shi_agreement *a, struct shi_agree_value *to, const struct shi_agree_value *from)
{
    memcpy(to, from, shi_agree_value_bytes(a->n));
}

static void note_dead(const struct shi_agreement *a, struct shi_agree_value *v)
{
    for (int i = 0; i < a->n; i++)
        if (a->ops->is_dead(a, i))
            set(v->dead, i);
}

static void send_all(struct shi_agreement *a, enum shi_agree_kind kind, const struct shi_agree_value *v)
{
    for (int i = 0; i < a->n; i++)
        if (i != a->me && !a->ops->is_dead(a, i))
            a->ops->send(a, i, kind, v);
}

static int all_living(const struct shi_agreement *a, const uint64_t *bits)
{
    for (int i = 0; i < a->n; i++)
        if (!shi_agree_has(bits, i) && !a->ops->is_dead(a, i))
            return 0;
    return 1;
}

static int coordinator(const struct shi_agreement *a)
{
    int c = 0;
    while (c != a->me && a->ops->is_dead(a, c))
        c++;
    return c;
}

/* The first member sends no ASK: while it lives, no other member decides. */
static void vote(struct shi_agreement *a)
{
    note_dead(a, a->mine);
    if (a->coordinator != a->me) {
        a->ops->send(a, a->coordinator, SHI_AGREE_VOTE, a->mine);
        return;
    }
    merge(a, a->mine);
    set(a->voted, a->me);
    if (a->me > 0)
        send_all(a, SHI_AGREE_ASK, a->mine);
}

static void decide(struct shi_agreement *a)
{
    a->decided = 1;
    for (int i = 0; i < a->n; i++)
        if (i != a->me && shi_agree_has(a->asked, i) && !a->ops->is_dead(a, i))
            a->ops->send(a, i, SHI_AGREE_DECIDE, a->proposal);
}

static void coordinate(struct shi_agreement *a)
{
    if (!a->proposed && all_living(a, a->voted)) {
        note_dead(a, a->merged);
        if (!a->adopted)
            copy(a, a->proposal, a->merged);
        a->adopted = a->proposed = 1;
        set(a->accepted, a->me);
        send_all(a, SHI_AGREE_PROPOSE, a->proposal);
    }
    if (a->proposed && all_living(a, a->accepted))
        decide(a);
}

void shi_agreement_look(struct shi_agreement *a)
{
    if (!a->begun || a->decided)
        return;
    int c = coordinator(a);
    if (c != a->coordinator) {
        a->coordinator = c;
        vote(a);
    }
    if (c == a->me)
        coordinate(a);
}

void shi_agreement_begin(struct shi_agreement *a, const struct shi_agree_record *record)
{
    memset(a->mine, 0, shi_agree_value_bytes(a->n));
    a->mine->record = *record;
    a->begun = 1;
    shi_agreement_look(a);
}

void shi_agreement_take(struct shi_agreement *a, int from, enum shi_agree_kind kind, const struct shi_agree_value *value)
{
    int asks = kind == SHI_AGREE_VOTE || kind == SHI_AGREE_ASK;
    if (a->decided) {
        if (asks)
            a->ops->send(a, from, SHI_AGREE_DECIDE, a->proposal);
        return;
    }
    if (asks)
        set(a->asked, from);
    if (kind == SHI_AGREE_VOTE) {
        merge(a, value);
        set(a->voted, from);
    } else if (kind == SHI_AGREE_ACCEPT) {
        set(a->accepted, from);
    }
    shi_agreement_look(a);
    if (kind == SHI_AGREE_PROPOSE && from == a->coordinator) { /* else it has died, and this member has voted at the next one */
        a->adopted = 1;
        copy(a, a->proposal, value);
        a->ops->send(a, from, SHI_AGREE_ACCEPT, value);
    } else if (kind == SHI_AGREE_DECIDE) {
        copy(a, a->proposal, value);
        decide(a);
    }
}

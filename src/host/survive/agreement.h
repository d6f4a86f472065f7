/*
 * agreement.h - one agreement among the members of a team, some of which may die: what a member does with messages and news. It sends
 * by a function and knows no transport; test/unit/agreement runs it with deaths at every step, test/model/agree.pml is its model.
 *
 * The lowest member that a member does not know as dead is its coordinator. Members send it their votes; it merges them, proposes the
 * result, and decides once all living members have adopted the proposal. When it dies, members vote at the next one, which proposes again what it
 * has adopted itself, if anything. So what any member decides, all living members have adopted before. A new coordinator asks all, for a member
 * that has decided votes no more; a member that decides tells all that have voted at it or asked it. The knowledge of deaths is perfect: a member that is said to be
 * dead is dead, and every member learns of each death in time, but not at the same time.
 */
#ifndef SHI_AGREEMENT_H
#define SHI_AGREEMENT_H

#include <stddef.h>
#include <stdint.h>

/* What the members bring, and agree upon: merged word by word, by AND and by the maximum. */
enum { SHI_AGREE_ALL = 9, SHI_AGREE_MOST = 2 };
struct shi_agree_record {
    uint64_t all[SHI_AGREE_ALL];
    uint64_t most[SHI_AGREE_MOST];
};

/* dead: a bit for each member. */
struct shi_agree_value {
    struct shi_agree_record record;
    uint64_t dead[];
};

/* A vote has the member's own record, and the dead that it knows. */
enum shi_agree_kind { SHI_AGREE_VOTE, SHI_AGREE_ASK, SHI_AGREE_PROPOSE, SHI_AGREE_ACCEPT, SHI_AGREE_DECIDE };

struct shi_agreement;
struct shi_agree_ops {
    /* Send to a member that is not this one. */
    void (*send)(struct shi_agreement *a, int to, enum shi_agree_kind kind, const struct shi_agree_value *value);
    int (*is_dead)(const struct shi_agreement *a, int member);
};

/* Of one member: the agreement `number`, which counts those of the team. */
struct shi_agreement {
    const struct shi_agree_ops *ops;
    void *arg;
    int n, me;
    uint64_t number;
    int begun, adopted, decided;  /* adopted: there is a proposal; decided: it is the decision */
    int coordinator;              /* as this member sees it, once it has begun; -1 before */
    int proposed;                 /* this member is the coordinator and has proposed */
    uint64_t *voted, *asked, *accepted; /* [words] bits of members */
    struct shi_agree_value *mine, *merged, *proposal; /* merged: of the votes */
};

static inline size_t shi_agree_words(int n)
{
    return ((size_t)n + 63) / 64;
}

static inline size_t shi_agree_value_bytes(int n)
{
    return sizeof(struct shi_agree_value) + shi_agree_words(n) * sizeof(uint64_t);
}

static inline int shi_agree_has(const uint64_t *bits, int member)
{
    return bits[member / 64] >> (member % 64) & 1;
}

/* Tables for n members. 0 or -ENOMEM. Pair: shi_agreement_free. */
int shi_agreement_make(struct shi_agreement *a, int n, int me, const struct shi_agree_ops *ops, void *arg);
void shi_agreement_free(struct shi_agreement *a);

/* Forget all: it is now the agreement with this number, which has not begun. */
void shi_agreement_reset(struct shi_agreement *a, uint64_t number);

/* This member takes part, with its record. */
void shi_agreement_begin(struct shi_agreement *a, const struct shi_agree_record *record);

/* A message of member `from` about this agreement, also before it has begun and after it is decided. */
void shi_agreement_take(struct shi_agreement *a, int from, enum shi_agree_kind kind, const struct shi_agree_value *value);

/* A member may have died. */
void shi_agreement_look(struct shi_agreement *a);

#endif

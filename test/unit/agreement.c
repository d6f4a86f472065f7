/*
 * agreement.c - agreements in a row among members that run one step at a time, in random orders: in each order, one member dies
 * at every step and every send, and others die at random ones. The results are compared with the properties that
 * host/survive/agreement.h states.
 *
 * agreement SEED runs that seed alone; a failure prints its seed.
 */
#include "host/survive/agreement.h"

#include <stdlib.h>

#include "../tap.h"

enum { MOST = 70, NUMBERS = 3, TWO = 2, NEVER = -1 };

struct letter {
    struct letter *next;
    uint64_t number;
    enum shi_agree_kind kind;
    struct shi_agree_value value[]; /* one */
};

static struct member {
    struct shi_agreement agreement[TWO];
    uint64_t number; /* of the agreement that it is in, or of the last one; 0: none */
    int within, alive, has_news;
    char known[MOST]; /* 1: this member knows that i is dead */
    char known_at_begin[MOST];
    struct shi_agree_record record[NUMBERS + 1];
    struct letter *first[MOST], **last[MOST]; /* from each member, in order */
} member[MOST];

static struct {
    char has;
    struct shi_agree_record record;
    char dead[MOST];
} decision[NUMBERS + 1];

static uint64_t state, seed;
static int n, steps, deaths, kill_at, longest;     /* steps: points at which the acting member may die, so far */
static int deaths_seen, decisions_seen, told_late; /* what all orders together have exercised */

static uint64_t random64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1dull;
}

static int below(int most)
{
    return (int)(random64() >> 33) % most;
}

/* ---- the world ------------------------------------------------------------------------------------------------------- */

static void drop(int from, int to)
{
    for (struct letter *l; (l = member[to].first[from]);) {
        member[to].first[from] = l->next;
        free(l);
    }
    member[to].last[from] = &member[to].first[from];
}

/* A point at which member i may die; 0: it is dead. Member i may be inside of the code under test, and then sends nothing more. */
static int survives(int i)
{
    int point = steps++;
    if (!member[i].alive || !deaths || (point != kill_at && (point < kill_at || below(n * 8))))
        return member[i].alive;
    member[i].alive = 0;
    deaths--;
    deaths_seen++;
    return 0;
}

static void send(struct shi_agreement *a, int to, enum shi_agree_kind kind, const struct shi_agree_value *value)
{
    if (!survives(a->me) || !member[to].alive)
        return;
    size_t bytes = shi_agree_value_bytes(n);
    struct letter *l = malloc(sizeof *l + bytes);
    if (!l)
        exit(99);
    l->next = NULL;
    l->number = a->number;
    l->kind = kind;
    memcpy(l->value, value, bytes);
    *member[to].last[a->me] = l;
    member[to].last[a->me] = &l->next;
}

/* A watching thread may learn of a death at any time, also between two calls. */
static int is_dead(const struct shi_agreement *a, int of)
{
    struct member *m = &member[a->me];
    if (!member[of].alive && !m->known[of] && !below(4)) {
        m->known[of] = 1;
        m->has_news = 1;
    }
    return m->known[of];
}

static const struct shi_agree_ops ops = {send, is_dead};

/* As in agree.c. */
static struct shi_agreement *agreement(struct member *m, uint64_t number)
{
    struct shi_agreement *a = &m->agreement[number % TWO];
    if (a->number < number)
        shi_agreement_reset(a, number);
    return a->number == number ? a : NULL;
}

/* ---- the properties -------------------------------------------------------------------------------------------------- */

static int has_contribution(const struct shi_agree_record *r, int i)
{
    return !(r->all[i / 64] >> (i % 64) & 1);
}

static void contribute(struct member *m, int i, uint64_t number)
{
    struct shi_agree_record r;
    for (int w = 0; w < SHI_AGREE_ALL; w++)
        r.all[w] = w < 2 ? ~(w == i / 64 ? 1ull << (i % 64) : 0) : random64() | random64();
    r.most[0] = random64();
    r.most[1] = number;
    m->record[number] = r;
}

/* The record is the merge of the contributions that it contains. */
static int is_merge(const struct shi_agree_record *r, uint64_t number)
{
    struct shi_agree_record want = {.most = {0}};
    memset(want.all, 255, sizeof want.all);
    for (int i = 0; i < n; i++)
        if (has_contribution(r, i)) {
            const struct shi_agree_record *own = &member[i].record[number];
            for (int w = 0; w < SHI_AGREE_ALL; w++)
                want.all[w] &= own->all[w];
            for (int w = 0; w < SHI_AGREE_MOST; w++)
                want.most[w] = own->most[w] > want.most[w] ? own->most[w] : want.most[w];
        }
    return memcmp(&want, r, sizeof want) == 0;
}

#define WHERE "seed %llu, %d members, death at step %d: agreement %d, member %d: "
#define ORDER (unsigned long long)seed, n, kill_at

/* Nobody has decided this agreement before. */
static void judge_first(int i, int number, const struct shi_agree_value *v)
{
    CHECKF(is_merge(&v->record, (uint64_t)number), WHERE "no merge of contributions", ORDER, number, i);
    for (int j = 0; j < n; j++) {
        CHECKF(!shi_agree_has(v->dead, j) || !member[j].alive, WHERE "member %d lives", ORDER, number, i, j);
        CHECKF(shi_agree_has(v->dead, j) || has_contribution(&v->record, j),
               WHERE "member %d is not dead and has not contributed", ORDER, number, i, j);
        if (!member[j].alive)
            continue;
        for (int d = 0; d < n; d++)
            CHECKF(shi_agree_has(v->dead, d) || !member[j].known_at_begin[d], WHERE "member %d knew that %d was dead",
                   ORDER, number, i, j, d);
    }
}

/* What member i of the running agreement has decided, if anything. It counts although the member dies at the next step. */
static void judge(int i)
{
    struct member *m = &member[i];
    struct shi_agreement *a = &m->agreement[m->number % TWO];
    if (!m->within || !a->decided)
        return;
    int number = (int)m->number;
    m->within = 0;
    decisions_seen++;
    if (!decision[number].has) {
        judge_first(i, number, a->proposal);
        decision[number].has = 1;
        decision[number].record = a->proposal->record;
        for (int j = 0; j < n; j++)
            decision[number].dead[j] = (char)shi_agree_has(a->proposal->dead, j);
    }
    CHECKF(memcmp(&decision[number].record, &a->proposal->record, sizeof a->proposal->record) == 0,
           WHERE "another record", ORDER, number, i);
    for (int j = 0; j < n; j++)
        CHECKF(decision[number].dead[j] == shi_agree_has(a->proposal->dead, j), WHERE "another list of the dead",
               ORDER, number, i);
}

/* ---- one order ------------------------------------------------------------------------------------------------------- */

static void begin(int i)
{
    struct member *m = &member[i];
    struct shi_agreement *a = agreement(m, ++m->number);
    m->within = 1;
    contribute(m, i, m->number);
    memcpy(m->known_at_begin, m->known, sizeof m->known);
    shi_agreement_begin(a, &m->record[m->number]);
}

static void receive(int i, int from)
{
    struct member *m = &member[i];
    if (!member[from].alive && !below(4)) { /* the rest is lost */
        drop(from, i);
        return;
    }
    struct letter *l = m->first[from];
    m->first[from] = l->next;
    if (!l->next)
        m->last[from] = &m->first[from];
    CHECKF(l->number <= m->number + 1, WHERE "a message of agreement %d", ORDER, (int)m->number, i, (int)l->number);
    struct shi_agreement *a = agreement(m, l->number);
    told_late += a && a->decided && l->kind <= SHI_AGREE_ASK;
    if (a)
        shi_agreement_take(a, from, l->kind, l->value);
    free(l);
}

static void learn(int i, int of)
{
    member[i].known[of] = 1;
    member[i].has_news = 1;
}

static void look(int i)
{
    member[i].has_news = 0;
    if (member[i].number)
        shi_agreement_look(&member[i].agreement[member[i].number % TWO]);
}

/* Call the k-th of what can happen, or only count: how much. */
static int happen(int k)
{
    int count = 0;
#define CAN(what, call)                                                                                              \
    if ((what) && count++ == k) {                                                                                    \
        if (survives(i))                                                                                             \
            call;                                                                                                    \
        judge(i);                                                                                                    \
        return count;                                                                                                \
    }
    for (int i = 0; i < n; i++) {
        struct member *m = &member[i];
        if (!m->alive)
            continue;
        CAN(!m->within && m->number < NUMBERS, begin(i))
        CAN(m->has_news, look(i))
        for (int j = 0; j < n; j++) {
            CAN(m->first[j], receive(i, j))
            CAN(!member[j].alive && !m->known[j], learn(i, j))
        }
    }
#undef CAN
    return count;
}

/* Death at step `kill`, and up to `more` later ones. */
static void run(int members, int kill, int more)
{
    n = members;
    state = seed * 0x9e3779b97f4a7c15ull + 1;
    steps = 0;
    kill_at = kill;
    deaths = kill == NEVER ? 0 : 1 + more;
    memset(decision, 0, sizeof decision);
    for (int i = 0; i < n; i++) {
        memset(&member[i], 0, sizeof member[i]);
        member[i].alive = 1;
        for (int k = 0; k < TWO; k++)
            if (shi_agreement_make(&member[i].agreement[k], n, i, &ops, NULL))
                exit(99);
        for (int j = 0; j < n; j++)
            member[i].last[j] = &member[i].first[j];
    }
    int turns = 0;
    for (int count; (count = happen(-1)) > 0; turns++)
        happen(below(count));
    longest = turns > longest ? turns : longest;
    for (int i = 0; i < n; i++) {
        CHECKF(!member[i].alive || (member[i].number == NUMBERS && !member[i].within), WHERE "it waits for ever",
               ORDER, (int)member[i].number, i);
        for (int j = 0; j < n; j++)
            drop(j, i);
        for (int k = 0; k < TWO; k++)
            shi_agreement_free(&member[i].agreement[k]);
    }
}

static int from_seed = 1, to_seed;

/* Catches: any order of messages, deaths and news of them in which members decide differently, or wait for ever. */
static void every_step(void)
{
    for (int s = from_seed; s <= to_seed && !tap_bad_now_; s++) {
        seed = (uint64_t)s;
        int members = 2 + s % 5;
        run(members, NEVER, 0);
        int points = steps;
        for (int kill = 0; kill < points && !tap_bad_now_; kill++)
            run(members, kill, (kill + s) % (members - 1));
    }
}

/* Catches: members beyond the first word of bits. */
static void many_members(void)
{
    for (int s = from_seed; s <= to_seed && !tap_bad_now_; s += 40) {
        seed = (uint64_t)s;
        run(MOST, NEVER, 0);
        int points = steps;
        run(MOST, s % points, 5);
        run(MOST, s * 7 % points, MOST - 2);
    }
}

/* Catches: a test in which nothing of what it is for happens. */
static void exercised(void)
{
    CHECKF(deaths_seen > 1000 && decisions_seen > 10000 && told_late > 100,
           "%d deaths, %d decisions, %d late answers", deaths_seen, decisions_seen, told_late);
}

int main(int argc, char **argv)
{
    to_seed = 600;
    if (argc > 1)
        from_seed = to_seed = atoi(argv[1]);
    RUN(every_step, "agreements with a death at every step, and more at random ones");
    RUN(many_members, "agreements of 70 members, of which any number dies");
    if (argc == 1)
        RUN(exercised, "members have died, decided, and answered late requests");
    printf("# %d deaths, %d decisions, %d late answers, at most %d steps\n", deaths_seen, decisions_seen, told_late, longest);
    return tap_end();
}

/* match.c - the tuple space of match.h. Without memory for a table it searches the list: slower, but correct. */
#include "host/tag/match.h"

#include <stdlib.h>

#include "host/util/base.h"

enum { FIRST_LOG = 6, KEEP_LOG = 12, SLAB = 64, FIRST_SEARCHED = 4 };

/* A table. Live: every entry of the class is in it, except those from m->fresh on. */
struct shi_match_class {
    uint64_t mask;
    int any;    /* any source */
    int live;
    unsigned log;
    size_t n, groups; /* nodes; of them the earliest of each key, which are in the chains */
    size_t added;     /* entries added since the last look-up */
    struct shi_match_node **bucket;
};

struct shi_match_slab {
    struct shi_match_slab *next;
    struct shi_match_node node[SLAB];
};

static int may_match(const struct shi_match_key *a, const struct shi_match_key *b)
{
    return ((a->tag ^ b->tag) & a->mask & b->mask) == 0 && a->team == b->team &&
           (a->source == b->source || a->source == SHI_MATCH_ANY || b->source == SHI_MATCH_ANY);
}

void shi_match_up(struct shi_match *m, int arrived)
{
    *m = (struct shi_match){.arrived = arrived};
}

static void free_slabs(struct shi_match *m)
{
    while (m->slabs) {
        struct shi_match_slab *s = m->slabs;
        m->slabs = s->next;
        free(s);
    }
    m->free = NULL;
}

void shi_match_down(struct shi_match *m)
{
    for (int i = 0; i < m->n_classes; i++) {
        free(m->classes[i]->bucket);
        free(m->classes[i]);
    }
    free(m->classes);
    free_slabs(m);
    *m = (struct shi_match){.arrived = m->arrived};
}

/* ---- one table --------------------------------------------------------------------------------------------------- */

static uint64_t hash(const struct shi_match_class *c, const struct shi_match_key *k)
{
    uint64_t who = (k->team << 32 | k->team >> 32) ^ (c->any ? UINT32_MAX : (uint32_t)k->source);
    unsigned __int128 x = (unsigned __int128)((k->tag & c->mask) ^ 0x9e3779b97f4a7c15) *
                          (who * 0xa24baed4963ee407 ^ 0xd6e8feb86659fd93);
    return ((uint64_t)x ^ (uint64_t)(x >> 64)) * 0x9e3779b97f4a7c15;
}

static int same_key(const struct shi_match_class *c, const struct shi_match_key *a, const struct shi_match_key *b)
{
    return ((a->tag ^ b->tag) & c->mask) == 0 && a->team == b->team && (c->any || a->source == b->source);
}

static struct shi_match_node **bucket_of(struct shi_match_class *c, const struct shi_match_key *k)
{
    return &c->bucket[hash(c, k) >> (64 - c->log)];
}

/* The earliest node with this key, or NULL. */
static struct shi_match_node *first_of(struct shi_match_class *c, const struct shi_match_key *k)
{
    struct shi_match_node *x = *bucket_of(c, k);
    while (x && !same_key(c, &x->entry->key, k))
        x = x->down;
    return x;
}

static void chain(struct shi_match_node **at, struct shi_match_node *x)
{
    x->up = at;
    x->down = *at;
    if (x->down)
        x->down->up = &x->down;
    *at = x;
}

static void unchain(struct shi_match_node *x)
{
    *x->up = x->down;
    if (x->down)
        x->down->up = x->up;
    x->up = NULL;
}

/* Four times the buckets; unchanged without memory. */
static void grow(struct shi_match_class *c)
{
    size_t n = (size_t)1 << c->log;
    struct shi_match_node **old = c->bucket, **bucket = calloc(n * 4, sizeof *bucket);
    if (!bucket)
        return;
    c->bucket = bucket;
    c->log += 2;
    for (size_t i = 0; i < n; i++)
        for (struct shi_match_node *x = old[i], *down; x; x = down) {
            down = x->down;
            chain(bucket_of(c, &x->entry->key), x);
        }
    free(old);
}

static void put(struct shi_match_class *c, struct shi_match_entry *e, struct shi_match_node *x)
{
    x->entry = e;
    x->class = c;
    x->up = NULL;
    c->n++;
    struct shi_match_node *first = first_of(c, &e->key);
    if (first) { /* behind the last */
        x->after = first;
        x->before = first->before;
        x->before->after = first->before = x;
        return;
    }
    x->after = x->before = x;
    if (c->groups >= (size_t)1 << c->log)
        grow(c);
    chain(bucket_of(c, &e->key), x);
    c->groups++;
}

static void take(struct shi_match_node *x)
{
    struct shi_match_class *c = x->class;
    struct shi_match_node *second = x->after;
    c->n--;
    x->class = NULL;
    second->before = x->before;
    x->before->after = second;
    if (!x->up)
        return;
    struct shi_match_node **at = x->up;
    unchain(x);
    if (second != x)
        chain(at, second);
    else
        c->groups--;
}

/* ---- nodes of an entry ------------------------------------------------------------------------------------------- */

/* A node for one more class, or NULL without memory. */
static struct shi_match_node *node_for(struct shi_match *m, struct shi_match_entry *e)
{
    if (!e->own.class)
        return &e->own;
    if (!m->free) {
        struct shi_match_slab *s = malloc(sizeof *s);
        if (!s)
            return NULL;
        s->next = m->slabs;
        m->slabs = s;
        for (int i = 0; i < SLAB; i++) {
            s->node[i].more = m->free;
            m->free = &s->node[i];
        }
    }
    struct shi_match_node *x = m->free;
    m->free = x->more;
    x->more = e->own.more;
    e->own.more = x;
    return x;
}

static void free_node(struct shi_match *m, struct shi_match_node *x)
{
    x->more = m->free;
    m->free = x;
}

/* Take an entry out of one class. */
static void leave(struct shi_match *m, struct shi_match_entry *e, struct shi_match_class *c)
{
    if (e->own.class == c) {
        take(&e->own);
        return;
    }
    for (struct shi_match_node **at = &e->own.more; *at; at = &(*at)->more)
        if ((*at)->class == c) {
            struct shi_match_node *x = *at;
            *at = x->more;
            take(x);
            free_node(m, x);
            return;
        }
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static void drop_class(struct shi_match *m, struct shi_match_class *c)
{
    for (struct shi_match_entry *e = m->first; e && c->n; e = e->next)
        leave(m, e, c);
    c->live = 0;
    m->live--;
}

/* A class for this mask that is not live: a used one, with its buckets, or a new one. NULL without memory. */
static struct shi_match_class *idle_class(struct shi_match *m, uint64_t mask, int any)
{
    struct shi_match_class *c = NULL;
    for (int i = 0; i < m->n_classes; i++)
        if (!m->classes[i]->live && (!c || (m->classes[i]->mask == mask && m->classes[i]->any == any)))
            c = m->classes[i];
    if (!c) {
        if (m->n_classes == m->room) {
            int room = m->room ? m->room * 2 : 8;
            struct shi_match_class **more = realloc(m->classes, (size_t)room * sizeof(void *));
            if (!more)
                return NULL;
            m->classes = more;
            m->room = room;
        }
        c = calloc(1, sizeof *c);
        if (!c)
            return NULL;
        m->classes[m->n_classes++] = c;
    }
    if (!c->bucket) {
        c->log = FIRST_LOG;
        c->bucket = calloc((size_t)1 << FIRST_LOG, sizeof *c->bucket);
        if (!c->bucket)
            return NULL;
    }
    c->mask = mask;
    c->any = any;
    return c;
}

/* The live class of a key, or NULL. */
static struct shi_match_class *live_class(const struct shi_match *m, const struct shi_match_key *k)
{
    for (int i = 0, left = m->live; left; i++) {
        struct shi_match_class *c = m->classes[i];
        left -= c->live;
        if (c->live && c->mask == k->mask && c->any == (k->source == SHI_MATCH_ANY))
            return c;
    }
    return NULL;
}

/* The class of a key; one that was not live is made live, empty. */
static struct shi_match_class *class_for(struct shi_match *m, const struct shi_match_key *k)
{
    struct shi_match_class *c = live_class(m, k);
    if (!c && (c = idle_class(m, k->mask, k->source == SHI_MATCH_ANY))) {
        c->live = 1;
        c->added = 0;
        m->live++;
    }
    return c;
}

/* The list is empty: back to linear search. Free large tables. */
static void forget_tables(struct shi_match *m)
{
    for (int i = 0; i < m->n_classes; i++) {
        struct shi_match_class *c = m->classes[i];
        c->live = 0;
        if (c->log > KEEP_LOG) {
            free(c->bucket);
            c->bucket = NULL;
        }
    }
    m->live = 0;
    free_slabs(m);
}

/* No memory for a node: drop all tables, back to linear search. */
static void give_up_tables(struct shi_match *m)
{
    for (int i = 0; i < m->n_classes; i++)
        if (m->classes[i]->live)
            drop_class(m, m->classes[i]);
    m->fresh = m->first;
}

/* Put an entry into a class. 0, or -1 when there was no memory and now there are no tables. */
static int enter(struct shi_match *m, struct shi_match_class *c, struct shi_match_entry *e)
{
    struct shi_match_node *x = c ? node_for(m, e) : NULL;
    if (!x) {
        give_up_tables(m);
        return -1;
    }
    put(c, e, x);
    return 0;
}

/* ---- both uses --------------------------------------------------------------------------------------------------- */

/* Put an arrived message into every class that receives still use. 0, or -1 as above. */
static int enter_all(struct shi_match *m, struct shi_match_entry *e)
{
    for (int i = 0; i < m->n_classes; i++) {
        struct shi_match_class *c = m->classes[i];
        if (!c->live)
            continue;
        if (++c->added > 256 + 2 * m->n)
            drop_class(m, c);
        else if (enter(m, c, e))
            return -1;
    }
    return 0;
}

/* Put the entries that are in no table into tables. 0, or -1 as above. */
static int enter_fresh(struct shi_match *m)
{
    for (struct shi_match_entry *e; (e = m->fresh); m->fresh = e->next)
        if (m->arrived ? enter_all(m, e) : enter(m, class_for(m, &e->key), e))
            return -1;
    return 0;
}

void shi_match_add(struct shi_match *m, struct shi_match_entry *e)
{
    e->seq = m->seq++;
    e->own.class = NULL;
    e->own.more = NULL;
    e->next = NULL;
    e->prev = m->last;
    *(m->last ? &m->last->next : &m->first) = e;
    m->last = e;
    m->n++;
    if (!m->fresh)
        m->fresh = e;
}

void shi_match_remove(struct shi_match *m, struct shi_match_entry *e)
{
    struct shi_match_class *c = e->own.class;
    if (c)
        take(&e->own);
    for (struct shi_match_node *x = e->own.more, *more; x; x = more) {
        more = x->more;
        take(x);
        free_node(m, x);
    }
    if (m->fresh == e)
        m->fresh = e->next;
    *(e->prev ? &e->prev->next : &m->first) = e->next;
    *(e->next ? &e->next->prev : &m->last) = e->prev;
    if (--m->n == 0 && m->live)
        forget_tables(m);
    else if (c && !c->n && !m->arrived) { /* messages skip empty classes */
        c->live = 0;
        m->live--;
    }
}

/* The earliest match among the first entries. */
static struct shi_match_entry *search(const struct shi_match *m, const struct shi_match_key *key, size_t most)
{
    struct shi_match_entry *e = m->first;
    for (; e && !may_match(&e->key, key); e = e->next)
        if (most-- == 1)
            return NULL;
    return e;
}

static struct shi_match_entry *find_posted(struct shi_match *m, const struct shi_match_key *key)
{
    struct shi_match_entry *best = NULL;
    for (int i = 0, left = m->live; left; i++) {
        struct shi_match_class *c = m->classes[i];
        left -= c->live;
        struct shi_match_node *x = c->n ? first_of(c, key) : NULL;
        if (x && (!best || x->entry->seq < best->seq))
            best = x->entry;
    }
    return best;
}

static struct shi_match_entry *find_arrived(struct shi_match *m, const struct shi_match_key *key)
{
    struct shi_match_class *c = live_class(m, key);
    if (!c) {
        c = class_for(m, key);
        for (struct shi_match_entry *e = m->first; e; e = e->next)
            if (enter(m, c, e))
                return search(m, key, m->n);
    }
    c->added = 0;
    struct shi_match_node *x = first_of(c, key);
    return x ? x->entry : NULL;
}

struct shi_match_entry *shi_match_find(struct shi_match *m, const struct shi_match_key *key)
{
    if (m->n == 0)
        return NULL;
    int is_short = m->n <= SHI_MATCH_SHORT;
    struct shi_match_entry *e = search(m, key, is_short ? SHI_MATCH_SHORT : FIRST_SEARCHED);
    if (e || is_short)
        return e;
    if (enter_fresh(m))
        return search(m, key, m->n);
    return m->arrived ? find_arrived(m, key) : find_posted(m, key);
}

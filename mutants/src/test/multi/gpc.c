/*
 * gpc.c - global procedure calls against an oracle: all PEs start random calls at the same time, and each PE compares
 * the calls with a simulation of its tree. The simulation has its own code for the trees.
 */
#include "gpc.h"

enum { PARALLEL = 3, FILL = 100000 };

/* Injected failures. */
enum fault { NOTHING, FUNC_FAILS, CALLBACK_FAILS, LONG_HEADER, LONG_DATA, FAULTS };

/* The data that an id reports about its call. */
struct record {
    int ran, parent, ids, callbacks, bad;
    unsigned list; /* of the ids below, in order */
};

struct header {
    int n, root, slot;
    enum fault fault;
    int where, pending; /* the id that fails; how often func returns PENDING */
    unsigned seed;
    size_t fill; /* bytes of reply data after the records */
};

static int h_func, h_stages, h_callback, h_user;
static long *runs;              /* [PARALLEL]: every id of this root's GPCs adds 1 */
static int user_parent[MOST];   /* the program's current tree */
static shmem_team_t teams[2];
static int n_teams;

/* ---- functions ------------------------------------------------------------------------------------------------------ */

/* Copies the header, which may be at any address. */
static struct header header_of(const shmemx_gpc_call_t *c)
{
    struct header h;
    memcpy(&h, c->hdr, sizeof h);
    return h;
}

/* Record the call at this id; the reply contains the records of all ids below. */
static int record(shmemx_gpc_call_t *c)
{
    struct header h = header_of(c);
    int id = my_id(c);
    struct record r = {.ran = 1, .parent = c->from, .ids = c->idlen, .list = 1};
    for (int i = 0; i < c->idlen; i++)
        r.list = hash(r.list, (unsigned)c->idlst[i]);
    r.bad = c->root != h.root || c->stage != (h.pending ? SHMEMX_GPC_PROBE : SHMEMX_GPC_INIT) ||
            differs(h.seed, c->data, c->dlen) || differs(h.seed + 1, (const char *)c->hdr + sizeof h, c->hlen - sizeof h) ||
            (id == h.root) != (c->from == id && c->root == id);
    struct record *all = c->rdata;
    memset(all, 0, (size_t)h.n * sizeof *all);
    all[id] = r;
    for (size_t i = 0; i < h.fill; i++)
        ((char *)(all + h.n))[i] = pattern(h.seed + 2, i);
    *(int *)c->rhdr = id;
    c->rhsize = sizeof(int);
    c->rdsize = (size_t)h.n * sizeof *all + h.fill;
    shmem_long_atomic_inc(&runs[h.slot], shmem_team_translate_pe(c->team, c->root, SHMEM_TEAM_WORLD));
    if (id != h.where)
        return SHMEMX_GPC_DONE;
    c->rhsize = h.fault == LONG_HEADER ? c->rhlen + 1 : c->rhsize;
    c->rdsize = h.fault == LONG_DATA ? c->rdlen + 1 : c->rdsize;
    return h.fault == FUNC_FAILS ? -1 : SHMEMX_GPC_DONE;
}

/* Add a child's records. */
static int add(shmemx_gpc_call_t *c)
{
    struct header h = header_of(c);
    struct record *all = c->rdata, *mine = &all[my_id(c)];
    const char *child = c->cdata;
    mine->callbacks++;
    mine->bad |= c->stage != SHMEMX_GPC_WAIT || c->chlen != sizeof(int) || *(const int *)c->chdr != c->from ||
                 c->cdlen != (size_t)h.n * sizeof *all + h.fill ||
                 differs(h.seed + 2, child + (size_t)h.n * sizeof *all, h.fill);
    for (int i = 0; i < h.n; i++) {
        struct record r;
        memcpy(&r, child + (size_t)i * sizeof r, sizeof r);
        if (r.ran) {
            mine->bad |= all[i].ran; /* called twice */
            all[i] = r;
        }
    }
    return h.fault == CALLBACK_FAILS && my_id(c) == h.where ? -1 : 0;
}

/* The form without a callback, and with work that takes several calls. */
static int stages(shmemx_gpc_call_t *c)
{
    struct header h = header_of(c);
    if (c->stage == SHMEMX_GPC_WAIT)
        return add(c);
    size_t calls = (size_t)c->state;
    c->state = (void *)(calls + 1);
    if ((int)calls < h.pending)
        return SHMEMX_GPC_PENDING;
    return record(c);
}

static int tree_of_program(int root, int id, int idlen, const int *idlst, int *children)
{
    int k = 0;
    (void)root;
    for (int i = 0; i < idlen; i++)
        if (user_parent[idlst[i]] == id)
            children[k++] = idlst[i];
    return k;
}

/* ---- the oracle ----------------------------------------------------------------------------------------------------- */

struct oracle {
    int parent[MOST], ids[MOST], children[MOST], depth[MOST], in[MOST];
    unsigned list[MOST];
    int n_ran, n_messages, deepest;
};

/* The ids list[0, n) are below `id`. The nodes of a subtree follow its root. */
static void simulate(struct oracle *o, int tree, int id, const int *list, int n)
{
    o->in[id] = 1;
    o->ids[id] = n;
    o->list[id] = 1;
    for (int i = 0; i < n; i++)
        o->list[id] = hash(o->list[id], (unsigned)list[i]);
    o->deepest = o->depth[id] > o->deepest ? o->depth[id] : o->deepest;
    for (int at = 0; at < n;) {
        int nodes = tree == SHMEMX_GPC_BINOMIAL ? (n - at + 1) / 2 : at == 0 ? (n + 1) / 2 : n - at;
        if (tree == h_user)
            for (nodes = 1; at + nodes < n && user_parent[list[at + nodes]] != id; nodes++)
                ;
        int child = list[at];
        o->parent[child] = id;
        o->depth[child] = o->depth[id] + 1;
        o->children[id]++;
        simulate(o, tree, child, list + at + 1, nodes - 1);
        at += nodes;
    }
}

/* An id is not called if one above has failed before it called its children. */
static int is_called(const struct oracle *o, const struct header *h, int id)
{
    int before = h->fault == FUNC_FAILS || h->fault == LONG_HEADER || h->fault == LONG_DATA;
    for (int up = id; o->in[id] && up != h->root;) {
        up = o->parent[up];
        if (before && up == h->where)
            return 0;
    }
    return o->in[id];
}

static int log2_of(int x)
{
    int l = 0;
    while (x >>= 1)
        l++;
    return l;
}

/* ---- one call ------------------------------------------------------------------------------------------------------- */

struct call {
    struct header h;
    struct oracle o;
    shmemx_gpc_nbh_t nbh;
    int tree, form, n_ids, list[MOST], status;
    char hdr[1024], *data, *reply;
    size_t hlen, dlen, rdlen;
    int rhdr;
};
static struct call calls[PARALLEL];

/* In preorder: the list that the library must make of a program's tree. */
static int walk_order(int id, int n, const int *list, int *out)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        if (user_parent[list[i]] == id) {
            out[k++] = list[i];
            k += walk_order(list[i], n, list, out + k);
        }
    return k;
}

static void choose(struct call *c, shmem_team_t team, int fault)
{
    static const size_t sizes[] = {0, 1, 8, 100, 5000, 8100, 9000, 70000, DATA}, fills[] = {0, 0, 3, 8000, FILL};
    static const size_t hlens[] = {sizeof(struct header), sizeof(struct header) + 5, 1024};
    int n = shmem_team_n_pes(team), all[MOST], order[MOST];
    c->h = (struct header){.n = n, .root = shmem_team_my_pe(team), .slot = (int)(c - calls), .fault = fault,
                           .where = -1, .seed = tap_random(&state), .fill = fills[below(n_pes > 16 ? 3 : 5)]};
    c->hlen = hlens[below(3)];
    c->dlen = sizes[below(n_pes > 16 ? 6 : 9)];
    c->tree = below(3);
    c->tree = c->tree == 2 ? h_user : c->tree;
    c->form = below(2);
    c->h.pending = c->form ? below(3) : 0;
    for (int i = 0; i < n; i++)
        all[i] = i;
    c->n_ids = below(n + 1); /* with or without the root */
    for (int i = 0; i < c->n_ids; i++) {
        int j = i + below(n - i), x = all[j];
        all[j] = all[i];
        c->list[i] = all[i] = x;
    }
    int without[MOST], k = 0;
    for (int i = 0; i < c->n_ids; i++)
        if (c->list[i] != c->h.root)
            without[k++] = c->list[i];
    for (int i = 0; i < k; i++) { /* for a program's tree: below the root or an earlier id */
        int up = below(i + 1);
        user_parent[without[i]] = up ? without[up - 1] : c->h.root;
    }
    if (c->tree == h_user) {
        walk_order(c->h.root, k, without, order);
        memcpy(without, order, sizeof order);
    }
    memset(&c->o, 0, sizeof c->o);
    simulate(&c->o, c->tree, c->h.root, without, k);
    if (c->tree != h_user)
        CHECKF(c->o.deepest == log2_of(k + 1), "tree %d over %d ids is %d deep", c->tree, k, c->o.deepest);
    if (fault != NOTHING) {
        int chosen = below(k + 1);
        c->h.where = chosen ? without[chosen - 1] : c->h.root;
    }
}

static void start(struct call *c, shmem_team_t team, int blocking)
{
    memcpy(c->hdr, &c->h, sizeof c->h);
    for (size_t i = sizeof c->h; i < c->hlen; i++)
        c->hdr[i] = pattern(c->h.seed + 1, i - sizeof c->h);
    for (size_t i = 0; i < c->dlen; i++)
        c->data[i] = pattern(c->h.seed, i);
    c->rdlen = (size_t)c->h.n * sizeof(struct record) + c->h.fill;
    memset(c->reply, 0, c->rdlen);
    runs[c->h.slot] = 0;
    c->status = shmemx_gpc_chained_exec(team, c->form ? h_stages : h_func, c->form ? SHMEMX_GPC_NONE : h_callback, c->hdr,
                                        c->hlen, c->data, c->dlen, &c->rhdr, sizeof c->rhdr, c->reply, c->rdlen,
                                        c->n_ids, c->list, blocking ? NULL : &c->nbh, c->tree);
    memset(c->hdr, 0x55, sizeof c->hdr); /* the buffer is free */
    CHECK(blocking || c->status == 0);
}

/* Compare the records of all ids with the simulation. */
static void compare(const struct call *c)
{
    const struct record *all = (const struct record *)c->reply;
    int messages = 0, wanted = 0;
    for (int i = 0; i < c->h.n; i++) {
        const struct record *r = &all[i];
        messages += 2 * r->callbacks; /* a call and a reply for each */
        wanted += c->o.in[i] && i != c->h.root ? 2 : 0;
        CHECKF(r->ran == c->o.in[i], "id %d ran %d times, not %d", i, r->ran, c->o.in[i]);
        if (!r->ran)
            continue;
        CHECKF(!r->bad, "id %d got wrong arguments or data (tree %d, %zu bytes)", i, c->tree, c->dlen);
        CHECKF(i == c->h.root || r->parent == c->o.parent[i], "id %d was called by %d, not by %d", i, r->parent,
               c->o.parent[i]);
        CHECKF(r->ids == c->o.ids[i] && r->list == c->o.list[i], "id %d: another list than the %d below it", i,
               c->o.ids[i]);
        CHECKF(r->callbacks == c->o.children[i], "id %d: %d callbacks for %d children", i, r->callbacks,
               c->o.children[i]);
    }
    CHECKF(messages == wanted, "%d messages, not %d", messages, wanted);
    CHECKF(!differs(c->h.seed + 2, c->reply + (size_t)c->h.n * sizeof *all, c->h.fill), "reply data");
}

static void finish(struct call *c, int blocking)
{
    int failed = c->h.fault != NOTHING, called = 0;
    if (c->h.fault == CALLBACK_FAILS)
        failed = c->o.children[c->h.where] > 0;
    if (!blocking)
        c->status = shmemx_gpc_wait(&c->nbh);
    CHECKF(c->status == (failed ? -EIO : 0), "status %d, fault %d at %d", c->status, c->h.fault, c->h.where);
    CHECKF(blocking || c->nbh.failed == (failed ? c->h.where : -1), "id %d failed, not %d", c->nbh.failed, c->h.where);
    for (int i = 0; i < c->h.n; i++)
        called += is_called(&c->o, &c->h, i);
    shmem_long_wait_until(&runs[c->h.slot], SHMEM_CMP_GE, called);
    CHECKF(runs[c->h.slot] == called, "%ld ids called, not %d", runs[c->h.slot], called);
    if (!failed)
        compare(c);
}

static void random_calls(int with_faults, int n_rounds)
{
    for (int r = 0; r < n_rounds; r++) {
        for (int t = 0; t < n_teams; t++) {
            if (teams[t] == SHMEM_TEAM_INVALID)
                continue;
            int blocking = below(4) == 0, n = blocking ? 1 : PARALLEL;
            for (int i = 0; i < n; i++) {
                choose(&calls[i], teams[t], with_faults ? below(FAULTS) : NOTHING);
                start(&calls[i], teams[t], blocking);
            }
            for (int i = n - 1; i >= 0; i--)
                finish(&calls[i], blocking);
        }
    }
    shmem_barrier_all();
}

/* ---- tests ---------------------------------------------------------------------------------------------------------- */

/* Catches: an id not called or called twice, by the wrong parent, with another id's list or data; a missing
 * callback. */
static void chained(void)
{
    random_calls(0, rounds(60));
}

/* Catches: a failure that is lost on its way up, stops a sibling, or does not stop the ids below; a handle that
 * receives replies of its previous call. */
static void failures(void)
{
    random_calls(1, rounds(100));
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    state = 12345u + 7919u * (unsigned)me;
    runs = shmem_calloc(PARALLEL, sizeof *runs);
    h_func = shmemx_gpc_register(record);
    h_stages = shmemx_gpc_register(stages);
    h_callback = shmemx_gpc_register_callback(add);
    h_user = shmemx_gpc_register_tree(tree_of_program);
    teams[0] = SHMEM_TEAM_WORLD;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes > 1 ? 1 : 0, n_pes > 3 ? 2 : 1, n_pes > 1 ? n_pes / 2 : 1, NULL, 0,
                             &teams[1]);
    n_teams = 2;
    for (int i = 0; i < PARALLEL; i++) {
        calls[i].data = malloc(DATA);
        calls[i].reply = malloc(FILL + MOST * sizeof(struct record));
        shmemx_gpc_nbh_init(&calls[i].nbh);
    }
    RUN(chained, "random trees, lists and sizes, all PEs are roots at the same time");
    RUN(failures, "the same with failures at random ids");
    shmem_finalize();
    return tap_end();
}

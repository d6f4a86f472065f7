/* count.c - see count.h. */
#include "ze_cpu/count.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ze_cpu/access.h"
#include "ze_cpu/launch.h"
#include "ze_cpu/mem.h"
#include "ze_cpu/op.h"

static struct sum {
    struct sum *next;
    struct zc_counts counts;
    char kernel[];
} *sums;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

enum { PACKET = 16 };

static enum zc_memory memory_of(uint64_t addr)
{
    struct zc_alloc a;
    if (!zc_mem_find((const void *)(uintptr_t)addr, &a))
        return MEMORY_OTHER;
    return a.type != ZE_MEMORY_TYPE_DEVICE ? MEMORY_HOST : a.imported ? MEMORY_PEER : MEMORY_OWN;
}

static uint16_t longest(const struct zc_item *it, uint32_t slot, uint32_t size)
{
    uint16_t n = 0;
    for (uint32_t k = 0; k < size; k++)
        n = it->chain[slot + k] > n ? it->chain[slot + k] : n;
    return n;
}

static void set(const struct zc_item *it, uint32_t slot, uint32_t size, uint16_t n)
{
    for (uint32_t k = 0; k < size; k++)
        it->chain[slot + k] = n;
}

static void move(const struct zc_item *it, uint32_t to, uint32_t from, uint32_t size)
{
    memmove(it->chain + to, it->chain + from, size * sizeof *it->chain);
}

/* An atomic operation's operands: 8 bytes of the address, and those of values that it has. 0: it is not one. */
static int atomic_accesses(const struct zc_ins *i, struct zc_access v[ZC_ACCESSES])
{
    if (i->op == OP_WIDE) {
        v[0] = (struct zc_access){i->d, i->n == WIDE_STORE ? 0 : 16, false, true};
        v[1] = (struct zc_access){i->a, 8, true, false};
        v[2] = (struct zc_access){i->b, i->n == WIDE_LOAD ? 0 : 16, true, false};
        v[3] = (struct zc_access){i->c, i->n == WIDE_CAS ? 16 : 0, true, false};
        return ZC_ACCESSES;
    }
    if (i->op < OP_ALOAD_RLX_4 || (i->op > OP_AFLAG && i->op != OP_AUPDATE_4 && i->op != OP_AUPDATE_8))
        return 0;
    int store = i->op >= OP_ASTORE_RLX_4 && i->op <= OP_ASTORE_SEQ_8, values = i->op >= OP_AXCHG_4 && i->op != OP_AFLAG;
    uint32_t first = i->op > OP_AFLAG ? OP_AUPDATE_4 : OP_ALOAD_RLX_4, size = i->op == OP_AFLAG ? 1 : (i->op - first) % 2 ? 8 : 4;
    v[0] = (struct zc_access){i->d, size, store, !store};
    v[1] = (struct zc_access){i->a, 8, true, false};
    v[2] = (struct zc_access){i->b, values ? size : 0, true, false};
    v[3] = (struct zc_access){i->c, i->op == OP_ACAS_4 || i->op == OP_ACAS_8 || i->op > OP_AFLAG ? size : 0, true, false};
    return ZC_ACCESSES;
}

void zc_count_step(struct zc_counts *c, const struct zc_module *m, const struct zc_item *it, const struct zc_ins *i)
{
    struct zc_access v[ZC_ACCESSES];
    uint16_t chain = 0;
    c->instructions++;
    if (i->op == OP_CALL) {
        for (const uint32_t *x = m->extra.v + i->b, *end = x + 3 * (size_t)i->c; x < end; x += 3)
            move(it, x[0], x[1], x[2]);
        return;
    }
    if (i->op == OP_RETV && it->sp)
        move(it, it->stack[it->sp - 1]->d, i->a, i->b);
    if (i->op == OP_TO_SPACE)
        move(it, i->d, i->a, 8);
    int n = zc_accesses(i, v);
    n = n < 0 ? atomic_accesses(i, v) : n;
    for (int k = 0; k < n; k++) {
        uint16_t of = v[k].read ? longest(it, v[k].slot, v[k].size) : 0;
        chain = of > chain ? of : chain;
    }
    for (int k = 0; k < n; k++)
        if (v[k].write)
            set(it, v[k].slot, v[k].size, chain);
}

/* The instruction, of zc_count_step, has loaded its result. */
static void lengthen(struct zc_counts *c, const struct zc_item *it, const struct zc_ins *i, size_t bytes)
{
    uint32_t size = i->op == OP_AFLAG ? 1 : (uint32_t)bytes;
    uint16_t n = longest(it, i->d, size);
    n += n < UINT16_MAX;
    set(it, i->d, size, n);
    c->chain = n > c->chain ? n : c->chain;
}

void zc_count_access(struct zc_counts *c, const struct zc_item *it, const struct zc_ins *i, uint64_t addr, size_t bytes, const char *what)
{
    enum zc_memory m = memory_of(addr);
    if (m != MEMORY_OTHER && (!strcmp(what, "load") || !strcmp(what, "atomic load") || !strcmp(what, "atomic")) && i->op != OP_HALF_LD)
        lengthen(c, it, i, bytes);
    bool again = what == c->before && addr == c->next && addr % PACKET;
    c->before = what;
    c->next = addr + bytes;
    if (again)
        return;
    if (!strcmp(what, "atomic load")) {
        c->atomic_loads[m]++;
    } else if (!strcmp(what, "load")) {
        c->loads[m]++;
    } else if (strstr(what, "store")) {
        c->stores[m]++;
        c->fences += i->op == OP_ASTORE_REL_4 || i->op == OP_ASTORE_REL_8 || i->op == OP_ASTORE_SEQ_4 || i->op == OP_ASTORE_SEQ_8;
    } else if (!strcmp(what, "atomic")) {
        c->updates[m]++;
        c->fences += i->op != OP_AFLAG && i->w >= __ATOMIC_RELEASE;
    }
}

void zc_count_add(const char *kernel, const struct zc_counts *c)
{
    pthread_mutex_lock(&lock);
    struct sum *s = sums;
    while (s && strcmp(s->kernel, kernel))
        s = s->next;
    if (!s && (s = calloc(1, sizeof *s + strlen(kernel) + 1))) {
        strcpy(s->kernel, kernel);
        s->next = sums;
        sums = s;
    }
    for (int m = 0; s && m < MEMORIES; m++) {
        s->counts.loads[m] += c->loads[m];
        s->counts.atomic_loads[m] += c->atomic_loads[m];
        s->counts.stores[m] += c->stores[m];
        s->counts.updates[m] += c->updates[m];
    }
    if (s) {
        s->counts.instructions += c->instructions;
        s->counts.fences += c->fences;
        s->counts.chain = c->chain > s->counts.chain ? c->chain : s->counts.chain;
    }
    pthread_mutex_unlock(&lock);
}

static void print(const char *kernel, const char *what, const uint64_t *n)
{
    fprintf(stderr, "ze_cpu: kernel %s: %s own %" PRIu64 ", peer %" PRIu64 ", host %" PRIu64 ", other %" PRIu64 "\n", kernel, what, n[MEMORY_OWN],
            n[MEMORY_PEER], n[MEMORY_HOST], n[MEMORY_OTHER]);
}

__attribute__((destructor)) static void print_sums(void)
{
    for (const struct sum *s = sums; s; s = s->next) {
        print(s->kernel, "loads", s->counts.loads);
        print(s->kernel, "atomic loads", s->counts.atomic_loads);
        print(s->kernel, "stores", s->counts.stores);
        print(s->kernel, "updates", s->counts.updates);
        fprintf(stderr, "ze_cpu: kernel %s: fences %" PRIu64 ", instructions %" PRIu64 ", loads in a chain %" PRIu64 "\n", s->kernel,
                s->counts.fences, s->counts.instructions, s->counts.chain);
    }
}

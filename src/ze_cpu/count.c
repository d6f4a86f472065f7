/* count.c - see count.h. */
#include "ze_cpu/count.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void zc_count_access(struct zc_counts *c, const struct zc_ins *i, uint64_t addr, size_t bytes, const char *what)
{
    enum zc_memory m = memory_of(addr);
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
        fprintf(stderr, "ze_cpu: kernel %s: fences %" PRIu64 ", instructions %" PRIu64 "\n", s->kernel, s->counts.fences, s->counts.instructions);
    }
}

/* racing.c - see racing.h. */
#include "ze_cpu/racing.h"

#include <string.h>

#include "ze_cpu/config.h"
#include "ze_cpu/lines.h"
#include "ze_cpu/race.h"

enum { PLACE_BITS = 20 };

static uint32_t place(const struct zc_vm *x, const struct zc_ins *i)
{
    uint32_t at = (uint32_t)(i - x->m->code.v), kernel = (uint32_t)(x->l->k - x->m->kernels.v) + 1, *kept = &x->m->places[at];
    uint32_t known = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (known >> PLACE_BITS == kernel)
        return known & ((1u << PLACE_BITS) - 1);
    struct zc_line l = zc_lines_of(x->m, i);
    uint32_t p = zc_config.race->place(x->l->k->name, l.file, l.line);
    if (kernel < 1u << (32 - PLACE_BITS))
        __atomic_store_n(kept, kernel << PLACE_BITS | p, __ATOMIC_RELAXED);
    return p;
}

/* ---- the device library --------------------------------------------------------------------------------------------- */

static bool is_library(const char *file)
{
    const char *base = strrchr(file, '/');
    return strstr(file, "device/lib/") || !strcmp(base ? base + 1 : file, "shmemg.h");
}

/* Where the program called the library: the innermost function of another file; one without lines is the library's, too. */
static uint32_t call_place(const struct zc_vm *x, const struct zc_item *it, const struct zc_ins *i)
{
    struct zc_line l = zc_lines_of(x->m, i);
    for (uint32_t k = it->sp; k > 0 && (!l.file || is_library(l.file)); k--)
        l = zc_lines_of(x->m, it->stack[k - 1]);
    return zc_config.race->place(x->l->k->name, l.file, l.line);
}

static uint64_t word(const struct zc_vm *x, const struct zc_item *it, const struct zc_ins *i, unsigned k)
{
    static _Thread_local uint64_t unused;
    uint64_t value;
    memcpy(&value, it->f + i->d, sizeof value);
    zc_config.race->call(x->g->race, it->index, k ? 0 : call_place(x, it, i), k, value);
    return (uint64_t)(uintptr_t)&unused;
}

/* ---- accesses ------------------------------------------------------------------------------------------------------- */

static bool is_atomic(const struct zc_ins *i)
{
    return (i->op >= OP_ALOAD_RLX_4 && i->op <= OP_AFLAG) || i->op == OP_AUPDATE_4 || i->op == OP_AUPDATE_8 || i->op == OP_WIDE;
}

static int order_of(const struct zc_ins *i)
{
    switch (i->op) {
    case OP_ALOAD_ACQ_4:
    case OP_ALOAD_ACQ_8:
        return __ATOMIC_ACQUIRE;
    case OP_ASTORE_REL_4:
    case OP_ASTORE_REL_8:
        return __ATOMIC_RELEASE;
    case OP_ALOAD_SEQ_4:
    case OP_ALOAD_SEQ_8:
    case OP_ASTORE_SEQ_4:
    case OP_ASTORE_SEQ_8:
    case OP_WIDE:
        return __ATOMIC_SEQ_CST;
    }
    return i->op >= OP_AXCHG_4 ? i->w : __ATOMIC_RELAXED;
}

static enum zc_race_what what_of(const struct zc_vm *x, const struct zc_item *it, const struct zc_ins *i, uint64_t addr, const char *what)
{
    bool stores = strstr(what, "store") != NULL;
    if (!strcmp(what, "copy")) { /* the source and the destination are accessed by one instruction */
        uint64_t to;
        memcpy(&to, it->f + i->d, sizeof to);
        stores = addr == to;
    }
    if (is_atomic(i))
        return !strcmp(what, "atomic") ? ZC_RACE_ATOMIC : stores ? ZC_RACE_ATOMIC_STORE : ZC_RACE_ATOMIC_LOAD;
    /* CUDA's volatile accesses are relaxed ones. */
    if (x->m->warps && i->op >= OP_LDV_1 && i->op <= OP_STV_8)
        return stores ? ZC_RACE_ATOMIC_STORE : ZC_RACE_ATOMIC_LOAD;
    return stores ? ZC_RACE_STORE : ZC_RACE_LOAD;
}

uint64_t zc_racing_access(const struct zc_vm *x, const struct zc_item *it, const struct zc_ins *i, uint64_t addr, size_t bytes, const char *what)
{
    const struct zc_group *g = x->g;
    uint64_t k = (addr - ZC_RACE_WORDS) / 8;
    if (addr >= ZC_RACE_WORDS && k < ZC_RACE_WORD_COUNT)
        return word(x, it, i, (unsigned)k);
    if (!g->race || addr - (uint64_t)(uintptr_t)g->frames < g->bytes)
        return addr;
    const struct zc_race_access a = {.addr = addr,
                                     .bytes = bytes,
                                     .what = what_of(x, it, i, addr, what),
                                     .order = is_atomic(i) ? order_of(i) : __ATOMIC_RELAXED,
                                     .item = it->index,
                                     .place = place(x, i)};
    zc_config.race->access(g->race, &a);
    return addr;
}

void zc_racing_fence(const struct zc_vm *x, const struct zc_item *it, int order)
{
    if (x->g->race)
        zc_config.race->fence(x->g->race, it->index, order);
}

/* native_mem.c - translates addresses, loads, stores, atomics and moves. */
#include "ze_cpu/mem.h"
#include "ze_cpu/native_gen.h"

#if defined(__x86_64__)

/* ZE_CPU_PRIVATE: add the distance to an address in reg that is in the window (mem.c). Clobbers rcx and r9. */
static void view(struct zc_gen *g, enum zc_reg reg)
{
    struct zc_window w = zc_mem_window();
    if (!w.bytes)
        return;
    x_imm64(&g->o, RCX, -w.lo);
    x_reg(&g->o, X_ADD, true, RCX, reg);
    x_imm64(&g->o, R9, w.bytes);
    x_reg(&g->o, X_CMP, true, RCX, R9);
    uint8_t *outside = x_branch_later(&g->o, CC_AE);
    x_imm64(&g->o, R9, w.delta);
    x_reg(&g->o, X_ADD, true, reg, R9);
    x_set_distance(outside, g->o.at);
}

/* The address a + imm of the kernel: load its base into r10; returns the displacement. */
static uint32_t address_of(struct zc_gen *g, const struct zc_ins *i)
{
    n_get(g, R10, i->a, 8, false);
    if (i->imm == (int32_t)i->imm)
        return (uint32_t)i->imm;
    x_imm64(&g->o, RCX, (uint64_t)i->imm);
    x_reg(&g->o, X_ADD, true, R10, RCX);
    return 0;
}

/* The same for the memory at the kernel's address r10 + disp. */
static uint32_t memory_at(struct zc_gen *g, uint32_t disp)
{
    if (!zc_mem_window().bytes)
        return disp;
    x_mem(&g->o, X_LEA, true, R10, R10, disp);
    view(g, R10);
    return 0;
}

static uint32_t address(struct zc_gen *g, const struct zc_ins *i)
{
    return memory_at(g, address_of(g, i));
}

/* The address a + b * c + imm: load its base into r10; returns the displacement. */
static uint32_t address_indexed(struct zc_gen *g, const struct zc_ins *i)
{
    n_get(g, R11, i->b, 8, false);
    if (i->c != 1) {
        x_reg(&g->o, X_IMUL_IMM, true, R11, R11);
        x_u32(&g->o, i->c);
    }
    uint32_t disp = address_of(g, i);
    x_reg(&g->o, X_ADD, true, R10, R11);
    return memory_at(g, disp);
}

uint32_t zc_native_address(struct zc_gen *g, const struct zc_ins *i, bool indexed)
{
    return indexed ? address_indexed(g, i) : address(g, i);
}

static bool load_from(struct zc_gen *g, const struct zc_ins *i, uint32_t disp, unsigned width)
{
    x_load(&g->o, RAX, R10, disp, width, false);
    n_put(g, RAX, i->d, width);
    return true;
}

static bool store_to(struct zc_gen *g, const struct zc_ins *i, uint32_t disp, unsigned width)
{
    n_get(g, RAX, i->d, width, false);
    n_writes(g);
    x_store(&g->o, RAX, R10, disp, width);
    return true;
}

static bool load(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    return load_from(g, i, address(g, i), 1u << k);
}

static bool load_indexed(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    return i->c <= INT32_MAX && load_from(g, i, address_indexed(g, i), 1u << k);
}

static bool store(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    return store_to(g, i, address(g, i), 1u << k);
}

static bool store_indexed(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    return i->c <= INT32_MAX && store_to(g, i, address_indexed(g, i), 1u << k);
}

static bool load_volatile(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    load(g, i, k);
    n_polled(g);
    return true;
}

/* On x86-64, loads and stores have every memory order, except sequentially consistent stores, which are exchanges. */
static bool load_atomic(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    return load_volatile(g, i, k % 2 ? 3 : 2);
}

static bool store_atomic(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    if (k / 2 < 2)
        return store(g, i, k % 2 ? 3 : 2);
    uint32_t disp = address(g, i);
    n_get(g, RAX, i->d, 4u << k % 2, false);
    n_writes(g);
    x_mem(&g->o, X_XCHG, k % 2, RAX, R10, disp);
    return true;
}

/* AXCHG, AADD, ASUB. */
static bool fetch(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    bool wide = k % 2, exchange = k / 2 == 0;
    uint32_t disp = address(g, i);
    n_get(g, RAX, i->b, wide ? 8 : 4, false);
    if (k / 2 == 2)
        x_reg(&g->o, X_GROUP3, wide, GROUP3_NEG, RAX);
    if (!exchange)
        n_writes(g);
    x_mem(&g->o, exchange ? X_XCHG : X_LOCK_XADD, wide, RAX, R10, disp);
    n_put(g, RAX, i->d, wide ? 8 : 4);
    if (exchange)
        n_polled(g);
    return true;
}

static bool compare_exchange(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    uint32_t disp = address(g, i);
    n_get(g, R11, i->b, 4u << k, false);
    n_get(g, RAX, i->c, 4u << k, false);
    x_mem(&g->o, X_LOCK_CMPXCHG, k, R11, R10, disp);
    n_put(g, RAX, i->d, 4u << k);
    uint8_t *failed = x_branch_later(&g->o, CC_NE);
    g->quiet = false;
    n_writes(g);
    uint8_t *over = x_jump_later(&g->o);
    x_set_distance(failed, g->o.at);
    n_polled(g);
    x_set_distance(over, g->o.at);
    return true;
}

static bool fence(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->w == __ATOMIC_SEQ_CST)
        x_fence(&g->o);
    return true;
}

static bool prefetch(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    n_get(g, RAX, i->a, 8, false);
    x_mem(&g->o, X_PREFETCH, false, PREFETCH_WRITE, RAX, 0);
    return true;
}

static bool load_many(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->b > ZC_COPY_MAX)
        return false;
    uint32_t disp = address(g, i);
    x_copy(&g->o, RDI, i->d, R10, disp, i->b);
    return true;
}

static bool store_many(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->b > ZC_COPY_MAX)
        return false;
    uint32_t disp = address(g, i);
    n_writes(g);
    x_copy(&g->o, R10, disp, RDI, i->d, i->b);
    return true;
}

static bool move(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    n_get(g, RAX, i->a, 1u << k, false);
    n_put(g, RAX, i->d, 1u << k);
    return true;
}

static bool move_many(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->b > ZC_COPY_MAX)
        return false;
    x_copy(&g->o, RDI, i->d, RDI, i->a, i->b);
    return true;
}

static bool copy(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->b > ZC_COPY_MAX)
        return false;
    n_get(g, R10, i->d, 8, false);
    n_get(g, R11, i->a, 8, false);
    view(g, R10);
    view(g, R11);
    n_writes(g);
    x_copy(&g->o, R10, 0, R11, 0, i->b);
    return true;
}

static bool zero(struct zc_gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->b > ZC_COPY_MAX)
        return false;
    x_zero(&g->o, RDI, i->d, i->b);
    x_mem(&g->o, X_MOV8_IMM, false, 0, RDI, i->d);
    x_byte(&g->o, i->a);
    return true;
}

static const struct zc_row rows[] = {
    ZC_TRANSLATES(LD_1, LD_8, load), ZC_TRANSLATES(LD_N, LD_N, load_many), ZC_TRANSLATES(LDX_1, LDX_8, load_indexed),
    ZC_TRANSLATES(ST_1, ST_8, store), ZC_TRANSLATES(ST_N, ST_N, store_many),
    ZC_TRANSLATES(STX_1, STX_8, store_indexed), ZC_TRANSLATES(LDV_1, LDV_8, load_volatile),
    ZC_TRANSLATES(STV_1, STV_8, store), ZC_TRANSLATES(MOV_1, MOV_8, move), ZC_TRANSLATES(MOV_N, MOV_N, move_many),
    ZC_TRANSLATES(ZERO, ZERO, zero), ZC_TRANSLATES(COPY, COPY, copy),
    ZC_TRANSLATES(ALOAD_RLX_4, ALOAD_SEQ_8, load_atomic), ZC_TRANSLATES(ASTORE_RLX_4, ASTORE_SEQ_8, store_atomic),
    ZC_TRANSLATES(AXCHG_4, ASUB_8, fetch), ZC_TRANSLATES(ACAS_4, ACAS_8, compare_exchange),
    ZC_TRANSLATES(FENCE, FENCE, fence), ZC_TRANSLATES(PREFETCH, PREFETCH, prefetch),
};

bool zc_native_memory(struct zc_gen *g, const struct zc_ins *i)
{
    return n_translate(g, i, rows, sizeof rows / sizeof *rows);
}

#endif

/*
 * lanes.c - translates kernels a second time, to code that runs 8 consecutive work-items at once, with AVX2.
 *
 * An instruction whose operands are the same for all 8 is translated as for one work-item, on the frame that they share; so
 * is one whose result grows by a stride (lanes_plan.c). The others become vector operations (lanes_vector.c) or, if there is
 * none, the instruction is done for one work-item after the other: its operands are copied from the vectors to the frame,
 * and its result back.
 *
 * A branch for which the 8 work-items differ, and the end of a long quantum, end this code for good: it returns the
 * instruction at which each of the 8 continues in the ordinary code (zc_lanes_spill). Kernels with instructions through
 * which work-items see each other - atomics, volatile accesses, barriers, group operations - or whose address matters - private
 * arrays - and with calls are not translated.
 *
 * The code is called as run_code (lanes_run.c): rdi is the shared frame, rsi the first work-item's struct zc_item, edx the quantum;
 * rbx is the address of the vectors.
 */
#include "ze_cpu/lanes.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ze_cpu/config.h"
#include "ze_cpu/lanes_gen.h"

#if defined(__x86_64__)

enum { ONE_MAX = 16384, BYTES_EACH = 1024, BYTES_MAX = 1 << 25, COPIED_MAX = 128 };

/* ---- one instruction -------------------------------------------------------------------------------------------- */

static void forget(struct zc_lanes_gen *l)
{
    l->g.was.width = l->g.held.width = 0;
}

/* Call zc_lanes_interpret(frame, instruction, module). A step of another instruction is always translated. */
static void interpret(struct zc_lanes_gen *l)
{
    n_push(&l->g);
    x_imm64(&l->g.o, RSI, n_address_of(&l->g, l->g.pc));
    x_imm64(&l->g.o, RDX, (uint64_t)(uintptr_t)l->g.m);
    n_call(&l->g, (const void *)(uintptr_t)zc_lanes_interpret);
    n_pop(&l->g);
}

/* The code of i for one work-item uses general registers only. */
static bool spares_vectors(const struct zc_ins *i)
{
    return i->op < OP_FADD_4 || (i->op >= OP_LD_1 && i->op <= OP_LD_8) || (i->op >= OP_LDX_1 && i->op <= OP_LDX_8) ||
           (i->op >= OP_MOV_1 && i->op <= OP_MOV_8) || i->op == OP_PADD || i->op == OP_PMAD ||
           (i->op >= OP_ZX_1_2 && i->op <= OP_SX_4_8);
}

/* Translate i as for one work-item. */
static void for_one(struct zc_lanes_gen *l, const struct zc_ins *i)
{
    bool spares = spares_vectors(i);
    if (!spares) {
        l_save_vectors(l);
        l_forget_vectors(l);
    }
    uint8_t *at = l->g.o.at;
    bool small = i->op < OP_FADD_4 || (i->op > OP_FMA_8V && i->op != OP_CONVERT);
    l->g.quiet = true; /* these work-items have not polled */
    if (!small)
        v_zero_upper(&l->g.o);
    if (zc_native_arith(&l->g, i) || zc_native_memory(&l->g, i))
        return;
    l->g.o.at = at;
    forget(l);
    l_save_vectors(l);
    l_forget_vectors(l);
    v_zero_upper(&l->g.o);
    interpret(l);
}

/* Leave unless a 4-byte value that grows by `stride` can be extended to 8 bytes and then still grows by it. */
static void check_extension(struct zc_lanes_gen *l, const struct zc_ins *i)
{
    int64_t most = zc_lanes_value(&l->p, i->a, 4).stride * (ZC_LANES - 1);
    bool less = most < 0;
    l_save_vectors(l);
    x_load(&l->g.o, RAX, RDI, i->a, 4, false);
    x_reg(&l->g.o, X_IMM, false, less ? IMM_SUB : IMM_ADD, RAX);
    x_u32(&l->g.o, (uint32_t)(less ? -most : most));
    uint8_t *good = x_branch_later(&l->g.o, (i->op == OP_SX_4_8 ? CC_O : CC_B) ^ 1);
    l_leave(l, l->g.pc);
    x_set_distance(good, l->g.o.at);
    forget(l);
}

/* Copy element k of a varying operand or result between its vector and the frame. */
static void copy_element(struct zc_lanes_gen *l, struct zc_access v, unsigned k, bool to_frame)
{
    const struct zc_lanes_region *r = l_region(l, v.slot);
    uint32_t at = r->vector + k * r->each + (v.slot - r->slot);
    if (r->kind == LANES_VARYING && to_frame)
        x_copy(&l->g.o, RDI, v.slot, RBX, at, v.size);
    else if (r->kind == LANES_VARYING)
        x_copy(&l->g.o, RBX, at, RDI, v.slot, v.size);
}

/* Add n strides to the affine operands in the frame. */
static void step(struct zc_lanes_gen *l, const struct zc_access *v, int accesses, int n)
{
    for (int k = 0; k < accesses; k++) {
        const struct zc_lanes_region *r = l_region(l, v[k].slot);
        bool seen = r->kind != LANES_AFFINE;
        for (int j = 0; j < k; j++)
            seen |= l_region(l, v[j].slot) == r;
        if (seen)
            continue;
        x_mem(&l->g.o, X_IMM, r->size == 8, IMM_ADD, RDI, r->slot);
        x_u32(&l->g.o, (uint32_t)(r->stride * n));
    }
}

static bool one_by_one(struct zc_lanes_gen *l, const struct zc_ins *i)
{
    struct zc_access v[ZC_ACCESSES];
    int n = zc_accesses(i, v);
    for (int k = 0; k < n; k++)
        if (v[k].size > COPIED_MAX)
            return false;
    l_save_vectors(l);
    l_forget_vectors(l);
    for (unsigned lane = 0; lane < ZC_LANES; lane++) {
        forget(l);
        if (lane)
            step(l, v, n, 1);
        for (int k = 0; k < n; k++)
            if (v[k].read)
                copy_element(l, v[k], lane, true);
        for_one(l, i);
        if (v[0].write)
            copy_element(l, v[0], lane, false);
    }
    step(l, v, n, -(ZC_LANES - 1));
    forget(l);
    l_forget_vectors(l);
    return true;
}

/* The result of i is the same for all 8. */
static bool uniform(struct zc_lanes_gen *l, const struct zc_ins *i, struct zc_access d)
{
    for_one(l, i);
    if (!d.write || l_region(l, d.slot)->kind != LANES_VARYING)
        return true;
    if (!zc_lanes_broadcast(l, d.slot, d.size)) {
        l_save_vectors(l);
        for (unsigned lane = 0; lane < ZC_LANES; lane++)
            copy_element(l, d, lane, false);
        l_forget_vectors(l);
    }
    forget(l);
    return d.size <= COPIED_MAX;
}

/* The end of the kernel, or of a function that it calls. */
static bool end(struct zc_lanes_gen *l)
{
    uint32_t f = zc_lanes_function(l->g.m, l->g.pc);
    if (f != l->p.k->fn) {
        n_fix(&l->g, x_jump_later(&l->g.o), l->p.called_at[f] + 1);
        return true;
    }
    x_reg(&l->g.o, X_XOR, false, RAX, RAX);
    x_jump(&l->g.o, X_JUMP, l->g.stop);
    return true;
}

static bool translate(struct zc_lanes_gen *l, const struct zc_ins *i)
{
    struct zc_access v[ZC_ACCESSES] = {{0, 0, false, false}};
    struct zc_value x = zc_lanes_result(&l->p, i);
    int n = zc_accesses(i, v);
    bool branches = zc_lanes_is_branch(i);
    if (i->op == OP_RET || i->op == OP_EXIT)
        return end(l);
    if (i->op == OP_TRAP) {
        l_leave(l, l->g.pc);
        return true;
    }
    if (branches && x.kind == LANES_UNIFORM)
        return zc_native_arith(&l->g, i) || zc_native_control(&l->g, i);
    if (branches)
        return zc_lanes_branch(l, i);
    if (x.kind == LANES_UNIFORM || !n)
        return uniform(l, i, v[0]);
    if (v[0].write && l_region(l, v[0].slot)->kind == LANES_AFFINE) {
        if (i->op == OP_SX_4_8 || i->op == OP_ZX_4_8)
            check_extension(l, i);
        for_one(l, i);
        return true;
    }
    uint8_t *at = l->g.o.at;
    struct zc_lanes_kept kept = l->kept;
    forget(l);
    if (zc_lanes_vector(l, i))
        return true;
    l->g.o.at = at;
    l->kept = kept;
    return one_by_one(l, i);
}

static bool translate_steps(struct zc_lanes_gen *l)
{
    const struct zc_ins *i = &l->g.m->code.v[l->g.pc];
    struct zc_ins step;
    for (uint32_t n = 0; zc_lanes_step(&l->p, l->g.pc, n, &step); n++) {
        if (n)
            forget(l);
        if ((i->op == OP_CALL || i->op == OP_RETV) && step.b > ZC_COPY_MAX)
            return false;
        if (!translate(l, &step))
            return false;
    }
    if (i->op == OP_CALL) {
        n_fix(&l->g, x_jump_later(&l->g.o), i->a);
        forget(l); /* the next instruction follows the function's last */
    }
    return i->op != OP_RETV || end(l);
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

/* The beginning of a kernel's code; all its ends jump to g.stop, with the result in rax. */
static const uint8_t *enter(struct zc_gen *g, uint32_t first)
{
    g->stop = g->o.at;
    v_zero_upper(&g->o);
    x_byte(&g->o, X_POP + RBX);
    x_byte(&g->o, X_POP + RBX);
    x_byte(&g->o, X_RET);
    const uint8_t *start = g->o.at;
    x_byte(&g->o, X_PUSH + RBX); /* twice: the stack stays aligned */
    x_byte(&g->o, X_PUSH + RBX);
    x_reg(&g->o, X_MOV, true, RBX, RCX);
    n_fix(g, x_jump_later(&g->o), first);
    return start;
}

static bool translate_kernel(struct zc_lanes_gen *l)
{
    struct zc_lanes_plan *p = &l->p;
    zc_lanes_find_local(p, l->g.is_target);
    forget(l);
    for (uint32_t pc = p->first; pc < p->end; pc++) {
        struct zc_gen *g = &l->g;
        if (!p->reached[pc])
            continue;
        g->pc = pc;
        g->was = g->is_target[pc] ? (struct held){0, 0} : g->held;
        g->held.width = 0;
        if (zc_lanes_starts_block(p, g->is_target, pc))
            l_forget_vectors(l);
        g->native[pc] = g->o.at;
        if (g->end - g->o.at < ONE_MAX || l->full || !translate_steps(l))
            return false;
    }
    for (uint32_t k = 0; k < l->g.fixes; k++)
        x_set_distance(l->g.fix[k].place, l->g.native[l->g.fix[k].to]);
    return true;
}

/* What the code of a kernel needs to run. NULL: out of memory. */
static struct zc_lanes *describe(const struct zc_lanes_gen *l, const void *code)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < l->p.regions; k++)
        n += l->p.region[k].written;
    struct zc_lanes *s;
    size_t values = n * sizeof *s->region + l->constants * sizeof *s->constant, calls = l->g.m->fns.n * sizeof(uint32_t);
    s = calloc(1, sizeof *s + values + calls);
    if (!s)
        return NULL;
    s->code = code;
    s->bytes = l->p.bytes;
    for (uint32_t k = 0; k < l->p.regions; k++)
        if (l->p.region[k].written)
            s->region[s->regions++] = l->p.region[k];
    s->constant = (void *)(s->region + n);
    s->constants = l->constants;
    memcpy(s->constant, l->constant, l->constants * sizeof *s->constant);
    s->called_at = (void *)(s->constant + l->constants);
    memcpy(s->called_at, l->p.called_at, calls);
    return s;
}

static void one_kernel(struct zc_lanes_gen *l, struct zc_kernel_info *k)
{
    uint8_t *at = l->g.o.at;
    l->constants = 0;
    l->g.fixes = 0;
    l->full = false;
    if (k->missing)
        return;
    if (zc_lanes_plan(&l->p, l->g.m, k)) {
        const uint8_t *code = l->g.end - at > ONE_MAX ? enter(&l->g, l->g.m->fns.v[k->fn].pc) : NULL;
        if (code && translate_kernel(l))
            k->lanes = describe(l, code);
    }
    if (!k->lanes)
        l->g.o.at = at;
    zc_lanes_plan_free(&l->p);
}

static void all_kernels(struct zc_lanes_gen *l, uint8_t *base, size_t bytes)
{
    struct zc_module *m = l->g.m;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    l->g.o.at = base;
    l->g.end = base + bytes;
    zc_native_targets(&l->g);
    for (uint32_t k = 0; k < m->kernels.n; k++)
        one_kernel(l, &m->kernels.v[k]);
    size_t used = ((size_t)(l->g.o.at - base) + page - 1) / page * page;
    if (used < bytes)
        munmap(base + used, bytes - used);
    m->lanes = used ? base : NULL;
    m->lanes_bytes = used;
    if (used && mprotect(base, used, PROT_READ | PROT_EXEC))
        for (uint32_t k = 0; k < m->kernels.n; k++) {
            free(m->kernels.v[k].lanes);
            m->kernels.v[k].lanes = NULL;
        }
}

void zc_lanes(struct zc_module *m, bool *entered)
{
    uint32_t n = m->code.n;
    size_t bytes = ((size_t)n * BYTES_EACH + 65536) & ~(size_t)65535;
    if (!zc_config.lanes || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return;
    bytes = bytes < BYTES_MAX ? bytes : BYTES_MAX;
    struct zc_lanes_gen *l = calloc(1, sizeof *l);
    uint8_t *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (l) {
        l->g.m = m;
        l->entered = entered;
        l->g.native = malloc(n * sizeof *l->g.native);
        l->g.is_target = calloc(n, sizeof(bool));
        l->g.fix = malloc((n * 2 + m->extra.n) * sizeof *l->g.fix);
    }
    if (l && l->g.native && l->g.is_target && l->g.fix && base != MAP_FAILED)
        all_kernels(l, base, bytes);
    else if (base != MAP_FAILED)
        munmap(base, bytes);
    if (l) {
        free(l->g.native);
        free(l->g.is_target);
        free(l->g.fix);
    }
    free(l);
}

#else

void zc_lanes(struct zc_module *m, bool *entered)
{
    (void)m, (void)entered;
}

#endif

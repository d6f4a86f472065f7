/*
 * vm.c - the interpreter: runs one work-item until it ends, waits, or has used its quantum.
 *
 * A work-item yields at barriers and group operations, after QUANTUM backward jumps, and as soon as it polls words that do
 * not change: up to ZC_POLLED atomic or volatile loads, failed compare-exchanges or exchanges return the same values
 * ZC_SPINS times, with no write between them. So a work-item that waits costs the others little, and all resident
 * work-items make progress.
 *
 * A plain access of the kernel is a plain access here, an atomic one has the memory order of the kernel: ThreadSanitizer
 * reports the kernel's races.
 */
#include "ze_cpu/vm.h"

#include <math.h>
#include <string.h>

#include "ze_cpu/builtin.h"
#include "ze_cpu/convert.h"
#include "ze_cpu/count.h"
#include "ze_cpu/group_op.h"
#include "ze_cpu/guard.h"
#include "ze_cpu/print.h"
#include "ze_cpu/racing.h"
#include "ze_cpu/vm_op.h"
#include "ze_cpu/wide.h"

enum { QUANTUM = 4096 };

static inline bool is_new(struct zc_item *it, const struct zc_ins *i, uint64_t value)
{
    for (unsigned k = 0; k < ZC_POLLED; k++)
        if (it->polled[k].pc == i) {
            bool changed = it->polled[k].value != value;
            it->polled[k].value = value;
            return changed;
        }
    unsigned k = it->oldest++ % ZC_POLLED;
    it->polled[k].pc = i;
    it->polled[k].value = value;
    return true;
}

enum zc_stop zc_vm_polled(struct zc_item *it, const struct zc_ins *i, uint64_t value)
{
    if (is_new(it, i, value)) {
        it->spins = 0;
        it->fresh = true;
        return STOP_NOT;
    }
    if (++it->spins < ZC_SPINS)
        return STOP_NOT;
    it->spins = ZC_SPINS - 1;
    it->pc = i + 1;
    return it->fresh ? STOP_QUANTUM : STOP_SPIN;
}

/* ---- operations outside the loop -------------------------------------------------------------------------------- */

static const struct zc_ins *switch_to(const struct zc_module *m, const struct zc_ins *i, const uint8_t *f)
{
    uint64_t v = 0;
    memcpy(&v, f + i->a, i->w);
    const uint32_t *t = m->extra.v + i->c;
    for (uint32_t n = 0; n < i->b; n++, t += 3)
        if (v == (t[0] | (uint64_t)t[1] << 32))
            return m->code.v + t[2];
    return m->code.v + t[0];
}

static void pass_arguments(const struct zc_module *m, const struct zc_ins *i, uint8_t *f)
{
    const uint32_t *x = m->extra.v + i->b;
    for (uint32_t n = 0; n < i->c; n++, x += 3) {
        if (x[2] == 8)
            R(u64, x[0]) = R(u64, x[1]);
        else if (x[2] == 4)
            R(u32, x[0]) = R(u32, x[1]);
        else
            memcpy(f + x[0], f + x[1], x[2]);
    }
}

#define EACH(T, W, expr)                                                                                              \
    for (unsigned n = 0; n < i->n; n++)                                                                               \
        (&R(T, i->d))[n] = (expr);                                                                                    \
    break;
#define AT(T, slot) ((&R(T, i->slot))[n])

/* A function of builtin.c on every component. */
static void call_each(const struct zc_ins *i, uint8_t *f)
{
    unsigned args = i->op - OP_CALL_1 + 1u;
    switch (args * 10 + i->w) {
    case 14:
        EACH(f32, 4, ((zc_f1)i->ptr)(AT(f32, a)))
    case 18:
        EACH(f64, 8, ((zc_d1)i->ptr)(AT(f64, a)))
    case 24:
        EACH(f32, 4, ((zc_f2)i->ptr)(AT(f32, a), AT(f32, b)))
    case 28:
        EACH(f64, 8, ((zc_d2)i->ptr)(AT(f64, a), AT(f64, b)))
    case 34:
        EACH(f32, 4, ((zc_f3)i->ptr)(AT(f32, a), AT(f32, b), AT(f32, c)))
    default:
        EACH(f64, 8, ((zc_d3)i->ptr)(AT(f64, a), AT(f64, b), AT(f64, c)))
    }
}

static void call_int(const struct zc_ins *i, uint8_t *f)
{
    for (unsigned n = 0; n < i->n; n++) {
        uint64_t v[3] = {0, 0, 0}, r;
        memcpy(&v[0], f + i->a + n * i->w, i->w);
        memcpy(&v[1], f + i->b + n * i->w, i->w);
        memcpy(&v[2], f + i->c + n * i->w, i->w);
        r = ((zc_bits)i->ptr)(v[0], v[1], v[2], i->w);
        memcpy(f + i->d + n * i->w, &r, i->w);
    }
}

static void call_ptr(const struct zc_ins *i, uint8_t *f)
{
    for (unsigned n = 0; n < i->n; n++)
        ((zc_split)i->ptr)(f + i->d + n * (i->w & 1 ? 8 : 4), f + i->a + n * (i->w & 2 ? 8 : 4),
                           f + i->b + n * (i->w & 4 ? 8 : 4), f + i->c + n * (i->w & 8 ? 8 : 4));
}

uint64_t zc_vm_to_space(const struct zc_item *it, uint64_t a, uint32_t storage)
{
    bool local = a - (uint64_t)(uintptr_t)it->local < it->local_bytes;
    bool own = a - (uint64_t)(uintptr_t)it->f < (uint64_t)((const uint8_t *)it->stack - it->f);
    return (storage == STORAGE_LOCAL ? local : storage == STORAGE_FUNCTION ? own : !local && !own) ? a : 0;
}

static void fence(int order)
{
#define DO_FENCE(o) (__atomic_thread_fence(o), 0)
    (void)ORDERED(order, DO_FENCE);
    LOOK_AGAIN();
}

/* Elements of `bytes` each, with a stride on the side that is not local memory. The first work-item copies them all. */
static bool async_copy(struct zc_vm *x, const struct zc_item *it, const struct zc_ins *i, uint8_t *f)
{
    uint64_t d = R(u64, i->d), s = R(u64, i->a), n = R(u64, i->b), bytes = (uint64_t)i->imm;
    uint64_t stride = R(u64, i->c) ? R(u64, i->c) : 1;
    for (uint64_t k = 0; k < n && !it->index; k++) {
        uint64_t to = d + k * bytes * (i->n ? 1 : stride), from = s + k * bytes * (i->n ? stride : 1);
        if (x->races) {
            zc_racing_access(x, it, i, to, bytes, "store");
            zc_racing_access(x, it, i, from, bytes, "load");
        }
        if (x->guarded) {
            to = zc_guard_address(x, it, to, bytes, "copy");
            from = to ? zc_guard_address(x, it, from, bytes, "copy") : 0;
            if (!from)
                return false;
        }
        memcpy((void *)to, (const void *)from, bytes);
    }
    return true;
}

/* ---- the loop --------------------------------------------------------------------------------------------------- */

enum zc_stop zc_vm_run(struct zc_vm *x, struct zc_item *it)
{
    const struct zc_module *const m = x->m;
    const struct zc_ins *i = it->pc, *const code = m->code.v;
    uint8_t *const f = it->f;
    const bool guarded = x->guarded;
    int quantum = QUANTUM;
    it->fresh = false;
    LOOKED(NULL);
#define ZC_ROW(name) &&on_##name,
    static const void *const uncounted[] = {ZC_OPS};
#undef ZC_ROW
#define ZC_ROW(name) &&on_counted,
    static const void *const counted[] = {ZC_OPS};
    const void *const *const label = guarded && x->counts ? counted : uncounted;
    goto *label[i->op];
on_counted:
    zc_count_step(x->counts, m, it, i);
    goto *uncounted[i->op];

    ZC_INT2(INT2)
    ZC_ICMP(ICMP)
    ZC_ICMP(BRANCH)
    ZC_INT1(INT1)
    ZC_FLT2(FLT2)
    ZC_FCMP(FCMP)
    ZC_FLT1(FLT1)
    ZC_FLT3(FLT3)
    ACCESS(1, u8, m8)
    ACCESS(2, u16, m16)
    ACCESS(4, u32, m32)
    ACCESS(8, u64, m64)
    EXTENDS(u, ZX)
    EXTENDS(s, SX)
    ATOMICS(u32, s32, 4)
    ATOMICS(u64, s64, 8)
on_NATIVE: {
    struct zc_resume s = ((zc_native_code)(uintptr_t)i->ptr)(f, it, (uint64_t)quantum);
    if (!s.next)
        return (enum zc_stop)s.left;
    quantum = (int)s.left;
    i = s.next;
    goto *label[i->op];
}
on_LD_N:
    memcpy(f + i->d, MEM(u8, ADDR, i->b, "load"), i->b);
    NEXT
on_ST_N:
    WRITES
    memcpy(MEM(u8, ADDR, i->b, "store"), f + i->d, i->b);
    NEXT
on_COPY: {
    u8 *d = MEM(u8, R(u64, i->d), i->b, "copy"), *s = MEM(u8, R(u64, i->a), i->b, "copy");
    WRITES
    memmove(d, s, i->b);
    NEXT
}
on_COPY_SIZED: {
    uint64_t n = R(u64, i->b);
    if (n) {
        u8 *d = MEM(u8, R(u64, i->d), n, "copy"), *s = MEM(u8, R(u64, i->a), n, "copy");
        WRITES
        memmove(d, s, n);
    }
    NEXT
}
on_MOV_N:
    memmove(f + i->d, f + i->a, i->b);
    NEXT
on_ZERO: /* then the first byte becomes a */
    memset(f + i->d, 0, i->b);
    f[i->d] = (uint8_t)i->a;
    NEXT
on_LEA:
    R(u64, i->d) = (uint64_t)(uintptr_t)(f + i->a);
    NEXT
on_PADD:
    R(u64, i->d) = ADDR;
    NEXT
on_PMAD:
    R(u64, i->d) = R(u64, i->a) + R(u64, i->b) * (uint64_t)i->imm;
    NEXT
on_CONVERT:
    for (unsigned n = 0; n < i->n; n++)
        ((zc_converter)i->ptr)(f + i->d + n * i->c, f + i->a + n * i->w);
    NEXT
on_LNOT:
    for (unsigned n = 0; n < i->n; n++)
        AT(u8, d) = !AT(u8, a);
    NEXT
on_SEL_N:
    memmove(f + i->d, f + (R(u8, i->a) ? i->b : i->c), i->u[0]);
    NEXT
on_SEL_V:
    for (unsigned n = 0; n < i->n; n++)
        memmove(f + i->d + n * i->w, f + (AT(u8, a) ? i->b : i->c) + n * i->w, i->w);
    NEXT
on_ANY: {
    u8 any = 0;
    for (unsigned n = 0; n < i->n; n++)
        any |= AT(u8, a);
    R(u8, i->d) = any;
    NEXT
}
on_ALL: {
    u8 all = 1;
    for (unsigned n = 0; n < i->n; n++)
        all &= AT(u8, a);
    R(u8, i->d) = all;
    NEXT
}
on_EXTRACT:
    memmove(f + i->d, f + i->a + R(u64, i->b) % i->n * i->w, i->w);
    NEXT
on_INSERT:
    memmove(f + i->d + R(u64, i->b) % i->n * i->w, f + i->a, i->w);
    NEXT
on_CALL_1:
on_CALL_2:
on_CALL_3:
    call_each(i, f);
    NEXT
on_CALL_INT:
    call_int(i, f);
    NEXT
on_CALL_PTR:
    call_ptr(i, f);
    NEXT
on_GATHER:
    zc_group_ballot(it, i);
    NEXT
on_AFLAG: {
    u32 *p = MEM(u32, ADDR, 4, "atomic");
    u32 v = i->n, old = ORDERED(i->w, DO_XCHG);
    R(u8, i->d) = old != 0;
    if (v && old)
        POLLED(old)
    NEXT
}
on_FENCE:
    if (guarded && x->counts)
        x->counts->fences++;
    if (x->races)
        zc_racing_fence(x, it, i->w);
    fence(i->w);
    NEXT
on_PREFETCH:
    __builtin_prefetch((const void *)R(u64, i->a), 1);
    NEXT
on_BR:
    JUMP(i->d)
on_BRC:
    JUMP(R(u8, i->a) ? i->b : i->c)
on_SWITCH: {
    const struct zc_ins *target = switch_to(m, i, f);
    JUMP(target - code)
}
on_CALL:
    pass_arguments(m, i, f);
    it->stack[it->sp++] = i;
    i = code + i->a;
    goto *label[i->op];
on_RET:
    if (!it->sp)
        return STOP_DONE;
    i = it->stack[--it->sp];
    NEXT
on_RETV: {
    const struct zc_ins *r = i;
    if (!it->sp)
        return STOP_DONE;
    i = it->stack[--it->sp];
    memmove(f + i->d, f + r->a, r->b);
    NEXT
}
on_BARRIER:
    it->pc = i + 1;
    return STOP_BARRIER;
on_EXIT:
    return STOP_DONE;
on_WARP:
on_NAMED:
on_GROUP:
    it->pc = i;
    return STOP_GROUP;
on_PRINTF:
    R(s32, i->d) = zc_print(x, it, R(u64, i->a), m->extra.v + i->b, i->c);
    if (x->what)
        goto fault;
    NEXT
on_PRINTF_PACKED:
    R(s32, i->d) = zc_print_packed(x, it, R(u64, i->a), R(u64, i->b));
    if (x->what)
        goto fault;
    NEXT
on_WIDE: {
    struct zc_wide *p = MEM(struct zc_wide, ADDR, 16, i->n == WIDE_LOAD ? "atomic load" : i->n == WIDE_STORE ? "atomic store" : "atomic"), v, cond, old;
    memcpy(&v, f + i->b, sizeof v);
    memcpy(&cond, f + i->c, sizeof cond);
    if (i->n == WIDE_STORE) {
        WRITES
        zc_wide_store(p, v);
        NEXT
    }
    old = i->n == WIDE_LOAD ? zc_wide_load(p) : i->n == WIDE_CAS ? zc_wide_swap(p, cond, v) : zc_wide_exchange(p, v);
    memcpy(f + i->d, &old, sizeof old);
    POLLED(old.word[0] ^ old.word[1] * 31)
    NEXT
}
on_TO_SPACE:
    R(u64, i->d) = zc_vm_to_space(it, R(u64, i->a), i->b);
    NEXT
on_HALF_LD:
    zc_half_load(f + i->d, i->w, MEM(u8, R(u64, i->a), i->n * 2u, "load"), i->n);
    NEXT
on_HALF_ST:
    zc_half_store(MEM(u8, R(u64, i->a), i->n * 2u, "store"), f + i->d, i->w, i->n, (int)i->c);
    NEXT
on_ASYNC_COPY:
    if (!async_copy(x, it, i, f))
        goto fault;
    NEXT
on_TRAP:
    x->what = i->ptr ? i->ptr : "reached code that is unreachable";
fault:
    it->pc = i;
    return STOP_FAULT;
}

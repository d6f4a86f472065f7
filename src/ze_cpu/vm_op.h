/*
 * vm_op.h - the operations of op.h as code of the interpreter's loop: vm.c alone includes it. The code uses the loop's variables: i (the
 * instruction), f (the frame), it (the work-item), x, code, label, quantum, guarded.
 */
#ifndef ZC_VM_OP_H
#define ZC_VM_OP_H

#include "ze_cpu/module.h"
#include "ze_cpu/op.h"

/* A kernel may access any type at any address: these have no alignment. */
#define UNALIGNED(T) T __attribute__((aligned(1)))
typedef UNALIGNED(u8) m8;
typedef UNALIGNED(u16) m16;
typedef UNALIGNED(u32) m32;
typedef UNALIGNED(u64) m64;

#define zc_sqrt(a) _Generic((a), float: sqrtf, default: sqrt)(a)
#define zc_abs(a) _Generic((a), float: fabsf, default: fabs)(a)
#define zc_fma(a, b, c) _Generic((a), float: fmaf, default: fma)(a, b, c)

#define R(T, slot) (*(T *)(f + (slot)))
/* Every operation dispatches the next one itself: branches predict better than with one dispatch for all. */
#define NEXT                                                                                                          \
    {                                                                                                                 \
        i++;                                                                                                          \
        goto *label[i->op];                                                                                           \
    }
#define JUMP(to)                                                                                                      \
    {                                                                                                                 \
        const struct zc_ins *t_ = code + (to);                                                                        \
        if (t_ <= i && --quantum <= 0) {                                                                              \
            it->pc = t_;                                                                                              \
            return STOP_QUANTUM;                                                                                      \
        }                                                                                                             \
        i = t_;                                                                                                       \
        goto *label[i->op];                                                                                           \
    }
/* The memory at an address of the kernel; goes to `fault` if the address is bad. */
#define MEM(T, addr, bytes, kind)                                                                                     \
    ({                                                                                                                \
        uint64_t a_ = (addr);                                                                                         \
        if (guarded) {                                                                                                \
            if (x->counts)                                                                                            \
                zc_count_access(x->counts, it, i, a_, bytes, kind);                                                   \
            if (x->races)                                                                                             \
                a_ = zc_racing_access(x, it, i, a_, bytes, kind);                                                     \
            a_ = zc_guard_address(x, it, a_, bytes, kind);                                                            \
            if (!a_)                                                                                                  \
                goto fault;                                                                                           \
        }                                                                                                             \
        (T *)a_;                                                                                                      \
    })
/* This instruction polled `value`. */
#define POLLED(value)                                                                                                 \
    {                                                                                                                 \
        enum zc_stop s_ = zc_vm_polled(it, i, value);                                                                 \
        if (s_)                                                                                                       \
            return s_;                                                                                                \
    }
/* A work-item that writes does more than poll. */
#define WRITES it->spins = 0;

#define INT2_ONE(NAME, W, T, expr)                                                                                    \
    on_##NAME##_##W: {                                                                                                \
        T a = R(T, i->a), b = R(T, i->b);                                                                             \
        R(T, i->d) = (T)(expr);                                                                                       \
        NEXT                                                                                                          \
    }                                                                                                                 \
    on_##NAME##_##W##V:                                                                                               \
        for (unsigned n = 0; n < i->n; n++) {                                                                         \
            T a = (&R(T, i->a))[n], b = (&R(T, i->b))[n];                                                             \
            (&R(T, i->d))[n] = (T)(expr);                                                                             \
        }                                                                                                             \
        NEXT
#define INT2(NAME, s, expr)                                                                                           \
    INT2_ONE(NAME, 1, s##8, expr)                                                                                     \
    INT2_ONE(NAME, 2, s##16, expr) INT2_ONE(NAME, 4, s##32, expr) INT2_ONE(NAME, 8, s##64, expr)
#define CMP_ONE(NAME, W, T, expr)                                                                                     \
    on_##NAME##_##W: {                                                                                                \
        T a = R(T, i->a), b = R(T, i->b);                                                                             \
        R(u8, i->d) = (expr) != 0;                                                                                    \
        NEXT                                                                                                          \
    }                                                                                                                 \
    on_##NAME##_##W##V:                                                                                               \
        for (unsigned n = 0; n < i->n; n++) {                                                                         \
            T a = (&R(T, i->a))[n], b = (&R(T, i->b))[n];                                                             \
            (&R(u8, i->d))[n] = (expr) != 0;                                                                          \
        }                                                                                                             \
        NEXT
#define ICMP(NAME, s, expr)                                                                                           \
    CMP_ONE(NAME, 1, s##8, expr)                                                                                      \
    CMP_ONE(NAME, 2, s##16, expr) CMP_ONE(NAME, 4, s##32, expr) CMP_ONE(NAME, 8, s##64, expr)
#define BRANCH_ONE(NAME, W, T, expr)                                                                                  \
    on_BR_##NAME##_##W: {                                                                                             \
        T a = R(T, i->a), b = R(T, i->b);                                                                             \
        JUMP((expr) ? i->c : i->d)                                                                                    \
    }
#define BRANCH(NAME, s, expr) BRANCH_ONE(NAME, 4, s##32, expr) BRANCH_ONE(NAME, 8, s##64, expr)
#define FCMP(NAME, expr) CMP_ONE(NAME, 4, f32, expr) CMP_ONE(NAME, 8, f64, expr)
#define FLT2(NAME, expr) INT2_ONE(NAME, 4, f32, expr) INT2_ONE(NAME, 8, f64, expr)

#define ONE(NAME, W, T, expr)                                                                                         \
    on_##NAME##_##W: {                                                                                                \
        T a = R(T, i->a);                                                                                             \
        R(T, i->d) = (T)(expr);                                                                                       \
        NEXT                                                                                                          \
    }                                                                                                                 \
    on_##NAME##_##W##V:                                                                                               \
        for (unsigned n = 0; n < i->n; n++) {                                                                         \
            T a = (&R(T, i->a))[n];                                                                                   \
            (&R(T, i->d))[n] = (T)(expr);                                                                             \
        }                                                                                                             \
        NEXT
#define INT1(NAME, s, expr)                                                                                           \
    ONE(NAME, 1, s##8, expr) ONE(NAME, 2, s##16, expr) ONE(NAME, 4, s##32, expr) ONE(NAME, 8, s##64, expr)
#define FLT1(NAME, expr) ONE(NAME, 4, f32, expr) ONE(NAME, 8, f64, expr)
#define THREE(NAME, W, T, expr)                                                                                       \
    on_##NAME##_##W: {                                                                                                \
        T a = R(T, i->a), b = R(T, i->b), c = R(T, i->c);                                                             \
        R(T, i->d) = (T)(expr);                                                                                       \
        NEXT                                                                                                          \
    }                                                                                                                 \
    on_##NAME##_##W##V:                                                                                               \
        for (unsigned n = 0; n < i->n; n++) {                                                                         \
            T a = (&R(T, i->a))[n], b = (&R(T, i->b))[n], c = (&R(T, i->c))[n];                                       \
            (&R(T, i->d))[n] = (T)(expr);                                                                             \
        }                                                                                                             \
        NEXT
#define FLT3(NAME, expr) THREE(NAME, 4, f32, expr) THREE(NAME, 8, f64, expr)

/* Loads and stores: d is the value; the address is a + imm, or a + b * c + imm. */
#define ADDR (R(u64, i->a) + (uint64_t)i->imm)
#define ADDRX (R(u64, i->a) + R(u64, i->b) * i->c + (uint64_t)i->imm)
#define ACCESS(W, T, M)                                                                                               \
    on_LD_##W:                                                                                                        \
        R(T, i->d) = *MEM(M, ADDR, W, "load");                                                                        \
        NEXT                                                                                                          \
    on_LDX_##W:                                                                                                       \
        R(T, i->d) = *MEM(M, ADDRX, W, "load");                                                                       \
        NEXT                                                                                                          \
    on_ST_##W:                                                                                                        \
        WRITES                                                                                                        \
        *MEM(M, ADDR, W, "store") = R(T, i->d);                                                                       \
        NEXT                                                                                                          \
    on_STX_##W:                                                                                                       \
        WRITES                                                                                                        \
        *MEM(M, ADDRX, W, "store") = R(T, i->d);                                                                      \
        NEXT                                                                                                          \
    on_LDV_##W: {                                                                                                     \
        T v = __atomic_load_n(MEM(T, ADDR, W, "load"), __ATOMIC_RELAXED);                                             \
        R(T, i->d) = v;                                                                                               \
        POLLED(v)                                                                                                     \
        NEXT                                                                                                          \
    }                                                                                                                 \
    on_STV_##W:                                                                                                       \
        WRITES                                                                                                        \
        __atomic_store_n(MEM(T, ADDR, W, "store"), R(T, i->d), __ATOMIC_RELAXED);                                     \
        NEXT                                                                                                          \
    on_MOV_##W:                                                                                                       \
        R(T, i->d) = R(T, i->a);                                                                                      \
        NEXT                                                                                                          \
    on_SEL_##W:                                                                                                       \
        R(T, i->d) = R(u8, i->a) ? R(T, i->b) : R(T, i->c);                                                           \
        NEXT

#define EXTEND(F, FT, TW, TT, s, NAME)                                                                                \
    on_##NAME##_##F##_##TW:                                                                                           \
        R(s##TT, i->d) = R(s##FT, i->a);                                                                              \
        NEXT
#define EXTENDS(s, NAME)                                                                                              \
    EXTEND(1, 8, 2, 16, s, NAME)                                                                                      \
    EXTEND(1, 8, 4, 32, s, NAME) EXTEND(1, 8, 8, 64, s, NAME) EXTEND(2, 16, 4, 32, s, NAME)                           \
    EXTEND(2, 16, 8, 64, s, NAME) EXTEND(4, 32, 8, 64, s, NAME)

/* The atomic builtin `call` with the memory order o, a run-time value. */
#define ORDERED(o, call)                                                                                              \
    ((o) == __ATOMIC_RELAXED   ? call(__ATOMIC_RELAXED)                                                               \
     : (o) == __ATOMIC_ACQUIRE ? call(__ATOMIC_ACQUIRE)                                                               \
     : (o) == __ATOMIC_RELEASE ? call(__ATOMIC_RELEASE)                                                               \
     : (o) == __ATOMIC_ACQ_REL ? call(__ATOMIC_ACQ_REL)                                                               \
                               : call(__ATOMIC_SEQ_CST))
/* ThreadSanitizer knows no fences. For it, an acquire fence loads the word of the last relaxed load again, with acquire. */
#if defined(__has_feature)
#define TSAN __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define TSAN 1
#else
#define TSAN 0
#endif
#if TSAN
static _Thread_local const uint32_t *looked;
#define LOOKED(p) (looked = (const uint32_t *)(p))
#define LOOK_AGAIN() ((void)(looked && __atomic_load_n(looked, __ATOMIC_ACQUIRE)))
#else
#define LOOKED(p) ((void)(p))
#define LOOK_AGAIN() ((void)0)
#endif
#define LOAD_AS(T, W, NAME, o)                                                                                        \
    on_ALOAD_##NAME##_##W: {                                                                                          \
        const T *p = MEM(T, ADDR, W, "atomic load");                                                                  \
        T v = __atomic_load_n(p, o);                                                                                  \
        LOOKED(p);                                                                                                    \
        R(T, i->d) = v;                                                                                               \
        POLLED(v)                                                                                                     \
        NEXT                                                                                                          \
    }
#define STORE_AS(T, W, NAME, o)                                                                                       \
    on_ASTORE_##NAME##_##W:                                                                                           \
        WRITES                                                                                                        \
        __atomic_store_n(MEM(T, ADDR, W, "atomic store"), R(T, i->d), o);                                             \
        NEXT
/* d: the old value; b: the operand; w: the order. */
#define FETCH(T, W, NAME, fn)                                                                                         \
    on_##NAME##_##W: {                                                                                                \
        T *p = MEM(T, ADDR, W, "atomic");                                                                             \
        T v = R(T, i->b);                                                                                             \
        WRITES                                                                                                        \
        R(T, i->d) = ORDERED(i->w, fn);                                                                               \
        NEXT                                                                                                          \
    }
#define DO_ADD(o) __atomic_fetch_add(p, v, o)
#define DO_SUB(o) __atomic_fetch_sub(p, v, o)
#define DO_AND(o) __atomic_fetch_and(p, v, o)
#define DO_OR(o) __atomic_fetch_or(p, v, o)
#define DO_XOR(o) __atomic_fetch_xor(p, v, o)
#define DO_XCHG(o) __atomic_exchange_n(p, v, o)
#define DO_CAS(o)                                                                                                     \
    __atomic_compare_exchange_n(p, &old, v, false, o,                                                                 \
                                (o) == __ATOMIC_ACQ_REL || (o) == __ATOMIC_ACQUIRE ? __ATOMIC_ACQUIRE                 \
                                : (o) == __ATOMIC_SEQ_CST                          ? __ATOMIC_SEQ_CST                 \
                                                                                   : __ATOMIC_RELAXED)
#define EXTREME(T, W, NAME, CT, better)                                                                               \
    on_##NAME##_##W: {                                                                                                \
        T *p = MEM(T, ADDR, W, "atomic");                                                                             \
        T arg = R(T, i->b), v, old = __atomic_load_n(p, __ATOMIC_RELAXED);                                            \
        WRITES                                                                                                        \
        do                                                                                                            \
            v = (CT)arg better(CT) old ? arg : old;                                                                   \
        while (!ORDERED(i->w, DO_CAS));                                                                               \
        R(T, i->d) = old;                                                                                             \
        NEXT                                                                                                          \
    }
/* d: the old value; the new one is the function's of it, b and c. The address is a. */
#define UPDATE(T, W)                                                                                                  \
    on_AUPDATE_##W: {                                                                                                 \
        T *p = MEM(T, R(u64, i->a), W, "atomic");                                                                     \
        T v, old = __atomic_load_n(p, __ATOMIC_RELAXED);                                                              \
        WRITES                                                                                                        \
        do                                                                                                            \
            v = (T)((zc_bits)i->ptr)(old, R(T, i->b), R(T, i->c), W);                                                 \
        while (!ORDERED(i->w, DO_CAS));                                                                               \
        R(T, i->d) = old;                                                                                             \
        NEXT                                                                                                          \
    }
#define ATOMICS(T, ST, W)                                                                                             \
    LOAD_AS(T, W, RLX, __ATOMIC_RELAXED)                                                                              \
    LOAD_AS(T, W, ACQ, __ATOMIC_ACQUIRE) LOAD_AS(T, W, SEQ, __ATOMIC_SEQ_CST)                                         \
    STORE_AS(T, W, RLX, __ATOMIC_RELAXED) STORE_AS(T, W, REL, __ATOMIC_RELEASE)                                       \
    STORE_AS(T, W, SEQ, __ATOMIC_SEQ_CST) FETCH(T, W, AADD, DO_ADD) FETCH(T, W, ASUB, DO_SUB)                         \
    FETCH(T, W, AAND, DO_AND) FETCH(T, W, AOR, DO_OR) FETCH(T, W, AXOR, DO_XOR)                                       \
    EXTREME(T, W, ASMIN, ST, <) EXTREME(T, W, AUMIN, T, <) EXTREME(T, W, ASMAX, ST, >) EXTREME(T, W, AUMAX, T, >)     \
    UPDATE(T, W)                                                                                                      \
    on_AXCHG_##W: {                                                                                                   \
        T *p = MEM(T, ADDR, W, "atomic");                                                                             \
        T v = R(T, i->b), old = ORDERED(i->w, DO_XCHG);                                                               \
        R(T, i->d) = old;                                                                                             \
        POLLED(old)                                                                                                   \
        NEXT                                                                                                          \
    }                                                                                                                 \
    on_ACAS_##W: {                                                                                                    \
        T *p = MEM(T, ADDR, W, "atomic");                                                                             \
        T v = R(T, i->b), old = R(T, i->c);                                                                           \
        bool done = ORDERED(i->w, DO_CAS);                                                                            \
        R(T, i->d) = old;                                                                                             \
        if (!done)                                                                                                    \
            POLLED(old)                                                                                               \
        else                                                                                                          \
            WRITES                                                                                                    \
        NEXT                                                                                                          \
    }

#endif

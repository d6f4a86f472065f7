/*
 * native.c - translates VM instructions to x86-64, one by one.
 *
 * A translated instruction becomes OP_NATIVE, and its ptr points to machine code that does the same, continues with the
 * instructions after it, and returns to the interpreter at the first one that is not translated or when the quantum ends.
 * Between two instructions every value is in the frame, so interpreter and translated code can alternate anywhere. rax
 * keeps the last result, which saves the next instruction a load if no jump leads between the two.
 *
 * Translated code is called as zc_native_code (vm.h): rdi is the frame, rsi the work-item, edx the rest of the quantum.
 * Backward jumps decrement it; polls do the same as in the interpreter.
 */
#include "ze_cpu/native.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "ze_cpu/lanes.h"
#include "ze_cpu/native_gen.h"
#include "ze_cpu/vm.h"

#if defined(__x86_64__)

enum { BYTES_EACH = 80, STUB_MAX = 16 };
enum { ONE_MAX = 4096 }; /* bytes of code for one instruction, at most */

/* ---- return to the interpreter ---------------------------------------------------------------------------------- */

/* Return to the interpreter, which continues with this instruction. */
static void leave(struct zc_gen *g)
{
    x_imm64(&g->o, RAX, n_address_of(g, g->pc));
    x_byte(&g->o, X_RET);
}

/* Call zc_vm_polled(item, instruction, value). */
static void poll_slow(struct zc_gen *g)
{
    n_push(g);
    x_reg(&g->o, X_MOV, true, RDI, RSI);
    x_reg(&g->o, X_MOV, true, RSI, R8);
    x_reg(&g->o, X_MOV, true, RDX, RAX);
    x_byte(&g->o, X_PUSH + RAX); /* aligns the stack to 16 bytes */
    n_call(g, (const void *)(uintptr_t)zc_vm_polled);
    x_byte(&g->o, X_POP + RCX);
    n_pop(g);
    x_reg(&g->o, X_TEST, false, RAX, RAX);
    uint8_t *stops = x_branch_later(&g->o, CC_NE);
    x_byte(&g->o, X_RET);
    x_set_distance(stops, g->o.at);
    x_byte(&g->o, X_POP + RCX); /* drop the return address: return to the interpreter */
    x_reg(&g->o, X_MOV, false, RDX, RAX);
    x_reg(&g->o, X_XOR, false, RAX, RAX);
    x_byte(&g->o, X_RET);
}

/* The same value again: the work-item does not yield before ZC_SPINS. */
static void poll_same(struct zc_gen *g, const uint8_t *slow)
{
    x_load(&g->o, RCX, RSI, ITEM(spins), 1, false);
    x_reg(&g->o, X_IMM, false, IMM_ADD, RCX);
    x_u32(&g->o, 1);
    x_reg(&g->o, X_IMM, false, IMM_CMP, RCX);
    x_u32(&g->o, ZC_SPINS);
    x_set_distance(x_branch_later(&g->o, CC_AE), slow);
    x_store(&g->o, RCX, RSI, ITEM(spins), 1);
    x_byte(&g->o, X_RET);
}

/* Two routines that all code of the module uses. stop: jumped to with the instruction to continue with in rax. poll: called with
 * the polled value in rax and the instruction in r8. */
static void shared_code(struct zc_gen *g)
{
    g->stop = g->o.at;
    x_store(&g->o, RAX, RSI, ITEM(pc), 8);
    n_stop(g, STOP_QUANTUM);
    const uint8_t *slow = g->o.at;
    poll_slow(g);
    const uint8_t *same = g->o.at;
    poll_same(g, slow);
    g->poll = g->o.at;
    for (uint32_t k = 0; k < ZC_POLLED; k++) {
        x_mem(&g->o, X_CMP, true, R8, RSI, ITEM(polled[k].pc));
        uint8_t *other = x_branch_later(&g->o, CC_NE);
        x_mem(&g->o, X_CMP, true, RAX, RSI, ITEM(polled[k].value));
        x_set_distance(x_branch_later(&g->o, CC_E), same);
        x_store(&g->o, RAX, RSI, ITEM(polled[k].value), 8);
        x_mem(&g->o, X_MOV8_IMM, false, 0, RSI, ITEM(spins));
        x_byte(&g->o, 0);
        x_mem(&g->o, X_MOV8_IMM, false, 0, RSI, ITEM(fresh));
        x_byte(&g->o, true);
        x_byte(&g->o, X_RET);
        x_set_distance(other, g->o.at);
    }
    x_jump(&g->o, X_JUMP, slow);
}

/* ---- modules ---------------------------------------------------------------------------------------------------- */

static bool translate(struct zc_gen *g, const struct zc_ins *i)
{
    return zc_native_arith(g, i) || zc_native_memory(g, i) || zc_native_control(g, i);
}

static void translate_all(struct zc_gen *g)
{
    zc_native_targets(g);
    shared_code(g);
    for (g->pc = 0; g->pc < g->m->code.n; g->pc++) {
        const struct zc_ins *i = &g->m->code.v[g->pc];
        uint64_t left = (uint64_t)(g->end - g->o.at), stubs = (uint64_t)(g->m->code.n - g->pc) * STUB_MAX;
        g->was = g->is_target[g->pc] ? (struct held){0, 0} : g->held;
        g->quiet = g->quiet && !g->is_target[g->pc];
        g->held.width = 0;
        g->native[g->pc] = g->o.at;
        g->is_native[g->pc] = left > stubs + ONE_MAX && translate(g, i);
        if (!g->is_native[g->pc]) {
            g->o.at = g->native[g->pc];
            leave(g);
            g->held.width = 0;
            g->quiet = false;
        }
    }
    for (uint32_t k = 0; k < g->fixes; k++)
        x_set_distance(g->fix[k].place, g->native[g->fix[k].to]);
}

void zc_native(struct zc_module *m)
{
    uint32_t n = m->code.n;
    size_t bytes = (size_t)n * BYTES_EACH + 65536;
    struct zc_gen g = {.m = m};
    g.native = malloc(n * sizeof *g.native);
    g.is_target = calloc(n, 2 * sizeof(bool));
    g.is_native = g.is_target + n;
    g.fix = malloc((n * 2 + m->extra.n) * sizeof *g.fix);
    uint8_t *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.native && g.is_target && g.fix && base != MAP_FAILED) {
        g.o.at = base;
        g.end = base + bytes;
        zc_lanes(m, g.is_target);
        translate_all(&g);
        if (!mprotect(base, bytes, PROT_READ | PROT_EXEC)) {
            m->native = base;
            m->native_bytes = bytes;
        }
        for (uint32_t k = 0; m->native && k < n; k++)
            if (g.is_native[k]) {
                m->code.v[k].op = OP_NATIVE;
                m->code.v[k].ptr = g.native[k];
            }
    }
    if (!m->native && base != MAP_FAILED)
        munmap(base, bytes);
    free(g.native);
    free(g.is_target);
    free(g.fix);
}

#else

void zc_native(struct zc_module *m)
{
    (void)m;
}

#endif

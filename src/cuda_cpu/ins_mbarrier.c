/*
 * ins_mbarrier.c - barriers in shared memory (mbarrier), bulk copies that they count, and clusters, which have one group.
 *
 * The word of an mbarrier, whose layout PTX leaves open: from bit 0 the arrivals that the phase still needs, from bit 20 those that each
 * phase needs, from bit 40 the bytes that copies still have to bring plus TX_ZERO, in bit 63 the phase. An update of the word is one
 * atomic operation; the one that leaves no arrival and no byte begins the next phase. A copy is complete at once.
 */
#include <string.h>

#include "cuda_cpu/lower.h"

enum { COUNT_BITS = 20, EXPECTED = COUNT_BITS, TX = 2 * COUNT_BITS, PHASE = 63 };
static const uint64_t count_mask = (1u << COUNT_BITS) - 1, tx_zero = 1u << COUNT_BITS, tx_mask = (1ull << (PHASE - TX)) - 1;

/* ---- updates of the word, each a zc_bits ------------------------------------------------------------------------ */

static uint64_t settled(uint64_t word)
{
    if ((word & count_mask) || (word >> TX & tx_mask) != tx_zero)
        return word;
    return (word ^ 1ull << PHASE) | (word >> EXPECTED & count_mask);
}

static uint64_t new_word(uint64_t count, uint64_t b, uint64_t c, unsigned width)
{
    (void)b, (void)c, (void)width;
    count &= count_mask;
    return count | count << EXPECTED | tx_zero << TX;
}

/* count arrivals, after which the phase waits for `bytes` more. */
static uint64_t arrived(uint64_t word, uint64_t count, uint64_t bytes, unsigned width)
{
    (void)width;
    word += (bytes & count_mask) << TX;
    return settled((word & ~count_mask) | ((word - count) & count_mask));
}

static uint64_t dropped(uint64_t word, uint64_t count, uint64_t bytes, unsigned width)
{
    return arrived(word - ((count & count_mask) << EXPECTED), count, bytes, width);
}

static uint64_t expected(uint64_t word, uint64_t bytes, uint64_t c, unsigned width)
{
    (void)c, (void)width;
    return word + ((bytes & count_mask) << TX);
}

static uint64_t completed(uint64_t word, uint64_t bytes, uint64_t c, unsigned width)
{
    (void)c, (void)width;
    return settled(word - ((bytes & count_mask) << TX));
}

/* Has the phase of this state ended? */
static uint64_t ended(uint64_t word, uint64_t state, uint64_t c, unsigned width)
{
    (void)c, (void)width;
    return (word ^ state) >> PHASE;
}

static uint64_t ended_parity(uint64_t word, uint64_t parity, uint64_t c, unsigned width)
{
    (void)c, (void)width;
    return (word >> PHASE) ^ (parity & 1);
}

static uint64_t pending(uint64_t state, uint64_t b, uint64_t c, unsigned width)
{
    (void)b, (void)c, (void)width;
    return state & count_mask;
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

static uint8_t space(struct ptx *p)
{
    return cc_which(p, "shared shared::cta shared::cluster") >= 0 ? SPACE_SHARED : SPACE_GENERIC;
}

/* The address in operand k as a value. */
static uint32_t place(struct ptx *p, unsigned k, uint8_t in)
{
    struct zc_addr a = cc_address(p, cc_operand(p, k), in);
    uint32_t at = cc_temp(p, 8);
    if (a.index != ZC_NONE)
        a = zc_settle(p->m, a, cc_temp(p, 8));
    cc_emit(p, OP_PADD, at, a.base, 0)->imm = a.imm;
    return at;
}

/* An operand of 32 bits as 64 bits, or `otherwise` where there is none. */
static uint32_t number(struct ptx *p, unsigned k, uint64_t otherwise)
{
    return k < p->ins->nop ? zc_resize(p->m, cc_source(p, k, cc_u32), 4, 8, false) : cc_constant(p, otherwise, 8);
}

static void semantics(struct ptx *p)
{
    cc_which(p, "relaxed acquire release");
    cc_which(p, "cta cluster");
}

static void update(struct ptx *p, const void *fn, uint32_t old, uint32_t at, uint32_t b, uint32_t c)
{
    struct zc_ins *i = cc_emit(p, OP_AUPDATE_8, old, at, b);
    i->c = c;
    i->w = __ATOMIC_ACQ_REL;
    i->ptr = fn;
}

/* ---- mbarrier --------------------------------------------------------------------------------------------------- */

static void emit_init(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    uint32_t at = place(p, 0, space(p)), word = cc_temp(p, 8);
    cc_call_bits(p, (const void *)new_word, 8, word, number(p, 1, 0), 0, 0);
    cc_emit(p, OP_ASTORE_REL_8, word, at, 0);
}

/* A state comes first, or _; r->f32: the update. noComplete: the program says that the phase does not end. */
static void emit_arrive(struct ptx *p, const struct cc_row *r)
{
    bool expects = cc_has(p, "expect_tx");
    cc_has(p, "noComplete");
    semantics(p);
    const struct ptx_operand none = {.kind = O_NONE}, *d = cc_operand(p, 0)->memory ? &none : cc_operand(p, 0);
    unsigned first = d != &none;
    uint32_t at = place(p, first, space(p)), more = number(p, first + 1, expects ? 0 : 1), s = cc_into(p, d, 8);
    update(p, r->f32, s, at, expects ? cc_constant(p, 1, 8) : more, expects ? more : cc_constant(p, 0, 8));
    cc_done(p, d, s, 8, false);
}

static void emit_tx(struct ptx *p, const struct cc_row *r)
{
    semantics(p);
    update(p, r->f32, cc_temp(p, 8), place(p, 0, space(p)), number(p, 1, 0), cc_constant(p, 0, 8));
}

/* try_wait may return before the end of the phase. */
static void emit_test(struct ptx *p, const struct cc_row *r)
{
    bool parity = cc_has(p, "parity");
    semantics(p);
    uint32_t at = place(p, 1, space(p)), word = cc_temp(p, 8), flag = cc_temp(p, 8);
    uint32_t of = parity ? number(p, 2, 0) : cc_source(p, 2, cc_u64), d = cc_into(p, cc_operand(p, 0), 1);
    (void)r;
    if (p->ins->nop > 3)
        number(p, 3, 0); /* how long it may take */
    cc_emit(p, OP_ALOAD_ACQ_8, word, at, 0);
    cc_call_bits(p, parity ? (const void *)ended_parity : (const void *)ended, 8, flag, word, of, 0);
    zc_move(p->m, d, flag, 1);
}

static void emit_pending(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    uint32_t n = cc_temp(p, 8), d = cc_into(p, cc_operand(p, 0), 4);
    cc_call_bits(p, (const void *)pending, 8, n, cc_source(p, 1, cc_u64), 0, 0);
    zc_move(p->m, d, n, 4);
    cc_done(p, cc_operand(p, 0), d, 4, false);
}

static void emit_inval(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    space(p);
}

/* ---- copies ----------------------------------------------------------------------------------------------------- */

/* The arrival of copies that are complete: noinc counts as one, else the phase needs one more, which has come. */
static void emit_copies_arrive(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    uint32_t at = place(p, 0, space(p));
    if (cc_has(p, "noinc"))
        update(p, (const void *)arrived, cc_temp(p, 8), at, cc_constant(p, 1, 8), cc_constant(p, 0, 8));
}

/* To shared memory with an mbarrier, from it in a group of copies. */
static void emit_bulk(struct ptx *p, const struct cc_row *r)
{
    bool counted = cc_has(p, "mbarrier::complete_tx::bytes"), hint = cc_has(p, "L2::cache_hint");
    uint8_t to = r->vm & 1 ? SPACE_SHARED : SPACE_GLOBAL, from = r->vm & 2 ? SPACE_SHARED : SPACE_GLOBAL;
    cc_which(p, "shared::cluster");
    cc_which(p, "shared::cta");
    cc_which(p, "global");
    cc_which(p, "bulk_group");
    if (p->ins->nop != 3u + counted + hint)
        ptx_fail(p, "cp.async.bulk: %u operands", p->ins->nop);
    uint32_t d = place(p, 0, to), s = place(p, 1, from), n = number(p, 2, 0);
    cc_emit(p, OP_COPY_SIZED, d, s, n);
    if (counted)
        update(p, (const void *)completed, cc_temp(p, 8), place(p, 3, SPACE_SHARED), n, cc_constant(p, 0, 8));
}

static void emit_copies_wait(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    cc_has(p, "read");
}

/* ---- clusters of one group -------------------------------------------------------------------------------------- */

static void emit_cluster_arrive(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    cc_has(p, "aligned");
    cc_which(p, "release relaxed");
}

/* Waits until all threads have come to their wait. */
static void emit_cluster_wait(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    cc_has(p, "aligned");
    cc_has(p, "acquire");
    cc_emit(p, OP_BARRIER, 0, 0, 0);
}

/* The address in the group's own memory is that in the cluster. */
static void emit_mapa(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t a = cc_source(p, 1, t), s = cc_into(p, d, t.width);
    space(p);
    zc_move(p->m, s, r->vm ? cc_constant(p, 0, t.width) : a, t.width);
    cc_done(p, d, s, t.width, false);
}

static const struct cc_row rows[] = {
    {"mbarrier", "init", PTX_B, emit_init, 0, NULL, NULL},
    {"mbarrier", "inval", PTX_B, emit_inval, 0, NULL, NULL},
    {"mbarrier", "arrive", PTX_B, emit_arrive, 0, (const void *)arrived, NULL},
    {"mbarrier", "arrive_drop", PTX_B, emit_arrive, 0, (const void *)dropped, NULL},
    {"mbarrier", "expect_tx", PTX_B, emit_tx, 0, (const void *)expected, NULL},
    {"mbarrier", "complete_tx", PTX_B, emit_tx, 0, (const void *)completed, NULL},
    {"mbarrier", "test_wait", PTX_B, emit_test, 0, NULL, NULL},
    {"mbarrier", "try_wait", PTX_B, emit_test, 0, NULL, NULL},
    {"mbarrier", "pending_count", PTX_B, emit_pending, 0, NULL, NULL},
    {"cp", "async mbarrier arrive", PTX_B, emit_copies_arrive, 0, NULL, NULL},
    {"cp", "async bulk commit_group", 0, emit_copies_wait, 0, NULL, NULL},
    {"cp", "async bulk wait_group", 0, emit_copies_wait, 0, NULL, NULL},
    {"cp", "async bulk shared::cluster global", 0, emit_bulk, 1, NULL, NULL},
    {"cp", "async bulk shared::cta global mbarrier::complete_tx::bytes", 0, emit_bulk, 1, NULL, NULL},
    {"cp", "async bulk global shared::cta", 0, emit_bulk, 2, NULL, NULL},
    {"cp", "async bulk shared::cluster shared::cta", 0, emit_bulk, 3, NULL, NULL},
    {"barrier", "cluster arrive", 0, emit_cluster_arrive, 0, NULL, NULL},
    {"barrier", "cluster wait", 0, emit_cluster_wait, 0, NULL, NULL},
    {"mapa", "", PTX_INT, emit_mapa, 0, NULL, NULL},
    {"getctarank", "", PTX_INT, emit_mapa, 1, NULL, NULL},
};

bool cc_mbarrier(struct ptx *p)
{
    return cc_by_rows(p, rows, sizeof rows / sizeof *rows);
}

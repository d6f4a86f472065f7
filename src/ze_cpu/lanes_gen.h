/* lanes_gen.h - the state of the translation for 8 work-items, shared by lanes.c, lanes_vector.c and lanes_operand.c. */
#ifndef ZC_LANES_GEN_H
#define ZC_LANES_GEN_H

#include "ze_cpu/avx.h"
#include "ze_cpu/lanes_plan.h"
#include "ze_cpu/native_gen.h"

enum { ZC_LANES_CONSTANTS = 64, VECTOR_BYTES = 32, ZC_LANES_KEPT = 12 };

/* The vectors that registers Y4 to Y15 have as code of one basic block has written them: 1 + the vector, 0: none. */
struct zc_lanes_kept {
    uint32_t vector[ZC_LANES_KEPT], next; /* next: the register that is replaced next */
    bool unsaved[ZC_LANES_KEPT];          /* memory does not have it: no other block reads it */
};

struct zc_lanes_gen {
    struct zc_gen g;
    struct zc_lanes_plan p;
    struct zc_lanes_constant constant[ZC_LANES_CONSTANTS];
    uint32_t constants;
    bool *entered; /* each instruction: its own code is entered from here */
    bool full; /* there were too many constants */
    struct zc_lanes_kept kept;
};

static inline const struct zc_lanes_region *l_region(const struct zc_lanes_gen *l, uint32_t slot)
{
    return &l->p.region[l->p.region_of[slot] - 1];
}

enum { FIRST_KEPT = 4 }; /* the registers before it are free in each instruction */

/* Store the k-th register if memory lacks its vector. */
static inline void l_save_vector(struct zc_lanes_gen *l, unsigned k)
{
    if (l->kept.unsaved[k])
        v_mem(&l->g.o, V_STORE, FIRST_KEPT + k, 0, RBX, l->kept.vector[k] - 1);
    l->kept.unsaved[k] = false;
}

static inline void l_save_vectors(struct zc_lanes_gen *l)
{
    for (unsigned k = 0; k < ZC_LANES_KEPT; k++)
        l_save_vector(l, k);
}

/* The registers no longer have vectors: code may change either, or another block begins. */
static inline void l_forget_vectors(struct zc_lanes_gen *l)
{
    memset(&l->kept, 0, sizeof l->kept);
}

/* Continue with instruction `to` in each work-item's own code. */
static inline void l_leave(struct zc_lanes_gen *l, uint32_t to)
{
    l->entered[to] = true;
    x_imm64(&l->g.o, RAX, n_address_of(&l->g, to));
    x_jump(&l->g.o, X_JUMP, l->g.stop);
}

/* Translate i to operations on vectors, or return false: lanes_vector.c. */
bool zc_lanes_vector(struct zc_lanes_gen *l, const struct zc_ins *i);
/* The same for a branch whose condition varies. */
bool zc_lanes_branch(struct zc_lanes_gen *l, const struct zc_ins *i);
/* Copy the value in the frame's slot to all elements of its vector, or return false. */
bool zc_lanes_broadcast(struct zc_lanes_gen *l, uint32_t slot, uint32_t size);

#endif

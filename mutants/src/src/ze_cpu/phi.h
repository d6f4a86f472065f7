/* phi.h - phis while a function is lowered. */
#ifndef ZC_PHI_H
#define ZC_PHI_H

#include "ze_cpu/module.h"

/* Emit the moves into the phis of block `to`, for the edge from the current block. They happen as if all at once. */
void zc_phi_moves(struct zc_module *m, uint32_t to);

/*
 * The slot of p's result, as zc_result; a result that a loop's phi takes on the back edge shares the phi's slot, and the
 * edge needs no move. That is done only when the current block ends in the back edge and nothing between p and the branch
 * reads the phi's old value. Not on the edge that enters the loop: the loop overwrites its phi, and other code may still
 * need the initial value. Only for results that one instruction writes after it has read its operands.
 */
uint32_t zc_result_phi(struct zc_module *m, const uint32_t *p);

#endif

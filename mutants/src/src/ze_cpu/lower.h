/*
 * lower.h - lowering: from SPIR-V functions to instructions of the virtual machine. lower.c goes through the functions,
 * lower_*.c each lower one family of instructions.
 */
#ifndef ZC_LOWER_H
#define ZC_LOWER_H

#include "ze_cpu/module.h"

/* Lower all functions of a parsed module. Fails by zc_fail. */
void zc_lower(struct zc_module *m);

/* Lower the instruction p; false: it is none of this family. */
bool zc_lower_arith(struct zc_module *m, const uint32_t *p);     /* lower_arith.c */
bool zc_lower_composite(struct zc_module *m, const uint32_t *p); /* lower_arith.c */
bool zc_lower_convert(struct zc_module *m, const uint32_t *p);   /* lower_conv.c */
bool zc_lower_memory(struct zc_module *m, const uint32_t *p);    /* lower_mem.c */
bool zc_lower_atomic(struct zc_module *m, const uint32_t *p);    /* lower_mem.c */
bool zc_lower_group(struct zc_module *m, const uint32_t *p);     /* lower_group.c */
bool zc_lower_ext(struct zc_module *m, const uint32_t *p);       /* lower_ext.c */

#endif

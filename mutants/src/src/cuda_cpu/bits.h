/* bits.h - functions of PTX on integers that the virtual machine has no operation for; each is a zc_bits. */
#ifndef CC_BITS_H
#define CC_BITS_H

#include "ze_cpu/builtin.h"

#define CC_BITS(X)                                                                                                    \
    X(cc_mulhi_u) X(cc_mulhi_s) X(cc_mad24_lo_u) X(cc_mad24_lo_s) X(cc_mad24_hi_u) X(cc_mad24_hi_s) X(cc_sad_u)       \
    X(cc_sad_s) X(cc_cnot) X(cc_shift_left) X(cc_shf_l_wrap) X(cc_shf_l_clamp) X(cc_shf_r_wrap) X(cc_shf_r_clamp) X(cc_popc) X(cc_clz) X(cc_bfind_u) X(cc_bfind_s)  \
    X(cc_brev) X(cc_bfe_u) X(cc_bfe_s) X(cc_bmsk) X(cc_prmt) X(cc_prmt_f4e) X(cc_prmt_b4e) X(cc_prmt_rc8)             \
    X(cc_prmt_ecl) X(cc_prmt_ecr) X(cc_prmt_rc16) X(cc_dp4a_uu) X(cc_dp4a_us) X(cc_dp4a_su) X(cc_dp4a_ss)             \
    X(cc_dp2a_lo_uu) X(cc_dp2a_lo_us) X(cc_dp2a_lo_su) X(cc_dp2a_lo_ss) X(cc_dp2a_hi_uu) X(cc_dp2a_hi_us)             \
    X(cc_dp2a_hi_su) X(cc_dp2a_hi_ss) X(cc_inc) X(cc_dec) X(cc_fadd) X(cc_add_pair) X(cc_umin_pair)        \
    X(cc_umax_pair) X(cc_smin_pair) X(cc_smax_pair)
#define CC_DECLARE(name) uint64_t name(uint64_t a, uint64_t b, uint64_t c, unsigned width);
CC_BITS(CC_DECLARE)
#undef CC_DECLARE

#endif

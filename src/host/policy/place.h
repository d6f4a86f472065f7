/*
 * place.h - the core of the proxy thread: the affinity of the node's PEs in, a decision out. The function has no state and makes no calls.
 * PEs themselves stay where the launcher and the system put them.
 */
#ifndef SHI_POLICY_PLACE_H
#define SHI_POLICY_PLACE_H

#include <stdint.h>

enum { SHI_CPU_WORDS = 16 }; /* of a mask of cores: 1,024 of them */

/* A core for the proxy thread of PE number `me` of n, whose masks are in cpus, in the node's order; `near` are the cores of its
 * processor, or 0: consider only its own cores. The first choice is a core that no PE is bound to; the second, if the PE's
 * cores are at least twice as many as the PEs that share them, is one of these, counted from the end. -1: no core to spare.
 * PEs of one node get different cores. */
int shi_place_proxy(const uint64_t (*cpus)[SHI_CPU_WORDS], int n, int me, const uint64_t near[SHI_CPU_WORDS]);

/* The first core of a mask; -1: it is empty. */
int shi_place_first(const uint64_t mask[SHI_CPU_WORDS]);

#endif

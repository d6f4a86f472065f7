/*
 * rules.h - the rules of SHMEM_COLLECTIVES, by which users choose schedules of collectives between nodes; policy/schedule.h applies them.
 *
 * All members of a team must choose alike, so all PEs need the same rules: host/coll/agree.h compares their digests.
 */
#ifndef SHI_RULES_H
#define SHI_RULES_H

#include <stdint.h>

#include "host/policy/schedule.h"

/* Read the value of SHMEM_COLLECTIVES: rules, or the name of a file with rules, which has a '/'. 0, or -EINVAL, and then
 * why[bytes] has one line, and there are no rules. */
int shi_rules_read(const char *value, char *why, size_t bytes);

/* The rules that shi_rules_read read, and a digest of them, 0 for none. */
const struct shi_rule *shi_rules_given(int *n);
uint64_t shi_rules_digest(void);

/* The rule as text, such as "up to 8192 bytes, 2 to 4 nodes: recursive doubling", and its collective's name. */
void shi_rules_describe(const struct shi_rule *r, char *text, size_t bytes);
const char *shi_rules_collective(enum shi_collective of);

#endif

/*
 * rules.h - which schedule a collective between nodes takes: the rules of SHMEM_COLLECTIVES, then the built-in ones.
 *
 * The first rule of the collective whose limits hold, and whose schedule the caller does not exclude, is taken. All members of a
 * team must choose alike, so all PEs need the same rules: host/coll/agree.h compares their digests.
 */
#ifndef SHI_RULES_H
#define SHI_RULES_H

#include <stddef.h>
#include <stdint.h>

enum shi_collective { SHI_COLL_BROADCAST, SHI_COLL_REDUCE, SHI_COLL_SCAN, SHI_COLL_COLLECT, SHI_COLL_ALLTOALL, SHI_COLLECTIVES_N };

enum shi_algorithm { SHI_BY_TREE, SHI_BY_SCATTER_GATHER, SHI_BY_GATHER, SHI_BY_DOUBLING, SHI_BY_PIECES, SHI_BY_HALVING,
                     SHI_BY_READ, SHI_BY_INDEX, SHI_BY_NODES, SHI_BY_PAIRWISE, SHI_ALGORITHMS };

/* most 0: no upper limit. */
struct shi_limits {
    size_t least, most;
};

struct shi_rule {
    enum shi_collective of;
    enum shi_algorithm way;
    struct shi_limits nodes, pes; /* pes: of the node that has most */
    struct shi_limits bytes;      /* of one member's contribution; alltoall: from one member to another */
    size_t most_total;            /* of all ranks' contributions together; 0: any */
};

/* A team: ranks is the number of members in scans, else of nodes. */
struct shi_shape {
    int nodes, pes, ranks;
};

/* Read the value of SHMEM_COLLECTIVES: rules, or the name of a file with rules, which has a '/'. 0, or -EINVAL, and then
 * why[bytes] has one line, and there are no rules but the built-in ones. */
int shi_rules_read(const char *value, char *why, size_t bytes);

/* The number of rules that shi_rules_read read, and a digest of them, 0 for none. */
int shi_rules_given(void);
uint64_t shi_rules_digest(void);

/* Rule i of all, or NULL after the last. The last rule of each collective has no limits. */
const struct shi_rule *shi_rules_at(int i);

/* `without`: a bit, 1 << way, for each schedule that is impossible, as its buffers are too small. The rules of
 * SHMEM_COLLECTIVES hold for teams of several nodes. */
enum shi_algorithm shi_rules_choose(enum shi_collective of, const struct shi_shape *shape, size_t bytes, unsigned without);

/* The rule as text, such as "up to 8192 bytes of all nodes: allgather, then each combines", and its collective's name. */
void shi_rules_describe(const struct shi_rule *r, char *text, size_t bytes);
const char *shi_rules_collective(enum shi_collective of);

#endif

/*
 * agree.h - what must be equal on all members of a team: the rules for collectives, at init; with SHMEM_CHECK=1 the collective
 * calls, before the members make them.
 *
 * A call is its routine and up to four values that the specification requires to be equal on all members. Every collective
 * routine compares, so two different ones are found here and do not mix their protocols.
 */
#ifndef SHI_AGREE_H
#define SHI_AGREE_H

#include "host/coll/team.h"

enum { SHI_AGREE_VALUES = 4 };

struct shi_call {
    struct {
        const char *name;
        int64_t value;
    } arg[SHI_AGREE_VALUES];
};

/* SHI_AGREE(routine, team, {"size", size}, {"alignment", align}), or {0} where there is nothing but the call itself. Dies
 * with one line on the team's first member when the calls differ. Collective over the team. */
#define SHI_AGREE(ROUTINE, TEAM, ...)                                                                                \
    do {                                                                                                             \
        if (shi_unlikely(shi_world.check))                                                                           \
            shi_agree(ROUTINE, TEAM, &(const struct shi_call){{__VA_ARGS__}});                                       \
    } while (0)
void shi_agree(const char *routine, struct shmem_team *t, const struct shi_call *call);

/* Die with one line on the team's first member when the members have different rules for collectives; a barrier. */
void shi_agree_rules(const char *routine, struct shmem_team *t);

#endif

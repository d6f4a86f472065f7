/* shrink.c - a team of the members that live: a split whose offers are merged by an agreement. */
#include <stdlib.h>

#include "host/survive/agree.h"
#include "host/survive/survive.h"
#include "host/util/log.h"

struct shrink {
    struct shi_subset living;
    int *member;
    char *dead;
};

static int gather(struct shmem_team *t, struct shi_offer *all, void *arg)
{
    struct shrink *s = arg;
    shi_agree_offers(t->routine, t, all, s->dead);
    s->living.size = 0;
    for (int i = 0; i < t->n; i++)
        if (!s->dead[i])
            s->member[s->living.size++] = i;
    return 0;
}

int shi_survive_shrink(const char *routine, struct shmem_team *t, struct shmem_team **out)
{
    int *member = malloc((size_t)t->n * (sizeof *member + 1));
    if (!member)
        shi_die(routine, "out of memory for a team of %d PEs", t->n);
    struct shrink s = {{.member = member, .config = &t->config, .mask = SHMEM_TEAM_NUM_CONTEXTS, .out = out}, member, (char *)(member + t->n)};
    t->routine = routine;
    int err = shi_team_split_with(t, &(const struct shi_gather){gather, &s}, &s.living, 1, 1);
    free(member);
    return err;
}

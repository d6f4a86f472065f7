/* shrink.c - a team of the members that live: a split whose offers are merged by an agreement. */
#include <stdlib.h>
#include <string.h>

#include "host/survive/agree.h"
#include "host/survive/survive.h"
#include "host/util/log.h"

enum { SLOT_WORDS = SHI_SLOTS / 64 };
_Static_assert(SLOT_WORDS < (int)SHI_AGREE_ALL, "a record has the free slots, and a word more");

struct shrink {
    struct shi_subset living;
    int *member;
    char *dead;
};

static int gather(struct shmem_team *t, struct shi_offer *all, void *arg)
{
    struct shrink *s = arg;
    struct shi_agree_record r = {.most = {all->clock, all->generation}};
    memcpy(r.all, all->slot_free, sizeof all->slot_free);
    r.all[SLOT_WORDS] = (uint64_t)(all->ok != 0) | (uint64_t)!all->threads << 1;
    shi_agree_members(t->routine, t, &r, s->dead);
    memcpy(all->slot_free, r.all, sizeof all->slot_free);
    all->clock = r.most[0];
    all->generation = r.most[1];
    all->ok = r.all[SLOT_WORDS] & 1;
    all->threads = !(r.all[SLOT_WORDS] >> 1 & 1);
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

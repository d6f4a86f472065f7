/* agree.c - compare what must be equal on all members of a team: rules; with SHMEM_CHECK=1 the collective calls. */
#include "host/coll/agree.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/coll/rules.h"
#include "host/ops/caller.h"
#include "host/ops/wait.h"
#include "host/util/end.h"
#include "host/util/log.h"

/* The record that each member sends to the others. */
struct announced {
    char routine[48];
    int64_t value[SHI_AGREE_VALUES];
};
_Static_assert(sizeof(struct announced) <= SHI_EXCHANGE_BYTES, "one exchange compares all");

static _Noreturn void differ(const struct shmem_team *t, const struct shi_call *call, int other)
{
    const struct announced *own = shi_team_buffer(t, t->me, 0), *his = shi_team_buffer(t, t->me, other);
    int pe = shi_team_world_pe(t, other), k = 0;
    if (t->me != 0)
        sleep(SHI_END_LAUNCHER_S); /* the first member writes the one line */
    if (strcmp(own->routine, his->routine) != 0)
        shi_die(own->routine, "PE %d calls %s instead", pe, his->routine);
    while (k < SHI_AGREE_VALUES - 1 && own->value[k] == his->value[k])
        k++;
    shi_die(own->routine, "%s = %lld, but %lld on PE %d", call->arg[k].name ? call->arg[k].name : "argument",
            (long long)own->value[k], (long long)his->value[k], pe);
}

void shi_agree(const char *routine, struct shmem_team *t, const struct shi_call *call)
{
    struct announced mine = {.routine = ""};
    shi_wait_allow("shmem_barrier, sync or a collective");
    shi_caller_check(routine);
    t->routine = routine;
    if (t->n == 1)
        return;
    snprintf(mine.routine, sizeof mine.routine, "%s", shi_log_routine(routine));
    for (int k = 0; k < SHI_AGREE_VALUES; k++)
        mine.value[k] = call->arg[k].value;
    shi_team_exchange(t, &mine, sizeof mine);
    for (int i = 1; i < t->n && !shi_team_failed(t); i++)
        if (memcmp(shi_team_buffer(t, t->me, 0), shi_team_buffer(t, t->me, i), sizeof mine) != 0)
            differ(t, call, i);
}

/* The least and the greatest digest of the members, and the lowest member that has it. */
struct digests {
    uint64_t least, most;
    int of_least, of_most;
};
_Static_assert(sizeof(struct digests) <= SHI_EXCHANGE_BYTES, "one merge compares all");

static void merge_digests(void *to, const void *from)
{
    struct digests *all = to;
    const struct digests *d = from;
    if (d->least < all->least || (d->least == all->least && d->of_least < all->of_least)) {
        all->least = d->least;
        all->of_least = d->of_least;
    }
    if (d->most > all->most || (d->most == all->most && d->of_most < all->of_most)) {
        all->most = d->most;
        all->of_most = d->of_most;
    }
}

void shi_agree_rules(const char *routine, struct shmem_team *t)
{
    uint64_t own = shi_rules_digest();
    struct digests all = {own, own, t->me, t->me};
    t->routine = routine;
    shi_team_merge(t, &all, sizeof all, merge_digests);
    if (all.least == all.most)
        return;
    if (t->me != 0)
        sleep(SHI_END_LAUNCHER_S); /* the first member writes the one line */
    int a = shi_team_world_pe(t, all.of_least), b = shi_team_world_pe(t, all.of_most);
    shi_die(routine, "SHMEM_COLLECTIVES: PE %d has other rules than PE %d", a > b ? a : b, a > b ? b : a);
}

/* agree.c - SHMEM_CHECK=1: compare the collective calls of a team's members by an exchange. */
#include "host/coll/agree.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
    t->routine = routine;
    if (t->n == 1)
        return;
    snprintf(mine.routine, sizeof mine.routine, "%s", shi_log_routine(routine));
    for (int k = 0; k < SHI_AGREE_VALUES; k++)
        mine.value[k] = call->arg[k].value;
    shi_team_exchange(t, &mine, sizeof mine);
    for (int i = 1; i < t->n; i++)
        if (memcmp(shi_team_buffer(t, t->me, 0), shi_team_buffer(t, t->me, i), sizeof mine) != 0)
            differ(t, call, i);
}

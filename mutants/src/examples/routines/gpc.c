/* Each PE asks the next PE to double a number. */
#include <shmemx.h>
#include <string.h>

/* Runs at the PE that is called: the argument is in hdr, the reply goes to rhdr. */
static int twice(shmemx_gpc_call_t *call)
{
    long number;
    memcpy(&number, call->hdr, sizeof number);
    number *= 2;
    memcpy(call->rhdr, &number, sizeof number);
    call->rhsize = sizeof number;
    return SHMEMX_GPC_DONE;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), func = shmemx_gpc_register(twice); /* all PEs register it */
    long number = me + 100, reply = 0;
    shmemx_gpc_nbh_t handle;
    shmemx_gpc_nbh_init(&handle);
    int status = shmemx_gpc_exec(SHMEM_TEAM_WORLD, func, (me + 1) % shmem_n_pes(), &number, sizeof number, NULL, 0, &reply,
                                 sizeof reply, NULL, 0, &handle);
    int wrong = status != 0 || shmemx_gpc_wait(&handle) != 0 || reply != 2 * number;
    shmem_finalize();
    return wrong;
}

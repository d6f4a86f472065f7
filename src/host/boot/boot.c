/* boot.c - select the backend: the unique id if there is one, PMIx when the launcher offers it, PMI-1 under MPICH's and Slurm's, a job of one PE without a
 * launcher, else an error. */
#include "host/boot/boot.h"

#include <errno.h>
#include <stdlib.h>

#include "host/util/log.h"
#include "host/util/startup.h"

/* The name of a launcher that started several processes but is no PMIx server, or NULL. */
static const char *other_launcher(void)
{
    static const struct {
        const char *size_var, *name;
    } known[] = {
        {"PMI_SIZE", "a PMI launcher without PMI_FD"},
        {"SLURM_STEP_NUM_TASKS", "srun without --mpi=pmix or --mpi=pmi2"},
        {"OMPI_COMM_WORLD_SIZE", "an Open MPI launcher whose PMIx server did not answer"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *v = getenv(known[i].size_var);
        if (v && atoi(v) > 1)
            return known[i].name;
    }
    return NULL;
}

/* Later lines have the PE's number, also before the launcher has answered. */
static int connect_as(const char *rank, int (*up)(struct shi_boot *out), struct shi_boot *out)
{
    static const struct shi_phase phase = {.text = "waiting for the launcher's answer"};
    shi_log_set(atoi(rank), 0);
    shi_startup_phase(&phase);
    int err = up(out);
    shi_startup_phase(NULL);
    return err;
}

int shi_boot_up(long silence_s, int survives, struct shi_boot *out)
{
    if (shi_boot_uid_is_given()) /* ahead of a launcher: a process that such a starter has started may have inherited that of others */
        return shi_boot_uid_up(silence_s, survives, out);
    if (getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK"))
        return connect_as(getenv("PMIX_RANK"), shi_boot_pmix_up, out);
    if (getenv("PMI_FD") && getenv("PMI_RANK") && getenv("PMI_SIZE"))
        return connect_as(getenv("PMI_RANK"), shi_boot_pmi_up, out);
    const char *other = other_launcher();
    if (other) {
        shi_log_error("started by %s, which offers no PMIx server; use oshrun, srun --mpi=pmix, prterun or Open MPI's mpirun", other);
        return -EPROTO;
    }
    return shi_boot_single_up(out);
}

#include <shmemg.h>

__kernel void pass_on(__global long *slot)
{
    if (get_global_id(0) == 0)
        shmemg_long_p(slot, 10 + shmemg_my_pe(), (shmemg_my_pe() + 1) % shmemg_n_pes());
}

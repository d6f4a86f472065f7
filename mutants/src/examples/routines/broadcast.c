/* PE 0 sends its parameters to all PEs. */
#include <shmem.h>

static double parameters[4], received[4];

int main(void)
{
    shmem_init();
    if (shmem_my_pe() == 0)
        for (int i = 0; i < 4; i++)
            parameters[i] = i + 0.25;
    shmem_double_broadcast(SHMEM_TEAM_WORLD, received, parameters, 4, 0);
    int wrong = received[3] != 3.25; /* also at PE 0 */
    shmem_finalize();
    return wrong;
}

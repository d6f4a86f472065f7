/* All PEs allocate an array in the symmetric heap; PE 0 fills the arrays of all. */
#include <shmem.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    double *a = shmem_malloc(1000 * sizeof *a); /* all PEs call it with the same size */
    if (!a) {
        fprintf(stderr, "the symmetric heap is too small: raise SHMEM_SYMMETRIC_SIZE\n");
        shmem_global_exit(1);
    }
    if (shmem_my_pe() == 0)
        for (int pe = 0; pe < shmem_n_pes(); pe++)
            for (int i = 0; i < 1000; i++)
                shmem_double_p(&a[i], pe + 0.5, pe);
    shmem_barrier_all();
    int wrong = a[999] != shmem_my_pe() + 0.5;
    shmem_free(a); /* all PEs call it */
    shmem_finalize();
    return wrong;
}

/* A row becomes a column of the matrix of the next PE. */
#include <shmem.h>

enum { N = 5 };
static double matrix[N][N];

int main(void)
{
    shmem_init();
    double row[N] = {1, 2, 3, 4, 5};
    int next = (shmem_my_pe() + 1) % shmem_n_pes();
    shmem_double_iput(&matrix[0][2], row, N, 1, N, next); /* strides: N at the target, 1 here */
    shmem_barrier_all();
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong |= matrix[i][2] != i + 1;
    shmem_finalize();
    return wrong;
}

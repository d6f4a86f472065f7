/*
 * uneven.c - a slow program to look at with SHMEM_STATS, SHMEM_TRACE and oshinfo --plot: the PEs share the rows of a triangle.
 *
 * With "blocks" each PE takes a block of neighbouring rows, so the last PE has most of the work and the others wait for it in the
 * barrier. With "cyclic" the rows are dealt one by one, and the work is even.
 *
 *   usage: oshrun -n 4 uneven [blocks|cyclic]     default blocks
 */
#include <shmem.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 4000, STEPS = 10 };

static double row_sum(int row, int step)
{
    double sum = 0;
    for (int column = 1; column <= row; column++)
        sum += 1.0 / (column + step);
    return sum;
}

int main(int argc, char **argv)
{
    static double mine, total;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), cyclic = argc > 1 && strcmp(argv[1], "cyclic") == 0;
    for (int step = 0; step < STEPS; step++) {
        mine = 0;
        if (cyclic)
            for (int row = me; row < ROWS; row += n)
                mine += row_sum(row, step);
        else
            for (int row = ROWS * me / n; row < ROWS * (me + 1) / n; row++)
                mine += row_sum(row, step);
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &total, &mine, 1);
    }
    if (me == 0)
        printf("%s: %.6e\n", cyclic ? "cyclic" : "blocks", total);
    shmem_finalize();
    return 0;
}

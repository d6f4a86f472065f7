/*
 * heat.c - heat flow in a square plate, computed by kernels on every PE's device and checked against a serial solution.
 *
 * Each PE owns a band of rows in its device heap. Each step is one kernel (heat.cl): it puts its outer rows with signal into
 * the halo rows of its neighbours, waits for their rows, and computes. The host only launches kernels. Two grids with their
 * halos alternate, so a neighbour that is one step ahead does not overwrite a halo that is still read.
 *
 *   usage: oshrun -n 4 heat [SIZE [STEPS [PICTURE.png]]]     SIZE x SIZE inner points, default 192; STEPS default 400
 */
#include <math.h>
#include <png.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 4, ITEMS = 16 };

/* The plate is cold at first; the middle third of its upper edge stays at 100 degrees. */
static void set_edge(double *row, int size)
{
    for (int x = 0; x < size + 2; x++)
        row[x] = x > size / 3 && x <= 2 * size / 3 ? 100.0 : 0.0;
}

/* Compute the whole plate on one PE. */
static double *serial(int size, int steps)
{
    int width = size + 2;
    double *a = calloc((size_t)width * width, sizeof *a), *b = calloc((size_t)width * width, sizeof *b);
    set_edge(a, size);
    set_edge(b, size);
    for (int s = 0; s < steps; s++) {
        for (int i = width + 1; i < width * (width - 1) - 1; i++)
            if (i % width != 0 && i % width != width - 1)
                b[i] = a[i] + 0.2 * (a[i - 1] + a[i + 1] + a[i - width] + a[i + width] - 4 * a[i]);
        double *t = a;
        a = b, b = t;
    }
    free(b);
    return a;
}

static int launch_step(double *from, double *to, uint64_t *arrived, int rows, int width, uint64_t step)
{
    const size_t groups[3] = {GROUPS, 1, 1}, items[3] = {ITEMS, 1, 1};
    void *const args[] = {&from, &to, &arrived, &rows, &width, &step};
    const size_t bytes[] = {sizeof from, sizeof to, sizeof arrived, sizeof rows, sizeof width, sizeof step};
    return shmemx_launch("heat_step", groups, items, args, bytes, 6);
}

/* Colours from black through red and yellow to white. */
static int write_picture(const char *path, const double *plate, int size)
{
    unsigned char *rgb = malloc((size_t)size * size * 3);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            double heat = sqrt(plate[(size_t)(y + 1) * (size + 2) + x + 1] / 100.0) * 3;
            for (int c = 0; c < 3; c++)
                rgb[((size_t)y * size + x) * 3 + c] = (unsigned char)(255 * fmin(1, fmax(0, heat - c)));
        }
    png_image image = {.version = PNG_IMAGE_VERSION, .width = size, .height = size, .format = PNG_FORMAT_RGB};
    int ok = png_image_write_to_file(&image, path, 0, rgb, 0, NULL);
    if (!ok)
        fprintf(stderr, "heat: %s: %s\n", path, image.message);
    free(rgb);
    return ok;
}

/* PE 0 collects the bands, compares them with the serial solution and writes the picture. */
static int finish(const double *band, int rows, int size, int steps, const char *picture)
{
    int me = shmem_my_pe(), n = shmem_n_pes(), width = size + 2;
    if (me != 0)
        return 1;
    double *plate = calloc((size_t)width * width, sizeof *plate), *right = serial(size, steps), worst = 0;
    set_edge(plate, size);
    for (int pe = 0; pe < n; pe++)
        shmem_double_get(plate + (size_t)(pe * rows + 1) * width, band + width, (size_t)rows * width, pe);
    for (int i = 0; i < width * width; i++)
        worst = fmax(worst, fabs(plate[i] - right[i]));
    int ok = worst < 1e-9;
    printf("heat: %d x %d points, %d steps, %d PEs: largest difference from the serial solution %.1e: %s\n", size, size,
           steps, n, worst, ok ? "right" : "WRONG");
    if (write_picture(picture, plate, size))
        printf("heat: the field is in %s\n", picture);
    else
        ok = 0;
    free(plate);
    free(right);
    return ok;
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int size = argc > 1 ? atoi(argv[1]) : 192, steps = argc > 2 ? atoi(argv[2]) : 400;
    const char *picture = argc > 3 ? argv[3] : "heat.png";
    if (size < n || size % n || steps < 1) {
        if (me == 0)
            fprintf(stderr, "heat: SIZE must be a multiple of the %d PEs, STEPS at least 1\n", n);
        shmem_finalize();
        return 2;
    }
    int rows = size / n, width = size + 2;
    size_t bytes = (size_t)(rows + 2) * width * sizeof(double);
    double *a = shmemg_calloc(1, bytes), *b = shmemg_calloc(1, bytes), *edge = malloc(width * sizeof *edge);
    uint64_t *arrived = shmemg_calloc(2, sizeof *arrived);
    if (!a || !b || !arrived)
        shmem_global_exit(1); /* the library has printed the reason */
    if (me == 0) {
        set_edge(edge, size);
        shmem_double_put(a, edge, (size_t)width, 0);
        shmem_double_put(b, edge, (size_t)width, 0);
    }
    for (int s = 1; s <= steps; s++) {
        if (launch_step(a, b, arrived, rows, width, (uint64_t)s))
            shmem_global_exit(1);
        double *t = a;
        a = b, b = t;
        if (s % (steps >= 4 ? steps / 4 : 1) == 0) {
            shmemx_device_sync();
            if (me == 0)
                printf("step %d of %d\n", s, steps);
        }
    }
    shmemx_device_sync();
    shmem_barrier_all();
    int ok = finish(a, rows, size, steps, picture);
    free(edge);
    shmem_finalize();
    return !ok;
}

/* heat.h - the plate of heat.c and heat_sycl.cpp: its edge, the whole plate on one PE, the comparison, the picture. C and C++. */
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    double *a = (double *)calloc((size_t)width * width, sizeof *a), *b = (double *)calloc((size_t)width * width, sizeof *b);
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

/* Colours from black through red and yellow to white. */
static int write_picture(const char *path, const double *plate, int size)
{
    unsigned char *rgb = (unsigned char *)malloc((size_t)size * size * 3);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            double heat = sqrt(plate[(size_t)(y + 1) * (size + 2) + x + 1] / 100.0) * 3;
            for (int c = 0; c < 3; c++)
                rgb[((size_t)y * size + x) * 3 + c] = (unsigned char)(255 * fmin(1, fmax(0, heat - c)));
        }
    png_image image;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    image.width = image.height = (png_uint_32)size;
    image.format = PNG_FORMAT_RGB;
    int ok = png_image_write_to_file(&image, path, 0, rgb, 0, NULL);
    if (!ok)
        fprintf(stderr, "heat: %s: %s\n", path, image.message);
    free(rgb);
    return ok;
}

/* Compare the plate with the serial solution and write the picture. */
static int judge(const double *plate, int size, int steps, int n, const char *picture)
{
    double *right = serial(size, steps), worst = 0;
    for (int i = 0; i < (size + 2) * (size + 2); i++)
        worst = fmax(worst, fabs(plate[i] - right[i]));
    free(right);
    int ok = worst < 1e-9;
    printf("heat: %d x %d points, %d steps, %d PEs: largest difference from the serial solution %.1e: %s\n", size, size,
           steps, n, worst, ok ? "right" : "WRONG");
    if (!write_picture(picture, plate, size))
        return 0;
    printf("heat: the field is in %s\n", picture);
    return ok;
}

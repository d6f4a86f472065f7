/*
 * plot.c - plot a job as SVG: bytes between each pair of PEs, time by PE and family of operations, and a timeline.
 *
 * Coordinates are pixels of a page that is PAGE wide. The families' colours are safe for colour blindness.
 */
#include "tools/plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/trace_reader.h"

enum { PAGE = 1160, LEFT = 80, TOP = 96, SQUARE = 440, BARS_LEFT = 720, BARS_WIDE = 380, MOST_TICKS = 8 };

static const char *const colour[SHI_FAMILIES] = {
    [SHI_PUTS] = "#0072b2",        [SHI_GETS] = "#56b4e9",     [SHI_ATOMICS] = "#d55e00", [SHI_SIGNALS] = "#f5a623",
    [SHI_COLLECTIVES] = "#009e73", [SHI_BARRIERS] = "#cc79a7", [SHI_WAITS] = "#9a9a9a",   [SHI_LOCKS] = "#e8d80c",
    [SHI_ORDERS] = "#5b4a8a",      [SHI_MEMORY] = "#6b4226",
};

/* ---- pieces ------------------------------------------------------------------------------------------------------- */

static void box(FILE *f, double x, double y, double w, double h, const char *fill, double opacity)
{
    fprintf(f, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"", x, y, w, h, fill);
    fprintf(f, opacity < 1 ? " fill-opacity=\"%.2f\"/>\n" : "/>\n", opacity);
}

static void frame(FILE *f, double x, double y, double w, double h)
{
    fprintf(f, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" stroke=\"#888\"/>\n", x, y, w, h);
}

/* anchor: start, middle, end; class: s small, m normal, h heading. */
static void label(FILE *f, double x, double y, const char *anchor, const char *class, const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">%s</text>\n", x, y, anchor, class, text);
}

static const char *number(double v, char text[32])
{
    snprintf(text, 32, "%.0f", v);
    return text;
}

static const char *size_text(double bytes, char text[32])
{
    static const char units[] = " KMGTPE";
    int u = 0;
    for (; bytes >= 1000 && units[u + 1]; u++)
        bytes /= 1024;
    snprintf(text, 32, u ? "%.3g %ciB" : "%.0f B", bytes, units[u]);
    return text;
}

static const char *time_text(double s, char text[32])
{
    if (s == 0)
        return "0";
    const char *unit = s < 1e-3 ? "µs" : s < 1 ? "ms" : "s";
    snprintf(text, 32, "%.3g %s", s < 1e-3 ? s * 1e6 : s < 1 ? s * 1e3 : s, unit);
    return text;
}

/* A round distance of axis marks: at most `marks` of them up to `most`. */
static double step_of(double most, int marks)
{
    double step = pow(10, floor(log10(most / marks)));
    while (most / step > marks)
        step *= most / step > 5 * marks ? 10 : most / step > 2 * marks ? 5 : 2;
    return step;
}

/* Label rows (left) or columns (below) with PE numbers. */
static void pe_marks(FILE *f, const struct trace_summary *t, int n, double pitch, double x, double y, int down)
{
    char text[32];
    int every = 1;
    while (n / every > 16)
        every *= every % 5 == 0 ? 2 : every % 2 == 0 && every > 1 ? 5 : 2;
    for (int i = 0; i < n; i += every) {
        number((double)i * t->n_pes / n, text);
        if (down)
            label(f, x - 6, y + (i + 0.5) * pitch + 4, "end", "s", text);
        else
            label(f, x + (i + 0.5) * pitch, y + 15, "middle", "s", text);
    }
}

static void legend(FILE *f, const struct trace_summary *t, double x, double y)
{
    for (int k = 0; k < SHI_FAMILIES; k++) {
        double s = 0;
        for (int i = 0; i < t->lanes; i++)
            s += t->spent[i][k];
        if (s == 0)
            continue;
        box(f, x, y - 10, 12, 12, colour[k], 1);
        label(f, x + 17, y, "start", "m", shi_family_name[k]);
        x += 30 + 7.2 * (double)strlen(shi_family_name[k]);
    }
}

/* ---- bytes between PEs -------------------------------------------------------------------------------------------- */

/* The colour for v from 0 to 1: light to dark blue. */
static const char *shade(double v, char text[32])
{
    static const double low[] = {222, 235, 247}, middle[] = {66, 146, 198}, high[] = {8, 38, 90};
    const double *a = v < 0.5 ? low : middle, *b = v < 0.5 ? middle : high;
    double at = v < 0.5 ? 2 * v : 2 * v - 1;
    snprintf(text, 32, "#%02x%02x%02x", (int)(a[0] + at * (b[0] - a[0])), (int)(a[1] + at * (b[1] - a[1])),
             (int)(a[2] + at * (b[2] - a[2])));
    return text;
}

/* The scale is logarithmic, over one to six decades; its top is the largest value. */
static void matrix(FILE *f, const struct trace_summary *t)
{
    double pitch = (double)SQUARE / t->cells, most = 1, least = 1e300;
    char text[32], fill[32];
    int n = t->cells * t->cells;
    for (int i = 0; i < n; i++) {
        most = t->sent[i] > most ? t->sent[i] : most;
        least = t->sent[i] > 0 && t->sent[i] < least ? t->sent[i] : least;
    }
    double top = log10(most), bottom = fmin(fmax(log10(fmin(least, most)), top - 6), top - 1);
    label(f, LEFT, TOP - 12, "start", "h", "Bytes from PE to PE");
    for (int i = 0; i < n; i++) {
        double v = t->sent[i] > 0 ? fmax(0, (log10(t->sent[i]) - bottom) / (top - bottom)) : -1, x = LEFT + i % t->cells * pitch,
               y = TOP + i / t->cells * pitch;
        if (v < 0)
            continue;
        box(f, x, y, pitch + 0.05, pitch + 0.05, shade(v, fill), 1);
        if (t->cells <= 8)
            fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" class=\"s\" fill=\"%s\">%s</text>\n", x + pitch / 2,
                    y + pitch / 2 + 4, v > 0.45 ? "#fff" : "#222", size_text(t->sent[i], text));
    }
    frame(f, LEFT, TOP, SQUARE, SQUARE);
    pe_marks(f, t, t->cells, pitch, LEFT, TOP, 1);
    pe_marks(f, t, t->cells, pitch, LEFT, TOP + SQUARE, 0);
    label(f, LEFT + SQUARE / 2, TOP + SQUARE + 34, "middle", "m", "to PE");
    fprintf(f, "<text transform=\"translate(%d %d) rotate(-90)\" text-anchor=\"middle\" class=\"m\">from PE</text>\n", LEFT - 34,
            TOP + SQUARE / 2);
    for (int i = 0; i < 64; i++)
        box(f, LEFT + SQUARE + 18, TOP + SQUARE - (i + 1) * SQUARE / 64.0, 14, SQUARE / 64.0 + 0.5, shade(i / 63.0, fill), 1);
    frame(f, LEFT + SQUARE + 18, TOP, 14, SQUARE);
    for (int i = 0; i <= 4; i++)
        label(f, LEFT + SQUARE + 37, TOP + SQUARE * (1 - i / 4.0) + 4, "start", "s",
              size_text(pow(10, bottom + (top - bottom) * i / 4), text));
}

/* ---- time by PE --------------------------------------------------------------------------------------------------- */

static void bars(FILE *f, const struct trace_summary *t)
{
    double pitch = (double)SQUARE / t->lanes, most = 1e-9, thick = pitch > 3 ? pitch * 0.78 : pitch;
    char text[32];
    for (int i = 0; i < t->lanes; i++) {
        double sum = 0;
        for (int k = 0; k < SHI_FAMILIES; k++)
            sum += t->spent[i][k];
        most = sum > most ? sum : most;
    }
    double step = step_of(most, 5);
    thick = fmin(thick, 48);
    label(f, BARS_LEFT, TOP - 12, "start", "h", "Time in the library, by PE");
    for (double s = 0; s <= most * 1.001; s += step) {
        double x = BARS_LEFT + s / most * BARS_WIDE;
        fprintf(f, "<path d=\"M%.1f %dV%d\" stroke=\"#ddd\"/>\n", x, TOP, TOP + SQUARE);
        label(f, x, TOP + SQUARE + 15, "middle", "s", time_text(s, text));
    }
    for (int i = 0; i < t->lanes; i++)
        for (double k = 0, x = BARS_LEFT; k < SHI_FAMILIES; k++) {
            double wide = t->spent[i][(int)k] / most * BARS_WIDE;
            if (wide > 0)
                box(f, x, TOP + (i + 0.5) * pitch - thick / 2, wide, thick, colour[(int)k], 1);
            x += wide;
        }
    frame(f, BARS_LEFT, TOP, BARS_WIDE, SQUARE);
    pe_marks(f, t, t->lanes, pitch, BARS_LEFT, TOP, 1);
}

/* ---- timeline ----------------------------------------------------------------------------------------------------- */

/* 5 * the family with the most time in this column of the lane + the column's filled quarters; -1: no time. */
static int looks_like(const struct trace_summary *t, int lane, int c)
{
    int best = -1;
    double sum = 0, column_s = t->span_s / TRACE_COLUMNS, pes = (double)t->n_pes / t->lanes;
    for (int k = 0; k < SHI_FAMILIES; k++) {
        double s = t->busy[lane][c][k];
        sum += s;
        if (s > 0 && (best < 0 || s > t->busy[lane][c][best]))
            best = k;
    }
    int full = (int)ceil(4 * sum / (column_s * pes));
    return best < 0 ? -1 : best * 5 + (full > 4 ? 4 : full < 1 ? 1 : full);
}

static double timeline(FILE *f, const struct trace_summary *t, double y)
{
    double pitch = fmin(fmax(420.0 / t->lanes, 6), 26), tall = pitch * t->lanes, step = step_of(t->span_s, 10);
    char text[32];
    label(f, LEFT, y - 12, "start", "h", "Timeline: what each PE did most; pale where it computed in between");
    for (int i = 0; i < t->lanes; i++)
        for (int c = 0, from = 0; c < TRACE_COLUMNS; c++) {
            int now = looks_like(t, i, c);
            if (c + 1 < TRACE_COLUMNS && looks_like(t, i, c + 1) == now)
                continue;
            if (now >= 0)
                box(f, LEFT + from, y + i * pitch + 1, c + 1 - from, pitch - 2, colour[now / 5], 0.25 * (now % 5));
            from = c + 1;
        }
    frame(f, LEFT, y, TRACE_COLUMNS, tall);
    pe_marks(f, t, t->lanes, pitch, LEFT, y, 1);
    for (double s = 0; s <= t->span_s * 1.001; s += step)
        label(f, LEFT + s / t->span_s * TRACE_COLUMNS, y + tall + 15, "middle", "s", time_text(s, text));
    return y + tall + 36;
}

/* ---- the page ----------------------------------------------------------------------------------------------------- */

static void page(FILE *f, const struct trace_summary *t)
{
    char text[128], bytes[32], seconds[32];
    double line = TOP + SQUARE + 100, tall = t->has_line ? line + fmin(fmax(420.0 / t->lanes, 6), 26) * t->lanes + 40 : line - 30;
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
               "font-family=\"DejaVu Sans,Verdana,Arial,sans-serif\">\n"
               "<style>.s{font-size:11px}.m{font-size:13px}.h{font-size:15px;font-weight:bold}.t{font-size:20px;font-weight:bold}"
               "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", PAGE, tall, PAGE, tall);
    snprintf(text, sizeof text, "%d PE%s moved %s in %s", t->n_pes, t->n_pes > 1 ? "s" : "", size_text(t->bytes, bytes),
             time_text(t->span_s, seconds));
    label(f, LEFT, 40, "start", "t", text);
    matrix(f, t);
    bars(f, t);
    legend(f, t, LEFT, TOP + SQUARE + 62);
    if (t->has_line)
        timeline(f, t, line);
    fputs("</svg>\n", f);
}

/* Convert the page by rsvg-convert. Its exit status; 127: it is not installed. */
static int convert(FILE *svg, const char *png)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(svg), 0);
        lseek(0, 0, SEEK_SET);
        execlp("rsvg-convert", "rsvg-convert", "-o", png, (char *)NULL);
        _exit(127);
    }
    return pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) ? 1 : WEXITSTATUS(status);
}

int plot(const char *picture, char **paths, int n)
{
    const char *dot = strrchr(picture, '.');
    int png = dot && strcmp(dot, ".png") == 0, status = 0;
    struct trace_summary t;
    if (!dot || (!png && strcmp(dot, ".svg"))) {
        fprintf(stderr, "oshinfo: %s: the picture's name must end in .svg or .png\n", picture);
        return 2;
    }
    if (trace_read(paths, n, &t))
        return 1;
    FILE *f = png ? tmpfile() : fopen(picture, "we");
    if (f) {
        page(f, &t);
        fflush(f);
        status = png ? convert(f, picture) : 0;
    }
    if (!f || ferror(f) || fclose(f)) {
        fprintf(stderr, "oshinfo: %s: %s\n", picture, strerror(errno));
        return 1;
    }
    if (status)
        fprintf(stderr, status == 127 ? "oshinfo: %s: a PNG needs rsvg-convert (package librsvg2-bin); .svg works without\n"
                                      : "oshinfo: %s: rsvg-convert failed\n", picture);
    return status != 0;
}

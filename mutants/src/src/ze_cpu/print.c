/* print.c - printf of OpenCL: one write per call, so that the output of several work-items does not mix. */
#include "ze_cpu/print.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ze_cpu/convert.h"
#include "ze_cpu/guard.h"

enum { OUT_BYTES = 4096, SPEC_BYTES = 40 };

struct out {
    char text[OUT_BYTES];
    size_t n;
};

/* One character of the kernel's memory; 0 after a fault. */
static char peek(struct zc_vm *x, const struct zc_item *it, uint64_t addr)
{
    if (x->guarded)
        addr = zc_guard_address(x, it, addr, 1, "load");
    return addr ? *(const char *)(uintptr_t)addr : 0;
}

static void add(struct out *o, const char *s, size_t n)
{
    if (n > OUT_BYTES - 1 - o->n)
        n = OUT_BYTES - 1 - o->n;
    memcpy(o->text + o->n, s, n);
    o->n += n;
}

static void add_string(struct zc_vm *x, const struct zc_item *it, struct out *o, uint64_t s)
{
    char c;
    for (; s && o->n < OUT_BYTES - 1 && (c = peek(x, it, s)); s++)
        add(o, &c, 1);
}

static double number(const uint8_t *at, uint32_t width)
{
    uint16_t h;
    float f;
    double d;
    switch (width) {
    case 2:
        memcpy(&h, at, sizeof h);
        return zc_half_to(h);
    case 4:
        memcpy(&f, at, sizeof f);
        return (double)f;
    }
    memcpy(&d, at, sizeof d);
    return d;
}

/* Format the component at `at`; spec: "%" with flags, width and precision. */
static void component(struct out *o, const char *spec, char conv, const uint8_t *at, uint32_t width)
{
    char fmt[SPEC_BYTES + 8], text[512];
    uint64_t u = 0;
    int n;
    if (strchr("aAeEfFgG", conv)) {
        snprintf(fmt, sizeof fmt, "%s%c", spec, conv);
        n = snprintf(text, sizeof text, fmt, number(at, width));
    } else {
        memcpy(&u, at, width);
        unsigned s = 64 - 8 * width;
        snprintf(fmt, sizeof fmt, conv == 'c' || conv == 'p' ? "%s%c" : "%sll%c", spec, conv);
        if (conv == 'c')
            n = snprintf(text, sizeof text, fmt, (int)u);
        else if (conv == 'p')
            n = snprintf(text, sizeof text, fmt, (void *)(uintptr_t)u);
        else if (conv == 'd' || conv == 'i')
            n = snprintf(text, sizeof text, fmt, (long long)((int64_t)(u << s) >> s));
        else
            n = snprintf(text, sizeof text, fmt, (unsigned long long)u);
    }
    add(o, text, n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* Parse the conversion after '%'; returns its letter, or 0 if it is invalid. */
static char conversion(struct zc_vm *x, const struct zc_item *it, uint64_t *fmt, char *spec, unsigned *vector,
                       bool *is_long)
{
    size_t n = 0;
    char c;
    *is_long = false;
    spec[n++] = '%';
    *vector = 1;
    for (; (c = peek(x, it, *fmt)) && strchr("-+ #0123456789.", c) && n < SPEC_BYTES - 1; ++*fmt)
        spec[n++] = c;
    spec[n] = 0;
    if (c == 'v') {
        *vector = 0;
        while (isdigit((unsigned char)(c = peek(x, it, ++*fmt))) && *vector < 16)
            *vector = *vector * 10 + (unsigned)(c - '0');
    }
    for (; c && strchr("hlLjzt", c); c = peek(x, it, ++*fmt))
        *is_long |= c != 'h';
    if (c)
        ++*fmt;
    return c && strchr("diouxXaAeEfFgGcsp%", c) ? c : 0;
}

int zc_print(struct zc_vm *x, const struct zc_item *it, uint64_t fmt, const uint32_t *args, uint32_t n)
{
    struct out o = {.n = 0};
    char c, spec[SPEC_BYTES];
    unsigned vector;
    bool is_long;
    while ((c = peek(x, it, fmt)) && !x->what) {
        fmt++;
        if (c != '%') {
            add(&o, &c, 1);
            continue;
        }
        char conv = conversion(x, it, &fmt, spec, &vector, &is_long);
        if (!conv)
            return -1;
        if (conv == '%') {
            add(&o, "%", 1);
            continue;
        }
        if (!n--)
            return -1;
        const uint8_t *at = it->f + args[0];
        bool flt = args[1] == KIND_FLOAT;
        if (flt != (strchr("aAeEfFgG", conv) != NULL) || (conv == 's') > (args[1] == KIND_POINTER))
            return -1;
        if (conv == 's') {
            uint64_t s;
            memcpy(&s, at, sizeof s);
            add_string(x, it, &o, s);
        }
        for (unsigned k = 0; conv != 's' && k < args[3]; k++) {
            add(&o, ",", k > 0);
            component(&o, spec, conv, at + k * args[2], args[2]);
        }
        args += 4;
    }
    fwrite(o.text, 1, o.n, stdout);
    return x->what ? -1 : 0;
}

/* The next packed argument; false after a fault. */
static bool packed(struct zc_vm *x, const struct zc_item *it, uint64_t *args, uint32_t width, uint8_t *out)
{
    uint64_t at = (*args + width - 1) & ~(uint64_t)(width - 1);
    *args = at + width;
    for (uint32_t k = 0; k < width && !x->what; k++)
        out[k] = (uint8_t)peek(x, it, at + k);
    return !x->what;
}

int zc_print_packed(struct zc_vm *x, const struct zc_item *it, uint64_t fmt, uint64_t args)
{
    struct out o = {.n = 0};
    char c, spec[SPEC_BYTES];
    unsigned vector;
    bool is_long;
    uint8_t arg[8];
    int n = 0;
    while ((c = peek(x, it, fmt)) && !x->what) {
        fmt++;
        char conv = c == '%' ? conversion(x, it, &fmt, spec, &vector, &is_long) : c;
        if (!conv)
            return -1;
        if (c != '%' || conv == '%') {
            add(&o, &conv, 1);
            continue;
        }
        uint32_t width = is_long || strchr("aAeEfFgGsp", conv) ? 8 : 4;
        if (!packed(x, it, &args, width, arg))
            return -1;
        n++;
        uint64_t s = 0;
        memcpy(&s, arg, width);
        if (conv == 's')
            add_string(x, it, &o, s);
        else
            component(&o, spec, conv, arg, width);
    }
    fwrite(o.text, 1, o.n, stdout);
    return x->what ? -1 : n;
}

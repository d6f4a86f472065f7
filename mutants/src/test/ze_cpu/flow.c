/*
 * flow.c - kernels with random control flow have the results of the same C text compiled for the host.
 *
 * A kernel is a function of loops, branches, switches, gotos (also into loops), early returns, short-circuit conditions
 * and calls. Each module is compiled with the passes of cl.sh, with those of oshcc and with none, and built with its basic
 * blocks in the order of the file and shuffled, as that order has no meaning. It runs translated and interpreted. FLOW_SEED: seed
 * of the first module; FLOW_MODULES: number of modules, with KERNELS kernels each.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "blocks.h"
#include "text.h"
#include "zt.h"

enum { KERNELS = 100, ITEMS = 32, LABELS = 2, HELPERS = 4 };

/* ---- the generator ---------------------------------------------------------------------------------------------- */

static int helpers;       /* functions that this one may call */
static unsigned placed;   /* labels of the function that stand already, one bit each */
static int loops, budget; /* loops around the statement; statements left for the function */
static bool in_switch;

static const char *const variable[] = {"u0", "u1", "u2", "u3", "s0", "s1", "b0", "h0", "w0", "l0", "f0", "d0"};
enum { VARIABLES = sizeof variable / sizeof *variable, INTEGERS = 10 };

/* An expression of type uint, without side effects. */
static void value(int depth)
{
    static const char *const op[] = {"+", "-", "*", "&", "|", "^"};
    switch (below(depth > 0 ? 12 : 4)) {
    case 0:
        emit("%uu", below(4) ? below(20) : below(1u << 31));
        return;
    case 1:
        emit("a[%s & 7u]", variable[below(4)]);
        return;
    case 2:
    case 3:
        emit("(uint)%s", variable[below(INTEGERS)]);
        return;
    case 4:
        emit("("), value(depth - 1), emit(" %s (", below(2) ? ">>" : "<<"), value(depth - 1), emit(" & 31u))");
        return;
    case 5:
        emit("("), value(depth - 1), emit(" %s (", below(2) ? "/" : "%"), value(depth - 1), emit(" | 1u))");
        return;
    case 6:
        emit("("), value(0), emit(" < "), value(0), emit(" ? "), value(depth - 1), emit(" : "), value(depth - 1), emit(")");
        return;
    case 7:
        emit("(uint)(%s >> %u)", below(2) ? "s1" : "l0", below(31));
        return;
    case 8:
        emit("(uint)(int)%s", below(2) ? "f0" : "d0");
        return;
    default:
        emit("("), value(depth - 1), emit(" %s ", op[below(6)]), value(depth - 1), emit(")");
    }
}

static void condition(int depth)
{
    static const char *const order[] = {"<", "<=", ">", ">=", "==", "!="};
    static const char *const type[] = {"uint", "int", "uchar", "short", "ulong", "long"};
    const char *t = type[below(6)];
    switch (below(depth > 0 ? 8 : 4)) {
    case 0:
        emit("(u%u += %u) %% %uu < %uu", below(4), below(9), 2 + below(6), 1 + below(3));
        return;
    case 1:
        emit("f0 %s %s", order[below(4)], below(2) ? "d0" : "3.5f");
        return;
    case 2:
    case 3:
        emit("(%s)(", t), value(1), emit(") %s (%s)(", order[below(6)], t), value(1), emit(")");
        return;
    case 4:
        emit("!("), condition(depth - 1), emit(")");
        return;
    default:
        emit("("), condition(depth - 1), emit(below(2) ? ") && (" : ") || ("), condition(depth - 1), emit(")");
    }
}

static void assign(void)
{
    unsigned v = below(VARIABLES + 2);
    if (v >= INTEGERS && v < VARIABLES) { /* small, so that rounding and conversion are exact */
        emit("%s = %s > 1000 ? 1 : %s * 0.5f + (", variable[v], variable[v], variable[v]), value(1), emit(" & 255u);\n");
        return;
    }
    if (v < INTEGERS)
        emit("%s = ", variable[v]);
    else
        emit("a[%s & 7u] = ", variable[below(4)]);
    if (helpers && below(5) == 0)
        emit("help%u(", below((unsigned)helpers)), value(1), emit(", "), value(1), emit(")");
    else if (v < INTEGERS && below(4) == 0)
        emit("%s + ", variable[v]), value(2);
    else
        value(2);
    emit(";\n");
}

static void statements(int depth, unsigned n);

static void loop(int depth)
{
    bool outer = in_switch;
    in_switch = false;
    loops++;
    unsigned v = below(4);
    switch (below(4)) {
    case 1: /* from a value that has just been computed and is used in the loop */
        emit("u%u = ", v), value(2);
        emit(";\nfor (i%d = u%u; i%d < u%u + %uu && fuel; i%d++, fuel -= fuel > 0) {\n", depth, v, depth, v, 1 + below(5), depth);
        statements(depth - 1, 3);
        emit("u%u += u%u; }\n", below(4), v);
        break;
    case 0:
        emit("for (i%d = 0; i%d < %uu && fuel; i%d++, fuel -= fuel > 0) {\n", depth, depth, 1 + below(5), depth);
        statements(depth - 1, 3);
        emit("}\n");
        break;
    case 2:
        emit("while (("), condition(1), emit(") && fuel && fuel--) {\n");
        statements(depth - 1, 3);
        emit("}\n");
        break;
    default:
        emit("do {\n");
        statements(depth - 1, 3);
        emit("} while (("), condition(1), emit(") && fuel && fuel--);\n");
    }
    loops--;
    in_switch = outer;
}

static void choose(int depth)
{
    bool outer = in_switch;
    unsigned cases = 2 + below(5), other = below(cases + 1), wide = below(3);
    in_switch = true;
    emit("switch (%s(", wide == 0 ? "(ulong)" : wide == 1 ? "(uchar)" : ""), value(1), emit(" & 15u)) {\n");
    for (unsigned k = 0; k < cases; k++) {
        emit("%s", k == other ? "default:\n" : "");
        emit("case %u:\n", k * 2 + below(2));
        statements(depth - 1, below(3));
        emit("%s", below(3) ? "break;\n" : "");
    }
    emit(";\n}\n");
    in_switch = outer;
}

static void leave(void)
{
    unsigned how = below(5);
    emit("if ("), condition(1), emit(") ");
    if (how == 0 && loops)
        emit("continue;\n");
    else if (how <= 1 && (loops || in_switch))
        emit("break;\n");
    else if (how <= 2)
        emit("return "), value(1), emit(";\n");
    else
        emit("if (fuel) { fuel--; goto L%u; }\n", below(LABELS));
}

static void statement(int depth)
{
    unsigned l = below(LABELS * 8);
    if (l < LABELS && !(placed & 1u << l)) {
        placed |= 1u << l;
        emit("L%u:;\n", l);
    }
    if (budget-- <= 0)
        depth = 0;
    switch (below(depth > 0 ? 10 : 5)) {
    case 4:
    case 5:
        leave();
        break;
    case 6:
        emit("if ("), condition(2), emit(") {\n");
        statements(depth - 1, 3);
        emit("} else {\n");
        statements(depth - 1, 2);
        emit("}\n");
        break;
    case 7:
    case 8:
        loop(depth);
        break;
    case 9:
        choose(depth);
        break;
    default:
        assign();
    }
}

static void statements(int depth, unsigned n)
{
    while (n--)
        statement(depth);
}

static void body(const char *type, const char *name, int number, int depth, int size)
{
    placed = 0;
    loops = 0;
    in_switch = false;
    budget = size;
    emit("%s %s%d(uint x, uint y)\n{\nuint u0 = x, u1 = y, u2 = x * 7u + y, u3 = 1u, fuel = %d, i0 = 0, i1 = 0, i2 = 0, i3 = 0;\n"
        "int s0 = (int)x, s1 = (int)(x - y); uchar b0 = (uchar)y; short h0 = (short)(x ^ y);\n"
        "ulong w0 = (ulong)x * y, r = 0; long l0 = (long)(int)y; float f0 = (float)(x & 63u); double d0 = (double)(y & 63u);\n"
        "ushort a[8];\nfor (i0 = 0; i0 < 8; i0++) a[i0] = (ushort)(x >> i0);\n", type, name, number, size);
    statements(depth, 4);
    for (unsigned l = 0; l < LABELS; l++)
        if (!(placed & 1u << l)) {
            emit("L%u:;\n", l);
            placed |= 1u << l;
            statements(1, 1);
        }
    for (unsigned v = 0; v < VARIABLES; v++)
        emit("r = r * 31u + (ulong)(long)%s;\n", variable[v]);
    emit("for (i0 = 0; i0 < 8; i0++) r = r * 31u + a[i0];\nreturn (%s)(r ^ r >> 32);\n}\n", type);
}

static void module(void)
{
    emit("#ifdef __OPENCL_C_VERSION__\n#pragma OPENCL FP_CONTRACT OFF\n"
        "#define ENTRY(n) __kernel void k##n(__global const uint *in, __global ulong *out) { size_t i = get_global_id(0);\n"
        "#else\n#define ENTRY(n) void k##n(const uint *in, ulong *out, unsigned long i) {\n"
        "typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned uint; typedef unsigned long ulong;\n"
        "#endif\n#pragma clang diagnostic ignored \"-Weverything\"\n");
    for (helpers = 0; helpers < HELPERS; helpers++) {
        emit("%s", helpers % 2 ? "__attribute__((noinline))\n" : "__attribute__((always_inline)) inline static\n");
        body("uint", "help", helpers, 1, 4);
    }
    for (int k = 0; k < KERNELS; k++) {
        body("ulong", "run", k, 3, 12);
        emit("ENTRY(%d) out[i] = run%d(in[2 * i], in[2 * i + 1]); }\n", k, k);
    }
}

/* ---- driver against host ---------------------------------------------------------------------------------------- */

static void input(uint32_t *in)
{
    for (unsigned i = 0; i < 2 * ITEMS; i++)
        in[i] = below(3) ? below(40) : tap_random(&text_random);
}

/* Compile the text for the host and run every kernel. */
static void expect(const char *file, const uint32_t *in, uint64_t (*out)[ITEMS])
{
    char lib[] = "/tmp/ztflowXXXXXX", cmd[600], name[16];
    close(mkstemp(lib));
    snprintf(cmd, sizeof cmd, "${CC:-cc} -x c -std=gnu11 -O0 -w -fwrapv -ffp-contract=off -fPIC -shared -o %s %s", lib, file);
    if (system(cmd)) {
        fprintf(stderr, "# %s does not compile for the host\n", file);
        exit(1);
    }
    void *all = dlopen(lib, RTLD_NOW | RTLD_LOCAL);
    for (int k = 0; k < KERNELS; k++) {
        snprintf(name, sizeof name, "k%d", k);
        void (*run)(const uint32_t *, uint64_t *, size_t);
        void *f = all ? dlsym(all, name) : NULL;
        if (!f) {
            fprintf(stderr, "# %s\n", dlerror());
            exit(1);
        }
        memcpy(&run, &f, sizeof run);
        for (size_t i = 0; i < ITEMS; i++)
            run(in, out[k], i);
    }
    dlclose(all);
    unlink(lib);
}

/* Build the module and run every kernel, in a child process; compare with the results of the host. */
static void compare(const char *what, const char *native, const uint32_t *w, uint32_t n, const uint32_t *in,
                    uint64_t (*want)[ITEMS])
{
    pid_t child = fork();
    if (!child) {
        setenv("ZE_CPU_NATIVE", native, 1);
        zt_up();
        char log[700] = "", name[16];
        ze_module_handle_t m = NULL;
        if (!CHECKF(!zt_build(w, n * 4u, &m, log, sizeof log), "%s: %s", what, log))
            _exit(1);
        uint32_t *args = zt_host(2 * ITEMS * 4);
        uint64_t *out = zt_host(ITEMS * 8);
        memcpy(args, in, 2 * ITEMS * 4);
        for (int k = 0; k < KERNELS; k++) {
            snprintf(name, sizeof name, "k%d", k);
            ze_kernel_handle_t h = zt_kernel(m, name);
            zt_arg(h, 0, sizeof args, &args);
            zt_arg(h, 1, sizeof out, &out);
            CHECKF(!zt_run(h, ITEMS, 16), "%s, native %s: %s failed", what, native, name);
            for (int i = 0; i < ITEMS; i++)
                CHECKF(out[i] == want[k][i], "%s, native %s: %s, item %d: %llx, on the host %llx", what, native, name, i,
                       (unsigned long long)out[i], (unsigned long long)want[k][i]);
        }
        _exit(tap_bad_now_ ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECKF(!status, "%s, native %s: status %x", what, native, (unsigned)status);
}

static void same(void)
{
    static const char *const passes[] = {"", "oshcc", "none"};
    const char *from = getenv("FLOW_SEED"), *count = getenv("FLOW_MODULES");
    unsigned first = from ? (unsigned)atoi(from) : 1, modules = count ? (unsigned)atoi(count) : 2;
    uint64_t(*want)[ITEMS] = malloc(KERNELS * sizeof *want);
    for (unsigned seed = first; seed < first + modules; seed++) {
        char file[] = "/tmp/ztflowXXXXXX", what[80];
        uint32_t in[2 * ITEMS];
        text_begin(file, seed);
        module();
        text_end();
        input(in);
        expect(file, in, want);
        for (unsigned p = 0; p < 3; p++) {
            size_t bytes;
            setenv("CL_PASSES", passes[p], 1);
            uint32_t *w = (uint32_t *)zt_spirv_of(file, &bytes), n = (uint32_t)(bytes / 4);
            for (int shuffled = 0; shuffled < 2; shuffled++) {
                if (shuffled)
                    shuffle_blocks(w, n, &text_random);
                snprintf(what, sizeof what, "FLOW_SEED=%u, passes \"%s\"%s", seed, passes[p], shuffled ? ", shuffled" : "");
                compare(what, "1", w, n, in, want);
                compare(what, "0", w, n, in, want);
            }
            free(w);
        }
        unlink(file);
    }
    free(want);
}

int main(void)
{
    RUN(same, "kernels with random control flow have the results of the host");
    return tap_end();
}

/*
 * native.c - random kernels have the same results translated (ZE_CPU_NATIVE=1) and interpreted (ZE_CPU_NATIVE=0).
 *
 * A kernel has variables of every type, changes them in statements that mix widths, signs, vectors, memory, atomics,
 * branches, loops and calls, and stores them all. ZT_SEEDS: number of kernels; ZT_FIRST: seed of the first.
 */
#include <stdbool.h>
#include <sys/mman.h>

#include "text.h"
#include "zt.h"

enum { ITEMS = 64, VARS = 4, DEPTH = 3, STATEMENTS = 24, OUT = 16384 };

/* Integer scalars, floating scalars, vectors of integers, vectors of floating point. */
static const char *const types[] = {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
                                    "float", "double", "uchar8", "short4", "int4", "ulong2", "uint3",
                                    "float4", "double2"};
static const char *const component[] = {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong",
                                        "float", "double", "uchar", "short", "int", "ulong", "uint",
                                        "float", "double"};
enum { SCALARS = 8, VECTORS = 10, FLOAT_VECTORS = 15, TYPES = 17 };
static const unsigned width[] = {8, 8, 16, 16, 32, 32, 64, 64, 0, 0, 8, 16, 32, 64, 32};

static bool is_float(unsigned t)
{
    return (t >= SCALARS && t < VECTORS) || t >= FLOAT_VECTORS;
}

static unsigned any(unsigned least, unsigned end)
{
    return least + below(end - least);
}

/* An operand of type t: one of its variables, or sometimes a constant. */
static void operand(unsigned t)
{
    if (below(6) == 0)
        emit("(%s)%u", types[t], below(3) ? below(70) : below(100000));
    else
        emit("%s_%u", types[t], below(VARS));
}

static void assign_integer(unsigned t)
{
    static const char *const op[] = {"+", "-", "*", "&", "|", "^", "/", "%"};
    bool vector = t >= VECTORS;
    unsigned from = any(0, SCALARS), kind = below(vector ? 5 : 9);
    emit("%s_%u = (%s)(", types[t], below(VARS), types[t]);
    switch (kind) {
    case 0:
        operand(t), emit(" << ("), operand(t), emit(" & (%s)%u)", types[t], width[t] - 1);
        break;
    case 1:
        operand(t), emit(" >> ("), operand(t), emit(" & (%s)%u)", types[t], width[t] - 1);
        break;
    case 2:
        emit("%s(", below(2) ? "min" : "max"), operand(t), emit(", "), operand(t), emit(")");
        break;
    case 3:
        emit("%s", below(2) ? "~" : "-"), operand(t);
        break;
    case 5:
        operand(from), emit(" %s ", below(2) ? "<" : below(2) ? ">=" : "=="), operand(from);
        break;
    case 6:
        operand(from), emit(" > "), operand(from), emit(" ? "), operand(t), emit(" : "), operand(t);
        break;
    case 7:
        operand(from);
        break;
    case 8:
        emit("convert_%s_sat(%s_%u)", types[t], below(2) ? "float" : "double", below(VARS));
        break;
    default: {
        unsigned o = below(vector ? 6 : 8);
        operand(t), emit(" %s ", op[o]), emit("(%s)(", types[t]), operand(t);
        emit("%s)", o < 6 || below(4) == 0 ? "" : below(2) ? " & 15 | 1" : " | 1"); /* divisors 0 and -1, too */
    }
    }
    emit(");\n");
}

static void assign_float(unsigned t)
{
    static const char *const op[] = {"+", "-", "*", "/"};
    unsigned kind = below(8);
    emit("%s_%u = ", types[t], below(VARS));
    if (kind == 0)
        emit("sqrt(fabs("), operand(t), emit("))");
    else if (kind == 1)
        emit("-"), operand(t);
    else if (kind == 2)
        emit("mad("), operand(t), emit(", "), operand(t), emit(", "), operand(t), emit(")");
    else if (kind == 3 && t < VECTORS)
        emit("(%s)", types[t]), operand(any(0, VECTORS));
    else if (kind == 4 && t < VECTORS)
        operand(t), emit(" %s ", below(2) ? "<" : below(2) ? ">=" : "!="), operand(t), emit(" ? "), operand(t), emit(" : "),
            operand(t);
    else
        operand(t), emit(" %s ", op[below(4)]), operand(t);
    emit(";\n");
}

/* Private and global memory, plain and volatile; atomics on words of this work-item. */
static void touch_memory(void)
{
    unsigned t = any(0, TYPES), wide = below(2);
    const char *word = wide ? "ulong" : "uint", *at = wide ? "w64" : "w32";
    unsigned v = below(VARS), u = below(VARS);
    switch (below(8)) {
    case 0:
        emit("pm_%s[uint_%u & 7] = %s_%u;\n", types[t], v, types[t], u);
        break;
    case 1:
        emit("%s_%u = pm_%s[uint_%u & 7];\n", types[t], v, types[t], u);
        break;
    case 2:
        t = any(0, SCALARS);
        emit("((volatile %s *)pm_%s)[ulong_%u & 7] = %s_%u;\n", types[t], types[t], v, types[t], u);
        emit("%s_%u = ((volatile %s *)pm_%s)[%u];\n", types[t], v, types[t], types[t], below(8));
        break;
    case 3:
        emit("%s_%u = atomic_fetch_%s_explicit(%s, %s_%u, memory_order_acq_rel, memory_scope_device);\n", word, v,
            below(2) ? "add" : below(2) ? "sub" : "xor", at, word, u);
        break;
    case 4:
        emit("%s_%u = atomic_exchange(%s, %s_%u);\n", word, v, at, word, u);
        break;
    case 5:
        emit("int_%u = atomic_compare_exchange_strong(%s, &%s_%u, %s_%u);\n", below(VARS), at, word, v, word, u);
        break;
    case 6:
        emit("atomic_store_explicit(%s, %s_%u, memory_order_%s, memory_scope_device);\n", at, word, u,
            below(2) ? "seq_cst" : "release");
        break;
    default:
        emit("%s_%u = atomic_load_explicit(%s, memory_order_%s, memory_scope_device);\n", word, v, at,
            below(2) ? "seq_cst" : "acquire");
    }
}

static void statements(int depth, unsigned n);

static void statement(int depth)
{
    unsigned t = any(0, TYPES);
    switch (below(depth ? 12 : 8)) {
    case 8:
        emit("if ("), operand(any(0, VECTORS)), emit(" < "), operand(any(0, SCALARS)), emit(") {\n");
        statements(depth - 1, 4);
        emit("} else {\n");
        statements(depth - 1, 4);
        emit("}\n");
        break;
    case 9:
        emit("for (uint i%d = 0; i%d < %u; i%d++) {\n", depth, depth, below(6), depth);
        statements(depth - 1, 4);
        emit("}\n");
        break;
    case 10:
        emit("switch (uint_%u & 3) {\ncase 1:\n", below(VARS));
        statements(depth - 1, 2);
        emit("break;\ncase 2:\n");
        statements(depth - 1, 2);
        emit("default:\n");
        statements(depth - 1, 2);
        emit("}\n");
        break;
    case 6:
    case 11:
        touch_memory();
        break;
    case 7:
        emit("%s_%u = of_%s(", types[t], below(VARS), types[t]);
        operand(t), emit(", int_%u, double_%u);\n", below(VARS), below(VARS));
        break;
    default:
        (is_float(t) ? assign_float : assign_integer)(t);
    }
}

static void statements(int depth, unsigned n)
{
    while (n--)
        statement(depth);
}

static void kernel(void)
{
    emit("#pragma OPENCL FP_CONTRACT OFF\n#pragma clang diagnostic ignored \"-Weverything\"\n");
    for (unsigned t = 0; t < TYPES; t++)
        emit("__attribute__((noinline)) %s of_%s(%s a, int b, double c)\n{\n"
            "if (b & 1) return a * a;\nif (c > 3) return a + a;\nreturn -a;\n}\n", types[t], types[t], types[t]);
    emit("__kernel void random(__global const ulong *in, __global char *all, __global ulong *words)\n{\n"
        "uint me = (uint)get_global_id(0);\n__global char *out = all + me * %u;\n"
        "volatile __global atomic_ulong *w64 = (volatile __global atomic_ulong *)(words + me * 2);\n"
        "volatile __global atomic_uint *w32 = (volatile __global atomic_uint *)(words + me * 2 + 1);\n", OUT);
    for (unsigned t = 0; t < TYPES; t++) {
        emit("%s pm_%s[8];\nfor (int i = 0; i < 8; i++) pm_%s[i] = (%s)((%s)in[i + me]);\n", types[t], types[t], types[t],
            types[t], component[t]);
        for (unsigned v = 0; v < VARS; v++)
            emit("%s %s_%u = pm_%s[%u];\n", types[t], types[t], v, types[t], v);
    }
    emit("for (int turn = 0; turn < 3; turn++) {\n");
    statements(DEPTH, STATEMENTS);
    emit("}\nfor (uint i = 0; i < 5000; i++)\nuint_0 = uint_0 * 1664525 + i;\n"); /* more than one quantum */
    for (unsigned t = 0; t < TYPES; t++)
        for (unsigned v = 0; v < VARS; v++) {
            if (is_float(t) && t < VECTORS) /* the bits of a NaN may differ */
                emit("%s_%u = %s_%u == %s_%u ? %s_%u : 0;\n", types[t], v, types[t], v, types[t], v, types[t], v);
            else if (is_float(t))
                emit("%s_%u = select((%s)0, %s_%u, isequal(%s_%u, %s_%u));\n", types[t], v, types[t], types[t], v, types[t],
                    v, types[t], v);
            if (t == FLOAT_VECTORS - 1) /* a vector of three: its fourth component is undefined */
                emit("vstore3(%s_%u, 0, (__global uint *)(out + %u));\n", types[t], v, (t * VARS + v) * 32);
            else
                emit("*(__global %s *)(out + %u) = %s_%u;\n", types[t], (t * VARS + v) * 32, types[t], v);
        }
    emit("}\n");
}

/* Whether this process has translated code: an executable mapping without a file. */
static bool is_translated(void)
{
    char line[512];
    bool found = false;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, " r-xp ") && strstr(line, " 00:00 0") && !strchr(line, '[');
    if (f)
        fclose(f);
    return found;
}

/* Run all kernels in a child process, translated or interpreted. */
static int run(const char *native, uint8_t **spirv, const size_t *bytes, unsigned seeds, uint8_t *out)
{
    pid_t child = fork();
    if (!child) {
        setenv("ZE_CPU_NATIVE", native, 1);
        zt_up();
        uint64_t *in = zt_host((ITEMS + 8) * 8), *words = zt_host(ITEMS * 16);
        uint8_t *mine = zt_host(ITEMS * OUT);
        for (unsigned s = 0; s < seeds; s++) {
            text_random = s + 1;
            for (unsigned i = 0; i < ITEMS + 8; i++)
                in[i] = below(4) ? below(1000) - 500u : (uint64_t)below(UINT32_MAX) << 32 | below(UINT32_MAX);
            memset(words, 0, ITEMS * 16);
            memset(mine, 0, ITEMS * OUT);
            ze_module_handle_t m = zt_module_of(spirv[s], bytes[s]);
            ze_kernel_handle_t k = zt_kernel(m, "random");
            zt_arg(k, 0, sizeof in, &in);
            zt_arg(k, 1, sizeof mine, &mine);
            zt_arg(k, 2, sizeof words, &words);
            if (zt_run(k, ITEMS, 16) || is_translated() != (*native == '1'))
                _exit(1);
            for (unsigned i = 0; i < ITEMS; i++)
                memcpy(mine + (i + 1) * OUT - 16, words + i * 2, 16);
            memcpy(out + (size_t)s * ITEMS * OUT, mine, ITEMS * OUT);
            ZE(zeKernelDestroy(k));
            ZE(zeModuleDestroy(m));
        }
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static unsigned seeds, first;

static void same(void)
{
    uint8_t **spirv = calloc(seeds, sizeof *spirv), *out[2];
    size_t *bytes = calloc(seeds, sizeof *bytes), room = (size_t)seeds * ITEMS * OUT;
    for (unsigned s = 0; s < seeds; s++) {
        char file[] = "/tmp/ztnativeXXXXXX";
        text_begin(file, first + s);
        kernel();
        text_end();
        spirv[s] = zt_spirv_of(file, &bytes[s]);
        unlink(file);
    }
    for (int e = 0; e < 2; e++) {
        out[e] = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        CHECK(!run(e ? "1" : "0", spirv, bytes, seeds, out[e]));
    }
    for (size_t k = 0; k < room; k++) {
        size_t at = k % OUT, v = at / 32;
        CHECKF(out[0][k] == out[1][k], "seed %zu, item %zu, %s_%zu, byte %zu: %u, translated %u",
               first + k / OUT / ITEMS, k / OUT % ITEMS, v / VARS < TYPES ? types[v / VARS] : "words", v % VARS, at % 32,
               out[0][k], out[1][k]);
    }
}

static unsigned number(const char *name, unsigned otherwise)
{
    const char *s = getenv(name);
    return s ? (unsigned)strtoul(s, NULL, 0) : otherwise;
}

int main(void)
{
    seeds = number("ZT_SEEDS", 6);
    first = number("ZT_FIRST", 1);
#if !defined(__x86_64__)
    printf("1..0 # SKIP kernels are not translated for this processor\n");
    return 0;
#endif
    RUN(same, "translated and interpreted kernels have the same results");
    return tap_end();
}

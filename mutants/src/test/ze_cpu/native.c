/*
 * native.c - random kernels have the same results translated (ZE_CPU_NATIVE=1) and interpreted (ZE_CPU_NATIVE=0), and with 8
 * work-items at once (ZE_CPU_LANES=1).
 *
 * A kernel has variables of every type, changes them in statements that mix widths, signs, vectors, memory, atomics,
 * branches, loops and calls, and stores them all. Kernels for 8 work-items at once have no atomics and no private arrays; their
 * variables 0 are the same for all work-items, variables 1 grow by a stride, and most conditions use variables 0. They run in
 * groups of several shapes. ZT_SEEDS: number of kernels; ZT_FIRST: seed of the first.
 */
#include <stdbool.h>
#include <sys/mman.h>

#include "text.h"
#include "zt.h"

enum { ITEMS = 64, MOST = 72, VARS = 4, DEPTH = 3, STATEMENTS = 24, OUT = 16384, IN = 4096, ALL = (MOST + 1) * OUT };

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

static bool lanes;         /* the kernel is for 8 work-items at once */
static unsigned vars = VARS; /* operands are among so many variables of their type */
static unsigned least;       /* assignments are to this variable and later ones */

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
        emit("%s_%u", types[t], below(vars));
}

/* The variable that an assignment changes; in lanes only by variables that vary no more than it does. */
static unsigned target(void)
{
    unsigned v = any(least, VARS);
    if (lanes)
        vars = v + 1;
    return v;
}

static void assign_integer(unsigned t)
{
    static const char *const op[] = {"+", "-", "*", "&", "|", "^", "/", "%"};
    bool vector = t >= VECTORS;
    unsigned from = any(0, SCALARS), kind = below(vector ? 5 : 9);
    emit("%s_%u = (%s)(", types[t], target(), types[t]);
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
        emit("convert_%s_sat(%s_%u)", types[t], below(2) ? "float" : "double", below(vars));
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
    emit("%s_%u = ", types[t], target());
    if (kind == 0)
        emit("sqrt(fabs("), operand(t), emit("))");
    else if (kind == 1)
        emit("-"), operand(t);
    else if (kind == 2)
        emit("%s(", below(2) ? "mad" : "fma"), operand(t), emit(", "), operand(t), emit(", "), operand(t), emit(")");
    else if (kind == 5 && lanes)
        emit("%s(", below(2) ? "fmin" : "fmax"), operand(t), emit(", "), operand(t), emit(")");
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

/* Memory of all work-items that is only read, and of this one: at the same place, at strides, anywhere. */
static void touch_lanes(void)
{
    unsigned t = any(0, TYPES), v = below(VARS);
    if (t == FLOAT_VECTORS - 1) /* a vector of three: its fourth component is undefined */
        t = 0;
    switch (below(6)) {
    case 0:
        emit("%s_%u = *(__global const %s *)(in + (uint_0 & 7));\n", types[t], v ? v : 2, types[t]);
        break;
    case 1:
        emit("%s_%u = ((__global const %s *)in)[me];\n", types[t], v > 1 ? v : 2, types[t]);
        break;
    case 2:
        emit("%s_%u = *(__global const %s *)((__global const char *)in + me * %u);\n", types[t], v > 1 ? v : 2, types[t],
            below(9));
        break;
    case 3:
        emit("%s_%u = *(__global const %s *)(in + (uint_%u & 63));\n", types[t], v > 1 ? v : 2, types[t], v);
        break;
    case 4:
        emit("*(__global %s *)(out + %u + (uint_%u & 7) * 32) = %s_%u;\n", types[t], TYPES * VARS * 32, v, types[t], v);
        break;
    default:
        t = any(0, VECTORS);
        emit("((__global %s *)(all + %u))[me] = %s_%u;\n", types[t], MOST * OUT + 1024 * t, types[t], v);
    }
}

static void statements(int depth, unsigned n);

/* A condition. In lanes, if it varies, what follows must not change variables that do not. */
static void condition(void)
{
    vars = lanes && below(8) ? 1 : VARS;
    operand(any(0, VECTORS)), emit(" < "), operand(any(0, SCALARS));
    least = lanes && vars > 1 ? 2 : least;
    vars = VARS;
}

static void statement(int depth)
{
    unsigned t = any(0, TYPES), before = least;
    switch (below(depth ? 12 : 8)) {
    case 8:
        emit("if ("), condition(), emit(") {\n");
        statements(depth - 1, 4);
        emit("} else {\n");
        statements(depth - 1, 4);
        emit("}\n");
        least = before;
        break;
    case 9:
        emit("for (uint i%d = 0; i%d < %u; i%d++) {\n", depth, depth, below(6), depth);
        statements(depth - 1, 4);
        emit("}\n");
        break;
    case 10:
        emit("switch (uint_%u & 3) {\ncase 1:\n", lanes ? 0 : below(VARS));
        statements(depth - 1, 2);
        emit("break;\ncase 2:\n");
        statements(depth - 1, 2);
        emit("default:\n");
        statements(depth - 1, 2);
        emit("}\n");
        break;
    case 6:
    case 11:
        (lanes ? touch_lanes : touch_memory)();
        break;
    case 7:
        if (lanes) {
            emit("if (long_3 == 12345678 && me < 1000)\n*(__global uint *)(out + 8192) = uint_0;\n"); /* varies, but none takes it */
            break;
        }
        emit("%s_%u = of_%s(", types[t], below(VARS), types[t]);
        operand(t), emit(", int_%u, double_%u);\n", below(VARS), below(VARS));
        break;
    default:
        (is_float(t) ? assign_float : assign_integer)(t);
        vars = VARS;
    }
}

static void statements(int depth, unsigned n)
{
    while (n--)
        statement(depth);
}

/* The first values of the variables of type t. */
static void variables(unsigned t)
{
    if (!lanes)
        emit("%s pm_%s[8];\nfor (int i = 0; i < 8; i++) pm_%s[i] = (%s)((%s)in[i + me]);\n", types[t], types[t], types[t],
            types[t], component[t]);
    for (unsigned v = 0; v < VARS; v++) {
        emit("%s %s_%u = ", types[t], types[t], v);
        if (!lanes)
            emit("pm_%s[%u];\n", types[t], v);
        else if (v == 1)
            emit("(%s)((%s)(me * %u + %u));\n", types[t], component[t], 1 + below(9),
                below(3) ? below(100) : (1u + below(2)) * 0x80000000u - below(100)); /* some overflow */
        else
            emit("(%s)((%s)in[%u + %s]);\n", types[t], component[t], v, v ? "me" : "0");
    }
}

/* Store the variables of type t. */
static void results(unsigned t)
{
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
}

static void kernel(void)
{
    emit("#pragma OPENCL FP_CONTRACT OFF\n#pragma clang diagnostic ignored \"-Weverything\"\n");
    for (unsigned t = 0; t < TYPES; t++)
        emit("__attribute__((noinline)) %s of_%s(%s a, int b, double c)\n{\n"
            "if (b & 1) return a * a;\nif (c > 3) return a + a;\nreturn -a;\n}\n", types[t], types[t], types[t]);
    emit("__kernel void random(__global const ulong *in, __global char *all, __global ulong *words)\n{\n"
        "uint me = (uint)get_global_linear_id();\n__global char *out = all + me * %u;\n"
        "volatile __global atomic_ulong *w64 = (volatile __global atomic_ulong *)(words + me * 2);\n"
        "volatile __global atomic_uint *w32 = (volatile __global atomic_uint *)(words + me * 2 + 1);\n", OUT);
    for (unsigned t = 0; t < TYPES; t++)
        variables(t);
    if (lanes)
        emit("int_1 += (int)get_global_id(0) - (int)get_local_id(1);\nuint_0 += (uint)get_group_id(0) + get_sub_group_id();\n"
            "uint_1 += get_sub_group_local_id() + (uint)get_local_linear_id() * 3;\n"
            "ulong_2 += (ulong)(me * 3 + 0xffffff%x0u);\nlong_2 += (long)(int)(me * 5 + 0x7fffff%x0u);\n", /* wraps */
            below(16), below(16));
    emit("for (int turn = 0; turn < 3; turn++) {\n");
    statements(DEPTH, STATEMENTS);
    emit("}\nfor (uint i = 0; i < 5000; i++)\nuint_0 = uint_0 * 1664525 + i;\n"); /* more than one quantum */
    unsigned once = any(0, TYPES);
    if (lanes)
        emit("%s_2 = of_%s(%s_2, int_0, double_0);\n", types[once], types[once], types[once]);
    for (unsigned t = 0; t < TYPES; t++)
        results(t);
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

/* Shapes of groups; in the last one no 8 work-items are in a row. */
static const struct {
    uint32_t size[3];
    ze_group_count_t groups;
} shape[] = {{{16, 1, 1}, {4, 1, 1}}, {{24, 1, 1}, {3, 1, 1}}, {{12, 3, 1}, {1, 2, 1}}, {{8, 2, 2}, {2, 1, 1}},
             {{20, 1, 1}, {3, 1, 1}}, {{64, 1, 1}, {1, 1, 1}}, {{9, 4, 1}, {1, 1, 2}}, {{5, 3, 1}, {2, 1, 2}}};
enum { SHAPES = sizeof shape / sizeof *shape };

/* Run a kernel in groups of a shape that depends on the seed. */
static ze_result_t run_shape(ze_kernel_handle_t k, unsigned seed)
{
    unsigned s = seed % SHAPES;
    ze_command_list_handle_t l = zt_immediate();
    ze_event_handle_t e = zt_event();
    ze_group_count_t n = shape[s].groups;
    ZE(zeKernelSetGroupSize(k, shape[s].size[0], shape[s].size[1], shape[s].size[2]));
    ZE(zeKernelSetGlobalOffsetExp(k, seed % 3, seed % 5, 0));
    ZE(zeCommandListAppendLaunchKernel(l, k, &n, e, 0, NULL));
    return zeEventHostSynchronize(e, LIMIT_NS);
}

struct engine {
    const char *native, *lanes, *private_memory; /* ZE_CPU_NATIVE, ZE_CPU_LANES, ZE_CPU_PRIVATE */
};

/* What the child process of an engine returns. */
struct outcome {
    uint64_t ended, diverged; /* of zexCpuLanes */
    unsigned with_lanes;      /* kernels of which 8 work-items ran at once */
    uint8_t bytes[];
};

/* The arguments of the kernels: memory of the host, and what kernels access. Private: that is memory of the device. */
static struct {
    void *host, *device;
    size_t bytes;
} args[3] = {{NULL, NULL, IN * 8}, {NULL, NULL, ALL}, {NULL, NULL, ITEMS * 16}};

static void make_args(bool private_memory)
{
    for (unsigned i = 0; i < 3; i++) {
        args[i].host = zt_host(args[i].bytes);
        args[i].device = private_memory ? zt_device_mem(args[i].bytes) : args[i].host;
    }
}

static void move_args(bool back)
{
    for (unsigned i = 0; i < 3; i++)
        if (args[i].device != args[i].host)
            zt_copy(back ? args[i].host : args[i].device, back ? args[i].device : args[i].host, args[i].bytes);
}

static void run_one(const uint8_t *spirv, size_t bytes, unsigned s)
{
    uint64_t *in = args[0].host, *words = args[2].host;
    uint8_t *all = args[1].host;
    text_random = s + 1;
    for (unsigned i = 0; i < IN; i++)
        in[i] = below(4) ? below(1000) - 500u : (uint64_t)below(UINT32_MAX) << 32 | below(UINT32_MAX);
    memset(words, 0, ITEMS * 16);
    memset(all, 0, ALL);
    ze_module_handle_t m = zt_module_of(spirv, bytes);
    ze_kernel_handle_t k = zt_kernel(m, "random");
    for (unsigned i = 0; i < 3; i++)
        zt_arg(k, i, sizeof args[i].device, &args[i].device);
    move_args(false);
    if (lanes ? run_shape(k, s) : zt_run(k, ITEMS, 16))
        _exit(1);
    if (is_translated() != (*getenv("ZE_CPU_NATIVE") == '1'))
        _exit(2);
    move_args(true);
    for (unsigned i = 0; i < ITEMS && !lanes; i++)
        memcpy(all + (i + 1) * OUT - 16, words + i * 2, 16);
    ZE(zeKernelDestroy(k));
    ZE(zeModuleDestroy(m));
}

/* Run all kernels in a child process. */
static int run(struct engine e, uint8_t **spirv, const size_t *bytes, unsigned seeds, struct outcome *out)
{
    pid_t child = fork();
    if (!child) {
        setenv("ZE_CPU_NATIVE", e.native, 1);
        setenv("ZE_CPU_LANES", e.lanes, 1);
        setenv("ZE_CPU_PRIVATE", e.private_memory, 1);
        zt_up();
        void (*count)(uint64_t *, uint64_t *);
        ZE(zeDriverGetExtensionFunctionAddress(zt_driver, "zexCpuLanes", (void **)&count));
        uint64_t before = 0;
        make_args(*e.private_memory == '1');
        for (unsigned s = 0; s < seeds; s++) {
            run_one(spirv[s], bytes[s], s);
            memcpy(out->bytes + (size_t)s * ALL, args[1].host, ALL);
            count(&out->ended, &out->diverged);
            out->with_lanes += out->ended + out->diverged > before;
            before = out->ended + out->diverged;
        }
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static unsigned seeds, first;

static void compare(const struct outcome *a, const struct outcome *b)
{
    for (size_t k = 0; k < (size_t)seeds * ALL; k++) {
        size_t at = k % OUT, v = at / 32;
        if (!CHECKF(a->bytes[k] == b->bytes[k], "seed %zu, item %zu, %s_%zu, byte %zu: %u, translated %u", first + k / ALL,
                    k % ALL / OUT, v / VARS < TYPES ? types[v / VARS] : "words", v % VARS, at % 32, a->bytes[k], b->bytes[k]))
            k += 4096;
    }
}

static void both(struct engine other, struct outcome *out[2])
{
    uint8_t **spirv = calloc(seeds, sizeof *spirv);
    size_t *bytes = calloc(seeds, sizeof *bytes), room = sizeof **out + (size_t)seeds * ALL;
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
        int status = run(e ? other : (struct engine){"0", "0", "0"}, spirv, bytes, seeds, out[e]);
        CHECKF(!status, "status %x", (unsigned)status);
    }
    compare(out[0], out[1]);
    for (unsigned s = 0; s < seeds; s++)
        free(spirv[s]);
    free(spirv);
    free(bytes);
}

static void same(void)
{
    struct outcome *out[2];
    both((struct engine){"1", "0", "0"}, out);
}

/* Catches: an access whose address is not translated, or an address of the host that is. */
static void same_private(void)
{
    struct outcome *out[2];
    both((struct engine){"1", "1", "1"}, out);
}

#if defined(__x86_64__)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
static bool has_avx2(void)
{
    return false;
}
#endif

static void same_at_once(void)
{
    struct outcome *out[2];
    lanes = true;
    both((struct engine){"1", "1", "0"}, out);
    if (!has_avx2())
        return;
    printf("# 8 work-items at once in %u of %u kernels: %llu times to the end, %llu times to a branch where they differ\n",
        out[1]->with_lanes, seeds, (unsigned long long)out[1]->ended, (unsigned long long)out[1]->diverged);
    CHECK(!out[0]->with_lanes && out[1]->with_lanes == seeds - seeds / SHAPES);
    CHECK(seeds < 6 || (out[1]->ended > seeds && out[1]->diverged > seeds / 2));
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
    RUN(same_private, "and in memory that the host cannot access");
    RUN(same_at_once, "and kernels that run 8 work-items at once");
    return tap_end();
}

/*
 * fuzz.c - mutated modules: zeModuleCreate fails with a log or succeeds, and never crashes. A child process builds each
 * thousand of them, so that a crash is reported with its seed.
 *
 * FUZZ_ROUNDS: number of modules (default 100,000); FUZZ_SEED: first seed.
 */
#include "blocks.h"
#include "zt.h"

enum { BRANCH = 249, SWITCH = 251 };
enum { BATCH = 1000, INSTRUCTIONS = 20000 };

struct sample {
    uint32_t *words;
    uint32_t n, at[INSTRUCTIONS], count; /* words where instructions start */
};
static struct sample sample[4];

static void prepare(struct sample *s, const char *name)
{
    size_t bytes;
    s->words = (uint32_t *)zt_spirv(name, &bytes);
    s->n = (uint32_t)(bytes / 4);
    for (uint32_t i = 5; i < s->n && s->count < INSTRUCTIONS && s->words[i] >> 16; i += s->words[i] >> 16)
        s->at[s->count++] = i;
}

/* The first instruction with an opcode from first to last, from the k-th on, cyclically. */
static uint32_t find(const struct sample *s, uint32_t k, uint32_t first, uint32_t last)
{
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t at = s->at[(k + i) % s->count], op = s->words[at] & 0xffff;
        if (op >= first && op <= last)
            return at;
    }
    return s->at[0];
}

/* Redirect a branch to another label: control-flow graphs that no compiler makes. */
static void redirect(const struct sample *s, uint32_t *w, uint32_t n, unsigned *r)
{
    uint32_t k = tap_random(r) % s->count;
    uint32_t from = find(s, k, BRANCH, SWITCH), words = s->words[from] >> 16;
    uint32_t to = find(s, (k + tap_random(r) % 200) % s->count, BLOCKS_LABEL, BLOCKS_LABEL);
    if (from + words <= n)
        w[from + words - 1] = s->words[to + 1];
}

/* Make one random change to the copy w; returns its new length in words. */
static uint32_t mutate(const struct sample *s, uint32_t *w, uint32_t n, unsigned *r)
{
    uint32_t i = s->at[tap_random(r) % s->count], words = s->words[i] >> 16, at = i + tap_random(r) % words;
    uint32_t j = s->at[tap_random(r) % s->count];
    if (at >= n || i + words > n)
        return n;
    switch (tap_random(r) % 11) {
    case 0:
        w[at] ^= 1u << tap_random(r) % 32;
        return n;
    case 1: /* another id */
        w[at] = tap_random(r) % (w[3] ? w[3] : 1);
        return n;
    case 2:
        w[at] = tap_random(r) % 8;
        return n;
    case 3: /* another instruction of the same length */
        w[i] = (w[i] & 0xffff0000u) | (s->words[j] & 0xffffu);
        return n;
    case 4:
        w[i] = (w[i] & 0xffffu) | (words + tap_random(r) % 3 - 1) << 16;
        return n;
    case 5: /* remove it */
        memmove(w + i, w + i + words, (n - i - words) * 4u);
        return n - words;
    case 6:
        w[at] = tap_random(r);
        return n;
    case 7:
        shuffle_blocks(w, n, r);
        return n;
    case 8:
    case 9:
        redirect(s, w, n, r);
        return n;
    default:
        return tap_random(r) % 16 ? n : tap_random(r) % n;
    }
}

static unsigned build(const uint32_t *w, uint32_t n, unsigned *failed)
{
    char log[700];
    ze_module_handle_t m;
    const char *name;
    uint32_t one = 1;
    if (zt_build(w, n * 4u, &m, log, sizeof log)) {
        ++*failed;
        return log[0] != 0;
    }
    if (!zeModuleGetKernelNames(m, &one, &name) && one) {
        ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
        ze_kernel_handle_t k;
        if (!zeKernelCreate(m, &desc, &k))
            zeKernelDestroy(k);
    }
    zeModuleDestroy(m);
    return 1;
}

/* Build BATCH modules. Exit status 0: every failure had a log, and neither none nor all of them failed. */
static void batch(unsigned seed)
{
    zt_up();
    unsigned r = seed * 2654435761u + 1, failed = 0, explained = 0;
    for (int i = 0; i < BATCH; i++) {
        const struct sample *s = &sample[i % 16 ? 1 + i % 3 : 0];
        uint32_t n = s->n, *w = malloc(n * 4u);
        memcpy(w, s->words, n * 4u);
        for (unsigned k = 0; k <= tap_random(&r) % 4; k++)
            n = mutate(s, w, n, &r);
        explained += build(w, n, &failed);
        free(w);
    }
    _exit(explained == BATCH && failed > BATCH / 8 && failed < BATCH ? 0 : 1);
}

static void mutations(void)
{
    const char *rounds = getenv("FUZZ_ROUNDS"), *from = getenv("FUZZ_SEED");
    unsigned first = from ? (unsigned)atoi(from) : 1, n = (rounds ? (unsigned)atoi(rounds) : 100000u) / BATCH;
    for (unsigned seed = first; seed < first + n; seed++) {
        pid_t p = fork();
        if (!p) {
            alarm(60);
            batch(seed);
        }
        int status = -1;
        waitpid(p, &status, 0);
        CHECKF(!status, "FUZZ_SEED=%u: status %x", seed, (unsigned)status);
    }
}

static void expect_log(const uint32_t *w, uint32_t n, const char *part)
{
    char log[700] = "";
    ze_module_handle_t m;
    CHECKF(zt_build(w, n * 4u, &m, log, sizeof log) == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "%s", part);
    CHECKF(strstr(log, part), "%s, not %s", log, part);
}

static void check_logs(void)
{
    zt_up();
    const struct sample *s = &sample[1];
    uint32_t *w = malloc(s->n * 4u), bad[6] = {0x07230203, 0x10000, 0, 10, 0, 0x1ffff};
    for (uint32_t i = 0; i < s->count; i++) { /* an OpIAdd of an id that does not exist */
        if ((s->words[s->at[i]] & 0xffff) != 128)
            continue;
        char where[64];
        snprintf(where, sizeof where, "OpIAdd (opcode 128) at word %u", s->at[i]);
        memcpy(w, s->words, s->n * 4u);
        w[s->at[i] + 3] = w[3] + 7;
        expect_log(w, s->n, where);
        break;
    }
    memcpy(w, s->words, s->n * 4u);
    w[s->at[0]] = 2 << 16 | 7777;
    expect_log(w, s->n, "opcode 7777");
    expect_log(bad, 6, "opcode 65535");
    bad[0] = 1;
    expect_log(bad, 6, "magic");
    free(w);
    _exit(tap_bad_now_ ? 1 : 0);
}

/* Catches: a log that does not name the instruction. */
static void logs(void)
{
    pid_t p = fork();
    if (!p)
        check_logs();
    int status = -1;
    waitpid(p, &status, 0);
    CHECK(!status);
}

int main(void)
{
    prepare(&sample[0], "kernels");
    prepare(&sample[1], "progress");
    prepare(&sample[2], "fault");
    prepare(&sample[3], "modules");
    RUN(logs, "the build log names the instruction");
    RUN(mutations, "no mutated module crashes the build");
    return tap_end();
}

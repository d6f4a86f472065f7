/*
 * messages.c - changed messages arrive at a PE, which accepts, refuses (with one line) or drops them, and never crashes
 * or writes outside of its regions, requests and buffers. A child process handles each few hundred, so that a crash is
 * reported with the message's number and the test continues.
 *
 * messages [INPUTS [SEED [records|handlers]]]: number of inputs of each kind, or of one; by default as many as fit into a
 * few seconds.
 *
 * An input is its kind in one byte, then as in records.h or handlers.h. For clang's libFuzzer compile the sources of
 * Makefile.am with -fsanitize=fuzzer,address,undefined -DLIBFUZZER, and run with -detect_leaks=0 -max_len=33000.
 */
#include "handlers.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RECORDS, HANDLERS, KINDS };
enum { BATCH = 400, SECONDS = 3, MOST_SECONDS = 60, BATCH_SECONDS = 100 };

const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void)
{
    return "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=64:quarantine_size_mb=8";
}

static void try(const uint8_t *data, size_t bytes)
{
    struct input in = {data, bytes};
    if (take(&in, 1) % KINDS == RECORDS)
        try_records(&in);
    else
        try_handlers(&in);
}

static void make_world(void)
{
    make_corpus();
    make_handlers();
}

/* ---- inputs ------------------------------------------------------------------------------------------------------- */

static unsigned chance;

static unsigned below(unsigned n)
{
    return tap_random(&chance) % n;
}

/* Numbers at the limits of fields. */
static uint64_t number(void)
{
    static const uint64_t edges[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 24, 40, 255, 256, 1023, 1024, READ_ONLY - 8, READ_ONLY, REGION - 8,
                                     REGION, SHI_STREAM_PUT_BYTES, INT32_MAX, 1ull << 31, UINT32_MAX, 1ull << 32,
                                     INT64_MAX, 1ull << 63, UINT64_MAX - 7, UINT64_MAX};
    uint64_t v = below(4) ? edges[below(sizeof edges / sizeof *edges)] : (uint64_t)below(UINT32_MAX) << 32 | below(UINT32_MAX);
    return below(4) ? v : v + below(17) - 8;
}

static void set(char *at, uint64_t v)
{
    memcpy(at, &v, 1u << below(4));
}

/* A random record of the message, or its head. */
static char *some_record(char *message, size_t bytes)
{
    struct head *h = (struct head *)message;
    struct record *r, *found = NULL;
    unsigned n = 0;
    for (size_t at = sizeof *h; (r = record_at(h, at, bytes)); at += record_bytes(r))
        if (below(++n) == 0)
            found = r;
    return found ? (char *)found : message;
}

/* A message of the corpus, changed in a few places. */
static size_t make_records(char *out)
{
    const struct seed *s = &seeds[below((unsigned)n_seeds)], *other = &seeds[below((unsigned)n_seeds)];
    size_t bytes = s->bytes;
    int forged = below(16) == 0;
    unsigned flags = below(256) & (FROM_2 | LANE_1 | PRIVATE | ACKNOWLEDGES);
    flags |= forged ? FORGED : below(16) == 0 ? OWN_HEAD : below(8) ? ASKED : ASKED | ASKED_OTHER;
    *out++ = (char)flags;
    memcpy(out, s->data, bytes);
    if (below(3) == 0 && bytes + other->bytes - sizeof(struct head) <= SHI_NET_MESSAGE_BYTES) {
        memcpy(out + bytes, other->data + sizeof(struct head), other->bytes - sizeof(struct head));
        bytes += other->bytes - sizeof(struct head);
    }
    for (unsigned n = below(4); n > 0; n--) {
        char *r = some_record(out, bytes);
        size_t left = (size_t)(out + bytes - r);
        switch (below(6)) {
        case 0: bytes = below(2) ? below((unsigned)bytes + 1) : bytes - below(64) % (bytes + 1); break;
        case 1: out[below((unsigned)bytes + !bytes)] ^= (char)(1 << below(8)); break;
        case 2: set(out + below((unsigned)bytes + !bytes) / 4 * 4, number()); break;
        default: /* the record's fields and the begin of its payload */
            if (left >= 48)
                set(r + (below(3) ? below(10) * 4 : below(40)), number());
        }
    }
    return bytes + 1;
}

static size_t make_handler_input(char *out)
{
    char *at = out;
    *at++ = (char)below(256);
    *at++ = (char)below(256);
    *at++ = (char)(below(3) ? below(8) : below(60));
    *at++ = (char)below(256);
    *at++ = (char)below(256);
    for (unsigned n = below(4); n > 0; n--, at += 11) {
        uint64_t v = number();
        at[0] = (char)(below(3) ? below(14) * 16 / 4 : below(256));
        at[1] = (char)below(4);
        at[2] = (char)below(32);
        memcpy(at + 3, &v, 8);
    }
    return (size_t)(at - out);
}

/* An input of a kind, at an address at which its message is aligned. */
static size_t make_input(int kind, char **input)
{
    static _Alignas(8) char room[2 * SHI_NET_MESSAGE_BYTES];
    *input = room + 6;
    **input = (char)kind;
    return 1 + (kind == RECORDS ? make_records(*input + 1) : make_handler_input(*input + 1));
}

#ifdef LIBFUZZER

/* ---- libFuzzer: makes half of its inputs as the driver does, and changes these ------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (!n_seeds)
        make_world();
    try(data, bytes);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed)
{
    char *made;
    if (seed % 2 || !n_seeds)
        return LLVMFuzzerMutate(data, bytes, most);
    chance = seed | 1;
    bytes = make_input((int)(seed / 2 % KINDS), &made);
    bytes = bytes < most ? bytes : most;
    memcpy(data, made, bytes);
    return bytes;
}

#else

/* ---- the driver --------------------------------------------------------------------------------------------------- */

static struct shared {
    long at, applied, refused;
    struct way ways[WAYS];
} *shared;

static void run_batch(int kind, long first, long n, unsigned seed)
{
    alarm(BATCH_SECONDS);
    chance = (seed * 2654435761u + (unsigned)(first / BATCH)) * 2246822519u | 1;
    for (int i = 0; i < 8; i++)
        tap_random(&chance);
    for (shared->at = first; shared->at < first + n; shared->at++) {
        char *input;
        size_t bytes = make_input(kind, &input);
        try((const uint8_t *)input, bytes);
    }
    shared->applied += n_applied;
    shared->refused += n_refused;
    _exit(0);
}

/* The refusals that enough inputs of each kind cause. */
static const char *const expected[KINDS][32] = {
    [RECORDS] = {"acknowledges a message", "acknowledges message", "a record of unknown type", "a record that exceeds",
                 "a region that this PE does not have", "a reply of", "a write to read-only memory",
                 "an active message of invalid length", "an active message of unknown id", "an atomic operation of unknown",
                 "an atomic operation on a misaligned word", "an atomic operation with invalid operands",
                 "an invalid request for blocks", "blocks that do not fill", "blocks that overlap", "blocks without bytes",
                 "memory outside", "more bytes than a reply holds"},
    [HANDLERS] = {"a GPC of invalid length", "a GPC with ids", "a GPC without a tree", "a cancel of no", "a credit for more",
                  "a message of GPCs of unknown kind", "a part of a tagged message that", "a part of another PE's",
                  "a piece of no GPC", "a reply to a GPC of invalid length", "a reply to no GPC",
                  "a request for more than a tagged message", "a tagged message from no PE", "a tagged message of invalid length",
                  "a tagged message of unknown kind", "an answer to no cancel", "an answer to no claim", "an answer to no offer",
                  "an answer to no reply", "an answer to no tagged message", "an invalid header of a tagged message"},
};

/* The first expected refusal that no input has caused, or NULL. */
static const char *missing(int kind)
{
    for (const char *const *e = expected[kind]; *e; e++) {
        const struct way *w = ways;
        while (w < ways + WAYS && !strstr(w->words, *e))
            w++;
        if (w == ways + WAYS)
            return *e;
    }
    return NULL;
}

static long inputs;
static unsigned seed = 1;

static int go_on(int kind, long n, time_t began)
{
    time_t passed = time(NULL) - began;
    return inputs ? n < inputs : passed <= SECONDS || (missing(kind) && passed <= MOST_SECONDS);
}

static void run(int kind)
{
    time_t began = time(NULL);
    long n = 0, crashes = 0;
    memset(shared, 0, sizeof *shared);
    ways = shared->ways;
    for (; go_on(kind, n, began); n += BATCH) {
        int status;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            run_batch(kind, n, BATCH, seed);
        waitpid(child, &status, 0);
        crashes += !CHECKF(status == 0, "input %ld (messages %ld %u): status %#x", shared->at, n + BATCH, seed, status);
    }
    CHECKF(shared->applied > n / 8 && shared->refused > n / 16, "of %ld inputs %ld were applied, %ld refused", n,
           shared->applied, shared->refused);
    CHECKF(inputs || !missing(kind), "no input was refused as: %s", missing(kind));
    printf("# %ld inputs: %ld accepted or dropped, %ld refused; %ld crashes\n", n, shared->applied, shared->refused,
           crashes);
    for (const struct way *w = ways; w < ways + WAYS && w->n; w++)
        printf("# %8ld %s\n", w->n, w->words);
}

/* Catches: a record that is applied although it does not fit its message, its memory, or the request that it
 * answers. */
static void records(void)
{
    run(RECORDS);
}

/* Catches: a handler that trusts an invalid length, number or kind, or an answer without a request. */
static void handlers(void)
{
    run(HANDLERS);
}

int main(int argc, char **argv)
{
    const char *only = argc > 3 ? argv[3] : "";
    inputs = argc > 1 ? atol(argv[1]) : 0;
    seed = argc > 2 ? (unsigned)atol(argv[2]) : seed;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    make_world();
    printf("# %d messages in the corpus\n", n_seeds);
    if (strcmp(only, "handlers") != 0)
        RUN(records, "changed records");
    if (strcmp(only, "records") != 0)
        RUN(handlers, "changed messages of tags and GPCs");
    return tap_end();
}

#endif

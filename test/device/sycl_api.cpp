/*
 * sycl_api.cpp - in SYCL every routine of Intel SHMEM's API, for every type of shmem_table.h, in every form: by the host, in kernels by a
 * work-item, a work-group and a sub-group, and on queues. Prints the names whose call had the result that sycl_want.h computes; sycl_api.sh
 * compares them with the list of all names.
 *
 * A kernel makes all calls of a form. For that, functions that are KEPT are called, not inlined, as test/lib/keep_calls.c has it; else the
 * compiler would see some million instructions. The _on_queue forms, too, are called in a kernel, with a queue that makes the call which it
 * should submit, see in_kernel: they differ by that call alone, and hundreds of kernels would take minutes. sycl.cpp submits some.
 */
#define KEPT __attribute__((noinline, annotate("acpp_no_s1_device_inline")))
#define SHI_FN inline KEPT
#include <ishmemx.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <vector>

#define CAT_(A, B) A##B
#define CAT(A, B) CAT_(A, B)
#define CAT_TEXT_(A) #A
#define CAT_TEXT(A) CAT_TEXT_(A)

/* ---- lists: which routines a row has ----------------------------------------------------------------------------------------- */

#define PUTS_(M, BLOCK, N, T) SHMEM_API_PUTGET(M, M, N, T) SHMEM_API_BLOCK(BLOCK, BLOCK, N, T)
#define WAITS_(M, N, T, AMO) SHMEM_IF_##AMO(SHMEM_API_WT(M, M, N, T) SHMEM_API_SYN(M, M, N, T))
#define COLLECTIVES_(M, N, T, AND)                                                                                    \
    SHMEM_API_BROADCAST(M, M, N, T) SHMEM_API_GATHER(M, M, N, T) SHMEM_API_MAX(M, M, N, T) SHMEM_API_SUM(M, M, N, T)  \
    SHMEM_IF_##AND(SHMEM_API_AND(M, M, N, T))
#define ATOMICS_(M, N, T, AMO, EXT, BIT)                                                                              \
    SHMEM_API_ONE(M, M, N, T) SHMEM_IF_##AMO(SHMEM_API_AMO(M, M, N, T)) SHMEM_IF_##EXT(SHMEM_API_EXT(M, M, N, T))     \
    SHMEM_IF_##BIT(SHMEM_API_BIT(M, M, N, T))
/* Templates: types of each class and size. */
#define ANY_TYPES(X)                                                                                                  \
    X(float, float, 0, 1, 0, 0) X(short, short, 0, 0, 0, 0) X(uchar, unsigned char, 0, 0, 0, 1)                       \
    X(int, int, 1, 1, 1, 1) X(ulonglong, unsigned long long, 1, 1, 1, 1)

#define KIND(R, NAME, N, T, PARAMS) K##NAME,
#define KIND_SIZED(R, NAME, KEY, B, PARAMS) K_##NAME,
#define ROW_NAME(F, N, ...) ROW_##N,
enum {
    PUTS_(KIND, KIND, , ) WAITS_(KIND, , , 1) COLLECTIVES_(KIND, , , 1) ATOMICS_(KIND, , , 1, 1, 1)
    SHMEM_API_SIZED_PUTGET(KIND_SIZED) SHMEM_API_SIZED_BLOCK(KIND_SIZED) KINDS
};
enum { SHMEM_TYPES(ROW_NAME, ) ROWS, ROW_sized = 2 * ROWS, ROW_untyped, ALL_ROWS };
enum {
    U_my_pe, U_n_pes, U_ptr, U_info_get_version, U_info_get_name, U_team_my_pe, U_team_n_pes, U_team_translate_pe, U_team_get_config,
    U_signal_fetch, U_signal_add, U_signal_set, U_print, U_fence, U_quiet, U_sync_all, U_barrier_all, U_team_sync, U_signal_wait_until
};
typedef uint8_t sized_1;
typedef uint16_t sized_2;
typedef uint32_t sized_4;
typedef uint64_t sized_8;
struct sized_16 {
    uint64_t x, y;
};

/* ---- the places of calls ------------------------------------------------------------------------------------------------------ */

/* Bytes of a place: data and a signal in symmetric memory, and of a row's source; its results, which host and kernels can access. */
enum { PLACE = 256, SIGNAL = 192, RESULT_BYTES = 64, ELEMENTS = 16, GROUP = 16, PES = 8 };
constexpr uint64_t UNTOUCHED = 0x0303030303030303, BITS = 0x6611aa5566995aa5;

struct place {
    char *data, *source;
    uint64_t *signal, *result;
    size_t *indices;
    const int *status;
    const void *values;
    int to, n, me;
    ishmem_team_t team;
};
struct job {
    char *data, *source, *results, *values; /* values: of a row, 4 that s[i] has except for i = 1, 4 that it has for i = 3 alone */
    int *status;
    const std::vector<sycl::event> *no_events;
    int to, n, me;
    ishmem_team_t team;

    KEPT place at(int row, int kind) const
    {
        size_t i = (size_t)row * KINDS + kind;
        char *d = data + i * PLACE;
        uint64_t *r = (uint64_t *)(results + i * RESULT_BYTES);
        return {d, source + row * PLACE, (uint64_t *)(d + SIGNAL), r, (size_t *)r + 2, status, values + row * PLACE, to, n, me, team};
    }
};

/* ---- forms -------------------------------------------------------------------------------------------------------------------- */

static sycl::queue *queue;

/* Instead of a sycl::queue, in a kernel's group: what is submitted to it is called at once. */
struct in_kernel {
    const sycl::group<1> &g;
};
template <class Call>
void shi_on_queue(in_kernel &q, const std::vector<sycl::event> &, size_t, Call call)
{
    call(q.g);
}

template <class Group, typename T>
void only_leader(const Group &g, T *at, T value)
{
    if (g.leader())
        *at = value;
}

#define FORM by_host
#define PRE ishmem
#define PARAMETERS
#define ARGUMENTS
#define ITEM 1
#define FENCE 1
#define DO(F, ...) F(__VA_ARGS__)
#define DO0(F) F()
#define RESULT(T, AT, F, ...) *(T *)(AT) = F(__VA_ARGS__)
#define RESULT0(T, AT, F) *(T *)(AT) = F()
#include "sycl_calls.h"

#define FORM by_item
#define PRE ishmem
#define PARAMETERS
#define ARGUMENTS
#define ITEM 1
#define FENCE 1
#define DO(F, ...) F(__VA_ARGS__)
#define DO0(F) F()
#define RESULT(T, AT, F, ...) *(T *)(AT) = F(__VA_ARGS__)
#define RESULT0(T, AT, F) *(T *)(AT) = F()
#include "sycl_calls.h"

#define FORM by_group
#define PRE ishmemx
#define PARAMETERS , const sycl::group<1> &g
#define ARGUMENTS , g
#define ITEM 0
#define FENCE 1
#define DO(F, ...) F##_work_group(__VA_ARGS__, g)
#define DO0(F) F##_work_group(g)
#define RESULT(T, AT, F, ...) only_leader(g, (T *)(AT), F##_work_group(__VA_ARGS__, g))
#include "sycl_calls.h"

#define FORM by_sub_group
#define PRE ishmemx
#define PARAMETERS , const sycl::sub_group &g
#define ARGUMENTS , g
#define ITEM 0
#define FENCE 1
#define DO(F, ...) F##_work_group(__VA_ARGS__, g)
#define DO0(F) F##_work_group(g)
#define RESULT(T, AT, F, ...) only_leader(g, (T *)(AT), F##_work_group(__VA_ARGS__, g))
#include "sycl_calls.h"

#define FORM as_queued
#define PRE ishmemx
#define PARAMETERS , in_kernel &q
#define ARGUMENTS , q
#define ITEM 0
#define FENCE 0
#define DO(F, ...) F##_on_queue(__VA_ARGS__, q, *j.no_events)
#define DO0(F) F##_on_queue(q, *j.no_events)
#define RESULT(T, AT, F, ...) F##_on_queue(__VA_ARGS__, (T *)(AT), q, *j.no_events)
#include "sycl_calls.h"

static void run_by_item(const job &j)
{
    queue->single_task([=] { by_item_all(j); }).wait();
}
static void run_by_group(const job &j)
{
    queue->parallel_for(sycl::nd_range<1>{GROUP, GROUP}, [=](sycl::nd_item<1> it) { by_group_all(j, it.get_group()); }).wait();
}
static void run_by_sub_group(const job &j)
{
    queue->parallel_for(sycl::nd_range<1>{GROUP, GROUP}, [=](sycl::nd_item<1> it) { by_sub_group_all(j, it.get_sub_group()); }).wait();
}
static void run_as_queued(const job &j)
{
    queue->parallel_for(sycl::nd_range<1>{GROUP, GROUP}, [=](sycl::nd_item<1> it) {
             sycl::group<1> g = it.get_group();
             in_kernel q{g};
             as_queued_all(j, q);
         }).wait();
}
/* ---- results ------------------------------------------------------------------------------------------------------------------ */

static std::vector<char> sources[PES]; /* of each PE */
#include "sycl_want.h"

typedef void (*want_t)(image &, int);
struct call {
    const char *before, *type, *name;
    int row, kind;
    want_t want;
};
#define ENTRY_TYPED(R, NAME, N, T, PARAMS) {"ishmem_", #N, #NAME, ROW_##N, K##NAME, want<T>},
#define ENTRY_BLOCK(R, NAME, N, T, PARAMS) {"ishmemx_", #N, #NAME, ROW_##N, K##NAME, want<T>},
#define ENTRY_ANY(R, NAME, N, T, PARAMS) {"ishmem", "", #NAME, ROW_##N + ROWS, K##NAME, want<T>},
#define ENTRY_ANY_BLOCK(R, NAME, N, T, PARAMS) {"ishmemx", "", #NAME, ROW_##N + ROWS, K##NAME, want<T>},
#define ENTRY_SIZED(R, NAME, KEY, B, PARAMS) {"ishmem_", "", #NAME, ROW_sized, K_##NAME, want_sized<sized_##B, K##KEY>},
#define ENTRY_SIZED_BLOCK(R, NAME, KEY, B, PARAMS) {"ishmemx_", "", #NAME, ROW_sized, K_##NAME, want_sized<sized_##B, K##KEY>},
#define ENTRY_BYTES(R, NAME, N, T, PARAMS) {"ishmem", #NAME, "mem", ROW_sized, K##NAME, want<sized_1>},
#define ENTRY_ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                    \
    SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(PUTS_(ENTRY_TYPED, ENTRY_BLOCK, N, T) WAITS_(ENTRY_TYPED, N, T, AMO)    \
                                              COLLECTIVES_(ENTRY_TYPED, N, T, AND)))
#define ENTRY_ANY_ROW(N, T, AMO, EXT, BIT, AND)                                                                       \
    PUTS_(ENTRY_ANY, ENTRY_ANY_BLOCK, N, T) WAITS_(ENTRY_ANY, N, T, AMO) COLLECTIVES_(ENTRY_ANY, N, T, AND)
#define ENTRY_ITEM_ROW(F, N, T, RMA, AMO, EXT, BIT, ...)                                                              \
    SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(ATOMICS_(ENTRY_TYPED, N, T, AMO, EXT, BIT)))
#define ENTRY_ITEM_ANY_ROW(N, T, AMO, EXT, BIT, AND) ATOMICS_(ENTRY_ANY, N, T, AMO, EXT, BIT)
#define ENTRY_U(PRE, NAME) {#PRE, "", "_" #NAME, ROW_untyped, U_##NAME, want_untyped},

template <typename T, int KEY>
void want_sized(image &w, int)
{
    want<T>(w, KEY);
}

static const call calls[] = {
    SHMEM_TYPES(ENTRY_ROW, ) ANY_TYPES(ENTRY_ANY_ROW) SHMEM_API_SIZED_PUTGET(ENTRY_SIZED) SHMEM_API_SIZED_BLOCK(ENTRY_SIZED_BLOCK)
    SHMEM_API_BROADCAST(, ENTRY_BYTES, , ) SHMEM_API_GATHER(, ENTRY_BYTES, , ) SHMEM_API_AND(, ENTRY_TYPED, schar, signed char)
    ENTRY_U(ishmem, quiet) ENTRY_U(ishmem, sync_all) ENTRY_U(ishmem, barrier_all) ENTRY_U(ishmem, team_sync) ENTRY_U(ishmem, signal_wait_until)
};
static const call calls_of_items[] = {
    SHMEM_TYPES(ENTRY_ITEM_ROW, ) ANY_TYPES(ENTRY_ITEM_ANY_ROW)
    ENTRY_U(ishmem, my_pe) ENTRY_U(ishmem, n_pes) ENTRY_U(ishmem, ptr) ENTRY_U(ishmem, info_get_version) ENTRY_U(ishmem, info_get_name)
    ENTRY_U(ishmem, team_my_pe) ENTRY_U(ishmem, team_n_pes) ENTRY_U(ishmem, team_translate_pe) ENTRY_U(ishmem, team_get_config)
    ENTRY_U(ishmem, signal_fetch) ENTRY_U(ishmemx, signal_add) ENTRY_U(ishmemx, signal_set) ENTRY_U(ishmemx, print)
};
static const call fence[] = {ENTRY_U(ishmem, fence)};

static job mine;
static int failed;
static std::vector<char> seen;

static void check_one(const call &c, const char *form, const char *after)
{
    image w;
    memset(w.data, 3, sizeof w.data);
    memset(w.result, 3, sizeof w.result);
    w.me = mine.me, w.n = mine.n, w.row = c.row, w.team_first = mine.me % 2, w.team_n = (mine.n + 1 - mine.me % 2) / 2;
    c.want(w, c.kind);
    size_t i = (size_t)c.row * KINDS + c.kind;
    const char *data = &seen[i * PLACE], *result = mine.results + i * RESULT_BYTES, *x = *after ? "x" : "";
    void *own = mine.data + i * PLACE;
    if (c.row == ROW_untyped && c.kind == U_ptr && !memcmp(result, &own, sizeof own))
        w.result_is(own);
    const char *what = memcmp(data, w.data, PLACE) ? "memory" : memcmp(result, w.result, RESULT_BYTES) ? "result" : NULL;
    x = c.before[6] == 'x' ? "" : x;
    if (!what) {
        if (mine.me == 0)
            printf("right %s %.6s%s%s%s%s%s\n", form, c.before, x, c.before + 6, c.type, c.name, after);
        return;
    }
    failed++;
    printf("PE %d: %s%s%s%s, %s: wrong %s", mine.me, c.before, c.type, c.name, after, form, what);
    for (int k = 0; k < PLACE && *what == 'm'; k += 4)
        if (memcmp(data + k, w.data + k, 4))
            printf(" at %d: %02x%02x%02x%02x, not %02x%02x%02x%02x;", k, data[k + 3] & 255, data[k + 2] & 255, data[k + 1] & 255, data[k] & 255,
                   w.data[k + 3] & 255, w.data[k + 2] & 255, w.data[k + 1] & 255, w.data[k] & 255);
    printf("\n");
}

template <size_t COUNT>
void check(const call (&of)[COUNT], const char *form, const char *after)
{
    for (const call &c : of)
        check_one(c, form, after);
}

static void form(const char *name, const char *after, void (*run)(const job &))
{
    queue->memset(mine.data, 3, seen.size()).wait();
    memset(mine.results, 3, (size_t)ALL_ROWS * KINDS * RESULT_BYTES);
    ishmem_barrier_all();
    run(mine);
    ishmem_barrier_all();
    queue->memcpy(seen.data(), mine.data, seen.size()).wait();
    check(calls, name, after);
    if (!*after)
        check(calls_of_items, name, after);
    if (run != run_as_queued)
        check(fence, name, after);
    ishmem_barrier_all();
}

/* Elements of PE pe's sources, and values to compare with them. */
template <typename T>
void fill(int pe, char *source, char *values)
{
    T s[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        s[i] = (T)(i % 2 ? -(pe * 7 + i + 1) : pe * 7 + i + 1);
    memcpy(source, s, sizeof s);
    if (!values)
        return;
    T v[8] = {s[0], (T)(s[1] + 1), s[2], s[3], (T)(s[0] + 1), s[1], (T)(s[2] + 1), s[3]};
    memcpy(values, v, sizeof v);
}
static void fill_all(int pe, char *s, char *v)
{
#define FILL_ROW(F, N, T, RMA, ...) SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(fill<T>(pe, s + ROW_##N * PLACE, v ? v + ROW_##N * PLACE : v);))
    SHMEM_TYPES(FILL_ROW, )
#define FILL_ANY(N, T, ...) fill<T>(pe, s + (ROW_##N + ROWS) * PLACE, v ? v + (ROW_##N + ROWS) * PLACE : v);
    ANY_TYPES(FILL_ANY)
    fill<uint64_t>(pe, s + ROW_sized * PLACE, NULL);
    fill<uint64_t>(pe, s + ROW_sized * PLACE + ELEMENTS * 8, NULL);
}

static void report(const char *form, const char *name, bool right)
{
    if (right && mine.me == 0)
        printf("right %s %s\n", form, name);
    failed += !right;
    if (!right)
        printf("PE %d: %s, %s: wrong\n", mine.me, name, form);
}
static void host_call(const char *name, bool right)
{
    report("by the host", name, right);
}

/* The routines that only the host has, but for those of main. */
static void by_host_alone(void)
{
    int level = -1, up = 0;
    ishmem_query_thread(&level);
    host_call("ishmem_query_thread", level == ISHMEM_THREAD_MULTIPLE);
    ishmemx_query_initialized(&up);
    host_call("ishmemx_query_initialized", up == 1);
    host_call("ishmemx_runtime_get_type", ishmemx_runtime_get_type() == ISHMEMX_RUNTIME_OPENSHMEM);
    ishmemx_attr_t attr;
    ishmemx_init_attr(&attr); /* a nested pair has no effect */
    host_call("ishmemx_init_attr", ishmem_my_pe() == mine.me);
    ishmem_init();
    host_call("ishmem_init", ishmem_my_pe() == mine.me);
    ishmem_finalize();
    ishmem_finalize();
    ishmemx_query_initialized(&up);
    host_call("ishmem_finalize", up == 1 && ishmem_my_pe() == mine.me);
    long first[3] = {1, 1, 1}, *zero = (long *)ishmem_calloc(3, sizeof *zero);
    ishmem_get(first, zero, 3, mine.to);
    host_call("ishmem_calloc", first[0] == 0 && first[2] == 0);
    void *aligned = ishmem_align(1024, 8);
    host_call("ishmem_align", aligned && (uintptr_t)aligned % 1024 == 0);
    ishmem_free(aligned);
    ishmem_free(zero);
    void *again = ishmem_calloc(3, sizeof *zero);
    host_call("ishmem_free", again == zero);
    ishmem_free(again);
    ishmem_team_t x, y;
    int err = ishmem_team_split_2d(ISHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y);
    host_call("ishmem_team_split_2d", !err && ishmem_team_my_pe(x) == mine.me % 2 && ishmem_team_my_pe(y) == mine.me / 2);
    unsigned long stamps[2] = {0, 0};
    ishmemx_timestamp(ishmemx_ts_handle(&stamps[0]));
    ishmemx_timestamp_nbi(ishmemx_ts_handle(&stamps[1]));
    host_call("ishmemx_ts_handle", stamps[0] > 0);
    host_call("ishmemx_timestamp", stamps[0] > 0);
    host_call("ishmemx_timestamp_nbi", stamps[1] >= stamps[0]);
    ishmemx_uniqueid_t id;
    host_call("ishmemx_get_uniqueid", ishmemx_get_uniqueid(&id) == 0);
    ishmemx_nop();
    ishmemx_nop_no_r();
    host_call("ishmemx_nop", true);
    host_call("ishmemx_nop_no_r", true);
    ishmem_team_destroy(x);
    ishmem_team_destroy(y);
    host_call("ishmem_team_destroy", ishmem_team_n_pes(x) == -1);
}

/* What a kernel asks of the thread that serves it. */
static void by_item_alone(void)
{
    uint64_t *stamps = (uint64_t *)mine.results;
    stamps[0] = stamps[1] = 0;
    ishmemx_ts_handle_t first = ishmemx_ts_handle((unsigned long *)stamps), second = ishmemx_ts_handle((unsigned long *)stamps + 1);
    queue->single_task([=] {
             ishmemx_timestamp(first);
             ishmemx_nop();
             ishmemx_timestamp_nbi(second);
             ishmemx_nop_no_r();
             ishmem_quiet();
         }).wait();
    report("by a work-item", "ishmemx_timestamp", stamps[0] > 0);
    report("by a work-item", "ishmemx_timestamp_nbi", stamps[1] >= stamps[0] && stamps[0] > 0);
    report("by a work-item", "ishmemx_nop", true);
    report("by a work-item", "ishmemx_nop_no_r", true);
}

int main(void)
{
    sycl::queue q;
    queue = &q;
    int level = -1;
    bool up = ishmem_init_thread(ISHMEM_THREAD_MULTIPLE, &level) == 0;
    const size_t bytes = (size_t)ALL_ROWS * KINDS * PLACE, source_bytes = (size_t)ALL_ROWS * PLACE;
    seen.resize(bytes);
    mine.me = ishmem_my_pe();
    mine.n = ishmem_n_pes();
    mine.to = (mine.me + 1) % mine.n;
    mine.data = (char *)ishmem_malloc(bytes);
    mine.source = (char *)ishmem_malloc(source_bytes);
    const std::vector<sycl::event> no_events;
    mine.no_events = &no_events;
    mine.results = sycl::malloc_shared<char>((size_t)ALL_ROWS * KINDS * RESULT_BYTES, q);
    mine.values = sycl::malloc_shared<char>(source_bytes, q);
    mine.status = sycl::malloc_shared<int>(4, q);
    memcpy(mine.status, (const int[]){0, 1, 0, 0}, 4 * sizeof(int));
    for (int pe = 0; pe < mine.n; pe++) {
        sources[pe].resize(source_bytes);
        fill_all(pe, sources[pe].data(), pe == mine.me ? mine.values : NULL);
    }
    q.memcpy(mine.source, sources[mine.me].data(), source_bytes).wait();
    ishmem_team_t even, odd = ISHMEM_TEAM_INVALID;
    ishmem_team_split_strided(ISHMEM_TEAM_WORLD, 0, 2, (mine.n + 1) / 2, NULL, 0, &even);
    if (mine.n > 1)
        ishmem_team_split_strided(ISHMEM_TEAM_WORLD, 1, 2, mine.n / 2, NULL, 0, &odd);
    mine.team = mine.me % 2 ? odd : even;
    host_call("ishmem_init_thread", up && level == ISHMEM_THREAD_MULTIPLE);
    host_call("ishmem_malloc", mine.data && mine.source);
    host_call("ishmem_team_split_strided", ishmem_team_my_pe(mine.team) == mine.me / 2);
    by_host_alone();

    by_item_alone();

    form("by the host", "", by_host_all);
    form("by a work-item", "", run_by_item);
    form("by a work-group", "_work_group", run_by_group);
    form("by a sub-group", "_work_group", run_by_sub_group);
    form("as queued", "_on_queue", run_as_queued);
    ishmem_finalize();
    return failed != 0;
}

/*
 * gpc.c - a PE that calls itself by messages that are refused, delayed, cut into pieces, fetched late, or whose fetch
 * fails:
 * cases that are rare in shared memory on one node. The library's GPC sources with the messages and world of this file.
 */
#include "host/gpc/gpc.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "../tap.h"
#include "host/gpc/gpc_handle.h"
#include "host/gpc/gpc_run.h"
#include "host/gpc/gpc_wire.h"
#include "host/net/am/am.h"
#include "host/net/node/progress.h"
#include "host/net/stream/stream.h"
#include "host/ops/wait.h"
#include "no_device.h"

enum { CALLS = 3000, PARALLEL = 100, MOST = 60000, QUEUE = 8, FETCHES = 4, FETCH_BYTES = 20000 };

/* ---- the world: one PE ------------------------------------------------------------------------------------------------ */

struct shi_world shi_world = {.up = 1, .n_pes = 1};
struct shmem_team shi_team_world = {.n = 1, .stride = 1};
int shi_progress_on = 1;
_Thread_local int shi_progress_own;
int shi_progress_left, shi_progress_thread_off, shi_progress_asleep;
static struct shi_progress_source source;

int shi_shm_aborted(const struct shi_shm *s)
{
    (void)s;
    return 0;
}

void shi_team_barrier(const char *routine, struct shmem_team *t)
{
    (void)routine, (void)t;
}

void shi_team_exchange(struct shmem_team *t, const void *data, size_t bytes)
{
    static struct shi_slot *slot;
    t->slot = &slot;
    if (!slot)
        slot = calloc(1, sizeof *slot + 4096);
    t->buffer_bytes = SHI_EXCHANGE_BYTES;
    memcpy(shi_team_buffer(t, 0, 0), data, bytes);
}

shmem_team_t shi_team_handle(struct shmem_team *t)
{
    return t == &shi_team_world ? SHMEM_TEAM_WORLD : SHMEM_TEAM_INVALID;
}

int shi_team_member(const struct shmem_team *t, int world_pe)
{
    (void)t;
    return world_pe == 0 ? 0 : -1;
}

struct shmem_team *shi_team_find(uint64_t number, int *later)
{
    *later = 0;
    return number == 0 ? &shi_team_world : NULL;
}

void shi_team_on_change(const struct shi_team_hooks *h)
{
    (void)h; /* no test splits a team */
}

int shi_stream_sends(const void *local, size_t bytes)
{
    return (void)local, (void)bytes, 1;
}

int shi_progress_add(struct shi_progress_source *s)
{
    source = *s;
    return 0;
}

/* ---- messages --------------------------------------------------------------------------------------------------------- */

static struct message {
    char bytes[SHI_AM_MAX_BYTES];
    size_t n;
} messages[QUEUE];
static int n_messages, refuse, cut; /* every refuse-th send, cut-th expose fails */
static unsigned state = 3;
static shi_am_handler *handler;
static struct shi_am_pending_send *sends, **last_send = &sends;
static int in_turn, exposed, fetching_most, fail_fetches;
static struct late {
    struct shi_am_fetch *f;
    const void *from;
    void *to;
    size_t bytes;
} late[FETCHES + 1];
static int n_late;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the variables above; not held by handlers */
static pthread_mutex_t polling = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int retrying;

static int once_in(int n)
{
    return n && tap_random(&state) % (unsigned)n == 0;
}

void shi_am_handle(enum shi_am_id id, shi_am_handler *h)
{
    (void)id;
    handler = h;
}

void shi_am_on_loss(enum shi_am_id id, void (*lost)(int pe))
{
    (void)id, (void)lost;
}

int shi_am_loses(int pe)
{
    return (void)pe, 0;
}

void shi_am_refuse(int pe, const char *what)
{
    printf("Bail out! PE %d sends %s\n", pe, what);
    exit(1);
}

int shi_am_start(void)
{
    return 0;
}

void *shi_am_begin(int pe, enum shi_am_id id, size_t bytes)
{
    (void)pe;
    (void)id;
    CHECK(bytes <= SHI_AM_MAX_BYTES);
    pthread_mutex_lock(&lock);
    if (n_messages < QUEUE && !once_in(refuse) && (retrying || (!sends && !in_turn)))
        return messages[n_messages].bytes;
    pthread_mutex_unlock(&lock);
    return NULL;
}

void shi_am_end(int pe, size_t bytes)
{
    (void)pe;
    messages[n_messages++].n = bytes;
    pthread_mutex_unlock(&lock);
}

void shi_am_queue(int pe, struct shi_am_pending_send *pending_send)
{
    (void)pe;
    pthread_mutex_lock(&lock);
    pending_send->next = NULL;
    *last_send = pending_send;
    last_send = &pending_send->next;
    pthread_mutex_unlock(&lock);
}

int shi_am_expose(int pe, const void *addr, size_t bytes, struct shi_am_src *out)
{
    (void)pe;
    pthread_mutex_lock(&lock);
    int no = once_in(cut);
    exposed += !no;
    pthread_mutex_unlock(&lock);
    *out = (struct shi_am_src){.addr = (uint64_t)(uintptr_t)addr, .bytes = bytes};
    return no ? -EOPNOTSUPP : 0;
}

void shi_am_withdraw(int pe, const struct shi_am_src *src)
{
    (void)pe;
    pthread_mutex_lock(&lock);
    exposed -= src->bytes > 0;
    pthread_mutex_unlock(&lock);
}

const struct shi_message_lengths *shi_am_lengths(int pe)
{
    static const struct shi_message_lengths lengths = {.longest = SHI_AM_MAX_BYTES, .whole = SHI_AM_MAX_BYTES - SHI_MESSAGE_HEAD_BYTES, .eager = SHI_AM_MAX_BYTES};
    (void)pe;
    return &lengths;
}

size_t shi_am_fetch_bytes(int pe)
{
    return pe >= 0 ? FETCH_BYTES : 0;
}

int shi_am_fetch(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f)
{
    CHECK(bytes <= shi_am_fetch_bytes(pe));
    pthread_mutex_lock(&lock);
    int how = (int)(tap_random(&state) % 4), err = 0;
    const void *from = (const char *)(uintptr_t)src->addr + off;
    if (fail_fetches && once_in(5)) {
        err = -EIO;
    } else if (how == 0 && refuse) {
        err = -EAGAIN;
    } else if (how == 1 && n_late <= FETCHES) {
        late[n_late++] = (struct late){f, from, to, bytes};
        fetching_most = n_late > fetching_most ? n_late : fetching_most;
        err = -EINPROGRESS;
    } else {
        memcpy(to, from, bytes);
    }
    pthread_mutex_unlock(&lock);
    return err;
}

void shi_progress_wake_thread(void)
{
}

int shi_progress_idle_wait(int timeout_ms)
{
    (void)timeout_ms;
    return 0;
}

static int deliver(void)
{
    static struct message m;
    pthread_mutex_lock(&lock);
    int some = n_messages > 0;
    if (some) {
        m = messages[0];
        memmove(messages, messages + 1, (size_t)--n_messages * sizeof *messages);
    }
    pthread_mutex_unlock(&lock);
    if (some)
        handler(0, m.bytes, m.n);
    return some;
}

static int end_a_fetch(void)
{
    pthread_mutex_lock(&lock);
    struct late l = {0};
    if (n_late) {
        l = late[tap_random(&state) % (unsigned)n_late];
        for (int i = 0; i < n_late; i++)
            if (late[i].f == l.f)
                late[i] = late[n_late - 1];
        n_late--;
    }
    pthread_mutex_unlock(&lock);
    if (!l.f)
        return 0;
    memcpy(l.to, l.from, l.bytes);
    l.f->done(l.f, 0);
    return 1;
}

static int run_turn(void)
{
    pthread_mutex_lock(&lock);
    struct shi_am_pending_send *t = sends;
    if (t) {
        sends = t->next;
        if (!sends)
            last_send = &sends;
        in_turn = 1;
    }
    pthread_mutex_unlock(&lock);
    if (!t)
        return 0;
    retrying = 1;
    int err = t->retry(t);
    retrying = 0;
    pthread_mutex_lock(&lock);
    in_turn = 0;
    if (err) {
        t->next = sends;
        if (!sends)
            last_send = &t->next;
        sends = t;
    }
    pthread_mutex_unlock(&lock);
    return !err;
}

int shi_progress_poll(void)
{
    int n = 0;
    if (pthread_mutex_trylock(&polling) == 0) {
        n = deliver() + end_a_fetch() + run_turn();
        pthread_mutex_unlock(&polling);
    }
    return n + source.poll();
}

/* ---- tests ------------------------------------------------------------------------------------------------------------ */

static struct one {
    shmemx_gpc_nbh_t nbh;
    char hdr[SHI_GPC_HLEN], rhdr[SHI_GPC_HLEN], *data, *rdata;
    size_t hlen, dlen;
    int bad;
} ones[PARALLEL];
static int h_echo;

static int echo(shmemx_gpc_call_t *c)
{
    if (c->hlen)
        memcpy(c->rhdr, c->hdr, c->hlen);
    if (c->dlen)
        memcpy(c->rdata, c->data, c->dlen);
    c->rhsize = c->hlen;
    c->rdsize = c->dlen;
    return 0;
}

static void fill(char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(tap_random(&seed) >> 7);
}

static void start(struct one *o, unsigned seed)
{
    unsigned s = seed * 2654435761u + 1;
    o->hlen = tap_random(&s) % (SHI_GPC_HLEN + 1);
    o->dlen = tap_random(&s) % 3 ? tap_random(&s) % MOST : tap_random(&s) % 100;
    fill(o->hdr, o->hlen, s);
    fill(o->data, o->dlen, s + 1);
    memset(o->rdata, 0, o->dlen);
    struct shi_gpc_params w = {.team = &shi_team_world, .func = h_echo, .callback = SHMEMX_GPC_NONE,
                               .tree = SHMEMX_GPC_NONE, .plain = 1, .hdr = o->hdr, .hlen = o->hlen, .data = o->data,
                               .dlen = o->dlen, .rhdr = o->rhdr, .rhlen = SHI_GPC_HLEN, .rdata = o->rdata,
                               .rdlen = o->dlen, .nbh = &o->nbh};
    CHECK(shi_gpc_start(&w) == 0);
}

static void await(struct one *o, int *failed)
{
    while (__atomic_load_n(&o->nbh.busy, __ATOMIC_ACQUIRE))
        shi_gpc_step();
    *failed += o->nbh.status == -EIO;
    if (o->nbh.status == 0)
        CHECKF(o->nbh.rhsize == o->hlen && o->nbh.rdsize == o->dlen && !memcmp(o->hdr, o->rhdr, o->hlen) &&
                   !memcmp(o->data, o->rdata, o->dlen), "%zu and %zu bytes came back changed", o->hlen, o->dlen);
}

static void storm(int refuse_one_in, int cut_one_in, int errors)
{
    static unsigned seed;
    int failed = 0;
    refuse = refuse_one_in;
    cut = cut_one_in;
    fail_fetches = errors;
    fetching_most = 0;
    for (int k = 0; k < CALLS / PARALLEL; k++) {
        for (int i = 0; i < PARALLEL; i++)
            start(&ones[i], ++seed);
        for (int i = 0; i < PARALLEL; i++)
            await(&ones[i], &failed);
    }
    shi_gpc_finish();
    CHECKF(exposed == 0, "%d pieces of memory are still exposed", exposed);
    CHECKF(errors ? failed > 0 : failed == 0, "%d calls failed", failed);
    CHECKF(fetching_most <= FETCHES, "%d fetches at a time", fetching_most);
}

/* Catches: pieces of several calls mixed up, cut wrongly, or lost when a send is refused between two pieces. */
static void pieces(void)
{
    storm(3, 1, 0);
}

/* Catches: a fetch that is not retried, or longer than the carrier allows, a call that ends twice, data freed before the
 * fetch, more fetches than allowed. */
static void fetches(void)
{
    storm(3, 0, 0);
    storm(0, 0, 0);
}

/* Catches: with both, and with failing fetches, a call that never completes, memory that stays exposed. */
static void both(void)
{
    storm(2, 2, 0);
    storm(2, 2, 1);
}

/* The library's thread runs the functions, while this one only checks whether the calls are complete. */
static void *poll_for_others(void *stop)
{
    shi_progress_own = 1;
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE))
        if (!shi_progress_poll())
            usleep(20);
    return NULL;
}

static void own_thread(void)
{
    int stop = 0, failed = 0;
    pthread_t t;
    refuse = 3;
    cut = 2;
    fail_fetches = 0;
    CHECK(pthread_create(&t, NULL, poll_for_others, &stop) == 0);
    for (unsigned k = 0; k < 3; k++) {
        for (int i = 0; i < PARALLEL; i++)
            start(&ones[i], 77777 + k * PARALLEL + (unsigned)i);
        for (int i = 0; i < PARALLEL; i++) {
            while (__atomic_load_n(&ones[i].nbh.busy, __ATOMIC_ACQUIRE))
                usleep(50);
            await(&ones[i], &failed);
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(t, NULL);
    CHECK(failed == 0);
}

int main(void)
{
    alarm(120); /* a lost message makes the test hang */
    shi_wait_set(SHI_WAIT_MODE_AUTO, 0, 1, 0);
    shi_world.config.gpc_thread = 1;
    for (int i = 0; i < PARALLEL; i++) {
        ones[i].data = malloc(MOST);
        ones[i].rdata = malloc(MOST);
    }
    CHECK(shi_gpc_up() == 0);
    h_echo = shi_gpc_register("test", SHI_GPC_FUNC, (union shi_gpc_entry){.func = echo});
    RUN(pieces, "all data in pieces, every third send refused");
    RUN(fetches, "data is fetched late, and again after a failure");
    RUN(both, "pieces and fetches together, with fetches that fail");
    RUN(own_thread, "the functions run on the library's thread");
    shi_gpc_finish();
    shi_gpc_stop();
    for (int i = 0; i < PARALLEL; i++) {
        free(ones[i].data);
        free(ones[i].rdata);
    }
    return tap_end();
}

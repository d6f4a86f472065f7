/* stream_up.c - start and stop the streams; exchange addresses and memory of all PEs. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/node/progress.h"
#include "host/net/stream/admit.h"
#include "host/net/stream/batch.h"
#include "host/net/stream/heartbeat.h"
#include "host/net/stream/lane.h"
#include "host/net/stream/stream_rx.h"
#include "host/net/stream/written.h"
#include "host/policy/limits.h"
#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/random.h"
#include "host/util/table.h"

#define NET (shi_stream_net.ops)

/* Origin of the secret that authenticates messages: oshrun, PE 0 where another launcher gives none, or nothing
 * (SHMEM_INSECURE=1). */
enum origin { FROM_LAUNCHER = 1, FROM_PE_0, INSECURE };

/* What each PE has for the others. The first PE of a node publishes the records of all its PEs, its own first, and looks up
 * those of the other nodes, for all PEs of its node: the lookups of a job grow with the square of its nodes, not of its PEs. */
struct peer_record {
    uint32_t version, order; /* order: a number that reads differently in another byte order */
    char library[24];        /* its version; up to here the same in all versions of the library from 2 on */
    uint32_t origin;         /* enum origin */
    unsigned char secret[SHI_SECRET_BYTES]; /* of PE 0 with FROM_PE_0, else 0 */
    uint32_t message_bytes;  /* of net.h */
    struct shi_config_equal settings;
    uint64_t exe_id;
    int32_t node, pe, n_local; /* its node's first PE; itself; PEs of its node */
    uint32_t known;          /* in this node's table: the record is there */
    char provider[24];
    struct shi_net_address address;
    struct shi_net_memory memory[SHI_REGION_DEVICE], counters; /* counters: of written.h */
};
_Static_assert(sizeof(struct peer_record) <= SHI_SHM_RECORD_BYTES, "the node's table holds them");

static void choose_bcopy(const struct shi_config *config)
{
    size_t bytes = config->bcopy_bytes == SHI_CONFIG_AUTO ? SHI_STREAM_PUT_BYTES : (size_t)config->bcopy_bytes;
    shi_stream_net.bcopy_bytes = bytes < SHI_STREAM_PUT_BYTES ? bytes : SHI_STREAM_PUT_BYTES;
}

static const char key[] = "fulmar.net";

/* ---- up --------------------------------------------------------------------------------------------------------- */

static int make_record(struct peer_record *c)
{
    snprintf(c->provider, sizeof c->provider, "%s", NET->provider());
    c->message_bytes = (uint32_t)shi_stream_net.limits.message_bytes;
    int err = NET->address(&c->address);
    for (int r = 0; !err && r < SHI_REGION_DEVICE; r++) {
        size_t bytes = shi_stream_net.own[r].bytes;
        if (!bytes || r == SHI_REGION_SYNC || (r == SHI_REGION_HEAP && shi_stream_pins())) /* SYNC: only records write there */
            continue;
        err = shi_stream_grow(r, 0, bytes, &c->memory[r]);
        if (err)
            shi_stream_cannot_register(r, bytes, err);
    }
    memcpy(shi_stream_net.memory[shi_stream_net.me], c->memory, sizeof c->memory);
    c->counters = shi_stream_net.written.own;
    return err;
}

/* Choose the origin of the secret, equal on all PEs of a job; PE 0 may have to make the secret. 0, or -errno after one line. */
static int choose_secret(const struct shi_boot *boot, int insecure, struct peer_record *mine)
{
    mine->origin = insecure ? INSECURE : boot->has_secret ? FROM_LAUNCHER : FROM_PE_0;
    if (insecure && boot->pe == 0)
        shi_log_error("warning: SHMEM_INSECURE=1: messages over the network are not authenticated");
    if (mine->origin != FROM_PE_0 || boot->pe != 0)
        return 0;
    int err = shi_random_bytes(mine->secret, sizeof mine->secret);
    if (err)
        shi_log_error("cannot make the secret that authenticates messages over the network: getrandom: %s; SHMEM_INSECURE=1 "
                      "runs without one", strerror(-err));
    return err;
}

/* Compare PE pe's record with this PE's. 0, or -EPROTO after one line. */
static int check_record(int pe, int err, const struct peer_record *c, const struct peer_record *mine)
{
    static const char *const origins[] = {"?", "of oshrun", "of PE 0", "none (SHMEM_INSECURE=1)"};
    const char *setting = shi_config_differs(&c->settings, &mine->settings);
    if (c->order != mine->order)
        shi_log_error("PE %d has another byte order", pe);
    else if (err || c->version != mine->version)
        shi_log_error("PE %d has Fulmar %.24s (messages of version %u), this PE has %s (version %u)", pe,
                      c->version > 1 ? c->library : "0.1.0 or older", c->version, mine->library, mine->version);
    else if (setting)
        shi_log_error("PE %d has another value of %s: all PEs need the same (oshrun sends it to all hosts, mpirun with -x %s)", pe, setting, setting);
    else if (c->origin != mine->origin)
        shi_log_error("PE %d has another secret for messages over the network: %s, here %s", pe,
                      origins[c->origin > INSECURE ? 0 : c->origin], origins[mine->origin]);
    else if (strcmp(c->provider, mine->provider) != 0)
        shi_log_error("PE %d has another libfabric provider (%.24s, here %s); SHMEM_OFI_PROVIDER chooses one for all", pe,
                      c->provider, mine->provider);
    else if (c->message_bytes != mine->message_bytes)
        shi_log_error("PE %d exchanges messages of up to %u bytes, this PE up to %u: the environment variables of the libfabric provider "
                      "%s must be the same on all PEs", pe, c->message_bytes, mine->message_bytes, mine->provider);
    else
        return 0;
    return -EPROTO;
}

/* ---- the records of all PEs ---------------------------------------------------------------------------------------- */

static struct peer_record *record_of(const struct shi_stream_node *node, int pe)
{
    return (struct peer_record *)(node->record + (size_t)pe * SHI_SHM_RECORD_BYTES);
}

/* Publish the records of this node. */
static int publish_node(const struct shi_boot *boot, const struct shi_stream_node *node)
{
    struct peer_record *all = malloc((size_t)boot->n_local * sizeof *all);
    if (!all)
        return -ENOMEM;
    for (int i = 0; i < boot->n_local; i++)
        all[i] = *record_of(node, boot->local_pe[i]);
    int err = boot->ops->publish(key, all, (size_t)boot->n_local * sizeof *all);
    explicit_bzero(all, (size_t)boot->n_local * sizeof *all);
    free(all);
    return err;
}

/* Check the records of a node whose first PE is pe and enter them in the table. 0, or -errno after one line. */
static int enter(const struct shi_boot *boot, const struct shi_stream_node *node, int pe, const struct peer_record *all,
                 const struct peer_record *mine)
{
    for (int i = 0; i < all->n_local; i++) {
        int of = i ? all[i].pe : pe;
        if (of < pe || of >= boot->n_pes || record_of(node, of)->known) {
            shi_log_error("PE %d publishes the record of PE %d", pe, of);
            return -EPROTO;
        }
        int err = check_record(of, 0, &all[i], mine);
        if (err)
            return err;
        *record_of(node, of) = all[i];
        record_of(node, of)->known = 1;
    }
    return 0;
}

/* Look up the records of the node whose first PE is pe; most nodes have as many PEs as this one. */
static int look_up_node(const struct shi_boot *boot, const struct shi_stream_node *node, int pe, const struct peer_record *mine)
{
    size_t n = (size_t)boot->n_local;
    for (;;) {
        struct peer_record *all = malloc(n * sizeof *all);
        if (!all)
            return -ENOMEM;
        *all = *mine;
        int err = shi_boot_lookup(boot, pe, key, all, n * sizeof *all);
        int other_size = err == -EMSGSIZE && all->version == mine->version && all->order == mine->order && all->n_local > 0 &&
                         all->n_local <= boot->n_pes && (size_t)all->n_local != n;
        if (other_size)
            n = (size_t)all->n_local;
        else if (!err || err == -EMSGSIZE)
            err = check_record(pe, err || (size_t)all->n_local != n, all, mine);
        if (!err)
            err = enter(boot, node, pe, all, mine);
        explicit_bzero(all, sizeof *all);
        free(all);
        if (!other_size)
            return err;
    }
}

/* By the first PE of the node: check its records, and get those of the others. The lowest PE without a record is the first one
 * of its node. */
static int gather(const struct shi_boot *boot, const struct shi_stream_node *node, const struct peer_record *mine)
{
    int err = 0;
    for (int i = 0; i < boot->n_local && !err; i++) {
        err = check_record(boot->local_pe[i], 0, record_of(node, boot->local_pe[i]), mine);
        record_of(node, boot->local_pe[i])->known = 1;
    }
    for (int pe = 0; pe < boot->n_pes && !err; pe++)
        if (!record_of(node, pe)->known)
            err = look_up_node(boot, node, pe, mine);
    return err;
}

/* A process that takes the place of a PE that has died: the others of its node have the records of all. */
static int join(const struct shi_boot *boot, const struct shi_stream_node *node, const struct peer_record *mine)
{
    if (mine->origin == FROM_PE_0 || boot->n_local < boot->n_pes || shi_stream_pins()) {
        shi_log_error("this process cannot take the place of a PE over the network: %s", shi_stream_pins() ? "the network pins memory" : "the launcher gives no secret");
        return -ENOTSUP;
    }
    *record_of(node, boot->pe) = *mine;
    record_of(node, boot->pe)->known = 1;
    return 0;
}

/* Fill the node's table of records. */
static int exchange(const struct shi_boot *boot, const struct shi_stream_node *node, const struct peer_record *mine)
{
    int first = boot->local_index == 0, one_node = boot->n_local == boot->n_pes, err = 0;
    *record_of(node, boot->pe) = *mine;
    if (boot->n_local > 1)
        node->barrier();
    if (first && !one_node)
        err = publish_node(boot, node);
    if (!err && !one_node)
        err = shi_boot_fence(boot, "waiting for all PEs to start their network");
    if (!err && first)
        err = gather(boot, node, mine);
    if (!err && boot->n_local > 1)
        node->barrier();
    return err;
}

/* This PE's part of the table. */
static int learn_all(const struct shi_boot *boot, const struct shi_stream_node *node, const struct peer_record *mine)
{
    shi_stream_net.published = (const char *)record_of(node, 0)->memory;
    for (int i = 0; node->life && i < boot->n_local; i++)
        shi_stream_net.peer_rx[boot->local_pe[i]].life = (unsigned char)node->life(i);
    for (int pe = 0; pe < boot->n_pes; pe++) {
        const struct peer_record *c = record_of(node, pe);
        if (shi_stream_net.written.peer)
            shi_stream_net.written.peer[pe] = c->counters;
        shi_stream_net.peer_info[pe] = (struct peer_info){c->node, c->exe_id == mine->exe_id};
    }
    shi_auth_set(mine->origin == FROM_LAUNCHER ? boot->secret : record_of(node, 0)->secret);
    if (mine->origin == FROM_PE_0 && boot->n_local > 1)
        node->barrier(); /* all have the secret */
    explicit_bzero(record_of(node, 0)->secret, sizeof mine->secret);
    return NET->connect(&record_of(node, 0)->address, SHI_SHM_RECORD_BYTES);
}

int shi_stream_up(const struct shi_boot *boot, const struct shi_config *config, const struct shi_stream_node *node,
                  const struct shi_stream_region own[SHI_REGIONS], uint64_t exe_id)
{
    if (boot->n_pes > SHI_JOB_PES) {
        shi_log_error("a job has at most %d PEs, and this one has %d", SHI_JOB_PES, boot->n_pes);
        return -E2BIG;
    }
    struct peer_record mine = {.version = WIRE_VERSION, .order = 0x01020304, .library = PACKAGE_VERSION, .exe_id = exe_id,
                               .node = boot->local_pe[0], .pe = boot->pe, .n_local = boot->n_local};
    shi_config_equal(config, &mine.settings);
    shi_stream_net = (struct shi_stream_net){.ops = &shi_net_ofi, .me = boot->pe, .n_pes = boot->n_pes, .n_local = boot->n_local};
    memcpy(shi_stream_net.own, own, sizeof shi_stream_net.own);
    shi_stream_net.memory = shi_table((size_t)boot->n_pes, sizeof *shi_stream_net.memory);
    shi_stream_net.peer_rx = shi_table((size_t)boot->n_pes, sizeof *shi_stream_net.peer_rx);
    shi_stream_net.silence_ns = config->heartbeat > 0 ? (uint64_t)config->heartbeat * 1000000000 : 0;
    shi_stream_net.peer_info = shi_table((size_t)boot->n_pes, sizeof *shi_stream_net.peer_info);
    if (!shi_stream_net.peer_info || !shi_stream_net.memory || !shi_stream_net.peer_rx || shi_stream_receive(boot->n_pes)) {
        shi_log_error("out of memory for the streams to %d PEs", boot->n_pes);
        return -ENOMEM;
    }
    int err = choose_secret(boot, config->insecure, &mine);
    if (!err)
        err = NET->up(boot, config, shi_stream_arrive, shi_written_arrived, shi_stream_net_failed, &shi_stream_net.limits);
    choose_bcopy(config);
    if (!err)
        err = shi_written_up(boot->n_pes);
    if (!err)
        err = shi_stream_lane(0) ? make_record(&mine) : -ENOMEM;
    if (!err)
        err = boot->is_new ? join(boot, node, &mine) : exchange(boot, node, &mine);
    if (!err)
        err = learn_all(boot, node, &mine);
    explicit_bzero(mine.secret, sizeof mine.secret);
    return err;
}

void shi_stream_meet(int pe, uint32_t life)
{
    const char *memory = shi_stream_net.published + (size_t)pe * SHI_SHM_RECORD_BYTES;
    const struct peer_record *c = shi_container_of((const struct shi_net_memory (*)[SHI_REGION_DEVICE])memory, const struct peer_record, memory);
    if (shi_stream_net.written.peer)
        shi_stream_net.written.peer[pe] = c->counters;
    shi_stream_net.peer_rx[pe].life = (unsigned char)life;
}

int shi_stream_same_program(int pe)
{
    return shi_stream_net.peer_info[pe].same_program;
}

int shi_stream_node(int pe)
{
    return shi_stream_net.peer_info[pe].node;
}

int shi_stream_resume(void)
{
    shi_progress_stop();
    __atomic_store_n(&shi_stream_net.closing, 0, __ATOMIC_RELAXED);
    return shi_stream_serve();
}

/* Does a message or a transfer wait for writes or copies, whose end wakes no thread? */
static int must_poll(void)
{
    return __atomic_load_n(&shi_stream_net.n_held, __ATOMIC_RELAXED) || __atomic_load_n(&shi_stream_net.n_active, __ATOMIC_RELAXED);
}

/* A thread of the program that waits then keeps its core; one of the library, which may poll beside it, sleeps for short times
 * when no chunk advances. */
static int poll(void)
{
    unsigned before = __atomic_load_n(&shi_stream_net.n_steps, __ATOMIC_RELAXED);
    int n = NET->poll();
    return n + (shi_progress_own ? __atomic_load_n(&shi_stream_net.n_steps, __ATOMIC_RELAXED) != before : must_poll());
}

static int idle_wait(int timeout_ms)
{
    return must_poll() ? 0 : NET->idle_wait(timeout_ms);
}

static void trim(void)
{
    for (int i = 0; i < shi_stream_n_lanes(); i++) {
        struct shi_lane *l = shi_stream_net.lane[i];
        shi_lane_lock(l); /* for 0.2 ms at most, once after a time without use */
        shi_batch_trim(l);
        shi_lane_unlock(l);
    }
}

int shi_stream_serve(void)
{
    static struct shi_progress_source source;
    source = (struct shi_progress_source){.poll = poll, .idle_wait = idle_wait, .wake = NET->wake, .every_ms = SHI_SERVE_MS, .trim = trim};
    return shi_progress_add(&source);
}

/* Does a message wait for room in the transport? */
static int has_unsent(void)
{
    int n = 0;
    for (int i = 0; i < shi_stream_n_lanes(); i++)
        n |= shi_stream_net.lane[i]->n_open | shi_stream_net.lane[i]->n_waiting;
    return n;
}

int shi_stream_stop(void)
{
    if (!NET || !shi_stream_net.memory)
        return 0;
    shi_progress_stop();
    for (uint64_t end = shi_now_ns() + SHI_UNSENT_NS; has_unsent() && shi_now_ns() < end;) /* a peer may wait for the last one */
        NET->poll();
    for (int r = 0; r < SHI_REGIONS; r++) /* some providers do not close an endpoint that memory is bound to */
        shi_stream_forget(r);
    if (shi_stream_net.written.own.handle)
        NET->withdraw(&shi_stream_net.written.own);
    return 1;
}

void shi_stream_down(void)
{
    if (shi_stream_stop())
        NET->down();
}

void shi_stream_pause(void)
{
    __atomic_store_n(&shi_stream_net.closing, 1, __ATOMIC_RELAXED);
    shi_admit_report();
}

/*
 * boot_uid.c - a job without a launcher: its processes meet by a unique id of 128 bytes, which the program passes to them, or by the file
 * that SHMEM_UNIQUEID names.
 *
 * What a launcher does otherwise: the numbers come from the program or the environment; the node of a PE is its host, its PID namespace and its
 * user; data is exchanged, failures are seen, and the job is ended, over a tree of connections (uid_tree.h). Layers: uid_bytes, uid_id (the
 * id), uid_link (proof of the secret, frames), uid_wire (which frames), uid_seats and uid_data (tables), uid_accept, uid_meet, uid_file,
 * uid_tree.
 */
#include "host/boot/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/boot/uid_data.h"
#include "host/boot/uid_file.h"
#include "host/boot/uid_meet.h"
#include "host/boot/uid_tree.h"
#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/siphash.h"

enum {
    REACH_MS = 500,       /* for one address at first; twice as long with each try */
    REACH_MS_MAX = 8000,
    AGAIN_US = 1000,      /* between two tries at first; twice as long each time */
    AGAIN_US_MAX = 64000,
    REFUSED_S = 3         /* nothing has listened for so long: the process that made the id has ended */
};

/* Labels of keys that follow from the id's secret; uid_link.c has the others. */
enum { KEY_OF_NETWORK = 101, NAME_OF_JOB };

static const char host_key[] = "fulmar.host";

static struct {
    struct shi_uid id;
    int pe, n_pes, given;
} chosen;

static char job[32];
static int is_new;
static struct shi_uid_file kept = {.lock = -1}; /* of a job that goes on when a PE dies: for processes that take the place of one */

int shi_boot_by_uid(const struct shi_uid *id, int pe, int n_pes)
{
    int err = shi_uid_check(id);
    if (err)
        return err;
    chosen.id = *id;
    chosen.pe = pe;
    chosen.n_pes = n_pes;
    chosen.given = 1;
    return 0;
}

int shi_boot_uid_is_given(void)
{
    return chosen.given || getenv("SHMEM_UNIQUEID");
}

/* Where the job goes on when a PE dies, the tree ends here, as it cannot do without one: the library finds deaths itself. The process that made the id still
 * listens: other processes take the places of PEs that have died. */
static int started(int survives)
{
    int err = survives ? shi_uid_tree_fence() : 0;
    if (survives && !err)
        shi_uid_tree_down(1);
    return err;
}

static void leave(void)
{
    shi_uid_file_remove(&kept);
    if (is_new)
        shi_uid_data_down();
    is_new = 0;
    shi_uid_tree_down(0);
}

static void abort_job(int status)
{
    shi_uid_file_remove(&kept);
    shi_uid_tree_abort(status);
}

static const struct shi_boot_ops ops = {"unique id", shi_uid_data_publish, shi_uid_data_lookup, shi_uid_tree_fence, started, NULL, abort_job, leave};

/* ---- meeting ------------------------------------------------------------------------------------------------------ */

static void name_self(int pe, struct shi_uid_who *out)
{
    *out = (struct shi_uid_who){.pe = pe, .pid = getpid()};
    gethostname(out->host, sizeof out->host - 1);
    snprintf(out->program, sizeof out->program, "%s", program_invocation_name);
}

static int nothing_listens(const struct shi_uid *id)
{
    struct shi_tcp_end at[SHI_UID_ADDRS];
    char where[80];
    shi_uid_addresses(id, at);
    shi_uid_print(&at[0], where, sizeof where);
    shi_log_error("shmem_init: the process that made the unique id does not listen (%s): it has ended, or the id is that of a job all of whose "
                  "PEs have met", where);
    return -ECONNREFUSED;
}

/* Reach the process that made the id; with a file, the one whose id is in it. 0 and t->up, or -errno after one line. */
static int reach(struct shi_uid_tree *t, const struct shi_uid_file *f)
{
    uint64_t refused_since = 0;
    useconds_t again = AGAIN_US;
    for (int ms = REACH_MS;; again = again < AGAIN_US_MAX ? 2 * again : again) {
        int err = f ? shi_uid_file_read(f, &t->own.id) : 0;
        if (err && err != -EAGAIN)
            return err;
        if (!err)
            err = shi_uid_reach(&t->own.id, ms, &t->up);
        if (!err)
            return 0;
        uint64_t now = shi_now_ns();
        refused_since = err != -ECONNREFUSED ? 0 : refused_since ? refused_since : now;
        if (!f && refused_since && now - refused_since > REFUSED_S * 1000000000ull)
            return nothing_listens(&t->own.id);
        if (err == -ETIMEDOUT && ms < REACH_MS_MAX)
            ms *= 2;
        usleep(again);
    }
}

/* f: the file of SHMEM_UNIQUEID, or NULL. 0 and *t, or -errno after one line. */
static int meet(struct shi_uid_tree *t, struct shi_uid_file *f)
{
    static const struct shi_phase phase = {.text = "waiting for the process that made the unique id", .patience_s = 2};
    int err = 0;
    if (f && f->pe == 0) {
        err = shi_uid_make(getenv("SHMEM_UID_INTERFACE"), &t->own.id);
        err = err ? err : shi_uid_file_write(f, &t->own.id);
    }
    if (err || ((!f || f->pe == 0) && shi_uid_take(&t->own.id, &t->own)))
        return err;
    shi_startup_phase(&phase);
    err = reach(t, f);
    err = err ? err : shi_uid_sit(t);
    if (err) {
        shi_uid_link_close(&t->up);
        if (t->own.n)
            close(t->own.fd[0]);
    }
    return err;
}

static void name_missing(char *text, size_t bytes, const void *arg)
{
    (void)arg;
    shi_uid_tree_missing(text, bytes);
    size_t n = strlen(text);
    if (n)
        snprintf(text + n, bytes - n, " not there");
}

/* ---- nodes -------------------------------------------------------------------------------------------------------- */

/* PEs with equal keys share memory: one kernel, one PID namespace, one user, and one name of the host, as other launchers take it. */
static void node_key(const struct shi_uid_who *self, uint64_t out[2])
{
    struct {
        char host[64], kernel[64];
        uint64_t pids_dev, pids_ino, user;
    } n = {.user = geteuid()};
    static const uint64_t key[2][2] = {{1, 0}, {2, 0}};
    struct stat pids;
    memcpy(n.host, self->host, sizeof n.host);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, n.kernel, sizeof n.kernel) < 0)
            n.kernel[0] = 0;
        close(fd);
    }
    if (stat("/proc/self/ns/pid", &pids) == 0) {
        n.pids_dev = pids.st_dev;
        n.pids_ino = pids.st_ino;
    }
    for (int i = 0; i < 2; i++)
        out[i] = shi_sip_bytes(key[i], &n, sizeof n);
}

static int find_local(struct shi_boot *b, const uint64_t own[2])
{
    uint64_t other[2];
    b->local_pe = malloc((size_t)b->n_pes * sizeof *b->local_pe);
    int err = b->local_pe ? 0 : -ENOMEM;
    for (int pe = 0; pe < b->n_pes && !err; pe++) {
        err = shi_uid_data_lookup(pe, host_key, other, sizeof other);
        if (err || memcmp(own, other, sizeof other) != 0)
            continue;
        if (pe == b->pe)
            b->local_index = b->n_local;
        b->local_pe[b->n_local++] = pe;
    }
    if (err)
        shi_log_error("shmem_init: the nodes of the PEs are unknown: %s", strerror(-err));
    return err;
}

static void derive(const struct shi_uid *id, struct shi_boot *b)
{
    static const uint64_t none[4];
    uint64_t secret[2], of_network[2], name[2];
    shi_uid_secret(id, secret);
    shi_uid_derive(secret, KEY_OF_NETWORK, none, of_network);
    shi_uid_derive(secret, NAME_OF_JOB, none, name);
    memcpy(b->secret, of_network, sizeof b->secret);
    b->has_secret = 1;
    snprintf(job, sizeof job, "uid-%016lx", (unsigned long)name[0]);
    b->job = job;
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(of_network, sizeof of_network);
}

/* The tree has started: the nodes of all PEs. */
static int learn_nodes(struct shi_boot *b, const struct shi_uid_who *self)
{
    static struct shi_phase phase = {.text = "waiting for all PEs to call shmem_init", .missing = name_missing};
    uint64_t node[2];
    node_key(self, node);
    int err = shi_uid_data_publish(host_key, node, sizeof node);
    phase.patience_s = 1;
    shi_startup_phase(&phase);
    err = err ? err : shi_uid_tree_fence();
    shi_startup_phase(NULL);
    return err ? err : find_local(b, node);
}

/* A process that takes the place of a PE: it must share memory with the others. */
static int join_node(struct shi_boot *b, const struct shi_uid_who *self)
{
    uint64_t node[2], other[2];
    node_key(self, node);
    int err = shi_uid_data_lookup(b->pe, host_key, other, sizeof other);
    err = err ? err : find_local(b, node);
    if (!err && (memcmp(node, other, sizeof node) != 0 || b->n_local < b->n_pes)) {
        shi_log_error("shmem_init: the job with this unique id has started, and a process can take the place of a PE only on the host, and as the user, of all its PEs");
        return -ENOTSUP;
    }
    b->is_new = is_new = 1;
    return err;
}

int shi_boot_uid_up(long silence_s, int survives, struct shi_boot *out)
{
    struct shi_uid_file file;
    struct shi_uid_tree t = {.silence_s = silence_s, .survives = survives, .up = {.fd = -1}};
    int by_file = !chosen.given, err = by_file ? shi_uid_file_parse(getenv("SHMEM_UNIQUEID"), &file) : 0;
    if (err)
        return err;
    *out = (struct shi_boot){.pe = by_file ? file.pe : chosen.pe, .n_pes = by_file ? file.n_pes : chosen.n_pes, .ops = &ops,
                             .replaces = survives ? SHI_REPLACES_BY_ID : SHI_REPLACES_NONE};
    shi_log_set(out->pe, 0);
    name_self(out->pe, &t.self);
    t.n_pes = out->n_pes;
    if (!by_file)
        t.own.id = chosen.id;
    err = meet(&t, by_file ? &file : NULL);
    if (!err) {
        derive(&t.own.id, out);
        err = t.is_new ? 0 : shi_uid_tree_up(&t);
    }
    explicit_bzero(&t.own, sizeof t.own);
    explicit_bzero(&chosen, sizeof chosen);
    if (!err)
        err = t.is_new ? join_node(out, &t.self) : learn_nodes(out, &t.self);
    if (by_file && survives && !err)
        kept = file;
    else if (by_file)
        shi_uid_file_remove(&file);
    return err;
}

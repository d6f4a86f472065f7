/*
 * net_ofi.c - the transport over libfabric, with one PE, against an endpoint outside of the job: a stranger, which
 * knows the PE's address and perhaps a key.
 *
 * Skipped where libfabric has no provider for PEs of one node.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../tap.h"
#include "host/net/fabric/net.h"
#include "host/net/fabric/ofi.h"
#include "host/net/fabric/ofi_near.h"
#include "host/net/fabric/ofi_refused.h"

enum { WORDS = 512, PATIENCE_S = 60 };

static struct shi_net_limits limits;
static uint64_t memory[WORDS], behind[WORDS];
static int messages, failed_receives, failures, reports, reads_of_symbols;
static uint32_t reported;
static int waits_in_poll, waited = -1;

/* Libfabric's calls come here, too. */
__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode)
{
    FILE *(*next)(const char *, const char *) = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    reads_of_symbols += strcmp(path, "/proc/kallsyms") == 0;
    return next(path, mode);
}

static void on_arrival(const void *msg, size_t bytes)
{
    (void)bytes;
    messages += msg != NULL;
    if (waits_in_poll)
        waited = shi_net_ofi.idle_wait(PATIENCE_S * 1000);
    waits_in_poll = 0;
}

static void on_write(uint32_t immediate)
{
    reported = immediate;
    reports++;
}

static void on_failure(int pe, int err)
{
    (void)err;
    failed_receives += pe == SHI_NET_RECEIVE;
    failures += pe != SHI_NET_RECEIVE;
}

/* ---- the stranger -------------------------------------------------------------------------------------------------- */

static struct {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;
    fi_addr_t pe;
} stranger;

static int stranger_open(void)
{
    char why[512];
    struct shi_net_address to;
    struct fi_av_attr table = {.type = FI_AV_TABLE, .count = 1};
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_MSG, .size = 64};
    struct shi_ofi_params params = {.provider = "", .domain = "", .one_node = 1};
    if (shi_ofi_select(&params, NULL, NULL, &stranger.info, why, sizeof why))
        return -1;
    return shi_ofi.fabric(stranger.info->fabric_attr, &stranger.fabric, NULL) ||
           fi_domain(stranger.fabric, stranger.info, &stranger.domain, NULL) ||
           fi_av_open(stranger.domain, &table, &stranger.av, NULL) ||
           fi_cq_open(stranger.domain, &queue, &stranger.cq, NULL) ||
           fi_endpoint(stranger.domain, stranger.info, &stranger.ep, NULL) ||
           fi_ep_bind(stranger.ep, &stranger.av->fid, 0) ||
           fi_ep_bind(stranger.ep, &stranger.cq->fid, FI_TRANSMIT | FI_RECV) || fi_enable(stranger.ep) ||
           shi_net_ofi.address(&to) || fi_av_insert(stranger.av, to.data, 1, &stranger.pe, 0, NULL) != 1;
}

static void stranger_close(void)
{
    fi_close(&stranger.ep->fid);
    fi_close(&stranger.cq->fid);
    fi_close(&stranger.av->fid);
    fi_close(&stranger.domain->fid);
    fi_close(&stranger.fabric->fid);
    shi_ofi.freeinfo(stranger.info);
}

static int late(time_t from)
{
    return time(NULL) - from > PATIENCE_S;
}

/* Poll the PE until the stranger's transfer ends: 0 or the provider's error. */
static int outcome(void)
{
    struct fi_cq_msg_entry entry;
    struct fi_cq_err_entry e = {0};
    for (time_t from = time(NULL); !late(from);) {
        shi_net_ofi.poll();
        ssize_t n = fi_cq_read(stranger.cq, &entry, 1);
        if (n == 1)
            return 0;
        if (n == -FI_EAVAIL && fi_cq_readerr(stranger.cq, &e, 0) == 1)
            return e.err;
    }
    return -ETIMEDOUT;
}

enum { A_READ, A_WRITE, A_REPORTED_WRITE };

/* The result of a read or write by a new stranger; a refused transfer closes the connection of the old one. */
static int transfer(int kind, const struct shi_net_memory *m, uint64_t key, uint64_t off, size_t bytes)
{
    static char here[sizeof memory];
    struct iovec local = {here, bytes};
    struct fi_rma_iov remote = {m->base + off, bytes, key};
    struct fi_cq_msg_entry none;
    int rc = stranger_open() ? -FI_EOTHER : -FI_EAGAIN;
    struct fi_msg_rma t = {.msg_iov = &local, .iov_count = 1, .addr = stranger.pe, .rma_iov = &remote, .rma_iov_count = 1,
                           .data = 0xfedcba98};
    uint64_t reports_it = kind == A_REPORTED_WRITE ? FI_REMOTE_CQ_DATA : 0;
    for (time_t from = time(NULL); rc == -FI_EAGAIN && !late(from); shi_net_ofi.poll()) {
        rc = (int)(kind == A_READ ? fi_readmsg(stranger.ep, &t, FI_COMPLETION)
                                  : fi_writemsg(stranger.ep, &t, FI_COMPLETION | FI_DELIVERY_COMPLETE | reports_it));
        fi_cq_read(stranger.cq, &none, 0);
    }
    rc = rc ? rc : outcome();
    stranger_close();
    return rc;
}

/* A message of a new stranger. */
static void message(size_t bytes)
{
    static char here[2 * SHI_NET_LONGEST_BYTES];
    struct fi_cq_msg_entry none;
    int before = messages + failed_receives, rc = stranger_open() ? -FI_EOTHER : -FI_EAGAIN;
    for (time_t from = time(NULL); rc == -FI_EAGAIN && !late(from); shi_net_ofi.poll()) {
        rc = (int)fi_send(stranger.ep, here, bytes, NULL, stranger.pe, NULL);
        fi_cq_read(stranger.cq, &none, 0);
    }
    for (time_t from = time(NULL); messages + failed_receives == before && !late(from); shi_net_ofi.poll())
        fi_cq_read(stranger.cq, &none, 0);
    stranger_close();
}

/* A TCP connection to the PE from this address, by this user; 1: the PE refuses it within limit_ms, 0: it does not;
 * NO_SUCH_USER: this user namespace does not have the user. */
enum { NO_SUCH_USER = 3, ACCEPTED_MS = 500, REFUSED_MS = 10000 };
static int refused(const char *address, uid_t user, int limit_ms)
{
    struct shi_net_address own;
    struct sockaddr_in from = {.sin_family = AF_INET}, *to = (void *)own.data;
    int status = -1;
    shi_net_ofi.address(&own);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        struct timeval limit = {limit_ms / 1000, limit_ms % 1000 * 1000};
        if (setuid(user))
            _exit(errno == EINVAL ? NO_SUCH_USER : 2);
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        inet_pton(AF_INET, address, &from.sin_addr);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        if (fd < 0 || bind(fd, (void *)&from, sizeof from) || connect(fd, (void *)to, sizeof *to))
            _exit(2);
        _exit(recv(fd, &byte, 1, 0) < 0 && errno == ECONNRESET);
    }
    for (time_t begin = time(NULL); waitpid(pid, &status, WNOHANG) == 0 && !late(begin);)
        shi_net_ofi.poll();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- tests -------------------------------------------------------------------------------------------------------- */

/* Does this process have a library's file? */
static int has_library(const char *name)
{
    char line[512];
    int found = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, name) != NULL;
    if (f)
        fclose(f);
    return found;
}

/* Catches: 60 ms of CPU time for each PE at start-up; 0.2 s of sleep in constructors. */
static void start_up(void)
{
    if (shi_ofi_has_rdma("/sys"))
        return;
    CHECKF(reads_of_symbols == 0, "libfabric has read /proc/kallsyms %d times", reads_of_symbols);
    CHECK(has_library("/libfabric.so"));
    CHECK(!has_library("/libpsm2.so") && !has_library("/libpsm_infinipath.so"));
}

/* Catches: consecutive or repeated keys, or bits that the provider allows and keys never use. */
static void keys(void)
{
    enum { MANY = 256 };
    static struct shi_net_memory m[MANY];
    uint64_t ones = 0, zeros = 0;
    int close = 0;
    if (stranger.info->domain_attr->mr_mode & FI_MR_PROV_KEY)
        return;
    for (int i = 0; i < MANY; i++) {
        CHECK(shi_net_ofi.expose(memory, sizeof memory, SHI_NET_READ, &m[i]) == 0);
        ones |= m[i].key;
        zeros |= ~m[i].key;
        for (int k = 0; k < i; k++)
            close += m[i].key - m[k].key + 1000 < 2000;
    }
    size_t bytes = stranger.info->domain_attr->mr_key_size;
    uint64_t width = bytes >= 8 ? ~(uint64_t)0 : ((uint64_t)1 << 8 * bytes) - 1;
    CHECKF(ones == width && (zeros & width) == width, "bits that are set: %lx, that are not: %lx", ones, zeros & width);
    CHECKF(bytes < 8 || !close, "%d of the keys are close to another", close);
    for (int i = 0; i < MANY; i++)
        shi_net_ofi.withdraw(&m[i]);
}

/* Catches: a key, a bound or a right that the provider does not check; a withdrawn key that still works. */
static void strangers_access(void)
{
    struct shi_net_memory m, read_only;
    CHECK(shi_net_ofi.expose(memory, sizeof memory, SHI_NET_READ | SHI_NET_WRITE, &m) == 0);
    CHECK(shi_net_ofi.expose(memory, sizeof memory, SHI_NET_READ, &read_only) == 0);
    for (int i = 0; i < WORDS; i++)
        memory[i] = behind[i] = 1;
    CHECKF(transfer(A_READ, &m, m.key, 0, 64) == 0, "a known key must work, else this test shows nothing");
    CHECK(transfer(A_READ, &m, m.key ^ 1, 0, 64) != 0);
    CHECK(transfer(A_READ, &m, 1, 0, 64) != 0);
    CHECK(transfer(A_READ, &m, m.key, sizeof memory - 8, 16) != 0);
    CHECK(transfer(A_READ, &m, m.key, (uint64_t)-8, 8) != 0);
    CHECK(transfer(A_WRITE, &m, m.key ^ 1, 0, 64) != 0);
    CHECK(transfer(A_WRITE, &m, m.key, sizeof memory - 8, 16) != 0);
    CHECK(transfer(A_WRITE, &read_only, read_only.key, 0, 64) != 0);
    shi_net_ofi.withdraw(&read_only);
    CHECK(transfer(A_READ, &read_only, read_only.key, 0, 64) != 0);
    shi_net_ofi.withdraw(&m);
    CHECK(transfer(A_READ, &m, m.key, 0, 64) != 0);
    for (int i = 0; i < WORDS; i++)
        CHECKF(memory[i] == 1 && behind[i] == 1, "word %d was written", i);
    CHECKF(failures == 0, "%d failures at the PE", failures);
}

/* Catches: a write with immediate data that is not reported with them, or is taken for the end of a transfer; the same of a
 * stranger without a key. */
static void immediate(void)
{
    struct shi_net_memory m;
    CHECK(shi_net_ofi.expose(memory, sizeof memory, SHI_NET_READ | SHI_NET_WRITE, &m) == 0);
    reports = 0;
    CHECK(transfer(A_WRITE, &m, m.key, 0, 64) == 0 && reports == 0);
    CHECK(transfer(A_REPORTED_WRITE, &m, m.key, 0, 64) == 0);
    CHECKF(reports == 1 && reported == 0xfedcba98, "%d reports, the last of %#x", reports, reported);
    transfer(A_REPORTED_WRITE, &m, m.key ^ 1, 0, 0);
    CHECKF(failures == 0, "%d failures at the PE", failures);
    shi_net_ofi.withdraw(&m);
}

/* The progress thread waits in libfabric while a long poll of the program is under way, and takes its work and its core. */
static void wait_beside_poll(void)
{
    waits_in_poll = 1;
    shi_net_ofi.poll();
    CHECKF(waited == 0, "idle_wait: %d", waited);
}

/* Catches: the progress thread stays in the wait when a wait of the program begins. */
static void woken_wait(void)
{
    time_t from = time(NULL);
    shi_net_ofi.wake();
    shi_net_ofi.idle_wait(PATIENCE_S * 1000);
    CHECKF(!late(from), "idle_wait lasted for %d s", PATIENCE_S);
}

/* A message that is too long, which ends the job, or whose buffer is not posted again. */
static void too_long(void)
{
    enum { MORE_THAN_POSTED = 80 };
    for (int i = 0; i < MORE_THAN_POSTED; i++)
        message(2 * SHI_NET_LONGEST_BYTES);
    CHECKF(failed_receives == MORE_THAN_POSTED && messages == 0, "%d failed receives", failed_receives);
    message(64);
    CHECKF(messages == 1, "a message after those is lost");
    CHECKF(failures == 0, "%d failures at the PE", failures);
}

/* Catches: libfabric gets a connection from another host's address or of another user, or does not get one of the job. */
static void connections(void)
{
    struct shi_net_address own;
    shi_net_ofi.address(&own);
    if (((struct sockaddr *)own.data)->sa_family != AF_INET)
        return;
    CHECK(refused("127.0.0.1", getuid(), ACCEPTED_MS) == 0);
    CHECK(refused("127.0.0.2", getuid(), REFUSED_MS) == 1);
    if (getuid() == 0) {
        int other = refused("127.0.0.1", 54321, REFUSED_MS);
        CHECKF(other == 1 || other == NO_SUCH_USER, "a connection of another user: %d", other);
    }
}

/* Connect from another host's address again and again, until this process is killed. */
static void connect_often(const struct sockaddr_in *to)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    inet_pton(AF_INET, "127.0.0.2", &from.sin_addr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (bind(fd, (void *)&from, sizeof from) == 0)
            connect(fd, (const void *)to, sizeof *to);
        close(fd);
    }
}

/* A flood of connections that keeps the job's own away, while it lasts or when it is over. */
static void flood(void)
{
    struct shi_net_address own;
    const struct sockaddr_in *at = (void *)own.data;
    shi_net_ofi.address(&own);
    if (at->sin_family != AF_INET)
        return;
    pid_t pid = fork();
    if (pid == 0)
        connect_often(at);
    for (int i = 0; i < 5; i++)
        CHECKF(refused("127.0.0.1", getuid(), ACCEPTED_MS) == 0, "a connection of this user, during the flood");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CHECKF(refused("127.0.0.1", getuid(), ACCEPTED_MS) == 0, "a connection of this user, after the flood");
}

static int operations_ended;

static void on_end(struct shi_net_req *req, int err)
{
    CHECK(err == 0 && req->bytes == sizeof memory);
    operations_ended++;
}

/* A PE with one operation, which has not ended as nothing polls. Catches: an operation that never ends and is not reported, or that
 * is taken for the one before it with the same request; a slow network that is taken for one which has lost an operation. */
static void overdue(void)
{
    enum { CHECKS = 3 };
    struct shi_net_req req = {.done = on_end};
    struct shi_net_memory m;
    struct shi_net_lane *l = shi_net_ofi.lane(0);
    struct shi_net_overdue o = {.pe = -1};
    CHECK(shi_net_ofi.expose(memory, sizeof memory, SHI_NET_READ | SHI_NET_WRITE, &m) == 0);
    for (int round = 0; round < 3; round++) {
        int rc = -EAGAIN; /* until there is a connection */
        for (time_t from = time(NULL); rc == -EAGAIN && !late(from);) {
            rc = round == 2 ? shi_net_ofi.read(l, 0, &m, 0, behind, sizeof behind, &req)
                            : shi_net_ofi.write(l, 0, &m, 0, behind, sizeof behind, 0, &req);
            if (rc == -EAGAIN)
                shi_net_ofi.poll();
        }
        CHECKF(rc == -EINPROGRESS, "round %d: %d", round, rc);
        for (int i = 0; i < CHECKS; i++)
            CHECK(!shi_net_ofi.overdue(CHECKS, &o));
        CHECK(round == 0 || (shi_net_ofi.overdue(CHECKS, &o) && o.pe == 0 && o.bytes == sizeof memory &&
                             o.what == (round == 2 ? SHI_NET_READS : SHI_NET_WRITES)));
        for (time_t from = time(NULL); operations_ended <= round && !late(from);)
            shi_net_ofi.poll();
        CHECK(operations_ended == round + 1 && !shi_net_ofi.overdue(0, &o));
    }
    shi_net_ofi.withdraw(&m);
    CHECK(shi_net_patience(16, 1 << 20) == 16 && shi_net_patience(16, (size_t)1 << 30) == 16 * 33);
}

/* Operations that libfabric refuses. Catches: one that is always refused and is not found because others are accepted, or because
 * another one was refused first; one that was accepted, or is no longer tried, and is reported. */
static void refused_operations(void)
{
    enum { CHECKS = 3 };
    struct shi_ofi_refused r = {0};
    shi_ofi_refuse(&r, SHI_NET_WRITES, 1, 64);
    for (int i = 1; i <= CHECKS; i++) {
        shi_ofi_refuse(&r, SHI_NET_WRITES, 2, 64);
        shi_ofi_refuse(&r, SHI_NET_WRITES, 1, 64);
        shi_ofi_accept(&r, SHI_NET_WRITES, 2, 64);
        shi_ofi_accept(&r, SHI_NET_READS, 1, 64);
        shi_ofi_accept(&r, SHI_NET_WRITES, 1, 65);
        CHECKF(shi_ofi_refused_check(&r, CHECKS) == (i == CHECKS), "check %d", i);
    }
    CHECK(r.op.what == SHI_NET_WRITES && r.op.pe == 1 && r.op.bytes == 64);
    shi_ofi_accept(&r, SHI_NET_WRITES, 1, 64);
    CHECK(!shi_ofi_refused_check(&r, 1));
    shi_ofi_refuse(&r, SHI_NET_SENDS, 2, 8);
    CHECK(!shi_ofi_refused_check(&r, 2) && shi_ofi_refused_is(&r, SHI_NET_SENDS, 2, 8));
    CHECK(!shi_ofi_refused_check(&r, 2)); /* it was not tried again */
    shi_ofi_refuse(&r, SHI_NET_SENDS, 1, 8);
    CHECK(!shi_ofi_refused_check(&r, 2) && r.op.pe == 1 && r.checks == 1);
}

/* Catches: a message for which the provider makes a handshake; a limit of the user's that is not used; one for other networks. */
static void message_lengths(void)
{
    static const char rxm[] = "FI_OFI_RXM_BUFFER_SIZE", psm3[] = "PSM3_MQ_RNDV_NIC_THRESH";
    size_t by_sockets = shi_ofi_has_rdma("/sys") ? SHI_NET_MESSAGE_BYTES : 64000;
    const struct {
        const char *provider, *variable, *value;
        size_t most, bytes;
    } rows[] = {{"net", NULL, NULL, 1 << 30, SHI_NET_LONGEST_BYTES},         {"tcp", NULL, NULL, 20000, 19968},
                {"tcp;ofi_rxm", rxm, NULL, 1 << 30, SHI_NET_MESSAGE_BYTES},  {"tcp;ofi_rxm", rxm, "100", 1 << 30, SHI_NET_MESSAGE_BYTES},
                {"tcp;ofi_rxm", rxm, "40001", 1 << 30, 40000},               {"tcp;ofi_rxm", rxm, "65664", 1 << 30, SHI_NET_LONGEST_BYTES},
                {"psm3", psm3, NULL, 1 << 30, by_sockets},                   {"psm3", psm3, "0", 1 << 30, SHI_NET_MESSAGE_BYTES},
                {"verbs;ofi_rxm", rxm, "65664", 1 << 30, SHI_NET_MESSAGE_BYTES}, {"cxi", NULL, NULL, 1 << 30, SHI_NET_MESSAGE_BYTES},
                {"shm", NULL, NULL, 1 << 30, SHI_NET_MESSAGE_BYTES}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fi_tx_attr tx = {0};
        struct fi_rx_attr rx = {0};
        struct fi_ep_attr ep = {.max_msg_size = rows[i].most};
        struct fi_domain_attr domain = {0};
        struct fi_fabric_attr fabric = {.prov_name = (char *)rows[i].provider};
        struct fi_info info = {.tx_attr = &tx, .rx_attr = &rx, .ep_attr = &ep, .domain_attr = &domain, .fabric_attr = &fabric};
        const char *name = rows[i].variable ? rows[i].variable : rxm, *set = getenv(name);
        char *kept = set ? strdup(set) : NULL;
        if (!rows[i].value)
            unsetenv(name);
        else
            setenv(name, rows[i].value, 1);
        struct shi_net_limits l = shi_ofi_limits(&info);
        CHECKF(l.message_bytes == rows[i].bytes, "%s: messages of %zu bytes", rows[i].provider, l.message_bytes);
        if (kept)
            setenv(name, kept, 1);
        else
            unsetenv(name);
        free(kept);
    }
}

static int registered, waits_since;

/* As a progress thread that finds nothing: it waits again at once. */
static void *wait_again(void *arg)
{
    while (!__atomic_load_n(&registered, __ATOMIC_ACQUIRE))
        if (shi_net_ofi.idle_wait(PATIENCE_S * 1000))
            __atomic_fetch_add(&waits_since, 1, __ATOMIC_RELAXED);
    return arg;
}

/* Catches: a registration of memory whose turn does not come, because the thread that waits in the network takes it again and again. */
static void register_beside_waits(void)
{
    enum { TIMES = 100 };
    static char memory[4096];
    pthread_t t;
    struct shi_net_memory m;
    CHECK(pthread_create(&t, NULL, wait_again, NULL) == 0);
    for (int i = 0; i < TIMES; i++) {
        CHECK(shi_net_ofi.expose(memory, sizeof memory, SHI_NET_READ, &m) == 0);
        shi_net_ofi.withdraw(&m);
    }
    int waits = __atomic_load_n(&waits_since, __ATOMIC_RELAXED);
    CHECKF(waits <= 2 * 2 * TIMES, "%d waits ended during %d registrations", waits, 2 * TIMES);
    __atomic_store_n(&registered, 1, __ATOMIC_RELEASE);
    shi_net_ofi.wake();
    pthread_join(t, NULL);
}

int main(void)
{
    static int local[1];
    static const struct shi_config config;
    const struct shi_boot boot = {.pe = 0, .n_pes = 1, .n_local = 1, .local_pe = local, .job = ""};
    struct shi_net_address own;
    if (shi_net_ofi.up(&boot, &config, on_arrival, on_write, on_failure, &limits) || shi_net_ofi.address(&own)) {
        tap_skip("all", "libfabric cannot be used");
        return tap_end();
    }
    printf("# provider %s\n", shi_net_ofi.provider());
    shi_net_ofi.connect(&own, sizeof own);
    if (stranger_open())
        return 1;
    RUN(start_up, "without an RDMA device libfabric neither reads the symbols of the kernel nor loads psm's libraries");
    RUN(keys, "keys of registered memory cannot be guessed");
    stranger_close();
    RUN(strangers_access, "a stranger cannot read or write without the key, nor beyond its region and rights");
    RUN(immediate, "writes with immediate data are reported at the target");
    RUN(wait_beside_poll, "no thread sleeps in the network's wait while another polls");
    RUN(woken_wait, "a wait in the network is ended by another thread");
    RUN(register_beside_waits, "memory is registered beside a thread that waits in the network");
    RUN(too_long, "receives that a stranger makes fail");
    RUN(connections, "libfabric accepts connections of this user from this job's hosts only");
    RUN(overdue, "operations that do not end");
    RUN(refused_operations, "operations that are always refused");
    RUN(message_lengths, "messages are as long as the provider sends without a handshake");
    RUN(flood, "during a flood of connections that are refused, those of the job are accepted");
    shi_net_ofi.down();
    return tap_end();
}

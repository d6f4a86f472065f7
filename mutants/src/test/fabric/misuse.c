/*
 * misuse.c - the libfabric for tests itself: it ends the process, with the line that names it, for every misuse of its calls,
 * and for none in a correct program.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "double.h"

enum { POLLS = 2000, BYTES = 256 };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep; /* sends to itself */
static fi_addr_t self;
static _Alignas(64) char memory[BYTES], local[1 << 17], wide[1 << 17];
static struct fi_context2 context[4];
static int has_job_key = 1, uses_shm;

/* 0, or what went wrong. */
static int open_with(const char *profile, const struct fi_info *hints)
{
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_DATA, .size = 64};
    setenv("FABRIC_PROFILE", profile, 1);
    setenv("PSM3_DEVICES", uses_shm ? "self,shm,nic" : "self,nic", 1);
    if (fi_getinfo(FI_VERSION(1, 5), NULL, NULL, 0, hints, &info))
        return -1;
    if (has_job_key) {
        info->ep_attr->auth_key = calloc(2, sizeof(uint64_t));
        info->ep_attr->auth_key_size = 2 * sizeof(uint64_t);
    }
    return fi_fabric(info->fabric_attr, &fabric, NULL) ||
           fi_domain(fabric, info, &domain, NULL) || fi_av_open(domain, &table, &av, NULL) ||
           fi_cq_open(domain, &queue, &cq, NULL) || fi_endpoint(domain, info, &ep, NULL);
}

static int open_all(const char *profile)
{
    return open_with(profile, NULL);
}

static int enable(void)
{
    uint64_t address;
    size_t bytes = sizeof address;
    return fi_ep_bind(ep, &av->fid, 0) || fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV) || fi_enable(ep) ||
           fi_getname(&ep->fid, &address, &bytes) || fi_av_insert(av, &address, 1, &self, 0, NULL) != 1;
}

static int ready(const char *profile)
{
    return open_all(profile) || enable();
}

/* Poll for a while: the completions. */
static int poll_queue(void)
{
    struct fi_cq_data_entry e;
    int n = 0;
    for (int i = 0; i < POLLS; i++)
        n += fi_cq_read(cq, &e, 1) == 1;
    return n;
}

/* Repeat a post while it is refused. */
#define POST(CALL) \
    do \
        fi_cq_read(cq, NULL, 0); \
    while ((CALL) == -FI_EAGAIN)

static void access_memory(const char *profile, uint64_t rights, uint64_t other_key, uint64_t off)
{
    struct fid_mr *m;
    ready(profile);
    fi_mr_reg(domain, memory, sizeof memory, rights, 0, 5, 0, &m, NULL);
    uint64_t base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)memory : 0;
    POST(fi_read(ep, local, 64, NULL, self, base + off, fi_mr_key(m) + other_key, &context[0]));
    exit(poll_queue() == 1 ? 0 : 2);
}

/* ---- each case runs in a process of its own -------------------------------------------------------------------------- */

static void correct(void)
{
    access_memory("verbs", FI_REMOTE_READ, 0, BYTES - 64);
}

static void unknown_key(void)
{
    access_memory("tcp", FI_REMOTE_READ, 1, 0);
}

static void no_right(void)
{
    access_memory("psm3", FI_REMOTE_WRITE, 0, 0);
}

static void out_of_bounds(void)
{
    access_memory("tcp", FI_REMOTE_READ, 0, BYTES - 63);
}

static void not_enabled(void)
{
    open_all("tcp");
    fi_send(ep, local, 8, NULL, 0, NULL);
}

static void no_job_key(void)
{
    has_job_key = 0;
    open_all("psm3");
}

static void shm_device(void)
{
    uses_shm = 1;
    open_all("psm3");
}

static void no_queue(void)
{
    open_all("tcp");
    fi_ep_bind(ep, &av->fid, 0);
    fi_enable(ep);
}

static void long_inject(void)
{
    ready("psm3");
    fi_inject(ep, local, 65, self);
}

static void long_message(void)
{
    ready("tcp");
    fi_send(ep, local, sizeof local, NULL, self, NULL);
}

static void long_key(void)
{
    struct fid_mr *m;
    ready("cxi-key");
    fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_READ, 0, 1ULL << 32, 0, &m, NULL);
    fi_mr_bind(m, &ep->fid, 0);
    fi_mr_enable(m);
}

static void not_bound(void)
{
    struct fid_mr *m;
    ready("cxi");
    fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_READ, 0, 0, 0, &m, NULL);
    fi_mr_enable(m);
}

static void closed_while_bound(void)
{
    struct fid_mr *m;
    ready("cxi");
    fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_READ, 0, 0, 0, &m, NULL);
    fi_mr_bind(m, &ep->fid, 0);
    fi_mr_enable(m);
    fi_close(&ep->fid);
}

static void second_endpoint_closed(void)
{
    ready("psm3");
    if (fi_endpoint(domain, info, &ep, NULL) || enable())
        exit(4);
    fi_close(&ep->fid);
}

static void not_mapped(void)
{
    struct fid_mr *m;
    ready("tcp");
    fi_mr_reg(domain, (void *)4096, 4096, FI_REMOTE_READ, 0, 1, 0, &m, NULL);
}

static void queue_in_use(void)
{
    ready("tcp");
    fi_close(&cq->fid);
}

static void context_twice(void)
{
    ready("psm3");
    fi_recv(ep, local, 64, NULL, FI_ADDR_UNSPEC, &context[0]);
    fi_recv(ep, local + 64, 64, NULL, FI_ADDR_UNSPEC, &context[0]);
}

static void context_changed(void)
{
    ready("psm3");
    POST(fi_send(ep, local, 64, NULL, self, &context[0]));
    memset(&context[0], 0, sizeof context[0]);
    poll_queue();
}

static void buffer_changed(void)
{
    ready("efa"); /* nothing leaves before the peer has answered */
    fi_recv(ep, memory, sizeof memory, NULL, FI_ADDR_UNSPEC, &context[1]);
    POST(fi_send(ep, local, 64, NULL, self, &context[0]));
    local[63]++;
    poll_queue();
}

static void no_sleep(void)
{
    struct fi_cq_data_entry e;
    ready("efa");
    fi_cq_sread(cq, &e, 1, NULL, 1);
}

/* An endpoint with these capabilities and cq_data_size, and the address of `wide` for it, with its key. */
static uint64_t ready_for(const char *profile, uint64_t caps, size_t data_bytes, uint64_t *key)
{
    struct fi_domain_attr d = {.cq_data_size = data_bytes};
    struct fi_info hints = {.caps = FI_MSG | FI_RMA | caps, .mode = FI_CONTEXT | FI_CONTEXT2, .domain_attr = &d};
    struct fid_mr *m;
    if (open_with(profile, &hints) || enable())
        exit(4);
    fi_mr_reg(domain, wide, sizeof wide, FI_REMOTE_WRITE, 0, 5, 0, &m, NULL);
    if (info->domain_attr->mr_mode & FI_MR_ENDPOINT && (fi_mr_bind(m, &ep->fid, 0) || fi_mr_enable(m)))
        exit(5);
    *key = fi_mr_key(m);
    return info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)wide : 0;
}

static void write_data(const char *profile, size_t data_bytes, uint64_t data)
{
    uint64_t key, base = ready_for(profile, 0, data_bytes, &key);
    for (int n = 1; n < 50; n++) {
        struct fi_cq_data_entry e;
        int ends = 0, events = 0;
        memset(local, n, sizeof local);
        POST(fi_writedata(ep, local, sizeof local, NULL, data, self, base, key, &context[0]));
        while (!ends || !events) {
            if (fi_cq_read(cq, &e, 1) != 1)
                continue;
            ends += e.op_context == &context[0] && e.flags == (FI_RMA | FI_WRITE);
            events += !e.op_context && e.flags == (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA) && e.data == data;
            if (events && memcmp(wide, local, sizeof wide) != 0)
                exit(2);
        }
    }
    exit(poll_queue() ? 2 : 0);
}

static void data(void)
{
    write_data("efa", 4, 0xfedcba98);
}

static void long_data(void)
{
    write_data("psm3", 4, 1ULL << 32);
}

static void many_entries(void)
{
    struct fi_cq_data_entry e[2];
    if (ready("psm3"))
        exit(5);
    for (int i = 0; i < POLLS; i++)
        fi_cq_read(cq, e, 2);
    exit(2);
}

static void data_not_requested(void)
{
    write_data("psm3", 0, 1);
}

static void data_of_messages(void)
{
    write_data("cxi", 8, 1);
}

/* Messages with FI_FENCE behind writes: what a write brings is there before the message. */
static void fenced_messages(uint64_t caps)
{
    uint64_t key, base = ready_for("cxi", caps, 0, &key);
    static char from[BYTES], text[8];
    for (int n = 1; n < 100; n++) {
        struct fi_cq_data_entry e = {0};
        struct iovec v = {from, BYTES}, t = {text, sizeof text};
        struct fi_rma_iov to = {base, BYTES, key};
        struct fi_msg_rma w = {.msg_iov = &v, .iov_count = 1, .addr = self, .rma_iov = &to, .rma_iov_count = 1};
        struct fi_msg m = {.msg_iov = &t, .iov_count = 1, .addr = self};
        fi_recv(ep, local, sizeof local, NULL, FI_ADDR_UNSPEC, &context[1]);
        memset(from, n, BYTES);
        POST(fi_writemsg(ep, &w, FI_COMPLETION));
        POST(fi_sendmsg(ep, &m, FI_COMPLETION | FI_FENCE));
        while (e.op_context != &context[1])
            fi_cq_read(cq, &e, 1);
        if (wide[BYTES - 1] != n)
            exit(2);
    }
    exit(0);
}

static void fence(void)
{
    fenced_messages(FI_FENCE);
}

static void fence_not_requested(void)
{
    fenced_messages(0);
}

static void *sleep_in_poll(void *arg)
{
    struct fi_cq_data_entry e;
    for (;;)
        fi_cq_sread(cq, &e, 1, NULL, 1000);
    return arg;
}

static void registered_beside_poll(void)
{
    pthread_t thread;
    struct fid_mr *m;
    if (ready("tcp") || pthread_create(&thread, NULL, sleep_in_poll, NULL))
        exit(2);
    for (int i = 0; i < POLLS; i++)
        if (fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_READ, 0, 5, 0, &m, NULL) || fi_close(&m->fid))
            exit(2);
    exit(0);
}

static const struct {
    void (*run)(void);
    const char *line; /* NULL: no misuse */
} cases[] = {{correct, NULL}, {unknown_key, "which is not registered"}, {no_right, "which lacks that right"},
             {out_of_bounds, "of memory of 256 bytes"}, {not_enabled, "fi_send on an endpoint that is not enabled"},
             {no_job_key, "without a key of its job"}, {shm_device, "with a file in /dev/shm"},
             {no_queue, "fi_enable of an endpoint without completion queue"}, {long_inject, "the limit is 64"},
             {long_message, "the limit is 81920"}, {long_key, "longer than mr_key_size"},
             {not_bound, "bound to no endpoint"}, {closed_while_bound, "an endpoint to which memory is bound"},
             {second_endpoint_closed, "not the domain's first"}, {not_mapped, "not all mapped"},
             {queue_in_use, "fi_close of a completion queue"},
             {context_twice, "posted again before its completion"}, {context_changed, "changed before its completion"},
             {buffer_changed, "was changed before its completion"}, {no_sleep, "without a wait object"},
             {data, NULL}, {long_data, "the limit is 4 bytes"}, {data_not_requested, "immediate data, which this endpoint"},
             {many_entries, "fi_cq_read of 2 entries"},
             {data_of_messages, "immediate data, which this endpoint"}, {fence, NULL},
             {fence_not_requested, "FI_FENCE, which this endpoint does not have"}, {registered_beside_poll, "keys without a lock"}};

/* Catches: a rule that the double does not check, or a correct program that it refuses. */
static void misuses(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int ends[2], status = 0;
        char line[1024];
        CHECK(pipe(ends) == 0);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            dup2(ends[1], 2);
            cases[i].run();
            _exit(3);
        }
        close(ends[1]);
        ssize_t n = read(ends[0], line, sizeof line - 1);
        line[n > 0 ? n : 0] = 0;
        close(ends[0]);
        waitpid(child, &status, 0);
        if (cases[i].line)
            CHECKF(WIFSIGNALED(status) && strstr(line, cases[i].line), "case %zu: status %d, %s", i, status, line);
        else
            CHECKF(status == 0, "case %zu: status %d, %s", i, status, line);
    }
}

int main(void)
{
    RUN(misuses, "each misuse ends the process with its line");
    return tap_end();
}

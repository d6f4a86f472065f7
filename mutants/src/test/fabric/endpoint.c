/* endpoint.c - endpoints: their set-up, and posting with all checks of a post's arguments. */
#include "double.h"

#include <stdlib.h>
#include <string.h>

enum { STORM_ODDS = 64, STORM_TICKS = 12 };

/* ---- set-up --------------------------------------------------------------------------------------------------------- */

static int ep_close(struct fid *fid)
{
    struct endpoint *e = (struct endpoint *)fid;
    pthread_mutex_lock(&fabric_lock);
    for (const struct memory *m = e->domain->memories; m; m = m->next)
        if (m->endpoint == e)
            misuse("fi_close of an endpoint to which memory is bound: %zu bytes at %p", m->bytes, (void *)m->base);
    if (e->profile->waits_for_peers && e->domain->first != e && e->fd >= 0)
        misuse("fi_close of an endpoint that is not the domain's first: it waits for peers that may have closed theirs");
    if (e->fd >= 0)
        nic_close(e);
    if (e->cq) {
        struct endpoint **at = &e->cq->endpoints;
        while (*at != e)
            at = &(*at)->next;
        *at = e->next;
        e->cq->users--;
    }
    if (e->av)
        e->av->users--;
    e->domain->users--;
    pthread_mutex_unlock(&fabric_lock);
    free(e);
    return 0;
}

static int ep_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    struct endpoint *e = (struct endpoint *)fid;
    if (e->enabled)
        misuse("fi_ep_bind to an endpoint that is enabled");
    if (to->fclass == FI_CLASS_AV) {
        e->av = (struct av *)to;
        e->av->users++;
        return 0;
    }
    if (to->fclass != FI_CLASS_CQ || flags != (FI_TRANSMIT | FI_RECV))
        misuse("fi_ep_bind of class %zu with flags %lx: not in this double", to->fclass, flags);
    e->cq = (struct cq *)to;
    e->cq->users++;
    e->next = e->cq->endpoints;
    e->cq->endpoints = e;
    return 0;
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t bytes)
{
    enum { CUDA_API_PERMITTED = 10 };
    struct endpoint *e = (struct endpoint *)fid;
    if (level != FI_OPT_ENDPOINT || name != CUDA_API_PERMITTED || bytes != sizeof(_Bool) || e->enabled)
        misuse("fi_setopt of option %d of level %d, %zu bytes%s", name, level, bytes, e->enabled ? ", too late" : "");
    e->domain->without_cuda = !*(const _Bool *)value;
    return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
    struct endpoint *e = (struct endpoint *)fid;
    (void)arg;
    if (command != FI_ENABLE)
        return -FI_ENOSYS;
    if (!e->av || !e->cq)
        misuse("fi_enable of an endpoint without %s", e->av ? "completion queue" : "address vector");
    pthread_mutex_lock(&fabric_lock);
    int rc = nic_open(e);
    e->enabled = !rc;
    pthread_mutex_unlock(&fabric_lock);
    return rc;
}

static int ep_getname(fid_t fid, void *out, size_t *bytes)
{
    struct endpoint *e = (struct endpoint *)fid;
    size_t room = *bytes;
    if (!e->enabled)
        misuse("fi_getname of an endpoint that is not enabled");
    *bytes = sizeof e->address;
    if (room < sizeof e->address)
        return -FI_ETOOSMALL;
    memcpy(out, &e->address, sizeof e->address);
    return 0;
}

/* ---- posting --------------------------------------------------------------------------------------------------------- */

/* 0, or -FI_EAGAIN: sometimes the endpoint refuses posts for a while, like a network with a full queue. */
static int refuses(struct endpoint *e)
{
    if (below(STORM_ODDS) == 0)
        e->refuses_until = e->cq->tick + below(STORM_TICKS);
    return e->cq->tick < e->refuses_until || e->in_flight >= e->profile->depth ? -FI_EAGAIN : 0;
}

static struct op *new_op(enum kind kind, const void *buf, size_t bytes, void *context, uint64_t flags)
{
    struct op *o = calloc(1, sizeof *o);
    if (!o)
        misuse("out of memory");
    *o = (struct op){.head = {.kind = kind, .total = bytes}, .buf = (char *)buf, .context = context, .flags = flags};
    return o;
}

/* The last step of a post; the first one took the lock. */
static ssize_t post(struct endpoint *e, fi_addr_t to, struct op *o)
{
    if (to >= e->av->n)
        misuse("fi_addr_t %lu: the address vector has %zu", to, e->av->n);
    if (!o->silent) {
        context_posted(e->profile, o->context);
        e->in_flight++;
    }
    o->fails = fails();
    nic_post(e, e->av->address[to], o);
    pthread_mutex_unlock(&fabric_lock);
    return 0;
}

/* 0 with the lock, or -FI_EAGAIN without. */
static ssize_t begin(struct endpoint *e, const char *what, size_t bytes, size_t most)
{
    if (!e->enabled)
        misuse("%s on an endpoint that is not enabled", what);
    if (bytes > most)
        misuse("%s of %zu bytes, the limit is %zu", what, bytes, most);
    pthread_mutex_lock(&fabric_lock);
    int rc = refuses(e);
    if (rc)
        pthread_mutex_unlock(&fabric_lock);
    return rc;
}

static size_t longest_message(const struct endpoint *e)
{
    return e->max_bytes < MESSAGE_BYTES ? e->max_bytes : MESSAGE_BYTES;
}

static void check_fence(const struct endpoint *e, const char *what, uint64_t flags)
{
    if (flags & FI_FENCE && !e->fences)
        misuse("%s with FI_FENCE, which this endpoint does not have", what);
}

static ssize_t ep_sendmsg(struct fid_ep *fid, const struct fi_msg *m, uint64_t flags)
{
    struct endpoint *e = (struct endpoint *)fid;
    if (m->iov_count != 1 || flags & ~(FI_COMPLETION | FI_FENCE))
        misuse("fi_sendmsg with %zu segments, flags %lx: not in this double", m->iov_count, flags);
    check_fence(e, "fi_sendmsg", flags);
    ssize_t rc = begin(e, "fi_sendmsg", m->msg_iov->iov_len, longest_message(e));
    if (rc)
        return rc;
    struct op *o = new_op(SEND, m->msg_iov->iov_base, m->msg_iov->iov_len, m->context, FI_SEND | FI_MSG);
    o->fence = (flags & FI_FENCE) != 0;
    return post(e, m->addr, o);
}

static ssize_t ep_send(struct fid_ep *fid, const void *buf, size_t bytes, void *desc, fi_addr_t to, void *context)
{
    struct endpoint *e = (struct endpoint *)fid;
    ssize_t rc = begin(e, "fi_send", bytes, longest_message(e));
    (void)desc;
    return rc ? rc : post(e, to, new_op(SEND, buf, bytes, context, FI_SEND | FI_MSG));
}

static ssize_t ep_inject(struct fid_ep *fid, const void *buf, size_t bytes, fi_addr_t to)
{
    struct endpoint *e = (struct endpoint *)fid;
    ssize_t rc = begin(e, "fi_inject", bytes, e->profile->inject_bytes);
    if (rc)
        return rc;
    struct op *o = new_op(SEND, NULL, bytes, NULL, FI_SEND | FI_MSG);
    if (!(o->buf = o->owned = malloc(bytes + 1)))
        misuse("out of memory");
    memcpy(o->buf, buf, bytes);
    o->silent = 1;
    return post(e, to, o);
}

static void check_data(const struct endpoint *e, uint64_t data)
{
    if (!e->data_bytes)
        misuse("fi_write with immediate data, which this endpoint does not have");
    if (e->data_bytes < sizeof data && data >> 8 * e->data_bytes)
        misuse("fi_write with immediate data %lx, the limit is %zu bytes", data, e->data_bytes);
}

static ssize_t rma(struct endpoint *e, enum kind kind, const struct fi_msg_rma *m, uint64_t flags)
{
    const char *what = kind == READ ? "fi_read" : "fi_write";
    size_t bytes = m->msg_iov->iov_len;
    if (m->iov_count != 1 || m->rma_iov_count != 1 || m->rma_iov->len != bytes)
        misuse("%s with %zu and %zu segments of %zu and %zu bytes", what, m->iov_count, m->rma_iov_count, bytes,
               m->rma_iov->len);
    if (flags & ~(FI_COMPLETION | FI_DELIVERY_COMPLETE | FI_FENCE | (kind == READ ? 0 : FI_REMOTE_CQ_DATA)))
        misuse("%s with flags %lx: not in this double", what, flags);
    check_fence(e, what, flags);
    if (flags & FI_REMOTE_CQ_DATA)
        check_data(e, m->data);
    ssize_t rc = begin(e, what, bytes, e->max_bytes);
    if (rc)
        return rc;
    if (kind == WRITE && bytes > e->profile->waw_bytes)
        kind = LONG_WRITE;
    char *buf = local_of(e->domain, m->msg_iov->iov_base, bytes, m->desc ? m->desc[0] : NULL, what);
    struct op *o = new_op(kind, buf, bytes, m->context, FI_RMA | (kind == READ ? FI_READ : FI_WRITE));
    o->on_device = buf != m->msg_iov->iov_base;
    o->head.addr = m->rma_iov->addr;
    o->head.key = m->rma_iov->key;
    o->head.confirm = (flags & FI_DELIVERY_COMPLETE) != 0;
    o->head.has_data = (flags & FI_REMOTE_CQ_DATA) != 0;
    o->head.data = m->data;
    o->fence = (flags & FI_FENCE) != 0;
    return post(e, m->addr, o);
}

static ssize_t ep_writemsg(struct fid_ep *fid, const struct fi_msg_rma *m, uint64_t flags)
{
    return rma((struct endpoint *)fid, WRITE, m, flags);
}

static ssize_t ep_writedata(struct fid_ep *fid, const void *buf, size_t bytes, void *desc, uint64_t data, fi_addr_t to,
                            uint64_t addr, uint64_t key, void *context)
{
    struct iovec local = {(void *)buf, bytes};
    struct fi_rma_iov remote = {addr, bytes, key};
    struct fi_msg_rma m = {.msg_iov = &local, .desc = &desc, .iov_count = 1, .addr = to, .rma_iov = &remote,
                           .rma_iov_count = 1, .context = context, .data = data};
    return ep_writemsg(fid, &m, FI_COMPLETION | FI_REMOTE_CQ_DATA);
}

static ssize_t ep_readmsg(struct fid_ep *fid, const struct fi_msg_rma *m, uint64_t flags)
{
    return rma((struct endpoint *)fid, READ, m, flags);
}

static ssize_t ep_read(struct fid_ep *fid, void *buf, size_t bytes, void *desc, fi_addr_t from, uint64_t addr, uint64_t key,
                       void *context)
{
    struct iovec local = {buf, bytes};
    struct fi_rma_iov remote = {addr, bytes, key};
    struct fi_msg_rma m = {.msg_iov = &local, .desc = &desc, .iov_count = 1, .addr = from, .rma_iov = &remote,
                           .rma_iov_count = 1, .context = context};
    return ep_readmsg(fid, &m, FI_COMPLETION);
}

static ssize_t ep_recv(struct fid_ep *fid, void *buf, size_t bytes, void *desc, fi_addr_t from, void *context)
{
    struct endpoint *e = (struct endpoint *)fid;
    struct receive *r = calloc(1, sizeof *r);
    (void)desc;
    if (!r || !e->enabled || from != FI_ADDR_UNSPEC)
        misuse("fi_recv on an endpoint that is not enabled, or from one address only");
    *r = (struct receive){.buf = buf, .context = context, .bytes = bytes};
    pthread_mutex_lock(&fabric_lock);
    context_posted(e->profile, context);
    *e->receives_last = r;
    e->receives_last = &r->next;
    pthread_mutex_unlock(&fabric_lock);
    return 0;
}

/* The key of the endpoint's job, which psm3 takes from auth_key. */
static uint64_t job_of(const struct profile *p, const struct fi_ep_attr *attr)
{
    uint64_t key[2] = {0};
    if (!p->has_job_key)
        return 0;
    if (!attr->auth_key || attr->auth_key_size != sizeof key)
        misuse("an endpoint without a key of its job: those of all jobs of the user connect to it");
    memcpy(key, attr->auth_key, sizeof key);
    return key[0] ^ key[1];
}

/* psm3 makes a file in /dev/shm for each endpoint, for the processes of the host, which stays there when the process is killed. */
static void check_devices(const struct profile *p)
{
    const char *devices = getenv("PSM3_DEVICES");
    if (p->has_job_key && (!devices || strstr(devices, "shm")))
        misuse("an endpoint with a file in /dev/shm: PSM3_DEVICES lists shm, or is not set");
}

int endpoint_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **out, void *context)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = ep_close, .bind = ep_bind, .control = ep_control};
    static struct fi_ops_cm cm_ops = {.size = sizeof cm_ops, .getname = ep_getname};
    static struct fi_ops_msg msg_ops = {.size = sizeof msg_ops, .recv = ep_recv, .send = ep_send,
                                        .sendmsg = ep_sendmsg, .inject = ep_inject};
    static struct fi_ops_rma rma_ops = {.size = sizeof rma_ops, .read = ep_read, .readmsg = ep_readmsg,
                                        .writemsg = ep_writemsg, .writedata = ep_writedata};
    static struct fi_ops_ep ep_ops = {.size = sizeof ep_ops, .setopt = ep_setopt};
    struct domain *d = (struct domain *)fid;
    struct endpoint *e = calloc(1, sizeof *e);
    const char *skips = d->profile->skips_polls ? getenv("PSM3_TCP_SKIPPOLL_COUNT") : NULL; /* inactive:active */
    if (!e)
        return -FI_ENOMEM;
    check_devices(d->profile);
    *e = (struct endpoint){.pub = {.fid = {FI_CLASS_EP, context, &ops}, .ops = &ep_ops, .cm = &cm_ops, .msg = &msg_ops,
                                   .rma = &rma_ops},
                           .domain = d, .profile = d->profile, .fd = -1, .job = job_of(d->profile, info->ep_attr),
                           .receives_last = &e->receives,
                           .fences = (info->caps & FI_FENCE) != 0, .max_bytes = info->ep_attr->max_msg_size,
                           .rate = number("FABRIC_RATE"),
                           .skips_polls = skips ? atoi(skips) : d->profile->skips_polls,
                           .data_bytes = d->profile->data_of_messages ? 0 : info->domain_attr->cq_data_size};
    if (!d->first)
        d->first = e;
    d->users++;
    *out = &e->pub;
    return 0;
}

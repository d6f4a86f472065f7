/* object.c - fabric, domain, address vector, completion queue and registered memory: their calls, and checks of them. */
#include "double.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static void *make(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p)
        misuse("out of memory");
    return p;
}

/* ---- address vector ------------------------------------------------------------------------------------------------ */

static int av_close(struct fid *fid)
{
    struct av *av = (struct av *)fid;
    if (av->users)
        misuse("fi_close of an address vector in use by %d endpoints", av->users);
    av->domain->users--;
    free(av->address);
    free(av);
    return 0;
}

static int av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *out, uint64_t flags, void *context)
{
    struct av *av = (struct av *)fid;
    (void)flags, (void)context;
    pthread_mutex_lock(&fabric_lock);
    av->address = realloc(av->address, (av->n + count) * sizeof *av->address);
    if (!av->address)
        misuse("out of memory");
    memcpy(av->address + av->n, addr, count * sizeof *av->address);
    for (size_t i = 0; i < count && out; i++)
        out[i] = av->n + i;
    av->n += count;
    pthread_mutex_unlock(&fabric_lock);
    return (int)count;
}

static int av_open(struct fid_domain *d, struct fi_av_attr *attr, struct fid_av **out, void *context)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = av_close};
    static struct fi_ops_av av_ops = {.size = sizeof av_ops, .insert = av_insert};
    struct av *av = make(sizeof *av);
    (void)attr;
    *av = (struct av){.pub = {.fid = {FI_CLASS_AV, context, &ops}, .ops = &av_ops}, .domain = (struct domain *)d};
    av->domain->users++;
    *out = &av->pub;
    return 0;
}

/* ---- completion queue ---------------------------------------------------------------------------------------------- */

static int cq_close(struct fid *fid)
{
    struct cq *q = (struct cq *)fid;
    if (q->users)
        misuse("fi_close of a completion queue in use by %d endpoints", q->users);
    for (struct completion *c = q->first, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    q->domain->users--;
    free(q);
    return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
    struct cq *q = (struct cq *)fid;
    if (command != FI_GETWAITOBJ)
        return -FI_ENOSYS;
    *(enum fi_wait_obj *)arg = q->domain->profile->can_sleep ? FI_WAIT_FD : FI_WAIT_NONE;
    return 0;
}

static void unlink_first(struct cq *q, struct completion *c)
{
    q->first = c->next;
    if (!q->first)
        q->last = &q->first;
}

/* With bare_keys: threads in a poll, and calls that change the table of keys, which are never there together. */
static int polling, changing;

static void begin_poll(const struct profile *p)
{
    __atomic_fetch_add(&polling, 1, __ATOMIC_SEQ_CST);
    if (p->bare_keys && __atomic_load_n(&changing, __ATOMIC_SEQ_CST))
        misuse("a poll while memory is registered or withdrawn: it looks up keys without a lock");
}

static void end_poll(void)
{
    __atomic_fetch_sub(&polling, 1, __ATOMIC_SEQ_CST);
}

static void begin_change(const struct profile *p)
{
    static const struct timespec a_moment = {.tv_nsec = 20000}; /* for polls to begin */
    if (!p->bare_keys)
        return;
    __atomic_fetch_add(&changing, 1, __ATOMIC_SEQ_CST);
    nanosleep(&a_moment, NULL);
    if (__atomic_load_n(&polling, __ATOMIC_SEQ_CST))
        misuse("memory is registered or withdrawn while a thread polls, which looks up keys without a lock");
}

static void end_change(const struct profile *p)
{
    if (p->bare_keys)
        __atomic_fetch_sub(&changing, 1, __ATOMIC_SEQ_CST);
}

enum { IDLE_READS = 1000 };

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
    struct cq *q = (struct cq *)fid;
    size_t bytes = q->format == FI_CQ_FORMAT_DATA ? sizeof(struct fi_cq_data_entry) : sizeof(struct fi_cq_msg_entry);
    struct completion *c = NULL;
    ssize_t n = 0;
    begin_poll(q->domain->profile);
    pthread_mutex_lock(&fabric_lock);
    nic_progress(q);
    while ((size_t)n < count && (c = nic_completion(q)) && !c->entry.err) {
        struct fi_cq_data_entry entry = {c->entry.op_context, c->entry.flags, c->entry.len, NULL, c->entry.data};
        memcpy((char *)buf + bytes * (size_t)n++, &entry, bytes);
        context_completed(q->domain->profile, c->entry.op_context);
        unlink_first(q, c);
        free(c);
    }
    q->empty = n ? 0 : q->empty < INT_MAX ? q->empty + 1 : q->empty;
    if (q->domain->profile->polls_again && count > 1 && q->empty > IDLE_READS)
        misuse("fi_cq_read of %zu entries of an idle queue: the first would wait for another poll of the network", count);
    pthread_mutex_unlock(&fabric_lock);
    end_poll();
    return n ? n : c && count ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
    struct cq *q = (struct cq *)fid;
    (void)flags;
    pthread_mutex_lock(&fabric_lock);
    struct completion *c = q->first;
    int found = c && c->entry.err;
    if (found) {
        *buf = c->entry;
        context_completed(q->domain->profile, c->entry.op_context);
        unlink_first(q, c);
        free(c);
    }
    pthread_mutex_unlock(&fabric_lock);
    return found ? 1 : -FI_EAGAIN;
}

/* A wait ends at its limit. */
static int cq_signal(struct fid_cq *fid)
{
    (void)fid;
    return 0;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout_ms)
{
    struct cq *q = (struct cq *)fid;
    (void)cond;
    if (!q->domain->profile->can_sleep)
        misuse("fi_cq_sread of a queue without a wait object");
    begin_poll(q->domain->profile);
    pthread_mutex_lock(&fabric_lock);
    int ready = nic_wait(q, timeout_ms);
    pthread_mutex_unlock(&fabric_lock);
    end_poll();
    return ready && count ? cq_read(fid, buf, count) : ready ? 0 : -FI_EAGAIN;
}

static const char *cq_strerror(struct fid_cq *fid, int err, const void *data, char *buf, size_t bytes)
{
    (void)fid, (void)data, (void)buf, (void)bytes;
    return strerror(err);
}

static int cq_open(struct fid_domain *d, struct fi_cq_attr *attr, struct fid_cq **out, void *context)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = cq_close, .control = cq_control};
    static struct fi_ops_cq cq_ops = {.size = sizeof cq_ops, .read = cq_read, .readerr = cq_readerr, .sread = cq_sread,
                                      .signal = cq_signal, .strerror = cq_strerror};
    struct cq *q = make(sizeof *q);
    if (attr->format != FI_CQ_FORMAT_MSG && attr->format != FI_CQ_FORMAT_DATA)
        misuse("a completion queue of format %d: this double has FI_CQ_FORMAT_MSG and DATA only", attr->format);
    *q = (struct cq){.pub = {.fid = {FI_CLASS_CQ, context, &ops}, .ops = &cq_ops}, .domain = (struct domain *)d,
                     .last = &q->first, .format = attr->format};
    q->domain->users++;
    *out = &q->pub;
    return 0;
}

/* ---- contexts ------------------------------------------------------------------------------------------------------ */

static char posted_mark, completed_mark;

void context_posted(const struct profile *p, void *context)
{
    struct fi_context *c = context;
    if (!context || !p->mode)
        return;
    if (c->internal[0] == &posted_mark && c->internal[1] == context)
        misuse("the context at %p is posted again before its completion", context);
    c->internal[0] = &posted_mark;
    c->internal[1] = context;
    if (p->mode & FI_CONTEXT2)
        memset(&c->internal[2], 0x5a, sizeof(struct fi_context2) - 2 * sizeof c->internal[0]);
}

void context_completed(const struct profile *p, void *context)
{
    struct fi_context *c = context;
    if (!context || !p->mode)
        return;
    if (c->internal[0] != &posted_mark || c->internal[1] != context)
        misuse("the context at %p was changed before its completion", context);
    c->internal[0] = &completed_mark;
}

/* ---- registered memory --------------------------------------------------------------------------------------------- */

static size_t pinned_bytes;

/* [base, + bytes) extended to whole pages. */
static char *pages_of(const void *base, size_t bytes, size_t *length)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)base & ~(page - 1);
    *length = (((uintptr_t)base + bytes + page - 1) & ~(page - 1)) - from;
    return (char *)from;
}

static int is_resident(const void *base, size_t bytes)
{
    unsigned char in_memory[256];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), length;
    char *from = pages_of(base, bytes, &length);
    for (size_t some; length; from += some, length -= some) {
        some = length < sizeof in_memory * page ? length : sizeof in_memory * page;
        if (mincore(from, some, in_memory))
            return 0;
        for (size_t i = 0; i < some / page; i++)
            if (!(in_memory[i] & 1))
                return 0;
    }
    return 1;
}

/* With FI_MR_ALLOCATED registration allocates the pages, and they must stay: an access would use those of the registration.
 * Kernels before 5.14, and memory that is not writable, go without; qemu 7.2 accepts the call and ignores it. */
static int pin(struct memory *m)
{
    size_t length, most = number("FABRIC_PINNED");
    char *from = pages_of(m->base, m->bytes, &length);
    if (most && pinned_bytes + length > most)
        return -FI_ENOMEM;
    pinned_bytes += length;
    m->pinned = madvise(from, length, MADV_POPULATE_WRITE) == 0 && is_resident(from, length);
    return 0;
}

static int memory_close(struct fid *fid)
{
    struct memory *m = (struct memory *)fid, **at;
    begin_change(m->domain->profile);
    pthread_mutex_lock(&fabric_lock);
    for (at = &m->domain->memories; *at && *at != m; at = &(*at)->next)
        ;
    if (!*at)
        misuse("fi_close of memory at %p that is not registered", (void *)m);
    *at = m->next;
    if (m->view) {
        hmem_unmap(m->view, m->bytes);
    } else if (m->domain->profile->mr_mode & FI_MR_ALLOCATED) {
        size_t length;
        pages_of(m->base, m->bytes, &length);
        pinned_bytes -= length;
    }
    pthread_mutex_unlock(&fabric_lock);
    end_change(m->domain->profile);
    free(m);
    return 0;
}

static int memory_bind(struct fid *fid, struct fid *to, uint64_t flags)
{
    struct memory *m = (struct memory *)fid;
    struct endpoint *e = (struct endpoint *)to;
    if (to->fclass != FI_CLASS_EP || flags || m->enabled)
        misuse("fi_mr_bind of class %zu with flags %lx to memory that is %senabled", to->fclass, flags,
               m->enabled ? "" : "not ");
    if (!e->enabled)
        misuse("fi_mr_bind to an endpoint that is not enabled");
    m->endpoint = e;
    return 0;
}

static struct memory *find(const struct domain *d, uint64_t key)
{
    struct memory *m = d->memories;
    while (m && (!m->enabled || m->pub.key != key))
        m = m->next;
    return m;
}

static uint64_t new_key(const struct domain *d)
{
    uint64_t key;
    do
        key = (uint64_t)below(1u << 31) | (d->profile->key_bytes > 4 ? (uint64_t)below(1u << 31) << 32 : 0);
    while (find(d, key));
    return key;
}

static int memory_enable(struct memory *m, uint64_t requested)
{
    const struct profile *p = m->domain->profile;
    if (p->mr_mode & FI_MR_ENDPOINT && !m->endpoint)
        misuse("fi_mr_enable of memory that is bound to no endpoint");
    uint64_t key = p->mr_mode & FI_MR_PROV_KEY ? new_key(m->domain) : requested;
    if (p->key_bytes < 8 && key >> 8 * p->key_bytes)
        misuse("the key %lx is longer than mr_key_size, %zu bytes", key, p->key_bytes);
    if (find(m->domain, key))
        return -FI_ENOKEY;
    m->pub.key = key;
    m->enabled = 1;
    return 0;
}

static int memory_control(struct fid *fid, int command, void *arg)
{
    struct memory *m = (struct memory *)fid;
    (void)arg;
    if (command != FI_ENABLE)
        return -FI_ENOSYS;
    pthread_mutex_lock(&fabric_lock);
    int rc = memory_enable(m, m->requested_key);
    pthread_mutex_unlock(&fabric_lock);
    return rc;
}

static int is_mapped(const void *base, size_t bytes)
{
    size_t length;
    char *from = pages_of(base, bytes, &length);
    return !bytes || msync(from, length, MS_ASYNC) == 0 || errno != ENOMEM;
}

/* Register: m has its memory. 0, or libfabric's error and m is freed. */
static int add(struct domain *d, struct memory *m, uint64_t key, void *context, struct fid_mr **out)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = memory_close, .bind = memory_bind, .control = memory_control};
    int rc = 0;
    m->pub = (struct fid_mr){.fid = {FI_CLASS_MR, context, &ops}, .mem_desc = m->view ? m : NULL, .key = FI_KEY_NOTAVAIL};
    m->domain = d;
    m->requested_key = key;
    begin_change(d->profile);
    pthread_mutex_lock(&fabric_lock);
    if (d->profile->mr_mode & FI_MR_ALLOCATED && !m->view)
        rc = pin(m);
    if (!rc && !(d->profile->mr_mode & FI_MR_ENDPOINT))
        rc = memory_enable(m, key);
    if (!rc) {
        m->next = d->memories;
        d->memories = m;
    }
    pthread_mutex_unlock(&fabric_lock);
    end_change(d->profile);
    if (rc)
        free(m);
    else
        *out = &m->pub;
    return rc;
}

static int reg(struct fid *fid, const void *base, size_t bytes, uint64_t access, uint64_t offset, uint64_t key,
               uint64_t flags, struct fid_mr **out, void *context)
{
    struct domain *d = (struct domain *)fid;
    struct memory *m = make(sizeof *m);
    if (offset || flags)
        misuse("fi_mr_reg with offset %lx, flags %lx: not in this double", offset, flags);
    if (!is_mapped(base, bytes))
        misuse("fi_mr_reg of %zu bytes at %p, which are not all mapped", bytes, base);
    pthread_mutex_lock(&fabric_lock);
    for (const struct memory *other = d->memories; other; other = other->next)
        if (other->pinned && !is_resident(other->base, other->bytes < 1 << 20 ? other->bytes : 1 << 20))
            misuse("the memory at %p, %zu bytes, is registered, but its pages were returned", other->base, other->bytes);
    pthread_mutex_unlock(&fabric_lock);
    *m = (struct memory){.base = (char *)base, .bytes = bytes, .access = access};
    return add(d, m, key, context, out);
}

/* Of devices only. */
static int regattr(struct fid *fid, const struct fi_mr_attr *a, uint64_t flags, struct fid_mr **out)
{
    struct domain *d = (struct domain *)fid;
    struct memory *m = make(sizeof *m);
    if (!d->hmem)
        misuse("fi_mr_regattr of device memory in a domain without FI_HMEM");
    if (a->iface == FI_HMEM_CUDA && !d->without_cuda)
        misuse("fi_mr_regattr of CUDA memory while libfabric may call CUDA");
    *m = (struct memory){.access = a->access};
    int rc = hmem_map(a, flags, &m->base, &m->bytes, &m->view);
    if (!rc)
        return add(d, m, a->requested_key, a->context, out);
    free(m);
    return rc;
}

static int is_inside(const struct memory *m, const void *addr, size_t bytes)
{
    size_t off = (uintptr_t)addr - (uintptr_t)m->base;
    return off < m->bytes && bytes <= m->bytes - off;
}

/* With FI_MR_HMEM an operation on device memory brings its descriptor, which is the memory. */
char *local_of(struct domain *d, const void *buf, size_t bytes, void *desc, const char *what)
{
    const struct memory *m = desc;
    for (const struct memory *o = d->memories; o && !m; o = o->next)
        if (o->view && is_inside(o, buf, 1))
            misuse("%s of %zu bytes of device memory without its descriptor", what, bytes);
    if (m && (!m->view || !is_inside(m, buf, bytes)))
        misuse("%s of %zu bytes at %p with the descriptor of other memory", what, bytes, buf);
    if (m && m->view && m->access & (strcmp(what, "fi_read") == 0 ? FI_READ : FI_WRITE))
        return m->view + ((const char *)buf - m->base);
    if (m)
        misuse("%s with memory that is not registered for it", what);
    return (char *)buf;
}

struct memory *memory_of(struct endpoint *e, const struct head *h, uint64_t right, char **at)
{
    struct memory *m = find(e->domain, h->key);
    const char *what = right == FI_REMOTE_WRITE ? "write" : "read";
    if (!m)
        misuse("a %s of %zu bytes with key %lx, which is not registered", what, (size_t)h->total, h->key);
    if (m->endpoint && m->endpoint != e)
        misuse("a %s with key %lx at an endpoint that the memory is not bound to", what, h->key);
    if (!(m->access & right))
        misuse("a %s with key %lx, which lacks that right", what, h->key);
    uint64_t off = h->addr - (e->profile->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)m->base : 0);
    if (off > m->bytes || h->total > m->bytes - off)
        misuse("a %s of %zu bytes at offset %lx of memory of %zu bytes", what, (size_t)h->total, off, m->bytes);
    if (m->pinned && !is_resident(m->base + off, h->total))
        misuse("a %s of %zu bytes at offset %lx of memory whose pages the program has given back", what, (size_t)h->total, off);
    *at = (m->view ? m->view : m->base) + off;
    return m;
}

/* ---- fabric and domain --------------------------------------------------------------------------------------------- */

static int domain_close(struct fid *fid)
{
    struct domain *d = (struct domain *)fid;
    if (d->users || d->memories)
        misuse("fi_close of a domain with %d open objects%s", d->users, d->memories ? " and registered memory" : "");
    d->fabric->domains--;
    free(d);
    return 0;
}

static int domain_open(struct fid_fabric *fid, struct fi_info *info, struct fid_domain **out, void *context)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = domain_close};
    static struct fi_ops_mr mr_ops = {.size = sizeof mr_ops, .reg = reg, .regattr = regattr};
    static struct fi_ops_domain domain_ops = {.size = sizeof domain_ops, .av_open = av_open, .cq_open = cq_open,
                                              .endpoint = endpoint_open};
    struct fabric *f = (struct fabric *)fid;
    struct domain *d = make(sizeof *d);
    if (strncmp(info->domain_attr->name, f->profile->domain, strlen(f->profile->domain)) != 0)
        misuse("fi_domain %s of a fabric that has %s", info->domain_attr->name, f->profile->domain);
    *d = (struct domain){.hmem = (info->caps & FI_HMEM) != 0, .pub = {.fid = {FI_CLASS_DOMAIN, context, &ops}, .ops = &domain_ops, .mr = &mr_ops}, .fabric = f,
                         .profile = f->profile};
    f->domains++;
    *out = &d->pub;
    return 0;
}

static int fabric_close(struct fid *fid)
{
    struct fabric *f = (struct fabric *)fid;
    if (f->domains)
        misuse("fi_close of a fabric with %d open domains", f->domains);
    free(f);
    return 0;
}

int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
    static struct fi_ops ops = {.size = sizeof ops, .close = fabric_close};
    static struct fi_ops_fabric fabric_ops = {.size = sizeof fabric_ops, .domain = domain_open};
    struct fabric *f = make(sizeof *f);
    *f = (struct fabric){.pub = {.fid = {FI_CLASS_FABRIC, context, &ops}, .ops = &fabric_ops},
                         .profile = profile_of(attr->name)};
    if (!f->profile)
        misuse("fi_fabric %s, which is not on this machine", attr->name);
    *out = &f->pub;
    return 0;
}

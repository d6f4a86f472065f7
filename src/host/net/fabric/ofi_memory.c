/* ofi_memory.c - register memory with libfabric: see ofi_memory.h. */
#include "host/net/fabric/ofi_memory.h"

#include <pthread.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "host/net/fabric/ofi.h"
#include "host/util/log.h"
#include "host/util/random.h"

/* libfabric 1.20 and later; headers may be older. */
#define MR_DMABUF (1ULL << 40)
struct dmabuf {
    int fd;
    uint64_t offset;
    size_t len;
    void *base_addr;
};
union attr {
    struct fi_mr_attr v;
    char room[256]; /* zero: fields that newer versions add */
};

static struct fid_domain *domain;
static struct fid_ep *endpoint;
static const struct fi_info *info;
static int without_cuda;
struct shi_ofi_device shi_ofi_device;

void shi_ofi_memory_up(struct fid_domain *d, struct fid_ep *ep, const struct fi_info *i, int cuda)
{
    domain = d;
    endpoint = ep;
    info = i;
    without_cuda = !cuda;
}

void shi_ofi_memory_leave(void)
{
    domain = NULL;
    endpoint = NULL;
    info = NULL;
    without_cuda = 0;
    shi_ofi_device = (struct shi_ofi_device){.base = 0};
}

/* 8 random bytes that serve no other key. The kernel gives 256 at a time: a call takes longer than a registration. 0 or -errno. */
static int random_word(uint64_t *word)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t words[32];
    static size_t n;
    pthread_mutex_lock(&lock);
    int err = n ? 0 : shi_random_bytes(words, sizeof words);
    if (!err) {
        n = n ? n - 1 : sizeof words / sizeof *words - 1;
        *word = words[n];
        words[n] = 0;
    }
    pthread_mutex_unlock(&lock);
    return err;
}

/* A random key, where the provider lets us choose. 0 or -errno. */
static int random_key(uint64_t *key)
{
    size_t bytes = info->domain_attr->mr_key_size;
    uint64_t word;
    *key = 0;
    if (info->domain_attr->mr_mode & FI_MR_PROV_KEY)
        return 0;
    int err = random_word(&word);
    if (!err)
        memcpy(key, &word, bytes < sizeof word ? bytes : sizeof word);
    return err;
}

static int is_taken(int rc)
{
    return rc == -FI_ENOKEY && !(info->domain_attr->mr_mode & FI_MR_PROV_KEY);
}

/* A new registration of memory at base, as peers name it. 0 or libfabric's error. */
static int finish(const void *base, struct fid_mr *mr, struct shi_net_memory *out)
{
    int mode = info->domain_attr->mr_mode, rc = 0;
    if (mode & FI_MR_ENDPOINT && !(rc = fi_mr_bind(mr, &endpoint->fid, 0)))
        rc = fi_mr_enable(mr);
    if (rc) {
        fi_close(&mr->fid);
        return rc;
    }
    *out = (struct shi_net_memory){.base = mode & FI_MR_VIRT_ADDR ? (uint64_t)base : 0, .key = fi_mr_key(mr),
                                   .handle = (uint64_t)mr};
    return 0;
}

int shi_ofi_expose(const void *base, size_t bytes, int rights, struct shi_net_memory *out)
{
    uint64_t key, access = (rights & SHI_NET_READ ? FI_REMOTE_READ : 0) | (rights & SHI_NET_WRITE ? FI_REMOTE_WRITE : 0);
    struct fid_mr *mr;
    int rc;
    do {
        if ((rc = random_key(&key)))
            return rc;
        rc = fi_mr_reg(domain, base, bytes, access, 0, key, 0, &mr, NULL);
    } while (is_taken(rc));
    return rc ? rc : finish(base, mr, out);
}

/* Register under a key that is not in use. */
static int register_device(union attr *a, uint64_t flags, struct fid_mr **mr)
{
    int rc;
    do {
        if ((rc = random_key(&a->v.requested_key)))
            return rc;
        rc = fi_mr_regattr(domain, &a->v, flags, mr);
    } while (is_taken(rc));
    return rc;
}

int shi_ofi_expose_device(const void *base, size_t bytes, const struct shi_device_memory *m, struct shi_net_memory *out)
{
    struct iovec range = {(void *)base, bytes};
    struct dmabuf buf = {m->fd, m->fd_off, bytes, (char *)base - m->fd_off};
    union attr a = {.v = {.mr_iov = &range, .iov_count = 1,
                          .access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE}};
    int is_cuda = m->interface == SHI_DEVICE_MEMORY_CUDA, rc = -FI_ENOSYS;
    struct fid_mr *mr;
    if (!(info->caps & FI_HMEM) || (is_cuda && without_cuda))
        return -FI_ENOSYS;
    a.v.iface = is_cuda ? FI_HMEM_CUDA : FI_HMEM_ZE;
    a.v.device.cuda = m->index; /* of Level Zero: the same, as its first driver has the number 0 */
    if (m->index >= 0)
        rc = register_device(&a, 0, &mr);
    if (rc && m->fd >= 0 && info->fabric_attr->api_version >= FI_VERSION(1, 20)) {
        a.v.mr_iov = (const struct iovec *)&buf;
        rc = register_device(&a, MR_DMABUF, &mr);
    }
    if (!rc)
        rc = finish(base, mr, out);
    if (rc)
        return rc;
    const struct shi_provider *row = shi_ofi_row(info);
    out->handle |= m->late && !(row && row->copies) ? SHI_NET_LATE : 0;
    shi_ofi_device.base = (uintptr_t)base;
    shi_ofi_device.desc = fi_mr_desc(mr);
    shi_ofi_device.memory = *out;
    __atomic_store_n(&shi_ofi_device.bytes, bytes, __ATOMIC_RELEASE); /* R1 */
    return 0;
}

void shi_ofi_withdraw(const struct shi_net_memory *m)
{
    if (m->handle == shi_ofi_device.memory.handle)
        __atomic_store_n(&shi_ofi_device.bytes, 0, __ATOMIC_RELAXED);
    fi_close(&((struct fid_mr *)(m->handle & ~(uint64_t)SHI_NET_LATE))->fid);
}

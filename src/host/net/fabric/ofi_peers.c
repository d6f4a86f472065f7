/* ofi_peers.c - insert addresses of PEs: see ofi_peers.h. */
#include "host/net/fabric/ofi_peers.h"

#include <errno.h>
#include <pthread.h>
#include <rdma/fi_errno.h>

#include "host/net/fabric/ofi.h"
#include "host/util/log.h"
#include "host/util/table.h"

uint64_t *shi_ofi_handles;
static struct fid_av *av;
static const struct shi_net_address *addresses;
static size_t stride;

int shi_ofi_peers_up(struct fid_av *table, const struct shi_net_address *first, size_t bytes, int n)
{
    av = table;
    addresses = first;
    stride = bytes;
    shi_ofi_handles = shi_table((size_t)n, sizeof *shi_ofi_handles);
    return shi_ofi_handles ? 0 : -ENOMEM;
}

void shi_ofi_peers_leave(int n)
{
    shi_table_free(shi_ofi_handles, (size_t)n, sizeof *shi_ofi_handles);
    shi_ofi_handles = NULL;
    av = NULL;
    addresses = NULL;
    stride = 0;
}

static pthread_mutex_t inserting = PTHREAD_MUTEX_INITIALIZER; /* of shi_ofi_handles */

fi_addr_t shi_ofi_peer_insert(int pe)
{
    fi_addr_t at = 0;
    pthread_mutex_lock(&inserting);
    uint64_t handle = shi_ofi_handles[pe];
    int rc = handle ? 1 : fi_av_insert(av, (const char *)addresses + (size_t)pe * stride, 1, &at, 0, NULL);
    at = handle ? handle - 1 : at;
    if (rc == 1)
        __atomic_store_n(&shi_ofi_handles[pe], at + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&inserting);
    if (rc != 1)
        shi_die("network", "libfabric cannot use the address of PE %d: %s", pe, shi_ofi.error(rc < 0 ? -rc : FI_EINVAL));
    return at;
}

/* The old entry stays in libfabric's table: what it has for a PE that died, such as a connection, ends by itself. */
void shi_ofi_peer_renew(int pe)
{
    pthread_mutex_lock(&inserting);
    __atomic_store_n(&shi_ofi_handles[pe], 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&inserting);
}

/* peers.c - the tables of peers, filled from the node's shared memory and the device heaps. */
#include "host/init/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host/coll/team.h"
#include "host/net/stream/stream.h"
#include "host/util/table.h"

static struct shi_peer *peers;
static struct shi_peer *no_peers; /* the same length, nothing reachable, never written */
static size_t n_peers;

void shi_peers_fill(void *entries, int n)
{
    struct shi_peer *p = entries;
    for (int pe = 0; pe < n; pe++)
        p[pe] = (struct shi_peer){.pe = pe, .rank = -1, .remote = 1, .same_program = 1};
}

/* n entries of PEs of other nodes, or NULL. */
static struct shi_peer *remote_peers(const struct shi_shm *shm, size_t n)
{
    if ((size_t)shm->n == n) {
        struct shi_peer *p = shi_table(n, sizeof *p);
        if (p)
            shi_peers_fill(p, (int)n);
        return p;
    }
    void *p = mmap(NULL, n * sizeof(struct shi_peer), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, shm->fd,
                   (off_t)shm->peers_off);
    return p == MAP_FAILED ? NULL : p;
}

int shi_peers_up(const struct shi_statics *st)
{
    const struct shi_shm *shm = &shi_world.shm;
    n_peers = (size_t)shi_world.n_pes;
    peers = remote_peers(shm, n_peers);
    no_peers = shi_table(n_peers, sizeof *no_peers);
    if (!peers || !no_peers)
        return -ENOMEM;
    for (int pe = 0; shi_world.lane && pe < shi_world.n_pes; pe++)
        if (!shi_stream_same_program(pe))
            peers[pe].same_program = 0;
    for (int i = 0; i < shm->n; i++) {
        const struct shi_shm_region *r = &shm->region[i];
        struct shi_peer *p = &peers[r->pe];
        if (shi_world.config.transport == SHI_TRANSPORT_OFI && r->pe != shi_world.pe)
            continue;
        p->remote = 0;
        p->rank = i;
        p->heap_bytes = r->heap_bytes < shi_world.heap_bytes ? r->heap_bytes : shi_world.heap_bytes;
        p->heap_delta = (ptrdiff_t)((uintptr_t)shm->base + r->heap_off - shm->heap_lo);
        p->same_program = r->exe_id == st->exe_id; /* another program's globals are not ours */
        p->data_bytes = p->same_program ? st->bytes : 0;
        p->data_delta = (ptrdiff_t)((uintptr_t)shm->base + r->data_off + st->relro_bytes - st->lo);
    }
    peers[shi_world.pe].heap_delta = peers[shi_world.pe].data_delta = 0;
    shi_world.peer = peers;
    return 0;
}

void shi_peers_down(void)
{
    shi_table_free(peers, n_peers, sizeof *peers);
    shi_table_free(no_peers, n_peers, sizeof *no_peers);
    peers = no_peers = NULL;
    n_peers = 0;
}

const struct shi_peer *shi_peers_fast(void)
{
    return shi_all_slow() ? no_peers : peers;
}

void shi_peers_add_device(void *base, size_t bytes, void *const *mapped, int host_access)
{
    shi_world.dev_lo = (uintptr_t)base;
    shi_world.dev_bytes = bytes;
    shi_world.dev_private = !host_access;
    for (int i = 0; i < shi_world.n_pes; i++) {
        if (!mapped[i] && !peers[i].dev_bytes)
            continue; /* no page of this PE's own for it */
        peers[i].dev_delta = mapped[i] ? (char *)mapped[i] - (char *)base : 0;
        peers[i].dev_bytes = mapped[i] ? bytes : 0;
    }
    SHI_CTX_DEFAULT->peer = shi_peers_fast();
    shi_team_refresh();
}

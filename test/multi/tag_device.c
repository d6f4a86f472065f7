/*
 * tag_device.c - tagged messages, and the data and replies of GPCs, from and to the device heap.
 *
 * Built twice, like device.c: PRIVATE_MEMORY requests device memory that the host cannot access.
 */
#include "../tap_pes.h"

#include <shmemx.h>

#ifndef PRIVATE_MEMORY
#define PRIVATE_MEMORY 0
#endif

enum { MOST = 200000 };
static const size_t lengths[] = {0, 1, 8, 33, 4000, 8152, 8153, MOST};
static unsigned char *dev, *mine, *back; /* device heap; private memory */

static void fill(unsigned char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(seed * 17 + i * 5);
}

static int is_filled(const unsigned char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != (unsigned char)(seed * 17 + i * 5))
            return 0;
    return 1;
}

/* Send n bytes around the ring, from and to either kind of memory, the receive posted before or after the arrival; with
 * in_pieces, as two pieces. */
static void send_round(size_t n, int from_device, int to_device, int expected, int in_pieces)
{
    int from = (me + n_pes - 1) % n_pes;
    unsigned char *source = from_device ? dev : mine, *dest = to_device ? dev + MOST : back;
    shmemx_tag_request_t s, r;
    shmemx_tag_iov_t v[2] = {{source, n / 3}, {source + n / 3, n - n / 3}};
    fill(back, n, (unsigned)me);
    shmem_putmem(dev, back, n, me);
    fill(mine, n, (unsigned)me);
    memset(back, 0, n);
    shmem_putmem(dev + MOST, back, n, me);
    shmem_barrier_all();
    if (expected)
        shmemx_tag_irecv(SHMEM_TEAM_WORLD, dest, n, 1, SHMEMX_TAG_EXACT, from, &r);
    shmem_barrier_all();
    if (in_pieces)
        shmemx_tag_isendv(SHMEM_TEAM_WORLD, v, 2, 1, next_pe(), &s);
    else
        shmemx_tag_isend(SHMEM_TEAM_WORLD, source, n, 1, next_pe(), &s);
    if (!expected) {
        shmemx_tag_probe(SHMEM_TEAM_WORLD, 1, SHMEMX_TAG_EXACT, from, NULL);
        shmemx_tag_irecv(SHMEM_TEAM_WORLD, dest, n, 1, SHMEMX_TAG_EXACT, from, &r);
    }
    shmemx_tag_wait(&r, NULL);
    shmemx_tag_wait(&s, NULL);
    if (to_device)
        shmem_getmem(back, dest, n, me);
    CHECKF(is_filled(back, n, (unsigned)from), "%zu bytes, device to %s: %d", n, to_device ? "device" : "host", from_device);
}

/* Catches: device memory that the host loads or stores, a fetch between the wrong kinds of memory. */
static void test_every_way(void)
{
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int k = 0; k < 16; k++)
            send_round(lengths[i], k & 1, k >> 1 & 1, k >> 2 & 1, k >> 3);
}

/* The reply is the data with 1 added to every byte. */
static int add_one(shmemx_gpc_call_t *c)
{
    for (size_t i = 0; i < c->dlen; i++)
        ((unsigned char *)c->rdata)[i] = (unsigned char)(((const unsigned char *)c->data)[i] + 1);
    c->rdsize = c->dlen;
    return SHMEMX_GPC_DONE;
}

/* Catches: the same for GPC data inside a message, in pieces and by a fetch, and for the reply. */
static void test_calls(void)
{
    int func = shmemx_gpc_register(add_one);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t n = lengths[i];
        fill(back, n, (unsigned)me);
        shmem_putmem(dev, back, n, me);
        memset(back, 0, n);
        shmem_putmem(dev + MOST, back, n, me);
        shmem_quiet();
        CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, func, next_pe(), NULL, 0, dev, n, NULL, 0, dev + MOST, n, NULL) == 0);
        shmem_getmem(back, dev + MOST, n, me);
        for (size_t k = 0; k < n; k++)
            back[k]--;
        CHECKF(is_filled(back, n, (unsigned)me), "%zu bytes", n);
        shmem_barrier_all();
    }
    shmemx_gpc_release(func);
}

int main(void)
{
    if (PRIVATE_MEMORY)
        setenv("ZE_CPU_PRIVATE", "1", 1);
    shmem_init();
    tap_pes_begin();
    mine = malloc(MOST);
    back = malloc(MOST);
    dev = shmemg_malloc(2 * MOST);
    if (!dev) {
        printf("Bail out! no device memory\n");
        return 1;
    }
    RUN(test_every_way, "between host and device memory, expected or not, whole or in pieces");
    RUN(test_calls, "data and replies of GPCs in device memory");
    int status = tap_end();
    shmem_finalize();
    return status;
}

/*
 * ofi_throttle.c - see ofi_throttle.h. A packet filter on the listening socket drops the requests.
 *
 *   word            written by                        read by     order
 *   state.until_ns  refusals, under libfabric's lock  polls       R1 -> A1
 *   state.listener  as until_ns, one value            polls       R1 -> A1
 *   state.closed    refusals and polls                both        R1 -> A1 until_ns and listener are set
 *   throttled       refusals and polls                polls       R2 -> A2 a poll that clears it has seen `closed`
 */
#include "host/net/ofi_throttle.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "host/net/net.h"
#include "host/util/base.h"

/* Of the time, refusals may take one part in PARTS, and AT_ONCE_NS at a time. MOST_NS: of one, as the thread may be
 * suspended meanwhile. */
enum { PARTS = 25, AT_ONCE_NS = 1000000, MOST_NS = 100000, EXEMPT = (BPF_MAXINSNS - 2) / 2 };

int shi_ofi_throttled;

static struct {
    uint64_t spent_ns, until_ns;
    int listener, closed;
} state[SHI_NET_LANES];
static struct in6_addr *exempt;
static int n_exempt;

void shi_ofi_throttle_exempt(const struct in6_addr *host)
{
    struct in6_addr *more = n_exempt < EXEMPT ? realloc(exempt, (size_t)(n_exempt + 1) * sizeof *exempt) : NULL;
    if (!more) {
        n_exempt = EXEMPT + 1; /* there will be no filter */
        return;
    }
    exempt = more;
    exempt[n_exempt++] = *host;
}

/* Drop packets but those from exempt hosts, of whose addresses the last 4 bytes are compared. 0 or -1. */
static int drop_requests(int listener)
{
    struct sockaddr_storage own;
    socklen_t bytes = sizeof own;
    struct sock_filter *f = malloc((size_t)(2 * n_exempt + 2) * sizeof *f), *at = f;
    if (!f || getsockname(listener, (void *)&own, &bytes)) {
        free(f);
        return -1;
    }
    *at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)SKF_NET_OFF + (own.ss_family == AF_INET ? 12 : 20));
    for (int i = 0; i < n_exempt; i++) {
        uint32_t last;
        memcpy(&last, &exempt[i].s6_addr[12], sizeof last);
        *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(last), 0, 1);
        *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    }
    *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    const struct sock_fprog program = {(unsigned short)(at - f), f};
    int rc = setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
    free(f);
    return rc;
}

void shi_ofi_throttle_refused(int i, int listener, uint64_t ns)
{
    state[i].spent_ns += ns < MOST_NS ? ns : MOST_NS;
    if (state[i].spent_ns < AT_ONCE_NS || n_exempt > EXEMPT)
        return;
    __atomic_store_n(&state[i].until_ns, shi_coarse_ns() + state[i].spent_ns * PARTS, __ATOMIC_RELAXED);
    state[i].spent_ns = 0;
    __atomic_store_n(&state[i].listener, listener, __ATOMIC_RELAXED);
    if (!__atomic_exchange_n(&state[i].closed, 1, __ATOMIC_RELEASE)) /* R1 */
        drop_requests(listener);
    __atomic_store_n(&shi_ofi_throttled, 1, __ATOMIC_RELEASE); /* R2 */
}

void shi_ofi_throttle_end(void)
{
    int throttled = 0, any = 0;
    __atomic_exchange_n(&shi_ofi_throttled, 0, __ATOMIC_ACQUIRE); /* A2 */
    for (int i = 0; i < SHI_NET_LANES; i++) {
        if (!__atomic_load_n(&state[i].closed, __ATOMIC_ACQUIRE)) /* A1 */
            continue;
        if (shi_coarse_ns() < __atomic_load_n(&state[i].until_ns, __ATOMIC_RELAXED)) {
            throttled = 1;
            continue;
        }
        int listener = __atomic_load_n(&state[i].listener, __ATOMIC_RELAXED);
        setsockopt(listener, SOL_SOCKET, SO_DETACH_FILTER, &any, sizeof any);
        __atomic_store_n(&state[i].closed, 0, __ATOMIC_RELAXED);
    }
    if (throttled)
        __atomic_store_n(&shi_ofi_throttled, 1, __ATOMIC_RELAXED);
}

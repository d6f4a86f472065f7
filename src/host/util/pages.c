/* pages.c - see pages.h. By system calls: the library needs no library for this. */
#include "host/util/pages.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/memory.h"

/* Of the kernel's interface, which not every C library declares. */
enum { POLICY_DEFAULT = 0, POLICY_BIND = 2, POLICY_INTERLEAVE = 3, GET_ALLOWED = 4, COLLAPSE = 25 };
enum { NODES = 1024, WORD_BITS = 8 * sizeof(unsigned long), WORDS = NODES / WORD_BITS, TRIES = 10 };

static int set_policy(const char *routine, void *addr, size_t bytes, int policy, const unsigned long *nodes)
{
    if (!syscall(SYS_mbind, addr, bytes, policy, nodes, nodes ? NODES + 1 : 0, 0))
        return 0;
    int err = errno;
    if (routine)
        shi_log_error("%s: the system does not place memory on a NUMA node: mbind: %s", routine, strerror(err));
    return -err;
}

/* The nodes of whose memory this process may use. */
static int allowed(const char *routine, unsigned long nodes[WORDS])
{
    memset(nodes, 0, WORDS * sizeof *nodes);
    if (!syscall(SYS_get_mempolicy, NULL, nodes, NODES, NULL, GET_ALLOWED))
        return 0;
    int err = errno;
    shi_log_error("%s: the system does not say which NUMA nodes this process may use: get_mempolicy: %s", routine, strerror(err));
    return -err;
}

int shi_pages_of_node(const char *routine, void *addr, size_t bytes, int node)
{
    unsigned long nodes[WORDS], one[WORDS] = {0};
    int err = allowed(routine, nodes);
    if (err)
        return err;
    if (node < 0 || node >= NODES || !(nodes[node / WORD_BITS] >> (node % WORD_BITS) & 1)) {
        int n = 0;
        for (size_t i = 0; i < WORDS; i++)
            n += __builtin_popcountl(nodes[i]);
        shi_log_error("%s: numa_node = %d is not one of the %d NUMA nodes of this machine with memory for this process", routine, node, n);
        return -ENODEV;
    }
    one[node / WORD_BITS] = 1ul << (node % WORD_BITS);
    return set_policy(routine, addr, bytes, POLICY_BIND, one);
}

int shi_pages_in_turn(const char *routine, void *addr, size_t bytes)
{
    unsigned long nodes[WORDS];
    int err = allowed(routine, nodes);
    return err ? err : set_policy(routine, addr, bytes, POLICY_INTERLEAVE, nodes);
}

void shi_pages_anywhere(void *addr, size_t bytes)
{
    set_policy(NULL, addr, bytes, POLICY_DEFAULT, NULL);
}

/* The kernel collapses only where there is a page already: one in each huge page. A load brings it, too, and changes nothing; memory of no
 * block may be poisoned. */
__attribute__((no_sanitize("address"))) static void touch(const char *addr, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += SHI_HUGE_BYTES)
        (void)*(const volatile char *)(addr + i);
}

int shi_pages_huge(void *addr, size_t bytes, int n, const char **why)
{
    *why = "not enough memory is available";
    if (shi_memory_room("") / (size_t)n < bytes)
        return -ENOMEM;
    touch(addr, bytes);
    int err = 0;
    for (int i = 0; i < TRIES; i++) { /* pages in use by the kernel at this moment are no reason */
        err = madvise(addr, bytes, COLLAPSE) ? -errno : 0;
        if (err != -EAGAIN && err != -EBUSY)
            break;
    }
    *why = err == -EINVAL ? "the kernel cannot give a range huge pages (MADV_COLLAPSE: Linux 6.1 with transparent huge pages)"
                          : "the system has not enough memory in one piece (MADV_COLLAPSE)";
    return err;
}

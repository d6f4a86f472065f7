/* tcp_end.h - an end of a TCP connection, whatever the family of its socket. */
#ifndef SHI_TCP_END_H
#define SHI_TCP_END_H

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

/* An IPv4 address is kept in its IPv6 form, because a socket of either family may use it. */
struct shi_tcp_end {
    struct in6_addr address;
    unsigned port;
};

/* The IPv6 form of an IPv4 address, which is in network order. */
static inline struct in6_addr shi_in6_of(in_addr_t v4)
{
    struct in6_addr a = IN6ADDR_ANY_INIT;
    a.s6_addr[10] = a.s6_addr[11] = 0xff;
    memcpy(&a.s6_addr[12], &v4, sizeof v4);
    return a;
}

/* 0, or -ENOSYS when it is not an IP address. */
static inline int shi_tcp_end_of(const struct sockaddr *a, struct shi_tcp_end *out)
{
    const struct sockaddr_in *v4 = (const void *)a;
    const struct sockaddr_in6 *v6 = (const void *)a;
    if (a->sa_family == AF_INET)
        *out = (struct shi_tcp_end){shi_in6_of(v4->sin_addr.s_addr), ntohs(v4->sin_port)};
    else if (a->sa_family == AF_INET6)
        *out = (struct shi_tcp_end){v6->sin6_addr, ntohs(v6->sin6_port)};
    else
        return -ENOSYS;
    return 0;
}

/* Orders addresses. */
static inline int shi_tcp_compare_hosts(const struct shi_tcp_end *a, const struct shi_tcp_end *b)
{
    return memcmp(&a->address, &b->address, sizeof a->address);
}

#endif

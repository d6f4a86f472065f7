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

/* The address for a socket of its family. Returns its length. */
static inline socklen_t shi_tcp_end_to(const struct shi_tcp_end *end, struct sockaddr_storage *out)
{
    struct sockaddr_in *v4 = (void *)out;
    struct sockaddr_in6 *v6 = (void *)out;
    memset(out, 0, sizeof *out);
    if (IN6_IS_ADDR_V4MAPPED(&end->address)) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)end->port);
        memcpy(&v4->sin_addr, &end->address.s6_addr[12], sizeof v4->sin_addr);
        return sizeof *v4;
    }
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons((uint16_t)end->port);
    v6->sin6_addr = end->address;
    return sizeof *v6;
}

/* Orders addresses. */
static inline int shi_tcp_compare_hosts(const struct shi_tcp_end *a, const struct shi_tcp_end *b)
{
    return memcmp(&a->address, &b->address, sizeof a->address);
}

#endif

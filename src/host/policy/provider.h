/*
 * provider.h - what this library knows of libfabric's providers beyond what they report of themselves: one table, a row a provider, a column a
 * property. Functions here have no state and make no calls.
 */
#ifndef SHI_PROVIDER_H
#define SHI_PROVIDER_H

#include <stddef.h>

/* Properties. */
struct shi_provider {
    const char *name;         /* libfabric's */
    unsigned ethernet : 1;    /* the row is for machines without an RDMA device, where psm3 uses sockets */
    unsigned node_only : 1;   /* it reaches PEs of this node only */
    unsigned job_key : 1;     /* endpoints of other jobs may be taken for peers unless they have a key of the job */
    unsigned polls_again : 1; /* reading completions polls the network after each one, for the next one */
    unsigned late_close : 1;  /* closing an endpoint waits for its peers */
    unsigned immediate : 1;   /* reports writes with 4 bytes of immediate data at the target, whatever cq_data_size says */
    unsigned copies : 1;      /* its data in device memory is copied by calls, so it is visible before later messages */
    unsigned loses_first : 1; /* once a connection has ended, it may lose what a peer sends first over another one (test/unit/first_message.c) */
    const char *variable;     /* its environment variable for the length of messages; NULL: none */
    size_t message;           /* bytes: it sends messages without a handshake up to here, if that is more than usual; 0: the usual length */
};

/* The row of a provider, or NULL. */
const struct shi_provider *shi_provider_of(const char *name, int has_rdma);

/* The place of a row in the order of preference, from 0; that of NULL is behind all. goes_on: the job goes on when a PE dies, so connections end, and
 * providers that lose messages then are behind the others. */
int shi_provider_rank(const struct shi_provider *p, int goes_on);

/* The length of messages. text: the value of the row's variable, NULL: not set. Messages are as long as that or the row says, but at most
 * `largest`, the provider's own limit, and `most`, and a multiple of 64 below it, and at least `usual`. */
size_t shi_provider_message(const struct shi_provider *p, const char *text, size_t largest, size_t usual, size_t most);

#endif

/*
 * intruder.h - the intruder's access to processes of another user: their ports, libfabric, plain connections, a relay
 * that truncates libfabric's bytes, and packets captured on the loopback interface. The attacks are in intruder.c.
 *
 * If the intruder itself fails, it ends with status 2 after one line.
 */
#ifndef INTRUDER_H
#define INTRUDER_H

#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "host/net/stream/stream_wire.h"

enum { PORTS = 64 };
extern struct sockaddr_in port[PORTS]; /* ports of the attacked processes */
extern int n_ports;
extern long tried, sent, obtained; /* see intruder.c */

double now(void);
void give_up(const char *what, int err) __attribute__((noreturn));
void random_bytes(void *to, size_t n);

/* Set port[] to the ports on which processes of this user listen, on this host or, from the file INTRUDER_TCP, on
 * another one. Waits up to 20 s until there are any. */
void find_ports(unsigned uid);

/* A connection, or -1. */
int connect_to(const struct sockaddr_in *p);

/* ---- libfabric ---------------------------------------------------------------------------------------------------- */

extern struct fid_domain *domain;
extern struct fid_ep *ep;

void open_fabric(void);
void new_endpoint(void); /* without connections */
fi_addr_t peer(const struct sockaddr_in *p);

/* A context that no recent operation has used. */
void *next_context(void);

/* Wait up to `seconds` for the operation with this context: 1 complete, 0 not complete, or -errno. */
int outcome(const void *context, double seconds);

/* Send these bytes as one libfabric message. 0: the connection was refused. */
int send_to(fi_addr_t to, const void *bytes, size_t n);

/* The same, and wait until it and all before it are in the receiver's buffers. */
int deliver_to(fi_addr_t to, const void *bytes, size_t n);

/* ---- relay -------------------------------------------------------------------------------------------------------- */

/* Connect to a port by libfabric and send one message. Only `limit` bytes, including libfabric's own, reach the port;
 * with `change`, one bit of the last one is flipped. Then the connection ends. */
void cut_at(const struct sockaddr_in *p, long limit, int change);

/* ---- capture ------------------------------------------------------------------------------------------------------ */

enum { CAPTURED = 1024 };
union captured {
    struct head head;
    char data[SHI_NET_LONGEST_BYTES];
};
extern union captured *captured;
extern int n_captured;

/* Open a capture of the loopback interface (a privileged operation). Then, also without privilege, collect the messages
 * of this user's job that were sent since, for so many seconds or until there are CAPTURED. */
void open_sniffer(void);
void capture(unsigned uid, double seconds);

#endif

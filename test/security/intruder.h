/*
 * intruder.h - how the intruder reaches processes of another user: their ports, libfabric, plain connections, a relay that
 * cuts libfabric's bytes, and packets seen on the loopback interface. The attacks themselves are in intruder.c.
 *
 * A failure of the intruder's own machinery ends it with status 2 after one line.
 */
#ifndef INTRUDER_H
#define INTRUDER_H

#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "host/net/stream_wire.h"

enum { PORTS = 64 };
extern struct sockaddr_in port[PORTS]; /* of the processes under attack */
extern int n_ports;
extern long tried, sent, obtained; /* see intruder.c */

double now(void);
void give_up(const char *what, int err) __attribute__((noreturn));
void random_bytes(void *to, size_t n);

/* Set port[] to those on which processes of this user listen, on this host or, as the file INTRUDER_TCP lists them, on another
 * one. Waits up to 20 s until there are any. */
void find_ports(unsigned uid);

/* A connection, or -1. */
int connect_to(const struct sockaddr_in *p);

/* ---- libfabric ---------------------------------------------------------------------------------------------------- */

extern struct fid_domain *domain;
extern struct fid_ep *ep;

void open_fabric(void);
void new_endpoint(void); /* without the connections of the one before */
fi_addr_t peer(const struct sockaddr_in *p);

/* A context that no operation before has used lately. */
void *next_context(void);

/* The result of the operation with this context, within so many seconds: 1 it is complete, 0 none yet, or -errno. */
int outcome(const void *context, double seconds);

/* Send these bytes as one message of libfabric. 0: it could not be sent: the connection was refused. */
int send_to(fi_addr_t to, const void *bytes, size_t n);

/* The same, and wait until it and all before it are in the receiver's buffers. */
int deliver_to(fi_addr_t to, const void *bytes, size_t n);

/* ---- relay -------------------------------------------------------------------------------------------------------- */

/* Connect to a port by libfabric and send it one message, of which, libfabric's own bytes included, only `limit` bytes reach
 * the port; with `change`, the last of them with one bit changed. Then the connection ends. */
void cut_at(const struct sockaddr_in *p, long limit, int change);

/* ---- capture ------------------------------------------------------------------------------------------------------ */

enum { CAPTURED = 1024 };
union captured {
    struct head head;
    char data[SHI_NET_MESSAGE_BYTES];
};
extern union captured *captured;
extern int n_captured;

/* Observe the loopback interface; needs the right to. Then, perhaps without it: collect the messages of this user's job that
 * were sent since, for so many seconds or until there are CAPTURED. */
void open_sniffer(void);
void capture(unsigned uid, double seconds);

#endif

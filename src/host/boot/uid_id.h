/*
 * uid_id.h - the unique id of a job: a secret, and the addresses at which the process that made it listens.
 *
 *     bytes 0 to 3    version: 0x10000 + 128
 *     bytes 4 to 19   the secret: random
 *     byte 20         number of addresses, 1 to SHI_UID_ADDRS; byte 21: zero
 *     bytes 22 to 111 addresses, 18 bytes each: IPv6, or IPv4 in its IPv6 form, and port, in network order
 *     bytes 112 to 119  zero
 *     bytes 120 to 127  SipHash of the bytes before, with the key zero: finds ids that were cut or changed by mistake
 */
#ifndef SHI_UID_ID_H
#define SHI_UID_ID_H

#include <stdint.h>

#include "host/boot/boot.h"
#include "host/util/tcp_end.h"

enum { SHI_UID_ADDRS = 5, SHI_UID_ADDR_BYTES = 18 };

/* A process's own id, and its sockets that listen: one an address. */
struct shi_uid_own {
    struct shi_uid id;
    int n, fd[SHI_UID_ADDRS];
};

/* 0, or -EINVAL: no unique id of this version. */
int shi_uid_check(const struct shi_uid *id);

void shi_uid_secret(const struct shi_uid *id, uint64_t out[2]);

/* The addresses. Returns how many. */
int shi_uid_addresses(const struct shi_uid *id, struct shi_tcp_end out[SHI_UID_ADDRS]);

void shi_uid_pack(const struct shi_tcp_end *a, unsigned char out[SHI_UID_ADDR_BYTES]);
void shi_uid_unpack(const unsigned char in[SHI_UID_ADDR_BYTES], struct shi_tcp_end *out);

/* "10.0.0.1 port 4000", "::1 port 4000". */
void shi_uid_print(const struct shi_tcp_end *a, char *text, size_t bytes);

/* A socket that listens at this address; port 0: at a free one, which is then in *a. The descriptor, or -errno. */
int shi_uid_listen(struct shi_tcp_end *a);

/* 1: this process made the id and has not taken it: *out gets its sockets. 0: another process's. */
int shi_uid_take(const struct shi_uid *id, struct shi_uid_own *out);

#endif

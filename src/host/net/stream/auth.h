/*
 * auth.h - authentication of messages: a tag of 64 bits that only PEs of the same job can compute.
 *
 * tag = SipHash-2-4(key, sequence number, sender, receiver, NH of each 8 KiB of the message, length): NH (Black, Halevi, Krawczyk,
 * Krovetz, Rogaway: UMAC, 1999) reduces 8 KiB to 128 bits with one multiplication for each 16 bytes; SipHash (Aumasson, Bernstein,
 * 2012) is the pseudorandom function over that. A message that was changed keeps its tag with a probability of 2^-64. Both keys are
 * derived from the job's secret. A tag is valid once (stream_rx.c refuses a sequence number that it has seen) and at one PE.
 *
 * No I/O. The keys are constant after shi_auth_set, which runs before the first message.
 */
#ifndef SHI_AUTH_H
#define SHI_AUTH_H

#include <stddef.h>
#include <stdint.h>

#include "host/boot/boot.h"

/* Derive the keys from the job's secret. */
void shi_auth_set(const unsigned char secret[SHI_SECRET_BYTES]);

/* A number of the job that messages may contain: the secret cannot be computed from it. */
uint32_t shi_auth_job(void);

/* Forget the secret. */
void shi_auth_leave(void);

/* The tag of message seq from PE `from` to PE `to`, of which the tag covers `words` words of 8 bytes, fewer than
 * SHI_NET_LONGEST_BYTES in all. */
uint64_t shi_auth_tag(uint64_t seq, uint32_t from, uint32_t to, const void *message, size_t words);

#endif

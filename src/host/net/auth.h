/*
 * auth.h - authentication of messages: a tag of 64 bits that only PEs of the same job can compute.
 *
 * tag = SipHash-2-4(key, head, destination, NH(payload)): NH (Black, Halevi, Krawczyk, Krovetz, Rogaway: UMAC, 1999) reduces
 * the payload to 128 bits with one multiplication for each 16 bytes; SipHash (Aumasson, Bernstein, 2012) is the pseudorandom
 * function over the rest. A payload that was changed keeps its tag with a probability of 2^-64. Both keys are derived from
 * the job's secret. The head has the sender, the sequence number and the length, so a tag is valid once (stream_rx.c refuses
 * a sequence number that it has seen) and at one PE.
 *
 * No I/O. The keys are constant after shi_auth_set, which runs before the first message.
 */
#ifndef SHI_AUTH_H
#define SHI_AUTH_H

#include <stddef.h>
#include <stdint.h>

#include "host/boot/boot.h"

enum { SHI_AUTH_HEAD_BYTES = 32 };

/* Derive the keys from the job's secret. */
void shi_auth_set(const unsigned char secret[SHI_SECRET_BYTES]);

/* A number of the job that messages may contain: the secret cannot be computed from it. */
uint32_t shi_auth_job(void);

/* The tag of a message to PE `to`: of SHI_AUTH_HEAD_BYTES of head, and of a payload of `words` words of 8 bytes, at most
 * SHI_NET_MESSAGE_BYTES in all. */
uint64_t shi_auth_tag(uint32_t to, const void *head, const void *payload, size_t words);

#endif

/* staged.h - requests on device memory that the host cannot load and store, carried out by copies of the device. */
#ifndef SHI_PROXY_STAGED_H
#define SHI_PROXY_STAGED_H

#include "proxy/result.h"

/* Allocate what such requests need, if the host cannot access device memory; the device must be up. 0 or -errno after one
 * line. Pair: shi_staged_down, before the device goes down. */
int shi_staged_up(void);
void shi_staged_down(void);

/* Start a request with valid arguments. `at` is its target address, `signal` its signal word or NULL. Returns as
 * shi_engine_exec.issue. */
int shi_staged_issue(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v, char *at,
                     uint64_t *signal);

/* At intervals: end the job when the device has ended no copy since the first check with requests in progress, for SHMEM_HEARTBEAT. */
void shi_staged_check(uint64_t now_ns);

/* Copy a fetched value to memory of the device, and then complete the request, for which nothing else is left to do. 0, or -EAGAIN. */
int shi_staged_deliver(struct shi_proxy_ring *p, struct shi_engine_op *op, void *to, uint64_t value, size_t bytes);

/* Submit the copies of requests that were issued since the last call. */
void shi_staged_submit(void);

/* The same, and advance the requests of all rings whose copies have ended. */
void shi_staged_poll(void);

#endif

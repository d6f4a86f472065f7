/* staged.h - requests on device memory that the host cannot load and store: the device's copies carry them out. */
#ifndef SHI_PROXY_STAGED_H
#define SHI_PROXY_STAGED_H

#include "proxy/result.h"

/* Get ready, where device memory is such; the device must be up. 0 or -errno after one line. Pair: shi_staged_down, before
 * the device goes. */
int shi_staged_up(void);
void shi_staged_down(void);

/* Start a request whose arguments are good. `at` is what it names on its PE, `signal` its signal's word or NULL. As
 * shi_engine_exec.issue. */
int shi_staged_issue(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v, char *at,
                     uint64_t *signal);

/* Advance the requests of all rings whose copies have ended. */
void shi_staged_poll(void);

#endif

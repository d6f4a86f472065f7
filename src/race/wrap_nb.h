/* wrap_nb.h - requests of nonblocking collectives. */
#ifndef RACE_WRAP_NB_H
#define RACE_WRAP_NB_H

#define SHMEM_NO_GENERICS
#include <shmemx_coll.h>

struct race_thread;

/* The thread has seen this request of a collective complete. */
void race_nb_ends(struct race_thread *u, const shmemx_req_t *req);

static inline int race_nb_is(const shmemx_req_t *req)
{
    return req->lane_ < 0 && req->wait_;
}

#endif

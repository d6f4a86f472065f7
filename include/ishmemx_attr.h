/* ishmemx_attr.h - Intel SHMEM's attributes of initialisation, for C, C++ and SYCL; included by ishmemx.h. */
#ifndef ISHMEMX_ATTR_H
#define ISHMEMX_ATTR_H

#include <stdlib.h>

#include "shmemx_uniqueid.h"

#ifdef __cplusplus
#define ISHMEMX_DEFAULT_(VALUE) = VALUE
#define ISHMEMX_BYTE_ : unsigned char
typedef bool ishmemx_bool_;
#else
#define ISHMEMX_DEFAULT_(VALUE)
#define ISHMEMX_BYTE_
typedef unsigned char ishmemx_bool_;
#endif

typedef enum ISHMEMX_BYTE_ {
    ISHMEMX_RUNTIME_MPI,
    ISHMEMX_RUNTIME_OPENSHMEM,
    ISHMEMX_RUNTIME_PMI,
    ISHMEMX_RUNTIME_INVALID
} ishmemx_runtime_type_t;

typedef struct ishmemx_uniqueid_t {
    char uniqueid[128];
} ishmemx_uniqueid_t;

/* With use_uid the job's PEs meet by uid, as rank of nranks. All else is ignored: this library is the runtime, and initialises itself once. */
typedef struct ishmemx_attr_t {
    ishmemx_runtime_type_t runtime ISHMEMX_DEFAULT_(ISHMEMX_RUNTIME_OPENSHMEM);
    ishmemx_bool_ initialize_runtime ISHMEMX_DEFAULT_(true);
    ishmemx_bool_ gpu ISHMEMX_DEFAULT_(true);
    void *mpi_comm ISHMEMX_DEFAULT_(0);
    ishmemx_bool_ use_uid ISHMEMX_DEFAULT_(false);
    ishmemx_uniqueid_t *uid ISHMEMX_DEFAULT_(0);
    int nranks ISHMEMX_DEFAULT_(0);
    int rank ISHMEMX_DEFAULT_(0);
    int device_idx ISHMEMX_DEFAULT_(-1);
} ishmemx_attr_t;

/* See shmemx_get_uniqueid. */
static inline int ishmemx_get_uniqueid(ishmemx_uniqueid_t *uid)
{
    return shmemx_get_uniqueid((shmemx_uniqueid_t *)(void *)uid);
}

/* 1: the library is up, by the unique id of the attributes; 0: they have none. */
static inline int ishmemx_init_by_uid_(const ishmemx_attr_t *attr)
{
    shmemx_init_attr_t by_id = SHMEMX_INIT_ATTR_INITIALIZER;
    if (!attr || !attr->use_uid)
        return 0;
    by_id.args.uid_args.id = (shmemx_uniqueid_t *)(void *)attr->uid;
    by_id.args.uid_args.myrank = attr->rank;
    by_id.args.uid_args.nranks = attr->nranks;
    if (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &by_id))
        exit(EXIT_FAILURE); /* it has said why */
    return 1;
}

#endif

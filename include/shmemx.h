/* shmemx.h - Fulmar's extensions to OpenSHMEM. None yet: the header exists because the specification names it. */
#ifndef SHMEMX_H
#define SHMEMX_H
#include "shmem.h"
#endif

/* gpc_handle.h - handles of functions, callbacks and trees: equal on all PEs. */
#ifndef SHI_GPC_HANDLE_H
#define SHI_GPC_HANDLE_H

#include <shmemx_gpc.h>

/* Handles below are the built-in trees. */
enum { SHI_GPC_FIRST_HANDLE = 2, SHI_GPC_HANDLES = 256 };

enum shi_gpc_kind { SHI_GPC_FREE, SHI_GPC_FUNC, SHI_GPC_CALLBACK, SHI_GPC_TREE };

union shi_gpc_entry {
    shmemx_gpc_func_t func; /* and callback */
    shmemx_gpc_tree_t tree;
};

/* Collective over the world, in the same order everywhere, which is checked. The handle, or -ENOSPC on all. */
int shi_gpc_register(const char *routine, enum shi_gpc_kind kind, union shi_gpc_entry entry);

/* Collective over the world. 0, or -EINVAL on all for an invalid handle. */
int shi_gpc_release(const char *routine, int handle);

/* The entry of a handle of this kind; SHI_GPC_CALLBACK and SHI_GPC_FUNC are different kinds. 0 when there is none. Any
 * thread. */
int shi_gpc_find(int handle, enum shi_gpc_kind kind, union shi_gpc_entry *out);

/* Remove all: the library goes down. */
void shi_gpc_forget(void);

#endif

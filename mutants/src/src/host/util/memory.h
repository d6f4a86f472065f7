/* memory.h - how much memory this process can still get, and pages allocated before their first use. */
#ifndef SHI_MEMORY_H
#define SHI_MEMORY_H

#include <stddef.h>

/* Bytes that the host has available and the process's cgroups (version 1 or 2) allow; SIZE_MAX where neither can be read.
 * root: "", or, for tests, a folder with other /proc and /sys. */
size_t shi_memory_room(const char *root);

/* Allocate the pages of [addr, + bytes), near the core of the calling thread. addr is a page's start. 0, or -ENOMEM before the
 * memory is used up, by this process or n - 1 others of the host that do the same. Kernels before 5.14 allocate nothing. */
int shi_memory_populate(void *addr, size_t bytes, int n);

#endif

/* pages.h - which pages a mapping gets: of a NUMA node, of all of them, huge ones. */
#ifndef SHI_PAGES_H
#define SHI_PAGES_H

#include <stddef.h>

/* New pages of the file behind this shared mapping are allocated on the node, or in turn on all nodes that this process may use, whichever
 * process writes them first; pages that exist stay. anywhere: where the system chooses, as before. 0, or -errno after one line. */
int shi_pages_of_node(const char *routine, void *addr, size_t bytes, int node);
int shi_pages_in_turn(const char *routine, void *addr, size_t bytes);
void shi_pages_anywhere(void *addr, size_t bytes);

/* Allocate huge pages for the mapping now, which begins and ends at multiples of SHI_HUGE_BYTES; contents stay. 0 or -errno; *why is then
 * the reason. n: processes of this host that do the same. */
int shi_pages_huge(void *addr, size_t bytes, int n, const char **why);

#endif

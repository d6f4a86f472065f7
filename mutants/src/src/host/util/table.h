/* table.h - tables with an entry for each PE of the job, whose memory is allocated with the first use of an entry. */
#ifndef SHI_TABLE_H
#define SHI_TABLE_H

#include <stddef.h>

/* n entries of `bytes` bytes, zero, aligned to a page. The system allocates a page when an entry of it is first touched; code
 * that walks a whole table defeats this. NULL without address space. Pair: shi_table_free, with the same numbers. */
void *shi_table(size_t n, size_t bytes);
void shi_table_free(void *table, size_t n, size_t bytes);

#endif

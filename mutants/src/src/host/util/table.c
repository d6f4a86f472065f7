/* table.c - private memory that is not reserved, in small pages. */
#include "host/util/table.h"

#include <sys/mman.h>

static size_t length(size_t n, size_t bytes)
{
    size_t all = n * bytes;
    return all ? all : 1;
}

void *shi_table(size_t n, size_t bytes)
{
    size_t all = length(n, bytes);
    void *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, all, MADV_NOHUGEPAGE); /* else the first entry may take 2 MiB */
    return p;
}

void shi_table_free(void *table, size_t n, size_t bytes)
{
    if (table)
        munmap(table, length(n, bytes));
}

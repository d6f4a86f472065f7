/*
 * occupied.c - the preferred address of the symmetric heap is in use, and the kernel is older than 4.17 and ignores
 * MAP_FIXED_NOREPLACE.
 */
#include <shmem.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../tap_pes.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum { WORDS = 512 };
static long *first;

/* Replaces mmap for the library. */
void *mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t off)
{
    return (void *)syscall(SYS_mmap, addr, bytes, prot, flags & ~MAP_FIXED_NOREPLACE, fd, off);
}

/* Catches: a heap mapped over an existing mapping. */
static void kept(void)
{
    int same = 1;
    for (long i = 0; i < WORDS; i++)
        same &= first[i] == i + 1;
    CHECK(same);
    long *block = shmem_malloc(sizeof *block);
    CHECK(block && block != first);
    shmem_long_p(block, me + 1, next_pe());
    shmem_barrier_all();
    CHECK(*block == (me + n_pes - 1) % n_pes + 1);
}

int main(void)
{
    first = mmap((void *)0x200000000000, WORDS * sizeof *first, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < WORDS; i++)
        first[i] = i + 1;
    shmem_init();
    tap_pes_begin();
    RUN(kept, "a mapping at the heap's address stays");
    int bad = tap_end();
    shmem_finalize();
    return bad;
}

/*
 * heap_pinned.c - blocks of the symmetric heap over networks that pin registered memory: the heap is registered in steps as
 * blocks are allocated. test/fabric.sh runs this, also with less memory than it allocates (FABRIC_PINNED).
 */
#include "../tap_pes.h"

enum { MIB = 1 << 20 };
static char pattern[MIB];
static int is_short; /* PE 0 can register only FABRIC_PINNED bytes */

/* Put a pattern to the end of the next PE's block, and check what the previous PE has put here. */
static void check_block(char *block, size_t bytes, int round)
{
    memset(pattern, round + me, sizeof pattern);
    shmem_putmem(block + bytes - MIB, pattern, MIB, next_pe());
    shmem_barrier_all();
    CHECK(block[bytes - 1] == (char)(round + (me + n_pes - 1) % n_pes) && block[bytes - MIB] == block[bytes - 1]);
    shmem_barrier_all();
}

/* Catches: a block that peers cannot access; a transfer that the registration of more memory breaks; a realloc that does not
 * register. */
static void steps(void)
{
    char *first = shmem_malloc(2 * MIB);
    check_block(first, 2 * MIB, 1);
    memset(pattern, 2, sizeof pattern);
    shmem_putmem_nbi(first, pattern, MIB, next_pe());
    char *second = shmem_malloc(70 * MIB); /* beyond the first step */
    check_block(second, 70 * MIB, 3);
    CHECK(first[0] == 2 && first[MIB - 1] == 2);
    size_t longer = (is_short ? 100 : 130) * MIB; /* 130: beyond the second step */
    second = shmem_realloc(second, longer);
    check_block(second, longer, 4);
    check_block(first, 2 * MIB, 5);
    shmem_free(second);
    shmem_free(first);
}

/* Catches, where PE 0 has little memory: PEs that disagree; a failed allocation that takes room, or changes the old block; a
 * registration of the other PEs that they forget, or that they rely on, when PE 0 fails. */
static void short_of_memory(void)
{
    char *block = shmem_malloc(50 * MIB);
    char *more = shmem_malloc(150 * MIB), *longer = shmem_realloc(block, 200 * MIB);
    CHECK(more == NULL && longer == NULL);
    check_block(block, 50 * MIB, 6);
    char *again = shmem_malloc(80 * MIB);
    check_block(again, 80 * MIB, 7);
    shmem_free(again);
    CHECK(shmem_malloc(150 * MIB) == NULL);
    shmem_free(block);
}

/* With an argument: store behind all blocks, which must end the job with one line. */
int main(int argc, char **argv)
{
    (void)argv;
    const char *rank = getenv("PMIX_RANK");
    is_short = getenv("FABRIC_PINNED") != NULL;
    if (is_short && rank && strcmp(rank, "0") != 0)
        unsetenv("FABRIC_PINNED");
    shmem_init();
    tap_pes_begin();
    RUN(steps, "blocks of growing lengths");
    if (is_short)
        RUN(short_of_memory, "not enough memory");
    if (argc > 1)
        shmem_putmem((char *)shmem_malloc(8) + 500 * MIB, pattern, MIB, next_pe());
    shmem_finalize();
    return tap_end();
}

/*
 * ptr.c - shmem_ptr and the accessibility queries: which addresses they translate, and which they must not.
 */
#include "../tap_pes.h"

static long static_word = 1, bss_word;
static const long constant = 5;

/* Is PE pe one of those that share memory with this one? */
static int is_on_node(int pe)
{
    return shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe, SHMEM_TEAM_SHARED) >= 0;
}

/* Write to one word of every PE through its pointer, which must change that word and no other. */
static void write_and_look(long *word)
{
    *word = -1;
    shmem_barrier_all();
    long *there = shmem_ptr(word, next_pe());
    CHECK((there != NULL) == is_on_node(next_pe()));
    if (there) {
        CHECK(*there == -1);
        __atomic_store_n(there, 1000 + me, __ATOMIC_RELAXED);
    } else {
        shmem_long_p(word, 1000 + me, next_pe());
    }
    shmem_barrier_all();
    CHECK(*word == 1000 + (me + n_pes - 1) % n_pes);
    CHECK(shmem_ptr(word, me) == word);
    for (int pe = 0; pe < n_pes; pe++) {
        there = shmem_ptr(word, pe);
        CHECKF(there ? is_on_node(pe) && *there == 1000 + (pe + n_pes - 1) % n_pes : !is_on_node(pe),
               "PE %d: wrong word", pe);
        CHECK(shmem_addr_accessible(word, pe) == 1);
    }
    shmem_barrier_all();
}

/* Catches: the offset of another segment or PE. */
static void symmetric(void)
{
    static long function_word;
    long *block = shmem_malloc(1 << 20);
    write_and_look(&block[0]);
    write_and_look(&block[(1 << 17) - 1]);
    write_and_look(&static_word);
    write_and_look(&bss_word);
    write_and_look(&function_word);
    shmem_free(block);
}

/* Catches: pointers for stack, private heap or code, which peers cannot access. Only routines can read peers'
 * constants. */
static void private(void)
{
    long on_stack = 0, *on_heap = malloc(sizeof *on_heap);
    const void *no[] = {&on_stack, on_heap, (const void *)(uintptr_t)&private, NULL, (void *)UINTPTR_MAX};
    for (int i = 0; i < 5; i++)
        for (int pe = 0; pe < n_pes; pe++) {
            CHECKF(shmem_ptr(no[i], pe) == NULL, "shmem_ptr of private address %d, PE %d", i, pe);
            CHECKF(shmem_addr_accessible(no[i], pe) == 0, "private address %d of PE %d accessible", i, pe);
        }
    free(on_heap);
    for (int pe = 0; pe < n_pes; pe++)
        CHECK(shmem_ptr(&constant, pe) == NULL && shmem_addr_accessible(&constant, pe) == 1);
}

/* Catches: a PE number off by one at either end. */
static void which_pes(void)
{
    for (int pe = 0; pe < n_pes; pe++)
        CHECK(shmem_pe_accessible(pe) == 1);
    CHECK(shmem_pe_accessible(-1) == 0);
    CHECK(shmem_pe_accessible(n_pes) == 0);
    CHECK(shmem_addr_accessible(&static_word, -1) == 0);
    CHECK(shmem_addr_accessible(&static_word, n_pes) == 0);
}

/* Catches: a lost update of one word, when some PEs use CPU atomics through the pointer and others the library's atomics. */
static void atomics_agree(void)
{
    static long count;
    long *there = shmem_ptr(&count, 0);
    for (int i = 0; i < 2000; i++) {
        if (there)
            __atomic_fetch_add(there, 1, __ATOMIC_RELAXED);
        else
            shmem_long_atomic_add(&count, 1, 0);
        shmem_long_atomic_inc(&count, 0);
    }
    shmem_barrier_all();
    CHECK(me || count == 4000L * n_pes);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    RUN(symmetric, "heap, .data, .bss and function statics of every PE");
    RUN(private, "NULL for private addresses");
    RUN(which_pes, "pe_accessible and addr_accessible at both ends of the range");
    RUN(atomics_agree, "atomics through shmem_ptr and by routines");
    shmem_finalize();
    return tap_end();
}

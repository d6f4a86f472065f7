/*
 * gpc_hash.c - a distributed hash table: the owner of a key runs the insert, so neither a lock nor a remote pointer is needed.
 *
 * The program counts words. Every PE inserts its share with many calls in flight; each call returns the count so far. A PE
 * runs one GPC function at a time, so the table needs no lock.
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4096, WORD_BYTES = 16, WINDOW = 32, INSERTS = 2000, WORDS = 500 };

struct entry {
    char word[WORD_BYTES]; /* "" is free */
    long count;
};

static struct entry table[SLOTS]; /* this PE's part */

static unsigned hash(const char *word)
{
    unsigned h = 2166136261u;
    while (*word)
        h = (h ^ (unsigned char)*word++) * 16777619u;
    return h;
}

/* Return the entry of the word, or a free one for it; NULL when the table is full. */
static struct entry *find(const char *word)
{
    unsigned first = hash(word) / (unsigned)shmem_n_pes();
    for (unsigned i = 0; i < SLOTS; i++) {
        struct entry *e = &table[(first + i) % SLOTS];
        if (!e->word[0] || strcmp(e->word, word) == 0)
            return e;
    }
    return NULL;
}

/* GPC function: hdr is the word; count it and reply with its count. */
static int insert(shmemx_gpc_call_t *c)
{
    char word[WORD_BYTES] = "";
    memcpy(word, c->hdr, c->hlen < WORD_BYTES ? c->hlen : WORD_BYTES - 1);
    struct entry *e = find(word);
    if (!e)
        return -1;
    memcpy(e->word, word, sizeof word);
    *(long *)c->rhdr = ++e->count;
    c->rhsize = sizeof e->count;
    return SHMEMX_GPC_DONE;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), func = shmemx_gpc_register(insert), failed = 0;
    shmemx_gpc_nbh_t nbh[WINDOW];
    long counts[WINDOW], most = 0, total = 0, *sums = shmem_calloc(1, sizeof *sums);
    for (int i = 0; i < WINDOW; i++) {
        shmemx_gpc_nbh_init(&nbh[i]);
        counts[i] = 0;
    }

    for (int i = 0; i < INSERTS + WINDOW; i++) {
        int w = i % WINDOW;
        failed += shmemx_gpc_wait(&nbh[w]) != 0; /* the previous call with this handle */
        most = counts[w] > most ? counts[w] : most;
        if (i >= INSERTS)
            continue;
        char word[WORD_BYTES];
        int bytes = snprintf(word, sizeof word, "word%d", (i * 7 + me) % WORDS) + 1;
        failed += shmemx_gpc_exec(SHMEM_TEAM_WORLD, func, (int)(hash(word) % (unsigned)n), word, (size_t)bytes, NULL, 0,
                                  &counts[w], sizeof counts[w], NULL, 0, &nbh[w]) != 0;
    }
    shmem_barrier_all(); /* the calls of all PEs are complete */

    for (int i = 0; i < SLOTS; i++)
        total += table[i].count;
    shmem_long_atomic_add(sums, total, 0);
    shmem_barrier_all();
    if (me == 0)
        printf("%d PEs counted %ld words, expected %ld; the most frequent word of PE 0 occurs %ld times\n", n, *sums,
               (long)n * INSERTS, most);
    int bad = failed || (me == 0 && *sums != (long)n * INSERTS);
    shmem_finalize();
    return bad;
}

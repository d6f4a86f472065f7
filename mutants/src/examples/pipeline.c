/*
 * pipeline.c - every PE is a stage: it receives blocks of a file from the previous PE, transforms them and sends them to the
 * next PE, as tagged messages. The tag is the number of the block; an empty block ends the stream.
 *
 * Receives are posted ahead and sends are nonblocking, so all stages compute at the same time. Each stage shifts letters by one
 * place in the alphabet, so 13 PEs compute the rot13 of a text.
 *
 *   usage: oshrun -n 4 pipeline FILE > TEXT
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

enum { BLOCK = 4096, AHEAD = 2 };

static void work(char *to, const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char c = from[i], first = c >= 'a' && c <= 'z' ? 'a' : c >= 'A' && c <= 'Z' ? 'A' : 0;
        to[i] = first ? (char)(first + (c - first + 1) % 26) : c;
    }
}

int main(int argc, char **argv)
{
    static char in[AHEAD][BLOCK], out[AHEAD][BLOCK];
    shmemx_tag_request_t coming[AHEAD] = {SHMEMX_TAG_REQUEST_NULL}, going[AHEAD] = {SHMEMX_TAG_REQUEST_NULL};
    shmemx_tag_status_t status;
    FILE *f = NULL;

    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    if (me == 0 && (argc != 2 || !(f = fopen(argv[1], "rb")))) {
        fprintf(stderr, "pipeline: %s\n", argc == 2 ? "the file cannot be read" : "usage: oshrun -n N pipeline FILE");
        shmem_global_exit(1);
    }
    for (uint64_t b = 0; me > 0 && b < AHEAD; b++)
        shmemx_tag_irecv(SHMEM_TEAM_WORLD, in[b], BLOCK, b, SHMEMX_TAG_EXACT, me - 1, &coming[b]);
    size_t bytes = 1;
    for (uint64_t b = 0; bytes; b++) {
        int k = b % AHEAD;
        if (me == 0) {
            bytes = fread(in[k], 1, BLOCK, f);
        } else {
            shmemx_tag_wait(&coming[k], &status);
            bytes = status.bytes;
        }
        shmemx_tag_wait(&going[k], NULL); /* out[k] may be reused */
        work(out[k], in[k], bytes);
        if (me > 0 && bytes)
            shmemx_tag_irecv(SHMEM_TEAM_WORLD, in[k], BLOCK, b + AHEAD, SHMEMX_TAG_EXACT, me - 1, &coming[k]);
        if (me < last)
            shmemx_tag_isend(SHMEM_TEAM_WORLD, out[k], bytes, b, me + 1, &going[k]);
        else
            fwrite(out[k], 1, bytes, stdout);
    }
    for (int k = 0; k < AHEAD; k++)
        if (coming[k] != SHMEMX_TAG_REQUEST_NULL)
            shmemx_tag_cancel(&coming[k]); /* receives posted for blocks after the end */
    shmemx_tag_wait_all(AHEAD, coming, NULL);
    shmemx_tag_wait_all(AHEAD, going, NULL);
    if (f)
        fclose(f);
    shmem_finalize();
    return 0;
}

/* Every PE sends a text to PE 0, which receives them in any order. */
#include <shmemx.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 7 }; /* a tag */

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), wrong = 0;
    char text[32];
    if (me != 0) {
        snprintf(text, sizeof text, "greetings from PE %d", me);
        shmemx_tag_send(SHMEM_TEAM_WORLD, text, strlen(text) + 1, TEXT, 0);
    }
    for (int i = 1; me == 0 && i < n; i++) {
        shmemx_tag_status_t status;
        shmemx_tag_recv(SHMEM_TEAM_WORLD, text, sizeof text, TEXT, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &status);
        int from = -1;
        wrong |= sscanf(text, "greetings from PE %d", &from) != 1 || from != status.source;
    }
    shmem_finalize();
    return wrong;
}

/* device_cost.c - launches the kernels of device_cost.cl, each once and by itself, for bench/device_cost. One PE. */
#include <shmem.h>
#include <shmemx.h>
#include <string.h>

enum { WORDS = 1024, HTG = 32, TG = 128 }; /* TG: work-items of a work-group */

static int ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), e = strlen(end);
    return n >= e && strcmp(name + n - e, end) == 0;
}

int main(int argc, char **argv)
{
    shmem_init();
    uint64_t *w = shmemg_calloc(WORDS, sizeof *w);
    int me = shmem_my_pe(), bad = !w;
    for (int i = 1; i < argc && !bad; i++) {
        const size_t one[3] = {1, 1, 1}, items[3] = {ends_with(argv[i], "_htg") ? HTG : ends_with(argv[i], "_tg") ? TG : 1, 1, 1};
        bad = shmemx_launch(argv[i], one, items, (void *[]){&w, &me}, (const size_t[]){sizeof w, sizeof me}, 2) || shmemx_device_sync();
    }
    shmem_finalize();
    return bad;
}

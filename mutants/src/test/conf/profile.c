/*
 * profile.c - the profiling interface (section 10): this program wraps three routines itself, and looks up every other
 * name of the table with and without p.
 */
#include "../tap_pes.h"

#include <dlfcn.h>
#include <pshmem.h>

static int puts_seen, inits_seen, quiets_seen;

void shmem_int_put(int *dest, const int *source, size_t nelems, int pe)
{
    puts_seen++;
    pshmem_int_put(dest, source, nelems, pe);
}

void shmem_init(void)
{
    inits_seen++;
    pshmem_init();
}

void shmem_quiet(void)
{
    quiets_seen++;
    pshmem_quiet();
}

/* Catches: a strong shmem_ name that overrides the program's, a pshmem_ name that calls it back without end. */
static void intercepts(void)
{
    static int dest, source;
    source = 100 + me;
    CHECK(inits_seen == 1);
    shmem_int_put(&dest, &source, 1, next_pe());
    shmem_quiet();
    shmem_barrier_all();
    CHECK(dest == 100 + (me + n_pes - 1) % n_pes);
    CHECK(puts_seen == 1);
    CHECK(quiets_seen == 1); /* the library's internal quiet does not call the wrapper */
    shmem_barrier_all();
    source = 200 + me;
    shmem_put(&dest, &source, 1, next_pe()); /* generics call the function by name, so the wrapper counts them, too */
    pshmem_int_put(&dest, &source, 1, next_pe());
    shmem_barrier_all();
    CHECK(dest == 200 + (me + n_pes - 1) % n_pes);
    CHECK(puts_seen == 2);
}

#define SHMEM_FN(R, NAME, PARAMS) "p" #NAME,
static const char *const names[] = {"pshmem_global_exit", SHMEM_FOR_EACH_UNTYPED(SHMEM_FN)
                                    SHMEM_FOR_EACH_TYPED(SHMEM_EMIT) SHMEM_API_SIZED(SHMEM_EMIT_S)};

/* Catches: a routine without its pshmem_ or its shmem_ name. */
static void both_names(void)
{
    for (size_t i = 0; me == 0 && i < sizeof names / sizeof *names; i++) {
        CHECKF(dlsym(RTLD_DEFAULT, names[i]), "no %s", names[i]);
        CHECKF(dlsym(RTLD_DEFAULT, names[i] + 1), "no %s", names[i] + 1);
    }
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    RUN(intercepts, "the program's shmem_ functions wrap the pshmem_ ones");
    RUN(both_names, "every name of the table with and without p");
    shmem_finalize();
    return tap_end();
}

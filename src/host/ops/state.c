/* state.c - the state that every operation reads, and the threads that may call the library. */
#include "host/ops/state.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "host/util/log.h"

struct shi_world shi_world;
struct shmem_ctx shi_ctx_small[2];

static long main_thread;
static _Thread_local int is_ours;

long shi_thread_id(void)
{
    static _Thread_local long id;
    if (!id)
        id = syscall(SYS_gettid);
    return id;
}

int shi_is_forked(void)
{
    return shi_world.pid && getpid() != shi_world.pid;
}

void shi_need_up(const char *routine)
{
    if (shi_likely(shi_world.up))
        return;
    if (shi_is_forked())
        shi_die(routine, "called in a forked child, which is not a PE");
    shi_die(routine, shi_world.ever_up ? "called after shmem_finalize" : "called before shmem_init");
}

void shi_set_main_thread(void)
{
    main_thread = shi_thread_id();
}

void shi_allow_thread(void)
{
    is_ours = 1;
}

int shi_is_main_thread(void)
{
    return shi_thread_id() == main_thread;
}

int shi_is_library_thread(void)
{
    return is_ours;
}

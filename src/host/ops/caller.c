/*
 * caller.c - see caller.h.
 *
 *   word     written by                             read by              order
 *   inside   calls at SHMEM_THREAD_SERIALIZED, by   the same             R1 -> A1: a call begins after the one before has ended
 *            compare-and-swap from NULL
 */
#include "host/ops/caller.h"

#include "host/ops/wait.h"
#include "host/util/log.h"

static const char *inside;       /* the routine that a thread of the program is in; NULL: none */
static _Thread_local int depth;  /* of this thread's calls */

static _Noreturn void die_second(const char *routine, const char *other)
{
    shi_die(routine, "called while another thread is in %s; shmem_init_thread was given SHMEM_THREAD_SERIALIZED",
            shi_log_routine(other));
}

/* Does the level restrict this thread? */
static int is_restricted(const char *routine)
{
    if (shi_world.thread_level == SHMEM_THREAD_MULTIPLE || shi_wait_inside || shi_is_library_thread())
        return 0;
    if (shi_world.thread_level <= SHMEM_THREAD_FUNNELED && !shi_is_main_thread())
        shi_die(routine, "called by a second thread; shmem_init_thread was given SHMEM_THREAD_%s",
                shi_world.thread_level == SHMEM_THREAD_SINGLE ? "SINGLE" : "FUNNELED");
    return shi_world.thread_level == SHMEM_THREAD_SERIALIZED;
}

void shi_caller_check(const char *routine)
{
    const char *other;
    if (is_restricted(routine) && !depth && (other = __atomic_load_n(&inside, __ATOMIC_RELAXED)))
        die_second(routine, other);
}

int shi_caller_enter(const char *routine)
{
    const char *other = NULL;
    if (!depth && !is_restricted(routine))
        return 0;
    if (!depth && !__atomic_compare_exchange_n(&inside, &other, routine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) /* A1 */
        die_second(routine, other);
    depth++;
    return 1;
}

void shi_caller_leave(void)
{
    if (--depth == 0)
        __atomic_store_n(&inside, NULL, __ATOMIC_RELEASE); /* R1 */
}

void shi_caller_check_ctx(const char *routine, const struct shmem_ctx *c)
{
    if (c->creator && c->creator != shi_thread_id())
        shi_die(routine, "ctx = %p is SHMEM_CTX_PRIVATE, and another thread than the one that created it uses it", (const void *)c);
}

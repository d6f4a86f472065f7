/* survive.c - see survive.h: which waits end, revocation, up and down. */
#include "host/survive/survive.h"

#include <errno.h>
#include <shmemx.h>
#include <stdlib.h>

#include "host/gpc/gpc_wire.h"
#include "host/net/am/am.h"
#include "host/net/node/doorbell.h"
#include "host/net/stream/lost.h"
#include "host/net/stream/stream.h"
#include "host/observe/counts.h"
#include "host/observe/report.h"
#include "host/ops/lock.h"
#include "host/ops/wait.h"
#include "host/policy/limits.h"
#include "host/survive/agree.h"
#include "host/survive/failed.h"
#include "host/survive/grow.h"
#include "host/survive/lifeline.h"
#include "host/survive/watch.h"
#include "host/util/base.h"
#include "host/util/log.h"

static int on;
static _Thread_local int status;
static _Thread_local struct shmem_team *awaited; /* of the thread's waits for words */

int shi_survive_is_on(void)
{
    return on;
}

int shi_survive_status(void)
{
    int was = status;
    status = 0;
    return was;
}

void shi_survive_wait_for(struct shmem_team *t)
{
    awaited = t;
}

/* ---- which waits end -------------------------------------------------------------------------------------------------- */

/* The team's error, found now or earlier. */
static int error_of(struct shmem_team *t)
{
    int is = __atomic_load_n(&t->failed, __ATOMIC_RELAXED);
    for (int i = 0; !is && i < shi_failed_count(); i++)
        if (shi_team_member(t, shi_failed_nth(i)) >= 0)
            is = SHMEMX_ERR_PE_FAILED;
    for (int i = 0; !is && shi_failed_any_replaced() && i < t->n; i++)
        if (shi_failed_in(shi_team_world_pe(t, i), t->number))
            is = SHMEMX_ERR_PE_FAILED;
    int none = 0;
    if (is && !__atomic_compare_exchange_n(&t->failed, &none, is, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        is = none;
    return is;
}

int shi_survive_unacknowledged(void)
{
    return shi_failed_count() > shi_failed_acked() ? SHMEMX_ERR_PE_FAILED : 0;
}

void shi_survive_note_kernels(void)
{
    int err = shi_survive_unacknowledged();
    status = err ? err : status;
}

/* 1: the wait may never end, or its team does nothing more. */
static int fails(const struct shi_wait_for *what)
{
    int err = 0;
    struct shmem_team *t = what->kind == SHI_FOR_WORDS ? awaited : what->team;
    if (t)
        err = error_of(t);
    else if (what->kind == SHI_FOR_WORDS)
        err = shi_survive_unacknowledged();
    status = err ? err : status;
    return err != 0;
}

/* Only receives from any member, and only until the failure is acknowledged, fail on a team that is not revoked. */
static int receive_error(uint64_t number, int any)
{
    int later;
    struct shmem_team *t = number & SHI_TEAM_NUMBER_COLL ? NULL : shi_team_find(number, &later);
    if (t && shi_team_failed(t) == SHMEMX_ERR_REVOKED)
        return SHMEMX_ERR_REVOKED;
    for (int i = shi_failed_acked(); t && any && i < shi_failed_count(); i++)
        if (shi_team_member(t, shi_failed_nth(i)) >= 0)
            return SHMEMX_ERR_PE_FAILED;
    return 0;
}

static void met(int err)
{
    status = err;
}

static const struct shi_team_faults team_faults = {error_of, receive_error, met};

/* Waits look from now on, also those that sleep. */
static void wake(void)
{
    __atomic_store_n(&shi_team_faults, &team_faults, __ATOMIC_RELEASE);
    __atomic_store_n(&shi_wait_fails, fails, __ATOMIC_RELEASE); /* R1 */
    shi_doorbell_ring_own();
}

/* ---- PEs that are gone --------------------------------------------------------------------------------------------------- */

static uint8_t *left; /* [n_pes] 1: the PE has said that it leaves */

/* A message about one PE, or with a status. */
struct about {
    struct shi_message m;
    uint64_t what;
};

/* PE i of the node. */
static int has_local_left(int i)
{
    return __atomic_load_n(shi_shm_left_job(&shi_world.shm, i), __ATOMIC_ACQUIRE) != 0; /* A2 */
}

static int has_left(int pe)
{
    for (int i = 0; i < shi_world.shm.n; i++)
        if (shi_world.boot.local_pe[i] == pe && has_local_left(i))
            return 1;
    return __atomic_load_n(&left[pe], __ATOMIC_ACQUIRE); /* A3 */
}

static int is_over(int pe)
{
    return pe == shi_world.pe || shi_failed_is(pe) || has_left(pe);
}

/* PEs of the node see left_job; it says nothing of messages that the network still has for those that only it reaches. */
static int is_to_hear(enum shi_message_kind kind, int pe)
{
    if (pe == shi_world.pe || shi_stream_is_gone(pe))
        return 0;
    return shi_world.peer[pe].remote || (kind != SHI_MESSAGE_LEFT && !is_over(pe));
}

static void tell_all(enum shi_message_kind kind, uint64_t what)
{
    const struct about a = {{shi_team_world.number, kind}, what};
    if (shi_grow_is_outside())
        return;
    for (int pe = 0; pe < shi_world.n_pes; pe++)
        if (is_to_hear(kind, pe))
            shi_message_send(pe, &a.m, sizeof a);
}

/* All PEs that live get the news, also that of a death that only one of them has seen and that then dies itself. So does the PE, unless its process
 * has ended: it must not go on. */
static void on_failure(int pe, int is_certain)
{
    if (shi_world.lane)
        tell_all(SHI_MESSAGE_FAILED, pe | (uint64_t)shi_grow_life(pe) << 32);
    shi_failed_add(pe);
    shi_am_lose(pe);
    if (shi_world.lane)
        shi_stream_lose(pe);
    shi_log_debug("PE %d has failed%s", pe, is_certain ? "" : ", or cannot be reached");
    wake();
}

static void take_failure(struct shmem_team *t, int pe, const struct shi_message *m, size_t bytes)
{
    const struct about *a = (const struct about *)m;
    (void)t;
    if (bytes != sizeof *a || (uint32_t)a->what >= (uint32_t)shi_world.n_pes)
        shi_am_refuse(pe, "an invalid failure of a PE");
    int of = (int)(uint32_t)a->what;
    if (a->what >> 32 != shi_grow_life(of))
        return; /* of a process in whose place there is another one */
    if (of == shi_world.pe)
        shi_die("network", "PE %d has lost the connection to this PE, and goes on without it (SHMEM_FAULTS=continue)", pe);
    shi_watch_report(of);
}

static void take_leave(struct shmem_team *t, int pe, const struct shi_message *m, size_t bytes)
{
    (void)t;
    (void)m;
    if (bytes != sizeof(struct about))
        shi_am_refuse(pe, "an invalid end of a PE");
    __atomic_store_n(&left[pe], 1, __ATOMIC_RELEASE); /* R3 */
    shi_stream_lose(pe);
    shi_watch_wake();
}

static void inherited(void)
{
    status = SHMEMX_ERR_PE_FAILED;
}

static void gone(void)
{
    status = SHMEMX_ERR_REVOKED;
}

static const struct shi_lock_faults lock_faults = {shi_failed_is, shi_grow_holder, shi_grow_has_holder_failed, inherited, gone};

/* ---- revocation --------------------------------------------------------------------------------------------------------- */

/* The first news of it goes to all members, so that all that live hear of it although the PE that has begun it dies. */
void shi_survive_revoke(struct shmem_team *t)
{
    const struct shi_message m = {t->number, SHI_MESSAGE_REVOKE};
    if (__atomic_exchange_n(&t->failed, SHMEMX_ERR_REVOKED, __ATOMIC_RELAXED) == SHMEMX_ERR_REVOKED)
        return;
    for (int i = 0; i < t->n; i++)
        if (i != t->me)
            shi_message_send(shi_team_world_pe(t, i), &m, sizeof m);
    wake();
}

static void take_revocation(struct shmem_team *t, int pe, const struct shi_message *m, size_t bytes)
{
    if (bytes != sizeof *m)
        shi_am_refuse(pe, "an invalid revocation");
    if (t)
        shi_survive_revoke(t);
}

/* ---- all that live ------------------------------------------------------------------------------------------------------ */

void shi_survive_barrier(const char *routine)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    shi_doorbell_ring_words();
    shi_agree_all(routine, NULL);
}

static struct shmem_team *living(void)
{
    struct shmem_team *t = &shi_team_world;
    char *dead = malloc((size_t)shi_world.n_pes);
    struct shi_agree_record r = {.all = {0}};
    if (!dead)
        shi_die("shmem_finalize", "out of memory for %d PEs", shi_world.n_pes);
    if ((shi_agree_members("shmem_finalize", t, &r, dead) || shi_grow_has()) && shi_survive_shrink("shmem_finalize", t, &t))
        t = &shi_team_world;
    free(dead);
    return t;
}

/* A PE of the node that leaves may end without an answer. */
static int is_delivered(uint64_t *seq)
{
    for (int i = 0; i < shi_world.shm.n; i++)
        if (i != shi_world.boot.local_index && has_local_left(i))
            shi_stream_lose(shi_world.boot.local_pe[i]);
    return !shi_message_unsent() && shi_stream_delivered(seq);
}

/* Wait until the PEs that live have received all that this PE has sent over the network. */
static void deliver(const char *routine)
{
    uint64_t *seq = calloc((size_t)shi_world.n_pes, sizeof *seq);
    if (!seq)
        shi_die(routine, "out of memory for %d PEs", shi_world.n_pes);
    SHI_WAIT_PROGRESS(is_delivered(seq), .routine = routine, .kind = SHI_FOR_NETWORK, .of = -1);
    free(seq);
}

/* GPCs of this PE use it in shmem_finalize: no message is under way that a PE sent before it agreed. */
static int all_agree(const char *routine, int mine)
{
    struct shi_agree_record r = {.all = {(uint64_t)mine}};
    if (shi_world.lane)
        deliver(routine);
    shi_agree_members(routine, &shi_team_world, &r, NULL);
    return (int)r.all[0];
}

static int failed_nth(int i)
{
    return i < shi_failed_count() ? shi_failed_nth(i) : -1;
}

static int any_left(void)
{
    for (int pe = 0; pe < shi_world.n_pes; pe++)
        if (has_left(pe))
            return 1;
    return 0;
}

static void take_exit(struct shmem_team *t, int pe, const struct shi_message *m, size_t bytes)
{
    (void)t;
    if (bytes != sizeof(struct about))
        shi_am_refuse(pe, "an invalid end of the job");
    shi_shm_abort(&shi_world.shm, (int)((const struct about *)m)->what);
}

void shi_survive_exit(int status)
{
    uint64_t *seq = shi_world.lane ? calloc((size_t)shi_world.n_pes, sizeof *seq) : NULL;
    if (!seq)
        return;
    tell_all(SHI_MESSAGE_EXIT, (uint64_t)status);
    for (uint64_t end = shi_now_ns() + SHI_UNSENT_NS; (shi_message_unsent() || !shi_stream_delivered(seq)) && shi_now_ns() < end;)
        shi_progress();
}

/* The others need no message of this PE any more, and know that it leaves. */
static void leave(void)
{
    tell_all(SHI_MESSAGE_LEFT, (uint64_t)shi_world.pe);
    deliver("shmem_finalize");
}

int shi_survive_up(void)
{
    static shi_message_take *const takes[] = {[SHI_MESSAGE_AGREE] = shi_agree_take, [SHI_MESSAGE_REVOKE] = take_revocation,
                                              [SHI_MESSAGE_FAILED] = take_failure, [SHI_MESSAGE_LEFT] = take_leave, [SHI_MESSAGE_EXIT] = take_exit,
                                              [SHI_MESSAGE_LISTENS] = shi_lifeline_take};
    if (shi_world.config.faults != SHI_FAULTS_CONTINUE)
        return 0;
    if (shi_world.lane && shi_world.launcher_left) {
        shi_log_error("SHMEM_FAULTS=continue: over the network shmem_init can be called once only");
        return -ENOTSUP;
    }
    __atomic_store_n(shi_shm_left_job(&shi_world.shm, shi_world.boot.local_index), 0, __ATOMIC_RELAXED);
    int err = shi_failed_up(shi_world.n_pes);
    left = calloc((size_t)shi_world.n_pes, 1);
    if (!left)
        err = -ENOMEM;
    if (!err)
        err = shi_agree_up();
    if (!err)
        err = shi_grow_up();
    if (!err)
        err = shi_watch_up(on_failure, is_over);
    if (!err)
        err = shi_message_up(takes);
    if (err)
        return err;
    shi_team_heap_barrier = shi_survive_barrier;
    shi_lock_faults = &lock_faults;
    shi_gpc_agree = all_agree;
    shi_stats_team = living;
    shi_report_failed = failed_nth;
    if (shi_world.lane)
        shi_stream_goes_on(shi_watch_report);
    err = shi_watch_start();
    on = !err;
    return err;
}

/* All that live have come to shmem_finalize: a PE that ends from now on has not failed. A PE that has ended answers no vote; but if one has
 * left, the agreement is decided. */
void shi_survive_stop(void)
{
    if (!on)
        return;
    shi_agree_all("shmem_finalize", any_left);
    __atomic_store_n(shi_shm_left_job(&shi_world.shm, shi_world.boot.local_index), 1, __ATOMIC_RELEASE); /* R2 */
    if (shi_world.lane)
        leave();
    shi_watch_stop();
}

void shi_survive_down(void)
{
    if (!on)
        return;
    shi_message_down();
    shi_watch_down();
    shi_agree_down();
    shi_report_failed = NULL;
    shi_failed_down();
    free(left);
    left = NULL;
    shi_team_heap_barrier = NULL;
    shi_lock_faults = NULL;
    shi_gpc_agree = NULL;
    shi_stats_team = NULL;
    __atomic_store_n(&shi_wait_fails, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&shi_team_faults, NULL, __ATOMIC_RELAXED);
    awaited = NULL;
    on = 0;
}

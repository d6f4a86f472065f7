/* init.c - the start and end of the library and of its process: node, launcher, network, and the table of parts. */
#include "host/init/init.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "host/coll/agree.h"
#include "host/coll/left.h"
#include "host/coll/rules.h"
#include "host/coll/team.h"
#include "host/gpc/gpc.h"
#include "host/gpc/gpc_run.h"
#include "host/init/adding.h"
#include "host/init/device_heap.h"
#include "host/init/heap_reg.h"
#include "host/init/peers.h"
#include "host/net/am/am.h"
#include "host/net/am/am_shm.h"
#include "host/net/node/progress.h"
#include "host/net/stream/am_remote.h"
#include "host/net/stream/stream.h"
#include "host/observe/report.h"
#include "host/observe/stats.h"
#include "host/ops/ctx.h"
#include "host/ops/dheap.h"
#include "host/ops/heap.h"
#include "host/ops/remote.h"
#include "host/ops/statics.h"
#include "host/ops/wait.h"
#include "host/nbc/nbc.h"
#include "host/survive/grow.h"
#include "host/survive/survive.h"
#include "host/tag/tag.h"
#include "host/util/copy_lines.h"
#include "host/util/copying.h"
#include "host/util/end.h"
#include "host/util/libc.h"
#include "host/util/log.h"
#include "host/util/poison.h"
#include "host/util/startup.h"

/* ---- the process's end ------------------------------------------------------------------------------------------- */

static void abort_now(int status)
{
    if (shi_world.shm.base)
        shi_shm_abort(&shi_world.shm, status);
    if (shi_survive_is_on())
        shi_survive_exit(status);
    if (status)
        shi_stats_abort();
    if (shi_world.boot.ops)
        shi_world.boot.ops->abort_job(status);
    _exit(status);
}

/* The end of this PE with an error, and of the job, unless the others go on without it. */
static void fail_now(int status)
{
    if (!shi_survive_is_on())
        abort_now(status);
    _exit(status);
}

/* Flush stdio first: what the program printed may explain the error. A forked child's buffers are copies of its parent's. */
static void abort_on_error(int status)
{
    if (shi_is_forked())
        abort_now(status);
    shi_end_begin(status, SHI_END_FLUSH_S, fail_now);
    shi_end_finish();
}

/* From the program's start on, for errors before shmem_init. */
__attribute__((constructor)) static void catch_errors(void)
{
    shi_log_set_abort(abort_on_error);
}

/* The last destructor: all exit handlers have run, also those registered before shmem_init. */
__attribute__((destructor(101))) static void after_handlers(void)
{
    if (shi_end_under_way())
        shi_end_finish();
}

static void print_settings(void)
{
    if (shi_world.pe == 0 && shi_world.config.version)
        printf("%s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    if (shi_world.pe == 0 && shi_world.config.info)
        shi_config_print(&shi_world.config, stdout);
    shi_log_debug("%d of %d on this node by %s%s; heap %zu bytes at %#lx, static data %zu bytes", shi_world.shm.n,
                  shi_world.n_pes, shi_world.boot.ops->name, shi_world.shm.oversubscribed ? ", more PEs than cores" : "",
                  shi_world.heap_bytes, (unsigned long)shi_world.heap_lo, shi_world.data_bytes);
}

/* A program may end without shmem_finalize: a return from main completes outstanding operations, an error ends the
 * job. */
static void at_exit(int status, void *arg)
{
    (void)arg;
    if (shi_is_forked())
        return; /* the PE is the parent */
    if (shi_end_under_way())
        return;
    if (shi_world.up && status) {
        if (!shi_survive_is_on())
            shi_shm_abort(&shi_world.shm, status);
        shi_end_begin(status, SHI_END_HANDLERS_S, fail_now); /* after_handlers ends it */
        return;
    }
    if (shi_world.up)
        shi_world_down("exit", 1);
    shi_stream_down();
}

/* The child is no PE, and its memory is its own: statics.c has done that for the static data. A child of a child has nothing to do. */
static void in_forked_child(void)
{
    static int done;
    if (!shi_world.pid)
        return; /* the parent is between two jobs */
    shi_world.up = 0;
    SHI_CTX_DEFAULT->n_pes = 0;
    shi_log_set_abort(NULL); /* an error ends the child alone */
    if (!done && (shi_shm_forked(&shi_world.shm, shi_world.boot.local_index) || shi_adding_forked())) {
        shi_log_error("no memory for a forked child's copy of the symmetric heap (ulimit -v); the child ends");
        _exit(127);
    }
    done = 1;
}

static void report_unknown(const char *name, const char *like)
{
    if (like)
        shi_log_error("%s is not a setting of this library; %s is", name, like);
    else
        shi_log_error("%s is not a setting of this library (SHMEM_INFO=1 lists them)", name);
}

static char bad_setting[512];
static int has_handlers; /* of exit and fork; once in a process */

static int read_settings(void)
{
    int err = shi_config_read(&shi_world.config, bad_setting, sizeof bad_setting);
    return err ? err : shi_rules_read(shi_world.config.collectives.text, bad_setting, sizeof bad_setting);
}

/* Most PEs have the same settings, and the same mistakes in them: the others wait so that PE 0 reports and ends the job. */
static int check_settings(int err)
{
    if (err) {
        if (shi_world.boot.pe != 0)
            sleep(1);
        shi_log_error("%s", bad_setting);
    }
    if (!err && shi_world.boot.pe == 0)
        shi_config_unknown(shi_world.config.debug || shi_world.config.check, report_unknown);
    return err;
}

/* Once in a job, whatever the number of init and finalize pairs: the shared memory stays. */
static int join_node(void)
{
    const struct shi_statics *st = shi_statics_find();
    struct shi_shm_params params = {.sync_bytes = shi_team_sync_bytes(shi_world.boot.n_pes),
                                    .am_bytes = shi_am_shared_bytes(shi_world.boot.n_local),
                                    .heap_bytes = shi_world.config.heap_bytes, .data_bytes = st->relro_bytes + st->bytes,
                                    .exe_id = st->exe_id, .prefault = shi_world.config.prefault, .remap = shi_statics_remap,
                                    .peer_bytes = sizeof(struct shi_peer), .fill_peers = shi_peers_fill};
    struct shi_shm shm;
    shi_config_equal(&shi_world.config, &params.settings);
    int err = shi_shm_up(&shi_world.boot, &params, &shm);
    if (err == -ECANCELED && shi_world.boot.is_new) { /* the others have ended without it */
        shi_world.boot.ops->down();
        _exit(0);
    }
    if (err)
        return err;
    shi_world.shm = shm;
    shi_world.pid = getpid();
    if (!has_handlers && (on_exit(at_exit, NULL) || pthread_atfork(NULL, NULL, in_forked_child)))
        return -ENOMEM;
    has_handlers = 1;
    return 0;
}

/* Join the launcher once in a job: when a PE leaves and joins again while others still leave, PMIx 4.2's server miscounts
 * and ends fences early or never. 0, or -errno after one line. */
static int join_job(void)
{
    int bad = shi_world.ever_up ? 0 : read_settings();
    shi_startup_up(bad ? 0 : shi_world.config.start_timeout);
    int err = shi_world.ever_up ? 0 : shi_boot_up(shi_world.config.heartbeat, shi_world.config.faults == SHI_FAULTS_CONTINUE, &shi_world.boot);
    if (err)
        return err;
    shi_log_set(shi_world.boot.pe, 0);
    shi_world.pe = shi_world.boot.pe;
    shi_report_up();
    if (shi_world.ever_up)
        return 0;
    err = check_settings(bad);
    if (!err) {
        shi_log_set(shi_world.boot.pe, shi_world.config.debug);
        err = join_node();
    }
    return err;
}

static void node_barrier(void)
{
    shi_shm_barrier(&shi_world.shm);
}

static uint32_t life_of(int i)
{
    return shi_shm_join_of(&shi_world.shm, i)->times;
}

/* Start the network if some PE is not on this node. 0 or -errno. */
static int join_network(const struct shi_statics *st)
{
    const struct shi_shm *shm = &shi_world.shm;
    const struct shi_shm_region *mine = &shm->region[shi_world.boot.local_index];
    int forced = shi_world.config.transport == SHI_TRANSPORT_OFI && shi_world.n_pes > 1;
    static struct shi_progress_source aborted = {.poll = shi_wait_aborted, .every_ms = 100};
    if (shi_world.boot.n_local == shi_world.n_pes && !forced)
        return 0;
    const struct shi_stream_region own[SHI_REGIONS] = {
        [SHI_REGION_HEAP] = {.base = (char *)shi_world.heap_lo, .bytes = shi_world.heap_bytes},
        [SHI_REGION_DATA] = {.base = (char *)st->lo - st->relro_bytes, .bytes = st->relro_bytes + st->bytes,
                             .registered = shm->base + mine->data_off, .read_only = st->relro_bytes},
        [SHI_REGION_SYNC] = {.base = shm->base + mine->sync_off, .bytes = shi_team_sync_bytes(shi_world.n_pes)}};
    const struct shi_stream_node node = {.record = shm->record, .barrier = node_barrier, .life = life_of};
    if (shi_world.config.ofi_hmem == SHI_CONFIG_AUTO)
        shi_world.config.ofi_hmem = shi_device_is_expected(&shi_world.config.device);
    int err = shi_world.net_up ? 0 : shi_stream_up(&shi_world.boot, &shi_world.config, &node, own, st->exe_id);
    explicit_bzero(shi_world.boot.secret, sizeof shi_world.boot.secret); /* the network has its copy */
    if (!err)
        err = shi_stream_resume();
    if (!err) /* a launcher that has lost this host cannot end its PEs */
        err = shi_progress_add(&aborted);
    if (!err)
        shi_world.lane = shi_stream_lane(0);
    shi_world.net_up = !err;
    return err;
}

static int messages_up(void)
{
    const struct shi_am_world w = {.pe = shi_world.pe, .n_pes = shi_world.n_pes, .local = shi_world.boot.local_index,
                                   .shm = &shi_world.shm, .data_lo = shi_world.data_lo - shi_world.relro_bytes,
                                   .in_device = shi_dheap_holds, .device_of = shi_dheap_of, .device_copy = shi_dheap_move};
    shi_am_up(&w, &shi_am_shm);
    if (shi_world.lane)
        shi_am_remote_up(shi_world.config.transport == SHI_TRANSPORT_OFI);
    return 0;
}

static void messages_down(void)
{
    shi_am_down();
    shi_am_remote_down();
}

/*
 * The parts that come up after the memory, the network and the predefined teams, and go down before them. `up` and `finish`
 * are called in this order, `stop` and `down` in the reverse: the same on all PEs, so that collective calls match.
 */
static const struct part {
    int (*up)(void);      /* in every init; 0, or -errno after one line */
    void (*finish)(void); /* may be collective: complete what is under way, with progress, and calls of all PEs */
    void (*stop)(void);   /* may be collective: all operations are complete; start no more */
    void (*down)(void);   /* no PE sends any more */
} parts[] = {
    {.finish = shi_device_heap_finish, .stop = shi_device_heap_stop, .down = shi_device_heap_down},
    {.down = shi_adding_down},
    {.down = shi_report_down},
    {.up = messages_up, .down = messages_down},
    {.up = shi_survive_up, .stop = shi_survive_stop, .down = shi_survive_down},
    {.up = shi_gpc_prepare, .finish = shi_gpc_finish, .stop = shi_gpc_stop},
    {.up = shi_tag_prepare, .down = shi_tag_down},
    {.finish = shi_nbc_finish, .down = shi_nbc_down},
    {.up = shi_stats_up, .stop = shi_stats_stop},
};
enum { N_PARTS = sizeof parts / sizeof parts[0] };

/* Set shi_world and bring up network, tables, teams and parts. 0 or -errno. */
static int build_world(int thread_level)
{
    const struct shi_statics *st = shi_statics_find();
    shi_world.pe = shi_world.boot.pe;
    shi_world.n_pes = shi_world.boot.n_pes;
    shi_world.heap_lo = shi_world.shm.heap_lo;
    shi_world.heap_bytes = shi_world.config.heap_bytes;
    shi_world.data_lo = st->lo;
    shi_world.data_bytes = st->bytes;
    shi_world.relro_bytes = st->relro_bytes;
    shi_world.check = shi_world.config.check;
    shi_world.thread_level = thread_level;
    shi_world.threads = thread_level == SHMEM_THREAD_MULTIPLE;
    shi_world.heap = shi_heap_up(shi_world.heap_bytes);
    int err = join_network(st);
    if (err)
        return err;
    shi_heap_reg_up();
    if (!shi_world.heap || shi_peers_up(st) || shi_team_up()) {
        shi_log_error("out of memory for the tables of %d PEs", shi_world.n_pes);
        return -ENOMEM;
    }
    shi_split_up();
    for (int i = 0; i < N_PARTS && !err; i++)
        err = parts[i].up ? parts[i].up() : 0;
    shi_world.spans = shi_world.check || shi_world.watched || SHI_TSAN_IS_HERE;
    return err;
}

/* The end of shmem_init of all PEs that start together. */
static void meet_all(void)
{
    shi_shm_phase(&shi_world.shm, "waiting for all PEs at the end of shmem_init");
    if (shi_team_world.n_nodes > 1)
        shi_agree_rules("shmem_init", &shi_team_world); /* in place of the barrier */
    else
        shi_team_barrier("shmem_init", &shi_team_world);
    if (!shi_world.launcher_left && shi_boot_started(&shi_world.boot, shi_survive_is_on()))
        abort_on_error(1);
}

void shi_world_up(int thread_level)
{
    int lines = shi_log_lines(), err = join_job();
    if (!err)
        err = build_world(thread_level);
    if (err) {
        if (shi_log_lines() == lines)
            shi_log_error("the library cannot start: %s", strerror(-err)); /* a part that says nothing: mostly, no memory */
        abort_on_error(1);
    }
    shi_copy_find_caches();
    shi_wait_set(shi_world.config.wait, shi_world.config.spin, shi_world.shm.oversubscribed, shi_world.lane != NULL);
    shi_set_main_thread();
    *SHI_CTX_DEFAULT = (struct shmem_ctx){.peer = shi_peers_fast(), .n_pes = shi_world.n_pes,
                                          .peers = shi_world.peer, .team = &shi_team_world, .lane = shi_world.lane};
    shi_world.up = 1;
    if (!shi_world.ever_up)
        print_settings();
    shi_world.ever_up = 1;
    shi_left_up();
    if (shi_world.boot.is_new)
        shi_grow_join();
    else
        meet_all();
    shi_startup_down();
    shi_left_watch();
}

/* ---- down -------------------------------------------------------------------------------------------------------- */

/* Stop progress on all PEs, after which none sends. Over the network two fences of the launcher do this: up to the first,
 * progress still serves PEs that have not finished; then this PE leaves the launcher. After a later shmem_init, or after MPI_Finalize
 * under MPICH's launcher, there is no launcher: the barrier uses the network, and progress serves PEs that are still in it until the
 * process ends. */
static void leave_network(const char *routine)
{
    const struct shi_boot_ops *launcher = shi_world.boot.ops;
    int survives = shi_survive_is_on(); /* then no PE needs another one any more */
    int by_launcher = shi_world.lane && !survives && !shi_world.launcher_left && !(launcher->is_gone && launcher->is_gone());
    if (shi_world.lane)
        shi_stream_pause();
    if (by_launcher)
        launcher->fence();
    shi_progress_stop();
    if (shi_world.lane && !by_launcher && !survives)
        shi_stream_serve();
    if (by_launcher)
        launcher->fence();
    else if (!survives)
        shi_team_barrier(routine, &shi_team_world);
    if (!shi_world.launcher_left)
        launcher->down(); /* now, not at exit: after this the launcher accepts any exit status */
    shi_world.launcher_left = 1;
}

void shi_world_down(const char *routine, int by_exit)
{
    shi_need_up(routine);
    for (int i = 0; i < N_PARTS; i++)
        if (parts[i].finish)
            parts[i].finish();
    struct shi_lane *lane;
    for (int i = 0; shi_world.lane && (lane = shi_stream_lane_made(i)); i++)
        shi_remote_quiet(lane);
    shi_ctx_session(SHI_CTX_DEFAULT, 0);
    shi_left_say(by_exit);
    if (shi_survive_is_on()) {
        shi_survive_barrier(routine);
    } else {
        SHI_AGREE("shmem_finalize", &shi_team_world, {0}); /* also for a PE that returned from main without it */
        shi_team_quiet_barrier(routine, &shi_team_world);
    }
    for (int i = N_PARTS - 1; i >= 0; i--)
        if (parts[i].stop)
            parts[i].stop();
    leave_network(routine);
    shi_left_down();
    SHI_CTX_DEFAULT->n_pes = 0;
    shi_world.up = shi_world.spans = 0;
    for (int i = N_PARTS - 1; i >= 0; i--)
        if (parts[i].down)
            parts[i].down();
    shi_world.lane = NULL;
    shi_world.dev_lo = 0;
    shi_world.dev_private = 0;
    shi_shm_drop_heap(&shi_world.shm, shi_heap_reg_pinned(), shi_world.heap_bytes);
    shi_heap_down(shi_world.heap);
    shi_split_down();
    shi_team_down();
    shi_peers_down();
}

void shi_world_leave(void)
{
    shi_stream_leave();
    shi_am_leave();
    shi_am_shm_leave();
    shi_nbc_leave();
    shi_tag_leave();
    shi_left_leave();
    shi_split_leave();
    shi_team_leave();
    shi_wait_leave();
    shi_dheap_leave();
    shi_copying_limit(0);
    shi_log_set(-1, 0);
    shi_unpoison((void *)shi_world.heap_lo, shi_world.poisoned_bytes);
    if (shi_statics_leave())
        abort_on_error(1);
    shi_shm_leave(&shi_world.shm, shi_world.boot.local_index);
    free(shi_world.boot.local_pe);
    explicit_bzero(&shi_world, sizeof shi_world);
    memset(shi_ctx_small, 0, sizeof shi_ctx_small);
}

void shi_world_exit(int status)
{
    shi_shm_abort(&shi_world.shm, status);
    shi_end_begin(status, SHI_END_HANDLERS_S, abort_now);
    exit(status); /* after_handlers ends it */
}

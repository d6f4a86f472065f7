/*
 * oshrun.h - declarations shared by the files of oshrun: the job, its programs and its PEs.
 *
 * oshrun.c has the event loop, oshrun_judge.c the end of the job, oshrun_start.c its start,
 * oshrun_opt.c the command line, oshrun_hosts.c the hosts, oshrun_batch.c those of a batch job, oshrun_place.c cores,
 * oshrun_spawn.c processes, oshrun_io.c output lines and standard input, oshrun_pmix.c the PMIx server, oshrun_data.c its data, oshrun_accept.c
 * its connections, oshrun_engine.c launchers of several hosts, oshrun_debug.c debuggers. Nothing here is part of the library.
 */
#ifndef OSHRUN_H
#define OSHRUN_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { EXIT_USAGE = 2, EXIT_TIMEOUT = 124, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* What this oshrun starts: all PEs of a job on this machine (ROLE_JOB); an engine, srun or mpirun, for a job on several
 * hosts (ROLE_FRONT); or, itself started by an engine, one PE of such a job (ROLE_PE). */
enum role { ROLE_JOB, ROLE_FRONT, ROLE_PE };

/* Parts of a machine. NODE and SLOT, of --map-by only, are whole hosts. */
enum level { LEVEL_DEFAULT, LEVEL_NONE, LEVEL_HWTHREAD, LEVEL_CORE, LEVEL_NUMA, LEVEL_SOCKET, LEVEL_NODE, LEVEL_SLOT };

/* map: PEs go to these in turn, NODE: to the hosts; else the first host is filled first. bind: a PE may run on all cores of
 * the one where it is. */
struct place {
    enum level map, bind;
};

enum { INPUT_NONE = -1, INPUT_ALL = -2 };

/* One program of the job; ':' separates programs on the command line. */
struct app {
    char **argv;
    char *wdir;  /* NULL: the directory in which oshrun was started */
    char **env;  /* VAR=VALUE pairs of -x */
    int nenv;
    int npes;    /* 0 until the default is known */
};

struct host {
    char *name;
    int slots; /* 0: not given */
};

struct options {
    enum role role;
    const char *engine; /* of ROLE_FRONT; NULL: any */
    struct host *hosts; /* of ROLE_FRONT: as many slots as PEs; none: the engine's allocation */
    int nhosts;
    struct app *apps;
    int napps;
    int npes;    /* of all programs together */
    int per_host; /* -N; 0: not given */
    bool label, report, verbose, dry_run;
    struct app all; /* only env: -genv */
    struct place place;
    double timeout_s; /* 0: none */
    int gdb;          /* the PE that runs under gdb; -1: none */
    bool mps;         /* NVIDIA's Multi-Process Service runs for the job */
    int survive;      /* the job goes on after the death of a PE while at least this many have not failed; 0: it ends */
    int replace;      /* so many times at most, a PE that dies is started again */
    int input;        /* the PE that gets standard input, or INPUT_ */
    const char *output; /* folder of a file for each PE's output; NULL: none */
};

/*
 *   word       written by         read by      order
 *   pmix       PMIx thread        main thread  acquire-release: P1 -> M1, so that a PE's finalize before its exit is
 *                                              visible when the exit is
 *   others     main thread        main thread  none
 */
enum pmix_state { PMIX_NEVER, PMIX_CONNECTED, PMIX_FINALIZED, PMIX_ABORTED };

/* END_SEEN: its exit was found; END_JUDGED: and the job's status takes account of it. */
enum end_state { END_NOT, END_SEEN, END_JUDGED };

struct pe {
    const struct app *app;
    int appnum;
    int rank;
    bool foreground; /* its process group becomes that of the terminal */
    bool own_session; /* if it is bound to one core: Linux 6.18 shares that core fairly only with sessions that use no other */
    int death_sig;   /* parent-death signal, beside what the guardian sends; 0: none */
    pid_t pid;       /* 0 until started; not reaped, so not reused until oshrun ends */
    enum end_state ended;
    bool died;       /* it failed, and the job went on, or ended because too few were left */
    bool again;      /* it is to be started again */
    int replaced;    /* how often it failed and was started again */
    siginfo_t end;   /* once it ended */
    void *cpuset;    /* hwloc_cpuset_t of its core, NULL when not bound */
    size_t nmask;    /* the same as a cpu_set_t of this many bytes */
    void *mask;
    _Atomic int pmix;
};

/* The job that this process starts, watches and ends. Only the main thread accesses it, but for struct pe's pmix. */
extern struct job {
    struct options opt;
    struct pe *pes;
    int npes, live, status; /* npes: PEs that this process starts, 1 except in ROLE_JOB */
    int nreplaced;       /* with --replace: how many were started again */
    int ndied, first_death; /* with --survive: PEs that died, and the status of the first one */
    bool ending;
    /* Times; 0: not set */
    double kill_at, timeout_at;
    double report_at;   /* PEs may report until then */
    double start_at;    /* PEs should have called shmem_init by then; 0: no PE has called it, or this was checked */
    double dying_until; /* wait until then for the exit of a PE that is dying */
    int wake_fd; /* readable after a PE called PMIx_Abort; in ROLE_PE after the engine's daemon exited; -1: none */
} job;

/* oshrun_usage.c */

_Noreturn void out_of_memory(void);
/* p, which malloc has returned; ends the process without memory. */
void *need(void *p);
/* Exit after something was printed on standard output. */
_Noreturn void printed(void);
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
enum { MAX_PES = 1 << 15 };
/* A number of PEs or slots; what: what it is, for the error. */
int opt_count(const char *what, const char *text);
/* False: no network interface has an address. */
bool have_interface(void);
/* The value of --bind-to or --map-by, NULL for the default. */
const char *level_name(enum level level);

/* oshrun_judge.c */

#define GRACE_S 0.4        /* from SIGTERM to SIGKILL after a failure */
#define USER_GRACE_S 2.0   /* the same when a signal to oshrun ends the job */
#define ENGINE_GRACE_S 6.0 /* the same for an engine, which ends the job on all hosts */

double now(void);
void signal_groups(int sig);
/* End the job with this exit status: sig now, SIGKILL after grace seconds. The first call decides the status. */
void end_job(int exit_status, int sig, double grace_s);
/* End the job after a failure and print the reason. */
void fail(int exit_status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* End the job with EXIT_TIMEOUT. On one machine, PEs that have initialised the library first report where they wait. */
void time_out(void);
/* End the job: writing standard output failed. A closed pipe needs no message. */
void lose_output(void);
/* The limit of each step of the start; 0: none. The library reports a value that is not a number. */
long start_limit_s(void);
/* A PE has waited in shmem_init for as long as it may, and ends the job a second later. Name the PEs for which it waits. */
void report_absent(void);
/* The engine exited and its output was read. Its status is the job's when no PE's oshrun reported a failure. */
void engine_ended(void);
/* Is a PE exiting? Its sockets are closed, which others may notice, before waitid reports its exit. */
bool pe_is_dying(const struct pe *pe);
/* With --survive: say which PEs died, if any. */
void report_deaths(void);
/* Decide the job's status from the PEs that exited and the first PMIx_Abort. When several are new, a PE that died without
 * PMIx_Abort counts first, as its death may have caused the abort, and among those one killed by a signal. */
void judge(void);

/* oshrun_start.c */

/* The PEs, or the engine, that this process starts. */
void pes_up(void);
/* Choose the cores of the PEs. Returns the hwloc topology; NULL in ROLE_FRONT. */
void *cores_up(void);
/* Print what this process starts, where an option asks for it; --dry-run ends here. */
void show(void);
/* What must be there before the first PE starts. 0, or -errno after one line. */
int start_ready(void *topology);
void start_all(void);
/* Start the PEs again for which that is set, unless the job is being ended. Their numbers and standard streams are as before; they get no standard input. */
void start_again(void);

/* oshrun_opt.c */

/* Fill *opt from the command line; ends the process after --help, --version or a usage error. */
void opt_parse(struct options *opt, int argc, char **argv);

/* oshrun_hosts.c */

/* Add a host, or add slots to a host in the list. slots 0: not given. */
void hosts_put(struct options *opt, const char *name, int slots);
/* Add the hosts of a list, or of a file, to the job's. */
void hosts_add(struct options *opt, const char *list);
void hosts_read(struct options *opt, const char *path);
/* Decide the role of this oshrun. here: the slots of a batch job, or 0. Returns the default number of PEs. */
int hosts_choose_role(struct options *opt, int here);
/* Make the sum of slots equal the number of PEs: drop slots, or add one to each host in turn. */
void hosts_spread(struct options *opt);
/* The host of each PE, [opt->npes]; not freed. NULL without hosts. */
const int *hosts_of_pes(const struct options *opt);
/* In ROLE_PE: the index of PE `rank` among the PEs of its host; -1: unknown. */
int hosts_local_index(const struct options *opt, int rank);
/* The rank that a launcher gave this process, or NULL. */
const char *hosts_rank(void);

/* oshrun_batch.c */

/* Unless the user or Slurm names the hosts: add those of the batch system's job, if it has several. Returns the slots of all; 0: no
 * such job. */
int batch_hosts(struct options *opt);

/* oshrun_place.c */

/* Number of cores oshrun may use, at least 1. */
int cores_count(void);

/* Choose the cores of npes PEs, the first of which has this index on its host; -1: unknown. Load the topology if that needs
 * it. Returns the hwloc topology, never NULL. */
void *cores_assign(struct pe *pe, int npes, int first, const struct place *place);
/* Print a line with the host, the CPUs and the program of a PE. */
void place_report(FILE *f, const struct pe *pe);

/* oshrun_spawn.c */

/* Start the guardian process. When oshrun is killed, it ends the registered process groups with SIGTERM, and after the given
 * seconds with SIGKILL. Call before any thread exists. Returns 0 or -errno. */
int guardian_up(double grace_s);
void guardian_down(void);

/* Raise the limit of open files for a job of npes PEs, with of_pe more files for each than for its output; the PEs start with
 * the original limit. 0, or -errno after one line. */
int files_up(int npes, int of_pe);

/* Start one PE in a process group of its own, with fd[0..2] as its standard streams and env as its environment, and
 * register the group with the guardian. Returns 0 or the -errno of chdir or exec, whose name is then in *what. */
int pe_spawn(struct pe *pe, const int fd[3], char **env, const char **what);

/* oshrun_mps.c */

/* Start NVIDIA's Multi-Process Service for this job, whose environment then names it, and wait until it answers. It ends with oshrun, or with
 * mps_down. Call before any thread exists. Returns 0, or -errno after one line. */
int mps_up(void);
void mps_down(void);

/* oshrun_io.c */

/* For npes PEs from rank first. heard, or NULL, is called with each line of error output and returns true to drop it. */
void io_up(int first, int npes, bool label, bool (*heard)(const char *line, size_t n));
/* Write the output of each PE to files of this folder, too; last: the job's last rank. 0, or -errno with the name of what
 * cannot be written in *failed. */
int io_files_up(const char *folder, int last, const char **failed);
/* Create the pipe of a stream (0 output, 1 error) and return the end for the PE, or -errno. */
int stream_open(int rank, int which);
/* Read what is left of a PE that has ended, and close its streams. */
void streams_close(int rank);
/* Number of streams a PE, or one of its children, may still write to. */
int streams_left(void);
/* Queue one line of oshrun itself on standard error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Return a descriptor for the standard input of a PE, or -errno; several: other PEs get it, too. oshrun reads a terminal and
 * forwards it, as no PE is ever in its foreground group, and any input of several PEs. Another file is inherited, so that
 * input which the PE does not read stays unread. */
int stdin_open(bool several);
/* Wait up to timeout_ms for input, output or one of the nfds descriptors in fds, fill their revents, and move the bytes. False,
 * with errno: poll(2) fails. */
struct pollfd;
bool io_wait(struct pollfd *fds, int nfds, int timeout_ms);
/* Read without waiting, write unfinished lines and close the streams. */
void io_drain(void);
/* True while bytes are queued for a slow reader. */
bool output_left(void);
/* The errno of the failed write to standard output, or 0. */
int out_error(void);
/* Queued bytes were lost on either stream, for another reason than a closed pipe. */
bool output_lost(void);

/* oshrun_engine.c */

/* Make *app the command by which an engine starts the job and return the engine's name; exits when none is found. */
const char *engine_command(const struct options *opt, struct app *app);
/* Print that command line. */
void engine_show(FILE *f, const struct app *app);
/* Filter a line of standard error from the engine or its PEs: true when it must not be printed. */
bool engine_heard(const char *line, size_t n);
/* The job is being ended: drop the engine's own messages from now on. */
void engine_hush(void);
/* The status of the first PE that failed, 0 while there is none. */
int engine_failure(void);
/* After the engine's last line: its reason for ending the job, or NULL. */
const char *engine_reason(void);
/* In ROLE_PE: decode the command line after AS_PE. */
#define AS_PE "--as-pe"
void engine_decode(int argc, char **argv);
/* In ROLE_PE: report this PE's failure to the oshrun in ROLE_FRONT. */
void engine_report(int status, const char *text);

/* oshrun_debug.c */

/* All PEs have been started. */
void debug_started(const struct pe *pe, int npes);
/* The job is being ended after a failure. */
void debug_aborting(const char *why);
/* The command that runs this one under gdb; not freed. */
char **debug_command(char **argv);

/* A function that libpmix calls in place of libc's of this name; ours has a name of its own, as libc declares some with types that
 * differ between libraries. */
#define REPLACES(name) __asm__(name) __attribute__((visibility("default"), used))

/* oshrun_accept.c */

/* From now on each accept(2) in this process refuses connections of other users; the first one makes wake_fd readable. */
void accept_up(int wake_fd);
/* The user of a refused connection, or -1. */
int64_t accept_refused(void);
/* The errno with which accept(2) is always refused, or 0; then wake_fd becomes readable, too. */
int accept_failure(void);

/* oshrun_data.c */

/* Give the server the job's data, and register the PEs as its clients. A pmix_status_t. */
int data_up(const char *job_name, struct pe *pe, int npes, int napps, const unsigned char *secret, bool survive, bool replace);

/* oshrun_pmix.c */

/* Start the server for the job: afterwards clients may connect. Sets *wake_fd, readable after an abort, a connection, accept_refused and
 * accept_failure. */
int server_up(struct pe *pe, int npes, int napps, void *topology, bool survive, bool replace, int *wake_fd);
/* Has a PE connected? *wake_fd becomes readable when the first one does. */
bool server_connected(void);
/* Have all PEs passed a fence? */
bool server_fenced(void);
/* With --survive: have the living PEs reached the end of shmem_init, where they wait for server_start_all? *wake_fd becomes readable. */
bool server_asks(void);
void server_start_all(void);
/* Has it been called? */
bool server_started(void);
/* In a signal handler, while server_up takes too long: say so and exit. */
_Noreturn void server_is_late(void);
/* Append the variables by which a PE finds the server to its environment. Returns 0 or -errno. */
int server_env(const struct pe *pe, char ***env);
/* The job's name. */
const char *server_job(void);
/* The arguments of a PE's PMIx_Abort. */
struct abort_record {
    int rank, status;
    char words[256];
};

/* The first PMIx_Abort, or NULL. */
const struct abort_record *server_aborted(void);

#endif

/*
 * oshrun.h - what the files of the launcher share: the job, its programs and its PEs.
 *
 * oshrun.c owns the job and its end, oshrun_opt.c the command line, oshrun_spawn.c processes and cores,
 * oshrun_io.c output lines and standard input, oshrun_pmix.c the PMIx server, oshrun_engine.c launchers of several
 * hosts. Nothing here is part of the library.
 */
#ifndef OSHRUN_H
#define OSHRUN_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { EXIT_USAGE = 2, EXIT_TIMEOUT = 124, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* What this oshrun starts: all PEs of a job on this machine; an engine (srun, mpirun) for a job on several; or, started
 * by an engine, one PE of such a job, whose output and end it treats as those on one machine are treated. */
enum role { ROLE_JOB, ROLE_FRONT, ROLE_PE };

enum bind { BIND_DEFAULT, BIND_NONE, BIND_CORE };

/* One program of the job, between two ':' of the command line. */
struct app {
    char **argv;
    char *wdir;  /* NULL: where oshrun was started */
    char **env;  /* VAR=VALUE pairs of -x */
    int nenv;
    int npes;    /* 0 until the default is known */
};

struct host {
    char *name;
    int slots; /* 0: not said */
};

struct options {
    enum role role;
    const char *engine; /* of ROLE_FRONT; NULL: any */
    struct host *hosts; /* of ROLE_FRONT: as many slots as PEs; none: the engine knows */
    int nhosts;
    struct app *apps;
    int napps;
    int npes;    /* of all programs together */
    bool label;
    enum bind bind;
    double timeout_s; /* 0: none */
};

/*
 *   word       written by         read by      order
 *   pmix       PMIx thread        main thread  acquire-release: P1 -> M1, so that a PE which finalized before it
 *                                              exited is seen finalized when its exit is seen
 *   the rest   main thread        main thread  none
 */
enum pmix_state { PMIX_NEVER, PMIX_CONNECTED, PMIX_FINALIZED, PMIX_ABORTED };

/* END_SEEN: its exit is known; END_JUDGED: and what it means for the job's status. */
enum end_state { END_NOT, END_SEEN, END_JUDGED };

struct pe {
    const struct app *app;
    int appnum;
    int rank;
    int death_sig;   /* what it gets when oshrun dies, besides what the guardian sends; 0: nothing */
    pid_t pid;       /* 0 until started; the zombie is kept, so the number stays ours until oshrun ends */
    enum end_state ended;
    siginfo_t end;   /* once it ended */
    void *cpuset;    /* hwloc_cpuset_t of its core, NULL when not bound */
    size_t nmask;    /* the same as a cpu_set_t of this many bytes */
    void *mask;
    _Atomic int pmix;
};

/* oshrun_opt.c */

/* Fill *opt from the command line; ends the process after --help, --version or a usage error. */
void opt_parse(struct options *opt, int argc, char **argv);
/* The value of --bind-to, NULL for the default. */
const char *bind_name(enum bind bind);
_Noreturn void out_of_memory(void);
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* oshrun_spawn.c */

/* Start the guardian, which ends the process groups told to it when oshrun dies without a word: with SIGTERM, and
 * SIGKILL after so many seconds. Call before any thread exists. Returns 0 or -errno. */
int guardian_up(double grace_s);
void guardian_down(void);

/* Have room for the descriptors of a job of npes PEs, which start with the limit that oshrun was given. 0, or -errno
 * after one line. */
int files_up(int npes);

/* Number of cores oshrun may use, at least 1. */
int cores_count(void);

/* Choose a core for each PE (or none) and load the topology if that needs it. Returns the hwloc topology, never NULL. */
void *cores_assign(struct pe *pe, int npes, enum bind bind);

/* Start one PE in a process group of its own, with fd[0..2] as its standard files and env as its environment; the
 * guardian is told. Returns 0 or the -errno of chdir or exec, whose name is then in *what. */
int pe_spawn(struct pe *pe, const int fd[3], char **env, const char **what);

/* oshrun_io.c */

/* Where lines end up: standard output or standard error of oshrun. */
struct sink;
/* A pipe from one PE, cut into lines. */
struct stream;

extern struct sink *const sink_out, *const sink_err;

/* For npes PEs from rank first. heard (or NULL) is shown every line of error output and keeps it by returning true. */
void io_up(int first, int npes, bool label, bool (*heard)(const char *line, size_t n));
/* Create the pipe of a stream (0 output, 1 error) and return the end for the PE, or -errno. */
int stream_open(int rank, int which);
/* Number of streams a PE, or one of its children, may still write to. */
int streams_left(void);
/* Queue one line of oshrun itself on standard error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Return the descriptor that PE 0 gets as standard input, or -errno. A terminal is read by oshrun, since PE 0 is
 * never in its foreground group; anything else is handed over as it is, so that what PE 0 does not read stays unread. */
int stdin_open(void);
/* Wait up to timeout_ms for input, output or one of the nfds descriptors in fds, whose revents are filled; move the bytes. */
struct pollfd;
void io_wait(struct pollfd *fds, int nfds, int timeout_ms);
/* Read what is there without waiting, complete last lines and close the streams. */
void io_drain(void);
/* True while bytes wait for a slow reader. */
bool output_left(void);
/* The errno that ended writing to standard output, 0 while there is none. */
int out_error(void);
/* What is left to write was lost, on either file, and not because its reader went away. */
bool output_lost(void);

/* oshrun_engine.c */

/* Make *app the command that has an engine start the job, and return its name; ends the process when there is none. */
const char *engine_command(const struct options *opt, struct app *app);
/* A line of the engine, or of one of its PEs, on standard error: true when it is not to be passed on. */
bool engine_heard(const char *line, size_t n);
/* From now on the engine's own lines are no news: the job is being ended. */
void engine_hush(void);
/* The status of the first PE that failed, 0 while there is none. */
int engine_failure(void);
/* When all was heard: why the engine ended the job, NULL if it did not say. */
const char *engine_reason(void);
/* In ROLE_PE: undo the coding of the command line, which starts behind AS_PE. */
#define AS_PE "--as-pe"
void engine_decode(int argc, char **argv);
/* In ROLE_PE: tell the front, in its words, how this PE failed. */
void engine_report(int status, const char *text);

/* oshrun_pmix.c */

/* Start the server for the job: afterwards clients may connect. Sets *wake_fd, readable after an abort. */
int server_up(struct pe *pe, int npes, int napps, void *topology, int *wake_fd);
/* Append what a PE needs to find the server to its environment. Returns 0 or -errno. */
int server_env(const struct pe *pe, char ***env);
/* What a PE said that called PMIx_Abort. */
struct abort_record {
    int rank, status;
    char words[256];
};

/* Of the first PE that called PMIx_Abort; NULL while there is none. */
const struct abort_record *server_aborted(void);

#endif

/*
 * boot_pmi.c - the client of launchers that speak PMI-1, MPICH's (mpiexec.hydra) and Slurm's `srun --mpi=pmi2`: lines of KEY=VALUE
 * on a socket, each answered by one.
 *
 * An MPI in the same process uses the same socket. Both send a line and read its answer, never at the same time: here that happens in
 * shmem_init, shmem_finalize and at the end of the process only. The launcher closes the socket when one of the two sends `finalize`:
 * MPI_Finalize does; a program without MPI, or one that has not initialised it, does so here at its end.
 */
#include "host/boot/boot.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/util/end.h"
#include "host/util/log.h"

enum {
    LINE = 1024,      /* the longest line, with its newline */
    PIECE = 400,      /* bytes of a published piece, two digits each */
    ANSWER_MS = 30000 /* limit of an answer: a launcher that refuses a line may not answer it */
};

static int fd = -1;
static char job[256];

/* ---- lines -------------------------------------------------------------------------------------------------------- */

/* Read the answer, without its newline, at most limit_ms after the last part of it; -1: no limit. 0, or -errno. */
static int read_line(char *line, int limit_ms)
{
    for (size_t n = 0; n < LINE - 1;) {
        int ready = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, limit_ms);
        ssize_t got = ready > 0 ? recv(fd, line + n, LINE - 1 - n, MSG_PEEK) : ready;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? -errno : ready ? -ECONNRESET : -ETIMEDOUT;
        char *end = memchr(line + n, '\n', (size_t)got);
        got = recv(fd, line + n, end ? (size_t)(end + 1 - line) - n : (size_t)got, 0); /* what follows the line is not for us */
        if (end) {
            *end = 0;
            return 0;
        }
        n += (size_t)got;
    }
    return -EPROTO;
}

static int send_line(const char *line, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t put = send(fd, line + done, n - done, MSG_NOSIGNAL);
        if (put < 0 && errno != EINTR)
            return -errno;
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

/* The value of a key in an answer, up to the next blank, or NULL. The answer is changed. */
static char *value_of(char *line, const char *key)
{
    size_t n = strlen(key);
    for (char *at = line; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, key, n) == 0 && at[n] == '=') {
            at[n + 1 + strcspn(at + n + 1, " ")] = 0;
            return at + n + 1;
        }
    }
    return NULL;
}

/* Send a line and read its answer, whose cmd must be `expected`; only a barrier waits for other PEs. 0, or -errno. */
static __attribute__((format(printf, 3, 4))) int ask(const char *expected, char answer[LINE], const char *format, ...)
{
    char line[LINE];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    int err = n < LINE ? send_line(line, (size_t)n) : -EMSGSIZE;
    if (!err)
        err = read_line(answer, strcmp(expected, "barrier_out") == 0 ? -1 : ANSWER_MS);
    if (err)
        return err;
    char copy[LINE];
    const char *cmd = value_of(strcpy(copy, answer), "cmd");
    if (!cmd || strcmp(cmd, expected) != 0)
        return -EPROTO;
    const char *rc = value_of(strcpy(copy, answer), "rc");
    return rc && strcmp(rc, "0") != 0 ? -ENOENT : 0;
}

/* ---- operations --------------------------------------------------------------------------------------------------- */

static int put(const char *key, int pe, unsigned piece, const char *value)
{
    char answer[LINE];
    return ask("put_result", answer, "cmd=put kvsname=%s key=%s-%d-%u value=%s\n", job, key, pe, piece, value);
}

/* Copy the value to text[LINE]. */
static int get(const char *key, int pe, unsigned piece, char *text)
{
    char answer[LINE];
    int err = ask("get_result", answer, "cmd=get kvsname=%s key=%s-%d-%u\n", job, key, pe, piece);
    const char *value = err ? NULL : value_of(answer, "value");
    if (value)
        strcpy(text, value);
    return err ? err : value ? 0 : -EPROTO;
}

static int self;
static pid_t process; /* a forked child that exits leaves the connection alone */

/* Piece 0 is the number of bytes; the others are the bytes. */
static int publish(const char *key, const void *data, size_t bytes)
{
    char text[LINE];
    snprintf(text, sizeof text, "%zu", bytes);
    int err = put(key, self, 0, text);
    for (size_t at = 0; !err && at < bytes; at += PIECE) {
        size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        for (size_t i = 0; i < n; i++)
            snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)data)[at + i]);
        err = put(key, self, (unsigned)(at / PIECE) + 1, text);
    }
    explicit_bzero(text, sizeof text);
    if (err)
        shi_log_error("PMI put failed: %s", strerror(-err));
    return err;
}

static int lookup(int pe, const char *key, void *data, size_t bytes)
{
    char text[LINE];
    int err = get(key, pe, 0, text);
    size_t found = err ? 0 : strtoul(text, NULL, 10), want = found < bytes ? found : bytes;
    for (size_t at = 0; !err && at < want; at += PIECE) {
        err = get(key, pe, (unsigned)(at / PIECE) + 1, text);
        for (size_t i = 0; !err && i < PIECE && at + i < want; i++) {
            unsigned byte;
            if (sscanf(text + 2 * i, "%2x", &byte) != 1)
                err = -EPROTO;
            else
                ((unsigned char *)data)[at + i] = (unsigned char)byte;
        }
    }
    explicit_bzero(text, sizeof text);
    if (err)
        shi_log_error("PMI get failed: %s", strerror(-err));
    return err ? err : found == bytes ? 0 : -EMSGSIZE;
}

static int fence(void)
{
    char answer[LINE];
    int err = ask("barrier_out", answer, "cmd=barrier_in\n");
    if (!err)
        return 0;
    sleep(SHI_END_LAUNCHER_S); /* a PE died: the launcher ends this one */
    shi_log_error("PMI barrier failed: %s", strerror(-err));
    return err;
}

static int is_gone(void)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Is the launcher Slurm's plugin pmi2? */
static int is_slurm(void)
{
    const char *id = getenv("PMI_JOBID"), *of_job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
    size_t n = of_job ? strlen(of_job) : 0;
    return id && of_job && step && strncmp(id, of_job, n) == 0 && id[n] == '.' && strcmp(id + n + 1, step) == 0;
}

/* The launcher ends the other PEs when this one ends without `finalize`. Slurm kills this one, too, and so loses its status: if it
 * ends the job for a PE's status anyway, nothing is said. */
static void abort_job(int status)
{
    const char *kills = getenv("SLURM_KILL_BAD_EXIT");
    if (status && kills && atoi(kills) && is_slurm())
        return;
    char line[64];
    send_line(line, (size_t)snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", status));
    char answer[LINE];
    read_line(answer, -1);
}

/* An MPI that was initialised and not finalized. */
static int mpi_is_up(void)
{
    int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    int (*finalized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Finalized");
    int up = 0, over = 0;
    if (initialized && finalized && !initialized(&up) && !finalized(&over))
        return up && !over;
    return 0;
}

/* MPI_Init may still come, so the connection stays until the process ends. */
static void down(void)
{
}

__attribute__((destructor)) static void leave(void)
{
    char answer[LINE];
    if (fd < 0 || getpid() != process || shi_end_under_way()) /* the end of a failed job aborts it after this */
        return;
    if (!is_gone() && !mpi_is_up())
        ask("finalize_ack", answer, "cmd=finalize\n");
    fd = -1;
}

static const struct shi_boot_ops ops = {"pmi", publish, lookup, fence, NULL, is_gone, abort_job, down};

/* ---- start -------------------------------------------------------------------------------------------------------- */

/* The node of each PE, from "(vector,(0,2,4),(2,1,3))": from node 0 on 2 nodes of 4 PEs, then node 2 with 3, and again from the
 * start. 0, or -EPROTO. */
static int parse_mapping(const char *text, int n_pes, int *node)
{
    const char *p = strchr(text, ',');
    int pe = 0;
    if (strncmp(text, "(vector,(", 9) != 0)
        return -EPROTO;
    while (pe < n_pes) {
        int first, nodes, each, n = 0;
        if (sscanf(p, ",(%d,%d,%d)%n", &first, &nodes, &each, &n) != 3 || !n || nodes < 1 || each < 1)
            return -EPROTO;
        for (int i = 0; i < nodes; i++)
            for (int k = 0; k < each && pe < n_pes; k++)
                node[pe++] = first + i;
        p += n;
        if (*p == ')')
            p = strchr(text, ',');
    }
    return 0;
}

static void add_local(struct shi_boot *b, int pe)
{
    if (pe == b->pe)
        b->local_index = b->n_local;
    b->local_pe[b->n_local++] = pe;
}

/* From the ranks of this host, "2,3". */
static int local_of_list(struct shi_boot *b, const char *ranks)
{
    int last = -1;
    b->local_index = -1;
    for (char *end; ; ranks = end + 1) {
        long pe = strtol(ranks, &end, 10);
        if (end == ranks || pe <= last || pe >= b->n_pes || (*end && *end != ','))
            return -EPROTO;
        add_local(b, last = (int)pe);
        if (!*end)
            return b->local_index < 0 ? -EPROTO : 0;
    }
}

static int local_of_mapping(struct shi_boot *b)
{
    char answer[LINE];
    int *node = malloc((size_t)b->n_pes * sizeof *node);
    int err = node ? ask("get_result", answer, "cmd=get kvsname=%s key=PMI_process_mapping\n", job) : -ENOMEM;
    const char *mapping = err ? NULL : value_of(answer, "value");
    if (!err)
        err = mapping ? parse_mapping(mapping, b->n_pes, node) : -EPROTO;
    for (int pe = 0; !err && pe < b->n_pes; pe++)
        if (node[pe] == node[b->pe])
            add_local(b, pe);
    free(node);
    return err;
}

/* Slurm's mapping has a node for each PE when the user lists the hosts of all (--distribution=arbitrary). */
static int find_local(struct shi_boot *b)
{
    const char *ranks = is_slurm() ? getenv("SLURM_GTIDS") : NULL;
    b->local_pe = malloc((size_t)b->n_pes * sizeof *b->local_pe);
    return !b->local_pe ? -ENOMEM : ranks ? local_of_list(b, ranks) : local_of_mapping(b);
}

static int number(const char *name, int *out)
{
    const char *text = getenv(name);
    char *end;
    long n = text ? strtol(text, &end, 10) : -1;
    if (n < 0 || n > 1 << 24 || *end)
        return -EPROTO;
    *out = (int)n;
    return 0;
}

static int connect_to_launcher(struct shi_boot *b)
{
    char answer[LINE];
    int given, err = number("PMI_FD", &given);
    if (!err && (fd = fcntl(given, F_DUPFD_CLOEXEC, 0)) < 0) /* MPI_Finalize closes the other one */
        err = -errno;
    err = err ? err : number("PMI_RANK", &b->pe);
    err = err ? err : number("PMI_SIZE", &b->n_pes);
    err = err ? err : b->pe < b->n_pes ? 0 : -EPROTO;
    if (!err && !(is_slurm() && mpi_is_up())) /* Slurm accepts one init of each process */
        err = ask("response_to_init", answer, "cmd=init pmi_version=1 pmi_subversion=1\n");
    err = err ? err : ask("my_kvsname", answer, "cmd=get_my_kvsname\n");
    const char *name = err ? NULL : value_of(answer, "kvsname");
    if (!err && (!name || strlen(name) >= sizeof job))
        err = -EPROTO;
    if (!err)
        strcpy(job, name);
    return err;
}

int shi_boot_pmi_up(struct shi_boot *out)
{
    struct shi_boot b = {.job = job, .ops = &ops};
    int err = connect_to_launcher(&b);
    if (!err)
        err = find_local(&b);
    if (err) {
        shi_log_error("started by a PMI-1 launcher that does not answer as mpiexec of MPICH does (%s); use oshrun, srun, "
                      "prterun or Open MPI's mpirun", strerror(-err));
        close(fd);
        fd = -1;
        return err;
    }
    self = b.pe;
    process = getpid();
    *out = b;
    return 0;
}

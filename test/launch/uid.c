/*
 * uid.c - jobs without a launcher, whose processes this one forks: uid N MODE [PE]. Prints "PE i: STATUS" for each, 128 + signal for a signal.
 *
 * Modes: fine; never (PE does not call shmem_init), twice (PE takes the number of the one before), size (PE says N + 1), changed (PE has an id of
 * which one bit differs); kill, exit, global, quiet (PE ends by SIGKILL, exit(7), shmem_global_exit(5), _exit(0), while the others compute);
 * fork (PE dies, and a child that it has forked lives on); kill=MS (PE is killed so long after the start); attack (strangers have connected to
 * the first PE before the others come); two (half of the processes are another job); args: what the calls refuse.
 *   uid FILE make     write an id, of which nobody listens
 *   uid FILE squat    write an id, listen, answer nothing, for 20 s
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STRANGERS = 150 };

static struct shared {
    shmemx_uniqueid_t id[2];
    int ready[2];
} *shared;

static const char *mode;
static int n, odd;

static int is(const char *what)
{
    return strcmp(mode, what) == 0;
}

/* Connect to all addresses of the id (src/host/boot/uid_id.h) and say nothing, or garbage, or a hello without a proof. */
static void attack(const shmemx_uniqueid_t *id)
{
    unsigned char bytes[128], hello[24] = "FULMARU1", garbage[300];
    memcpy(bytes, id, sizeof bytes);
    memset(garbage, 'g', sizeof garbage);
    for (int i = 0; i < STRANGERS; i++) {
        const unsigned char *a = bytes + 22 + i % bytes[20] * 18;
        struct sockaddr_in v4 = {.sin_family = AF_INET};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
        static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
        int is_v4 = memcmp(a, mapped, 12) == 0, fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM, 0);
        memcpy(&v4.sin_addr, a + 12, 4), memcpy(&v4.sin_port, a + 16, 2);
        memcpy(&v6.sin6_addr, a, 16), memcpy(&v6.sin6_port, a + 16, 2);
        if (connect(fd, is_v4 ? (void *)&v4 : (void *)&v6, is_v4 ? sizeof v4 : sizeof v6)) {
            perror("attack: connect");
            exit(99);
        }
        ssize_t sent = i % 3 == 1 ? write(fd, garbage, sizeof garbage) : i % 3 == 2 ? write(fd, hello, sizeof hello) : 0;
        if (sent < 0)
            perror("attack: write");
    }
}

static void end_as_told(void)
{
    usleep(300000);
    if (is("fork") && fork() == 0) {
        sleep(6);
        _exit(0);
    }
    if (is("kill") || is("fork"))
        raise(SIGKILL);
    if (is("exit"))
        exit(7);
    if (is("global"))
        shmem_global_exit(5);
    if (is("quiet"))
        _exit(0);
}

static int args(const shmemx_uniqueid_t *id)
{
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    shmemx_uniqueid_t none = SHMEMX_UNIQUEID_INITIALIZER;
    int bad = shmemx_set_attr_uniqueid_args(1, 1, id, &attr) != -EINVAL, provided;
    bad |= (shmemx_set_attr_uniqueid_args(-1, 1, id, &attr) != -EINVAL) << 1;
    bad |= (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr) != -EINVAL) << 2; /* no id */
    bad |= (shmemx_init_attr(1 << 5, &attr) != -EINVAL) << 3;
    bad |= (shmemx_init_attr(SHMEMX_INIT_WITH_MPI_COMM, &attr) != -EINVAL) << 4;
    bad |= (shmemx_set_attr_uniqueid_args(0, 1, &none, &attr) != 0) << 5;
    bad |= (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr) != -EINVAL) << 6;
    shmemx_set_attr_uniqueid_args(0, 1, id, &attr);
    bad |= (shmemx_init_thread_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr, SHMEM_THREAD_MULTIPLE, &provided) != 0) << 7;
    bad |= (provided != SHMEM_THREAD_MULTIPLE || shmem_n_pes() != 1) << 8;
    shmem_finalize();
    bad |= (shmemx_get_uniqueid(&none) || shmemx_set_attr_uniqueid_args(0, 1, &none, &attr)) << 9;
    bad |= (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr) != 0 || shmem_n_pes() != 1) << 10; /* another job: again.c */
    shmem_finalize();
    printf("args: %#x\n", bad);
    return bad != 0;
}

static int pe(int i)
{
    int job = is("two") && i % 2, me = is("two") ? i / 2 : i, size = is("two") ? (n + 1 - job) / 2 : n;
    shmemx_init_attr_t attr;
    shmemx_uniqueid_t id;
    if (me == 0) {
        if (shmemx_get_uniqueid(&shared->id[job]))
            return 98;
        if (is("attack"))
            attack(&shared->id[job]);
        __atomic_store_n(&shared->ready[job], 1, __ATOMIC_RELEASE);
    }
    if (i == odd && is("never"))
        return 0;
    for (int ms = 0; !__atomic_load_n(&shared->ready[job], __ATOMIC_ACQUIRE); ms++) {
        if (ms == 4000)
            return 95; /* the first PE was killed before it made the id */
        usleep(1000);
    }
    id = shared->id[job];
    if (is("args"))
        return args(&id);
    if (i == odd && is("changed"))
        id.internal[3] ^= 1;
    shmemx_set_attr_uniqueid_args(i == odd && is("twice") ? me - 1 : me, i == odd && is("size") ? size + 1 : size, &id, &attr);
    if (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr))
        return 97;
    int *sum = shmem_calloc(1, sizeof *sum);
    shmem_int_atomic_add(sum, me + 1, 0);
    shmem_barrier_all();
    if (me == 0 && (*sum != size * (size + 1) / 2 || shmem_n_pes() != size))
        return 96;
    if (i == odd)
        end_as_told();
    while (is("kill") || is("exit") || is("global") || is("quiet") || is("fork"))
        ; /* and make no call */
    shmem_finalize();
    return 0;
}

static int write_id(const char *path, int stays)
{
    shmemx_uniqueid_t id;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (shmemx_get_uniqueid(&id) || write(fd, &id, sizeof id) != sizeof id || close(fd))
        return 1;
    if (stays)
        sleep(20);
    return 0;
}

int main(int argc, char **argv)
{
    mode = argc > 2 ? argv[2] : "";
    if (is("make") || is("squat"))
        return write_id(argv[1], is("squat"));
    n = atoi(argv[1]);
    odd = argc > 3 ? atoi(argv[3]) : -1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t *child = calloc((size_t)n, sizeof *child);
    for (int i = 0; i < n; i++) {
        child[i] = fork();
        if (child[i] == 0)
            return pe(i);
    }
    if (strncmp(mode, "kill=", 5) == 0) {
        usleep((useconds_t)atoi(mode + 5) * 1000);
        kill(child[odd], SIGKILL);
    }
    int bad = 0;
    for (int i = 0; i < n; i++) {
        int status;
        waitpid(child[i], &status, 0);
        status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        printf("PE %d: %d\n", i, status);
        bad |= status;
    }
    return bad != 0;
}

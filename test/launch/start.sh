#!/usr/bin/env bash
# start.sh - a start that cannot succeed ends with a line within SHMEM_START_TIMEOUT: refused system calls, limits, PEs that stop.
#
# START_ALL=1 refuses each call in all four ways instead of two.
. "${top_srcdir:=.}/test/tap.sh"
: "${OSHCC:=oshcc}"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export SHMEM_START_TIMEOUT=1 SHMEM_SYMMETRIC_SIZE=1M

cat >"$work/refuse.c" <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) /* refuse NUMBER ERRNO COMMAND... */
{
    struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(argv[1]), 0, 1),
                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[2])),
                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, f};
    if (argc < 4 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 77;
    execvp(argv[3], argv + 3);
    return 77;
}
END
cat >"$work/hello.c" <<'END'
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static long x;
int main(int argc, char **argv)
{
    const char *rank = getenv("PMIX_RANK");
    if (argc > 1 && rank && strcmp(rank, "1") == 0)
        raise(atoi(argv[1]));
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_long_p(&x, me + 1, (me + 1) % n);
    shmem_barrier_all();
    printf("%s\n", x == (me + n - 1) % n + 1 ? "right" : "wrong");
    shmem_finalize();
    return 0;
}
END
# stop.so: PE 1 stops in a call of the function STOP_IN: the first one, or with STOP_LATE the first one after PMIx_Fence.
cat >"$work/stop.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
static void stop(const char *name)
{
    static int stopped, fenced;
    const char *in = getenv("STOP_IN"), *rank = getenv("PMIX_RANK");
    if (in && rank && strcmp(in, name) == 0 && strcmp(rank, "1") == 0 && (fenced || !getenv("STOP_LATE")) && !stopped++)
        raise(SIGSTOP);
    fenced |= strcmp(name, "PMIx_Fence") == 0;
}
#define STOPS(name) \
    long stop_##name(long a, long b, long c, long d, long e, long f) __asm__(#name); \
    long stop_##name(long a, long b, long c, long d, long e, long f) \
    { \
        long (*next)(long, long, long, long, long, long) = (long (*)(long, long, long, long, long, long))dlsym(RTLD_NEXT, #name); \
        stop(#name); \
        return next(a, b, c, d, e, f); \
    }
STOPS(PMIx_Init) STOPS(PMIx_Get) STOPS(PMIx_Fence) STOPS(sched_getaffinity) STOPS(on_exit) STOPS(getifaddrs) STOPS(listen)
END
${CC:-cc} -w "$work/refuse.c" -o "$work/refuse" >"$work/log" 2>&1 && $OSHCC "$work/hello.c" -o "$work/hello" >>"$work/log" 2>&1 &&
    ${CC:-cc} -w -shared -fPIC "$work/stop.c" -o "$work/stop.so" -ldl >>"$work/log" 2>&1
ok $? "the programs compile" "$work/log"

# Succeeds after a right run, and after a failure with a line of this project or of the linker, or an end by a signal, which a line names.
right_or_line() { # status
    if [ "$1" -eq 0 ]; then
        [ "$(grep -c '^right$' "$work/out")" -eq 2 ]
    else
        [ "$1" -ne 124 ] && [ "$1" -ne 137 ] && grep -Eq '^(oshrun|fulmar): |error while loading shared libraries|thread-local' "$work/err"
    fi
}

# Catches: a wait without end, or a failure without a line, where a sandbox refuses a system call. All calls of a start, and some that
# other systems make; not those without which no program runs or no line is written: execve, exit, mmap, write, getpid.
calls="accept accept4 access arch_prctl bind brk clock_nanosleep clone clone3 close close_range connect dup dup2 dup3 epoll_create
    epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2 faccessat2 fcntl ftruncate futex getcwd getdents64 getegid geteuid getgid
    getpeername getppid getrandom getrusage getsockname getsockopt gettid getuid ioctl io_uring_setup kill listen lseek madvise membarrier
    memfd_create mprotect munmap newfstatat openat perf_event_open pidfd_getfd pidfd_open pipe2 poll ppoll prctl pread64 prlimit64
    process_vm_readv pselect6 pwrite64 read readlink recvfrom recvmsg rseq rt_sigaction rt_sigprocmask sched_getaffinity
    sched_setaffinity sched_yield sendmsg sendto set_robust_list set_tid_address setpgid setsid setsockopt shutdown signalfd4 socket
    socketpair statfs sysinfo timer_create uname userfaultfd vfork wait4 waitid writev"
if "$work/refuse" "$(echo SYS_getppid | ${CC:-cc} -include sys/syscall.h -E -P - | tail -1)" 1 true; then
    for call in $calls; do
        number=$(echo "SYS_$call" | ${CC:-cc} -include sys/syscall.h -E -P - | tail -1)
        case $number in SYS_*) continue ;; esac # this machine has no such call
        odd=$((1 - ${odd:-0}))
        for where in "all 1 auto 0" "PEs 38 auto 0" "all 38 ofi 1" "PEs 1 ofi 1"; do # 38: ENOSYS
            # shellcheck disable=SC2086
            set -- $where
            [ "$4" -eq $odd ] || [ -n "$START_ALL" ] || continue
            if [ "$1" = all ]; then
                SHMEM_TRANSPORT=$3 timeout -k 5 60 "$work/refuse" "$number" "$2" $OSHRUN -n 2 "$work/hello" >"$work/out" 2>"$work/err"
            else
                SHMEM_TRANSPORT=$3 timeout -k 5 60 $OSHRUN -n 2 "$work/refuse" "$number" "$2" "$work/hello" >"$work/out" 2>"$work/err"
            fi
            status=$?
            right_or_line $status || echo "# $call, $where: status $status, $(wc -l <"$work/err") lines" >>"$work/wrong"
        done
    done
    [ ! -e "$work/wrong" ]
    ok $? "refused system calls: a right run, or a line and an end" "$work/wrong"
else
    skip "refused system calls" "seccomp filters do not work here"
fi

# Catches: a refused call that should have no effect.
export SHMEM_START_TIMEOUT=60
for call in sched_getaffinity memfd_create prctl pidfd_getfd; do
    number=$(echo "SYS_$call" | ${CC:-cc} -include sys/syscall.h -E -P - | tail -1)
    if ! "$work/refuse" "$number" 1 true; then
        skip "$call is refused: a right run" "seccomp filters do not work here"
        continue
    fi
    timeout -k 5 60 "$work/refuse" "$number" 1 $OSHRUN -n 2 "$work/hello" >"$work/out" 2>"$work/err"
    [ "$(grep -c '^right$' "$work/out")" -eq 2 ]
    ok $? "$call is refused: a right run" "$work/err"
done

# Catches: limits of the shell that end a start in silence or let it wait. Each has a right run, or a line that names it.
limit() { # option, value
    (ulimit "$1" "$2" && exec timeout -k 5 60 $OSHRUN -n 2 "$work/hello") 2>&1 | cat >"$work/out"
}
limit -d 10000
[ "$(grep -c '^right$' "$work/out")" -eq 2 ]
ok $? "ulimit -d 10000: a right run" "$work/out"
limit -s 64
grep -q '^oshrun: ulimit -s 64: ' "$work/out"
ok $? "ulimit -s 64: a line names it" "$work/out"
for size in 0 100; do
    limit -f $size
    grep -q "SHMEM_SYMMETRIC_SIZE=1048576: .*ulimit -f" "$work/out"
    ok $? "ulimit -f $size: a line names the heap and the limit" "$work/out"
done
limit -f 1000000
[ "$(grep -c '^right$' "$work/out")" -eq 2 ]
ok $? "ulimit -f 1000000: the heaps fit" "$work/out"

# Catches: a wait of shmem_init without a limit, or one whose line does not name the PE for which it waits.
stops() { # name, pattern, command...
    local name=$1 pattern=$2
    shift 2
    SHMEM_START_TIMEOUT=1 timeout -k 5 60 "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ $status -ne 137 ] && grep -Eq "$pattern" "$work/err" &&
        grep -q 'PE 0: shmem_init: .* took more than 1 s' "$work/err"
    ok $? "$name" "$work/err"
}
stops "PE 1 stops before shmem_init" "PE 1 .*has not called shmem_init and is stopped" $OSHRUN -n 2 "$work/hello" 19
stops "PE 1 has ended without shmem_init" "PE 1 .*has not called shmem_init and has ended" $OSHRUN -n 1 "$work/hello" : -n 1 true
for in in PMIx_Init PMIx_Get PMIx_Fence; do
    stops "PE 1 stops in $in" "PE 1 .*(stopped|has not called)" $OSHRUN -n 2 -x STOP_IN=$in -x LD_PRELOAD="$work/stop.so" "$work/hello"
done
for at in "sched_getaffinity auto" "on_exit auto" "getifaddrs ofi" "listen ofi"; do
    # shellcheck disable=SC2086
    set -- $at
    stops "PE 1 stops in $1, with the others in a wait on the node, $2" "PE 0: .*PE 1 \(pid [0-9]+, stopped\) not there" \
        env SHMEM_TRANSPORT="$2" $OSHRUN -n 2 -x STOP_LATE=1 -x STOP_IN="$1" -x LD_PRELOAD="$work/stop.so" "$work/hello"
done

# Catches: a limit where none is wanted.
SHMEM_START_TIMEOUT=0 timeout -k 5 60 $OSHRUN -n 1 "$work/hello" : -n 1 sh -c "sleep 3; exec '$work/hello'" >"$work/out" 2>"$work/err"
[ "$(grep -c '^right$' "$work/out")" -eq 2 ] && [ ! -s "$work/err" ]
ok $? "SHMEM_START_TIMEOUT=0: PEs wait for one that is late" "$work/err"
plan

#!/usr/bin/env bash
# oshcc.t.sh - the compiler wrappers: the commands they print and run; the programs that they build run. The comment
# above each test names the mistake that it catches.
#
# OSHCC, OSHCXX and OSHRUN name the tools under test.
top=${top_builddir:-.}
oshcc=${OSHCC:-$top/src/tools/oshcc}
oshcxx=${OSHCXX:-$top/src/tools/oshc++}
oshrun=${OSHRUN:-$top/src/tools/oshrun}
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
tests=0

ok() { # $?, name
    tests=$((tests + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests - $2"
    else
        echo "not ok $tests - $2"
        sed 's/^/# /' "$work/log" | tail -8
    fi
}

cat >"$work/hello.c" <<'END'
#include <shmem.h>
#include <stdio.h>
#ifndef TEXT
#define TEXT "plain"
#endif
int main(void)
{
    shmem_init();
    printf("%s %d\n", TEXT, shmem_n_pes());
    shmem_finalize();
    return 0;
}
END
cp "$work/hello.c" "$work/hello.cc"
echo 'int twice(int x) { return 2 * x; }' >"$work/lib.c"
: >"$work/log"

runs() { # program, the first word that each of two PEs must print
    [ "$(timeout 60 "$oshrun" -n 2 "$1" 2>>"$work/log" | sort -u)" = "$2 2" ]
}

# A wrapper that finds neither header nor library.
"$oshcc" "$work/hello.c" -o "$work/hello" >"$work/log" 2>&1 && runs "$work/hello" plain
ok $? "oshcc builds a program that runs"

"$oshcxx" "$work/hello.cc" -o "$work/hello++" >"$work/log" 2>&1 && runs "$work/hello++" plain
ok $? "oshc++ builds a program that runs"

# A static program that still needs libfulmar.so.
"$oshcc" --static-shmem "$work/hello.c" -o "$work/static" >"$work/log" 2>&1 && runs "$work/static" plain &&
    ! ldd "$work/static" | grep -q libfulmar
ok $? "--static-shmem links the library into the program"

OSHCC_STATIC=1 "$oshcc" "$work/hello.c" -o "$work/static" >"$work/log" 2>&1 && ! ldd "$work/static" | grep -q libfulmar
ok $? "OSHCC_STATIC=1 does the same"

# Hundreds of undefined references in place of a reason; -static refused where the compiler does not link.
refused=0
for arg in -static -static-pie; do
    "$oshcc" $arg --static-shmem "$work/hello.c" -o "$work/all" >"$work/log" 2>&1 && refused=1
    [ "$(wc -l <"$work/log")" -eq 1 ] && grep -q "^oshcc: $arg: .*--static-shmem" "$work/log" || refused=1
done
[ $refused = 0 ] && "$oshcc" -static -c "$work/hello.c" -o "$work/hello.o" >"$work/log" 2>&1
ok $? "a fully static program is refused in one line"

# Arguments split at blanks, or quotes lost in a second evaluation.
text='it'\''s "two"  $words `x` \\ *'
printf '#include <stdio.h>\nint main(void) { puts(TEXT); return 0; }\n' >"$work/a b.c"
escaped=$(printf '%s' "$text" | sed 's/[\\"]/\\&/g')
"$oshcc" "-DTEXT=\"$escaped\"" "$work/a b.c" -o "$work/a b" >"$work/log" 2>&1 &&
    [ "$("$work/a b")" = "$text" ]
ok $? "blanks, quotes and dollars in arguments survive"

# A printed command that is not the one that runs, or that a shell reads differently.
"$oshcc" -show "-DTEXT=\"shown words\"" "$work/hello.c" -o "$work/shown" >"$work/line" 2>"$work/log"
[ ! -e "$work/shown" ] && [ "$(wc -l <"$work/line")" -eq 1 ] && eval "$(cat "$work/line")" >>"$work/log" 2>&1 &&
    runs "$work/shown" "shown words"
ok $? "-show prints a command with the same effect"

bad=
for other in --showme --show -showme -link_info -link-info; do
    [ "$("$oshcc" -show x.c)" = "$("$oshcc" $other x.c)" ] || bad="$bad $other"
done
[ -z "$bad" ] && [ "$("$oshcc" -compile_info -c)" = "$("$oshcc" -show -c)" ] && ! "$oshcc" -compile_info | grep -q -- -lfulmar &&
    [ "$("$oshcc" -showme:link)" = "$("$oshcc" --showme:link)" ]
ok $? "-show, --show, -showme, --showme and -link_info print the same, and -compile_info does not link$bad"

# Flags that do not suffice for build systems that query them and call the compiler themselves.
cc=$("$oshcc" -show | sed 's/ -I.*//') # may be two words
eval "$cc $("$oshcc" --showme:compile) -c '$work/hello.c' -o '$work/by-hand.o'" >"$work/log" 2>&1 &&
    eval "$cc '$work/by-hand.o' -o '$work/by-hand' $("$oshcc" --showme:link)" >>"$work/log" 2>&1 && runs "$work/by-hand" plain
ok $? "--showme:compile and --showme:link suffice to build"

# Warnings about unused linker input, or a link that was not requested.
"$oshcc" -Werror -c "$work/lib.c" -o "$work/lib.o" >"$work/log" 2>&1 && [ ! -s "$work/log" ] &&
    "$oshcc" -E "$work/lib.c" 2>&1 | grep -q twice && "$oshcc" -MM "$work/lib.c" | grep -q lib.o &&
    ! "$oshcc" -show -c x.c | grep -q -- -lfulmar
ok $? "-c, -E and -MM do not link"

# An option without a file that ends in a failed link.
"$oshcc" --version >"$work/log" 2>&1 && "$oshcc" -v >>"$work/log" 2>&1
ok $? "--version and -v of the compiler work"

# The value of an option taken for an option of oshcc, or for a file.
"$oshcc" -show -o -c x.c | grep -q -- -lfulmar && "$oshcc" -show -MF -show -c x.c >"$work/log" 2>&1
ok $? "values of options are passed on unchanged"

OSHCC_CC='echo used' "$oshcc" x.c >"$work/log" 2>&1 && grep -q '^used .*x.c' "$work/log"
ok $? "OSHCC_CC names the compiler"

# The status of the compiler lost.
! "$oshcc" "$work/none.c" >"$work/log" 2>&1
ok $? "a failed compilation fails"

"$oshcc" --help >"$work/log" 2>&1 && grep -q -- --static-shmem "$work/log" && grep -q OSHCC_CC "$work/log"
ok $? "--help"

# An apt that has a translator of LLVM 98 without its clang. Catches: a message, or ./start, with packages that do not exist.
mkdir "$work/apt" && cat >"$work/apt/apt-cache" <<'END'
#!/bin/sh
has="llvm-98 llvm-spirv-98 clang-97 llvm-97 llvm-spirv-97"
case $1 in
pkgnames) printf '%s\n' $has | grep "^$2" ;;
show) shift && for p; do case " $has " in *" $p "*) exit 0 ;; esac; done; exit 100 ;;
esac
END
chmod +x "$work/apt/apt-cache"
(PATH=$work/apt:$PATH && . "${top_srcdir:-.}/src/tools/llvm.sh" && llvm_missing && OSHCC_LLVM=98 llvm_missing) >"$work/log" 2>&1
grep -q 'install clang-97 llvm-97 llvm-spirv-97$' "$work/log" && grep -q '98; install the packages of' "$work/log"
ok $? "the packages for kernels are of one version that apt has" "$work/log"

# Catches: memory that libpmix does not free, which LeakSanitizer takes for the program's leak, so that each program under a sanitizer fails;
# a leak of the program that is not reported; a program's own suppressions that do not win.
cat >"$work/leak.c" <<'END'
#include <shmem.h>
#include <stdlib.h>
#ifdef OWN
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libpmix\nleak:lose_";
}
#endif
static void *volatile lost;
static void lose_memory(void)
{
    lost = malloc(77);
    lost = NULL;
}
int main(void)
{
    shmem_init();
    lose_memory();
    shmem_finalize();
    return 0;
}
END
for cc in ${CC:-gcc} clang; do
    for kind in address leak undefined; do
        name="$cc -fsanitize=$kind"
        [ "$name" != "clang -fsanitize=leak" ] || continue # its runtime takes no options from the program, see oshcc
        if ! (cd "$work" && echo 'int main(void) { return 0; }' >empty.c && $cc -fsanitize=$kind empty.c -o empty && ./empty) >"$work/log" 2>&1; then
            tests=$((tests + 1))
            echo "ok $tests - $name # SKIP the compiler has no such sanitizer, or it does not work here"
            continue
        fi
        OSHCC_CC=$cc "$oshcc" -g -fsanitize=$kind "$work/hello.c" -o "$work/sane" >"$work/log" 2>&1 &&
            "$oshrun" -n 2 "$work/sane" >"$work/log" 2>&1
        ok $? "$name: a program that frees its memory ends with 0"
        [ $kind != undefined ] || continue
        OSHCC_CC=$cc "$oshcc" -g -fsanitize=$kind "$work/leak.c" -o "$work/leak" >"$work/log" 2>&1 &&
            ! "$oshrun" -n 1 "$work/leak" >"$work/log" 2>&1 && grep -q '77 byte(s) leaked in 1 alloc' "$work/log"
        ok $? "$name: the program's leak is reported, and nothing else"
        OSHCC_CC=$cc "$oshcc" -g -DOWN -fsanitize=$kind "$work/leak.c" -o "$work/leak" >"$work/log" 2>&1 &&
            "$oshrun" -n 1 "$work/leak" >"$work/log" 2>&1
        ok $? "$name: the program's own suppressions are used"
    done
done

# Catches: an access of the program past a block of the symmetric heap or after its end that AddressSanitizer does not report; a right access
# that it does, also of the library's own copies, after a second shmem_init, and of memory that comes again.
cat >"$work/blocks.c" <<'END'
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char big[1 << 16];
static volatile char c;
static char *block(size_t bytes)
{
    char *p = shmem_malloc(bytes), *next = shmem_malloc(1);
    memset(p, 1, bytes);
    shmem_putmem(p, big, bytes, shmem_my_pe());
    *next = 1;
    return p;
}
static void all_is_right(void)
{
    for (int k = 0; k < 2; k++) {
        char *p = block(77), *q = shmem_calloc(3, 1000), *r = shmem_align(8192, 100);
        memset(r, 1, 100);
        p = shmem_realloc(p, 3 << 20);
        memset(p, 1, 3 << 20);
        p = shmem_realloc(p, 10);
        q = shmem_realloc(q, 3001);
        memset(q, 1, 3001);
        shmem_free(p);
        p = shmem_malloc(2 << 20);
        memset(p, 1, 2 << 20);
        shmem_broadcastmem(SHMEM_TEAM_WORLD, p, q, 3001, 0);
        shmem_free(q);
        shmem_finalize();
        shmem_init();
    }
}
int main(int argc, char **argv)
{
    size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    shmem_init();
    char *p = block(77);
    switch (argc > 1 ? *argv[1] : 0) {
    case 'r': all_is_right(); break;
    case 'l': c = p[n]; break;
    case 's': p[n] = 1; break;
    case 'm': memcpy(big, p, n); break;
    case 'b': p = shmem_malloc(n); p[n] = 1; break; /* behind all blocks */
    case 'f': shmem_free(p); p[n] = 1; break;
    case 'g': shmem_free(block(1 << 16)); shmem_free(p); c = p[n]; break;
    case 'd': p = shmem_realloc(p, 20); c = p[n]; break;
    case 'v': { char *q = shmem_realloc(p, 1 << 20); c = q[n]; c = p[n]; } break; /* moved */
    }
    printf("%s not reported\n", argc > 1 ? argv[1] : "");
    shmem_finalize();
    return 0;
}
END
for cc in ${CC:-gcc} clang; do
    if ! (cd "$work" && $cc -fsanitize=address empty.c -o empty && ./empty && OSHCC_CC=$cc "$oshcc" -g -fsanitize=address blocks.c -o blocks) >"$work/log" 2>&1; then
        tests=$((tests + 1))
        echo "ok $tests - $cc -fsanitize=address and blocks # SKIP the compiler has no AddressSanitizer, or it does not work here"
        continue
    fi
    "$oshrun" -n 2 "$work/blocks" right >"$work/log" 2>&1
    ok $? "$cc -fsanitize=address: right accesses of blocks are not reported"
    while read -r what at; do
        ! "$oshrun" -n 1 "$work/blocks" "$what" "$at" >"$work/log" 2>&1 && grep -q 'AddressSanitizer: use-after-poison on' "$work/log" &&
            ! grep -q 'not reported' "$work/log"
        ok $? "$cc -fsanitize=address: $what at $at is reported"
    done <<'END'
load 77
load 127
store 80
memcpy 78
behind 100000
free 0
free 76
gap 3
diminish 20
vacate 0
END
done

# Threads that one routine after the other orders, on a node and over a network. Catches: a race that ThreadSanitizer reports in a right
# program, because it does not see how the library orders threads; a real one that it no longer reports.
cat >"$work/order.c" <<'END'
#include <pthread.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { N = 40, ROUNDS = 20 };
static long flag, dest[N], source[N];
static uint64_t sig, there;
static int me, next;
static long *plain; /* what threads hand over */
static void put_signal(long v) { shmem_long_put_signal(dest, source, N, &sig, (uint64_t)v, SHMEM_SIGNAL_SET, me); }
static void take_signal(long v) { shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, (uint64_t)v); }
static void fetch_signal(long v) { while (shmem_signal_fetch(&sig) != (uint64_t)v) sched_yield(); }
static void put(long v) { shmem_long_put(dest, source, N, me), shmem_fence(), shmem_long_p(&flag, v, me); }
static void wait_until(long v) { shmem_long_wait_until(&flag, SHMEM_CMP_EQ, v); }
static void wait_any(long v) { shmem_long_wait_until_any(&flag, 1, NULL, SHMEM_CMP_EQ, v); }
static void test(long v) { while (!shmem_long_test(&flag, SHMEM_CMP_EQ, v)) sched_yield(); }
static void set(long v) { shmem_long_atomic_set(&flag, v, me); }
static void fetch(long v) { while (shmem_long_atomic_fetch(&flag, me) != v) sched_yield(); }
static void get(long v) { while (shmem_long_g(&flag, me) != v) sched_yield(); }
static void echo(long v) { shmem_long_put_signal(dest, source, N, &there, (uint64_t)v, SHMEM_SIGNAL_SET, next); }
static void send(long v) { shmemx_tag_send(SHMEM_TEAM_WORLD, &v, sizeof v, (uint64_t)v, me); }
static void receive(long v) { shmemx_tag_recv(SHMEM_TEAM_WORLD, &v, sizeof v, (uint64_t)v, SHMEMX_TAG_EXACT, me, NULL); }
static const struct way { const char *name; void (*give)(long), (*take)(long); } ways[] = {
    {"signal", put_signal, take_signal}, {"signal_fetch", put_signal, fetch_signal}, {"wait", put, wait_until},
    {"wait_any", put, wait_any}, {"test", put, test}, {"set", set, wait_until}, {"fetch", set, fetch}, {"get", put, get},
    {"other PE", echo, take_signal}, {"tag", send, receive}};
static const struct way *way;
static int races;
static void *give(void *arg)
{
    *plain = 7;
    way->give((long)arg);
    if (races)
        *plain = 8;
    return NULL;
}
static void *take(void *arg)
{
    way->take((long)arg);
    if (*plain < 7)
        abort();
    *plain = 0;
    return NULL;
}
int main(int argc, char **argv)
{
    int level;
    long v = 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    me = shmem_my_pe();
    next = (me + 1) % shmem_n_pes();
    races = argc > 1;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int r = 0; r < (races ? 1 : ROUNDS); r++) {
            pthread_t a, b;
            way = &ways[i];
            if (races && strcmp(way->name, argv[1]))
                continue;
            plain = malloc(sizeof *plain);
            v++;
            pthread_create(&a, NULL, give, (void *)v);
            pthread_create(&b, NULL, take, (void *)v);
            if (way->give == echo) { /* back to where it came from */
                shmem_signal_wait_until(&there, SHMEM_CMP_EQ, (uint64_t)v);
                shmem_signal_set(&sig, (uint64_t)v, (me + shmem_n_pes() - 1) % shmem_n_pes());
            }
            pthread_join(a, NULL);
            pthread_join(b, NULL);
            free(plain);
        }
    shmem_finalize();
    return 0;
}
END
for cc in ${CC:-gcc} clang; do
    name="$cc -fsanitize=thread"
    if ! (cd "$work" && $cc -fsanitize=thread empty.c -o empty && ./empty) >"$work/log" 2>&1; then
        tests=$((tests + 1))
        echo "ok $tests - $name # SKIP the compiler has no such sanitizer, or it does not work here"
        continue
    fi
    OSHCC_CC=$cc "$oshcc" -g -O1 -fsanitize=thread "$work/order.c" -o "$work/order" -lpthread >"$work/log" 2>&1
    ok $? "$name: a program of threads is built"
    for transport in auto ofi; do
        SHMEM_TRANSPORT=$transport "$oshrun" -n 2 "$work/order" >"$work/log" 2>&1 && ! grep -q ThreadSanitizer "$work/log"
        ok $? "$name, SHMEM_TRANSPORT=$transport: no race in a right program"
        for way in signal test get tag; do
            SHMEM_TRANSPORT=$transport "$oshrun" -n 1 "$work/order" $way >"$work/log" 2>&1
            [ $? -eq 66 ] && grep -qE 'data race.*in (give|take)' "$work/log" # in the one that came later
            ok $? "$name, SHMEM_TRANSPORT=$transport: a race after '$way' is reported"
        done
    done
done

# Catches: a file that oshcc adds, and that replaces the program's in its list of dependencies, or is compiled in the program's language.
(cd "$work" && "$oshcc" -fsanitize=address -MD -MF dep.d -x c hello.c -o sane && grep -q 'hello\.c' dep.d && ! grep -q lsan dep.d) >"$work/log" 2>&1
ok $? "-fsanitize=address leaves the dependencies of -MF as they are"

echo "1..$tests"

#!/bin/sh
# link.sh - static data, including constants, in programs linked in every way. Catches: segments that are taken for
# another kind, are missed, or that two programs without a build-id seem to share.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

# linked WHAT FLAGS: const.c, linked with FLAGS, passes on a node and over the network.
linked() {
    what=$1
    shift
    if ! $OSHCC -I"$top_srcdir/test" "$@" "$top_srcdir/test/multi/const.c" -o "$dir/const" 2>"$dir/err"; then
        skip "$what" "linking with these flags fails here"
        return
    fi
    for transport in auto ofi; do
        SHMEM_TRANSPORT=$transport timeout -k 5 60 $OSHRUN -n 2 "$dir/const" >"$dir/out" 2>&1 </dev/null
        status=$?
        [ $status -eq 0 ] && [ "$(grep -c '^ok' "$dir/out")" -eq 3 ]
        ok $? "$what, $transport" "$dir/out"
    done
}

linked "position-independent" -fPIE -pie
linked "at a fixed address" -fno-pie -no-pie
linked "without RELRO" -fPIE -pie -Wl,-z,norelro
linked "constants beside the code" -fPIE -pie -Wl,-z,noseparate-code -Wl,--build-id=none
linked "with the static library" --static-shmem
linked "with gold" -fPIE -pie -fuse-ld=gold
linked "with lld" -fPIE -pie -fuse-ld=lld
linked "with lld and large pages" -fPIE -pie -fuse-ld=lld -Wl,-z,max-page-size=65536

# Variables in every kind of section, in one writable segment or several, with gaps between them.
cat >"$dir/sections.c" <<'EOF'
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#ifndef ALIGN
#define ALIGN 16
#endif
/* Variables of each kind of section; the long ones are beyond the limit of large data. */
static long zero[3], one[3] = {1, 1, 1}, many[300000], more[300000] = {4};
static long aligned_zero[3] __attribute__((aligned(ALIGN))), aligned_one[3] __attribute__((aligned(ALIGN))) = {2};
static char named[8] __attribute__((section("mysec"))) = "named";
static const char *const text = named;
long common[5];
int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, before = (me + n - 1) % n, bad = 0;
    long *const all[] = {zero + 2, one + 2, many, many + 299999, more, more + 299999, aligned_zero, aligned_zero + 2, aligned_one, aligned_one + 2, common + 4};
    const long was[] = {0, 1, 0, 0, 4, 0, 0, 0, 2, 0, 0};
    enum { N = sizeof was / sizeof *was };
    for (int i = 0; i < N; i++)
        bad += *all[i] != was[i] || (i >= 6 && i < 8 && (unsigned long)aligned_zero % ALIGN);
    bad += strcmp(text, "named") != 0;
    shmem_barrier_all();
    for (int i = 0; i < N; i++)
        shmem_long_p(all[i], 100 * me + i, next);
    shmem_char_p(named, 'L', next);
    shmem_barrier_all();
    for (int i = 0; i < N; i++)
        bad += *all[i] != 100 * before + i || shmem_long_g(all[i], next) != 100 * me + i;
    bad += strcmp(text, "Lamed") != 0 || zero[0] || one[1] != 1 || many[7] || more[7];
    printf("%s\n", bad ? "wrong" : "right");
    shmem_finalize();
    return bad;
}
EOF
for linker in bfd gold lld; do
    if ! $OSHCC -fuse-ld=$linker "$dir/sections.c" -o "$dir/sections" 2>"$dir/err"; then
        skip "sections with $linker" "linking with it fails here"
        continue
    fi
    : >"$dir/wrong"
    for align in 16 8192 2097152; do
        for model in small medium; do
            for how in "-fPIE -pie" "-fno-pie -no-pie" --static-shmem; do
                [ "$transport" = auto ] && transport=ofi || transport=auto
                # shellcheck disable=SC2086
                $OSHCC $how -fuse-ld=$linker -DALIGN=$align -mcmodel=$model "$dir/sections.c" -o "$dir/sections" 2>"$dir/err" || {
                    grep -q "code model" "$dir/err" || cat "$dir/err" >>"$dir/wrong" # another processor has no such model
                    continue
                }
                SHMEM_TRANSPORT=$transport timeout -k 5 60 $OSHRUN -n 2 "$dir/sections" >"$dir/out" 2>&1 </dev/null
                [ "$(grep -c '^right$' "$dir/out")" -eq 2 ] || { echo "$align, $model, $how, $transport:" && cat "$dir/out"; } >>"$dir/wrong"
            done
        done
    done
    [ ! -s "$dir/wrong" ]
    ok $? "sections with $linker: alignments, code models, fixed, relocated and static links" "$dir/wrong"
done

# The constants distinguish two programs with the same layout.
cat >"$dir/two.c" <<'EOF'
#include <shmem.h>
#include <stdio.h>
static const long constant = VALUE;
int main(void)
{
    shmem_init();
    printf("%d %ld %d\n", shmem_my_pe(), constant, shmem_addr_accessible(&constant, 1 - shmem_my_pe()));
    shmem_finalize();
}
EOF
for id in none sha1; do
    for value in 5 6; do
        $OSHCC -DVALUE=$value -Wl,--build-id=$id "$dir/two.c" -o "$dir/two$value" || exit 99
    done
    $OSHRUN -n 1 "$dir/two5" : -n 1 "$dir/two6" 2>&1 | sort >"$dir/out"
    printf '0 5 0\n1 6 0\n' | diff - "$dir/out" >"$dir/err"
    ok $? "two programs, --build-id=$id" "$dir/err"
    $OSHRUN -n 1 "$dir/two5" : -n 1 "$dir/two5" 2>&1 | sort >"$dir/out"
    printf '0 5 1\n1 5 1\n' | diff - "$dir/out" >"$dir/err"
    ok $? "one program twice, --build-id=$id" "$dir/err"
done
plan

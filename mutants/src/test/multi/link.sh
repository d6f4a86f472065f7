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

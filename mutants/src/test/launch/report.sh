#!/bin/sh
# report.sh - oshinfo --report: what a report of an error needs is there, and no key, name of the user or of the host.
# Catches: a part that prints nothing, a secret that is printed, a plain value that is held back.
. "${top_srcdir:=.}/test/tap.sh"
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
info=$top_builddir/src/tools/oshinfo

mkdir "$dir/home of mallory"
HOME="$dir/home of mallory" LD_LIBRARY_PATH="$dir/home of mallory/lib:$LD_LIBRARY_PATH" \
    SHMEM_SYMMETRIC_SIZE=100M SHMEM_OFI_DOMAIN=mlx5_0,mlx5_1 SHMEM_DEBUG= FI_PROVIDER=tcp ZE_AFFINITY_MASK=0.1 \
    UCX_TLS=self,sm,rc_mlx5 OMPI_MCA_btl_tcp_if_include=10.0.0.0/24 \
    SHMEM_API_TOKEN=hunter2 FI_SERVICE_PASSWORD=hunter3 FI_CREDENTIAL=hunter4 CUDA_LICENSE=hunter5 \
    FI_OPTION=9f86d081884c7d659a2feaa0c55ad015 UCX_URL=https://mallory:hunter6@example.org/x \
    OSHCC_CC="cc -DKEY=AKIAIOSFODNN7EXAMPLEX" SHMEM_OFI_PROVIDER="Bearer hunter7" \
    AWS_SECRET_ACCESS_KEY=hunter8 SSH_AUTH_SOCK=/hunter9 MY_SHMEM_THING=hunter10 PMIX_SERVER_URI4=hunter11 \
    "$info" --report >"$dir/report" 2>"$dir/err"
[ $? = 0 ] && [ ! -s "$dir/err" ]
ok $? "oshinfo --report exits with 0 and prints no error" "$dir/err"
for part in Fulmar system limits tools libraries launcher variables; do
    sed -n "/^== $part\$/,/^== /p" "$dir/report" | grep -v '^==' >"$dir/part"
    [ $part = launcher ] || grep -q '[a-z0-9]' "$dir/part"
    ok $? "it has the part $part" "$dir/report"
done
grep -q '^Fulmar [0-9.]*, OpenSHMEM 1.6$' "$dir/report" && grep -q '^processor' "$dir/report" && grep -q '^network' "$dir/report" &&
    grep -q '^ulimit -l' "$dir/report" && grep -q '^oshcc  *.*-lfulmar' "$dir/report" && grep -q '^pmix ' "$dir/report"
ok $? "version, processor, network, limits, compiler command, versions of libraries" "$dir/report"
for line in SHMEM_SYMMETRIC_SIZE=100M SHMEM_OFI_DOMAIN=mlx5_0,mlx5_1 FI_PROVIDER=tcp ZE_AFFINITY_MASK=0.1 UCX_TLS=self,sm,rc_mlx5 \
    OMPI_MCA_btl_tcp_if_include=10.0.0.0/24; do
    grep -qx "$line" "$dir/report"
    ok $? "it has $line" "$dir/report"
done
! grep -nE 'hunter|9f86d0818|AKIA|AWS_|MY_SHMEM|PMIX_SERVER' "$dir/report" >"$dir/found"
ok $? "no key, and no variable of others" "$dir/found"
for name in SHMEM_API_TOKEN FI_SERVICE_PASSWORD FI_CREDENTIAL FI_OPTION UCX_URL OSHCC_CC SHMEM_OFI_PROVIDER; do
    grep -q "^$name=(set, not printed" "$dir/report"
    ok $? "$name is named without its value" "$dir/report"
done
! grep -n 'home of mallory' "$dir/report" >"$dir/found" && grep -q '^LD_LIBRARY_PATH=.*~/lib' "$dir/report"
ok $? "the home folder is replaced" "$dir/found"
! grep -nw -e "$(uname -n)" "$dir/report" >"$dir/found"
ok $? "the name of the host is replaced" "$dir/found"
plan

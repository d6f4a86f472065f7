#!/usr/bin/env bash
# orders.sh - shmemg.h before and after each public header in CUDA C++ of one source. (In C and C++, where it is empty: test/lint/headers.sh.)
#
# Catches: handles of kernels and of the host that are one type, a constant that two headers define, a header that works only after another.
. "${top_srcdir:=.}/test/tap.sh"
nvcc=$(command -v "${NVCC:-nvcc}" || ls /usr/local/cuda/bin/nvcc 2> /dev/null)
[ "$nvcc" ] || skip_all "nvcc compiles the files; it is not installed"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cat > "$work/use" << 'END'
__global__ void kernel(shmemg_ctx_t c, shmemg_team_t t, int *p)
{
    shmemg_ctx_int_p(c, p, SHMEM_CMP_EQ, 0);
    shmemg_ctx_int_p(SHMEM_DEVICE_CTX_DEFAULT, p, SHMEMX_GPC_NONE, shmemg_team_my_pe(t) + shmemg_team_n_pes(SHMEM_DEVICE_TEAM_WORLD));
}
END
cat > "$work/host" << 'END'
int host(shmem_ctx_t c, shmem_team_t t, int *p)
{
    shmem_ctx_int_p(c, p, SHMEM_CMP_EQ, 0);
    return shmem_team_my_pe(t);
}
END
compiles() { # the first header, the second, what uses them
    { printf '#include <%s>\n' "$1" "$2"; cat "${@:3}"; } > "$work/file.cu"
    "$nvcc" -std=c++17 -arch=compute_90 -Werror all-warnings -diag-suppress 177 -I"$top_srcdir/include" -I"$top_srcdir/include/nvshmem" \
        -I"$top_srcdir/src" -ptx "$work/file.cu" -o "$work/ptx" > "$work/log" 2>&1
}
for path in "$top_srcdir"/include/{shmem,pshmem}*.h; do
    h=$(basename "$path")
    case $h in
    shmemg.h | shmemx_ze.h | *_generic*) continue ;; # itself; needs Level Zero's headers; parts of shmem.h
    shmem_table.h | shmemx_uniqueid.h) set -- "$work/use" ;; # no routines of shmem.h
    *) set -- "$work/use" "$work/host" ;;
    esac
    compiles shmemg.h "$h" "$@" && compiles "$h" shmemg.h "$@"
    ok $? "shmemg.h before and after $h" "$work/log"
done
compiles shmemg.h stdint.h "$work/use" && sed -i 's/shmemg_\(ctx\|team\)_t/shmem_\1_t/g' "$work/use" && compiles shmemg.h stdint.h "$work/use"
ok $? "shmemg.h alone: both names of its handles" "$work/log"
for two in "shmemg.h nvshmem.h" "nvshmem.h shmemg.h"; do
    # shellcheck disable=SC2086
    ! compiles $two && grep -q 'error.*A file includes shmemg.h or nvshmem.h' "$work/log"
    ok $? "refused: $two" "$work/log"
done
plan

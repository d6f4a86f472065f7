#!/bin/sh
# prototypes.sh - print the records of table.c one a line, and those of the untyped routines of shmemx.h, shmemx_cuda.h and shmemx_ze.h,
# for which Level Zero's header need not be there. CC preprocesses.
dir=$(dirname "$0")
${CC:-cc} -E -P -I"$dir/../include" "$dir/table.c" | tr '\n' ' ' | tr '@' '\n' |
    sed 's/ *$//; s/  */ /g; s/ |/|/g; s/shmem_complexf_t_/float _Complex/; s/shmem_complexd_t_/double _Complex/' || exit 1
echo
(echo '#include "shmemx_cuda.h"' && grep -v '^#include' "$dir/../include/shmemx_ze.h") | ${CC:-cc} -E -P -DSHMEM_NO_GENERICS -I"$dir/../include" -x c - | grep -v '^#' |
    tr '\n' ' ' | sed 's/  */ /g; s/[;{}]/\n/g' |
    sed -n 's/^ *\([a-z0-9_ *]*[ *]\)\(shmem[gx][a-z0-9_]*\) \{0,1\}\((.*)\) *$/untyped|\2|\1|\3/p' |
    awk '/\|shmemx_(half|bfloat16)_/ || !/_ib(put|get)\||_sum_(in|ex)scan(_on_queue|_nb)?\||_reduce(_on_queue|_nb)?\||_reducescatterv?(_nb)?\||_(broadcast|f?collect|alltoall[sv]?)_nb\||_alltoallv\|/'

#!/bin/sh
# tags.sh - make tags: every exported name has the line that defines it or its body. Catches: a way of defining entry
# points that src/tags.awk does not know, and a name with another routine's line.
. "${top_srcdir:=.}/test/tap.sh"
cd "$top_srcdir" || exit 99
tags=$(${AWK:-awk} -f src/tags.awk test/lint/symbols.txt src/host/api/*.c src/host/boot/boot_pmix.c src/device/ze_patch.c)

[ "$(echo "$tags" | wc -l)" -eq "$(wc -l <test/lint/symbols.txt)" ]
ok $? "$(echo "$tags" | wc -l) names, all of symbols.txt"

leads() { # NAME TEXT: the line of NAME has TEXT
    place=$(echo "$tags" | sed -n "s/^$1	\(.*\)	\([0-9]*\);.*/\1 \2/p")
    line=$(sed -n "${place##* }p" "${place% *}")
    case $line in
    *"$2"*) ;;
    *) echo "# $1: $place: $line"; false ;;
    esac
    ok $? "$1"
}
leads shmem_my_pe 'SHI_DEF(int, shmem_my_pe,'
leads shmem_ctx_signal_add 'SHI_DEF_BOTH(void, shmem_signal_add, shmem_ctx_signal_add,'
leads shmem_int_put '#define DO_put('
leads pshmem_ctx_double_put_signal_nbi '#define DO_put_signal_nbi('
leads shmem_ctx_iget128 '#define DO_iget('
leads shmem_getmem_nbi '#define DO_get_nbi('
leads shmem_long_atomic_fetch '#define DO_atomic_fetch('
leads shmemx_int_sum_inscan '#define DO_sum_inscan(N)'
leads shmemx_int_sum_reduce_nb '#define NB_sum_reduce('
leads pshmemx_ulong_min_reducescatterv '#define NB_min_reducescatterv('
leads shmem_broadcast64 'SHI_DEF(void, shmem_broadcast##Z,'
leads shmemx_int_sum_reduce_on_queue 'ON_QUEUE(shmemx_##NAME##_on_queue,'
leads shmemx_putmem_on_queue 'ON_QUEUE(shmemx_putmem_on_queue,'
leads shmemx_tag_sendv 'SHI_TAG_BUFFERS(shmemx_tag_send, shmemx_tag_sendv,'
leads shmemx_gpc_wait 'shmemx_gpc_wait('
plan

#!/bin/sh
# check.sh - every misuse ends the job with one line that names routine, argument, value and PE; a job with an invalid
# setting does not start. Catches: a missing check, one that only SHMEM_CHECK=1 makes, a line that lacks a part.
. "${top_srcdir:=.}/test/tap.sh"
misuse=$top_builddir/test/fault/misuse
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
SHMEM_SYMMETRIC_SIZE=1m
export SHMEM_SYMMETRIC_SIZE

# refused PEs CHECK MODE PATTERN: one line of the library, which matches; a status that is neither success nor a
# timeout.
refused() {
    SHMEM_CHECK=$2 timeout -k 5 20 $OSHRUN -n "$1" "$misuse" "$3" >"$dir/out" 2>&1
    status=$?
    grep '^fulmar:' "$dir/out" >"$dir/ours"
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(wc -l <"$dir/ours")" -eq 1 ] && grep -Eq "$4" "$dir/ours"
    r=$?
    [ $r -eq 0 ] || echo "status $status, wanted one line: $4" >>"$dir/out"
    ok $r "$3, SHMEM_CHECK=$2" "$dir/out"
}

# Detected with and without SHMEM_CHECK=1.
while read -r mode pattern; do
    refused 2 0 "$mode" "^fulmar: PE 1: $pattern" </dev/null
    refused 2 1 "$mode" "^fulmar: PE 1: $pattern" </dev/null
done <<'EOF'
pe_negative shmem_int_p: pe = -1\>
pe_large shmem_long_get: pe = 2\>
pe_of_nothing shmem_putmem: pe = 2\>
pe_amo shmem_int_atomic_fetch_add: pe = 1073741824\>
pe_signal shmem_signal_set: pe = -7\>
pe_quiet shmem_pe_quiet: target_pes\[1\].* 77\>
pe_ptr shmem_ptr: pe = -2\>
dest_on_stack shmem_int_put: dest = 0x[0-9a-f]+ is not symmetric.*pe = 0
source_on_stack shmem_int_g: source = 0x[0-9a-f]+ is not symmetric.*pe = 0
dest_null shmem_char_put: dest = \(nil\) is not symmetric; shmem_malloc may have failed.*pe = 0
put_to_constant shmem_int_p: dest = 0x[0-9a-f]+: constant data, .*pe = 0
put_to_relocated shmem_putmem: dest = 0x[0-9a-f]+: constant data, .*pe = 0
amo_on_constant shmem_int_atomic_inc: dest = 0x[0-9a-f]+: constant data, .*pe = 0
reduce_to_constant shmem_int_sum_reduce: dest = 0x[0-9a-f]+: constant data, .*pe = 1
amo_on_stack shmem_int_atomic_inc: dest = 0x[0-9a-f]+ is not symmetric.*pe = 0
signal_on_stack shmem_putmem_signal: sig_addr = 0x[0-9a-f]+ is not .*pe = 0
wait_on_stack shmem_int_wait_until: ivar = 0x[0-9a-f]+.* is not symmetric.*pe = 1
misaligned shmem_long_atomic_inc: .*0x[0-9a-f]+4 is not aligned to 8 bytes.*pe = 0
misaligned_fetch shmem_int_atomic_fetch: source = 0x[0-9a-f]+2 is not aligned to 4 bytes.*pe = 1
misaligned_set shmem_signal_set: sig_addr = 0x[0-9a-f]+4 is not aligned to 8 bytes.*pe = 0
misaligned_signal shmem_putmem_signal: sig_addr = 0x[0-9a-f]+4 is not aligned to 8 bytes.*pe = 0
past_heap shmem_putmem: dest = 0x[0-9a-f]+: 2097152 bytes run past the end of the symmetric heap.*pe = 0
past_static shmem_getmem: source = 0x[0-9a-f]+: 1073741824 bytes run past the end of the static data.*pe = 0
overflow_long shmem_long_put: dest = .* overflows .*pe = 0
overflow_int shmem_int_get: source = .* overflows .*pe = 0
overflow_stride shmem_long_iput: dest = .* overflows .*pe = 0
past_stride shmem_long_iget: source = 0x[0-9a-f]+: 8388616 bytes run past the end of the symmetric heap.*pe = 0
stride_zero shmem_int_iget: .*dst = 0\>.*pe = 0
stride_short shmem_int_ibput: .*dst = 3\>.*pe = 0
ctx_invalid shmem_ctx_int_p: ctx\>.*SHMEM_CTX_INVALID
bad_cmp shmem_int_test: cmp = 7\>
bad_cmp_wait shmem_ulong_wait_until_any: cmp = 0\>
bad_sig_op shmem_int_put_signal: sig_op = 3\>.*pe = 0
free_foreign shmem_free: ptr = 0x[0-9a-f]+\>
free_inside shmem_free: ptr = 0x[0-9a-f]+\>
realloc_foreign shmem_realloc: ptr = 0x[0-9a-f]+\>
realloc_old_name shrealloc: ptr = 0x[0-9a-f]+\>
clear_free_lock shmem_clear_lock: lock = 0x[0-9a-f]+ is not held by this PE
clear_lock_of_other shmem_clear_lock: lock = 0x[0-9a-f]+ is not held by this PE
free_twice shmem_free: ptr = 0x[0-9a-f]+\>
space_of_one shmem_putmem: dest = 0x[0-9a-f]+: 8 bytes are not all in a space or in added memory that the PE has, too .pe = 0
space_of_one_amo shmem_long_atomic_fetch_inc: [a-z]+ = 0x[0-9a-f]+: 8 bytes are not all in a space .*.pe = 0
space_dead shmemx_space_malloc: space = 0x[0-9a-f]+ is not a space, or has been destroyed
space_foreign shmemx_space_free: ptr = 0x[0-9a-f]+ was not returned by an allocation from the space, or is free already
space_no_handle shmemx_space_destroy: space = 0x1267 is not a space, or has been destroyed
forked shmem_int_p: called in a forked child
tag_start_null shmemx_tag_start: request = \(nil\) is not persistent
tag_start_active shmemx_tag_start: request = 0x[0-9a-f]+ is active: complete it first
tag_start_other shmemx_tag_start: request = 0x[0-9a-f]+ is not persistent
tag_copied_handle shmemx_tag_test: request = 0x[0-9a-f]+ was completed before
gpc_barrier shmem_barrier, sync or a collective: a wait for other PEs inside a function of a GPC
gpc_wait_until shmem_int_wait_until: a wait for other PEs inside a function of a GPC
lock_twice shmem_set_lock: lock = 0x[0-9a-f]+ is held by this PE already
gpc_lock shmem_set_lock: a wait for other PEs inside a function of a GPC
after_finalize shmem_int_p: called after shmem_finalize
after_finalize_barrier shmem_barrier_all: called after shmem_finalize
after_finalize_malloc shmem_malloc: called after shmem_finalize
EOF

# Checks that are too slow without SHMEM_CHECK=1.
while read -r mode pattern; do
    refused 2 1 "$mode" "^fulmar: PE 1: $pattern" </dev/null
done <<'EOF'
overlap_fcollect shmem_long_fcollect: dest and source overlap.* 16 bytes.* 8 bytes.*pe = 1
all_overlap_collect shmem_collectmem: dest and source overlap
overlap_alltoall shmem_int_alltoall: dest and source overlap.* 8 bytes.* 8 bytes.*pe = 1
overlap_alltoalls shmem_int_alltoalls: dest and source overlap
overlap_broadcast shmem_broadcastmem: dest and source overlap.* 8 bytes
overlap_reduce shmem_int_sum_reduce: dest and source overlap.* 8 bytes
overlap_scan shmem_int_sum_inscan: dest and source overlap.* 8 bytes
overlap shmem_int_put: dest and source overlap.* 16 bytes.*pe = 1
second_thread shmem_int_p: called by a second thread.*SHMEM_THREAD_SINGLE
EOF

# A range in the symmetric heap that is not in one block, by memory and over the network. Catches: a family of routines, or one side of an
# operation, that is not compared with the blocks; a size other than the requested one; ranges at a block's end that are refused.
for transport in auto ofi; do
    SHMEM_TRANSPORT=$transport
    export SHMEM_TRANSPORT
    while read -r mode pattern; do
        refused 2 1 "$mode" "^fulmar: PE 1: $pattern.*pe = [01]\)$" </dev/null
    done <<'EOF'
block_put shmem_putmem: dest = 0x[0-9a-f]+: 65 bytes run past the end of a block of 64 bytes of the symmetric heap by 1\>
block_get shmem_long_get: source = 0x[0-9a-f]+: 40 bytes run past the end of a block of 40 bytes of the symmetric heap by 8\>
block_nbi shmem_long_put_nbi: dest = 0x[0-9a-f]+: 48 bytes run past the end of a block of 40 bytes .* by 8\>
block_p shmem_long_p: dest = 0x[0-9a-f]+: 8 bytes run past the end of a block of 40 bytes .* by 8\>
block_source shmem_putmem: source = 0x[0-9a-f]+: 41 bytes run past the end of a block of 40 bytes .* by 1\>
block_dest shmem_getmem: dest = 0x[0-9a-f]+: 48 bytes run past the end of a block of 40 bytes .* by 8\>
block_iput shmem_long_iput: dest = 0x[0-9a-f]+: 56 bytes run past the end of a block of 40 bytes .* by 16\>
block_iget_dest shmem_long_iget: dest = 0x[0-9a-f]+: 48 bytes run past the end of a block of 40 bytes .* by 8\>
block_amo shmem_long_atomic_fetch: source = 0x[0-9a-f]+: 8 bytes run past the end of a block of 40 bytes .* by 8\>
block_fetch shmem_long_atomic_fetch_inc_nbi: fetch = 0x[0-9a-f]+: 8 bytes run past the end of a block of 40 bytes .* by 8\>
block_signal shmem_long_put_signal: sig_addr = 0x[0-9a-f]+: 8 bytes run past the end of a block of 40 bytes .* by 8\>
block_wait shmem_long_test_any: ivar = 0x[0-9a-f]+: 48 bytes run past the end of a block of 40 bytes .* by 8\>
block_lock shmem_set_lock: lock = 0x[0-9a-f]+: 8 bytes run past the end of a block of 40 bytes .* by 8\>
block_reduce shmem_long_sum_reduce: dest = 0x[0-9a-f]+: 48 bytes run past the end of a block of 40 bytes .* by 8\>
block_fcollect shmem_long_fcollect: dest = 0x[0-9a-f]+: 48 bytes run past the end of a block of 40 bytes .* by 8\>
block_none shmem_putmem: dest = 0x[0-9a-f]+, 8 bytes, is in no block of the symmetric heap: freed, or never allocated
block_device shmem_putmem: dest = 0x[0-9a-f]+: 41 bytes run past the end of a block of 40 bytes of the device heap by 1\>
block_space shmem_putmem: dest = 0x[0-9a-f]+: 41 bytes run past the end of a block of 40 bytes of the space by 1\>
freed_space shmem_putmem: dest = 0x[0-9a-f]+, 8 bytes, is in no block of the space: freed, or never allocated
space_of_one shmem_putmem: dest = 0x[0-9a-f]+: 8 bytes are not all in a space
space_of_one_amo shmem_long_atomic_fetch_inc: [a-z]+ = 0x[0-9a-f]+: 8 bytes are not all in a space
freed_put shmem_long_p: dest = 0x[0-9a-f]+, 8 bytes, is in no block of the symmetric heap: freed, or never allocated
freed_get shmem_long_g: source = 0x[0-9a-f]+, 8 bytes, is in no block of the symmetric heap: freed, or never allocated
freed_wait shmem_signal_wait_until: ivar = 0x[0-9a-f]+, 8 bytes, is in no block of the symmetric heap: freed, or never allocated
freed_source shmem_putmem: source = 0x[0-9a-f]+, 8 bytes, is in no block of the symmetric heap: freed, or never allocated
freed_device shmem_putmem: dest = 0x[0-9a-f]+, 8 bytes, is in no block of the device heap: freed, or never allocated
EOF
    SHMEM_CHECK=1 timeout -k 5 20 $OSHRUN -n 2 "$misuse" all_edges >"$dir/out" 2>&1 </dev/null &&
        [ "$(grep -c 'all_edges was not detected' "$dir/out")" -eq 2 ] && ! grep -q '^fulmar:' "$dir/out"
    ok $? "accesses up to the end of blocks, SHMEM_TRANSPORT=$transport: not refused" "$dir/out"
done
unset SHMEM_TRANSPORT

# Threads. Catches: a routine at which a thread that may not call is not noticed, on a node or over a network.
levels() {
    for call in $3; do
        SHMEM_CHECK=1 timeout -k 5 20 $OSHRUN -n 1 "$top_builddir/test/fault/levels" "$1" "$call" >"$dir/out" 2>&1 </dev/null
        status=$?
        [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(grep -c '^fulmar:' "$dir/out")" -eq 1 ] && grep -Eq "^fulmar: PE 0: $2" "$dir/out"
        ok $? "$1: $call" "$dir/out"
    done
}
level='shmem_init_thread was given SHMEM_THREAD'
levels single "shmem_.*: called by a second thread; ${level}_SINGLE" 'put quiet'
levels funneled "shmem_.*: called by a second thread; ${level}_FUNNELED" 'put test barrier'
levels serialized "shmem_.*: called while another thread is in shmem_.*; ${level}_SERIALIZED" \
    'put put_many get strided put_signal signal_fetch add fetch quiet fence pe_quiet barrier wait_until test reduce locks allocate'
levels private 'shmem_ctx_.*: ctx = 0x[0-9a-f]+ is SHMEM_CTX_PRIVATE, and another thread than the one that created it uses it' \
    'put get put_signal add quiet fence pe_quiet destroy'

SHMEM_TRANSPORT=ofi
export SHMEM_TRANSPORT
levels serialized "shmem_.*: called while another thread is in shmem_.*; ${level}_SERIALIZED" 'put get add quiet'
levels private 'shmem_ctx_.*: ctx = 0x[0-9a-f]+ is SHMEM_CTX_PRIVATE' 'put quiet'
unset SHMEM_TRANSPORT

# Catches: a right program that is refused; a check that is made without SHMEM_CHECK=1.
for right in serialized private; do
    SHMEM_CHECK=1 timeout -k 5 60 $OSHRUN -n 1 "$top_builddir/test/fault/levels" right $right >"$dir/out" 2>&1 </dev/null
    ok $? "right: $right" "$dir/out"
done
SHMEM_CHECK=0 timeout -k 5 60 $OSHRUN -n 1 "$top_builddir/test/fault/levels" private put >"$dir/out" 2>&1 </dev/null && grep -q 'was not detected' "$dir/out"
ok $? 'private: put, SHMEM_CHECK=0' "$dir/out"

# Reported with SHMEM_CHECK=1, but no error. Catches: hints and calls that end the job, and ones that are silently ignored.
for check in 0 1; do
    while read -r mode lines pattern; do
        SHMEM_CHECK=$check timeout -k 5 20 $OSHRUN -n 1 "$misuse" "$mode" >"$dir/out" 2>&1 </dev/null
        status=$?
        grep '^fulmar:' "$dir/out" >"$dir/ours"
        [ $status -eq 0 ] && grep -q 'was not detected' "$dir/out" && [ "$(wc -l <"$dir/ours")" -eq $((lines * check)) ] &&
            [ "$(grep -Ec "PE 0: $pattern" "$dir/ours")" -eq $((lines * check)) ]
        ok $? "$mode, SHMEM_CHECK=$check: not refused" "$dir/out"
    done <<'EOF'
unknown_hints 2 shmem_ctx_session_start: (options = 0x11|config_mask = 0x20):
after_finalize_again 1 shmem_finalize: ignored
EOF
done

# Collective calls that do not match, on a node and over the network; the first PE prints the line.
for transport in auto ofi; do
    SHMEM_TRANSPORT=$transport
    export SHMEM_TRANSPORT
    while read -r mode pattern; do
        refused 2 1 "$mode" "^fulmar: PE 0: $pattern" </dev/null
    done <<'EOF'
reduce_for_barrier shmem_barrier_all: PE 1 calls shmem_int_sum_reduce instead
free_for_barrier shmem_barrier_all: PE 1 calls shmem_free instead
all_root shmem_broadcastmem: PE_root = 0, but 1 on PE 1
all_old_root shmem_broadcast64: PE_root = 0, but 1 on PE 1
all_bytes shmem_broadcastmem: bytes = 8, but 16 on PE 1
all_type shmem_long_sum_reduce: PE 1 calls shmem_int_sum_reduce instead
all_op shmem_int_max_reduce: PE 1 calls shmem_int_min_reduce instead
all_elements shmem_double_sum_reduce: elements = 1, but 2 on PE 1
all_scan shmem_int_sum_exscan: elements = 2, but 1 on PE 1
all_fcollect shmem_int_fcollect: bytes = 4, but 8 on PE 1
all_alltoall shmem_alltoallmem: bytes = 4, but 8 on PE 1
all_alltoalls shmem_int_alltoalls: dst = 1, but 2 on PE 1
all_to_all shmem_alltoallmem: PE 1 calls shmem_fcollectmem instead
all_malloc shmem_malloc: size = 8, but 16 on PE 1
all_calloc shmem_calloc: size = 16, but 32 on PE 1
all_align shmem_align: alignment = 64, but 128 on PE 1
all_realloc shmem_realloc: size = 8, but 16 on PE 1
all_free shmem_free: ptr's offset in the heap = [0-9]+, but [0-9]+ on PE 1
all_split shmem_team_split_strided: size = 1, but 2 on PE 1
all_finalize shmem_sync_all: PE 1 calls shmem_finalize instead
EOF
done
unset SHMEM_TRANSPORT

# Before shmem_init there are no PE numbers, so one PE makes the call.
while read -r mode pattern; do
    refused 1 0 "$mode" "^fulmar: $pattern" </dev/null
done <<'EOF'
before_init shmem_int_p: called before shmem_init
before_init_ctx shmem_ctx_quiet: called before shmem_init
before_init_pe shmem_my_pe: called before shmem_init
before_init_amo shmem_int_atomic_inc: called before shmem_init
before_init_wait shmem_int_wait_until: called before shmem_init
before_init_malloc shmem_malloc: called before shmem_init
bad_level shmem_init_thread: requested = 17\>
EOF

# Settings: an invalid one is refused with one line that repeats it, alone and in a job; valid ones are accepted.
while read -r setting; do
    env "$setting" timeout 20 "$misuse" >"$dir/out" 2>&1 </dev/null
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(wc -l <"$dir/out")" -eq 1 ] && grep -Fq -e "$setting" "$dir/out"
    ok $? "refused: $setting" "$dir/out"
done <<'EOF'
SHMEM_SYMMETRIC_SIZE=junk
SHMEM_SYMMETRIC_SIZE=-1
SHMEM_SYMMETRIC_SIZE=0x1000
SHMEM_SYMMETRIC_SIZE=10Q
SHMEM_SYMMETRIC_SIZE=99999999999999999999
SHMEM_SYMMETRIC_SIZE=109951162777600
SHMEM_CHECK=maybe
SHMEM_TEST_SPIN=many
SHMEM_WAIT=long
EOF
SHMEM_SYMMETRIC_SIZE=junk timeout 20 $OSHRUN -n 2 "$misuse" >"$dir/out" 2>&1
status=$?
[ $status -ne 0 ] && [ $status -ne 124 ] && grep -q SHMEM_SYMMETRIC_SIZE=junk "$dir/out"
ok $? "refused in a job of 2: SHMEM_SYMMETRIC_SIZE=junk" "$dir/out"
# Misspelt settings: one line for the job. Another library's settings: a line only with SHMEM_CHECK=1.
for check in 0 1; do
    SHMEM_SYMETRIC_SIZE=2m SHMEM_TEAMS_MAX=9 SHMEM_CHECK=$check timeout 20 $OSHRUN -n 3 "$misuse" >"$dir/out" 2>&1 &&
        [ "$(wc -l <"$dir/out")" -eq $((1 + check)) ] &&
        grep -q '^fulmar: PE 0: SHMEM_SYMETRIC_SIZE is not a setting of this library; SHMEM_SYMMETRIC_SIZE is$' "$dir/out" &&
        [ "$(grep -c 'PE 0: SHMEM_TEAMS_MAX is not a setting' "$dir/out")" -eq $check ]
    ok $? "a misspelt setting is reported once, SHMEM_CHECK=$check" "$dir/out"
done

# A full heap: NULL, and a line with the sizes where a setting enables it.
full='no room for [0-9]* bytes at a multiple of 64 in the symmetric heap: of its 1048576 bytes 1048448 are free, the largest'
while read -r setting lines; do
    env "$setting" timeout 20 $OSHRUN -n 2 "$misuse" all_full >"$dir/out" 2>&1 </dev/null
    [ "$(grep -c "^fulmar: PE 0: shmem_[a-z]*: $full free block has 1048448; SHMEM_SYMMETRIC_SIZE" "$dir/out")" -eq "$lines" ] &&
        [ "$(grep -c 'no room' "$dir/out")" -eq "$lines" ]
    ok $? "a full heap with $setting" "$dir/out"
done <<'EOF'
SHMEM_DEBUG=1 3
SHMEM_CHECK=1 3
SHMEM_CHECK=0 0
EOF

for size in 64k 1.5G .5m 128; do # the last: two blocks of 64 bytes
    SHMEM_SYMMETRIC_SIZE=$size timeout 20 $OSHRUN -n 2 "$misuse" >"$dir/out" 2>&1
    ok $? "started: SHMEM_SYMMETRIC_SIZE=$size" "$dir/out"
done
plan

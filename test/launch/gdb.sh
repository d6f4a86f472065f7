#!/usr/bin/env bash
# gdb.sh - fulmar-gdb.py in gdb, with one gdb per PE, under oshrun.
#
# Catches: renamed fields of the library's structures, an address translated to the wrong PE's memory.
if ! command -v gdb > /dev/null || ! gdb -q -batch -ex 'python print("python")' 2> /dev/null | grep -q python; then
    echo "1..0 # SKIP gdb with Python is not installed"
    exit 0
fi
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
log=$work/log
cat > "$work/p.c" << 'END_C'
#include <shmem.h>
static long fixed;
static shmem_team_t world = SHMEM_TEAM_WORLD, odd, none = SHMEM_TEAM_INVALID;
static shmem_ctx_t ctx, standard = SHMEM_CTX_DEFAULT;
static void stop_here(long *heap, int *local) { (void)heap, (void)local; }
int main(void)
{
    int local = 0;
    shmem_init();
    long *heap = shmem_malloc(sizeof *heap);
    int me = shmem_my_pe();
    *heap = 100 + me, fixed = 200 + me;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, 1, NULL, 0, &odd);
    shmem_team_create_ctx(odd, 0, &ctx);
    shmem_barrier_all();
    stop_here(heap, &local);
    shmem_barrier_all();
    shmem_finalize();
    return (int)(world == none) + (standard == ctx);
}
END_C
"$OSHCC" -g -O0 "$work/p.c" -o "$work/p" > "$log" 2>&1
ok $? "the program compiles" "$log"
cat > "$work/commands" << 'END_GDB'
python
def refused(command):
    try:
        gdb.execute(command)
    except gdb.error as error:
        print("refused: %s" % error)
end
set pagination off
set debuginfod enabled off
break stop_here
run
up
info shmem
print *$shmem_at(heap, 0) + 1000
print *$shmem_at(heap, 1) + 1000
print *$shmem_at(&fixed, 1) + 1000
info shmem heap
info shmem &fixed
info shmem &local
print world
print none
print odd
print ctx
print standard
python refused("print $shmem_at(heap, 7)")
python refused("print $shmem_at(&local, 0)")
continue
python refused("info shmem")
END_GDB
timeout 120 $OSHRUN -l -n 2 gdb -q -batch -x "$top_srcdir/pkg/fulmar-gdb.py" -x "$work/commands" "$work/p" > "$log" 2>&1
reports() { # PE, pattern of a line that its gdb prints
    grep -q "^\[$1\] $2\$" "$log"
    ok $? "PE $1: $2" "$log"
}
for pe in 0 1; do
    reports $pe "PE $pe of 2"
    reports $pe 'symmetric heap 0x[0-9a-f]*, [0-9]* bytes'
    reports $pe '\$1 = 1100'
    reports $pe '\$2 = 1101'
    reports $pe '\$3 = 1201'
    reports $pe '0x[0-9a-f]* is symmetric heap + 0x[0-9a-f]*'
    reports $pe '0x[0-9a-f]* is static data + 0x[0-9a-f]*'
    reports $pe '0x[0-9a-f]* is not symmetric'
    reports $pe '\$4 = SHMEM_TEAM_WORLD'
    reports $pe '\$5 = SHMEM_TEAM_INVALID'
    reports $pe '\$8 = SHMEM_CTX_DEFAULT'
    reports $pe 'refused: PE 7 does not exist: the job has 2'
    reports $pe 'refused: 0x[0-9a-f]* is not symmetric'
    reports $pe '.*exited normally.*'
done
reports 1 '\$6 = team of 1 PEs: world PE 1 + i \* 1, this is 0'
reports 1 '\$7 = context 0x[0-9a-f]* of the team of 1 PEs: world PE 1 + i \* 1, this is 0'
reports 0 '\$6 = SHMEM_TEAM_INVALID'
plan

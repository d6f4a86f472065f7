#!/usr/bin/env bash
# gdb.sh - debuggers: fulmar-gdb.py in gdb, with one gdb per PE, under oshrun; oshrun --gdb; a PE that gdb stops for longer than
# SHMEM_HEARTBEAT; the table of PEs for parallel debuggers.
#
# Catches: renamed fields of the library's structures, an address translated to the wrong PE's memory; a stopped PE declared
# dead; a PE that --gdb does not start, or whose end ends nothing; PEs that a debugger of oshrun does not find.
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

cat > "$work/q.c" << 'END_C'
#include <shmem.h>
#include <stdio.h>
static long x;
void pause_here(void) { __asm__ volatile("" ::: "memory"); }
int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    if (me == n - 1)
        pause_here();
    shmem_barrier_all();
    shmem_long_p(&x, 7 + me, (me + 1) % n);
    shmem_barrier_all();
    printf("PE %d of %d: %ld\n", me, n, x);
    shmem_finalize();
    return 0;
}
END_C
"$OSHCC" -g -O0 "$work/q.c" -o "$work/q" > "$log" 2>&1
ok $? "another program compiles" "$log"

commands() { # lines of gdb
    printf 'set pagination off\nset debuginfod enabled off\nset confirm off\n'
    printf '%s\n' "$@"
}

# PE 2 stops in pause_here for three times SHMEM_HEARTBEAT; the others wait for it in a barrier, over the network.
commands 'break pause_here' run 'shell sleep 6' bt continue quit |
    SHMEM_TRANSPORT=ofi SHMEM_HEARTBEAT=2 timeout 120 $OSHRUN -n 3 --gdb 2 "$work/q" > "$log" 2>&1
r=$?
[ $r -eq 0 ] && grep -q 'PE 0 of 3: 9' "$log" && grep -q 'PE 2 of 3: 8' "$log" && grep -q '#0.*pause_here' "$log" &&
    grep -q 'exited normally' "$log"
ok $? "a PE that gdb stops for longer than SHMEM_HEARTBEAT is not declared dead" "$log"

commands run 'kill' quit | timeout 60 $OSHRUN -n 2 --gdb 7 "$work/q" > "$log" 2>&1
[ $? -eq 2 ] && grep -q '^oshrun: --gdb 7: the job has 2 PEs' "$log"
ok $? "--gdb refuses a PE that is not there" "$log"
commands 'break pause_here' run kill quit | timeout 60 $OSHRUN -n 2 --gdb 1 "$work/q" > "$log" 2>&1
[ $? -ne 0 ] && [ $? -ne 124 ] && grep -q 'Breakpoint 1, pause_here' "$log"
ok $? "a PE killed in gdb ends the job" "$log"

# A debugger starts oshrun.
commands 'break main' run 'set variable MPIR_being_debugged = 1' 'break MPIR_Breakpoint' continue \
    'printf "state %d, %d PEs\n", MPIR_debug_state, MPIR_proctable_size' \
    'python t = gdb.parse_and_eval("MPIR_proctable")' \
    'python print("\n".join("PE %d: %s %s" % (i, t[i]["host_name"].string(), t[i]["executable_name"].string()) for i in range(3)))' \
    'python print("own: %s" % [open("/proc/%d/comm" % int(t[i]["pid"])).read().strip() for i in range(3)])' \
    'delete' 'continue' 'quit' > "$work/commands"
timeout 120 gdb -q -batch -x "$work/commands" --args $OSHRUN -n 3 "$work/q" > "$log" 2>&1
grep -q '^state 1, 3 PEs$' "$log" && grep -q "^PE 2: $(hostname) $work/q\$" "$log" && grep -q "^own: \['q', 'q', 'q'\]" "$log" &&
    [ "$(grep -c '^PE [0-2] of 3: [789]$' "$log")" -eq 3 ] && grep -q 'exited normally' "$log"
ok $? "a debugger that starts oshrun finds the PEs" "$log"

# A debugger attaches to oshrun, then to a PE.
$OSHRUN -n 2 sleep 30 > "$log" 2>&1 &
pid=$!
for i in $(seq 100); do
    [ "$(ps -o comm= --ppid $pid | grep -c sleep)" = 2 ] && break
    sleep 0.1
done
timeout 60 gdb -q -batch -ex 'set debuginfod enabled off' -ex 'printf "%d %d\n", MPIR_proctable_size, MPIR_proctable[1].pid' -p $pid > "$work/table" 2>&1
pe=$(sed -n 's/^2 \([0-9]*\)$/\1/p' "$work/table")
[ -n "$pe" ] && [ "$(cat /proc/$pe/comm)" = sleep ]
ok $? "a debugger that attaches to oshrun finds the PEs" "$work/table"
kill $pid
wait $pid
plan

#!/usr/bin/env bash
# mps.sh - oshrun --mps, with a program in place of NVIDIA's control daemon: the job finds it, and it and its folder end with the job,
# however that ends.
. "${top_srcdir:=.}/test/tap.sh"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work/tmp PATH=$work/bin:$PATH
mkdir "$work/bin" "$TMPDIR"
unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
left() { # what outlives a job: folders, daemons; for at most 5 seconds after oshrun was killed
    for _ in $(seq 50); do
        [ -z "$(ls "$TMPDIR")" ] && { [ ! -f "$work/pid" ] || ! kill -0 "$(cat "$work/pid")" 2> /dev/null; } && return 1
        sleep 0.1
    done
    ls "$TMPDIR"
}

$OSHRUN --mps -n 1 true > "$work/log" 2>&1
[ $? -eq 1 ] && [ "$(wc -l < "$work/log")" -eq 1 ] && grep -q -- '--mps: nvidia-cuda-mps-control does not start: .*No such file' "$work/log" && ! left
ok $? "without NVIDIA's daemon: one line, and nothing stays" "$work/log"

cat > "$work/bin/nvidia-cuda-mps-control" << 'END'
#!/usr/bin/env bash
if [ "${1:-}" != -f ]; then
    cat > "$CUDA_MPS_PIPE_DIRECTORY/control"
    exit
fi
echo $$ > "$MPS_PID"
[ -z "${MPS_FAILS:-}" ] || { echo "An instance of this daemon is already running"; exit 1; }
mkfifo "$CUDA_MPS_PIPE_DIRECTORY/control"
while read -r word < "$CUDA_MPS_PIPE_DIRECTORY/control"; do [ "$word" != quit ] || exit 0; done
END
chmod +x "$work/bin/nvidia-cuda-mps-control"
export MPS_PID=$work/pid

# Catches: PEs that do not find the daemon, or another user who does.
$OSHRUN --mps -n 2 sh -c 'test -p "$CUDA_MPS_PIPE_DIRECTORY/control" && stat -c "%a" "$CUDA_MPS_PIPE_DIRECTORY"' > "$work/log" 2>&1
[ $? -eq 0 ] && [ "$(cat "$work/log")" = "700
700" ] && ! left
ok $? "the PEs find the daemon; it ends with the job" "$work/log"
$OSHRUN --mps -n 2 sh -c 'exit 3' > "$work/log" 2>&1
[ $? -eq 3 ] && ! left
ok $? "the job's exit status" "$work/log"
MPS_FAILS=1 $OSHRUN --mps -n 1 true > "$work/log" 2>&1
[ $? -eq 1 ] && grep -q 'does not start: An instance of this daemon' "$work/log" && ! left
ok $? "a daemon that ends at once: its last line" "$work/log"

# Catches: a daemon that outlives an oshrun that was killed; one that holds oshrun's output open.
$OSHRUN --mps -n 1 sh -c 'echo started; sleep 1000' > "$work/log" 2>&1 &
job=$!
until_grep started "$work/log"
started=$?
kill -KILL $job
wait $job 2> /dev/null
[ $started -eq 0 ] && ! left
ok $? "oshrun is killed: the daemon and its folder are gone" "$work/log"
$OSHRUN --mps -H a,b -n 2 true > "$work/log" 2>&1
[ $? -eq 2 ] && grep -q -- '--mps: the PEs must be on this machine' "$work/log"
ok $? "several hosts are refused" "$work/log"
plan

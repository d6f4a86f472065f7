#!/usr/bin/env bash
# tag.sh - tagged messages that kernels send and hosts receive.
. "${top_srcdir:=.}/test/device/run.sh"

# Work-item i sends messages of every length to the next PE, each with its own pattern, while the host receives.
cat > "$work/send.cl" << 'END'
#include <shmemg.h>
SHMEMG_KERNEL void send(SHMEMG_GLOBAL uint8_t *buffer, uint64_t room)
{
    const uint64_t lengths[] = {0, 8, 40, 41, 3000, 9000, 60000};
    uint64_t item = shmemg_global_id(0);
    int to = (shmemg_my_pe() + 1) % shmemg_n_pes();
    SHMEMG_GLOBAL uint8_t *mine = buffer + item * room;
    for (uint64_t k = 0; k < 7; k++) {
        uint8_t value = (uint8_t)(item * 16 + k + 3 * shmemg_my_pe());
        for (uint64_t i = 0; i < lengths[k]; i++)
            mine[i] = value;
        if (k % 2)
            shmemxg_tag_send(mine, lengths[k], item, to); /* the buffer is written again at once */
        else {
            shmemxg_tag_send_nbi(mine, lengths[k], item, to);
            shmemg_quiet();
        }
    }
    uint64_t last[3] = {item, 7, 9}; /* private memory */
    shmemxg_tag_send(last, sizeof last, 1000 + item, to);
}
SHMEMG_KERNEL void wrong(SHMEMG_GLOBAL uint8_t *buffer, uint64_t where)
{
    if (where == 0)
        shmemxg_tag_send(buffer, 8, 1, 1000);
    else
        shmemxg_tag_send((SHMEMG_GLOBAL uint8_t *)where, 100, 1, 0);
}
END
cat > "$work/send.c" << 'END'
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { ITEMS = 16, ROOM = 60000 };
int main(int argc, char **argv)
{
    static const size_t lengths[] = {0, 8, 40, 41, 3000, 9000, 60000};
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), from = (me + n - 1) % n, bad = 0;
    unsigned char *buffer = shmemg_malloc(ITEMS * ROOM), *in = malloc(ROOM);
    uint64_t room = ROOM, where = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    void *args[] = {&buffer, &room}, *wrong[] = {&buffer, &where};
    const size_t groups[3] = {4, 1, 1}, items[3] = {ITEMS / 4, 1, 1}, one[3] = {1, 1, 1}, bytes[] = {8, 8};
    if (argc > 1)
        return shmemx_launch("wrong", one, one, wrong, bytes, 2) || shmemx_device_sync();
    if (shmemx_launch("send", groups, items, args, bytes, 2))
        return 1;
    int next[ITEMS] = {0};
    for (int all = 0; all < 7 * ITEMS; all++) { /* of whom it comes: a device need not run all work-items at a time */
        shmemx_tag_status_t status;
        shmemx_tag_recv(SHMEM_TEAM_WORLD, in, ROOM, 0, ~(uint64_t)(ITEMS - 1), SHMEMX_TAG_ANY_SOURCE, &status);
        int i = (int)status.tag, k = next[i]++;
        unsigned char value = (unsigned char)(i * 16 + k + 3 * from);
        int wrong_here = k >= 7 || status.bytes != lengths[k] || status.source != from;
        for (size_t c = 0; !wrong_here && c < lengths[k]; c++)
            wrong_here = in[c] != value;
        bad += wrong_here;
    }
    for (uint64_t i = 0; i < ITEMS; i++) {
        uint64_t last[3] = {0};
        shmemx_tag_recv(SHMEM_TEAM_WORLD, last, sizeof last, 1000 + i, SHMEMX_TAG_EXACT, from, NULL);
        bad += last[0] != i || last[1] != 7 || last[2] != 9;
    }
    bad += shmemx_device_sync() != 0;
    if (bad)
        printf("PE %d: %d messages are wrong\n", me, bad);
    shmem_finalize();
    return bad != 0;
}
END
$OSHCC -O2 "$work/send.c" "$work/send.cl" -o "$work/send" > "$work/log" 2>&1
ok $? "oshcc compiles the program" "$work/log"
# Catches: a message lost, truncated, out of order or sent after its buffer was reused; the proxy reading private
# memory.
for pes in 1 2 3; do
    for private in $privates; do
        ZE_CPU_PRIVATE=$private run $pes 1 "$work/send" && ! grep -q fulmar "$work/log"
        ok $? "kernels send, $pes PEs, device memory private: $private" "$work/log"
    done
done
# Catches: an invalid PE, or a long message from memory that the proxy cannot read, that is not refused.
run 2 1 "$work/send" 0
[ $? != 0 ] && grep -q 'PE 1000 does not exist' "$work/log"
ok $? "an invalid PE ends the job with one line" "$work/log"
run 2 1 "$work/send" 4096
[ $? != 0 ] && grep -q 'address 0x1000 is not in the device symmetric heap' "$work/log"
ok $? "a long message from other memory ends the job with one line" "$work/log"
plan

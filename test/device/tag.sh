#!/usr/bin/env bash
# tag.sh - tagged messages that kernels send, receive and probe.
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
# Each work-item receives messages of every length from the previous PE's host, and replies to whom they come from. The host
# fills its window with headers of other messages first, so that the sender keeps the one that the kernel probes for.
cat > "$work/reply.cl" << 'END'
#include <shmemg.h>
#define BAD(...) do { if (__VA_ARGS__) shi_atom64_add(bad, 1ul << (8 * (__COUNTER__ - FIRST) % 64)); } while (0)
enum { FIRST = __COUNTER__ + 1 };
SHMEMG_KERNEL void reply(SHMEMG_GLOBAL uint8_t *buffer, uint64_t room, SHMEMG_GLOBAL shi_u64 *bad, SHMEMG_GLOBAL uint64_t *go)
{
    const uint64_t lengths[] = {0, 8, 41, 3000, 60000};
    uint64_t item = shmemg_global_id(0);
    int n = shmemg_n_pes(), from = (shmemg_my_pe() + n - 1) % n;
    SHMEMG_GLOBAL uint8_t *mine = buffer + item * room;
    shmemxg_tag_status_t s;
    shmemxg_tag_request_t a, b;
    for (uint64_t k = 0; k < 5; k++) {
        shmemxg_tag_recv(mine, room, item, SHMEMX_TAG_EXACT, k % 2 ? from : SHMEMX_TAG_ANY_SOURCE, &s);
        BAD(s.bytes != lengths[k] || s.tag != item || s.source != from || s.truncated);
        for (uint64_t i = 0; i < s.bytes; i++)
            mine[i] ^= 255;
        shmemxg_tag_send(mine, s.bytes, 100 + item, s.source);
    }
    shmemxg_tag_recv(mine, 10, 200 + item, SHMEMX_TAG_EXACT, from, &s); /* of 100 bytes */
    BAD(s.bytes != 100 || !s.truncated || mine[9] != 5);
    shmemxg_tag_irecv(mine, 8, 300 + item, SHMEMX_TAG_EXACT, from, &a);
    shmemxg_tag_irecv(mine + 8, 8, 300 + item, SHMEMX_TAG_EXACT, from, &b);
    BAD(shmemxg_tag_test(&a, &s)); /* the message is sent after go */
    shmemg_fence();
    shmemg_uint64_atomic_inc(go, from);
    shmemg_quiet(); /* with receives that are posted */
    shmemxg_tag_wait(&b, &s);
    BAD(mine[8] != 2 || s.tag != 300 + item);
    while (!shmemxg_tag_test(&a, &s))
        ;
    BAD(mine[0] != 1 || s.bytes != 8 || !shmemxg_tag_test(&a, 0));
    BAD(shmemxg_tag_iprobe(5000, SHMEMX_TAG_EXACT, from, &s));
    shmemxg_tag_probe(400 + item, SHMEMX_TAG_EXACT, item % 2 ? from : SHMEMX_TAG_ANY_SOURCE, &s);
    BAD(s.bytes != 9000 + item || s.source != from || s.tag != 400 + item);
    shmemxg_tag_recv(mine, s.bytes, s.tag, SHMEMX_TAG_EXACT, s.source, 0);
    BAD(mine[0] != item || mine[s.bytes - 1] != item);
}
SHMEMG_KERNEL void wrong(SHMEMG_GLOBAL uint8_t *buffer, uint64_t where)
{
    shmemxg_tag_status_t s;
    shmemxg_tag_request_t r = {1000, 0}; /* no receive */
    if (where == 0)
        shmemxg_tag_iprobe(1, 0, 1000, &s);
    else if (where == 1)
        shmemxg_tag_wait(&r, &s);
    else
        shmemxg_tag_recv((SHMEMG_GLOBAL uint8_t *)where, 8, 1, 0, 0, &s);
}
END
cat > "$work/reply.c" << 'END'
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { ITEMS = 8, ROOM = 60000, OTHERS = 20 };
static unsigned char out[5][ITEMS][ROOM], in[ROOM], five[100], probed[ITEMS][9100];
int main(int argc, char **argv)
{
    static const size_t lengths[] = {0, 8, 41, 3000, 60000};
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), from = (me + n - 1) % n, to = (me + 1) % n, bad = 0, next[ITEMS] = {0};
    unsigned char *buffer = shmemg_malloc(ITEMS * ROOM);
    uint64_t *words = shmemg_calloc(2, 8), *go = words + 1, bads = 1, room = ROOM;
    uint64_t where = argc > 1 ? strtoull(argv[1], NULL, 0) : 0;
    void *args[] = {&buffer, &room, &words, &go}, *wrong[] = {&buffer, &where};
    const size_t groups[3] = {2, 1, 1}, items[3] = {ITEMS / 2, 1, 1}, one[3] = {1, 1, 1}, bytes[] = {8, 8, 8, 8};
    if (argc > 1)
        return shmemx_launch("wrong", one, one, wrong, bytes, 2) || shmemx_device_sync();
    shmemx_tag_request_t r[OTHERS + 7 * ITEMS];
    int k = 0;
    for (uint64_t i = 0; i < OTHERS; i++) /* headers of messages for the host */
        shmemx_tag_isend(SHMEM_TEAM_WORLD, out, ROOM, 7000 + i, to, &r[k++]);
    for (uint64_t i = 0; i < ITEMS; i++)
        for (int l = 0; l < 5; l++) {
            memset(out[l][i], (int)(16 * i) + l, ROOM);
            shmemx_tag_isend(SHMEM_TEAM_WORLD, out[l][i], lengths[l], i, to, &r[k++]);
        }
    memset(five, 5, 100);
    for (uint64_t i = 0; i < ITEMS; i++) {
        shmemx_tag_isend(SHMEM_TEAM_WORLD, five, 100, 200 + i, to, &r[k++]);
        memset(probed[i], (int)i, sizeof probed[i]);
    }
    if (shmemx_launch("reply", groups, items, args, bytes, 4))
        return 1;
    for (int all = 0; all < 5 * ITEMS; all++) {
        shmemx_tag_status_t s;
        shmemx_tag_recv(SHMEM_TEAM_WORLD, in, ROOM, 96, ~(uint64_t)15, SHMEMX_TAG_ANY_SOURCE, &s); /* 100 to 107 */
        int i = (int)s.tag - 100, l = next[i]++, wrong_here = l >= 5 || s.bytes != lengths[l] || s.source != to;
        for (size_t c = 0; !wrong_here && c < s.bytes; c++)
            wrong_here = in[c] != (unsigned char)~(16 * i + l);
        bad += wrong_here;
    }
    for (uint64_t now = 0; now < ITEMS;) /* each has posted its receives */
        shmem_getmem(&now, go, 8, me);
    for (uint64_t i = 0; i < ITEMS; i++) {
        uint64_t first = 1, second = 2;
        shmemx_tag_send(SHMEM_TEAM_WORLD, &first, 8, 300 + i, to);
        shmemx_tag_send(SHMEM_TEAM_WORLD, &second, 8, 300 + i, to);
        shmemx_tag_isend(SHMEM_TEAM_WORLD, probed[i], 9000 + i, 400 + i, to, &r[k++]);
    }
    bad += shmemx_device_sync() != 0;
    for (uint64_t i = 0; i < OTHERS; i++)
        shmemx_tag_recv(SHMEM_TEAM_WORLD, in, ROOM, 7000 + i, SHMEMX_TAG_EXACT, from, NULL);
    shmemx_tag_wait_all(k, r, NULL);
    shmem_getmem(&bads, words, 8, me);
    if (bad || bads)
        printf("PE %d: %d replies are wrong; kernel: %#lx\n", me, bad, (unsigned long)bads);
    shmem_finalize();
    return bad || bads;
}
END
$OSHCC -O2 "$work/reply.c" "$work/reply.cl" -o "$work/reply" > "$work/log" 2>&1
ok $? "oshcc compiles a program whose kernels receive" "$work/log"
# Catches: a receive that quiet or a fence waits for; a probe that waits, or does not find a message that its sender keeps; a
# status or a reply to the wrong PE; a result taken by another receive (2 PEs: a ring of 4,
# results share slots); order lost among a work-item's receives.
for pes in 1 2 3; do
    for private in $privates; do
        SHMEM_TEST_DEVICE_RING=$((pes == 2 ? 4 : 1024)) SHMEM_TEST_TAG_UNEXPECTED_HEADERS_PER_PEER=8 ZE_CPU_PRIVATE=$private \
            run $pes 1 "$work/reply" && ! grep -q fulmar "$work/log"
        ok $? "kernels receive, probe and reply, $pes PEs, device memory private: $private" "$work/log"
    done
done
# Catches: an invalid sender, a request that is none, or a buffer that the proxy cannot write, that is not refused.
run 2 1 "$work/reply" 0
[ $? != 0 ] && grep -q 'PE 1000 does not exist' "$work/log"
ok $? "a probe of an invalid PE ends the job with one line" "$work/log"
run 2 1 "$work/reply" 1
[ $? != 0 ] && grep -q 'invalid request of a kernel' "$work/log"
ok $? "a wait for no receive ends the job with one line" "$work/log"
run 2 1 "$work/reply" 4096
[ $? != 0 ] && grep -q 'address 0x1000 is not in the device symmetric heap' "$work/log"
ok $? "a receive into other memory ends the job with one line" "$work/log"
plan

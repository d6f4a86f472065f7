/*
 * trace_arrows.c - arrows from puts to waits (host/util/trace_arrows.c) and the nodes' clocks (trace_clock.c), in traces made here.
 *
 * Catches: an arrow from a put that another one had overwritten, that wrote another value or started later; from one of two puts that
 * can both have ended the wait; a second arrow from a put; an arrow in spite of lost events; clocks that are compared beyond their error.
 */
#include <stdlib.h>
#include <string.h>

#include "../tap.h"
#include "host/util/trace_join.h"

enum { PES = 4, ROOM = 8, MOST_ARROWS = 16, SIG = 64 };
#define AT(OFF) ((uint64_t)(OFF) | (uint64_t)SHI_PLACE_HEAP << SHI_PLACE_SHIFT)

/* ---- traces ----------------------------------------------------------------------------------------------------------- */

static struct shi_trace_part part[PES];
static struct shi_trace_arrow arrow[MOST_ARROWS];
static int n_arrows;

/* PEs 0 and 1 are node 0; PEs 2 and 3 are node 2, whose clock is ahead by `ahead`. */
static void begin(int64_t ahead)
{
    for (int i = 0; i < PES; i++) {
        if (!part[i].head)
            part[i].head = malloc(SHI_TRACE_HEAD_BYTES + ROOM * sizeof(struct shi_trace_event));
        struct shi_trace_head *h = (void *)part[i].head;
        *h = (struct shi_trace_head){.pe = i, .n_pes = PES, .node = i & 2, .room = ROOM, .start_ns = 1000};
        for (int s = 0; s < SHI_TRACE_SYNCS; s++) {
            h->sync[s].n = 2;
            for (uint64_t r = 0; r < 2; r++) { /* enter at 100 and 200, exit 10 later; the second PE of a node enters 5 later */
                h->sync[s].round[r].enter_ns = 100 + 100 * r + 5 * (i & 1) + (uint64_t)((i & 2) ? ahead : 0);
                h->sync[s].round[r].exit_ns = 110 + 100 * r + (uint64_t)((i & 2) ? ahead : 0);
            }
        }
    }
    n_arrows = 0;
}

static struct shi_trace_event *add(int pe, uint64_t start, uint64_t end)
{
    struct shi_trace_head *h = (void *)part[pe].head;
    struct shi_trace_event *e = (struct shi_trace_event *)((char *)h + SHI_TRACE_HEAD_BYTES) + h->written++ % h->room;
    *e = (struct shi_trace_event){.start_ns = start, .took_ns = end - start, .thread = 1};
    return e;
}

/* PE `pe` sets the signal of PE `to`; way STORES: it is set when the call ends. */
static struct shi_trace_event *put(int pe, int to, uint64_t start, uint64_t end, uint64_t value, int way)
{
    struct shi_trace_event *e = add(pe, start, end);
    e->family = SHI_SIGNALS;
    e->way = (uint8_t)way;
    e->to = to;
    e->word = AT(SIG);
    e->word_bytes = 8;
    e->value = value;
    e->has_value = 1;
    return e;
}

/* PE `pe` reads this value; at false_ns the signal was another one. */
static void wait_for(int pe, uint64_t start, uint64_t false_ns, uint64_t end, uint64_t value)
{
    struct shi_trace_event *e = add(pe, start, end);
    e->family = SHI_WAITS;
    e->to = SHI_TO_NONE;
    e->word = AT(SIG);
    e->word_bytes = 8;
    e->value = value;
    e->has_value = 1;
    e->false_ns = false_ns;
}

static void keep(void *arg, const struct shi_trace_arrow *a)
{
    (void)arg;
    if (n_arrows < MOST_ARROWS)
        arrow[n_arrows] = *a;
    n_arrows++;
}

static void find(void)
{
    shi_trace_align(part, PES);
    CHECK(shi_trace_arrows(part, PES, keep, NULL) == 0);
}

/* The i-th arrow goes from this event of a PE to that one. */
static int is(int i, int from, uint64_t from_event, int to, uint64_t to_event)
{
    const struct shi_trace_arrow *a = &arrow[i];
    return i < n_arrows && a->from == from && a->from_event == from_event && a->to == to && a->to_event == to_event;
}

/* ---- one node --------------------------------------------------------------------------------------------------------- */

static void on_node(void)
{
    begin(0);
    put(1, 0, 1100, 1110, 1, SHI_BY_STORES);
    wait_for(0, 1050, 1105, 1120, 1);
    put(1, 0, 1200, 1210, 1, SHI_BY_STORES);
    wait_for(0, 1150, 1199, 1220, 1);
    find();
    CHECKF(n_arrows == 2 && is(0, 1, 0, 0, 0) && is(1, 1, 1, 0, 1), "two puts end two waits");

    begin(0);
    put(1, 0, 1100, 1110, 1, SHI_BY_STORES);
    put(1, 0, 1105, 1115, 1, SHI_BY_STORES);
    wait_for(0, 1050, 1099, 1120, 1);
    find();
    CHECKF(n_arrows == 0, "no arrow where two puts can have ended the wait");

    begin(0);
    put(1, 0, 1100, 1110, 1, SHI_BY_STORES);
    put(1, 0, 1111, 1115, 2, SHI_BY_STORES);
    wait_for(0, 1050, 1099, 1120, 2);
    find();
    CHECKF(n_arrows == 1 && is(0, 1, 1, 0, 0), "the value tells two puts apart");

    begin(0);
    put(1, 0, 1100, 1110, 2, SHI_BY_STORES);
    wait_for(0, 1050, 1099, 1120, 1);
    put(1, 0, 1121, 1130, 1, SHI_BY_STORES);
    find();
    CHECKF(n_arrows == 0, "no arrow from a put of another value, or a later one");

    begin(0);
    put(1, 0, 1100, 1110, 1, SHI_BY_STORES);
    wait_for(0, 1150, 1160, 1170, 1);
    find();
    CHECKF(n_arrows == 0, "no arrow from a put that was over when the word did not satisfy");
}

static void satisfied_at_first(void)
{
    begin(0);
    put(1, 0, 1100, 1110, 1, SHI_BY_STORES);
    put(1, 0, 1120, 1130, 1, SHI_BY_STORES);
    wait_for(0, 1200, 0, 1210, 1);
    wait_for(0, 1220, 0, 1230, 1);
    find();
    CHECKF(n_arrows == 1 && is(0, 1, 1, 0, 0), "the last put to a word that satisfies at first, once");

    begin(0);
    put(1, 0, 1100, 1110, 1, SHI_BY_STORES);
    wait_for(0, 1050, 1099, 1120, 1);
    put(1, 0, 1190, 1205, 1, SHI_BY_STORES); /* perhaps too late: then the wait reads the first one's 1 again */
    wait_for(0, 1200, 0, 1210, 1);
    find();
    CHECKF(n_arrows == 1 && is(0, 1, 0, 0, 0), "no arrow where the word may be as an earlier wait has left it");

    begin(0);
    put(1, 0, 1100, 1110, 1, SHI_BY_STORES)->word = SIG | (uint64_t)SHI_PLACE_DEVICE << SHI_PLACE_SHIFT;
    wait_for(0, 1200, 0, 1210, 1);
    ((struct shi_trace_event *)shi_trace_at(&part[0], 0))->word = SIG | (uint64_t)SHI_PLACE_DEVICE << SHI_PLACE_SHIFT;
    find();
    CHECKF(n_arrows == 0, "no arrow to a wait in the device heap, where kernels store, that was satisfied at first");
}

static void blocks_and_widths(void)
{
    begin(0);
    struct shi_trace_event *e = put(1, 0, 1100, 1110, 7, SHI_BY_STORES);
    e->word = 0;
    e->at = AT(0);
    e->extent = SIG + 8;
    wait_for(0, 1050, 1105, 1120, 1);
    find();
    CHECKF(n_arrows == 1 && is(0, 1, 0, 0, 0), "a put of a block to the word");

    begin(0);
    e = put(1, 0, 1100, 1110, 7, SHI_BY_STORES);
    e->word = 0;
    e->at = AT(0);
    e->extent = SIG;
    wait_for(0, 1050, 1105, 1120, 1);
    find();
    CHECKF(n_arrows == 0, "no arrow from a block that ends before the word");

    begin(0);
    put(1, 0, 1100, 1110, 0x1234500000001, SHI_BY_STORES)->word_bytes = 4;
    wait_for(0, 1050, 1105, 1120, 0xffffffff00000001);
    ((struct shi_trace_event *)shi_trace_at(&part[0], 0))->word_bytes = 4;
    find();
    CHECKF(n_arrows == 1, "values are compared in the bytes of the word");
}

/* ---- two nodes -------------------------------------------------------------------------------------------------------- */

/* The clocks differ by 1,000,000; the barriers say so within 10. */
static void between_nodes(void)
{
    enum { AHEAD = 1000000 };
    begin(AHEAD);
    find();
    int64_t differ = part[0].shift_ns - part[2].shift_ns;
    CHECKF(differ >= AHEAD - 10 && differ <= AHEAD + 10 && part[0].error_ns == 0 && part[2].error_ns > 0 && part[2].error_ns <= 10,
       "the barriers align the clocks: %ld, within %ld", (long)differ, (long)part[2].error_ns);

    begin(AHEAD);
    put(2, 0, AHEAD + 1100, AHEAD + 1110, 1, SHI_BY_NETWORK);
    wait_for(0, 1050, 1300, 1320, 1);
    put(2, 0, AHEAD + 1400, AHEAD + 1410, 1, SHI_BY_NETWORK);
    wait_for(0, 1350, 1500, 1520, 1);
    find();
    CHECKF(n_arrows == 2 && is(0, 2, 0, 0, 0) && is(1, 2, 1, 0, 1), "puts that arrive after their calls have ended");

    begin(AHEAD);
    put(2, 0, AHEAD + 1100, AHEAD + 1110, 1, SHI_BY_NETWORK);
    put(3, 0, AHEAD + 1321, AHEAD + 1330, 1, SHI_BY_NETWORK); /* after the wait, but not by more than the clocks' error */
    wait_for(0, 1050, 1300, 1320, 1);
    find();
    CHECKF(n_arrows == 0, "no arrow where the clocks cannot tell");

    begin(AHEAD);
    put(2, 0, AHEAD + 1100, AHEAD + 1110, 1, SHI_BY_NETWORK)->has_value = 0;
    put(3, 0, AHEAD + 1150, AHEAD + 1160, 1, SHI_BY_NETWORK)->has_value = 0;
    wait_for(0, 1050, 1300, 1320, 2);
    find();
    CHECKF(n_arrows == 0, "no arrow from one of two adds whose results are not known");

    begin(AHEAD);
    for (int i = 2; i < PES; i++)
        ((struct shi_trace_head *)part[i].head)->sync[SHI_TRACE_AT_START].n = 0;
    put(2, 0, AHEAD + 1100, AHEAD + 1110, 1, SHI_BY_NETWORK);
    put(3, 0, AHEAD + 9100, AHEAD + 9110, 1, SHI_BY_NETWORK);
    wait_for(0, 1050, 1300, 1320, 1);
    find();
    CHECKF(n_arrows == 0, "clocks without barriers order nothing");
}

static void barrier(int pe, uint64_t start, uint64_t end, const char *name)
{
    struct shi_trace_event *e = add(pe, start, end);
    e->family = SHI_BARRIERS;
    e->to = SHI_TO_NONE;
    strcpy(e->name, name);
}

/* Where clocks cannot tell, barriers can. All PEs call them. */
static void barriers(void)
{
    enum { AHEAD = 1000000 };
    for (int i = 0; i < 3; i++) {
        static const char *const name[] = {"shmem_barrier_all", "shmem_sync_all", "shmem_sync"};
        begin(AHEAD);
        put(2, 0, AHEAD + 1300, AHEAD + 1301, 1, SHI_BY_NETWORK);
        wait_for(0, 1300, 1304, 1305, 1);
        for (int pe = 0; pe < PES; pe++)
            barrier(pe, 1306 + (uint64_t)(pe & 2) / 2 * AHEAD, 1307 + (uint64_t)(pe & 2) / 2 * AHEAD, name[i]);
        put(2, 0, AHEAD + 1308, AHEAD + 1309, 1, SHI_BY_NETWORK);
        find();
        CHECKF(n_arrows == (i < 2), "%d arrows where a put comes after %s", n_arrows, name[i]);
    }

    for (int i = 0; i < 3; i++) {
        static const char *const name[] = {"shmem_barrier_all", "shmem_sync_all", "shmem_barrier_all"};
        begin(AHEAD);
        strcpy(put(2, 0, AHEAD + 1300, AHEAD + 1301, 1, SHI_BY_NETWORK)->name, i < 2 ? "shmem_p" : "shmem_ctx_p");
        for (int pe = 0; pe < PES; pe++)
            barrier(pe, 1306 + (uint64_t)(pe & 2) / 2 * AHEAD, 1307 + (uint64_t)(pe & 2) / 2 * AHEAD, name[i]);
        wait_for(0, 1308, 1310, 1320, 1);
        put(3, 0, AHEAD + 1309, AHEAD + 1310, 1, SHI_BY_NETWORK);
        find();
        CHECKF(n_arrows == (i == 0), "%d arrows where a put may have been completed by %s", n_arrows, name[i]);
    }
}

static void lost(void)
{
    begin(0);
    for (uint64_t i = 0; i <= ROOM; i++)
        add(3, 1000 + i, 1000 + i);
    put(1, 0, 1100, 1110, 1, SHI_BY_STORES);
    wait_for(0, 1050, 1105, 1120, 1);
    find();
    CHECKF(n_arrows == 1, "events that were lost long before");

    begin(0);
    for (uint64_t i = 0; i <= ROOM; i++)
        add(3, 1105 + i, 1120 + i);
    put(1, 0, 1100, 1110, 1, SHI_BY_STORES);
    wait_for(0, 1050, 1105, 1120, 1);
    find();
    CHECKF(n_arrows == 0, "no arrow where a put of that time may have been lost");

    begin(0);
    put(1, 0, 1100, 1110, 1, SHI_BY_STORES);
    wait_for(0, 1050, 1105, 1120, 1);
    const struct shi_trace_head *kept = part[3].head;
    part[3].head = NULL;
    find();
    part[3].head = kept;
    CHECKF(n_arrows == 0, "no arrow where a PE's part is missing");
}

int main(void)
{
    RUN(on_node, "puts that change the word while their call runs");
    RUN(satisfied_at_first, "waits that end at once");
    RUN(blocks_and_widths, "blocks, and words of 4 bytes");
    RUN(between_nodes, "puts over the network, and clocks that differ");
    RUN(barriers, "barriers of all PEs order calls of two nodes");
    RUN(lost, "lost events and missing parts");
    return tap_end();
}

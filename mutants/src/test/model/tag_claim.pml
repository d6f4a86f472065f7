/*
 * tag_claim.pml - models how a receiver claims messages that wait at their senders (src/host/tag/tag_claim.c,
 * tag_send.c).
 *
 *   model                     code
 *   KEPT                      in peer.pending.kept
 *   SENT                      a header in a FIFO, or in shi_tag.arrived
 *   headers, offered, awaited  the same of a sender; its window holds one header, and no message is eager
 *   held, open, asked, again   the same of the receiver, for each sender
 *   CLAIM's set                the queries, for at most two receives
 *
 * The FIFOs keep the order, each handler is one step, and the program starts messages, posts receives and cancels one of
 * them at any time. Asserted where a receive and a message match: both are free; no earlier free message of the sender
 * matches the receive; no earlier posted receive matches the message. Asserted in the final state: no posted receive
 * matches a message that has been sent or waits at its sender.
 * Bound: sender 0 has 2 messages with tags 0 or 1, sender 1 has one with tag 0; before them a header fills each window,
 * which is received from sender 0 at any time, from sender 1 never; 3 receives with tag 0 or any, the first and third
 * from sender 0, the second from any; the first may be cancelled; claims of 2 queries.
 *
 * mutant 1  assert  an offer is accepted by any receive that matches the message
 * mutant 2  assert  the sender sends messages after an offered one
 * mutant 3  assert  the window sends an offered message, too
 * mutant 4  assert  a claim that finds no message does not report that more are kept
 * mutant 5  assert  NEWS in the middle of a round is lost
 * mutant 6  assert  a receive that is posted while the sender's window is full makes no claim
 * mutant 7  assert  a sender whose window becomes full is not queried for earlier receives
 * mutant 8  assert  a sender offers a later matching message before an earlier one
 * mutant 9  assert  a claim continues after the receive with the offer, and skips those without an answer
 * mutant 10  assert  the next claim leaves before the answer to an offer
 */
#define M(n) (MUTANT == n)
#define ALL 3
#define first_of(s) (s -> 2 : 0)
#define end_of(s) (s -> 3 : 2)
#define sender_of(m) (m / 2)
#define RECEIVES 3
#define ANY 2
#define NOBODY 15

mtype = { HEAD, OFFER, NONE, NEWS, FIN, CLAIM, TAKEN, REFUSED };
mtype = { FREE, KEPT, SENT, MATCHED, POSTED, CANCELLED };

chan to_receiver[2] = [4] of { mtype, byte, byte };
chan to_sender[2] = [4] of { mtype, byte };

mtype message[ALL], receive[RECEIVES];
byte tag[ALL], want[RECEIVES], source[RECEIVES], arrived[ALL];

#define tags_match(r, m) (want[r] == ANY || want[r] == tag[m])
#define from_matches(r, s) (source[r] == ANY || source[r] == s)
#define both_match(r, m) (tags_match(r, m) && from_matches(r, sender_of(m)))

/* ---- senders ---------------------------------------------------------------------------------------------------------- */

/* m: the first message kept at or after `from` that matches receive r, or any (NOBODY); NOBODY when there is none. */
inline find_kept(from, r) {
    m = from;
    do
    :: m < end_of(me) && !(message[m] == KEPT && (r == NOBODY || tags_match(r, m))) -> m++
    :: else -> break
    od;
    if :: m == end_of(me) -> m = NOBODY :: else fi
}

/* Pending sends continue while the window is open. */
inline send_line() {
    find_kept(first_of(me), NOBODY);
    if
    :: m != NOBODY && m == offered && M(2) -> find_kept(m + 1, NOBODY)
    :: else
    fi;
    if
    :: m != NOBODY && headers == 0 && (m != offered || M(3)) ->
        message[m] = SENT;
        headers = 1;
        to_receiver[me]!HEAD, m, 0
    :: else
    fi;
    m = 0
}

/* Offer the first message that matches the first receive with a match. */
inline answer_claim() {
    r = 0; m = NOBODY;
    do
    :: r < RECEIVES && m == NOBODY ->
        if
        :: set & (1 << r) -> find_kept(first_of(me), r)
        :: else
        fi;
        if
        :: M(8) && m != NOBODY -> last = m; find_kept(m + 1, r); m = (m == NOBODY -> last : m); last = 0
        :: else
        fi;
        r++
    :: else -> break
    od;
    awaited = 1;
    if
    :: m != NOBODY -> offered = m; to_receiver[me]!OFFER, m, r - 1
    :: else -> to_receiver[me]!NONE, 0, 0
    fi;
    m = 0; r = 0; set = 0
}

proctype sender(byte me) {
    byte next = first_of(me), headers = 1, offered = NOBODY, awaited, m, r, set, last;
end:
    do
    :: atomic { next < end_of(me) -> /* the program sends */
        if :: tag[next] = 0 :: me == 0 -> tag[next] = 1 fi;
        message[next] = KEPT;
        next++;
        if :: awaited && !M(4) -> awaited = 0; to_receiver[me]!NEWS, 0, 0 :: else fi;
        send_line() }
    :: atomic { to_sender[me]?FIN, _ -> headers = 0; send_line() }
    :: atomic { to_sender[me]?CLAIM, set -> answer_claim() }
    :: atomic { to_sender[me]?TAKEN, _ -> offered = NOBODY; send_line() }
    :: atomic { to_sender[me]?REFUSED, _ -> offered = NOBODY; send_line() }
    od
}

/* ---- the receiver ----------------------------------------------------------------------------------------------------- */

byte held[2] = 1, filler = 1, open[2], asked[2], last_asked[2], again[2];
byte posted, cancelled;

/* Receive r and message m match. */
inline match_up(r, m) {
    d_step {
        assert(receive[r] == POSTED && (message[m] == KEPT || message[m] == SENT));
        x = first_of(sender_of(m));
        do
        :: x < m -> assert((message[x] != KEPT && message[x] != SENT) || !both_match(r, x)); x++
        :: else -> break
        od;
        x = 0;
        do
        :: x < r -> assert(receive[x] != POSTED || !both_match(x, m)); x++
        :: else -> break
        od;
        x = 0;
        receive[r] = MATCHED;
        message[m] = MATCHED
    }
}

/* r: the earliest posted receive that matches m, or NOBODY. */
inline find_posted(m) {
    r = 0;
    do
    :: r < posted && !(receive[r] == POSTED && both_match(r, m)) -> r++
    :: else -> break
    od;
    if :: r == posted -> r = NOBODY :: else fi
}

/* The receives from asked[s] on that accept source s, at most two. */
inline fill(s) {
    set = 0; x = 0; r = asked[s];
    do
    :: r < posted && x < 2 ->
        if
        :: receive[r] == POSTED && from_matches(r, s) -> set = set | (1 << r); x++
        :: else
        fi;
        last_asked[s] = r;
        r++
    :: else -> break
    od;
    x = 0
}

inline claim(s) {
    if
    :: !open[s] && held[s] ->
        fill(s);
        if
        :: set == 0 && again[s] -> again[s] = 0; asked[s] = 0; fill(s)
        :: else
        fi;
        if
        :: set -> open[s] = 1; to_sender[s]!CLAIM, set
        :: else -> asked[s] = posted
        fi;
        set = 0; r = 0
    :: else
    fi
}

inline post() {
    r = posted;
    if :: want[r] = 0 :: want[r] = ANY fi;
    if :: r != 1 -> source[r] = 0 :: r == 1 -> source[r] = ANY fi;
    receive[r] = POSTED;
    posted++;
    m = 0; /* the first to arrive; between senders the order does not matter */
    do
    :: m < ALL && !(arrived[m] && both_match(r, m)) -> m++
    :: else -> break
    od;
    if
    :: m < ALL -> match_up(r, m); arrived[m] = 0; held[sender_of(m)] = 0; to_sender[sender_of(m)]!FIN, 0
    :: m == ALL && !M(6) -> claim(0); claim(1)
    :: else
    fi;
    r = 0; m = 0
}

inline head_arrives(s) {
    find_posted(m);
    if
    :: r != NOBODY -> match_up(r, m); to_sender[s]!FIN, 0
    :: else ->
        arrived[m] = 1;
        held[s] = 1;
        if :: !M(7) -> claim(s) :: else fi
    fi;
    r = 0; m = 0
}

inline offer_arrives(s) {
    find_posted(m);
    if
    :: r == q || (M(1) && r != NOBODY) -> match_up(r, m); answer = TAKEN
    :: else -> answer = REFUSED
    fi;
    asked[s] = (M(9) -> last_asked[s] : q) + 1;
    r = 0; m = 0; q = 0;
    if
    :: M(10) -> open[s] = 0; claim(s); to_sender[s]!answer, 0
    :: else -> to_sender[s]!answer, 0; open[s] = 0; claim(s)
    fi;
    answer = 0
}

inline news_arrives(s) {
    if
    :: M(5) && open[s]
    :: else -> again[s] = 1
    fi;
    claim(s)
}

proctype receiver() {
    byte m, q, r, x, set;
    mtype answer;
end:
    do
    :: atomic { posted < RECEIVES -> post() }
    :: atomic { posted && !cancelled ->
        cancelled = 1;
        if :: receive[0] == POSTED -> receive[0] = CANCELLED :: else fi }
    :: atomic { filler -> filler = 0; held[0] = 0; to_sender[0]!FIN, 0 }
    :: atomic { to_receiver[0]?HEAD, m, _ -> head_arrives(0) }
    :: atomic { to_receiver[1]?HEAD, m, _ -> head_arrives(1) }
    :: atomic { to_receiver[0]?OFFER, m, q -> offer_arrives(0) }
    :: atomic { to_receiver[1]?OFFER, m, q -> offer_arrives(1) }
    :: atomic { to_receiver[0]?NONE, _, _ -> open[0] = 0; asked[0] = last_asked[0] + 1; claim(0) }
    :: atomic { to_receiver[1]?NONE, _, _ -> open[1] = 0; asked[1] = last_asked[1] + 1; claim(1) }
    :: atomic { to_receiver[0]?NEWS, _, _ -> news_arrives(0) }
    :: atomic { to_receiver[1]?NEWS, _, _ -> news_arrives(1) }
    od
}

/* The final state. */
proctype quiet() {
    byte m, r;
    timeout ->
    d_step {
        do
        :: r < RECEIVES ->
            m = 0;
            do
            :: m < ALL -> assert(receive[r] != POSTED || (message[m] != KEPT && message[m] != SENT) || !both_match(r, m)); m++
            :: else -> break
            od;
            r++
        :: else -> break
        od
    }
}

init {
    atomic {
        byte i;
        for (i : 0 .. ALL - 1) { message[i] = FREE }
        for (i : 0 .. RECEIVES - 1) { receive[i] = FREE }
        run sender(0); run sender(1); run receiver(); run quiet()
    }
}

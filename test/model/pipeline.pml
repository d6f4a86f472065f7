/*
 * pipeline.pml - models chunks of two PEs that put to and get from each other at once (net/stream/pipeline.c, net/stream/stream_device.c).
 *
 *   model      protocol
 *   transfer   a piece of an own operation: takes an own chunk; put: fills it, asks the peer to pull; get: asks the peer to push;
 *              frees the chunk when the peer has answered
 *   server     a peer's request: takes a served chunk; pull: reads the own chunk into it, copies it to the device; push: the
 *              other way; answers, frees the chunk
 *   own, served  free chunks of each PE
 *
 * Asserted: what a put leaves on the device, and what a get brings, is the piece's data. An endless wait is an invalid end state.
 * Bound: two transfers of each PE, of either kind, with one own and one served chunk.
 *
 * mutant 1  end     transfers and servers take chunks of one pool
 * mutant 2  assert  an own chunk is freed when the request is sent
 * mutant 3  assert  the server answers when it has read the data, before its copy has ended
 * mutant 4  assert  the server answers before its write has ended
 */
#define M(n) (MUTANT == n)
#define DATA(pe, i) (1 + 2 * (pe) + (i))

byte own[2], served[2];
byte own_chunk[2], served_chunk[2]; /* contents; there is one of each but in mutant 1 */
byte device[4];                     /* where each transfer puts; by peer and transfer */
bit asked[4], answered[4], gets[4];

inline take(pool) { atomic { pool > 0 -> pool-- } }
inline give(pool) { atomic { pool++ } }

proctype transfer(byte me, i) {
    byte t = 2 * me + i;
    take(own[me]);
    if
    :: own_chunk[me] = DATA(me, i); asked[t] = 1; /* put */
       if
       :: M(2) -> give(own[me]); answered[t]
       :: !M(2) -> answered[t]; give(own[me])
       fi;
       assert(device[t] == DATA(me, i))
    :: gets[t] = 1; own_chunk[me] = 0; asked[t] = 1;
       answered[t];
       assert(M(1) || own_chunk[me] == DATA(me, i));
       give(own[me])
    fi
}

/* Serves transfer i of the peer. */
proctype server(byte me, i) {
    byte peer = 1 - me, t = 2 * (1 - me) + i;
    asked[t];
    if
    :: M(1) -> take(own[me])
    :: !M(1) -> take(served[me])
    fi;
    if
    :: !gets[t] ->
       served_chunk[me] = own_chunk[peer]; /* a read of the network */
       if
       :: M(3) -> answered[t] = 1
       :: else
       fi;
       device[t] = (M(1) -> DATA(peer, i) : served_chunk[me])
    :: gets[t] ->
       served_chunk[me] = DATA(peer, i);
       if
       :: M(4) -> answered[t] = 1
       :: else
       fi;
       own_chunk[peer] = served_chunk[me]
    fi;
    answered[t] = 1;
    if
    :: M(1) -> give(own[me])
    :: !M(1) -> give(served[me])
    fi
}

init {
    atomic {
        own[0] = (M(1) -> 2 : 1); own[1] = own[0];
        served[0] = 1; served[1] = 1;
        run transfer(0, 0); run transfer(0, 1); run transfer(1, 0); run transfer(1, 1);
        run server(0, 0); run server(0, 1); run server(1, 0); run server(1, 1)
    };
    _nr_pr == 1
}

/*
 * race_words.h - what the device library of a program compiled by `oshcc --race` says of its calls: words, which it stores at SHI_RACE_WORDS.
 *
 * That is no address of memory: libze_cpu.so and libcuda_cpu.so hand the stores to libfulmar_race, see ze_cpu/race.h. Word 0 comes last and says
 * what is called; it uses the words named there. From a call to SHI_RACE_END the work-item's own accesses are the library's.
 */
#ifndef SHI_RACE_WORDS_H
#define SHI_RACE_WORDS_H

#define SHI_RACE_WORDS 0x46756c6d61730000

/* The words. RING names the context; PE is one of the world; NBI: the local buffer is accessed until the quiet. */
enum {
    SHI_RACE_CALL, SHI_RACE_RING, SHI_RACE_OBJECT, SHI_RACE_BYTES, SHI_RACE_PE, SHI_RACE_LOCAL, SHI_RACE_NBI, SHI_RACE_SIGNAL,
    SHI_RACE_FLAGS
};

/* Word 0. */
enum {
    SHI_RACE_END,
    SHI_RACE_INSIDE,  /* a call that accesses no memory of the program */
    SHI_RACE_PUT,     /* RING OBJECT BYTES PE LOCAL (0: none) NBI */
    SHI_RACE_GET,     /* the same */
    SHI_RACE_PUT_SIGNAL, /* the same, and SIGNAL */
    SHI_RACE_AMO,     /* RING OBJECT BYTES PE LOCAL (of a nonblocking fetch) FLAGS */
    SHI_RACE_FENCE,   /* RING */
    SHI_RACE_QUIET,   /* RING */
    SHI_RACE_PE_FENCE, /* RING PE */
    SHI_RACE_PE_QUIET, /* RING PE */
    SHI_RACE_FLUSH,   /* RING */
    SHI_RACE_SEEN,    /* OBJECT BYTES: a wait or a test saw the value in this PE's word */
    SHI_RACE_FETCHED, /* OBJECT PE: an atomic fetched the word */
    SHI_RACE_ENTER,   /* OBJECT: this PE enters the sync of the team with these flags */
    SHI_RACE_POINTER, /* OBJECT PE LOCAL: the PE's object is at this address */
    SHI_RACE_LEAVE,   /* OBJECT PE: this member has entered it, too */
    SHI_RACE_CALLS
};

/* FLAGS of an atomic. */
enum { SHI_RACE_FETCHES = 1, SHI_RACE_UPDATES = 2, SHI_RACE_FLOATING = 4 };

#endif

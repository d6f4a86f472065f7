/*
 * soak_ops.h - the operations of the soak test's kernel, for the kernel and for the host that checks them: C and OpenCL
 * C.
 *
 * Each work-item of each PE makes KROW operations per launch, and has KCELL bytes for each of them at every PE.
 */
#ifndef SOAK_OPS_H
#define SOAK_OPS_H

#define KITEMS 8   /* work-items of a PE: 2 groups */
#define KROW 24    /* operations of a work-item */
#define KCELL 256  /* bytes that an operation may write */
#define KCONST 8192 /* bytes that never change */
#define KWORDS 4   /* words that all work-items add to */

#define KPUT 0     /* putmem */
#define KPUT_NBI 1
#define KP 2       /* one word */
#define KFENCED 3  /* a word, a fence, the word again */
#define KSIGNAL 4  /* putmem_signal, adding to a word */
#define KADD 5
#define KFETCH 6   /* fetch_add of a word of this work-item */
#define KGET 7
#define KG 8
#define KQUIET 9
#define KKINDS 10

struct kop {
    int kind, pe, bytes, from, word;
    unsigned long value;
};

static inline unsigned long kmix(unsigned long x)
{
    x += 0x9e3779b97f4a7c15ul;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebul;
    return x ^ (x >> 31);
}

/* Operation k of work-item `item` of PE `pe`, of n. */
static inline struct kop kop_of(unsigned long seed, int pe, int item, int k, int n)
{
    struct kop o;
    unsigned long r = kmix(seed ^ kmix(((unsigned long)pe * KITEMS + (unsigned long)item) * KROW + (unsigned long)k));
    o.kind = (int)(r % KKINDS);
    o.pe = (int)((r >> 8) % (unsigned long)n);
    o.bytes = 1 + (int)((r >> 16) % ((r >> 48) % 4 ? 16 : KCELL));
    o.from = (int)((r >> 24) % (KCONST - KCELL));
    o.word = (int)((r >> 40) % KWORDS);
    o.value = kmix(r);
    return o;
}

#endif

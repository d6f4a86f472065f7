/*
 * p2p.h - point-to-point synchronisation: wait for, or test, words that other PEs update.
 *
 * One implementation for every integer type: a word is loaded at its width, then signed ones are shifted so that an
 * unsigned comparison orders both kinds.
 */
#ifndef SHI_P2P_H
#define SHI_P2P_H

#include <stddef.h>
#include <stdint.h>

/* Width and signedness of a word. */
enum shi_word { SHI_S16, SHI_U16, SHI_S32, SHI_U32, SHI_S64, SHI_U64 };
#define SHI_WORD_OF(T)                                                                                               \
    ((enum shi_word)((sizeof(T) == 2 ? SHI_S16 : sizeof(T) == 4 ? SHI_S32 : SHI_S64) + ((T)-1 > (T)0)))

/* The condition of a wait or test. */
struct shi_cond {
    const char *routine;
    const void *ivars;
    size_t n;
    const int *status;    /* nonzero: leave this one out; NULL: none */
    int cmp;              /* SHMEM_CMP_* */
    const void *values;   /* the one value, or one for each word */
    int vector;           /* one for each word */
    enum shi_word word;
    uint64_t *seen;       /* of waits for SHI_U64: what ended them, of all words, the one, or those of indices; NULL: nowhere */
};

/* The word itself, extended to 64 bits. Async-signal-safe. */
uint64_t shi_p2p_bits(enum shi_word k, const void *p);

void shi_p2p_wait(const struct shi_cond *c);     /* n == 1, no status */
uint64_t shi_p2p_wait_signal(const char *routine, const uint64_t *sig, int cmp, uint64_t value);
int shi_p2p_test(const struct shi_cond *c);      /* n == 1, no status */
uint64_t shi_p2p_fetch_signal(const char *routine, const uint64_t *sig);

/* Waits of the calling thread return when so many ns have passed from now on, though their condition is false: any with SIZE_MAX, some with 0.
 * 0: they do not. */
void shi_p2p_limit(uint64_t ns);

/* All, any, some; SIZE_MAX from any, and 0 from some, when none satisfies or all are left out. */
void shi_p2p_wait_all(const struct shi_cond *c);
size_t shi_p2p_wait_any(const struct shi_cond *c);
size_t shi_p2p_wait_some(const struct shi_cond *c, size_t *indices);
int shi_p2p_test_all(const struct shi_cond *c);
size_t shi_p2p_test_any(const struct shi_cond *c);
size_t shi_p2p_test_some(const struct shi_cond *c, size_t *indices);

#endif

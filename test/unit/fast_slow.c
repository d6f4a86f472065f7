/* fast_slow.c - for fast.c: what the slow paths of puts, gets and updates call, which it counts. Without prototypes: none is ever called. */
extern int slow_paths;

#define SLOW(NAME)                                                                                                    \
    long NAME(void);                                                                                                  \
    long NAME(void)                                                                                                   \
    {                                                                                                                 \
        slow_paths++;                                                                                                 \
        return 0;                                                                                                     \
    }
SLOW(shi_check_block_slow) SLOW(shi_dheap_copy) SLOW(shi_dheap_copy_strided) SLOW(shi_dheap_move) SLOW(shi_dheap_word_lock) SLOW(shi_die)
SLOW(shi_progress_poll) SLOW(shi_remote_fetch) SLOW(shi_remote_fetch_nbi) SLOW(shi_remote_get) SLOW(shi_remote_get_strided)
SLOW(shi_remote_put_strided) SLOW(shi_remote_update) SLOW(shi_remote_wide) SLOW(shi_resolve_slow_copy) SLOW(shi_span_begin) SLOW(shi_span_count)
SLOW(shi_wait_aborted) SLOW(shi_remote_put)

/* 1: it is on another node. */
long shi_is_remote(void);
long shi_is_remote(void)
{
    slow_paths++;
    return 1;
}

#define NONE(NAME)                                                                                                    \
    long NAME(void);                                                                                                  \
    long NAME(void)                                                                                                   \
    {                                                                                                                 \
        return 0;                                                                                                     \
    }
NONE(shi_check_aligned) NONE(shi_dheap_holds) NONE(shi_dheap_is_private)
int shi_progress_on;

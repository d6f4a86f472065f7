/*
 * sycl_calls.h - a call of every routine for every type, in one form; sycl_api.cpp includes it once a form, after it has defined
 *   FORM             the name of the form, before the functions' names
 *   PRE              ishmem or ishmemx, before the routines' names
 *   PARAMETERS, ARGUMENTS  of the functions, behind the job, with a comma before them
 *   DO(F, ...)       a call; DO0(F): without arguments; RESULT(T, AT, F, ...), RESULT0(T, AT, F): with a result, which goes to *AT
 *   ITEM             1: also the routines that have no form for groups and queues
 *   FENCE            1: the form has a fence
 * Each call has a place of its own, see struct place. What is there afterwards, sycl_want.h tells.
 */
#define DATA_ d, s, 5, p.to
#define STRIDES_ d, s, 2, 3, 3, p.to
#define BLOCKS_ d, s, 3, 4, 2, 2, p.to
#define RUN_put(T, F) DO(F, DATA_)
#define RUN_get RUN_put
#define RUN_put_nbi RUN_put
#define RUN_get_nbi RUN_put
#define RUN_iput(T, F) DO(F, STRIDES_)
#define RUN_iget RUN_iput
#define RUN_ibput(T, F) DO(F, BLOCKS_)
#define RUN_ibget RUN_ibput
#define RUN_put_signal(T, F) DO(F, d, s, 5, p.signal, 77, ISHMEM_SIGNAL_ADD, p.to)
#define RUN_put_signal_nbi(T, F) DO(F, d, s, 5, p.signal, 77, ISHMEM_SIGNAL_SET, p.to)
#define RUN_p(T, F) DO(F, d, (T)9, p.to)
#define RUN_g(T, F) RESULT(T, p.result, F, s + 3, p.to)

#define RUN_atomic_inc(T, F) DO(F, d, p.to)
#define RUN_atomic_add(T, F) DO(F, d, (T)5, p.to)
#define RUN_atomic_fetch_inc(T, F) RESULT(T, p.result, F, d, p.to)
#define RUN_atomic_fetch_add(T, F) RESULT(T, p.result, F, d, (T)5, p.to)
#define RUN_atomic_compare_swap(T, F) RESULT(T, p.result, F, d, (T)UNTOUCHED, (T)6, p.to)
#define RUN_atomic_fetch_inc_nbi(T, F) DO(F, d + 2, d, p.to)
#define RUN_atomic_fetch_add_nbi(T, F) DO(F, d + 2, d, (T)5, p.to)
#define RUN_atomic_compare_swap_nbi(T, F) DO(F, d + 2, d, (T)UNTOUCHED, (T)6, p.to)
#define RUN_atomic_fetch(T, F) RESULT(T, p.result, F, d, p.to)
#define RUN_atomic_set(T, F) DO(F, d, (T)8, p.to)
#define RUN_atomic_swap(T, F) RESULT(T, p.result, F, d, (T)8, p.to)
#define RUN_atomic_fetch_nbi(T, F) DO(F, d + 2, d, p.to)
#define RUN_atomic_swap_nbi(T, F) DO(F, d + 2, d, (T)8, p.to)
#define RUN_atomic_and(T, F) DO(F, d, (T)BITS, p.to)
#define RUN_atomic_or RUN_atomic_and
#define RUN_atomic_xor RUN_atomic_and
#define RUN_atomic_fetch_and(T, F) RESULT(T, p.result, F, d, (T)BITS, p.to)
#define RUN_atomic_fetch_or RUN_atomic_fetch_and
#define RUN_atomic_fetch_xor RUN_atomic_fetch_and
#define RUN_atomic_fetch_and_nbi(T, F) DO(F, d + 2, d, (T)BITS, p.to)
#define RUN_atomic_fetch_or_nbi RUN_atomic_fetch_and_nbi
#define RUN_atomic_fetch_xor_nbi RUN_atomic_fetch_and_nbi

/* Of the source's elements 1 and 3 are negative, or great where T is unsigned. The status leaves 1 out. */
#define BEYOND_(T) ((T)-1 < (T)1 ? ISHMEM_CMP_LT : ISHMEM_CMP_GT), (T)((T)-1 < (T)1 ? 1 : 1000)
#define RUN_wait_until(T, F) DO(F, s + 1, BEYOND_(T))
#define RUN_test(T, F) RESULT(int, p.result, F, s + 1, ISHMEM_CMP_LE, (T)2)
#define RUN_wait_until_all(T, F) DO(F, s, 4, p.status, ISHMEM_CMP_NE, s[1])
#define RUN_wait_until_any(T, F) RESULT(size_t, p.result, F, s, 4, p.status, BEYOND_(T))
#define RUN_wait_until_some(T, F) RESULT(size_t, p.result, F, s, 4, p.indices, p.status, BEYOND_(T))
#define RUN_wait_until_all_vector(T, F) DO(F, s, 4, p.status, ISHMEM_CMP_EQ, (const T *)p.values)
#define RUN_wait_until_any_vector(T, F) RESULT(size_t, p.result, F, s, 4, p.status, ISHMEM_CMP_EQ, (const T *)p.values + 4)
#define RUN_wait_until_some_vector(T, F) RESULT(size_t, p.result, F, s, 4, p.indices, p.status, ISHMEM_CMP_EQ, (const T *)p.values + 4)
#define RUN_test_all(T, F) RESULT(int, p.result, F, s, 4, p.status, ISHMEM_CMP_NE, s[1])
#define RUN_test_any RUN_wait_until_any
#define RUN_test_some(T, F) RESULT(size_t, p.result, F, s, 4, p.indices, nullptr, BEYOND_(T))
#define RUN_test_all_vector(T, F) RESULT(int, p.result, F, s, 4, p.status, ISHMEM_CMP_EQ, (const T *)p.values)
#define RUN_test_any_vector RUN_wait_until_any_vector
#define RUN_test_some_vector RUN_wait_until_some_vector

/* Over all PEs and over a team. */
#define RUN_broadcast(T, F) RESULT(int, p.result, F, d, s, 3, p.n - 1); RESULT(int, p.result + 1, F, p.team, d + 16, s, 3, 0)
#define BOTH_(F, N) RESULT(int, p.result, F, d, s, N); RESULT(int, p.result + 1, F, p.team, d + 16, s, N)
#define RUN_collect(T, F) BOTH_(F, p.me % 2 + 1)
#define RUN_fcollect(T, F) BOTH_(F, 2)
#define RUN_alltoall RUN_fcollect
#define RUN_and_reduce(T, F) BOTH_(F, 3)
#define RUN_or_reduce RUN_and_reduce
#define RUN_xor_reduce RUN_and_reduce
#define RUN_max_reduce RUN_and_reduce
#define RUN_min_reduce RUN_and_reduce
#define RUN_sum_reduce RUN_and_reduce
#define RUN_prod_reduce RUN_and_reduce
#define RUN_sum_inscan RUN_and_reduce
#define RUN_sum_exscan RUN_and_reduce

#define CALL_(ROW, KIND, T, RUN, F)                                                                                   \
    {                                                                                                                 \
        place p = j.at(ROW, KIND);                                                                                    \
        [[maybe_unused]] T *d = (T *)p.data, *s = (T *)p.source;                                                      \
        RUN(T, F);                                                                                                    \
    }
#define CALL_TYPED(R, NAME, N, T, PARAMS) CALL_(ROW_##N, K##NAME, T, RUN##NAME, CAT(PRE, _##N##NAME))
#define CALL_BLOCK(R, NAME, N, T, PARAMS) CALL_(ROW_##N, K##NAME, T, RUN##NAME, CAT(ishmemx, _##N##NAME))
#define CALL_ANY(R, NAME, N, T, PARAMS) CALL_(ROW_##N + ROWS, K##NAME, T, RUN##NAME, CAT(PRE, NAME))
#define CALL_ANY_BLOCK(R, NAME, N, T, PARAMS) CALL_(ROW_##N + ROWS, K##NAME, T, RUN##NAME, CAT(ishmemx, NAME))
#define CALL_SIZED(R, NAME, KEY, B, PARAMS) CALL_(ROW_sized, K_##NAME, sized_##B, RUN##KEY, CAT(PRE, _##NAME))
#define CALL_SIZED_BLOCK(R, NAME, KEY, B, PARAMS) CALL_(ROW_sized, K_##NAME, sized_##B, RUN##KEY, CAT(ishmemx, _##NAME))
#define CALL_BYTES(R, NAME, N, T, PARAMS) CALL_(ROW_sized, K##NAME, sized_1, RUN##NAME, CAT(PRE, NAME##mem))

#if ITEM
#define CALL_ITEM_ ATOMICS_
#else
#define CALL_ITEM_(...)
#endif
#define CALL_FUNCTION_(NAME, ...)                                                                                     \
    KEPT static void CAT(FORM, NAME)(const job &j PARAMETERS)                                                         \
    {                                                                                                                 \
        __VA_ARGS__                                                                                                   \
    }
#define CALL_ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                     \
    SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(                                                                        \
    CALL_FUNCTION_(_##N, PUTS_(CALL_TYPED, CALL_BLOCK, N, T) WAITS_(CALL_TYPED, N, T, AMO)                            \
                   CALL_ITEM_(CALL_TYPED, N, T, AMO, EXT, BIT))))
SHMEM_TYPES(CALL_ROW, )
#define CALL_ANY_ROW(N, T, AMO, EXT, BIT, AND)                                                                        \
    CALL_FUNCTION_(_any_##N, PUTS_(CALL_ANY, CALL_ANY_BLOCK, N, T) WAITS_(CALL_ANY, N, T, AMO)                        \
                   CALL_ITEM_(CALL_ANY, N, T, AMO, EXT, BIT))
ANY_TYPES(CALL_ANY_ROW)
CALL_FUNCTION_(_sized, SHMEM_API_SIZED_PUTGET(CALL_SIZED) SHMEM_API_SIZED_BLOCK(CALL_SIZED_BLOCK))
CALL_FUNCTION_(_bytes, SHMEM_API_BROADCAST(, CALL_BYTES, , ) SHMEM_API_GATHER(, CALL_BYTES, , ))

/* Collectives. */
#define CALL_COLL_(M, ANY, N, T, AND)                                                                                 \
    CALL_FUNCTION_(ANY##_moves_##N, SHMEM_API_BROADCAST(M, M, N, T) SHMEM_API_GATHER(M, M, N, T))                     \
    CALL_FUNCTION_(ANY##_reduces_##N, SHMEM_API_MAX(M, M, N, T) SHMEM_API_SUM(M, M, N, T))                            \
    SHMEM_IF_##AND(CALL_FUNCTION_(ANY##_bits_##N, SHMEM_API_AND(M, M, N, T)))
#define EVERY_COLL_(ANY, N, AND)                                                                                      \
    EACH(CAT(FORM, ANY##_moves_##N)) EACH(CAT(FORM, ANY##_reduces_##N)) SHMEM_IF_##AND(EACH(CAT(FORM, ANY##_bits_##N)))
#define CALL_COLL_ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                \
    SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(CALL_COLL_(CALL_TYPED, , N, T, AND)))
SHMEM_TYPES(CALL_COLL_ROW, )
#define CALL_COLL_ANY_ROW(N, T, AMO, EXT, BIT, AND) CALL_COLL_(CALL_ANY, _any, N, T, AND)
ANY_TYPES(CALL_COLL_ANY_ROW)
CALL_FUNCTION_(_bits_schar, SHMEM_API_AND(, CALL_TYPED, schar, signed char))

/* The routines without a type. */
#define CALL_U_(NAME, RUN, ...)                                                                                       \
    {                                                                                                                 \
        place p = j.at(ROW_untyped, U_##NAME);                                                                        \
        RUN(__VA_ARGS__);                                                                                             \
    }
KEPT static void CAT(FORM, _untyped)(const job &j PARAMETERS)
{
#if ITEM
    CALL_U_(my_pe, RESULT0, int, p.result, ishmem_my_pe)
    CALL_U_(n_pes, RESULT0, int, p.result, ishmem_n_pes)
    CALL_U_(ptr, RESULT, void *, p.result, ishmem_ptr, p.data, p.me)
    CALL_U_(info_get_version, DO, ishmem_info_get_version, (int *)p.result, (int *)p.result + 1)
    CALL_U_(info_get_name, DO, ishmem_info_get_name, (char *)p.result)
    CALL_U_(team_my_pe, RESULT, int, p.result, ishmem_team_my_pe, p.team)
    CALL_U_(team_n_pes, RESULT, int, p.result, ishmem_team_n_pes, p.team)
    CALL_U_(team_translate_pe, RESULT, int, p.result, ishmem_team_translate_pe, p.team, 0, ISHMEM_TEAM_WORLD)
    CALL_U_(team_get_config, RESULT, int, p.result, ishmem_team_get_config, ISHMEM_TEAM_WORLD, 0, nullptr)
    CALL_U_(signal_fetch, RESULT, uint64_t, p.result, ishmem_signal_fetch, p.signal)
    CALL_U_(signal_add, DO, ishmemx_signal_add, p.signal, 4, p.to)
    CALL_U_(signal_set, DO, ishmemx_signal_set, p.signal, 4, p.to)
    CALL_U_(print, DO, ishmemx_print, "printed by " CAT_TEXT(FORM) "\n")
#endif
#if FENCE
    CALL_U_(fence, DO0, CAT(PRE, _fence))
#endif
    CALL_U_(signal_wait_until, RESULT, uint64_t, p.result, CAT(PRE, _signal_wait_until), p.signal, ISHMEM_CMP_NE, 0)
    CALL_U_(quiet, DO0, CAT(PRE, _quiet))
    CALL_U_(sync_all, DO0, CAT(PRE, _sync_all))
    CALL_U_(barrier_all, DO0, CAT(PRE, _barrier_all))
    CALL_U_(team_sync, RESULT, int, p.result, CAT(PRE, _team_sync), p.team)
}

#define EACH(F) F(j ARGUMENTS);
static void CAT(FORM, _all)(const job &j PARAMETERS)
{
#define EVERY_ROW(F, N, T, RMA, ...) SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(EACH(CAT(FORM, _##N))))
    SHMEM_TYPES(EVERY_ROW, )
#define EVERY_ANY(N, ...) EACH(CAT(FORM, _any_##N))
    ANY_TYPES(EVERY_ANY)
    EACH(CAT(FORM, _sized))
    EACH(CAT(FORM, _bytes))
#define EVERY_COLL_ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, ...) SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(EVERY_COLL_(, N, AND)))
    SHMEM_TYPES(EVERY_COLL_ROW, )
#define EVERY_COLL_ANY(N, T, AMO, EXT, BIT, AND) EVERY_COLL_(_any, N, AND)
    ANY_TYPES(EVERY_COLL_ANY)
    EACH(CAT(FORM, _bits_schar))
    EACH(CAT(FORM, _untyped))
}
#undef FORM
#undef PRE
#undef PARAMETERS
#undef ARGUMENTS
#undef ITEM
#undef FENCE
#undef CALL_ITEM_
#undef DO
#undef DO0
#undef RESULT
#undef RESULT0
#undef EACH

/* sycl_want.h - what each call of sycl_calls.h leaves in its place, computed without the library; sycl_api.cpp includes it. */

/* The places' contents, and what the call depends on. */
struct image {
    alignas(16) char data[PLACE], result[RESULT_BYTES];
    int me, n, team_first, team_n; /* members of the team: team_first, team_first + 2, ... */
    int row;

    const char *source(int pe) const { return sources[pe].data() + row * PLACE; }
    int before() const { return (me + n - 1) % n; }
    int next() const { return (me + 1) % n; }
    template <typename T>
    void result_is(T v, int i = 0)
    {
        memcpy(result + 8 * i, &v, sizeof v);
    }
    /* An update of the word at this PE, and what its call at this PE has fetched. */
    template <typename T>
    void word_is(T v)
    {
        memcpy(data, &v, sizeof v);
    }
};

template <typename T>
T element(const image &w, int pe, int i)
{
    return ((const T *)w.source(pe))[i];
}

/* Blocks of `block` elements, `dst` and `sst` elements apart. */
static void moved(image &w, int pe, size_t bytes, int blocks, int block, int dst, int sst)
{
    for (int b = 0; b < blocks; b++)
        memcpy(w.data + b * dst * bytes, w.source(pe) + b * sst * bytes, block * bytes);
}

/* dest gets the elements of the i-th of `members` PEs from `first`, which are `step` apart. */
template <typename T>
void collected(image &w, int kind, int at, int first, int step, int members)
{
    T *d = (T *)w.data + at;
    int me = (w.me - first) / step;
    for (int i = 0; i < members; i++) {
        int pe = first + i * step;
        if (kind == K_collect)
            for (int k = 0; k < pe % 2 + 1; k++)
                *d++ = element<T>(w, pe, k);
        else
            for (int k = 0; k < 2; k++)
                *d++ = element<T>(w, pe, kind == K_fcollect ? k : 2 * me + k);
    }
}

template <typename T>
T folded(int kind, T a, T b)
{
    if constexpr (std::is_integral<T>::value) {
        switch (kind) {
        case K_and_reduce: return (T)(a & b);
        case K_or_reduce: return (T)(a | b);
        case K_xor_reduce: return (T)(a ^ b);
        case K_prod_reduce: return (T)((unsigned long long)a * (unsigned long long)b);
        case K_max_reduce: return a < b ? b : a;
        case K_min_reduce: return a < b ? a : b;
        default: return (T)((unsigned long long)a + (unsigned long long)b);
        }
    } else {
        return kind == K_prod_reduce ? a * b : kind == K_max_reduce ? (a < b ? b : a) : kind == K_min_reduce ? (a < b ? a : b) : a + b;
    }
}

template <typename T>
void reduced(image &w, int kind, int at, int first, int step, int members)
{
    int me = (w.me - first) / step, end = kind == K_sum_inscan ? me + 1 : kind == K_sum_exscan ? me : members;
    for (int k = 0; k < 3; k++) {
        T sum = end ? element<T>(w, first, k) : (T)0;
        for (int i = 1; i < end; i++)
            sum = folded<T>(kind, sum, element<T>(w, first + i * step, k));
        ((T *)w.data)[at + k] = sum;
    }
}

template <typename T>
void want_atomic(image &w, int kind)
{
    T old;
    memcpy(&old, w.data, sizeof old);
    bool fetches = true, later = false;
    T next = old;
    if constexpr (std::is_integral<T>::value) {
        switch (kind) {
        case K_atomic_inc: fetches = false; next = old + 1; break;
        case K_atomic_add: fetches = false; next = old + 5; break;
        case K_atomic_fetch_inc: next = old + 1; break;
        case K_atomic_fetch_add: next = old + 5; break;
        case K_atomic_compare_swap: next = (T)6; break;
        case K_atomic_fetch_inc_nbi: later = true; next = old + 1; break;
        case K_atomic_fetch_add_nbi: later = true; next = old + 5; break;
        case K_atomic_compare_swap_nbi: later = true; next = (T)6; break;
        case K_atomic_and: fetches = false; next = old & (T)BITS; break;
        case K_atomic_or: fetches = false; next = old | (T)BITS; break;
        case K_atomic_xor: fetches = false; next = old ^ (T)BITS; break;
        case K_atomic_fetch_and: next = old & (T)BITS; break;
        case K_atomic_fetch_or: next = old | (T)BITS; break;
        case K_atomic_fetch_xor: next = old ^ (T)BITS; break;
        case K_atomic_fetch_and_nbi: later = true; next = old & (T)BITS; break;
        case K_atomic_fetch_or_nbi: later = true; next = old | (T)BITS; break;
        case K_atomic_fetch_xor_nbi: later = true; next = old ^ (T)BITS; break;
        }
    }
    switch (kind) {
    case K_atomic_set: fetches = false; next = (T)8; break;
    case K_atomic_swap: next = (T)8; break;
    case K_atomic_fetch_nbi: later = true; break;
    case K_atomic_swap_nbi: later = true; next = (T)8; break;
    }
    w.word_is(next);
    if (later)
        memcpy(w.data + 2 * sizeof old, &old, sizeof old);
    else if (fetches)
        w.result_is(old);
}

/* Beside the kind of a routine, only T and its bytes matter. */
template <typename T>
void want(image &w, int kind)
{
    const size_t bytes = sizeof(T);
    uint64_t signal = 77;
    switch (kind) {
    case K_put_signal: signal += UNTOUCHED; [[fallthrough]];
    case K_put_signal_nbi: memcpy(w.data + SIGNAL, &signal, 8); [[fallthrough]];
    case K_put:
    case K_put_nbi: return moved(w, w.before(), bytes, 1, 5, 0, 0);
    case K_get:
    case K_get_nbi: return moved(w, w.next(), bytes, 1, 5, 0, 0);
    case K_iput: return moved(w, w.before(), bytes, 3, 1, 2, 3);
    case K_iget: return moved(w, w.next(), bytes, 3, 1, 2, 3);
    case K_ibput: return moved(w, w.before(), bytes, 2, 2, 3, 4);
    case K_ibget: return moved(w, w.next(), bytes, 2, 2, 3, 4);
    }
    if constexpr (std::is_arithmetic<T>::value) {
        switch (kind) {
        case K_p: return w.word_is((T)9);
        case K_g: return w.result_is(element<T>(w, w.next(), 3));
        case K_broadcast:
            memcpy(w.data, w.source(w.n - 1), 3 * bytes);
            memcpy(w.data + 16 * bytes, w.source(w.team_first), 3 * bytes);
            break;
        case K_collect:
        case K_fcollect:
        case K_alltoall:
            collected<T>(w, kind, 0, 0, 1, w.n);
            collected<T>(w, kind, 16, w.team_first, 2, w.team_n);
            break;
        case K_and_reduce: case K_or_reduce: case K_xor_reduce: case K_max_reduce: case K_min_reduce: case K_sum_reduce:
        case K_prod_reduce: case K_sum_inscan: case K_sum_exscan:
            reduced<T>(w, kind, 0, 0, 1, w.n);
            reduced<T>(w, kind, 16, w.team_first, 2, w.team_n);
            break;
        case K_wait_until: case K_wait_until_all: case K_wait_until_all_vector: return;
        case K_test: return w.result_is((int)(element<T>(w, w.me, 1) <= (T)2));
        case K_test_all:
        case K_test_all_vector: return w.result_is(1);
        case K_wait_until_any: case K_wait_until_any_vector: case K_test_any: case K_test_any_vector: return w.result_is((size_t)3);
        case K_wait_until_some: case K_wait_until_some_vector: case K_test_some_vector:
            w.result_is((size_t)3, 2);
            return w.result_is((size_t)1);
        case K_test_some:
            w.result_is((size_t)1, 2);
            w.result_is((size_t)3, 3);
            return w.result_is((size_t)2);
        default: return want_atomic<T>(w, kind);
        }
        w.result_is(0); /* of a collective, over all and over the team */
        w.result_is(0, 1);
    }
}

static void want_untyped(image &w, int kind)
{
    uint64_t signal = UNTOUCHED;
    switch (kind) {
    case U_my_pe: return w.result_is(w.me);
    case U_n_pes: return w.result_is(w.n);
    case U_ptr: return w.result_is(nullptr); /* or the address, see check */
    case U_info_get_version:
        memcpy(w.result, (const int[]){ISHMEM_MAJOR_VERSION, ISHMEM_MINOR_VERSION}, 8);
        return;
    case U_info_get_name: strcpy(w.result, ISHMEM_VENDOR_STRING); return;
    case U_team_my_pe: return w.result_is((w.me - w.team_first) / 2);
    case U_team_n_pes: return w.result_is(w.team_n);
    case U_team_translate_pe: return w.result_is(w.team_first);
    case U_team_get_config:
    case U_team_sync: return w.result_is(0);
    case U_signal_fetch:
    case U_signal_wait_until: return w.result_is(UNTOUCHED);
    case U_signal_add: signal += 4; memcpy(w.data + SIGNAL, &signal, 8); return;
    case U_signal_set: signal = 4; memcpy(w.data + SIGNAL, &signal, 8); return;
    }
}

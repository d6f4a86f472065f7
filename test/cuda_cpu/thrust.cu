/*
 * thrust.cu - algorithms of Thrust, compared with the C++ library's on the host, for templates.sh.
 */
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

static int failed;
#define CHECK(x) ((x) ? (void)0 : (void)(failed++, fprintf(stderr, "thrust.cu:%d: %s\n", __LINE__, #x)))

template <class T> static bool same(const thrust::device_vector<T> &d, const std::vector<T> &h)
{
    std::vector<T> got(d.size());
    thrust::copy(d.begin(), d.end(), got.begin());
    return got == h;
}

struct square {
    __host__ __device__ long operator()(int x) const { return (long)x * x; }
};
struct larger {
    __host__ __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};
struct odd {
    __host__ __device__ bool operator()(int x) const { return x & 1; }
};

int main()
{
    std::mt19937 random(1);
    for (int n : {1, 100, 5000}) {
        std::vector<int> h(n), keys(n), h2(n);
        for (int i = 0; i < n; i++)
            h[i] = random() % 1000, keys[i] = i / 7 % 5, h2[i] = random() % 1000;
        const thrust::device_vector<int> d(h), k(keys), d2(h2);
        thrust::device_vector<int> v(n), w(n);
        std::vector<int> o(n), o2(n);

        CHECK(thrust::reduce(d.begin(), d.end()) == std::accumulate(h.begin(), h.end(), 0));
        CHECK(thrust::reduce(d.begin(), d.end(), 0, larger()) == *std::max_element(h.begin(), h.end()));
        CHECK(thrust::count_if(d.begin(), d.end(), odd()) == std::count_if(h.begin(), h.end(), odd()));
        CHECK(thrust::max_element(d.begin(), d.end()) - d.begin() == std::max_element(h.begin(), h.end()) - h.begin());
        CHECK(thrust::inner_product(d.begin(), d.end(), d2.begin(), 0L) == std::inner_product(h.begin(), h.end(), h2.begin(), 0L));

        thrust::inclusive_scan(d.begin(), d.end(), v.begin());
        std::partial_sum(h.begin(), h.end(), o.begin());
        CHECK(same(v, o));
        thrust::exclusive_scan(d.begin(), d.end(), v.begin(), 5);
        std::exclusive_scan(h.begin(), h.end(), o.begin(), 5);
        CHECK(same(v, o));
        thrust::inclusive_scan_by_key(k.begin(), k.end(), d.begin(), v.begin());
        for (int i = 0; i < n; i++)
            o[i] = h[i] + (i && keys[i] == keys[i - 1] ? o[i - 1] : 0);
        CHECK(same(v, o));

        thrust::device_vector<long> l(n);
        std::vector<long> ol(n);
        thrust::transform(d.begin(), d.end(), l.begin(), square());
        std::transform(h.begin(), h.end(), ol.begin(), square());
        CHECK(same(l, ol));

        auto e = thrust::reduce_by_key(k.begin(), k.end(), d.begin(), v.begin(), w.begin());
        std::vector<int> rk, rv;
        for (int i = 0; i < n; i++) {
            if (!i || keys[i] != keys[i - 1])
                rk.push_back(keys[i]), rv.push_back(0);
            rv.back() += h[i];
        }
        thrust::device_vector<int> v1(v.begin(), e.first), w1(w.begin(), e.second);
        CHECK(same(v1, rk));
        CHECK(same(w1, rv));

        v = d;
        thrust::sort(v.begin(), v.end());
        o = h;
        std::sort(o.begin(), o.end());
        CHECK(same(v, o));
        auto u = thrust::unique(v.begin(), v.end());
        o.erase(std::unique(o.begin(), o.end()), o.end());
        thrust::device_vector<int> vu(v.begin(), u);
        CHECK(same(vu, o));

        v = k;
        w = d;
        thrust::stable_sort_by_key(v.begin(), v.end(), w.begin());
        std::vector<int> at(n);
        std::iota(at.begin(), at.end(), 0);
        std::stable_sort(at.begin(), at.end(), [&](int a, int b) { return keys[a] < keys[b]; });
        o.resize(n);
        for (int i = 0; i < n; i++)
            o[i] = h[at[i]];
        CHECK(same(w, o));

        /* by a comparison of its own: a merge sort */
        thrust::device_vector<double> f(h.begin(), h.end());
        thrust::sort(f.begin(), f.end(), [] __device__(double a, double b) { return a > b; });
        std::vector<double> of(h.begin(), h.end());
        std::sort(of.begin(), of.end(), std::greater<double>());
        CHECK(same(f, of));

        auto end = thrust::copy_if(d.begin(), d.end(), v.begin(), odd());
        o.erase(std::copy_if(h.begin(), h.end(), o.begin(), odd()), o.end());
        thrust::device_vector<int> vc(v.begin(), end);
        CHECK(same(vc, o));
        v = d;
        thrust::stable_partition(v.begin(), v.end(), odd());
        o = h;
        std::stable_partition(o.begin(), o.end(), odd());
        CHECK(same(v, o));
        thrust::adjacent_difference(d.begin(), d.end(), v.begin());
        std::adjacent_difference(h.begin(), h.end(), o.begin());
        CHECK(same(v, o));

        thrust::device_vector<int> a(d), b(d2), m(2 * n);
        thrust::sort(a.begin(), a.end());
        thrust::sort(b.begin(), b.end());
        thrust::merge(a.begin(), a.end(), b.begin(), b.end(), m.begin());
        std::vector<int> ha(h), hb(h2), hm(2 * n);
        std::sort(ha.begin(), ha.end());
        std::sort(hb.begin(), hb.end());
        std::merge(ha.begin(), ha.end(), hb.begin(), hb.end(), hm.begin());
        CHECK(same(m, hm));
        auto su = thrust::set_union(a.begin(), a.end(), b.begin(), b.end(), m.begin());
        hm.erase(std::set_union(ha.begin(), ha.end(), hb.begin(), hb.end(), hm.begin()), hm.end());
        m.erase(su, m.end());
        CHECK(same(m, hm));
        thrust::lower_bound(a.begin(), a.end(), d2.begin(), d2.end(), v.begin());
        for (int i = 0; i < n; i++)
            o[i] = std::lower_bound(ha.begin(), ha.end(), h2[i]) - ha.begin();
        CHECK(same(v, o));
    }
    printf("%s\n", failed ? "FAILED" : "right");
    return failed != 0;
}

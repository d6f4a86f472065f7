/*
 * cub.cu - algorithms of CUB for devices, blocks and warps, compared with the C++ library's on the host, for templates.sh.
 */
#include <cub/cub.cuh>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

static int failed;
#define CHECK(x) ((x) ? (void)0 : (void)(failed++, fprintf(stderr, "cub.cu:%d: %s\n", __LINE__, #x)))
#define GOOD(call) CHECK((call) == cudaSuccess)

/* Call it for the size of its memory, then with it. */
template <class F> static void device(F call)
{
    void *p = nullptr;
    size_t bytes = 0;
    GOOD(call(p, bytes));
    GOOD(cudaMalloc(&p, bytes ? bytes : 1));
    GOOD(call(p, bytes));
    GOOD(cudaFree(p));
}

struct larger {
    __host__ __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

template <class T> struct array {
    T *p;
    size_t n;
    array(size_t n) : n(n) { GOOD(cudaMalloc(&p, n * sizeof(T))); GOOD(cudaMemset(p, 0x55, n * sizeof(T))); }
    array(const std::vector<T> &h) : array(h.size()) { GOOD(cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyDefault)); }
    ~array() { cudaFree(p); }
    std::vector<T> get(size_t m) { std::vector<T> h(m); GOOD(cudaMemcpy(h.data(), p, m * sizeof(T), cudaMemcpyDefault)); return h; }
    std::vector<T> get() { return get(n); }
};

enum { THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS };

/* Block-wide and warp-wide collectives, one after the other in one union of memory. */
__global__ void block(const int *in, int *sorted, int *scanned, int *sum, int *histogram, int *warp_sum, int *warp_scan, int *warp_sorted)
{
    using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<int, THREADS, ITEMS>;
    using Scan = cub::BlockScan<int, THREADS>;
    using Reduce = cub::BlockReduce<int, THREADS, cub::BLOCK_REDUCE_RAKING>;
    using Histogram = cub::BlockHistogram<int, THREADS, ITEMS, 16>;
    using WarpReduce = cub::WarpReduce<int>;
    using WarpScan = cub::WarpScan<int>;
    using WarpSort = cub::WarpMergeSort<int, 1>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Sort::TempStorage sort;
        typename Scan::TempStorage scan;
        typename Reduce::TempStorage reduce;
        typename Histogram::TempStorage histogram;
        typename WarpReduce::TempStorage warp_reduce[THREADS / 32];
        typename WarpScan::TempStorage warp_scan[THREADS / 32];
        typename WarpSort::TempStorage warp_sort[THREADS / 32];
    } temp;
    __shared__ int bins[16];
    int v[ITEMS], t = threadIdx.x, w = t / 32;
    in += blockIdx.x * TILE;
    Load(temp.load).Load(in, v);
    __syncthreads();
    int all = Reduce(temp.reduce).Sum(v);
    if (t == 0)
        sum[blockIdx.x] = all;
    __syncthreads();
    int low[ITEMS];
    for (int k = 0; k < ITEMS; k++)
        low[k] = v[k] & 15;
    Histogram(temp.histogram).Histogram(low, bins);
    __syncthreads();
    if (t < 16)
        histogram[blockIdx.x * 16 + t] = bins[t];
    int s[ITEMS];
    Scan(temp.scan).InclusiveSum(v, s);
    __syncthreads();
    Store(temp.store).Store(scanned + blockIdx.x * TILE, s);
    __syncthreads();
    int one = v[0], x[1] = {v[0]};
    int r = WarpReduce(temp.warp_reduce[w]).Reduce(one, larger(), 32);
    if (t % 32 == 0)
        warp_sum[blockIdx.x * THREADS / 32 + w] = r;
    __syncthreads();
    WarpScan(temp.warp_scan[w]).ExclusiveSum(one, r);
    warp_scan[blockIdx.x * THREADS + t] = r;
    __syncthreads();
    WarpSort(temp.warp_sort[w]).Sort(x, [](int a, int b) { return a < b; });
    warp_sorted[blockIdx.x * THREADS + t] = x[0];
    __syncthreads();
    Sort(temp.sort).Sort(v);
    __syncthreads();
    Store(temp.store).Store(sorted + blockIdx.x * TILE, v);
}

static void blocks()
{
    enum { BLOCKS = 3, N = BLOCKS * TILE };
    std::mt19937 random(2);
    std::vector<int> h(N);
    for (int &x : h)
        x = random() % 2000 - 1000;
    array<int> in(h), sorted(N), scanned(N), sum(BLOCKS), bins(16 * BLOCKS), wsum(BLOCKS * THREADS / 32), wscan(BLOCKS * THREADS), wsort(BLOCKS * THREADS);
    block<<<BLOCKS, THREADS>>>(in.p, sorted.p, scanned.p, sum.p, bins.p, wsum.p, wscan.p, wsort.p);
    GOOD(cudaDeviceSynchronize());
    std::vector<int> s1(N), s2(N), s3, s4(16 * BLOCKS), w1, w2, w3;
    for (int b = 0; b < BLOCKS; b++) {
        auto at = h.begin() + b * TILE;
        std::copy(at, at + TILE, s1.begin() + b * TILE);
        std::sort(s1.begin() + b * TILE, s1.begin() + (b + 1) * TILE);
        std::partial_sum(at, at + TILE, s2.begin() + b * TILE);
        s3.push_back(s2[(b + 1) * TILE - 1]);
        for (int i = 0; i < TILE; i++)
            s4[b * 16 + (at[i] & 15)]++;
        for (int w = 0; w < THREADS / 32; w++) {
            std::vector<int> x;
            int before = 0;
            for (int t = 0; t < 32; t++) {
                x.push_back(at[(w * 32 + t) * ITEMS]);
                w2.push_back(before);
                before += x.back();
            }
            w1.push_back(*std::max_element(x.begin(), x.end()));
            std::sort(x.begin(), x.end());
            w3.insert(w3.end(), x.begin(), x.end());
        }
    }
    CHECK(sorted.get() == s1);
    CHECK(scanned.get() == s2);
    CHECK(sum.get() == s3);
    CHECK(bins.get() == s4);
    CHECK(wsum.get() == w1);
    CHECK(wscan.get() == w2);
    CHECK(wsort.get() == w3);
}

int main()
{
    blocks();
    std::mt19937 random(1);
    for (int n : {1, 300, 20000}) {
        std::vector<int> h(n), at(n);
        std::vector<unsigned> keys(n);
        std::vector<float> f(n);
        for (int i = 0; i < n; i++)
            h[i] = random() % 1000, keys[i] = random(), f[i] = (int)random() / 4096.f;
        std::iota(at.begin(), at.end(), 0);
        array<int> d(h), out(n), out2(n + 3), count(1), index(at);
        array<unsigned> k(keys), k2(n);
        array<float> fd(f), fo(n);

        device([&](void *p, size_t &b) { return cub::DeviceReduce::Sum(p, b, d.p, out.p, n); });
        CHECK(out.get(1)[0] == std::accumulate(h.begin(), h.end(), 0));
        device([&](void *p, size_t &b) { return cub::DeviceReduce::Min(p, b, fd.p, fo.p, n); });
        CHECK(fo.get(1)[0] == *std::min_element(f.begin(), f.end()));
        device([&](void *p, size_t &b) { return cub::DeviceScan::ExclusiveSum(p, b, d.p, out.p, n); });
        std::vector<int> o(n);
        std::exclusive_scan(h.begin(), h.end(), o.begin(), 0);
        CHECK(out.get() == o);

        device([&](void *p, size_t &b) { return cub::DeviceRadixSort::SortPairs(p, b, k.p, k2.p, index.p, out.p, n); });
        std::stable_sort(at.begin(), at.end(), [&](int a, int b) { return keys[a] < keys[b]; });
        CHECK(out.get() == at);
        device([&](void *p, size_t &b) { return cub::DeviceRadixSort::SortKeysDescending(p, b, fd.p, fo.p, n); });
        std::vector<float> of(f);
        std::sort(of.begin(), of.end(), std::greater<float>());
        CHECK(fo.get() == of);

        device([&](void *p, size_t &b) { return cub::DeviceSelect::If(p, b, d.p, out.p, count.p, n, [] __device__(int x) { return x % 3 == 0; }); });
        o.clear();
        for (int x : h)
            if (x % 3 == 0)
                o.push_back(x);
        CHECK(count.get()[0] == (int)o.size());
        CHECK(out.get(o.size()) == o);

        std::vector<int> runs(n);
        for (int i = 0; i < n; i++)
            runs[i] = i * i / 50 % 7;
        array<int> r(runs);
        device([&](void *p, size_t &b) { return cub::DeviceRunLengthEncode::Encode(p, b, r.p, out.p, out2.p, count.p, n); });
        std::vector<int> ru, rc;
        for (int i = 0; i < n; i++) {
            if (!i || runs[i] != runs[i - 1])
                ru.push_back(runs[i]), rc.push_back(0);
            rc.back()++;
        }
        CHECK(count.get()[0] == (int)ru.size());
        CHECK(out.get(ru.size()) == ru);
        CHECK(out2.get(ru.size()) == rc);

        array<int> bins(8);
        device([&](void *p, size_t &b) { return cub::DeviceHistogram::HistogramEven(p, b, d.p, bins.p, 9, 0, 1000, n); });
        std::vector<int> ob(8);
        for (int x : h)
            ob[x / 125]++;
        CHECK(bins.get() == ob);

        /* three segments, the second one empty */
        std::vector<int> bounds = {0, n / 3, n / 3, n};
        array<int> seg(bounds);
        device([&](void *p, size_t &b) { return cub::DeviceSegmentedReduce::Sum(p, b, d.p, out2.p, 3, seg.p, seg.p + 1); });
        if (n >= 3)
            CHECK((out2.get(3) == std::vector<int>{std::accumulate(h.begin(), h.begin() + n / 3, 0), 0, std::accumulate(h.begin() + n / 3, h.end(), 0)}));
        device([&](void *p, size_t &b) { return cub::DeviceMergeSort::SortKeysCopy(p, b, d.p, out.p, n, [] __device__(int a, int b) { return a > b; }); });
        o = h;
        std::sort(o.begin(), o.end(), std::greater<int>());
        CHECK(out.get() == o);
    }
    printf("%s\n", failed ? "FAILED" : "right");
    return failed != 0;
}

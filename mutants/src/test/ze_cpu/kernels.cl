/* kernels.cl - one kernel for each feature; kernels.c has the expected results. */
#include "both.h"
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

__kernel void ints(__global const uint *in, __global ulong *out)
{
    size_t i = get_global_id(0);
    out[i] = both_ints(in[i], in[i + 1]);
}

__kernel void loops(__global const uint *in, __global ulong *out)
{
    size_t i = get_global_id(0);
    out[i] = both_loops(in[i], in[i + 1]);
}

__kernel void floats(__global const uint *in, __global double *out)
{
    size_t i = get_global_id(0);
    out[i] = both_floats(in[i], in[i + 1]);
}

__kernel void bits(__global const uint *in, __global uint *out)
{
    size_t i = get_global_id(0);
    int a = (int)in[i], b = (int)in[i + 1];
    uint x = in[i], y = in[i + 1];
    __global uint *o = out + i * 24;
    o[0] = popcount(x);
    o[1] = clz(x);
    o[2] = (uint)max(a, b);
    o[3] = min(x, y);
    o[4] = mul_hi(x, y);
    o[5] = (uint)mul_hi(a, b);
    o[6] = abs(a);
    o[7] = rotate(x, y & 63);
    o[8] = add_sat(x, y);
    o[9] = (uint)add_sat(a, b);
    o[10] = (uint)sub_sat(a, b);
    o[11] = hadd(x, y);
    o[12] = (uint)rhadd(a, b);
    o[13] = abs_diff(a, b);
    o[14] = (uint)clamp(a, -1000, 1000);
    o[15] = bitselect(x, y, 0xff00ffu);
    o[16] = (uint)mad_sat(a, b, 7);
    o[17] = upsample((ushort)x, (ushort)y);
    o[18] = (uint)convert_char_sat(a) & 0xff;
    o[19] = convert_ushort_sat(a);
    o[20] = (uint)convert_int_rte((float)a * 0.25f / 1048576.f);
    o[21] = (uint)(long)popcount((ulong)x << 32 | y);
    o[22] = ctz(x);
    o[23] = (uint)add_sat((char)a, (char)b) & 0xff;
}

typedef struct {
    int a;
    float b;
    long c;
    short d[3];
} args_t;

__kernel void vectors(__global const uint *in, __global uint4 *out, args_t s)
{
    size_t i = get_global_id(0);
    uint4 v = vload4(i, in), w = v.wzyx + (uint4)(1, 2, 3, 4);
    int4 c = convert_int4(v) > convert_int4(w);
    uint4 r = select(v, w, as_uint4(c));
    uint3 q = v.xyz * 3u;
    r.yzw ^= q;
    r.s2 += (uint)s.a;
    r.x ^= (uint)s.c + (uint)s.d[i % 3];
    s.a = 9; /* an argument by value is the item's own */
    uchar4 u = convert_uchar4(v & 0xff);
    ushort4 z = convert_ushort4(u) * (ushort)300;
    r += convert_uint4(z);
    uint8 e = (uint8)(r, v);
    r ^= e.odd;
    if (any(c))
        r.y++;
    if (all(c))
        r.z--;
    uint k = in[i] & 3;
    uint arr[4] = {r.x, r.y, r.z, r.w};
    r.x += arr[k];
    ((uint *)&r)[k] ^= 0x55;
    r = shuffle(r, (uint4)(2, 0, 3, 1));
    r[k] += 5;
    vstore4(r, i, (__global uint *)out);
}

/* One result for each function; kernels.c has the same list. */
__kernel void math(__global const float *in, __global double *out)
{
    size_t i = get_global_id(0);
    float x = in[i], y = in[i + 1];
    double d = x, e = y;
    int n;
    __global double *o = out + i * 40;
    o[0] = sqrt(x), o[1] = sin(x), o[2] = cos(d), o[3] = exp(x), o[4] = log(x), o[5] = pow(x, y);
    o[6] = fma(x, y, 1.5f);
    o[7] = floor(y), o[8] = ceil(x), o[9] = fmax(x, y), o[10] = fmin(d, e), o[11] = trunc(x), o[12] = round(y);
    o[13] = rint(x), o[14] = fabs(y), o[15] = tan(x), o[16] = atan2(x, y), o[17] = hypot(x, y), o[18] = exp2(y);
    o[19] = log2(x), o[20] = log10(d), o[21] = rsqrt(x), o[22] = copysign(x, y), o[23] = fmod(x, y), o[24] = cbrt(d);
    o[25] = sinh(y), o[26] = erf(x), o[27] = ldexp(x, 3), o[28] = pown(x, 3), o[29] = frexp(x, &n), o[30] = n;
    float ip;
    o[31] = modf(y, &ip), o[32] = ip, o[33] = mix(x, y, 0.25f), o[34] = clamp(x, 0.1f, 0.6f), o[35] = native_sin(x);
    o[36] = dot((float4)(x, y, 1, 2), (float4)(y, x, 3, 4)), o[37] = length((double2)(d, e));
    o[38] = cross((float3)(x, y, 1), (float3)(2, 3, 4)).z, o[39] = ilogb(x) + smoothstep(0.f, 2.f, x) + sign(y);
}

__kernel void locals(__global const uint *in, __global uint *out, __local uint *dyn)
{
    __local uint stat[64];
    __local uint count;
    size_t l = get_local_id(0), n = get_local_size(0);
    if (l == 0)
        count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    stat[l] = in[get_global_id(0)];
    dyn[n - 1 - l] = stat[l] * 3;
    atomic_add(&count, stat[l] & 3);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint s = 0;
    for (size_t k = 0; k < n; k++) {
        s += stat[(k + l) % n] * (uint)(k + 1) + dyn[k];
        if (k == n / 2)
            barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[get_global_id(0)] = s + count;
}

__kernel void atoms(__global uint *c, __global ulong *d, uint n)
{
    uint g = (uint)get_global_id(0);
    for (uint i = 0; i < n; i++) {
        atomic_inc(&c[0]);
        atomic_add(&c[1], g);
        atomic_max(&c[2], g * 7 + i);
        atomic_min(&c[3], g + 3);
        atomic_or(&c[4], 1u << (g & 31));
        atomic_xor(&c[5], g + i);
        atomic_dec(&c[7]);
        atomic_and(&c[8], ~(1u << (g & 15)));
        atomic_sub(&c[9], 2);
        atomic_max((__global int *)&c[10], (int)g - 1000);
        atomic_min((__global int *)&c[11], (int)g - 1000);
        uint o;
        do {
            o = atomic_or(&c[6], 0);
        } while (atomic_cmpxchg(&c[6], o, o + 3) != o);
        atom_add(&d[0], (ulong)g << 33);
        atom_max(&d[1], ((ulong)g << 40) + i);
        atom_xchg(&d[2], (ulong)g << 32 | g);
        atom_min((__global long *)&d[3], -(long)g);
        ulong expect = atom_or(&d[4], 0);
        while (!atomic_compare_exchange_strong_explicit((volatile __global atomic_ulong *)&d[4], &expect, expect + 5,
                                                        memory_order_acq_rel, memory_order_relaxed,
                                                        memory_scope_device))
            ;
        atomic_fetch_or_explicit((volatile __global atomic_ulong *)&d[5], 1ul << (g & 63), memory_order_relaxed,
                                 memory_scope_all_svm_devices);
    }
}

/* A lock of an atomic_flag, taken by work-items of all groups. */
__kernel void flag(volatile __global atomic_flag *f, volatile __global uint *count)
{
    for (int i = 0; i < 10; i++) {
        while (atomic_flag_test_and_set_explicit(f, memory_order_acquire, memory_scope_device))
            ;
        *count = *count + 1;
        atomic_flag_clear_explicit(f, memory_order_release, memory_scope_device);
    }
}

__kernel void sub_group(__global uint *out)
{
    uint l = get_sub_group_local_id(), g = (uint)get_global_id(0);
    __global uint *o = out + g * 16;
    o[0] = sub_group_reduce_add(g);
    o[1] = sub_group_broadcast(g, 3);
    o[2] = sub_group_reduce_max(l);
    o[3] = (uint)sub_group_scan_exclusive_add((int)l);
    o[4] = sub_group_any(l == 5);
    o[5] = sub_group_all(l < 5);
    o[6] = get_sub_group_id();
    o[7] = get_sub_group_size();
    o[8] = sub_group_ballot(l & 1).x;
    o[9] = sub_group_shuffle(g, l ^ 5);
    o[10] = sub_group_shuffle_xor(g, 3);
    o[11] = sub_group_shuffle_up(g, 2);
    o[12] = (uint)(10 * sub_group_scan_inclusive_min((float)(100 - (int)l)));
    o[13] = get_num_sub_groups();
    sub_group_barrier(CLK_GLOBAL_MEM_FENCE);
    if (l & 1) /* not all items take part */
        o[14] = sub_group_ballot(1).x + sub_group_ballot_bit_count(sub_group_ballot(l > 6));
    else
        o[14] = l;
    o[15] = sub_group_shuffle_down((uint)l, 1);
}

__kernel void work_group(__global long *out)
{
    uint l = (uint)get_local_id(0), g = (uint)get_global_id(0);
    __global long *o = out + g * 8;
    o[0] = work_group_reduce_add((int)g);
    o[1] = (long)work_group_scan_inclusive_add((ulong)l);
    o[2] = work_group_broadcast(g, 7);
    o[3] = work_group_all(l < 31);
    o[4] = work_group_any(l == 31);
    o[5] = (long)work_group_reduce_max((double)l);
    o[6] = work_group_scan_exclusive_min((int)l);
    o[7] = 0;
}

__constant uint table[5] = {1, 2, 3, 4, 5};
__constant uint *__constant second = &table[1];
__global uint counter = 5;
__global ulong zeros[3];

uint by_pointer(const uint *p)
{
    return *p;
}

__kernel void spaces(__global uint *out)
{
    __local uint loc[64];
    uint own = 7, i = (uint)get_local_id(0);
    loc[i] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint *p = &own;
    if (!(i & 1))
        p = &loc[63 - i];
    out[get_global_id(0)] = by_pointer(p) + by_pointer(&counter) + table[i & 3] + second[i & 1] +
                            (to_local(p) != 0) * 100 + (to_global(&counter) != 0) * 1000 + (uint)zeros[1];
}

struct node {
    __global struct node *next;
    int value;
};

__kernel void chase(__global struct node *n, __global int *out)
{
    int sum = 0;
    for (; n; n = n->next)
        sum += n->value;
    *out = sum;
}

__kernel void ids(__global uint *out)
{
    size_t x = get_global_id(0) - get_global_offset(0), y = get_global_id(1) - get_global_offset(1);
    size_t z = get_global_id(2);
    size_t at = (z * get_global_size(1) + y) * get_global_size(0) + x;
    uint sum = 0;
    for (uint d = 0; d < 3; d++) /* the dimension is not a constant */
        sum = sum * 10 + (uint)(get_group_id(d) * get_local_size(d) + get_local_id(d));
    sum += 1000 * (uint)get_num_groups(0) + 100000 * (uint)get_global_offset(1);
    out[at] = sum + (uint)get_work_dim() * 1000000 + (get_global_linear_id() == at) * 10000000;
}

__kernel void half_in(__global const half *in, __global float *out)
{
    size_t i = get_global_id(0);
    out[i] = vload_half(i, in);
}

__kernel void half_out(__global const float *in, __global half *out)
{
    size_t i = get_global_id(0);
    vstore_half(in[i], i, out);
}

__kernel void copies(__global const uint *in, __global uint *out)
{
    __local uint here[32];
    event_t e = async_work_group_copy(here, in + get_group_id(0) * 32, 32, 0);
    wait_group_events(1, &e);
    out[get_global_id(0)] = here[31 - get_local_id(0)];
}

__kernel void print(int i)
{
    printf("%d|%5u|%-4x|%s|%.2f|%v4d|%c|%%|%ld\n", -i, (uint)i, 255u, "text", 1.5, (int4)(1, 2, 3, i), 'z', -5l);
}

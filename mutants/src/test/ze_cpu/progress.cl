/* progress.cl - work-items that wait for others or for the host, and a ring to which all work-items post. */
#define LOAD(p)                                                                                                       \
    atomic_load_explicit((volatile __global atomic_uint *)(p), memory_order_acquire, memory_scope_all_svm_devices)
#define STORE(p, v)                                                                                                   \
    atomic_store_explicit((volatile __global atomic_uint *)(p), v, memory_order_release, memory_scope_all_svm_devices)

/* Each work-item waits for the next one; the last one ends first. */
__kernel void peer(__global uint *flags)
{
    uint g = (uint)get_global_id(0), n = (uint)get_global_size(0);
    if (g + 1 < n)
        while (!LOAD(&flags[g + 1]))
            ;
    STORE(&flags[g], g + 1);
}

__kernel void peer_volatile(volatile __global uint *flags)
{
    uint g = (uint)get_global_id(0), n = (uint)get_global_size(0);
    if (g + 1 < n)
        while (flags[g + 1] == 0)
            ;
    flags[g] = g + 1;
}

__kernel void until_one(__global uint *flags)
{
    while (LOAD(&flags[1]) != 1)
        ;
}

/* A loop that computes, too, and polls two words. */
__kernel void peer_busy(volatile __global uint *flags)
{
    uint g = (uint)get_global_id(0), n = (uint)get_global_size(0), x = g;
    while (g + 1 < n && (flags[g + 1] == 0 || flags[n - 1] == 0))
        x = x * 1664525 + 1013904223;
    flags[g] = x | 1;
}

/* Counts how often the first work-item polls two words before the second one runs. */
__kernel void two_words(__global uint *flags, __global uint *loads)
{
    uint n = 0;
    if (get_local_id(0) != 0)
        STORE(&flags[1], 1);
    else
        while (!LOAD(&flags[0]) && !LOAD(&flags[1]))
            n++;
    if (get_local_id(0) == 0)
        *loads = n;
}

/* The first work-item of each group waits for the host, the others for its part in uniform operations. */
__kernel void uniform_ops(__global uint *flag, __global uint *seen)
{
    uint first = get_local_id(0) == 0, v = 0;
    while (first && LOAD(flag) < 1)
        ;
    v = work_group_broadcast(first * 7, 0);
    while (first && LOAD(flag) < 2)
        ;
    v += sub_group_broadcast(first * 90, 0);
    while (first && LOAD(flag) < 3)
        ;
    sub_group_barrier(CLK_GLOBAL_MEM_FENCE, memory_scope_all_svm_devices);
    seen[get_global_id(0)] = v + LOAD(flag) * 1000;
}

/* The first group waits for the last one. */
__kernel void last(__global uint *flag, __global uint *done)
{
    if (get_group_id(0) == 0)
        while (!LOAD(flag))
            ;
    if (get_group_id(0) == get_num_groups(0) - 1 && get_local_id(0) == 0)
        STORE(flag, 1);
    atomic_inc(done);
}

/* Half of a group waits at a barrier, the other half for a work-item of another group. */
__kernel void half_group(__global uint *flag, __global uint *done)
{
    if (get_group_id(0) == 0 && get_local_id(0) & 1)
        while (!LOAD(flag))
            ;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_group_id(0) == 1)
        STORE(flag, 1);
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    atomic_inc(done);
}

/* Replies to the host n times. */
__kernel void answer(__global uint *question, __global uint *reply, uint n)
{
    for (uint i = 1; i <= n; i++) {
        while (LOAD(question) != i)
            ;
        STORE(reply, i);
    }
}

__kernel void spin(__global uint *flag, __global uint *done)
{
    while (!LOAD(flag))
        ;
    atomic_inc(done);
}

__kernel void inc(__global uint *p)
{
    p[get_global_id(0)]++;
}

__kernel void saxpy(__global float *y, __global const float *x, float a, int times)
{
    size_t i = get_global_id(0);
    float v = y[i];
    for (int k = 0; k < times; k++)
        v = a * x[i] + v;
    y[i] = v;
}

/* Commands of 64 bytes in a ring of host memory; the last word publishes a slot. */
typedef struct {
    ulong op, dst, val, len, addr, sig;
    uint pe, item;
    ulong turn;
} command_t;
typedef struct {
    __global ulong *head;
    __global command_t *slot;
    __global ulong *done;
    ulong mask;
} ring_t;
#define ULONG(p) ((volatile __global atomic_ulong *)(p))
#define DONE(r, i)                                                                                                    \
    atomic_load_explicit(ULONG(&(r)->done[(i) * 8]), memory_order_acquire, memory_scope_all_svm_devices)

void post(__global ring_t *r, ulong dst, ulong val, uint item)
{
    ulong t = atomic_fetch_add_explicit(ULONG(r->head), 1ul, memory_order_relaxed, memory_scope_all_svm_devices);
    __global command_t *c = &r->slot[t & r->mask];
    while (atomic_load_explicit(ULONG(&c->turn), memory_order_acquire, memory_scope_all_svm_devices) != t)
        ;
    c->op = 1;
    c->dst = dst;
    c->val = val;
    c->len = 8;
    c->addr = 0;
    c->sig = t ^ 0x5555;
    c->pe = 1;
    c->item = item;
    atomic_store_explicit(ULONG(&c->turn), t + 1, memory_order_release, memory_scope_all_svm_devices);
}

/* each: wait for the host after every command, not only after the last. */
__kernel void ring(__global ring_t *r, uint n, __global ulong *to, uint each)
{
    uint me = (uint)get_global_id(0);
    for (uint i = 0; i < n; i++) {
        post(r, (ulong)(to + me), (ulong)i + 1, me);
        while (each && DONE(r, me) <= i)
            ;
    }
    while (DONE(r, me) < n)
        ;
}

/* fault.cl - kernels that access memory outside their own; fault.c has the expected reports. */
__kernel void store_at(__global uint *p, ulong off)
{
    if (get_global_id(0) == 5)
        *(__global uint *)((__global char *)p + off) = 1;
}

__kernel void load_at(__global uint *p, ulong off)
{
    if (get_global_id(0) == 5)
        p[0] = *(__global uint *)((__global char *)p + off);
}

__kernel void atomic_at(__global uint *p, ulong off)
{
    if (get_global_id(0) == 5)
        atomic_inc((__global uint *)((__global char *)p + off));
}

__global uint mine[4];

/* Valid accesses: private and local memory, program-scope variables, and USM through a pointer in memory. */
__kernel void lawful(__global uint *p, ulong unused)
{
    __local uint l[16];
    uint own[8];
    uint i = (uint)get_local_id(0);
    __global uint *inside = *(__global uint *__global *)p;
    own[i & 7] = i;
    l[i & 15] = own[i & 7] + (uint)unused;
    mine[i & 3] = l[i & 15];
    inside[i] = mine[i & 3] + 1;
}

/* What the C library's assert calls. */
void __assert_fail(__constant char *assertion, __constant char *file, unsigned line, __constant char *function);

__kernel void asserts(__global uint *p, ulong fails)
{
    if (get_global_id(0) == 5 && fails)
        __assert_fail("fails == 0", "fault.cl", 5, "asserts");
    if (get_global_id(0) == 5)
        p[0] = 7;
}

/* modules.cl - kernels of modules.c: built-in variables, specialization constants, imports. */
__kernel void where(__global ulong *out)
{
    size_t i = get_global_id(0);
    out[i] = i * 1000000 + get_local_id(0) * 10000 + get_group_id(0) * 100 + get_local_size(0) + get_sub_group_local_id();
}

uint __attribute__((overloadable)) __spirv_SpecConstant(int id, uint otherwise);
ulong __attribute__((overloadable)) __spirv_SpecConstant(int id, ulong otherwise);
float __attribute__((overloadable)) __spirv_SpecConstant(int id, float otherwise);
bool __attribute__((overloadable)) __spirv_SpecConstant(int id, bool otherwise);

__kernel void special(__global ulong *out)
{
    out[0] = __spirv_SpecConstant(7, 5u);
    out[1] = __spirv_SpecConstant(8, 1ul << 40);
    out[2] = (ulong)(__spirv_SpecConstant(9, 1.5f) * 4);
    out[3] = __spirv_SpecConstant(10, true) ? 100 : 200;
    for (uint i = 0; i < __spirv_SpecConstant(7, 5u); i++)
        out[4] += 10;
}

extern int outside(int);
extern __global int elsewhere;

__attribute__((noinline)) int between(int x)
{
    return outside(x) + 1;
}

__kernel void calls_outside(__global ulong *out)
{
    out[0] = between(3);
}

__kernel void reads_elsewhere(__global ulong *out)
{
    out[0] = elsewhere;
}

/*
 * nvshmem_table.h - the types of NVSHMEM's typed routines, and the routines of each kind: names, results and parameters.
 *
 * Lists of types: X(NAME, TYPE, ...). Lists of routines: R(result, name with an underscore before it, parameters), where T is the type.
 * G(S) in a list is a routine's form for each group of threads: S is empty, _warp or _block.
 */
#ifndef NVSHMEM_TABLE_H
#define NVSHMEM_TABLE_H

#define NVSHMEM_TYPES_BITWISE_AMO_(X, ...)                                                                            \
    X(uint, unsigned int, __VA_ARGS__) X(ulong, unsigned long, __VA_ARGS__) X(ulonglong, unsigned long long, __VA_ARGS__) \
    X(int32, int32_t, __VA_ARGS__) X(uint32, uint32_t, __VA_ARGS__) X(int64, int64_t, __VA_ARGS__)                    \
    X(uint64, uint64_t, __VA_ARGS__)
#define NVSHMEM_TYPES_STANDARD_AMO_(X, ...)                                                                           \
    NVSHMEM_TYPES_BITWISE_AMO_(X, __VA_ARGS__) X(int, int, __VA_ARGS__) X(long, long, __VA_ARGS__)                    \
    X(longlong, long long, __VA_ARGS__) X(size, size_t, __VA_ARGS__) X(ptrdiff, ptrdiff_t, __VA_ARGS__)
#define NVSHMEM_TYPES_FLOAT_AMO_(X, ...) X(float, float, __VA_ARGS__) X(double, double, __VA_ARGS__)
#define NVSHMEM_TYPES_EXTENDED_AMO_(X, ...) NVSHMEM_TYPES_STANDARD_AMO_(X, __VA_ARGS__) NVSHMEM_TYPES_FLOAT_AMO_(X, __VA_ARGS__)

#define NVSHMEM_TYPES_BITWISE_REDUCE_(X, ...)                                                                         \
    X(uchar, unsigned char, __VA_ARGS__) X(ushort, unsigned short, __VA_ARGS__) X(uint, unsigned int, __VA_ARGS__)    \
    X(ulong, unsigned long, __VA_ARGS__) X(ulonglong, unsigned long long, __VA_ARGS__) X(int8, int8_t, __VA_ARGS__)   \
    X(int16, int16_t, __VA_ARGS__) X(int32, int32_t, __VA_ARGS__) X(int64, int64_t, __VA_ARGS__)                      \
    X(uint8, uint8_t, __VA_ARGS__) X(uint16, uint16_t, __VA_ARGS__) X(uint32, uint32_t, __VA_ARGS__)                  \
    X(uint64, uint64_t, __VA_ARGS__) X(size, size_t, __VA_ARGS__)
#define NVSHMEM_TYPES_OTHER_REDUCE_(X, ...)                                                                           \
    X(char, char, __VA_ARGS__) X(schar, signed char, __VA_ARGS__) X(short, short, __VA_ARGS__) X(int, int, __VA_ARGS__) \
    X(long, long, __VA_ARGS__) X(longlong, long long, __VA_ARGS__) X(bfloat16, __nv_bfloat16, __VA_ARGS__)            \
    X(half, half, __VA_ARGS__) X(float, float, __VA_ARGS__) X(double, double, __VA_ARGS__)
#define NVSHMEM_TYPES_REDUCE_(X, ...) NVSHMEM_TYPES_BITWISE_REDUCE_(X, __VA_ARGS__) NVSHMEM_TYPES_OTHER_REDUCE_(X, __VA_ARGS__)
#define NVSHMEM_TYPES_RMA_(X, ...) NVSHMEM_TYPES_REDUCE_(X, __VA_ARGS__) X(ptrdiff, ptrdiff_t, __VA_ARGS__)

#define NVSHMEM_TYPES_WAIT_(X, ...)                                                                                   \
    X(short, short, __VA_ARGS__) X(ushort, unsigned short, __VA_ARGS__) X(int, int, __VA_ARGS__) X(long, long, __VA_ARGS__) \
    X(longlong, long long, __VA_ARGS__) X(uint, unsigned int, __VA_ARGS__) X(ulong, unsigned long, __VA_ARGS__)       \
    X(ulonglong, unsigned long long, __VA_ARGS__) X(int32, int32_t, __VA_ARGS__) X(int64, int64_t, __VA_ARGS__)       \
    X(uint32, uint32_t, __VA_ARGS__) X(uint64, uint64_t, __VA_ARGS__) X(size, size_t, __VA_ARGS__)                    \
    X(ptrdiff, ptrdiff_t, __VA_ARGS__)

#define NVSHMEM_SIZES_(X, ...)                                                                                        \
    X(8, 1, __VA_ARGS__) X(16, 2, __VA_ARGS__) X(32, 4, __VA_ARGS__) X(64, 8, __VA_ARGS__) X(128, 16, __VA_ARGS__)

/* The operations of reductions: O(and, ...) with the list of its types. */
#define NVSHMEM_BITWISE_OPS_(O, ...) O(and, AND, __VA_ARGS__) O(or, OR, __VA_ARGS__) O(xor, XOR, __VA_ARGS__)
#define NVSHMEM_ARITH_OPS_(O, ...)                                                                                    \
    O(max, MAX, __VA_ARGS__) O(min, MIN, __VA_ARGS__) O(sum, SUM, __VA_ARGS__) O(prod, PROD, __VA_ARGS__)

#endif

/* level_zero.hpp - get_native is in sycl.hpp. */

/* address_cast.hpp - dynamic_address_cast is in sycl.hpp. */

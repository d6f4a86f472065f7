/* fragment.hpp - the declarations are in sycl.hpp. A version of DPC++ that has this file has DPCPP_2026. */

/*
 * sycl.hpp - declarations of what ishmem.h and the tests in SYCL use of DPC++, as its public headers and documentation have them.
 * dpcpp.sh compiles the branches for DPC++ against them. Nothing is defined that runs.
 *
 * As in DPC++: an atomic_ref refuses types of 1 and 2 bytes; a kernel has to be trivially copyable; a device_global cannot be copied;
 * group functions take only groups; a constructor that is explicit there is explicit here.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

struct _ze_driver_handle_t;
struct _ze_context_handle_t;
struct _ze_device_handle_t;

namespace sycl {
inline namespace _V1 {

/* ---- memory ------------------------------------------------------------------------------------------------------------------ */

enum class memory_order : int { relaxed = 0, acquire = 1, release = 3, acq_rel = 4, seq_cst = 5 };
enum class memory_scope : int { work_item, sub_group, work_group, device, system };
void atomic_fence(memory_order, memory_scope);

namespace access {
enum class address_space : int { private_space, global_space, constant_space, local_space, generic_space };
enum class decorated : int { no, yes, legacy };
}
template <typename T, access::address_space A, access::decorated D>
struct multi_ptr {
    T *get() const;
};
namespace ext {
namespace oneapi {
namespace experimental {
#ifdef DPCPP_2026 /* since 2025.1 */
template <access::address_space A, typename T>
multi_ptr<T, A, access::decorated::no> dynamic_address_cast(T *);
template <access::address_space A, access::decorated D, typename T>
multi_ptr<T, A, D> dynamic_address_cast(multi_ptr<T, access::address_space::generic_space, D>);
#else
template <access::address_space A, access::decorated D, typename T>
multi_ptr<T, A, D> dynamic_address_cast(T *);
#endif
}
}
}

template <typename T, memory_order O, memory_scope S, access::address_space A = access::address_space::generic_space>
struct atomic_ref {
    static_assert(std::is_pointer<T>::value || (std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8)), "Invalid atomic type");
    static_assert(O == memory_order::relaxed || O == memory_order::acq_rel || O == memory_order::seq_cst, "Invalid default memory_order");
    explicit atomic_ref(T &);
    T load(memory_order = O, memory_scope = S) const noexcept;
    void store(T, memory_order = O, memory_scope = S) const noexcept;
    T exchange(T, memory_order = O, memory_scope = S) const noexcept;
    T fetch_add(T, memory_order = O, memory_scope = S) const noexcept;
    T fetch_and(T, memory_order = O, memory_scope = S) const noexcept;
    T fetch_or(T, memory_order = O, memory_scope = S) const noexcept;
    T fetch_xor(T, memory_order = O, memory_scope = S) const noexcept;
    bool compare_exchange_strong(T &, T, memory_order, memory_order, memory_scope = S) const noexcept;
};

/* ---- groups ------------------------------------------------------------------------------------------------------------------ */

template <int D = 1>
struct range {
    range(size_t);
    range(size_t, size_t);
    range(size_t, size_t, size_t);
    size_t size() const;
};
template <int D = 1>
struct nd_range {
    nd_range(range<D>, range<D>);
};
template <int D = 1>
struct id {
    operator size_t() const;
    size_t operator[](int) const;
};
template <int D = 1>
struct group {
    bool leader() const;
    size_t get_local_linear_id() const;
};
struct sub_group {
    bool leader() const;
    uint32_t get_local_linear_id() const;
    uint32_t get_local_linear_range() const;
};
template <int D = 1>
struct nd_item {
    size_t get_local_linear_id() const;
    size_t get_global_linear_id() const;
    range<D> get_local_range() const;
    size_t get_local_range(int) const;
    group<D> get_group() const;
    size_t get_group(int) const;
    size_t get_local_id(int) const;
    size_t get_global_id(int) const;
    sub_group get_sub_group() const;
};
template <typename T = void>
struct plus {
    T operator()(const T &, const T &) const;
};

namespace ext {
namespace oneapi {
namespace this_work_item {
template <int D>
nd_item<D> get_nd_item();
template <int D>
group<D> get_work_group();
sub_group get_sub_group();
}
namespace experimental {
struct opportunistic_group {
    bool leader() const;
};
#ifdef DPCPP_2026 /* where fragment.hpp is */
namespace this_work_item {
#else
namespace this_kernel {
#endif
opportunistic_group get_opportunistic_group();
}
template <typename F, typename... Args>
int printf(const F *format, Args...);
template <typename T>
struct device_global {
    static_assert(std::is_trivially_default_constructible<T>::value && std::is_trivially_destructible<T>::value, "not a trivial type");
    device_global() = default;
    device_global(const device_global &) = delete;
    device_global &operator=(const device_global &) = delete;
    operator T &() noexcept;
    operator const T &() const noexcept;
};
}
}
}

template <typename G>
struct is_group : std::false_type {};
template <int D>
struct is_group<group<D>> : std::true_type {};
template <>
struct is_group<sub_group> : std::true_type {};
template <>
struct is_group<ext::oneapi::experimental::opportunistic_group> : std::true_type {};
template <typename G>
std::enable_if_t<is_group<G>::value> group_barrier(G, memory_scope = memory_scope::work_group);
template <typename G, typename T>
std::enable_if_t<is_group<G>::value, T> group_broadcast(G, T);
template <typename G, typename T, class F>
std::enable_if_t<is_group<G>::value, T> reduce_over_group(G, T, F);
template <typename G, typename T, class F>
std::enable_if_t<is_group<G>::value, T> exclusive_scan_over_group(G, T, F);

/* ---- queues ------------------------------------------------------------------------------------------------------------------ */

enum class backend : char { host, opencl, ext_oneapi_level_zero };
namespace info {
enum class event_command_status : int { submitted, running, complete };
namespace device {
struct name {
    using return_type = std::string;
};
}
namespace event {
struct command_execution_status {
    using return_type = event_command_status;
};
}
}
namespace property {
namespace queue {
struct in_order {};
}
}
struct context {};
struct platform {};
struct device {
    backend get_backend() const;
    platform get_platform() const;
    template <typename P>
    typename P::return_type get_info() const;
};
struct event {
    void wait();
    template <typename P>
    typename P::return_type get_info() const;
};
template <class F>
struct kernel_ {
    static_assert(std::is_trivially_copyable<F>::value, "a kernel's arguments are not device copyable");
};
struct handler {
    void depends_on(event);
    void depends_on(const std::vector<event> &);
    void memcpy(void *, const void *, size_t);
    template <int D, class F>
    void parallel_for(nd_range<D>, const F &f)
    {
        (void)kernel_<F>();
        f(nd_item<D>());
    }
};
struct queue {
    queue();
    explicit queue(property::queue::in_order);
    device get_device() const;
    context get_context() const;
    void wait();
    event memcpy(void *, const void *, size_t);
    event memset(void *, int, size_t);
    template <typename T>
    event copy(const T *, T *, size_t);
    template <typename T>
    event copy(const std::remove_all_extents_t<T> *, ext::oneapi::experimental::device_global<T> &, size_t = 1, size_t = 0);
    template <class F>
    event submit(F f)
    {
        handler h;
        f(h);
        return {};
    }
    template <int D, class F>
    event parallel_for(nd_range<D>, const F &f)
    {
        (void)kernel_<F>();
        f(nd_item<D>());
        return {};
    }
    template <int D, class F>
    event parallel_for(range<D>, const F &f)
    {
        (void)kernel_<F>();
        f(id<D>());
        return {};
    }
    template <class F>
    event single_task(const F &f)
    {
        (void)kernel_<F>();
        f();
        return {};
    }
};
template <typename T>
T *malloc_shared(size_t, const queue &);
template <typename T>
T *malloc_device(size_t, const queue &);
template <typename T>
T *malloc_host(size_t, const queue &);
void free(void *, const queue &);

template <backend B, class Object>
struct native_;
template <>
struct native_<backend::ext_oneapi_level_zero, platform> {
    using type = _ze_driver_handle_t *;
};
template <>
struct native_<backend::ext_oneapi_level_zero, context> {
    using type = _ze_context_handle_t *;
};
template <>
struct native_<backend::ext_oneapi_level_zero, device> {
    using type = _ze_device_handle_t *;
};
template <backend B, class Object>
typename native_<B, Object>::type get_native(const Object &);

}
}

/*
 * sycl_kernels.cpp - the kernels of one .cl file, in shmemg.h's macros, as SYCL, for a program in C that launches them by their names; see
 * sycl_kernels. It has no local memory (SHMEMG_LOCAL). KERNEL_FILE is the file's name, KERNEL_LIST is X(name) for each kernel.
 *
 * The program's calls of shmem_init, shmemx_launch and shmemx_device_sync come here by other names.
 */
#include <ishmemx.h>

#include <cstring>
#include <tuple>
#include <utility>

/* AdaptiveCpp's dimensions: x is SYCL's last. */
#define SHMEMG_KERNEL inline
#define SHMEMG_GLOBAL
#define DIMENSION_(NAME)                                                                                              \
    inline size_t NAME(int d)                                                                                         \
    {                                                                                                                 \
        SHI_SPIRV_(return d == 0 ? __acpp_sscp_get_##NAME##_x() : d == 1 ? __acpp_sscp_get_##NAME##_y() : __acpp_sscp_get_##NAME##_z()) \
        return 0;                                                                                                     \
    }
namespace shi_device {
DIMENSION_(local_id)
DIMENSION_(group_id)
DIMENSION_(local_size)
DIMENSION_(num_groups)
#define shmemg_local_id(d) shi_device::local_id(d)
#define shmemg_group_id(d) shi_device::group_id(d)
#define shmemg_local_size(d) shi_device::local_size(d)
#define shmemg_num_groups(d) shi_device::num_groups(d)
#define shmemg_global_id(d) (shmemg_group_id(d) * shmemg_local_size(d) + shmemg_local_id(d))
#define shmemg_global_size(d) (shmemg_num_groups(d) * shmemg_local_size(d))
#define shmemg_barrier() shi_group_barrier(SHI_TG)
#include KERNEL_FILE
}

static sycl::queue *queue;

/* Submit kernel F with these arguments. */
template <auto F, class... Types, size_t... I>
static void submit(const sycl::nd_range<3> &range, void *const *args, void (*)(Types...), std::index_sequence<I...>)
{
    std::tuple<Types...> values;
    (memcpy(&std::get<I>(values), args[I], sizeof(Types)), ...);
    queue->parallel_for(range, [=](sycl::nd_item<3>) { F(std::get<I>(values)...); });
}
template <auto F, class... Types>
static void unpack(const sycl::nd_range<3> &range, void *const *args, void (*f)(Types...))
{
    submit<F>(range, args, f, std::index_sequence_for<Types...>());
}

extern "C" void sycl_init(void)
{
    ishmem_init();
    queue = new sycl::queue(sycl::property::queue::in_order());
}

extern "C" int sycl_launch(const char *name, const size_t groups[3], const size_t items[3], void *const *args, const size_t *, int)
{
    const sycl::range<3> local(items[2], items[1], items[0]);
    const sycl::nd_range<3> range(sycl::range<3>(groups[2], groups[1], groups[0]) * local, local);
    int found = 0;
#define X(NAME)                                                                                                       \
    if (!strcmp(name, #NAME))                                                                                         \
        unpack<shi_device::NAME>(range, args, shi_device::NAME), found = 1;
    KERNEL_LIST
    queue->get_context().AdaptiveCpp_runtime()->dag().flush_sync();
    return found ? 0 : -1;
}

extern "C" int sycl_sync(void)
{
    queue->wait();
    return shmemx_device_sync();
}

/*
 * ishmem_sycl_native.h - the Level Zero handles of the SYCL device that a queue uses by default, and the default context for DPC++'s
 * kernels. ishmem_sycl.h includes it.
 */
#if !defined(ISHMEM_SYCL_NATIVE_H) && defined(SHI_SYCL)
#define ISHMEM_SYCL_NATIVE_H

#include <level_zero/ze_api.h>
#include <stdio.h>

#if SHI_ACPP
#include <dlfcn.h>
#include <hipSYCL/runtime/ze/ze_hardware_manager.hpp>
#else
#include <sycl/ext/oneapi/backend/level_zero.hpp>
#endif

namespace ishmem_sycl {

/* For as long as the process lives: AdaptiveCpp unloads Level Zero with the last object that uses it. */
inline sycl::queue &shi_sycl_queue(void)
{
    static sycl::queue *q = new sycl::queue;
    return *q;
}

#if SHI_ACPP
/* Does AdaptiveCpp's runtime find the loader's zeModuleCreate before the library's, which gives kernels their context? */
inline bool shi_sycl_misses(void)
{
    Dl_info in;
    void *create = dlsym(RTLD_DEFAULT, "zeModuleCreate");
    return create && dladdr(create, &in) && in.dli_fname && strstr(in.dli_fname, "libze_loader");
}
#endif

/* Unchanged and one line when that device is not Level Zero's. */
inline void shi_sycl_native(ze_driver_handle_t *driver, ze_context_handle_t *context, ze_device_handle_t *device)
{
    sycl::queue &q = shi_sycl_queue();
#if SHI_ACPP
    const sycl::backend wanted = sycl::backend::level_zero;
#else
    const sycl::backend wanted = sycl::backend::ext_oneapi_level_zero;
#endif
    if (q.get_device().get_backend() != wanted) {
        if (::shmem_my_pe() == 0)
            fprintf(stderr, "ishmem_init: kernels cannot communicate: SYCL's default device, %s, is not a Level Zero device\n",
                    q.get_device().get_info<sycl::info::device::name>().c_str());
        return;
    }
#if SHI_ACPP
    if (shi_sycl_misses()) {
        if (::shmem_my_pe() == 0)
            fprintf(stderr, "ishmem_init: kernels cannot communicate: the program is linked with libze_loader before libfulmar\n");
        return;
    }
    auto id = q.get_device().AdaptiveCpp_device_id();
    auto *of = q.get_context().AdaptiveCpp_runtime()->backends().get(id.get_backend())->get_hardware_manager()->get_device(id.get_id());
    auto *ze = static_cast<hipsycl::rt::ze_hardware_context *>(of);
    *driver = ze->get_ze_driver();
    *context = ze->get_ze_context();
    *device = ze->get_ze_device();
#else
    *driver = sycl::get_native<wanted>(q.get_device().get_platform());
    *context = sycl::get_native<wanted>(q.get_context());
    *device = sycl::get_native<wanted>(q.get_device());
#endif
}

/* Store the default context's address in DPC++'s device_global. AdaptiveCpp's kernels have it in their code. */
inline void shi_sycl_tell(ze_context_handle_t context, ze_device_handle_t device)
{
#if SHI_ACPP
    (void)context, (void)device;
#else
    auto *at = static_cast<struct shi_device::shi_sycl_state *>(context ? shmemx_sycl_state(context, device) : nullptr);
    if (at)
        shi_sycl_queue().copy(&at, shi_device::shi_sycl_at).wait();
#endif
}

}
#endif

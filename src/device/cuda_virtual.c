/* cuda_virtual.c - share memory that a program has mapped to addresses itself. */
#include "device/cuda_virtual.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda_loader.h"
#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/peer_fd.h"

/* In a share's handle. */
struct by_fd {
    uint64_t magic;
    int fd; /* of the process of the share */
};
static const uint64_t magic = 0x666d6d7661647563ull;
enum { GRAIN = 2 << 20 };

static size_t whole(size_t bytes)
{
    return shi_round_up(bytes, GRAIN);
}

/* Drivers without these calls have no such memory. */
static CUresult handle_of(const void *addr, CUmemGenericAllocationHandle *h)
{
    return shi_cu.cuMemRetainAllocationHandle ? SHI_CU(cuMemRetainAllocationHandle(h, (void *)addr)) : CUDA_ERROR_NOT_SUPPORTED;
}

int shi_cuda_is_virtual(const void *addr, int *here)
{
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp p;
    if (handle_of(addr, &h))
        return 0;
    *here = !SHI_CU(cuMemGetAllocationPropertiesFromHandle(&p, h)) &&
            (p.location.type != CU_MEM_LOCATION_TYPE_DEVICE || p.location.id == shi_cuda.device);
    SHI_CU(cuMemRelease(h));
    return 1;
}

int shi_cuda_virtual_share(void *addr, struct shi_device_share *out)
{
    CUmemGenericAllocationHandle h;
    struct by_fd by = {.magic = magic, .fd = -1};
    CUresult r = handle_of(addr, &h);
    if (!r) {
        r = SHI_CU(cuMemExportToShareableHandle(&by.fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        SHI_CU(cuMemRelease(h));
    }
    if (r)
        return shi_cuda_failed("cuMemExportToShareableHandle (cuMemCreate has to request a file descriptor)", r);
    memcpy(out->handle, &by, sizeof by);
    return 0;
}

static struct by_fd by_fd_of(const struct shi_device_share *share)
{
    struct by_fd by;
    memcpy(&by, share->handle, sizeof by);
    return by;
}

int shi_cuda_virtual_is(const struct shi_device_share *share)
{
    return by_fd_of(share).magic == magic;
}

void shi_cuda_virtual_shared(const struct shi_device_share *share)
{
    if (shi_cuda_virtual_is(share))
        close(by_fd_of(share).fd);
}

/* Undoes what has been done when a step fails; the handle is not needed once it is mapped. */
static CUresult map(int fd, size_t bytes, CUdeviceptr *at)
{
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, shi_cuda.device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle h;
    CUresult r = shi_cu.cuMemImportFromShareableHandle
                     ? SHI_CU(cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
                     : CUDA_ERROR_NOT_SUPPORTED;
    if (r)
        return r;
    r = SHI_CU(cuMemAddressReserve(at, bytes, 0, 0, 0));
    if (!r) {
        r = SHI_CU(cuMemMap(*at, bytes, 0, h, 0));
        if (!r && (r = SHI_CU(cuMemSetAccess(*at, bytes, &access, 1))))
            SHI_CU(cuMemUnmap(*at, bytes));
        if (r)
            SHI_CU(cuMemAddressFree(*at, bytes));
    }
    SHI_CU(cuMemRelease(h));
    return r;
}

int shi_cuda_virtual_map(const struct shi_device_share *share, size_t bytes, CUdeviceptr *at)
{
    int fd = shi_peer_fd_same(share->pid, by_fd_of(share).fd);
    if (fd < 0)
        return fd;
    CUresult r = map(fd, whole(bytes), at);
    close(fd);
    return r ? shi_cuda_failed("mapping memory of a peer (cuMemImportFromShareableHandle, cuMemMap, cuMemSetAccess)", r) : 0;
}

void shi_cuda_virtual_unmap(CUdeviceptr at, size_t bytes)
{
    SHI_CU(cuMemUnmap(at, whole(bytes)));
    SHI_CU(cuMemAddressFree(at, whole(bytes)));
}

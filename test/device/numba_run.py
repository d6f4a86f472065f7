"""numba_run.py - for numba.sh: kernels of Numba that put, signal and wait, and arrays and streams of Numba as arguments of the package."""
import warnings

import numpy as np
from llvmlite import ir
from numba import cuda
from numba.core.errors import NumbaPerformanceWarning
from numba.cuda.cudadrv import nvvm

import fulmar
from fulmar import device

warnings.simplefilter("ignore", NumbaPerformanceWarning)  # about small grids


def add_ir_version(module):
    """Numba 0.56 writes version 1.6 of the language, which libnvvm of CUDA 13 refuses to read, though it reads what Numba writes."""
    i32 = ir.IntType(32)
    module.add_named_metadata("nvvmir.version", module.add_metadata([i32(v) for v in nvvm.NVVM().get_ir_version()]))


if nvvm.NVVM().get_ir_version() >= (2, 0):
    nvvm.add_ir_version = add_ir_version

p = cuda.declare_device("shmemg_ctx_int64_p", "void(int64, int64, int64, int32)")
fence = cuda.declare_device("shmemg_ctx_fence", "void(int64)")
signal_set = cuda.declare_device("shmemg_ctx_signal_set", "void(int64, int64, uint64, int32)")
signal_wait = cuda.declare_device("shmemg_ctx_signal_wait_until", "uint64(int64, int64, int32, uint64)")
swap = cuda.declare_device("shmemg_ctx_double_atomic_swap", "float64(int64, int64, float64, int32)")
my_pe = cuda.declare_device("shmemg_ctx_my_pe", "int32(int64)")
n_pes = cuda.declare_device("shmemg_n_pes", "int32()")


@cuda.jit(link=[device.library("numba")])
def pass_on(ctx, slot, slot_at, arrived_at, level_at, level):
    if cuda.grid(1) == 0:
        to = (my_pe(ctx) + 1) % n_pes()
        p(ctx, slot_at, 10 * my_pe(ctx), to)
        fence(ctx)
        signal_set(ctx, arrived_at, 3, to)
        slot[1] = signal_wait(ctx, arrived_at, 3, 3)  # 3: SHMEM_CMP_GT; the host sets 4
        level[0] = swap(ctx, level_at, 1.5 + my_pe(ctx), my_pe(ctx))


@cuda.jit
def add(a, value):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += value


fulmar.init()
me, n = fulmar.my_pe(), fulmar.n_pes()
last, following = (me - 1) % n, (me + 1) % n


def kernels():
    slot, arrived, level = device.zeros(4, "i8"), device.zeros(1, "u8"), device.array([0.25])
    mine, old = cuda.as_cuda_array(slot), cuda.to_device(np.zeros(1))
    arguments = device.context().value, mine, slot.address, arrived.address, level.address, old
    pass_on.compile(tuple(map(pass_on.typeof_pyval, arguments)))
    module, = {kernel._codelibrary.get_cufunc().module.handle.value for kernel in pass_on.overloads.values()}
    device.enter(module)  # shmemg_n_pes has no argument of a context
    pass_on[1, 32](*arguments)
    fulmar.signal_wait_until(arrived, "==", 3)
    fulmar.barrier_all()
    fulmar.put(arrived, [4], following)
    cuda.synchronize()
    device.sync()
    assert slot.numpy().tolist() == [10 * last, 4, 0, 0], slot.numpy()
    assert old.copy_to_host() == 0.25 and level.numpy() == 1.5 + me, (old.copy_to_host(), level.numpy())
    device.leave(module)


def arrays():
    """By __cuda_array_interface__, to Numba and from it."""
    a = device.array(np.arange(100, dtype="f4").reshape(10, 10))
    view, source = cuda.as_cuda_array(a), cuda.to_device(np.full(10, me, "f4"))
    assert (view.shape, view.dtype) == ((10, 10), np.dtype("f4"))
    fulmar.put(view[3], source, following)
    fulmar.barrier_all()
    assert (view[3].copy_to_host() == last).all() and (a.numpy()[4] == np.arange(40, 50)).all(), a.numpy()
    fulmar.get(source, view[9], following)
    assert (source.copy_to_host() == np.arange(90, 100)).all()
    fulmar.barrier_all()


def streams():
    """A stream of Numba: kernels of both in their order."""
    a, b = device.zeros(1000), device.zeros(1000)
    view, stream = cuda.as_cuda_array(a), cuda.stream()
    order = device.Stream(stream)
    for i in range(10):
        add[4, 256, stream](view, 1.0)
        order.reduce(b, a)
        order.put(a, b, me)
        order.barrier_all()
    stream.synchronize()
    want = 0
    for i in range(10):
        want = n * (want + 1.0)
    assert (a.numpy() == want).all(), (a.numpy()[0], want)


for test in (arrays, streams, kernels):
    test()
    fulmar.barrier_all()
print("right on", n, "PEs")

"""bitcode_run.py IMAGE [other] - for bitcode.sh: run the kernel of bitcode_kernel.cu on every PE, and check what it leaves. other: as a
package that loads modules and launches kernels itself."""
import ctypes
import sys

import fulmar
from fulmar import _cuda, device

fulmar.init()
me, n = fulmar.my_pe(), fulmar.n_pes()
slots, arrived, count, out = device.zeros(2, "i8"), device.zeros(1, "u8"), device.zeros(1, "u8"), device.zeros(4, "i8")


def good(status):
    assert status == 0, status


def by_another_package(image):
    INT, PTR = ctypes.c_int, ctypes.c_void_p

    def call(name, *types):
        return _cuda.call("libcuda_cpu.so", name, *types)

    context, module, function, unsigned = PTR(), PTR(), PTR(), ctypes.c_uint
    good(call("cuDevicePrimaryCtxRetain", PTR, INT)(ctypes.byref(context), 0))
    good(call("cuCtxSetCurrent", PTR)(context))
    with open(image, "rb") as file:
        good(call("cuModuleLoadData", PTR, ctypes.c_char_p)(ctypes.byref(module), file.read()))
    good(call("cuModuleGetFunction", PTR, PTR, ctypes.c_char_p)(ctypes.byref(function), module, b"by_names"))
    device.enter(module.value)
    values = [ctypes.c_uint64(a) for a in (device.context().value, slots.address, arrived.address, count.address, out.address)]
    arguments = (PTR * len(values))(*map(ctypes.addressof, values))
    good(call("cuLaunchKernel", PTR, *[unsigned] * 7, PTR, PTR, PTR)(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None))
    good(call("cuCtxSynchronize")())
    device.sync()
    device.leave(module.value)
    good(call("cuModuleUnload", PTR)(module))
    for wrong in (device.leave, device.use):
        try:
            wrong(0)
        except RuntimeError:
            continue
        raise AssertionError("no error")


if sys.argv[2:]:
    by_another_package(sys.argv[1])
else:
    device.load(sys.argv[1])
    device.launch("by_names", 1, 1, device.context(), slots, arrived, count, out)
    device.sync()
fulmar.barrier_all()
last, got = (me - 1) % n, out.numpy()
assert got[:2].tolist() == [me, 7 + last], got
assert slots.numpy().tolist() == [10 * last, 7 + last], slots.numpy()
before = fulmar.zeros(n, "i8")
fulmar.put(before[me:me + 1], got[2:3], 0)
fulmar.barrier_all()
if me == 0:
    assert sorted(before) == list(range(n)) and count.numpy() == [n], (before, count.numpy())
    print("right on", n, "PEs")

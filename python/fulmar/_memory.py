"""_memory.py - the memory of an argument: NumPy arrays, arrays of other packages by DLPack (of the CPU) and by the CUDA array interface.
Checks come before the call: the C library ends the job on an error, a notebook needs an exception."""
import numpy as np

from . import _lib

_accessible = _lib.routine("shmem_addr_accessible", _lib.INT, _lib.PTR, _lib.INT)
_me = _lib.routine("shmem_my_pe", _lib.INT)
_DLPACK_CPU = 1
state = {"up": False}
on_finalize = []  # functions to call before the library ends


def need_up():
    if not state["up"]:
        raise RuntimeError("fulmar.init() comes first")


class Memory:
    """address, nelems and dtype of an array, and stride in elements (1: contiguous)."""

    __slots__ = ("address", "nelems", "dtype", "stride")

    def __init__(self, address, shape, strides, dtype):
        self.address, self.dtype = address, dtype
        self.nelems = int(np.prod(shape, dtype=np.int64))
        self.stride = _stride(shape, strides, dtype.itemsize)


def _stride(shape, strides, itemsize):
    """The distance of neighbours in elements, of an array that is contiguous or has one dimension with more than one element."""
    long = [(n, s) for n, s in zip(shape, strides or ()) if n != 1]
    if not long or 0 in shape:
        return 1
    expected = itemsize
    for n, s in reversed(long):
        if s != expected:
            break
        expected *= n
    else:
        return 1
    if len(long) > 1 or long[0][1] % itemsize:
        raise ValueError("the array is not contiguous, and more than one of its dimensions has a stride: copy it first")
    return long[0][1] // itemsize


def memory(array):
    """The memory of an array of the host or of a device, or None for anything else."""
    if isinstance(array, np.ndarray):
        return Memory(array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)
    own = getattr(array, "__fulmar_memory__", None)
    if own is not None:
        return own()
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        device = getattr(array, "__dlpack_device__", None)
        return memory(np.from_dlpack(array)) if device and device()[0] == _DLPACK_CPU else None
    return Memory(interface["data"][0], interface["shape"], interface.get("strides"), np.dtype(interface["typestr"]))


def symmetric(array, what="dest"):
    """The memory of an array in a symmetric heap."""
    need_up()
    m = memory(array)
    if m is None:
        raise TypeError(f"{what} is a {type(array).__name__}, not an array")
    if m.nelems and not _accessible(m.address, _me()):
        raise ValueError(f"{what} is not symmetric: fulmar.empty, zeros and array make symmetric arrays")
    return m


def contiguous(m, what):
    if m.stride != 1:
        raise ValueError(f"{what} is not contiguous")
    return m


def element(array, what="dest"):
    """A symmetric array of one element."""
    m = symmetric(array, what)
    if m.nelems != 1:
        raise ValueError(f"{what} has {m.nelems} elements; one is needed: {what}[i:i+1]")
    return m


def source_of(values, dtype):
    """The memory of the source, and the object that keeps it: an array of the same type, or a copy of numbers as one."""
    m = memory(values)
    if m is None:
        values = np.ascontiguousarray(values, dtype)
        m = memory(values)
    if m.dtype != dtype:
        raise TypeError(f"source has the type {m.dtype}, dest {dtype}")
    return m, values


def pe_of(pe, n):
    if not 0 <= pe < n:
        raise ValueError(f"PE {pe} is not one of 0 to {n - 1}")
    return pe

"""device.py - arrays in the symmetric heap of devices, kernels, and calls in the queue of the kernels."""
import ctypes
import errno
import os

import numpy as np

from . import _cuda, _lib
from ._dlpack import capsule
from ._context import SIGNAL_SET, signal_of
from ._lib import INT, PTR, SIZE, TEXT, U64
from ._memory import Memory, need_up, source_of, symmetric
from ._stream import Stream
from ._wait import comparison_of

_calloc = _lib.routine("shmemg_calloc", PTR, SIZE, SIZE)
_malloc = _lib.routine("shmemg_malloc", PTR, SIZE)
_free = _lib.routine("shmemg_free", None, PTR)
_getmem = _lib.routine("shmem_getmem", None, PTR, PTR, SIZE, INT)
_putmem = _lib.routine("shmem_putmem", None, PTR, PTR, SIZE, INT)
_me = _lib.routine("shmem_my_pe", INT)
_ptr = _lib.routine("shmem_ptr", PTR, PTR, INT)
_barrier_all = _lib.routine("shmem_barrier_all", None)
_describe = _lib.routine("shmemx_device_describe", INT, INT, PTR, SIZE)
_launch = _lib.routine("shmemx_launch", INT, TEXT, PTR, PTR, PTR, PTR, INT)
_sync = _lib.routine("shmemx_device_sync", INT)
_register = _lib.routine("shmemx_kernels_register", None, PTR, SIZE)
_use = _lib.routine("shmemx_cuda_use", INT, INT)
_enter = _lib.routine("shmemx_cuda_module_enter", INT, PTR)
_leave = _lib.routine("shmemx_cuda_module_leave", INT, PTR)
_ctx = _lib.routine("shmemx_device_ctx", PTR)
_team = _lib.routine("shmemx_device_team", PTR, PTR)


class DeviceArray:
    """An array in the device symmetric heap, in row-major order. put, get and put_signal of the host take it; torch.from_dlpack,
    cupy.asarray and Numba make arrays of their own of the same memory."""

    def __init__(self, address, shape, dtype, owner=True):
        self.address, self.shape, self.dtype, self._owner = address, shape, dtype, owner

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<DeviceArray {self.shape} {self.dtype} at {self.address:#x}>"

    def __getitem__(self, index):
        """A part, which is contiguous: an element or a slice, without a step, of the first dimension."""
        n, row = self.shape[0], self.nbytes // max(self.shape[0], 1)
        if isinstance(index, slice):
            start, stop, step = index.indices(n)
            if step != 1:
                raise ValueError("a slice of a DeviceArray has no step")
            shape = (max(stop - start, 0), *self.shape[1:])
        else:
            start, shape = range(n)[index], self.shape[1:]
        return DeviceArray(self.address + start * row, shape, self.dtype, owner=False)

    def numpy(self):
        """A copy in host memory."""
        need_up()
        a = np.empty(self.shape, self.dtype)
        _getmem(a.ctypes.data, self.address, a.nbytes, _me())
        return a

    def fill(self, values):
        """Copy values of the host, of the array's shape or one that NumPy broadcasts to it, into this PE's array."""
        need_up()
        a = np.ascontiguousarray(np.broadcast_to(np.asarray(values, self.dtype), self.shape))
        _putmem(self.address, a.ctypes.data, a.nbytes, _me())

    def free(self):
        """Collective. Arrays of the same memory must not be used any more."""
        if not self._owner:
            raise ValueError("a part of an array cannot be freed")
        if self.address:
            _free(self.address)
        self.address = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free()

    # ---- for other packages --------------------------------------------------------------------------------------

    def __fulmar_memory__(self):
        return Memory(self.address, self.shape, None, self.dtype)

    @property
    def __cuda_array_interface__(self):
        if _cuda.owner(self.address) is None:
            raise AttributeError("the memory is not that of a CUDA device")
        return {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False), "version": 3, "strides": None}

    def __dlpack_device__(self):
        cuda = _cuda.owner(self.address)
        if cuda is not None:
            return 2, cuda[1]
        if _ptr(self.address, _me()):
            return 1, 0
        raise BufferError("DLPack: neither the memory of a CUDA device nor that of the processor")

    def __dlpack__(self, **_):
        """The memory is the consumer's until free(). Operations on it have ended when quiet, or a wait for a signal, has."""
        return capsule(self.address, self.shape, self.dtype, self.__dlpack_device__())


def _make(allocate, shape, dtype):
    need_up()
    dtype, shape = np.dtype(dtype), (shape,) if np.isscalar(shape) else tuple(shape)
    a = DeviceArray(0, shape, dtype)
    a.address = allocate(max(a.nbytes, 1))
    if not a.address:
        raise MemoryError(f"no {a.nbytes} bytes in the device heap: set SHMEM_DEVICE_SYMMETRIC_SIZE; oshinfo lists devices")
    return a


def empty(shape, dtype=float):
    """An array in the device symmetric heap. Collective, as all that make arrays."""
    return _make(_malloc, shape, dtype)


def zeros(shape, dtype=float):
    return _make(lambda nbytes: _calloc(nbytes, 1), shape, dtype)


def array(values, dtype=None):
    """An array of the device with a copy of the values. All PEs have theirs when the call returns."""
    values = np.asarray(values, dtype)
    a = empty(values.shape, values.dtype)
    a.fill(values)
    _barrier_all()
    return a


def describe():
    """The devices that SHMEM_DEVICE can choose, such as "cuda:0 NVIDIA H200"."""
    text, found = ctypes.create_string_buffer(256), []
    while _describe(len(found), text, len(text)) == 0:
        found.append(text.value.decode())
    return found


# ---- kernels ---------------------------------------------------------------------------------------------------------

_images = []


def load(image):
    """Register kernels for launch: a shared library that oshcc has made of them (oshcc -shared -fPIC kernels.cl -o kernels.so), or a file
    or bytes of SPIR-V, a fatbin, a cubin or PTX."""
    if isinstance(image, str) and image.endswith(".so"):
        _images.append(ctypes.CDLL(os.path.abspath(image)))
        return
    if isinstance(image, str):
        with open(image, "rb") as file:
            image = file.read()
    _images.append(ctypes.create_string_buffer(image, len(image) + 1))  # it remains in memory; PTX ends with a zero byte
    _register(_images[-1], len(image))


def library(form="bc"):
    """The path of the device library with C names such as shmemg_int64_put: "bc", LLVM's bitcode for NVIDIA GPUs (Triton); "ptx", which has
    only types of 4 and 8 bytes; or "numba", the same in the form in which Numba calls functions."""
    return _lib.device_file("libfulmar_numba.ptx" if form == "numba" else f"libfulmar_device.{form}")


def _argument(a):
    """An argument of a kernel: an array stands for its address, a number of Python for a long or a double."""
    if hasattr(a, "__fulmar_memory__") or hasattr(a, "__cuda_array_interface__"):
        return ctypes.c_void_p(symmetric(a, "an argument").address)
    if isinstance(a, np.generic):
        return ctypes.create_string_buffer(a.tobytes(), a.nbytes)
    if isinstance(a, float):
        return ctypes.c_double(a)
    if isinstance(a, int):
        return ctypes.c_long(a)
    return a  # an object of ctypes


def launch(kernel, groups, items, *arguments):
    """Start a kernel of `groups` work-groups with `items` work-items each, numbers or up to three dimensions. Kernels run in the order of
    their launches; sync waits for them."""
    need_up()
    grid = [(ctypes.c_size_t * 3)(*(((n,) if np.isscalar(n) else tuple(n)) + (1, 1, 1))[:3]) for n in (groups, items)]
    values = [_argument(a) for a in arguments]
    pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    sizes = (ctypes.c_size_t * len(values))(*map(ctypes.sizeof, values))
    if _launch(kernel.encode(), *grid, pointers, sizes, len(values)):
        raise RuntimeError(f"the kernel {kernel} did not start: see the line above")


def sync():
    """Wait for all kernels and calls in their queue, and complete the operations of the kernels."""
    need_up()
    if _sync():
        raise RuntimeError("kernels failed: see the line above")


def use(number):
    """Take the CUDA device of this number, such as the current one of another package. It comes before the first array of a device."""
    need_up()
    if _use(number):
        raise RuntimeError(f"CUDA device {number} cannot be taken: see the line above")


def enter(module):
    """Give the default context to a CUDA module that another package has loaded: its CUmodule as a number. It comes after the first array
    of a device, and before kernels of the module that call routines without a context."""
    need_up()
    status = _enter(module)
    if status:
        raise RuntimeError("the module has no routine of the device library" if status == -errno.ENOENT else
                           "the module cannot be entered: see the line above")


def leave(module):
    """Complete the operations of the module's kernels, before the other package unloads it."""
    need_up()
    if _leave(module):
        raise RuntimeError("the module was not entered: see the line above")


def context():
    """The address of the default context, an argument for kernels that call shmemg_ctx_ routines."""
    need_up()
    return ctypes.c_void_p(_ctx())


def team(team):
    """The address of a team for kernels."""
    need_up()
    return ctypes.c_void_p(_team(team._handle))


# ---- calls in the queue of the kernels ---------------------------------------------------------------------------------


class Queue:
    """Calls that begin when earlier kernels of launch() and calls have ended; later kernels begin after them. Arrays are not copied: they
    must not change until sync()."""

    def __init__(self):
        self._kept = []

    def _call(self, name, types, *arguments):
        need_up()
        if _lib.routine(f"shmemx_{name}_on_queue", INT, *types)(*arguments):
            raise RuntimeError(f"{name} could not be put into the queue: see the line above")

    def _ends(self, remote, what, local):
        far = symmetric(remote, what)
        near, kept = source_of(local, far.dtype)
        if near.nelems > far.nelems or not far.stride == near.stride == 1:
            raise ValueError("both arrays must be contiguous, and the remote one not shorter")
        self._kept.append(kept)
        return far.address, near.address, near.nelems * near.dtype.itemsize

    def put(self, dest, source, pe):
        far, near, nbytes = self._ends(dest, "dest", source)
        self._call("putmem", (PTR, PTR, SIZE, INT), far, near, nbytes, pe)

    def get(self, dest, source, pe):
        far, near, nbytes = self._ends(source, "source", dest)
        self._call("getmem", (PTR, PTR, SIZE, INT), near, far, nbytes, pe)

    def put_signal(self, dest, source, signal, value, pe, op=SIGNAL_SET):
        far, near, nbytes = self._ends(dest, "dest", source)
        self._call("putmem_signal", (PTR, PTR, SIZE, PTR, U64, INT, INT), far, near, nbytes, signal_of(signal), value, op, pe)

    def signal_wait_until(self, signal, comparison, value):
        self._call("signal_wait_until", (PTR, INT, U64), signal_of(signal), comparison_of(comparison), value)

    def quiet(self):
        self._call("quiet", ())

    def barrier_all(self):
        self._call("barrier_all", ())

    def sync(self):
        """Wait for the kernels and calls."""
        sync()
        self._kept.clear()


queue = Queue()

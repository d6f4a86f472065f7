"""_heap.py - symmetric arrays of the host: NumPy arrays in the symmetric heap. All PEs make and free them together."""
import contextlib
import ctypes

import numpy as np

from . import _lib
from ._memory import memory, need_up

_calloc = _lib.routine("shmem_calloc", _lib.PTR, _lib.SIZE, _lib.SIZE)
_align = _lib.routine("shmem_align", _lib.PTR, _lib.SIZE, _lib.SIZE)
_free = _lib.routine("shmem_free", None, _lib.PTR)
_barrier_all = _lib.routine("shmem_barrier_all", None)
_ptr = _lib.routine("shmem_ptr", _lib.PTR, _lib.PTR, _lib.INT)


def _view(address, shape, dtype):
    nelems = int(np.prod(shape, dtype=np.int64))
    block = (ctypes.c_byte * (nelems * dtype.itemsize)).from_address(address)
    return np.frombuffer(block, dtype, nelems).reshape(shape)


def _make(allocate, shape, dtype):
    need_up()
    dtype = np.dtype(dtype)
    if dtype.hasobject:
        raise TypeError("objects of Python cannot be in the symmetric heap")
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    address = allocate(max(nbytes, 1))
    if not address:
        raise MemoryError(f"the symmetric heap has no {nbytes} bytes left: set SHMEM_SYMMETRIC_SIZE")
    return _view(address, shape, dtype)


def empty(shape, dtype=float):
    """A symmetric array with any values. Collective: every PE calls it with the same arguments, as all that follow here."""
    return _make(lambda nbytes: _align(64, nbytes), shape, dtype)


def zeros(shape, dtype=float):
    """A symmetric array of zeros."""
    return _make(lambda nbytes: _calloc(nbytes, 1), shape, dtype)


def full(shape, value, dtype=None):
    """A symmetric array whose elements are `value`, on all PEs when the call returns."""
    a = empty(shape, np.asarray(value).dtype if dtype is None else dtype)
    a[...] = value
    _barrier_all()
    return a


def array(values, dtype=None):
    """A symmetric array with a copy of the values; on all PEs with the same shape and type. All PEs have their values when the call returns."""
    values = np.asarray(values, dtype)
    return full(values.shape, values)


def free(*arrays):
    """Free arrays of empty, zeros, full or array. Views of the memory must not be used any more."""
    need_up()
    for a in arrays:
        release = getattr(a, "free", None)
        if release:
            release()
        else:
            _free(memory(a).address)


@contextlib.contextmanager
def freed(*arrays):
    """A block at whose end the arrays are freed: `with fulmar.freed(fulmar.zeros(4)) as a:`."""
    yield arrays[0] if len(arrays) == 1 else arrays
    free(*arrays)


def remote_view(array, pe):
    """The array of another PE as an array of this one, or None where this PE cannot load and store that memory."""
    need_up()
    m = memory(array)
    address = _ptr(m.address, pe)
    return _view(address, array.shape, array.dtype) if address else None

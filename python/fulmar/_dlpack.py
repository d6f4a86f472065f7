"""_dlpack.py - DLPack capsules (dmlc/dlpack, version 0.8) of memory whose life ends with an explicit free: they need no deleter."""
import ctypes

import numpy as np


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
                ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_tensors = {}  # never removed: a consumer reads them until its own array ends, which may be after free()


def capsule(address, shape, dtype, device):
    """A capsule of a row-major array."""
    if dtype.kind not in _CODES or not dtype.isnative:
        raise BufferError(f"DLPack has no type for {dtype}")
    dims = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    steps = (ctypes.c_int64 * max(len(shape), 1))(*(int(np.prod(shape[i + 1:], dtype=np.int64)) for i in range(len(shape))))
    tensor = _Tensor(address, *device, len(shape), _CODES[dtype.kind], 8 * dtype.itemsize, 1, ctypes.addressof(dims),
                     ctypes.addressof(steps), 0, None, None)
    tensor, *_ = _tensors.setdefault((address, shape, dtype, device), (tensor, dims, steps))
    return _new(ctypes.addressof(tensor), b"dltensor", None)

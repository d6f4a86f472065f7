"""_cuda.py - the CUDA driver that the process has loaded, NVIDIA's or the one for the CPU: its calls, and which of both has a memory."""
import ctypes

from . import _lib
from ._lib import INT, PTR, TEXT, U64

_DRIVERS = ("libcuda.so.1", "libcuda_cpu.so")
_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9
_calls = {}


def call(driver, name, *arguments):
    """A routine of a driver that the process has loaded, or None."""
    key = driver, name
    if key not in _calls:
        find, at = _lib.routine_of(driver, "cuGetProcAddress_v2", INT, TEXT, PTR, INT, U64, PTR), ctypes.c_void_p()
        if not find or find(name.encode(), ctypes.byref(at), 12000, 0, None):
            return None
        _calls[key] = ctypes.CFUNCTYPE(INT, *arguments)(at.value)
    return _calls[key]


def owner(address):
    """The driver whose device has this memory, and the number of the device; None for other memory."""
    for driver in _DRIVERS:
        attribute, ordinal = call(driver, "cuPointerGetAttribute", PTR, INT, U64), ctypes.c_int()
        if attribute and attribute(ctypes.byref(ordinal), _POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) == 0:
            return driver, ordinal.value
    return None

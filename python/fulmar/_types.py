"""_types.py - NumPy's types as the C names of OpenSHMEM's typed routines, and values as C arguments."""
import ctypes

import numpy as np

from . import _lib

_NAMES = {"i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
          "f4": "float", "f8": "double", "f16": "longdouble", "c8": "complexf", "c16": "complexd", "b1": "uint8"}
_C = {"int32": ctypes.c_int32, "int64": ctypes.c_int64, "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64,
      "float": ctypes.c_float, "double": ctypes.c_double, "int16": ctypes.c_int16, "uint16": ctypes.c_uint16}
_WAITS_AS = {"int16": "short", "uint16": "ushort"}  # the table has waits for these by their C names only
VALUE = object()  # in a signature: the type itself
_routines = {}


def name_of(dtype):
    """OpenSHMEM's name of the type, such as "int64"."""
    dtype = np.dtype(dtype)
    try:
        return _NAMES[f"{dtype.kind}{dtype.itemsize}"] if dtype.isnative else None
    except KeyError:
        return None


def typed(pattern, dtype, result, *arguments):
    """The routine that `pattern`, such as "shmem_{}_sum_reduce", names for this type. TypeError if there is none."""
    key = pattern, dtype.char
    if key not in _routines:
        name = name_of(dtype)
        if "wait_until" in pattern or "_test" in pattern:
            name = _WAITS_AS.get(name, name)
        if name is None or not _lib.has(pattern.format(name)):
            raise TypeError(f"{pattern.format('TYPE')}: there is none for {dtype}")
        value = _C.get(name_of(dtype))
        _routines[key] = _lib.routine(pattern.format(name), *(value if t is VALUE else t for t in (result, *arguments)))
    return _routines[key]

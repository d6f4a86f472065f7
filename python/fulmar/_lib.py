"""_lib.py - the C library: finds libfulmar.so.1 and declares routines. Other files call the library only through routine()."""
import ctypes
import os

from ctypes import c_char_p as TEXT, c_double as DOUBLE, c_int as INT, c_long as LONG, c_size_t as SIZE, c_uint64 as U64
from ctypes import c_ssize_t as STRIDE, c_void_p as PTR

PREFIX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prefix")  # of the installation inside the wheel


def _load():
    """The library that the process has already loaded, the wheel's, or the one that the loader finds."""
    own = os.path.join(PREFIX, "lib", "libfulmar.so.1")
    try:
        return ctypes.CDLL("libfulmar.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return ctypes.CDLL(own if os.path.exists(own) else "libfulmar.so.1")


_library = _load()


def routine_of(library, name, result, *arguments):
    """A routine of a library that the process has loaded, or None."""
    try:
        function = getattr(ctypes.CDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_NOW), name)
    except (OSError, AttributeError):
        return None
    function.restype, function.argtypes = result, arguments
    return function


def has(name):
    """Does this library have the routine?"""
    return hasattr(_library, name)


def routine(name, result, *arguments):
    """The C routine as a function. A call releases the GIL while it runs."""
    function = getattr(_library, name)
    function.restype = result
    function.argtypes = arguments
    return function


def device_file(name):
    """The path of a file of the device library, in the wheel; FULMAR_DEVICE_LIBRARY names another folder, such as a build folder."""
    path = os.path.join(os.environ.get("FULMAR_DEVICE_LIBRARY") or os.path.join(PREFIX, "lib"), name)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: the wheel was made without clang for NVIDIA GPUs")
    return path

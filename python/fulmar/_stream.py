"""_stream.py - operations in the order of a CUDA stream of another package. Each is a kernel of libfulmar_on_stream.ptx."""
import ctypes

import numpy as np

from . import _cuda, _lib
from ._context import SIGNAL_SET, signal_of
from ._lib import INT, PTR, SIZE, U64
from ._memory import contiguous, element, memory, need_up, on_finalize, pe_of, symmetric
from ._team import WORLD
from ._wait import comparison_of

_context_of_kernels = _lib.routine("shmemx_device_ctx", PTR)
_team_of_kernels = _lib.routine("shmemx_device_team", PTR, PTR)
_OPS = ("max", "min", "sum", "prod", "and", "or", "xor")  # the order of SHI_FOLD_ in src/device/lib/coll.h
_THREADS = 256  # of an operation on data


def handle_of(stream):
    """The CUstream as a number: of an integer, or an object with __cuda_stream__ (cuda.core and others), cuda_stream (PyTorch), ptr (CuPy)
    or handle (Numba). None is the default stream."""
    if stream is None:
        return 0
    if hasattr(stream, "__cuda_stream__"):
        made = stream.__cuda_stream__
        version, handle = made() if callable(made) else made
        if version != 0:
            raise TypeError(f"__cuda_stream__ has version {version}, not 0")
        return int(handle)
    for name in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    if isinstance(stream, (int, np.integer)):
        return int(stream)
    raise TypeError(f"{type(stream).__name__} is not a CUDA stream: it has none of __cuda_stream__, cuda_stream, ptr and handle")


class _Kernels:
    """The kernels in the context of this PE's device."""

    def __init__(self):
        owner = _cuda.owner(_context_of_kernels())
        if owner is None:
            raise RuntimeError("calls on a stream need a CUDA device: SHMEM_DEVICE chooses; device.queue has calls for every device")
        self._driver, ordinal = owner
        self._context, self._module, self._functions = PTR(), PTR(), {}
        self._cuda("cuDevicePrimaryCtxRetain", (PTR, INT), ctypes.byref(self._context), ordinal)
        with open(_lib.device_file("libfulmar_on_stream.ptx"), "rb") as file:
            image = file.read()
        with self:
            self._cuda("cuModuleLoadData", (PTR, ctypes.c_char_p), ctypes.byref(self._module), image)
        if _lib.routine("shmemx_cuda_module_enter", INT, PTR)(self._module):
            raise RuntimeError("calls on a stream: see the line above")
        on_finalize.append(self._leave)

    def _cuda(self, name, types, *arguments):
        status = _cuda.call(self._driver, name, *types)(*arguments)
        if status:
            raise RuntimeError(f"{name}: CUDA's error {status}")

    def _leave(self):
        global _kernels
        _kernels = None
        _lib.routine("shmemx_cuda_module_leave", INT, PTR)(self._module)
        with self:
            self._cuda("cuModuleUnload", (PTR,), self._module)

    def __enter__(self):
        self._cuda("cuCtxPushCurrent", (PTR,), self._context)

    def __exit__(self, *_):
        self._cuda("cuCtxPopCurrent", (PTR,), ctypes.byref(PTR()))

    def launch(self, name, threads, stream, *arguments):
        """arguments: objects of ctypes."""
        pointers = (PTR * len(arguments))(*map(ctypes.addressof, arguments))
        with self:
            if name not in self._functions:
                function = PTR()
                self._cuda("cuModuleGetFunction", (PTR, PTR, ctypes.c_char_p), ctypes.byref(function), self._module, b"fulmar_" + name.encode())
                self._functions[name] = function
            self._cuda("cuLaunchKernel", (PTR, *[ctypes.c_uint] * 7, PTR, PTR, PTR), self._functions[name], 1, 1, 1, threads, 1, 1, 0, stream,
                       pointers, None)


_kernels = None


def _near(array, what, dtype):
    """The memory of an argument that kernels access at this PE only."""
    m = memory(array)
    if m is None:
        raise TypeError(f"{what} is a {type(array).__name__}, not an array")
    if m.dtype != dtype:
        raise TypeError(f"{what} has the type {m.dtype}, the other array {dtype}")
    if m.nelems and _cuda.owner(m.address) is None:
        raise ValueError(f"{what} is not in the memory of a CUDA device, where kernels read and write")
    return contiguous(m, what)


def _far(array, what):
    """The memory of an argument in the device symmetric heap."""
    m = contiguous(symmetric(array, what), what)
    if m.nelems and _cuda.owner(m.address) is None:
        raise ValueError(f"{what} is in the symmetric heap of the host; fulmar.device has arrays for calls on a stream")
    return m


class Stream:
    """Calls in the order of a CUDA stream: each begins when what is in the stream before it has ended, and what follows begins when it has
    ended. It returns at once. Arrays are in the memory of the device, and must not be freed before the stream has come past the call. stream:
    a number, or a stream of another package; None: the default stream. Streams of other contexts than the primary one are refused by CUDA.
    Collectives: all members of the team call them in the same order, and no two collectives of one team run at a time."""

    def __init__(self, stream=None):
        self.handle = handle_of(stream)

    def _launch(self, name, threads, *arguments):
        global _kernels
        need_up()
        if _kernels is None:
            _kernels = _Kernels()
        _kernels.launch(name, threads, self.handle, *arguments)

    # ---- one-sided -----------------------------------------------------------------------------------------------

    def _ends(self, remote, what, local, other, pe):
        far = _far(remote, what)
        near = _near(local, other, far.dtype)
        if near.nelems > far.nelems:
            raise ValueError(f"{near.nelems} elements do not fit into the {far.nelems} of {what}")
        return PTR(far.address), PTR(near.address), SIZE(near.nelems * near.dtype.itemsize), INT(pe_of(pe, WORLD.n_pes))

    def put(self, dest, source, pe):
        """Copy source to dest of the PE, which has it when the stream has come past this call."""
        far, near, nbytes, pe = self._ends(dest, "dest", source, "source", pe)
        self._launch("put", _THREADS, far, near, nbytes, pe)

    def get(self, dest, source, pe):
        """Copy source of the PE to dest."""
        far, near, nbytes, pe = self._ends(source, "source", dest, "dest", pe)
        self._launch("get", _THREADS, near, far, nbytes, pe)

    def p(self, dest, value, pe):
        """Put one number to the array dest of one element."""
        m = element(dest)
        if m.dtype.itemsize > 8:
            raise TypeError(f"{m.dtype}: p takes elements of up to 8 bytes")
        bits = int.from_bytes(m.dtype.type(value).tobytes(), "little")
        self._launch("p", 1, PTR(_far(dest, "dest").address), U64(bits), SIZE(m.dtype.itemsize), INT(pe_of(pe, WORLD.n_pes)))

    def put_signal(self, dest, source, signal, value, pe, op=SIGNAL_SET):
        """Put, then set (or add to, with SIGNAL_ADD) the PE's signal, an array of one uint64 of the device."""
        far, near, nbytes, pe = self._ends(dest, "dest", source, "source", pe)
        signal_of(signal)
        self._launch("put_signal", _THREADS, far, near, nbytes, PTR(_far(signal, "signal").address), U64(value), INT(op), pe)

    def wait_until(self, ivar, comparison, value):
        """The stream waits until the array of one integer of 32 or 64 bits compares so with the value."""
        m = element(ivar, "ivar")
        if m.dtype.kind not in "iu" or m.dtype.itemsize < 4:
            raise TypeError(f"a wait is for integers of 32 or 64 bits, not for {m.dtype}")
        bits = int.from_bytes(m.dtype.type(value).tobytes(), "little")
        self._launch("wait_until", 1, PTR(_far(ivar, "ivar").address), SIZE(m.dtype.itemsize), INT(m.dtype.kind == "i"),
                     INT(comparison_of(comparison)), U64(bits))

    def signal_wait_until(self, signal, comparison, value):
        signal_of(signal)
        self.wait_until(signal, comparison, value)

    def quiet(self):
        """Complete the puts of all kernels of this PE that have begun."""
        self._launch("quiet", 1)

    # ---- collectives ---------------------------------------------------------------------------------------------

    def barrier_all(self):
        self._launch("barrier", 1, self._team(WORLD))

    def sync(self, team=WORLD):
        self._launch("sync", 1, self._team(team))

    def _team(self, team):
        need_up()
        if not team:
            raise ValueError("this PE is not a member of the team")
        return PTR(_team_of_kernels(team._handle))

    def _all(self, name, dest, source, n_dest, n_source, team, *more):
        d, s, each = team._ends(dest, source, n_dest, n_source)
        _far(dest, "dest"), _far(source, "source")
        self._launch(name, _THREADS, self._team(team), PTR(d.address), PTR(s.address), SIZE(each * d.dtype.itemsize), *more)

    def broadcast(self, dest, source, root=0, team=WORLD):
        self._all("broadcast", dest, source, 1, 1, team, INT(pe_of(root, team.n_pes)))

    def fcollect(self, dest, source, team=WORLD):
        self._all("fcollect", dest, source, team.n_pes, 1, team)

    def collect(self, dest, source, team=WORLD):
        self._all("collect", dest, source, 1, 1, team)

    def alltoall(self, dest, source, team=WORLD):
        self._all("alltoall", dest, source, team.n_pes, team.n_pes, team)

    def reduce(self, dest, source, op="sum", team=WORLD):
        """As Team.reduce, for integers, float32 and float64."""
        d, s, n = team._ends(dest, source)
        _far(dest, "dest"), _far(source, "source")
        kind, nbytes = d.dtype.kind, d.dtype.itemsize
        if op not in _OPS or kind not in "iuf" or nbytes > 8 or kind == "f" and (nbytes < 4 or _OPS.index(op) > 3):
            raise TypeError(f"no reduction {op} for {d.dtype} on a stream")
        self._launch("reduce", _THREADS, self._team(team), PTR(d.address), PTR(s.address), SIZE(n), INT(ord(kind)), INT(nbytes), INT(_OPS.index(op)))

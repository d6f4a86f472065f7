"""_context.py - contexts: put, get, atomics and signals, and the order of all of them. The package's own functions of these names are
those of the default context."""
import numpy as np

from . import _lib
from ._lib import INT, LONG, PTR, SIZE, STRIDE, U64
from ._memory import contiguous, element, memory, need_up, pe_of, source_of, symmetric
from ._types import VALUE, typed

_RMA = (PTR, PTR, PTR, SIZE, INT)
_SIGNAL = (PTR, PTR, PTR, SIZE, PTR, U64, INT, INT)
_putmem, _getmem = (_lib.routine(f"shmem_ctx_{n}mem", None, *_RMA) for n in ("put", "get"))
_putmem_nbi, _getmem_nbi = (_lib.routine(f"shmem_ctx_{n}mem_nbi", None, *_RMA) for n in ("put", "get"))
_put_signal, _put_signal_nbi = (_lib.routine(f"shmem_ctx_putmem_signal{n}", None, *_SIGNAL) for n in ("", "_nbi"))
_signal_set, _signal_add = (_lib.routine(f"shmem_ctx_signal_{n}", None, PTR, PTR, U64, INT) for n in ("set", "add"))
_strided = {(n, size): _lib.routine(f"shmem_ctx_i{n}{8 * size}", None, PTR, PTR, PTR, STRIDE, STRIDE, SIZE, INT)
            for n in ("put", "get") for size in (1, 2, 4, 8, 16)}
_fence, _quiet = (_lib.routine(f"shmem_ctx_{n}", None, PTR) for n in ("fence", "quiet"))
_create = _lib.routine("shmem_team_create_ctx", INT, PTR, LONG, PTR)
_destroy = _lib.routine("shmem_ctx_destroy", None, PTR)
_n_pes = _lib.routine("shmem_team_n_pes", INT, PTR)

SERIALIZED, PRIVATE, NOSTORE = 1, 2, 4
SIGNAL_SET, SIGNAL_ADD = 1, 2


class Context:
    """Operations that are ordered and completed together. Context(team, options) makes one with the PE numbers of the team."""

    def __init__(self, team=None, options=0, handle=None):
        self._handle, self._team, self._sources = handle, team._handle if team else 1, []
        if handle is None:
            need_up()
            made = PTR()
            if _create(self._team, options, _lib.ctypes.byref(made)):
                raise RuntimeError("no context: the library has no resources for another one")
            self._handle = made.value

    def destroy(self):
        """Complete the operations and give the context back."""
        if self._handle not in (None, 1):
            _destroy(self._handle)
        self._handle = None
        self._sources.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.destroy()

    def _pe(self, pe):
        return pe_of(pe, _n_pes(self._team))

    def _ends(self, remote, what, local, pe):
        """The memory of both ends, and what keeps the local one."""
        far = symmetric(remote, what)
        near, kept = source_of(local, far.dtype)
        if near.nelems > far.nelems:
            raise ValueError(f"{near.nelems} elements do not fit into the {far.nelems} of {what}")
        return far, near, kept, self._pe(pe)

    # ---- put and get ---------------------------------------------------------------------------------------------

    def put(self, dest, source, pe):
        """Copy source, an array or numbers, to the symmetric array dest of a PE. One of both may have a stride: dest[::2]."""
        far, near, _, pe = self._ends(dest, "dest", source, pe)
        if far.stride == near.stride == 1:
            _putmem(self._handle, far.address, near.address, near.nelems * near.dtype.itemsize, pe)
        else:
            self._by_strides("put", far, near, near, pe)

    def get(self, dest, source, pe):
        """Copy the symmetric array source of a PE to dest, any array, and return dest."""
        far, near, _, pe = self._ends(source, "source", dest, pe)
        if memory(dest) is None:
            raise TypeError("dest is not an array")
        if far.stride == near.stride == 1:
            _getmem(self._handle, near.address, far.address, near.nelems * near.dtype.itemsize, pe)
        else:
            self._by_strides("get", near, far, near, pe)
        return dest

    def _by_strides(self, name, dest, source, near, pe):
        if (name, near.dtype.itemsize) not in _strided:
            raise TypeError(f"{near.dtype}: elements of {near.dtype.itemsize} bytes cannot have a stride")
        _strided[name, near.dtype.itemsize](self._handle, dest.address, source.address, dest.stride, source.stride, near.nelems, pe)

    def p(self, dest, value, pe):
        """Put one value to the array dest of one element."""
        element(dest)
        self.put(dest, value, pe)

    def g(self, source, pe):
        """Get the value of the array source of one element."""
        m = element(source, "source")
        return self.get(np.empty((), m.dtype), source, pe)[()]

    def put_nbi(self, dest, source, pe):
        """The same as put, but source may be changed only after quiet."""
        far, near, kept, pe = self._ends(dest, "dest", source, pe)
        contiguous(far, "dest"), contiguous(near, "source")
        self._sources.append(kept)
        _putmem_nbi(self._handle, far.address, near.address, near.nelems * near.dtype.itemsize, pe)

    def get_nbi(self, dest, source, pe):
        """The same as get, but dest is complete only after quiet."""
        far, near, kept, pe = self._ends(source, "source", dest, pe)
        contiguous(far, "source"), contiguous(near, "dest")
        if memory(dest) is None:
            raise TypeError("dest is not an array")
        self._sources.append(kept)
        _getmem_nbi(self._handle, near.address, far.address, near.nelems * near.dtype.itemsize, pe)

    # ---- signals -------------------------------------------------------------------------------------------------

    def put_signal(self, dest, source, signal, value, pe, op=SIGNAL_SET, nbi=False):
        """Put, then set (or add to, with SIGNAL_ADD) the PE's signal, an array of one uint64: who sees the signal sees the data."""
        far, near, kept, pe = self._ends(dest, "dest", source, pe)
        contiguous(far, "dest"), contiguous(near, "source")
        if nbi:
            self._sources.append(kept)
        (_put_signal_nbi if nbi else _put_signal)(self._handle, far.address, near.address, near.nelems * near.dtype.itemsize,
                                                  signal_of(signal), value, op, pe)

    def signal_set(self, signal, value, pe):
        _signal_set(self._handle, signal_of(signal), value, self._pe(pe))

    def signal_add(self, signal, value, pe):
        _signal_add(self._handle, signal_of(signal), value, self._pe(pe))

    # ---- atomics on an array of one element ----------------------------------------------------------------------

    def _atomic(self, name, result, dest, values, pe):
        m = element(dest)
        call = typed("shmem_ctx_{}_atomic_" + name, m.dtype, result, PTR, PTR, *([VALUE] * len(values)), INT)
        got = call(self._handle, m.address, *(m.dtype.type(v).item() for v in values), self._pe(pe))
        return None if got is None else m.dtype.type(got)

    def atomic_fetch(self, source, pe):
        return self._atomic("fetch", VALUE, source, (), pe)

    def atomic_set(self, dest, value, pe):
        self._atomic("set", None, dest, (value,), pe)

    def atomic_swap(self, dest, value, pe):
        return self._atomic("swap", VALUE, dest, (value,), pe)

    def atomic_compare_swap(self, dest, expected, value, pe):
        return self._atomic("compare_swap", VALUE, dest, (expected, value), pe)

    def atomic_inc(self, dest, pe):
        self._atomic("inc", None, dest, (), pe)

    def atomic_fetch_inc(self, dest, pe):
        return self._atomic("fetch_inc", VALUE, dest, (), pe)

    def atomic_add(self, dest, value, pe):
        self._atomic("add", None, dest, (value,), pe)

    def atomic_fetch_add(self, dest, value, pe):
        return self._atomic("fetch_add", VALUE, dest, (value,), pe)

    def atomic_and(self, dest, value, pe):
        self._atomic("and", None, dest, (value,), pe)

    def atomic_fetch_and(self, dest, value, pe):
        return self._atomic("fetch_and", VALUE, dest, (value,), pe)

    def atomic_or(self, dest, value, pe):
        self._atomic("or", None, dest, (value,), pe)

    def atomic_fetch_or(self, dest, value, pe):
        return self._atomic("fetch_or", VALUE, dest, (value,), pe)

    def atomic_xor(self, dest, value, pe):
        self._atomic("xor", None, dest, (value,), pe)

    def atomic_fetch_xor(self, dest, value, pe):
        return self._atomic("fetch_xor", VALUE, dest, (value,), pe)

    # ---- order ---------------------------------------------------------------------------------------------------

    def fence(self):
        """Puts before it reach each PE before those after it."""
        need_up()
        _fence(self._handle)

    def quiet(self):
        """Complete all operations of the context."""
        need_up()
        _quiet(self._handle)
        self._sources.clear()


def signal_of(signal):
    m = element(signal, "signal")
    if m.dtype != np.uint64:
        raise TypeError(f"a signal is an array of one uint64, not of {m.dtype}")
    return m.address


default = Context(handle=1)

"""_team.py - teams and collectives. The package's own functions of these names are those of the team of all PEs."""
from . import _lib
from ._lib import INT, LONG, PTR, SIZE, STRIDE
from ._context import Context, default
from ._memory import contiguous, memory, need_up, pe_of, symmetric
from ._types import typed

_my_pe, _n_pes, _sync = (_lib.routine(f"shmem_team_{n}", INT, PTR) for n in ("my_pe", "n_pes", "sync"))
_translate = _lib.routine("shmem_team_translate_pe", INT, PTR, INT, PTR)
_split_strided = _lib.routine("shmem_team_split_strided", INT, PTR, INT, INT, INT, PTR, LONG, PTR)
_split_2d = _lib.routine("shmem_team_split_2d", INT, PTR, INT, PTR, LONG, PTR, PTR, LONG, PTR)
_destroy = _lib.routine("shmem_team_destroy", None, PTR)
_broadcast = _lib.routine("shmem_broadcastmem", INT, PTR, PTR, PTR, SIZE, INT)
_collect, _fcollect, _alltoall = (_lib.routine(f"shmem_{n}mem", INT, PTR, PTR, PTR, SIZE) for n in ("collect", "fcollect", "alltoall"))
_alltoalls = {size: _lib.routine(f"shmem_{t}_alltoalls", INT, PTR, PTR, PTR, STRIDE, STRIDE, SIZE)
              for size, t in ((1, "int8"), (2, "int16"), (4, "int32"), (8, "int64"))}


def _good(status, what):
    if status:
        raise RuntimeError(f"{what} failed with status {status}")


class Team:
    """PEs with numbers of their own. Every member makes the same collective calls in the same order."""

    def __init__(self, handle):
        self._handle = handle

    @property
    def my_pe(self):
        """This PE's number in the team; -1 outside of it."""
        need_up()
        return _my_pe(self._handle) if self._handle else -1

    @property
    def n_pes(self):
        need_up()
        return _n_pes(self._handle) if self._handle else 0

    def __bool__(self):
        """Is this PE a member?"""
        return bool(self._handle)

    def translate(self, pe, other):
        """The number in the other team of this team's PE, or -1."""
        return _translate(self._handle, pe, other._handle)

    def split_strided(self, start, stride, size):
        """The team of `size` PEs from start, each `stride` after the last. It is false on PEs that are no members."""
        made = PTR()
        _good(_split_strided(self._handle, start, stride, size, None, 0, _lib.ctypes.byref(made)), "split_strided")
        return Team(made.value)

    def split_2d(self, xrange):
        """The teams of this PE's row (of `xrange` PEs) and column."""
        x, y = PTR(), PTR()
        _good(_split_2d(self._handle, xrange, None, 0, _lib.ctypes.byref(x), None, 0, _lib.ctypes.byref(y)), "split_2d")
        return Team(x.value), Team(y.value)

    def context(self, options=0):
        """A context with the PE numbers of this team."""
        return Context(self, options)

    def destroy(self):
        if self._handle and self._handle > 2:
            _destroy(self._handle)
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.destroy()

    # ---- collectives ---------------------------------------------------------------------------------------------

    def _ends(self, dest, source, n_dest=1, n_source=1):
        """Both arrays, and the number of elements that each PE contributes. n: of PEs whose elements an array has room for."""
        d, s = contiguous(symmetric(dest), "dest"), contiguous(symmetric(source, "source"), "source")
        if d.dtype != s.dtype:
            raise TypeError(f"source has the type {s.dtype}, dest {d.dtype}")
        each, rest = divmod(s.nelems, n_source)
        if rest:
            raise ValueError(f"source has {s.nelems} elements, which {n_source} PEs do not share equally")
        if d.nelems < each * n_dest:
            raise ValueError(f"dest has {d.nelems} elements; {each * n_dest} are needed")
        return d, s, each

    def sync(self):
        """Wait until all members have come. It completes no puts: barrier_all does."""
        _good(_sync(self._handle), "sync")

    def broadcast(self, dest, source, root=0):
        """Copy source of PE `root` to dest on all members."""
        d, s, n = self._ends(dest, source)
        _good(_broadcast(self._handle, d.address, s.address, n * d.dtype.itemsize, pe_of(root, self.n_pes)), "broadcast")

    def fcollect(self, dest, source):
        """Concatenate the sources of all members, of one length, in dest."""
        d, s, n = self._ends(dest, source, n_dest=self.n_pes)
        _good(_fcollect(self._handle, d.address, s.address, n * d.dtype.itemsize), "fcollect")

    def collect(self, dest, source):
        """Concatenate the sources of all members, whose lengths may differ, in dest."""
        d, s, n = self._ends(dest, source)
        _good(_collect(self._handle, d.address, s.address, n * d.dtype.itemsize), "collect")

    def alltoall(self, dest, source):
        """Send the i-th part of source to member i; dest has the parts in the order of their senders. Arrays of one dimension may have
        strides."""
        d, s, n = symmetric(dest), symmetric(source, "source"), self.n_pes
        if d.stride == s.stride == 1:
            d, s, each = self._ends(dest, source, n, n)
            _good(_alltoall(self._handle, d.address, s.address, each * d.dtype.itemsize), "alltoall")
            return
        if d.dtype != s.dtype or d.nelems < s.nelems or s.nelems % n:
            raise ValueError(f"dest and source need one type and a multiple of {n} elements")
        if d.dtype.itemsize not in _alltoalls:
            raise TypeError(f"{d.dtype}: elements of {d.dtype.itemsize} bytes cannot have a stride")
        _good(_alltoalls[d.dtype.itemsize](self._handle, d.address, s.address, d.stride, s.stride, s.nelems // n), "alltoall")

    def _combine(self, name, dest, source):
        d, s, n = self._ends(dest, source)
        call = typed("shmem_{}_" + name, d.dtype, INT, PTR, PTR, PTR, SIZE)
        _good(call(self._handle, d.address, s.address, n), name)

    def reduce(self, dest, source, op="sum"):
        """Combine the members' sources element by element: sum, prod, min, max, and, or, xor. Every member gets the result."""
        self._combine(op + "_reduce", dest, source)

    def scan(self, dest, source, inclusive=True):
        """The sum of the sources of the members up to this one, with or without its own."""
        self._combine("sum_inscan" if inclusive else "sum_exscan", dest, source)


WORLD, SHARED = Team(1), Team(2)
_barrier_all, _sync_all = (_lib.routine(f"shmem_{n}_all", None) for n in ("barrier", "sync"))


def barrier_all():
    """Wait until all PEs have come, and complete all puts of the default context."""
    need_up()
    _barrier_all()
    default._sources.clear()


def sync_all():
    """Wait until all PEs have come."""
    need_up()
    _sync_all()

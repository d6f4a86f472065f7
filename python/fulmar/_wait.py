"""_wait.py - waits for values that other PEs write, tests of them, and locks. A comparison is one of "==", "!=", ">", "<=", "<", ">=".

Waits of the C library are called with a limit of time, again and again, because Python handles a signal, such as Ctrl-C, between calls only."""
import contextlib
import ctypes
import operator

import numpy as np

from . import _lib
from ._context import signal_of
from ._lib import INT, PTR, SIZE, U64
from ._memory import contiguous, element, symmetric
from ._types import VALUE, typed

COMPARISONS = {"==": 1, "!=": 2, ">": 3, ">=": 4, "<": 5, "<=": 6}
_signal_fetch = _lib.routine("shmem_signal_fetch", U64, PTR)
_signal_wait = _lib.routine("shmem_signal_wait_until", U64, PTR, INT, U64)
_limit = _lib.routine("shmemx_wait_limit", None, U64)
_LIMIT_NS = 50_000_000
_HOLDS = {"==": operator.eq, "!=": operator.ne, ">": operator.gt, "<=": operator.le, "<": operator.lt, ">=": operator.ge}
_locks = {n: _lib.routine(f"shmem_{n}_lock", INT if n == "test" else None, PTR) for n in ("set", "clear", "test")}
_NONE = ctypes.c_size_t(-1).value


def comparison_of(text):
    try:
        return COMPARISONS[text]
    except KeyError:
        raise ValueError(f"{text!r} is not a comparison: one of {' '.join(COMPARISONS)}") from None


def _for_a_while(wait, *arguments):
    """A wait of the C library, which may return although its condition is false."""
    _limit(_LIMIT_NS)
    try:
        return wait(*arguments)
    finally:
        _limit(0)


def _one(name, result, ivar, comparison, value):
    m = element(ivar, "ivar")
    return typed("shmem_{}_" + name, m.dtype, result, PTR, INT, VALUE)(m.address, comparison_of(comparison), m.dtype.type(value).item())


def wait_until(ivar, comparison, value):
    """Wait until the array of one element compares so with the value."""
    element(ivar, "ivar")
    wait_until_any(ivar, comparison, value)


def test(ivar, comparison, value):
    """Does the array of one element compare so with the value now?"""
    return bool(_one("test", INT, ivar, comparison, value))


def _many(name, result, ivars, comparison, value, ignore, indices=None):
    m = contiguous(symmetric(ivars, "ivars"), "ivars")
    value = np.asarray(value, m.dtype, order="C")
    if value.ndim and value.size != m.nelems:
        raise ValueError(f"{value.size} values for {m.nelems} elements")
    status = None
    if ignore is not None:
        status = np.ascontiguousarray(np.asarray(ignore, bool).reshape(-1), np.intc)
        if status.size != m.nelems:
            raise ValueError(f"ignore has {status.size} elements, ivars {m.nelems}")
    found = () if indices is None else (indices.ctypes.data,)
    call = typed("shmem_{}_" + name + ("_vector" if value.ndim else ""), m.dtype, result, PTR, SIZE, *([PTR] * len(found)), PTR, INT,
                 PTR if value.ndim else VALUE)
    return call(m.address, m.nelems, *found, None if status is None else status.ctypes.data, comparison_of(comparison),
                value.ctypes.data if value.ndim else value.item())


def _some(name, ivars, comparison, value, ignore):
    indices = np.empty(max(symmetric(ivars, "ivars").nelems, 1), np.uintp)
    n = _many(name, SIZE, ivars, comparison, value, ignore, indices)
    return indices[:n].tolist()


def _any(name, ivars, comparison, value, ignore):
    i = _many(name, SIZE, ivars, comparison, value, ignore)
    return None if i == _NONE else i


def wait_until_all(ivars, comparison, value, ignore=None):
    """Wait for all elements, but for those with a true value in `ignore`. value: one, or an array with one for each element."""
    left = np.zeros(symmetric(ivars, "ivars").nelems, bool) if ignore is None else np.array(ignore, bool).reshape(-1)
    while not left.all():  # an element that has held counts, even if it changes
        left[_for_a_while(_some, "wait_until_some", ivars, comparison, value, left)] = True


def wait_until_any(ivars, comparison, value, ignore=None):
    """Wait for one element, and return its index; None if all are ignored."""
    found = None
    while found is None and not (ignore is not None and np.all(ignore)):
        found = _for_a_while(_any, "wait_until_any", ivars, comparison, value, ignore)
    return found


def wait_until_some(ivars, comparison, value, ignore=None):
    """Wait for at least one element, and return the indices of all that compare so."""
    found = []
    while not found and not (ignore is not None and np.all(ignore)):
        found = _for_a_while(_some, "wait_until_some", ivars, comparison, value, ignore)
    return found


def test_all(ivars, comparison, value, ignore=None):
    return bool(_many("test_all", INT, ivars, comparison, value, ignore))


def test_any(ivars, comparison, value, ignore=None):
    return _any("test_any", ivars, comparison, value, ignore)


def test_some(ivars, comparison, value, ignore=None):
    return _some("test_some", ivars, comparison, value, ignore)


def signal_fetch(signal):
    """The value of this PE's signal."""
    return _signal_fetch(signal_of(signal))


def signal_wait_until(signal, comparison, value):
    """Wait until this PE's signal compares so with the value, and return its value."""
    while True:
        now = _for_a_while(_signal_wait, signal_of(signal), comparison_of(comparison), value)
        if _HOLDS[comparison](now, value):
            return now


def _lock(name, lock):
    m = element(lock, "lock")
    if m.dtype != np.int64:
        raise TypeError(f"a lock is an array of one int64, not of {m.dtype}")
    return _locks[name](m.address)


def set_lock(lock):
    """Wait for the lock, an array of one int64 that is 0 at first, and take it."""
    _lock("set", lock)


def clear_lock(lock):
    _lock("clear", lock)


def test_lock(lock):
    """Take the lock if it is free. True if it was."""
    return _lock("test", lock) == 0


@contextlib.contextmanager
def locked(lock):
    """A block during which this PE has the lock."""
    set_lock(lock)
    try:
        yield lock
    finally:
        clear_lock(lock)

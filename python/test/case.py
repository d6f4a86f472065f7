"""case.py - what the tests of the package have in common: the start of a job by each way, and a class of tests."""
import os
import unittest

import fulmar
import numpy as np

INTS, FLOATS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"), ("f4", "f8", "f16")


class Store:
    """What torch.distributed and mpi4py have, by files."""

    def __init__(self, folder, rank, size):
        self.folder, self.rank, self.size = folder, rank, size

    def _path(self, key):
        return os.path.join(self.folder, key.replace("/", "_"))

    def set(self, key, text):
        with open(self._path(key) + ".new", "w", encoding="ascii") as file:
            file.write(text)
        os.rename(self._path(key) + ".new", self._path(key))

    def get(self, key):
        try:
            with open(self._path(key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def bcast(self, value):
        if value is not None:
            self.set("bcast", value.hex())
            return value
        while (text := self.get("bcast")) is None:
            pass
        return bytes.fromhex(text.decode())


def start():
    """Under a launcher, or as FULMAR_TEST_INIT says: the way, a folder for it, this PE's number, the number of PEs."""
    if "FULMAR_TEST_INIT" not in os.environ:
        fulmar.init()
        return
    way, folder, rank, size = os.environ["FULMAR_TEST_INIT"].split()
    store = Store(folder, int(rank), int(size))
    if way == "file":
        fulmar.init_from_file(os.path.join(folder, "id"), store.rank, store.size)
    elif way == "store":
        fulmar.init_from_store(store, store.rank, store.size)
    else:
        fulmar.init_from_mpi(store)
    assert (fulmar.my_pe(), fulmar.n_pes()) == (store.rank, store.size)


class Case(unittest.TestCase):
    def setUp(self):
        self.me, self.n = fulmar.my_pe(), fulmar.n_pes()
        self.next, self.last = (self.me + 1) % self.n, (self.me - 1) % self.n

    def same(self, a, b):
        np.testing.assert_array_equal(a, b)

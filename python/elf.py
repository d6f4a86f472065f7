"""elf.py - what patchelf cannot do: the symbol versions that an x86-64 or arm64 ELF file needs, and how to drop those newer than a
version; and the file's strings."""
import struct

VERNEED, VERNEED_NUM, VERSYM, SYMTAB, STRTAB = 0x6FFFFFFE, 0x6FFFFFFF, 0x6FFFFFF0, 6, 5
GLOBAL = 1  # the version index of symbols without a version


class File:
    """An ELF file in memory. save() writes it back."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = bytearray(file.read())
        at, = struct.unpack_from("<Q", self.bytes, 32)
        size, n = struct.unpack_from("<HH", self.bytes, 54)
        self.segments = [struct.unpack_from("<IIQQQQ", self.bytes, at + i * size) for i in range(n)]
        self.dynamic = {}
        for kind, _, offset, _, _, nbytes in self.segments:
            if kind == 2:
                for i in range(offset, offset + nbytes, 16):
                    tag, value = struct.unpack_from("<QQ", self.bytes, i)
                    self.dynamic.setdefault(tag, value)

    def _offset(self, address):
        for kind, _, offset, start, _, nbytes in self.segments:
            if kind == 1 and start <= address < start + nbytes:
                return address - start + offset
        raise ValueError(f"{self.path}: no segment has address {address:#x}")

    def _string(self, at):
        start = self._offset(self.dynamic[STRTAB]) + at
        return self.bytes[start:self.bytes.index(0, start)].decode()

    def _needs(self):
        """The versions needed: (library, version, index of symbols, offset of the entry, offset of the link to it)."""
        at = self._offset(self.dynamic[VERNEED]) if VERNEED in self.dynamic else 0
        for _ in range(self.dynamic.get(VERNEED_NUM, 0)):
            _, n, file, aux, following = struct.unpack_from("<HHIII", self.bytes, at)
            entry, link = at + aux, (at, 8)
            for _ in range(n):
                _, _, index, name, beyond = struct.unpack_from("<IHHII", self.bytes, entry)
                yield self._string(file), self._string(name), index, entry, link, at
                link, entry = (entry, 12), entry + beyond
            at += following

    def versions(self):
        """(library, version) for every version needed, such as ("libc.so.6", "GLIBC_2.34")."""
        return [(library, version) for library, version, *_ in self._needs()]

    def drop_versions(self, newest):
        """Let symbols of versions of glibc newer than this one be found by their names alone. Return their names."""
        names = []
        while True:
            late = next((n for n in self._needs() if is_newer(n[1], newest)), None)
            if late is None:
                return names
            names += self._unlink(*late)

    def _unlink(self, _library, _version, index, entry, link, head):
        beyond, = struct.unpack_from("<I", self.bytes, entry + 12)
        n, = struct.unpack_from("<H", self.bytes, head + 2)
        base, field = link
        target = entry + beyond - base if beyond else 0
        if n == 1:
            raise ValueError(f"{self.path}: all that it needs of a library is newer")
        struct.pack_into("<I", self.bytes, base + field, target)
        struct.pack_into("<H", self.bytes, head + 2, n - 1)
        symbols, versions, names = self._offset(self.dynamic[SYMTAB]), self._offset(self.dynamic[VERSYM]), []
        for i in range(self._n_symbols()):
            if struct.unpack_from("<H", self.bytes, versions + 2 * i)[0] & 0x7FFF == index:
                struct.pack_into("<H", self.bytes, versions + 2 * i, GLOBAL)
                names.append(self._string(struct.unpack_from("<I", self.bytes, symbols + 24 * i)[0]))
        return names

    def _n_symbols(self):
        """The number of dynamic symbols: the size of their section."""
        at, = struct.unpack_from("<Q", self.bytes, 40)
        size, n = struct.unpack_from("<HH", self.bytes, 58)
        for i in range(n):
            _, kind, _, _, _, nbytes = struct.unpack_from("<IIQQQQ", self.bytes, at + i * size)
            if kind == 11:
                return nbytes // 24
        raise ValueError(f"{self.path}: no section of dynamic symbols")

    def replace(self, text, other):
        """Replace a string, wherever it begins another one, by one of the same length."""
        assert len(text) == len(other)
        self.bytes = self.bytes.replace(text.encode(), other.encode())

    def save(self):
        with open(self.path, "wb") as file:
            file.write(self.bytes)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def is_newer(version, newest):
    """Is the version, such as GLIBC_2.35, one of glibc and newer than `newest`, such as (2, 34)?"""
    name, _, numbers = version.partition("_")
    return name == "GLIBC" and numbers[:1].isdigit() and tuple(map(int, numbers.split("."))) > newest

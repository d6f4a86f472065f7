"""gdb commands for Fulmar programs: other PEs' memory, symmetric addresses, handles.

  $shmem_at(ADDRESS, PE)   pointer to PE's object at the symmetric ADDRESS in this process, with ADDRESS's type:
                           print *$shmem_at(&hits, 2) shows PE 2's hits
  info shmem               this PE's number, and the addresses of its symmetric memory
  info shmem ADDRESS       the kind of a symmetric address
  shmem_team_t and shmem_ctx_t print as the handle's name or the team's members

The script reads the library's structures, so it needs the library's debugging information. oshrun starts each
PE under gdb:  oshrun -l -n 4 gdb -batch -x fulmar-gdb.py -ex run -ex bt --args ./program
"""
import gdb


def world():
    """Return the library's shi_world, or raise a gdb error with the reason."""
    symbol = gdb.lookup_global_symbol("shi_world") or gdb.lookup_static_symbol("shi_world")
    if symbol is None:
        raise gdb.GdbError("no libfulmar with debugging information is loaded")
    value = symbol.value()
    if not value["up"]:
        raise gdb.GdbError("the library is not initialized: before shmem_init or after shmem_finalize")
    return value


def areas(w, peer):
    """(name, first address, bytes, offset to the peer's mapping) of each kind of symmetric memory."""
    device = int(w["dev_lo"])
    yield "symmetric heap", int(w["heap_lo"]), int(w["heap_bytes"]), int(peer["heap_delta"])
    yield "static data", int(w["data_lo"]), int(w["data_bytes"]), int(peer["data_delta"])
    yield "device heap", device, int(peer["dev_bytes"]) if device else 0, int(peer["dev_delta"])


def find(address, pe):
    """The kind of symmetric memory of an address: (name, offset, offset to PE pe's mapping), or None."""
    w = world()
    if not 0 <= pe < int(w["n_pes"]):
        raise gdb.GdbError("PE %d does not exist: the job has %d" % (pe, int(w["n_pes"])))
    for name, first, size, distance in areas(w, w["peer"][pe]):
        if first <= address < first + size:
            return name, address - first, distance
    return None


class At(gdb.Function):
    """$shmem_at(ADDRESS, PE): pointer to PE's object at the symmetric ADDRESS in this process."""

    def __init__(self):
        super().__init__("shmem_at")

    def invoke(self, address, pe):
        """Keep the pointer's type, so that the result can be dereferenced."""
        found = find(int(address), int(pe))
        if found is None:
            raise gdb.GdbError("%#x is not symmetric" % int(address))
        return gdb.Value(int(address) + found[2]).cast(address.type)


class InfoShmem(gdb.Command):
    """info shmem [ADDRESS]: this PE and its symmetric memory, or the kind of symmetric address that ADDRESS is."""

    def __init__(self):
        super().__init__("info shmem", gdb.COMMAND_STATUS, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        """gdb calls this with the rest of the line."""
        w = world()
        me = int(w["pe"])
        if not argument:
            print("PE %d of %d" % (me, int(w["n_pes"])))
            for name, first, size, _ in areas(w, w["peer"][me]):
                if size:
                    print("%-14s %#x, %d bytes" % (name, first, size))
            return
        address = int(gdb.parse_and_eval(argument))
        found = find(address, me)
        print("%#x is " % address + ("%s + %#x" % found[:2] if found else "not symmetric"))


NAMES = {
    "shmem_team_t": {0: "SHMEM_TEAM_INVALID", 1: "SHMEM_TEAM_WORLD", 2: "SHMEM_TEAM_SHARED"},
    "shmem_ctx_t": {0: "SHMEM_CTX_INVALID", 1: "SHMEM_CTX_DEFAULT"},
}


def members(team):
    """A team in words."""
    n, start, stride = (int(team[field]) for field in ("n", "start", "stride"))
    return "team of %d PEs: world PE %d + i * %d, this is %d" % (n, start, stride, int(team["me"]))


class Handle:
    """Printer of a handle: the name of a predefined one, or its description."""

    def __init__(self, value, name):
        self.value, self.name = value, name

    def to_string(self):
        """The text that print shows."""
        number = int(self.value)
        if number in NAMES[self.name]:
            return NAMES[self.name][number]
        try:
            if self.name == "shmem_team_t":
                return members(self.value.dereference())
            return "context %#x of the %s" % (number, members(self.value["team"].dereference()))
        except (gdb.error, gdb.MemoryError):
            return "%#x, which is not a %s" % (number, self.name)


def handle_printer(value):
    """gdb calls this for every value."""
    return Handle(value, value.type.name) if value.type.name in NAMES else None


At()
InfoShmem()
gdb.pretty_printers.append(handle_printer)

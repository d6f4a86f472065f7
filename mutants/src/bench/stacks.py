"""Find the OpenSHMEM and MPI implementations of this machine, compile programs with them and run these.

A stack is one implementation: its compiler wrapper, its launcher, and for each transport the environment that makes its
PEs use it. SHMEM_VENDOR_STRING, or the version macros of mpi.h, tell which implementation a wrapper belongs to. A stack
that cannot run a first program of two PEs is left out, with one line on standard error.
"""
import contextlib
import ctypes
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TRANSPORTS = ("node", "network")
PR_SET_CHILD_SUBREAPER = 36

UCX = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}
OMPI_UCX = {"OMPI_MCA_pml": "ucx", "OMPI_MCA_pml_ucx_tls": "any", "OMPI_MCA_pml_ucx_devices": "any"}
ROOT = ["--allow-run-as-root"] if os.geteuid() == 0 else []

# pattern of the vendor: name, arguments of its launcher, environment on a node, environment over a network (None: only one
# of the two). A variable that the user has set is left as it is.
OURS_ENV = {"node": {}, "network": {"SHMEM_TRANSPORT": "ofi"}}
PSM3 = {"PSM3_DEVICES": "self,nic", "PSM3_NIC_LOOPBACK": "1"}  # on Ethernet
OPENSHMEM = [
    # Its collectives are those of its MPI, which would use shared memory.
    (r"open-?mpi", "openmpi", [*ROOT, "--oversubscribe"], {}, {**UCX, **OMPI_UCX, "OMPI_MCA_spml": "ucx"}),
    (r"sandia", "sandia", [], {"SHMEM_OFI_STX_MAX": "0"}, {"SHMEM_OFI_PROVIDER": "tcp;ofi_rxm", "SHMEM_OFI_STX_MAX": "0"}),
    (r"osss|open ?source software solutions", "osss-ucx", [], {}, UCX),
]
MPI = [
    (r"open mpi", "openmpi-ucx", [*ROOT, "--oversubscribe"], OMPI_UCX, {**UCX, **OMPI_UCX}),
    (r"open mpi", "openmpi-ob1", [*ROOT, "--oversubscribe"], {"OMPI_MCA_pml": "ob1"},
     {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"}),
    (r"mpich", "mpich", [], {}, {**UCX, "MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp"}),
]
PROBES = {
    "oshcc": "#include <shmem.h>\nvendor_is SHMEM_VENDOR_STRING\n",
    "mpicc": "#include <mpi.h>\n#ifdef OMPI_MAJOR_VERSION\nvendor_is \"Open MPI\" OMPI_MAJOR_VERSION OMPI_MINOR_VERSION\n"
             "#elif defined MPICH_VERSION\nvendor_is \"MPICH\" MPICH_VERSION\n#endif\n",
}
LAUNCHERS = {"oshcc": ["oshrun", "shmemrun", "mpiexec", "mpirun"], "mpicc": ["mpirun", "mpiexec"]}


def environment(transport):
    """Our variables for a transport: node, network (the provider that the library chooses), or a provider's name."""
    if transport in OURS_ENV:
        return OURS_ENV[transport]
    return {**OURS_ENV["network"], "SHMEM_OFI_PROVIDER": transport, **(PSM3 if transport == "psm3" else {})}


# ---- running -------------------------------------------------------------------------------------------------------


def children():
    """The processes whose parent is this one."""
    found = []
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                pid, _, rest = file.read().partition(" ")
        except OSError:
            continue
        if rest.rpartition(")")[2].split()[1] == str(os.getpid()):
            found.append(int(pid))
    return found


def end_children(patience_s=2.0):
    """End all children and, as they become children then, theirs: SIGTERM, later SIGKILL. Return how many there were."""
    start, told = time.monotonic(), set()
    while True:
        running = children()
        for pid in running:
            late = time.monotonic() - start > patience_s
            if late or pid not in told:
                told.add(pid)
                os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
        if not running:
            return len(told)
        time.sleep(0.01)


def adopt_orphans():
    """Processes whose parent ends before them become children of this process, on Linux."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass


class Ended(Exception):
    """SIGINT or SIGTERM has come."""


@contextlib.contextmanager
def endable(name):
    """Run the body until its end, or until SIGINT or SIGTERM. Its value is a list, which then holds the exit status of the script."""
    status = []

    def end(number, _):
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)  # until the programs have been ended
        status.append(128 + number)
        raise Ended

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)
    try:
        yield status
    except Ended:
        print(f"{name}: ended early; the rows so far:", file=sys.stderr, flush=True)
    finally:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)


def run(command, timeout, env=None):
    """Run a command to its end, and end what it leaves. Return (status or None after a timeout, seconds, output, errors)."""
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        start, status = time.monotonic(), None
        try:
            status = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env, start_new_session=True).wait(timeout)
        except subprocess.TimeoutExpired:
            pass
        finally:
            seconds = time.monotonic() - start
            end_children(5.0 if status is None else 2.0)
        out.seek(0)
        err.seek(0)
        return status, seconds, out.read(), err.read()


def rows_of(text):
    """The rows in the output of a program; one that was stopped may have written half a line."""
    rows = []
    for line in text.splitlines():
        if line.startswith("{") and line.endswith("}"):
            rows.append(json.loads(line))
    return rows


def write_rows(path, rows, final):
    """Write the rows to a file, whole at any moment. What is no regular file, such as a pipe, gets the final rows only."""
    regular = os.path.isfile(path) or not os.path.exists(path)
    if not (regular or final):
        return
    to = path + ".new" if regular else path
    with open(to, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")
    if regular:
        os.replace(to, path)


class Stack:
    """One implementation: its wrapper, its launcher, its compiled programs."""

    def __init__(self, name, cc, launcher, kind="oshcc", env=None):
        self.name = name
        self.cc = cc  # words of the compiler wrapper's command
        self.launcher = launcher  # words of the launcher's command, with its arguments
        self.kind = kind  # of PROBES
        self.env = env or {"given": {}}  # transport -> variables; given: those of the user alone
        self.programs = {}  # program -> path of the executable
        self.too_long = set()  # (program, PEs, transport) of runs that were stopped
        self.noted = set()

    def note(self, text):
        """Print a remark about this stack, once."""
        if text not in self.noted:
            self.noted.add(text)
            print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    def compile(self, program, directory, cflags, libraries=()):
        """Compile one program. If that fails, print one line with the reason."""
        exe = os.path.join(directory, f"{program}.{self.name}")
        mpi = ["-I", os.path.join(HERE, "mpi")] if self.kind == "mpicc" else []
        command = [*self.cc, *cflags, *mpi, "-I", HERE, "-o", exe, os.path.join(HERE, program + ".c"), "-lpthread", *libraries]
        kernels = os.path.join(HERE, program + ".cl")
        command += [kernels] if os.path.exists(kernels) else []
        status, _, _, err = run(command, 300)
        if status == 0:
            self.programs[program] = exe
            return True
        errors = [line for line in err.splitlines() if "error" in line or "undefined reference" in line]
        reason = errors[0].split("error:")[-1].strip() if errors else f"status {status}"
        self.note(f"cannot compile {program}: {reason}")
        return False

    def launch(self, program, pes, timeout, transport="given", words=()):
        """Run one program; return (seconds, standard output). Print a failure, but keep the output."""
        command = [*self.launcher, "-np", str(pes), self.programs[program], *words]
        env = {**self.env.get(transport, {}), **os.environ}
        status, seconds, out, err = run(command, timeout, env)
        where = f"{program} with {pes} PEs" + (", network" if transport == "network" else "")
        if status is None:
            self.too_long.add((program, pes, transport))
            self.note(f"{where}: stopped after {timeout:g} s" + (", results kept" if out else ""))
        elif status != 0:
            said = [line for line in err.splitlines() if any(map(str.isalnum, line))]
            why = "results kept" if out else said[-1] if said else "no output"
            self.note(f"{where}: exit status {status}: {why}")
        return seconds, out


# ---- finding -------------------------------------------------------------------------------------------------------


def folders(prefixes):
    """Folders of commands: of the prefixes, PATH, and below /opt and /usr/local."""
    found = [os.path.join(prefix, "bin") for prefix in prefixes]
    found += os.environ.get("PATH", os.defpath).split(os.pathsep)
    for pattern in ("/usr/local/*/bin", "/opt/*/bin", "/opt/*/*/bin"):
        found += sorted(glob.glob(pattern))
    return [folder for folder in dict.fromkeys(map(os.path.realpath, found)) if os.path.isdir(folder)]


def wrappers(kind, prefixes):
    for folder in folders(prefixes):
        for path in sorted(glob.glob(os.path.join(folder, kind)) + glob.glob(os.path.join(folder, kind + "[.-]*"))):
            if os.access(path, os.X_OK):
                yield path


def vendor_of(cc, kind, directory):
    """The text by which the implementation of a wrapper names itself; '' if it has none."""
    source = os.path.join(directory, f"probe_{kind}.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROBES[kind])
    try:
        status, _, out, _ = run([cc, "-E", source], 60)
    except OSError:
        return ""
    found = re.findall(r"^vendor_is +(.*)$", out, re.M)
    return " ".join(found[-1].replace('"', " ").split()) if status == 0 and found else ""


def launchers_of(cc, kind, ours):
    """Launchers that may belong to a wrapper: with its suffix, then of its folder, then MPICH's and ours (PMI and PMIx)."""
    folder, name = os.path.split(cc)
    suffix = name[len(kind):]
    names = [launcher + suffix for launcher in LAUNCHERS[kind]] + LAUNCHERS[kind]
    paths = [os.path.join(folder, launcher) for launcher in dict.fromkeys(names)]
    found = [[path] for path in paths if os.access(path, os.X_OK)]
    return found + [["mpiexec.hydra"], ours.launcher]


def starts(stack, transport, timeout):
    """1 if its first program runs with two PEs."""
    try:
        _, _, out, _ = run([*stack.launcher, "-np", "2", stack.programs["hello"]], timeout, {**stack.env[transport], **os.environ})
    except OSError:
        return False
    return out.count(" of 2\n") == 2


def settle(stack, candidates, args, directory, timeout=30):
    """Find the launcher with which the stack's programs run, and drop transports that do not; False if there is none."""
    if not stack.compile("hello", directory, ["-O2"]):
        return False
    for candidate in candidates:
        stack.launcher = [*candidate, *args]
        started = [transport for transport in stack.env if starts(stack, transport, timeout)]
        if started:
            break
    else:
        stack.note("left out: no launcher runs a program of two PEs: " + ", ".join(" ".join(c) for c in candidates))
        return False
    for transport in set(stack.env) - set(started):
        del stack.env[transport]
        stack.note(f"left out over the {transport}: a program of two PEs does not run")
    return True


def numbered(label, stacks):
    """A name for one more installation of an implementation."""
    same = sum(re.sub(r"-\d+$", "", stack.name) == label for stack in stacks)
    return f"{label}-{same + 1}" if same else label


def find_kind(make, kind, table, ours, where, directory):
    """The stacks of one kind of wrapper. where: (prefixes, names or none)."""
    seen, stacks = set(), []
    for cc in wrappers(kind, where[0]):
        vendor = vendor_of(cc, kind, directory)
        if not vendor or re.search("fulmar", vendor, re.I) or (vendor, os.path.dirname(cc)) in seen:
            continue
        seen.add((vendor, os.path.dirname(cc)))
        matches = [row[1:] for row in table if re.search(row[0], vendor, re.I)]
        name = re.sub(r"[^a-z0-9]+", "-", vendor.lower()).strip("-")
        for label, args, node, network in matches or [(name, [], {}, None)]:
            if where[1] and label not in where[1]:
                continue
            env = {t: e for t, e in zip(TRANSPORTS, (node, network)) if e is not None}
            stack = make(numbered(label, stacks), [cc], [], kind, env)
            if settle(stack, launchers_of(cc, kind, ours), args, directory):
                stacks.append(stack)
                print(f"{stack.name}: {vendor}, {cc}, {stack.launcher[0]}", file=sys.stderr, flush=True)
    return stacks


def find(make, ours, prefixes, names, directory):
    """All stacks beside ours, made by make (Stack or a class of it): OpenSHMEMs, then MPIs for tagged messages."""
    where = (prefixes, names)
    found = find_kind(make, "oshcc", OPENSHMEM, ours, where, directory)
    return found + find_kind(make, "mpicc", MPI, ours, where, directory)


def find_ours(prefixes, directory):
    """(oshcc, oshrun) of the first Fulmar: of ./build, the prefixes, PATH; None without one."""
    built = os.path.join(HERE, "..", "build", "src", "tools", "oshcc")
    for cc in [built, *wrappers("oshcc", prefixes)]:
        launcher = os.path.join(os.path.dirname(cc), "oshrun" + os.path.basename(cc)[len("oshcc"):])
        if os.access(launcher, os.X_OK) and re.search("fulmar", vendor_of(cc, "oshcc", directory), re.I):
            return cc, launcher
    return None

"""Plot a job as SVG: bytes between each pair of PEs, time by PE and family of operations, and a timeline.

usage: plot.py PICTURE FILE..., run by oshinfo --plot. Each FILE is statistics (SHMEM_STATS) or a trace (SHMEM_TRACE). With
both, bytes come from the statistics and times from the trace. Coordinates are pixels of a page that is PAGE wide.
"""
import array
import json
import math
import os
import subprocess
import sys

PAGE, LEFT, TOP, SQUARE, BARS_LEFT, BARS_WIDE = 1160, 80, 96, 440, 720, 380
CELLS, LANES, COLUMNS = 256, 256, 1040  # the resolution: neighbouring PEs of larger jobs share a cell or a lane
LINE_TALL = 512  # of the timeline with many lanes
COLOURS = {  # safe for colour blindness
    "put": "#0072b2", "get": "#56b4e9", "atomic": "#d55e00", "signal": "#f5a623", "collective": "#009e73", "barrier": "#cc79a7",
    "wait": "#9a9a9a", "lock": "#e8d80c", "order": "#5b4a8a", "memory": "#6b4226",
}
FAMILIES = list(COLOURS)
INDEX = {name: k for k, name in enumerate(FAMILIES)}
TO_NONE, TO_ALL = -1, -2


def fail(text, status=1):
    print(f"oshinfo: {text}", file=sys.stderr)
    sys.exit(status)


# ---- files --------------------------------------------------------------------------------------------------------


class Files:
    """The data of the files. Events are columns of numbers, because a trace has millions."""

    def __init__(self):
        self.n_pes, self.traces, self.stats = 0, 0, []
        self.pe, self.family, self.to = array.array("i"), array.array("b"), array.array("i")
        self.start_us, self.took_us, self.bytes = array.array("d"), array.array("d"), array.array("d")
        self.of_kernel = array.array("b")  # a request: it takes no time of the program

    def keep(self, item):
        """The parser calls this for every object: keep an event as numbers and drop the object."""
        family = INDEX.get(item.get("cat")) if item.get("ph") == "X" else None
        if family is None:
            return None if item.get("ph") in ("X", "s", "f", "M") else item  # kernels, arrows, names
        args = item["args"]
        self.pe.append(item["pid"])
        self.family.append(family)
        self.to.append(args.get("to", TO_ALL if args.get("to_all") else TO_NONE))
        self.start_us.append(item["ts"])
        self.took_us.append(item["dur"])
        self.bytes.append(args["bytes"])
        self.of_kernel.append(args.get("by") == "ring")
        return None

    def read(self, path):
        with open(path, encoding="latin-1") as f:
            value = json.load(f, object_hook=self.keep)
        for item in value if isinstance(value, list) else [value]:
            if "traceEvents" in item:
                self.traces += 1
                self.n_pes = max(self.n_pes, item["otherData"]["n_pes"])
            else:
                self.stats.append(item)
                self.n_pes = max(self.n_pes, item["n_pes"], item["pe"] + 1)


class Summary:
    def __init__(self, files):
        self.n_pes = n = files.n_pes
        self.a_cell, self.a_lane = -(-n // CELLS), -(-n // LANES)  # PEs that share one
        self.cells, self.lanes = -(-n // self.a_cell), -(-n // self.a_lane)
        self.bytes = 0
        self.sent = [[0.0] * self.cells for _ in range(self.cells)]  # bytes from the row's PEs to the column's
        self.spent = [[0.0] * len(FAMILIES) for _ in range(self.lanes)]  # seconds, mean of the lane's PEs
        self.total = [0.0] * n  # seconds, of each PE
        self.busy = [[None] * COLUMNS for _ in range(self.lanes)]  # seconds by family, in each column of the timeline
        first = min(files.start_us, default=0) * 1e-6
        self.span_s = max(map(float.__add__, files.start_us, files.took_us), default=0) * 1e-6 - first
        self.has_line = self.span_s > 0
        for stats in files.stats:
            self.add_stats(stats, not files.traces)
        if self.has_line:
            self.add_events(files, first)
        else:
            self.span_s = max(stats["ns"] for stats in files.stats) * 1e-9

    def members(self, lane):
        return range(lane * self.a_lane, min((lane + 1) * self.a_lane, self.n_pes))

    def add_spent(self, pe, family, seconds):
        self.total[pe] += seconds
        lane = pe // self.a_lane
        self.spent[lane][family] += seconds / len(self.members(lane))

    def add_bytes(self, of, to, family, count):
        """A get moves its bytes from its target."""
        if 0 <= of < self.n_pes and 0 <= to < self.n_pes:
            of, to = (to, of) if family == INDEX["get"] else (of, to)
            self.sent[of // self.a_cell][to // self.a_cell] += count
            self.bytes += count

    def add_stats(self, stats, with_times):
        for name, counter in stats["families"].items():
            if with_times:
                self.add_spent(stats["pe"], INDEX[name], counter["ns"] * 1e-9)
        for target in stats["to"]:
            for name, counter in target.items():
                if name != "pe":
                    self.add_bytes(stats["pe"], target["pe"], INDEX[name], counter["bytes"])

    def add_events(self, files, first):
        n, column_s = self.n_pes, self.span_s / COLUMNS
        to_all = [0.0] * n
        for pe, family, to, start, took, count, of_kernel in zip(files.pe, files.family, files.to, files.start_us, files.took_us,
                                                                 files.bytes, files.of_kernel):
            if not 0 <= pe < n:
                continue
            if not of_kernel:
                self.add_time(self.busy[pe // self.a_lane], family, start * 1e-6 - first, took * 1e-6, column_s)
                self.add_spent(pe, family, took * 1e-6)
            if to >= 0 and not files.stats:
                self.add_bytes(pe, to, family, count)
            elif to == TO_ALL:
                to_all[pe] += count
        if not files.stats:
            self.add_to_all(to_all)

    @staticmethod
    def add_time(busy, family, at, took, column_s):
        column, end = int(at / column_s), at + took
        while column < COLUMNS and column * column_s <= end:
            seconds = busy[column]
            if seconds is None:
                seconds = busy[column] = [0.0] * len(FAMILIES)
            seconds[family] += min(end, (column + 1) * column_s) - max(at, column * column_s)
            column += 1

    def add_to_all(self, to_all):
        """A trace does not record the team of a collective: take the world."""
        members = [0] * self.cells
        for pe in range(self.n_pes):
            members[pe // self.a_cell] += 1
        for pe, count in enumerate(to_all):
            own = pe // self.a_cell
            if count:
                self.bytes += count * (self.n_pes - 1)
                self.sent[own] = [v + count * (members[c] - (c == own)) for c, v in enumerate(self.sent[own])]


# ---- pieces -------------------------------------------------------------------------------------------------------


def box(x, y, wide, tall, fill, opacity=1):
    pale = f' fill-opacity="{opacity:.2f}"' if opacity < 1 else ""
    return f'<rect x="{x:.2f}" y="{y:.2f}" width="{wide:.2f}" height="{tall:.2f}" fill="{fill}"{pale}/>'


def frame(x, y, wide, tall):
    return f'<rect x="{x:.2f}" y="{y:.2f}" width="{wide:.2f}" height="{tall:.2f}" fill="none" stroke="#888"/>'


def label(x, y, anchor, kind, text, more=""):
    """kind: s small, m normal, h heading, t title."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}"{more}>{text}</text>'


def size_text(count):
    units = " KMGTPE"
    u = 0
    while count >= 1000 and u + 1 < len(units):
        count, u = count / 1024, u + 1
    return f"{count:.3g} {units[u]}iB" if u else f"{count:.0f} B"


def time_text(s):
    return "0" if s == 0 else f"{s * 1e6:.3g} µs" if s < 1e-3 else f"{s * 1e3:.3g} ms" if s < 1 else f"{s:.3g} s"


def marks(most, limit):
    """Round values from 0 to most, not many more than `limit` of them."""
    step = 10 ** math.floor(math.log10(most / limit))
    while most / step > limit:
        step *= 10 if most / step > 5 * limit else 5 if most / step > 2 * limit else 2
    return [i * step for i in range(int(most * 1.001 / step) + 1)]


def pe_marks(job, share, pitch, x, y, down):
    """Label rows (left) or columns (below) of `share` PEs each with round PE numbers."""
    every = next(m * 10**k for k in range(9) for m in (1, 2, 5) if job.n_pes <= 16 * m * 10**k)
    for pe in range(0, job.n_pes, every):
        at = (pe // share + 0.5) * pitch
        yield label(x - 6, y + at + 4, "end", "s", f"{pe}") if down else label(x + at, y + 15, "middle", "s", f"{pe}")


def legend(job, x, y):
    for k, name in enumerate(FAMILIES):
        if any(spent[k] for spent in job.spent):
            yield box(x, y - 10, 12, 12, COLOURS[name])
            yield label(x + 17, y, "start", "m", name)
            x += 30 + 7.2 * len(name)


# ---- plots --------------------------------------------------------------------------------------------------------


def shade(v):
    """The colour for v from 0 to 1: light to dark blue."""
    low, middle, high = (222, 235, 247), (66, 146, 198), (8, 38, 90)
    a, b, at = (low, middle, 2 * v) if v < 0.5 else (middle, high, 2 * v - 1)
    return "#" + "".join(f"{int(p + at * (q - p)):02x}" for p, q in zip(a, b))


def matrix(job):
    """The scale is logarithmic, over one to six decades; its top is the largest value."""
    pitch = SQUARE / job.cells
    counts = [count for row in job.sent for count in row if count > 0]
    top = math.log10(max(counts, default=1))
    bottom = min(max(math.log10(min(counts, default=1)), top - 6), top - 1)
    yield label(LEFT, TOP - 12, "start", "h", "Bytes from PE to PE")
    for i, row in enumerate(job.sent):
        for j, count in enumerate(row):
            if count > 0:
                x, y, v = LEFT + j * pitch, TOP + i * pitch, max(0, (math.log10(count) - bottom) / (top - bottom))
                yield box(x, y, pitch + 0.05, pitch + 0.05, shade(v))
                if job.cells <= 8:
                    ink = ' fill="#fff"' if v > 0.45 else ' fill="#222"'
                    yield label(x + pitch / 2, y + pitch / 2 + 4, "middle", "s", size_text(count), ink)
    yield frame(LEFT, TOP, SQUARE, SQUARE)
    yield from pe_marks(job, job.a_cell, pitch, LEFT, TOP, True)
    yield from pe_marks(job, job.a_cell, pitch, LEFT, TOP + SQUARE, False)
    yield label(LEFT + SQUARE / 2, TOP + SQUARE + 34, "middle", "m", "to PE")
    turn = f"translate({LEFT - 34} {TOP + SQUARE // 2}) rotate(-90)"
    yield f'<text transform="{turn}" text-anchor="middle" class="m">from PE</text>'
    for i in range(64):
        yield box(LEFT + SQUARE + 18, TOP + SQUARE - (i + 1) * SQUARE / 64, 14, SQUARE / 64 + 0.5, shade(i / 63))
    yield frame(LEFT + SQUARE + 18, TOP, 14, SQUARE)
    for i in range(5):
        text = size_text(10 ** (bottom + (top - bottom) * i / 4))
        yield label(LEFT + SQUARE + 37, TOP + SQUARE * (1 - i / 4) + 4, "start", "s", text)


def bars(job):
    pitch = SQUARE / job.lanes
    most = max(1e-9, max(job.total))
    thick = min(pitch * 0.78 if pitch > 3 else pitch, 48)
    heading = "Time in the library, by PE" if job.a_lane == 1 else f"Time in the library, mean of {job.a_lane} PEs"
    yield label(BARS_LEFT, TOP - 12, "start", "h", heading)
    for s in marks(most, 5):
        x = BARS_LEFT + s / most * BARS_WIDE
        yield f'<path d="M{x:.1f} {TOP}V{TOP + SQUARE}" stroke="#ddd"/>'
        yield label(x, TOP + SQUARE + 15, "middle", "s", time_text(s))
    for i, spent in enumerate(job.spent):
        x = BARS_LEFT
        for name, s in zip(FAMILIES, spent):
            wide = s / most * BARS_WIDE
            if wide > 0:
                yield box(x, TOP + (i + 0.5) * pitch - thick / 2, wide, thick, COLOURS[name])
            x += wide
        if job.a_lane > 1:  # the PEs' range
            ends = [f(job.total[pe] for pe in job.members(i)) / most * BARS_WIDE + BARS_LEFT for f in (min, max)]
            yield f'<path d="M{ends[0]:.1f} {TOP + (i + 0.5) * pitch:.1f}H{ends[1]:.1f}" stroke="#000"/>'
    yield frame(BARS_LEFT, TOP, BARS_WIDE, SQUARE)
    yield from pe_marks(job, job.a_lane, pitch, BARS_LEFT, TOP, True)
    low, high = (f(range(job.n_pes), key=job.total.__getitem__) for f in (min, max))
    text = f"least: PE {low}, {time_text(job.total[low])}; most: PE {high}, {time_text(job.total[high])}"
    text += "; line: least to most" if job.a_lane > 1 else ""
    yield label(BARS_LEFT + BARS_WIDE / 2, TOP + SQUARE + 34, "middle", "m", text)


def look(job, seconds):
    """The colour and opacity of a lane's column: of the family with the most time, in quarters of the column's time."""
    if not seconds or max(seconds) <= 0:
        return None
    quarters = math.ceil(4 * sum(seconds) / (job.span_s / COLUMNS * job.a_lane))
    return COLOURS[FAMILIES[seconds.index(max(seconds))]], min(max(quarters, 1), 4) / 4


def timeline(job, y, pitch):
    whose = "each PE's" if job.a_lane == 1 else f"of {job.a_lane} PEs, the"
    yield label(LEFT, y - 12, "start", "h", f"Timeline: {whose} main activity; pale where {'it' if job.a_lane == 1 else 'they'} computed meanwhile")
    gap = 1 if pitch >= 4 else 0
    for i, busy in enumerate(job.busy):
        looks = [look(job, seconds) for seconds in busy] + [0]  # 0 ends the last run
        start = 0
        for c in range(COLUMNS):
            if looks[c + 1] != looks[c]:
                if looks[c]:
                    yield box(LEFT + start, y + i * pitch + gap, c + 1 - start, pitch - 2 * gap, *looks[c])
                start = c + 1
    yield frame(LEFT, y, COLUMNS, pitch * job.lanes)
    yield from pe_marks(job, job.a_lane, pitch, LEFT, y, True)
    for s in marks(job.span_s, 10):
        yield label(LEFT + s / job.span_s * COLUMNS, y + pitch * job.lanes + 15, "middle", "s", time_text(s))


def page(job):
    line, pitch = TOP + SQUARE + 100, min(max(LINE_TALL / job.lanes, 2), 26)
    tall = line + pitch * job.lanes + 40 if job.has_line else line - 30
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{PAGE}" height="{tall:.0f}" viewBox="0 0 {PAGE} {tall:.0f}" '
           'font-family="DejaVu Sans,Verdana,Arial,sans-serif">')
    yield ("<style>.s{font-size:11px}.m{font-size:13px}.h{font-size:15px;font-weight:bold}.t{font-size:20px;font-weight:bold}"
           '</style>\n<rect width="100%" height="100%" fill="#fff"/>')
    pes = f"{job.n_pes} PE{'s' if job.n_pes > 1 else ''}"
    yield label(LEFT, 40, "start", "t", f"{pes} moved {size_text(job.bytes)} in {time_text(job.span_s)}")
    yield from matrix(job)
    yield from bars(job)
    yield from legend(job, LEFT, TOP + SQUARE + 62)
    if job.has_line:
        yield from timeline(job, line, pitch)
    yield "</svg>\n"


def convert(svg, picture):
    try:
        done = subprocess.run(["rsvg-convert"], input=svg, stdout=subprocess.PIPE, check=False)
    except FileNotFoundError:
        fail(f"{picture}: a PNG needs rsvg-convert (package librsvg2-bin); .svg works without")
    if done.returncode:
        fail(f"{picture}: rsvg-convert failed")
    return done.stdout


def main(picture, *paths):
    if not picture.endswith((".svg", ".png")):
        fail(f"{picture}: the picture's name must end in .svg or .png", 2)
    files, path = Files(), ""
    try:
        for path in paths:
            files.read(path)
        job = Summary(files)
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    except MemoryError:
        fail("out of memory")
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        fail(f"{path}: not a file of SHMEM_STATS or SHMEM_TRACE ({error})")
    svg = "\n".join(page(job)).encode()
    data = convert(svg, picture) if picture.endswith(".png") else svg
    try:
        with os.fdopen(os.open(picture, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as f:
            f.write(data)
    except OSError as error:
        fail(f"{picture}: {error.strerror}")


main(*sys.argv[1:])

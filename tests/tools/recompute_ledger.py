"""The ledger and the verdict of a run, recomputed from the events of the csv sink; for recompute_tables.py.

The definitions are those of core/ledger/ledger.h and verdict.h, from which the thresholds are read. The C code paints
sorted lists over what the lists before have left; here, every piece of time between two boundaries looks up its owner.
"""
import collections
import math
import os
import re

from csv_run import divide, merged

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "core", "ledger")


def thresholds(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return {key: float(value) for key, value in re.findall(r"(?m)^#define (\w+) ([0-9.]+)$", file.read())}


LEDGER, VERDICT = thresholds("ledger.h"), {**thresholds("verdict.h"), **thresholds("verdict_repeat.h")}
# In order: what an earlier one owns, no later one gets.
OWNERS = ["serialised", "passes", "compute", "temporaries", "tiny_kernels", "copy_read", "copy_late", "copy_pageable",
          "copy_pinned", "copy_device", "profiler", "allocator", "launch_gap", "device_side", "profiler", "input_io",
          "input_cpu", "input_handover", "allocator", "measurement", "forced_sync", "host_compute", "forced_sync",
          "measurement", "transfer", "transfer", "launch", "measurement", "unknown"]
CAUSES = ["serialised", "passes", "compute", "temporaries", "tiny_kernels", "copy_read", "copy_late", "copy_pageable",
          "copy_pinned", "copy_device", "profiler", "launch_gap", "device_side", "input_io", "input_cpu",
          "input_handover", "allocator", "measurement", "host_compute", "forced_sync", "transfer", "launch", "unknown"]
VERDICTS = {"input_bound": ["input_io", "input_cpu", "input_handover", "copy_late"],
            "forced_sync": ["forced_sync", "copy_read"],
            "launch_bound": ["launch", "launch_gap", "tiny_kernels"],
            "allocator": ["allocator", "temporaries"],
            "pageable_copy": ["copy_pageable", "transfer"], "pinned_copy": ["copy_pinned"],
            "host_compute": ["host_compute"], "serial_streams": ["serialised"], "device_side": ["device_side"],
            "small_batch": ["passes", "launch", "launch_gap"], "profiler": ["profiler"]}


def names():
    """What a verdict is called in a sentence: its words before the colon."""
    with open(os.path.join(FOLDER, "verdict.h"), encoding="utf-8") as file:
        return {key: text.split(":")[0] for key, text in re.findall(r'(?m)^  X\((\w+), "(.*?)"\)', file.read())}


NAMES = names()


def span(item):
    return item.start_ns, item.end_ns


def holding(spans, at):
    return next((one for one in spans if one[0] <= at < one[1]), None)


def intersection(a, b):
    return [(max(x[0], y[0]), min(x[1], y[1])) for x in a for y in b if x[0] < y[1] and y[0] < x[1]]


def gaps(spans, start, end):
    """What the merged spans leave of [start, end)."""
    edges = [start] + [edge for one in spans if one[1] > start and one[0] < end for edge in one] + [end]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2]) if b > a]


def waves(count):
    return math.ceil(count - 1e-4) if count > 1 else 1


class Ledger:
    def __init__(self, run):
        suffix = "CUDA_NS" if run.is_cuda else "OTHER_NS"
        self.run = run
        self.tiny, self.latency, self.gap = (LEDGER[f"LEDGER_{key}_{suffix}"] for key in ("TINY", "LATENCY", "GAP"))
        self.loop = next(item.tid for item in run.ranges if item.kind == "profiler_step")
        self.calls = [call for call in run.calls if call.tid == self.loop]
        self.train = merged([span(item) for item in run.ranges
                             if item.tid == self.loop and item.kind == "user_annotation" and item.name == "train_step"])
        self.work = {}  # of each call, its first record
        for record in run.records:
            first = self.work.get(record.call)
            if record.call is not None and (first is None or record.start_ns < first.start_ns):
                self.work[record.call] = record
        self.lists = [[] for _ in OWNERS]
        self.blocking_steps = set()
        self.blocking = self.allocations = self.allocated_bytes = 0
        forward = [item for item in run.ranges if item.tid == self.loop and item.kind == "user_annotation" and
                   item.name == "forward" and item.step is not None]
        self.passes = len(forward) // len(run.steps)
        self.streams()
        self.several_passes()
        self.device()
        self.input()
        self.host()
        self.steps = divide(run.steps, [merged(spans) for spans in self.lists])
        self.steps = [{cause: sum(cells[i] for i, owner in enumerate(OWNERS) if owner == cause) for cause in CAUSES}
                      for cells in self.steps]

    def add(self, owner, *spans, which=0):
        at = [i for i, name in enumerate(OWNERS) if name == owner][which]
        self.lists[at] += [one for one in spans if one[1] > one[0]]

    def part_of(self, event):
        return self.run.ranges[event.range].part if event.range is not None else ""

    def alive(self):
        """When memory lives that its step makes and frees outside the model's parts."""
        spans = []
        events = sorted(enumerate(self.run.memory), key=lambda item: (item[1].address, item[1].ts_ns, item[0]))
        for (_, made), (_, freed) in zip(events, events[1:]):
            if (made.address == freed.address and made.bytes > 0 > freed.bytes and made.device_type == "device" and
                    made.step is not None and made.step == freed.step and not self.part_of(made)):
                self.allocations += 1
                self.allocated_bytes += made.bytes
                spans.append((made.ts_ns, freed.ts_ns))
        return merged(spans)

    def streams(self):
        """Kernels that run while the first kernel behind an event wait does not, up to what each step would save."""
        behind, waiting, found = set(), None, []
        for call in self.run.calls:
            if getattr(call, "class") == "stream_wait":
                waiting = call.tid
            elif call.index in self.work and call.tid == waiting:
                behind.add(call.index)
                waiting = None
        busy = {stream: merged([span(one) for one in self.run.kernels if one.stream == stream])
                for stream in {one.stream for one in self.run.kernels}}
        last = {}
        for record in sorted(self.run.records, key=lambda one: one.start_ns):
            if record.call is None:
                continue
            start = max(self.run.calls[record.call].end_ns, last.get(record.stream, 0))
            if record.kind == "kernel" and record.call in behind and record.start_ns - start > self.latency:
                found += [one for stream in busy if stream != record.stream
                          for one in intersection([(start, record.start_ns)], busy[stream])]
            last[record.stream] = max(record.end_ns, last.get(record.stream, 0))
        found, together = merged(found), merged([one for spans in busy.values() for one in spans])
        for start, end, _ in self.run.steps:
            within = {stream: sum(b - a for a, b in intersection([(start, end)], spans))
                      for stream, spans in busy.items()}
            left = sum(b - a for a, b in intersection([(start, end)], together)) - max(within.values(), default=0)
            for a, b in intersection([(start, end)], found):
                b = min(b, a + left)
                self.add("serialised", (a, b))
                left -= b - a

    def several_passes(self):
        """What each kernel would not need with one pass through the model."""
        for kernel in self.run.kernels if self.passes > 1 else []:
            op = self.run.ranges[kernel.range] if kernel.range is not None else None
            if op and op.name == "aten::add_" and op.part == "backward":
                self.add("passes", span(kernel))
            else:
                length = kernel.end_ns - kernel.start_ns
                fixed = min(length, self.tiny)
                full = kernel.waves is None or kernel.waves < 0  # as far as is known
                rest = 1 if full else waves(self.passes * kernel.waves) / (self.passes * waves(kernel.waves))
                kept = fixed / self.passes + (length - fixed) * rest
                self.add("passes", (kernel.start_ns + int(kept), kernel.end_ns))

    def device(self):
        alive, queued, temporaries = self.alive(), [], set()
        of_kernels = {kernel.stream for kernel in self.run.kernels}
        for record in self.run.records:
            call = self.run.calls[record.call] if record.call is not None else None
            if record.kind == "kernel":
                owner = "tiny_kernels" if record.end_ns - record.start_ns < self.tiny else "compute"
                if call and holding(alive, call.start_ns) and not (record.range is not None and self.part_of(record)):
                    owner = "temporaries"
                    temporaries.add(record.start_ns)
            else:
                copied = record.kind == "memcpy"
                in_train = call and call.tid == self.loop and holding(self.train, call.start_ns)
                owner = ("copy_read" if copied and record.name.endswith("Pageable)") and in_train else
                         "copy_late" if copied and record.name.startswith("Memcpy HtoD (Pinned") and in_train and
                         self.run.copies_ahead and record.stream in of_kernels else
                         "copy_pageable" if copied and "Pageable" in record.name else
                         "copy_pinned" if copied and "Pinned" in record.name else "copy_device")
            self.add(owner, span(record))
            if call:
                queued.append((int(call.end_ns + self.latency), record.start_ns))
        self.add("profiler", *[span(item) for item in self.run.others if item.kind == "overhead"])
        queued = merged(queued)
        taken = merged([one for spans in self.lists for one in spans])
        for start, end in merged([step[:2] for step in self.run.steps]):
            short = intersection([one for one in gaps(taken, start, end) if one[1] - one[0] <= self.gap], queued)
            self.add("allocator", *[one for one in short if one[1] in temporaries])
            self.add("launch_gap", *short)
        self.add("device_side", *queued)

    def input(self):
        workers = [item for item in self.run.ranges if item.kind == "worker"]
        batches = sorted((item.end_ns, i) for i, item in enumerate(workers) if item.name == "DataLoader worker: batch")
        for wait in self.run.ranges:
            if wait.kind != "dataloader" or wait.tid != self.loop:
                continue
            self.add("input_handover", span(wait))
            ended = [i for end, i in batches if end <= wait.end_ns]
            if not ended or workers[ended[-1]].end_ns <= wait.start_ns:
                continue
            made = workers[ended[-1]]
            start = max(made.start_ns, wait.start_ns)
            self.add("input_cpu", (start, made.end_ns))
            for item in workers:
                if (item.name == "DataLoader worker: read" and item.tid == made.tid and
                        made.start_ns <= item.start_ns < made.end_ns):
                    self.add("input_io", (max(item.start_ns, start), item.end_ns))

    def copies(self, call, where):
        work = self.work.get(call.index)
        if getattr(call, "class") != "memcpy" or work is None or work.kind != "memcpy":
            return False
        return work.name.split("(")[1].rstrip(")").split(" -> ")[where] == "Pageable"

    def host(self):
        tail = None  # (from, limit, owner)
        for call in self.calls:
            kind, train = getattr(call, "class"), holding(self.train, call.start_ns)
            if call.index in self.work and not self.copies(call, 0):
                tail = self.end_tail(tail, self.work[call.index].start_ns)
            if kind in ("alloc", "free"):
                self.add("allocator", span(call), which=1)
            elif kind == "sync" or (train and self.copies(call, 1)):
                self.end_tail(tail, call.start_ns)
                owner = "forced_sync" if train else "measurement"
                tail = (call.end_ns, train[1] if train else self.run.steps[-1][1], owner)
                self.blocking += bool(train)
                if train:
                    self.blocking_steps |= {call.step} - {None}
                self.add(owner, span(call))
            elif self.copies(call, 0):
                self.end_tail(tail, call.start_ns)
                tail = (call.end_ns, train[1] if train else self.run.steps[-1][1], "transfer")
                self.add("transfer", span(call))
        self.end_tail(tail, self.run.steps[-1][1])
        for event in self.run.memory:
            if event.tid == self.loop:
                self.add("allocator", (event.ts_ns - event.allocator_ns, event.ts_ns), which=1)
        busy = merged([span(call) for call in self.calls])
        for start, end in self.train:
            self.add("host_compute", *[one for one in gaps(busy, start, end)
                                       if one[1] - one[0] >= LEDGER["LEDGER_HOST_COMPUTE_NS"]])
            self.add("launch", (start, end))
        for start, end, _ in self.run.steps:
            if any(start <= train[0] < end for train in self.train):
                self.add("measurement", (start, end), which=2)
            self.add("unknown", (start, end))

    def end_tail(self, tail, at):
        if tail:
            self.add(tail[2], (tail[0], min(at, tail[1])), which=1)


def time_of(row, verdict, passes):
    """What one pass would need of the launches is no small batch's."""
    if verdict == "small_batch":
        launches = row["launch"] + row["launch_gap"]
        return row["passes"] + launches - launches // passes if passes > 1 else 0
    return sum(row[cause] for cause in VERDICTS.get(verdict, ["compute", "copy_device"]))


def applying(ledger):
    none = {"device_side": not ledger.run.is_cuda, "launch_bound": ledger.passes > 1, "small_batch": ledger.passes < 2}
    return [name for name in VERDICTS if not none.get(name)]


def verdict_of(row, length, ledger):
    own = length - row["measurement"] - row["profiler"] - (0 if ledger.run.is_cuda else row["device_side"])
    times = {name: time_of(row, name, ledger.passes) for name in applying(ledger) if name != "profiler"}
    best = max(times, key=times.get)  # the first of equals
    limit = VERDICT["VERDICT_MIN_SHARE_CUDA" if ledger.run.is_cuda else "VERDICT_MIN_SHARE_OTHER"]
    if times[best] >= limit * own:
        return best if times[best] else "none"
    blocking = ledger.blocking_steps and len(ledger.blocking_steps) >= len(ledger.run.steps)
    if blocking and times["forced_sync"] >= VERDICT["VERDICT_MIN_SYNC_SHARE"] * own:
        return "forced_sync"
    if ledger.passes > 1 and times["small_batch"] >= VERDICT["VERDICT_MIN_PASSES_SHARE"] * own:
        return "small_batch"
    return "profiler" if row["profiler"] >= limit * own else "none"


def check_ledger(run, check):
    ledger = Ledger(run)
    total = {cause: sum(row[cause] for row in ledger.steps) for cause in CAUSES}
    rows = {cause: {"total": time, "per_step": time // len(run.steps), "share": 100 * time / run.steps_ns}
            for cause, time in total.items()}
    check.table(run, "ledger", rows, ("cause",))
    check.table(run, "ledger_steps", {str(step[2]): {"step_span": step[1] - step[0],
                                                     **{"ledger_" + cause: row[cause] for cause in CAUSES}}
                                      for step, row in zip(run.steps, ledger.steps)}, ("step",))
    check_verdict(run, check, ledger)


def first_judged(run):
    """The steps before it, of an unsynchronised run, begin while the device may work for the time before the window."""
    begins = min((record.start_ns for record in run.records if record.step is not None), default=0)
    return 0 if run.sync_timing else sum(start < begins for start, _, _ in run.steps)


def share_within_steps(run):
    work = merged([span(record) for record in run.records if record.step is not None])
    length = sum(end - start for start, end in work)
    within = intersection(work, merged([step[:2] for step in run.steps]))
    return sum(end - start for start, end in within) / length if length else 1


def random_bits(state):
    """splitmix64: the next number of each state that a seed leads to."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        yield z ^ (z >> 31)


def agreeing_draws(ordered, spans, ledger, cause):
    """How often as many of the steps, drawn with repetition and without their slowest eighth, give this verdict."""
    count, bits, agree = len(ordered), random_bits(int(VERDICT["VERDICT_SEED"])), 0
    draws = int(min(max(VERDICT["VERDICT_STEPS_DRAWN"] // count, VERDICT["VERDICT_LEAST_DRAWS"]),
                    VERDICT["VERDICT_DRAWS"]))
    for _ in range(draws):
        drawn = sorted(next(bits) % count for _ in range(count))[:count - count // int(VERDICT["VERDICT_TRIM"])]
        times = collections.Counter(drawn)
        row = {c: sum(n * ledger.steps[ordered[rank]][c] for rank, n in times.items()) for c in CAUSES}
        agree += verdict_of(row, sum(n * spans[ordered[rank]] for rank, n in times.items()), ledger) == cause
    return agree, draws


TIMES, BYTES = (1, 1e3, 1e6, 1e9), (1, 1024, 1024**2, 1024**3, 1024**4)


def scaled(value, scales):
    """The figure, without its unit, that pdhost/quantity.h prints: three significant digits of 1 to 999."""
    size = next((size for size in scales if value / size < 999.5), scales[-1])
    value /= size
    decimals = 0 if size == 1 or value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{value:.{decimals}f}"


def check_verdict(run, check, ledger):
    first = first_judged(run)
    count = len(run.steps) - first
    if count < VERDICT["VERDICT_MIN_STEPS"] or (
            not run.sync_timing and share_within_steps(run) < VERDICT["VERDICT_MIN_WITHIN"]):
        check.table(run, "verdict", {"withheld": {"verdict_share": None}}, ("verdict_cause",))
        return
    spans = [end - start for start, end, _ in run.steps]
    ordered = sorted(range(first, len(run.steps)), key=lambda s: (spans[s], s))
    kept = ordered[:count - count // int(VERDICT["VERDICT_TRIM"])]
    length = sum(spans[s] for s in kept)
    row = {cause: sum(ledger.steps[s][cause] for s in kept) for cause in CAUSES}
    cause = verdict_of(row, length, ledger)
    time = time_of(row, cause, ledger.passes)
    length -= row["profiler"]
    # A captured step is launched as one.
    saved = row["launch"] + row["launch_gap"] if cause == "launch_bound" and run.is_cuda else time
    agree, draws = agreeing_draws(ordered, spans, ledger, cause)
    others = {name: time_of(row, name, ledger.passes) for name in applying(ledger) if name not in (cause, "profiler")}
    second = max(others, key=others.get)
    want = {"verdict_share": 100 * time / (length + (time if cause == "profiler" else 0)),
            "verdict_repeatable": 100 * agree / draws,
            "verdict_step": length // len(kept),
            "verdict_expected": (length - saved) // len(kept) if cause != "none" else None,
            "verdict_not": "; ".join(
                [f"{NAMES[second]} ({100 * others[second] / length:.1f} %)"] +
                ([f"kernels take {100 * row['compute'] / length:.1f} %"]
                 if cause != "none" and 100 * row["compute"] / length >= 1 else []) +
                ([f"the measurement's synchronisations take {100 * row['measurement'] / length:.1f} %"]
                 if 100 * row["measurement"] / length >= 1 else []))}
    check.table(run, "verdict", {cause: want}, ("verdict_cause",))
    # The evidence is a sentence; its figures are those of the rows, in the order of its words. Counts are of all steps.
    steps = len(run.steps)
    text = run.table("verdict")[0][0]["verdict_evidence"]
    launches = sum(int(step["launches"]) for step in run.table("active_steps")[0])
    each = {name: scaled(row[name] / len(kept), TIMES) for name in CAUSES}
    figures = {"input_bound": [scaled((time - row["copy_late"]) / len(kept), TIMES), each["input_io"], each["input_cpu"],
                               each["input_handover"]] + ([each["copy_late"]] if row["copy_late"] else []),
               "forced_sync": [f"{ledger.blocking / steps:.4g}", each["forced_sync"], each["copy_read"]],
               "allocator": [f"{ledger.allocations / steps:.4g}", scaled(ledger.allocated_bytes / steps, BYTES),
                             each["temporaries"], each["allocator"]],
               "launch_bound": [f"{launches / count:.4g}", each["launch"], each["launch_gap"], each["tiny_kernels"]],
               "small_batch": [f"{ledger.passes}", f"{launches / count:.4g}", each["passes"],
                               scaled((time - row["passes"]) / len(kept), TIMES)],
               "serial_streams": [each["serialised"]],
               "pageable_copy": [each["copy_pageable"], each["transfer"]]}
    if cause in figures:
        check.same("verdict.evidence", " ".join(re.findall(r"\d+(?:\.\d+)?", text)), " ".join(figures[cause]))

"""The ledger and the verdict of a run, recomputed from the events of the csv sink; for recompute_tables.py.

The definitions are those of core/ledger/ledger.h, verdict.h and gains.h, from which the thresholds are read. The C code paints
sorted lists over what the lists before have left; here, every piece of time between two boundaries looks up its owner.
"""
import collections
import math
import os
import re

from csv_run import divide, merged

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "core", "ledger")


def thresholds(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return {key: float(value) for key, value in re.findall(r"(?m)^#define (\w+) ([0-9.]+)$", file.read())}


LEDGER, VERDICT, GAINS = thresholds("ledger.h"), thresholds("verdict.h"), thresholds("gains.h")
WEIGHTS_ROWS = thresholds(os.path.join("..", "facts", "weights.h"))["WEIGHTS_ROWS"]
# In order: what an earlier one owns, no later one gets.
OWNERS = ["serialised", "passes", "compute", "temporaries", "tiny_kernels", "copy_read", "copy_late", "copy_pageable",
          "copy_pinned", "copy_device", "communication", "profiler", "allocator", "launch_gap", "device_side", "profiler", "input_io",
          "input_cpu", "input_handover", "allocator", "measurement", "forced_sync", "host_compute", "forced_sync",
          "measurement", "transfer", "transfer", "launch", "measurement", "unknown"]
CAUSES = ["serialised", "passes", "compute", "temporaries", "tiny_kernels", "copy_read", "copy_late", "copy_pageable",
          "copy_pinned", "copy_device", "communication", "profiler", "launch_gap", "device_side", "input_io", "input_cpu",
          "input_handover", "allocator", "measurement", "host_compute", "forced_sync", "transfer", "launch", "unknown"]

def names():
    """What a verdict is called in a sentence: its words before the colon."""
    with open(os.path.join(FOLDER, "verdict.h"), encoding="utf-8") as file:
        return {key: text.split(":")[0] for key, text in re.findall(r'(?m)^  X\((\w+), "(.*?)"', file.read())}


NAMES = names()


def is_communication(name):
    return name.startswith(("nccl", "gloo:", "mpi:", "tcp:")) or "ncclKernel" in name or "ncclDevKernel" in name


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


def weights_share(kernel, op):
    """The weights of a matrix product or a convolution take as long as WEIGHTS_ROWS rows of it."""
    if not op or not ("gemm" in kernel.name or "conv2d" in kernel.name):
        return 0
    shapes = [[int(size) for size in shape.split()] for shape in re.findall(r"\[([^]]*)\]", op.input_shapes)]
    first = next((shape for shape in shapes if len(shape) >= 2), [])
    rows = first[0] if len(first) == 2 else first[0] * first[2] * first[3] if len(first) == 4 else 0
    return WEIGHTS_ROWS / (WEIGHTS_ROWS + rows) if rows else 0


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
        self.kernels = [kernel for kernel in run.kernels if not is_communication(kernel.name)]
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
        busy = {stream: merged([span(one) for one in self.kernels if one.stream == stream])
                for stream in {one.stream for one in self.kernels}}
        last = {}
        for record in sorted(self.run.records, key=lambda one: one.start_ns):
            if record.call is None:
                continue
            start = max(self.run.calls[record.call].end_ns, last.get(record.stream, 0))
            if record.kind == "kernel" and not is_communication(record.name) and record.call in behind and record.start_ns - start > self.latency:
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
        for kernel in self.kernels if self.passes > 1 else []:
            op = self.run.ranges[kernel.range] if kernel.range is not None else None
            if op and op.name == "aten::add_" and op.part == "backward":
                self.add("passes", span(kernel))
            else:
                length = kernel.end_ns - kernel.start_ns
                fixed = min(length, self.tiny) if self.run.is_cuda else length * weights_share(kernel, op)
                full = kernel.waves is None or kernel.waves < 0  # as far as is known
                rest = 1 if full else waves(self.passes * kernel.waves) / (self.passes * waves(kernel.waves))
                kept = fixed / self.passes + (length - fixed) * rest
                self.add("passes", (kernel.start_ns + int(kept), kernel.end_ns))

    def device(self):
        alive, queued, temporaries = self.alive(), [], set()
        of_kernels = {kernel.stream for kernel in self.run.kernels}
        for record in self.run.records:
            call = self.run.calls[record.call] if record.call is not None else None
            if is_communication(record.name):
                owner = "communication"
            elif record.kind == "kernel":
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


def check_ledger(run, check):
    ledger = Ledger(run)
    total = {cause: sum(row[cause] for row in ledger.steps) for cause in CAUSES}
    rows = {cause: {"total": time, "per_step": time // len(run.steps), "share": 100 * time / run.steps_ns}
            for cause, time in total.items()}
    check.table(run, "ledger", rows, ("cause",))
    check.table(run, "ledger_steps", {str(step[2]): {"step_span": step[1] - step[0],
                                                     **{"ledger_" + cause: row[cause] for cause in CAUSES}}
                                      for step, row in zip(run.steps, ledger.steps)}, ("step",))
    check_verdict(run, check)


# Causes of which two may hide the same time: the one in whose time the device is idle is named.
ALIKE = ("input_bound", "forced_sync", "allocator", "pageable_copy", "host_compute")


def named_by(rows, limit):
    """The causes that the gains may lead to."""
    fit = [row for row in rows if row["gain"] >= 100 * limit and row["gain_low"] > 50 * limit]
    if not fit:
        return {"none", "profiler"}
    is_gpu = limit < 0.1  # where launching is ranked by what a graph saves
    best = max(fit, key=lambda row: row["gain_captured"] if is_gpu and row["removed_cause"] == "launch_bound" else row["gain"])
    return {best["removed_cause"]} | {row["removed_cause"] for row in fit
                                      if best["removed_cause"] in ALIKE and row["removed_cause"] in ALIKE
                                      and row["gain"] >= GAINS["GAINS_ALIKE"] * best["gain"]
                                      and row["gain_idle"] > best["gain_idle"]}


def judged_from(run):
    """Where the judged steps may begin: with the first, or behind it where it began with work of earlier ones."""
    return [run.steps[0][0]] + [run.steps[0][1]] * (len(run.steps) >= 3)


def check_verdict(run, check):
    """The gains lead to the verdict; what they are, tests/ledger/test_replay.c holds to a simulation of its own."""
    verdict = run.table("verdict")[0][0]
    cause = verdict["verdict_cause"]
    if len(run.steps) < VERDICT["VERDICT_MIN_STEPS"]:
        check.table(run, "verdict", {"withheld": {"verdict_share": None}}, ("verdict_cause",))
        return
    rows = [{key: row[key] if key == "removed_cause" else float(row[key]) for key in
             ("removed_cause", "gain", "gain_low", "gain_idle", "gain_step", "gain_captured")}
            for row in run.table("gains")[0] if " " not in row["removed_cause"]]
    limit = GAINS["GAINS_LEAST_CUDA" if run.is_cuda else "GAINS_LEAST_OTHER"]
    check.cells += 1
    if cause == "withheld":  # by the resamples, which are not drawn again here: the first of both is the gains' own
        named = named_by(rows, limit)
        firsts = tuple(f"withheld: {NAMES[name]} (" for name in named if name in NAMES)
        if "none" in named:  # most resamples have a cause that the mean of the steps does not
            firsts = tuple(f"withheld: {NAMES[row['removed_cause']]} ({row['gain']:.1f} %) or nothing: " for row in rows)
        if not (firsts and verdict["verdict"].startswith(firsts) and "differ too much" in verdict["verdict"]):
            check.errors.append(f"verdict: {verdict['verdict']}, but the gains lead to {sorted(named)}")
        check.table(run, "verdict", {"withheld": {"verdict_share": None}}, ("verdict_cause",))
        return
    if cause not in named_by(rows, limit):
        check.errors.append(f"verdict: {cause}, but the gains lead to {' or '.join(sorted(named_by(rows, limit)))}")
        return
    one = next((row for row in rows if row["removed_cause"] == cause), None)
    want = {"verdict_share": one["gain"] if one else float(verdict["verdict_share"]),
            "verdict_step": int(verdict["verdict_step"]),
            "verdict_repeatable": float(verdict["verdict_repeatable"]),
            "verdict_expected": int(one["gain_step"]) if one else None}
    if one and "train.cuda_graph=true" in (verdict["verdict_overrides"] or ""):  # the same kernels, however short
        want["verdict_expected"] = int(want["verdict_step"] * (1 - one["gain_captured"] / 100))
    others = sorted((row for row in rows if row is not one), key=lambda row: -row["gain"])[:3]
    said = [f"{NAMES[row['removed_cause']]} ({row['gain']:.1f} %)" for n, row in enumerate(others)
            if row["gain"] >= (1 if n else 0.05)]
    want["verdict_others"] = ", ".join(said) or "nothing else"
    if want["verdict_repeatable"] < 100:  # what a tenth of the resamples name is left out, and they are not written down
        listed = {f"{NAMES[row['removed_cause']]} ({row['gain']:.1f} %)" for row in rows if row is not one}
        if set(verdict["verdict_others"].split(", ")) <= listed | {"nothing else"}:
            want["verdict_others"] = verdict["verdict_others"]
    check.table(run, "verdict", {cause: want}, ("verdict_cause",))
    if cause == "none" and run.sync_timing:
        busy, end = merged([span(record) for record in run.records]), run.steps[-1][1]
        found = [100 * sum(max(0, min(b, end) - max(a, start)) for a, b in busy) / (end - start) for start in judged_from(run)]
        check.cells += 1
        if all(abs(float(verdict["verdict_share"]) - one) > 1 for one in found):
            check.errors.append(f"verdict: busy {verdict['verdict_share']} %, recomputed {found} %")

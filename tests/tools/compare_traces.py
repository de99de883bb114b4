"""Figures of traces that others have recorded: pdhost's, those of Holistic Trace Analysis and torch-tb-profiler, and what
the file itself says.
Usage: compare_traces.py [--all] PDHOST FILE ...

The tools and `pdhost analyze` read the same file. Compared is what they define alike, over the whole file: each kernel's
calls and time, each operation's calls and times, how long the device is idle and computes, and the marked steps with
their kernels, copies, sets and waits for the loader. A figure is equal within 0.1 %. For each file and tool a line says
how many are, and below it the first that are not, with --all every one. What a tool cannot read is said, too.

Which of two figures is right? The same are added up once more from the events of the JSON file, by the few lines of
FromFile. The exit status is 1 if a figure of pdhost's differs from that.
"""
import contextlib
import csv
import decimal
import glob
import gzip
import io
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else kernels below a microsecond have no duration

from hta.trace_analysis import TraceAnalysis  # noqa: E402
from torch_tb_profiler.profiler.data import RunProfileData  # noqa: E402
from torch_tb_profiler.profiler.overall_parser import ProfileRole  # noqa: E402
from torch_tb_profiler.profiler.run_generator import RunGenerator  # noqa: E402

from check_profiler_plugin import Operation, merge_only_children, operations, teach_last_source  # noqa: E402
from run_folder import union_ns  # noqa: E402

SHOWN = 4


class Read:
    """What pdhost writes of a file."""

    def __init__(self, pdhost, path, folder):
        done = subprocess.run([pdhost, "analyze", "-q", path, "--sink", f"csv:dir={folder}"], capture_output=True, text=True,
                              cwd=os.path.dirname(folder))
        if done.returncode:
            raise SystemExit(f"{path}: {done.stderr.strip()}")
        self.folder = folder
        self.many = not os.path.exists(os.path.join(folder, "steps.csv"))

    def csv(self, name, window=0):
        path = os.path.join(self.folder, name + (f".{window}.csv" if self.many else ".csv"))
        if not os.path.exists(path):
            return []
        with open(path, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file, strict=True))

    def all(self, name):
        """The rows of all windows: one for each device."""
        found = len(glob.glob(os.path.join(self.folder, "steps.*.csv"))) if self.many else 1
        return [row for window in range(found) for row in self.csv(name, window)]


class Compared:
    def __init__(self):
        self.count, self.unequal = 0, []

    def near(self, name, ours, theirs, absolute=0.0):
        self.count += 1
        if abs(ours - theirs) > max(1e-3 * max(abs(ours), abs(theirs)), absolute):
            self.unequal.append(f"{name}: {ours:.10g}, there {theirs:.10g}")

    def equal(self, name, ours, theirs):
        self.count += 1
        if ours != theirs:
            self.unequal.append(f"{name}: {ours}, there {theirs}")

    def each(self, what, ours, theirs, absolute=0.0):
        """Two mappings of names to numbers."""
        for name in sorted(set(ours) | set(theirs)):
            if name in ours and name in theirs:
                self.near(f"{what} {name[:60]}", ours[name], theirs[name], absolute)
            else:
                self.equal(f"{what} {name[:60]}", ours.get(name, "not read"), theirs.get(name, "not read"))


def spans(rows):
    return [(int(row["start_ns"]), int(row["end_ns"])) for row in rows]


DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver", "runtime")


def nanoseconds(value):
    return int((decimal.Decimal(value) * 1000).to_integral_value(decimal.ROUND_HALF_EVEN))


class FromFile:
    """The same figures from the events of the file."""

    def __init__(self, path):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", errors="replace") as file:
            events = json.load(file, parse_float=decimal.Decimal, strict=False)
        if isinstance(events, dict):
            events = events["traceEvents"]
        self.slices = [event for event in events if event.get("ph") == "X" and event.get("name") is not None]
        for event in self.slices:
            event["cat"] = {"Operator": "cpu_op", "Runtime": "runtime", "Kernel": "kernel", "Memcpy": "gpu_memcpy",
                            "Memset": "gpu_memset"}.get(event.get("cat"), event.get("cat"))
            event["from"] = nanoseconds(event["ts"])
            event["to"] = event["from"] + max(0, nanoseconds(event.get("dur", 0)))
        self.records = [event for event in self.slices if event["cat"] in DEVICE]
        self.kernels = [event for event in self.records if event["cat"] == "kernel"]

    def roots(self):
        """The operations' trees: what lies within another on its thread is its child."""
        device, threads, roots = {}, {}, []
        for event in self.records:
            key = event.get("args", {}).get("correlation")
            device[key] = device.get(key, 0) + event["to"] - event["from"]
        for event in self.slices:
            if event["cat"] in CALLS + ("cpu_op",) and not event["name"].startswith("ProfilerStep#"):
                threads.setdefault((event["pid"], event["tid"]), []).append(event)
        for events in threads.values():
            open_nodes = []
            for event in sorted(events, key=lambda event: (event["from"], -event["to"], event["cat"] in CALLS)):
                while open_nodes and open_nodes[-1][0] < event["to"]:
                    open_nodes.pop()
                above = open_nodes[-1][1] if open_nodes else None
                span = event["to"] - event["from"]
                if event["cat"] in CALLS:
                    if above:
                        above.called += span
                        above.launched += device.get(event.get("args", {}).get("correlation"), 0)
                    continue
                kind = "dataloader" if event["name"].startswith("enumerate(DataLoader)") else event["cat"]
                node = Operation({"name": event["name"], "kind": kind, "duration_ns": span})
                (above.children if above else roots).append(node)
                open_nodes.append((event["to"], node))
        return roots


def by_name(rows, of):
    out = {}
    for row in rows:
        out[row["name"]] = out.get(row["name"], 0) + of(row)
    return out


def microseconds(row):
    return (int(row["end_ns"]) - int(row["start_ns"])) / 1e3


def operation_figures(roots, merged):
    """For each name: calls, time, own time, device time, own device time; `merged` as torch-tb-profiler does."""
    out = {}

    def add(node):
        if node.is_operator():
            mine = (1, node.span / 1e3, node.own() / 1e3, node.device() / 1e3, node.launched / 1e3)
            out[node.name] = [a + b for a, b in zip(out.setdefault(node.name, [0] * 5), mine)]
        for child in node.children:
            add(child)

    for root in roots:
        if merged:
            merge_only_children(root)
        add(root)
    return out


OPERATION_FIGURES = ("calls of", "host time of", "own host time of", "device time of", "own device time of")


def compare_operations(ours, theirs, result):
    for place, what in enumerate(OPERATION_FIGURES):
        result.each(what, {name: of[place] for name, of in ours.items()}, {name: of[place] for name, of in theirs.items()}, 0.01)


def with_file(path, read, result):
    file = FromFile(path)
    spent = lambda event: (event["to"] - event["from"]) / 1e3  # noqa: E731
    result.each("time of", by_name(read.all("events/kernels") + read.all("events/copies"), microseconds),
                by_name(file.records, spent), 0.002)
    result.each("calls of", by_name(read.all("events/kernels"), lambda row: 1), by_name(file.kernels, lambda event: 1))
    compare_operations(operation_figures(operations(read, 0), False), operation_figures(file.roots(), False), result)
    union = lambda events: union_ns([(event["from"], event["to"]) for event in events])  # noqa: E731
    result.near("computing", union_ns(spans(read.all("events/kernels"))), union(file.kernels))
    result.near("busy", union_ns(spans(read.all("events/kernels") + read.all("events/copies"))), union(file.records))


def is_collective(row):
    return row["name"].startswith("nccl")


def with_hta(path, read, result):
    with tempfile.TemporaryDirectory() as folder:
        # It takes every json of a folder for another rank's trace: this one gets a folder of its own.
        shutil.copy(path, folder)
        analysis = TraceAnalysis(trace_dir=folder, include_last_profiler_step=True)
        kernels, copies = read.all("events/kernels"), read.all("events/copies")
        _, names = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=100000, duration_ratio=1.0)
        result.each("time of", by_name(kernels + copies, microseconds),
                    {row["name"]: float(row["sum (us)"]) for _, row in names.iterrows()}, 0.01)
        theirs = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        everything = spans(kernels) + spans(copies)
        busy, computing = union_ns(everything), union_ns(spans(row for row in kernels if not is_collective(row)))
        extent = max(end for _, end in everything) - min(start for start, _ in everything)
        for name, ours, key in (("first to last record", extent, "kernel_time(us)"), ("idle", extent - busy, "idle_time(us)"),
                                ("computing", computing, "compute_time(us)"),
                                ("copies and collectives alone", busy - computing, "non_compute_time(us)")):
            result.near(name, ours / 1e3, float(theirs[key]), 0.01)


def compare_steps(read, data, result):
    """Its step lasts until the device has done what was launched in it, and begins where the one before it ended."""
    ranges = [row for row in read.csv("events/ranges") if row["name"].startswith("ProfilerStep#")]
    marks = sorted((int(row["start_ns"]), int(row["end_ns"]), row["name"].split("#")[1]) for row in ranges)
    result.equal("steps", [name for _, _, name in marks], [] if not marks else list(data.steps_names))
    if not marks or len(marks) != len(data.steps_names):
        return
    calls = {row["index"]: int(row["start_ns"]) for row in read.csv("events/calls")}
    kernels, copies = read.csv("events/kernels"), read.csv("events/copies")
    launched = [(calls[row["call"]], int(row["end_ns"])) for row in kernels + copies if row["call"] in calls]
    steps, before = [], 0
    for start, end, _ in marks:
        done = max([end] + [over for at, over in launched if start <= at < end])
        steps.append((max(start, before), done))
        before = done
    costs, computing = data.avg_costs.costs, spans(kernels)

    def within(intervals):
        return sum(union_ns([(max(start, of[0]), min(end, of[1])) for start, end in intervals
                             if start < of[1] and end > of[0]]) for of in steps) / len(steps) / 1e3

    result.near("a step", sum(end - start for start, end in steps) / len(steps) / 1e3, float(costs[ProfileRole.Total]), 0.01)
    if not any(is_collective(row) for row in kernels):
        result.near("a step's kernels", within(computing), float(costs[ProfileRole.Kernel]), 0.01)


def with_plugin(path, read, result):
    with tempfile.TemporaryDirectory() as folder:
        data = RunProfileData.parse("worker", "1", path, folder)
        RunGenerator("worker", 1, data).generate_run_profile()
    kernels = read.all("events/kernels")
    stat = data.kernel_stat
    theirs = {} if stat is None else {name: row for name, row in stat.iterrows()}
    result.each("calls of", by_name(kernels, lambda row: 1), {name: float(row["count"]) for name, row in theirs.items()})
    result.each("time of", by_name(kernels, microseconds), {name: float(row["sum"]) for name, row in theirs.items()}, 0.01)
    compare_operations(operation_figures(operations(read, 0), True),
                       {of.name: (of.calls, of.host_duration, of.self_host_duration, of.device_duration,
                                  of.self_device_duration) for of in data.op_list_groupby_name}, result)
    compare_steps(read, data, result)


def main():
    arguments = sys.argv[1:]
    shown = None if "--all" in arguments else SHOWN
    pdhost, *paths = [word for word in arguments if word != "--all"]
    logging.disable(logging.CRITICAL)
    teach_last_source()
    wrong = 0
    for path in paths:
        print(os.path.basename(path))
        with tempfile.TemporaryDirectory() as folder:
            read = Read(os.path.abspath(pdhost), os.path.abspath(path), os.path.join(folder, "csv"))
            for tool, compare in (("the file", with_file), ("HTA", with_hta), ("torch-tb-profiler", with_plugin)):
                result, said = Compared(), io.StringIO()
                try:
                    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                        compare(os.path.abspath(path), read, result)
                except Exception as error:  # pylint: disable=broad-except
                    if tool == "the file":
                        raise
                    print(f"  {tool}: cannot read it: {type(error).__name__}: {str(error)[:120]}")
                    continue
                print(f"  {tool}: {result.count - len(result.unequal)} of {result.count} figures equal")
                for line in result.unequal[:shown]:
                    print(f"    {line}")
                wrong += len(result.unequal) if tool == "the file" else 0
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

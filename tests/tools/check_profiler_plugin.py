"""torch-tb-profiler opens a run's traces, with its views filled, and its figures are pdhost's.
Usage: check_profiler_plugin.py [--stock] RUN_FOLDER ...

The release on PyPI (0.4.3) is older than the last source of the same version: it takes launches of category "runtime"
only and drops user annotations, in PyTorch's own traces too. Without --stock both are taught to it as the source does;
with --stock it is used as it is, on traces as runtime_category=runtime writes them.
"""
import functools
import gzip
import math
import os
import re
import sys
import tempfile

from torch_tb_profiler import consts
from torch_tb_profiler.profiler import trace as plugin_trace
from torch_tb_profiler.profiler.data import RunProfileData
from torch_tb_profiler.profiler.overall_parser import ProfileRole
from torch_tb_profiler.profiler.run_generator import RunGenerator

from run_folder import Checks, load_trace, runs_of, union_ns


def teach_last_source():
    plugin_trace.EventTypeMap["cuda_runtime"] = plugin_trace.EventTypes.RUNTIME
    released = plugin_trace.create_trace_event

    def create_trace_event(event, is_pytorch_lightning):
        if event.get("cat", "").lower() in ("user_annotation", "gpu_user_annotation"):
            if not event["name"].startswith("ProfilerStep#"):
                return plugin_trace.OperatorEvent(plugin_trace.EventTypes.USER_ANNOTATION, event)
        return released(event, is_pytorch_lightning)

    plugin_trace.create_trace_event = create_trace_event


def load(path, stock):
    """With `stock` as if written with runtime_category=runtime, which changes this one word and nothing else (a test of
    the sink says so); a file that was written with it has no other."""
    match = consts.WORKER_PATTERN.match(os.path.basename(path))
    if not match:
        raise SystemExit(f"{path}: the plugin would not find it")
    with tempfile.TemporaryDirectory() as folder:
        if stock:
            packed = path.endswith(".gz")
            with (gzip.open if packed else open)(path, "rb") as file:
                text = file.read().replace(b'"cat":"cuda_runtime"', b'"cat":"runtime"')
            path = os.path.join(folder, os.path.basename(path))
            with (gzip.open if packed else open)(path, "wb") as file:
                file.write(text)
        data = RunProfileData.parse(match.group(1), match.group(2)[1:], path, folder)
        return data, RunGenerator(match.group(1), 1, data).generate_run_profile()


@functools.lru_cache(maxsize=1)
def launches_of_operators(run):
    """The calls that were made within an operator."""
    operators = {row["index"] for row in run.csv("events/ranges") if row["kind"] == "cpu_op"}
    return {row["index"] for row in run.csv("events/calls") if row["range"] in operators}


def check_views(checks, run, profile):
    """Every view is there and has rows."""
    views = [view.display_name for view in profile.views]
    wanted = {"Overview", "Operator", "Kernel", "Trace", "Memory", "Module"}
    if not any(row["name"] == "aten::conv2d" for row in run.csv("events/ranges")) or run.hand_made:  # no model
        wanted.remove("Module")
    checks.equal(f"{run.folder}: views", sorted(wanted), sorted(set(views) & wanted))
    if not wanted <= set(views):
        return
    rows = {
        "Overview, steps": profile.overview["steps"]["rows"],
        "Overview, breakdown": [row for row in profile.overview["performance"][0]["children"] if row["value"] > 0],
        "Operator": profile.operation_table_by_name["data"],
        "Operator by input": profile.operation_table_by_name_input["data"],
        "Operator, pie of host time": profile.operation_pie_by_name["host_total_time"]["rows"],
        "Operator, pie of device time": profile.operation_pie_by_name["device_total_time"]["rows"],
        "Kernel": profile.kernel_table["data"]["rows"],
        "Kernel by operation": profile.kernel_op_table["data"]["rows"],
    }
    if "Module" in wanted:
        rows["Module"] = profile.get_module_view()["data"]
    curve, events = profile.get_memory_curve()["rows"], profile.get_memory_events()["rows"]
    for device, points in curve.items():
        rows[f"Memory, curve of {device}"] = points[1:]  # a line has two ends
        checks.true(max(point[1] for point in points) > 0, f"{run.folder}: nothing allocated on {device}")
    rows["Memory, devices"] = list(curve)
    rows["Memory, events"] = [row for rows_of in events.values() for row in rows_of]
    if run.metrics["scenario"] == "memory_churn":  # no other step allocates
        rows["Memory, operators"] = [row for of in profile.get_memory_stats()["rows"].values() for row in of]
    if not any(row["call"] in launches_of_operators(run) for row in run.csv("events/kernels")):  # a captured step
        del rows["Kernel by operation"]
    for view, found in rows.items():
        checks.true(len(found) > 0, f"{run.folder}: view {view} is empty")


def check_modules(checks, run, window, profile):
    """Calls of every module, as the ranges have them."""
    theirs = {}

    def walk(stats):
        for row in stats:
            theirs[row["name"]] = row["occurences"]
            walk(row["children"])

    walk((profile.get_module_view() or {"data": []})["data"])
    ours = {}
    for row in run.csv("events/ranges", window):
        if row["name"].startswith("nn.Module: "):
            name = row["name"].replace("nn.Module: ", "")
            ours[name] = ours.get(name, 0) + 1
    checks.equal(f"{run.folder}: calls of modules", ours, theirs)


def shown_occupancy(row):
    """A kernel's in whole per cent, as Kineto writes it; a kernel without counts as 0 with the plugin."""
    return math.floor(float(row["occupancy"] or 0) * 100 + 0.5)


def check_kernels(checks, run, window, data):
    """Figures of the Kernel view before it rounds them to whole microseconds."""
    ours = {}
    for row in run.csv("events/kernels", window):
        ours.setdefault(row["name"], []).append(row)
    theirs = {name: row for name, row in data.kernel_stat.iterrows()}
    checks.equal("kernel names", sorted(ours), sorted(theirs))
    table = {row["name"]: row for row in run.table("kernels", window)}
    checks.equal("kernel names in the table kernels", sorted(ours), sorted(table))
    for name, rows in ours.items():
        spans, stat, listed = [int(row["duration_ns"]) for row in rows], theirs[name], table[name]
        for key, value, own in (("count", len(rows), "calls"), ("sum", sum(spans) / 1e3, "gpu_total"),
                                ("max", max(spans) / 1e3, "gpu_max"), ("min", min(spans) / 1e3, "gpu_min")):
            checks.near(f"{key} of {name}", value, stat[key])
            checks.near(f"table kernels, {own} of {name}", listed[own] / (1 if key == "count" else 1e3), stat[key])
        checks.near(f"table kernels, mean of {name}", listed["gpu_avg"] / 1e3, stat["mean"], absolute=1e-3)
        if sum(spans):
            blocks = sum(span * float(row["blocks_per_sm"] or 0) for span, row in zip(spans, rows)) / sum(spans)
            occupancy = sum(span * shown_occupancy(row) for span, row in zip(spans, rows)) / sum(spans)
            checks.near(f"blocks per SM of {name}", blocks, stat["blocks_per_sm"], absolute=1e-6)
            checks.near(f"occupancy of {name}", occupancy, stat["occupancy"])
            checks.near(f"table kernels, blocks per SM of {name}", listed["blocks_per_sm"] or 0, stat["blocks_per_sm"],
                        absolute=1e-6)
            checks.near(f"table kernels, occupancy of {name}", listed["occupancy"] or 0, stat["occupancy"],
                        absolute=0.501)


class Operation:
    """A range that the plugin puts into its tree, with what was called and launched directly in it."""

    def __init__(self, row):
        self.name, self.kind, self.span = row["name"], row["kind"], int(row["duration_ns"])
        self.children, self.called, self.launched = [], 0, 0

    def is_operator(self):
        return self.kind in ("cpu_op", "cpu_op_inner") and not self.name.startswith("Optimizer.")

    def own(self):
        return self.span - sum(child.span for child in self.children) - self.called

    def device(self):
        return self.launched + sum(child.device() for child in self.children)


def operations(run, window):
    """The roots of the plugin's trees: annotations and steps are no nodes of them."""
    nodes, parents, roots = {}, {}, []
    for row in run.csv("events/ranges", window):
        index = int(row["index"])
        parents[index] = int(row["parent"]) if row["parent"] else None
        if row["kind"] in ("cpu_op", "cpu_op_inner", "dataloader", "python_function"):
            nodes[index] = Operation(row)
    for index, node in nodes.items():
        parent = parents[index]
        while parent is not None and parent not in nodes:
            parent = parents[parent]
        (roots if parent is None else nodes[parent].children).append(node)
    for row in run.csv("events/calls", window):
        if row["range"] and int(row["range"]) in nodes and (row["kind"] == "runtime" or int(row["device_records"])):
            nodes[int(row["range"])].called += int(row["duration_ns"])
    for row in run.csv("events/kernels", window) + run.csv("events/copies", window):
        if row["range"] and int(row["range"]) in nodes:
            nodes[int(row["range"])].launched += int(row["duration_ns"])
    return roots


def merge_only_children(node):
    """As the plugin does: an operation takes the place of its only child of the same name, and loses its own calls."""
    while len(node.children) == 1 and node.children[0].name == node.name and \
            node.kind != "python_function" and node.children[0].kind != "python_function":
        child = node.children[0]
        node.children, node.called, node.launched = child.children, child.called, child.launched
    for child in node.children:
        merge_only_children(child)


def check_operations(checks, run, window, data):
    """Calls, totals and own times of every operation. The trace ends a range by a nanosecond early where doubles would
    make it overlap the next."""
    ours, ranges = {}, {}

    def add(node):
        if node.is_operator():
            figures = ours.setdefault(node.name, [0, 0, 0, 0, 0, 0])
            mine = (1, node.span, node.own(), node.device(), node.launched, 1 + len(node.children))
            ours[node.name] = [a + b for a, b in zip(figures, mine)]
        for child in node.children:
            add(child)

    for root in operations(run, window):
        merge_only_children(root)
        add(root)
    theirs = {operation.name: operation for operation in data.op_list_groupby_name}
    checks.equal(f"{run.folder}: operations", sorted(ours), sorted(theirs))
    for name, (calls, host, own, device, launched, slices) in ours.items():
        if name not in theirs:
            continue
        tool = theirs[name]
        checks.equal(f"calls of {name}", calls, tool.calls)
        checks.near(f"host time of {name}", host / 1e3, tool.host_duration, absolute=0.001 * calls)
        checks.near(f"own host time of {name}", own / 1e3, tool.self_host_duration, absolute=0.001 * slices)
        checks.near(f"device time of {name}", device / 1e3, tool.device_duration)
        checks.near(f"own device time of {name}", launched / 1e3, tool.self_device_duration)
    for row in run.csv("events/ranges", window):
        ranges[row["name"]] = ranges.get(row["name"], 0) + (row["kind"] in ("cpu_op", "cpu_op_inner"))
    table = {row["name"]: row for row in run.table("operators", window) if row["kind"] == "op"}
    for name in ours:
        checks.true(name in table, f"{run.folder}: {name} is not in the table operators")
        if name not in table or name not in theirs:
            continue
        row, tool = table[name], theirs[name]
        checks.equal(f"table operators, calls of {name}", row["count"], ranges[name])
        if ranges[name] != tool.calls:  # of what nests in itself the table counts the outermost alone
            continue
        slack = 0.001 * ours[name][5]
        for key, value in (("cpu_time_total", tool.host_duration), ("self_cpu_time_total", tool.self_host_duration)):
            checks.near(f"table operators, {key} of {name}", row[key] / 1e3, value, absolute=slack)
        for key, value in (("device_time_total", tool.device_duration),
                           ("self_device_time_total", tool.self_device_duration)):
            checks.near(f"table operators, {key} of {name}", row[key] / 1e3, value)


ROLES = {"Kernel": ProfileRole.Kernel, "Memcpy": ProfileRole.Memcpy, "Memset": ProfileRole.Memset,
         "Communication": ProfileRole.Communication, "Runtime": ProfileRole.Runtime,
         "DataLoader": ProfileRole.DataLoader, "CPU Exec": ProfileRole.CpuOp, "Other": ProfileRole.Other}
BUSY = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cpu_op", "user_annotation")


def annotation_alone_us(slices):
    """Time in steps when only an annotation's row on the device is busy: the plugin takes that for work of the host."""

    def spans(wanted):
        return [(event["ts"], event["ts"] + event["dur"]) for event in slices if wanted(event)]

    steps = spans(lambda event: event["name"].startswith("ProfilerStep#"))
    busy = spans(lambda event: event["cat"] in BUSY and not event["name"].startswith("ProfilerStep#"))
    both = busy + spans(lambda event: event["cat"] == "gpu_user_annotation")

    def covered(intervals):
        return sum(union_ns([(max(start, step[0]), min(end, step[1])) for start, end in intervals
                             if start < step[1] and end > step[0]]) for step in steps)

    return covered(both) - covered(busy)


def check_breakdown(checks, run, window, data, stock):
    """Every category by itself, and what the plugin counts of annotations' rows on the device as CPU Exec where pdhost
    says Other: moved by what the trace's rows give, and by no more, since the sum of the two has to hold as it is.
    The release knows no annotations at all: the sum alone can be compared."""
    costs, steps = data.avg_costs.costs, run.windows[window]["steps"]
    checks.equal("steps", [str(step["number"]) for step in steps], data.steps_names)
    span = sum(step["duration_ns"] for step in steps) / len(steps) / 1e3
    checks.near("step span", span, costs[ProfileRole.Total])
    slices = [event for event in load_trace(run.trace_of(window))["traceEvents"] if event["ph"] == "X"]
    # The trace ends some slices a nanosecond early (docs/tools.md): fewer than a tenth of them.
    slack = 0.002 + 1e-4 * len(slices) / len(steps)
    ours = {row["category"]: row["per_step"] / 1e3 for row in run.table("breakdown", window)}
    checks.equal("categories of the breakdown", sorted(ROLES), sorted(ours))
    checks.near(f"{run.folder}: breakdown, CPU Exec and Other", ours["CPU Exec"] + ours["Other"],
                costs[ProfileRole.CpuOp] + costs[ProfileRole.Other], absolute=slack)
    alone = annotation_alone_us(slices) / len(steps)
    for category, role in ROLES.items():
        moved = {"CPU Exec": alone, "Other": -alone}.get(category)
        if not stock or moved is None:
            checks.near(f"{run.folder}: breakdown, {category}", ours[category] + (moved or 0), costs[role],
                        absolute=slack)
    if run.metrics["scenario"] == "dataloader":
        checks.true(costs[ProfileRole.DataLoader] > 0, "no DataLoader time in dataloader")


def check_device_figures(checks, run, window, data):
    """The box "GPU Summary": the plugin has occupancy in whole per cent of each kernel only."""
    tool, kernels = data.gpu_metrics_parser, run.csv("events/kernels", window)
    for row in run.table("device_figures", window):
        device = int(re.search(r"\d+$", row["device"]).group())
        mine = [kernel for kernel in kernels if int(kernel["device"]) == device]
        checks.near("GPU utilization", row["gpu_utilization"] / 100, tool.gpu_utilization[device] or 0.0)
        theirs = tool.avg_approximated_sm_efficiency_per_device[device]
        checks.equal("SM efficiency known", row["sm_efficiency"] is not None, theirs is not None)
        if theirs is not None:
            checks.near("SM efficiency", row["sm_efficiency"] / 100, theirs)
        theirs = tool.avg_occupancy_per_device[device]
        checks.equal("occupancy known", row["achieved_occupancy"] is not None, theirs is not None)
        if theirs is not None:
            known = [(int(kernel["duration_ns"]), shown_occupancy(kernel)) for kernel in mine if kernel["occupancy"]]
            mean = sum(span * share for span, share in known) / sum(span for span, _ in known)
            checks.near("occupancy", mean, theirs)
            checks.near("table device_figures, occupancy", row["achieved_occupancy"], theirs, absolute=0.501)


def check_stretched_steps(checks, run, window, data):
    """Where the device works on after the host's step, the plugin's lasts until the device has done what was launched
    in it. Its shares and the device's figures are then of other spans than pdhost's."""
    events = load_trace(run.trace_of(window))["traceEvents"]
    calls = {event["args"]["correlation"]: event["ts"] for event in events
             if event.get("cat") in ("cuda_runtime", "runtime")}
    rows = [(calls[event["args"]["correlation"]], event["ts"] + event["dur"]) for event in events
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    steps = [(event["ts"], event["ts"] + event["dur"]) for event in events
             if event["ph"] == "X" and event["name"].startswith("ProfilerStep#")]
    spans, before, beyond = [], 0, 0
    for start, end in steps:
        done = max([end] + [row[1] for row in rows if start <= row[0] < end])
        beyond += done > end
        spans.append(done - max(start, before))
        before = done
    # The loops of sync and blocking_copy do not wait for their steps either, but read something in each.
    checks.true(beyond > 0 or run.metrics["scenario"] in ("sync", "blocking_copy"), f"{run.folder}: the device ends with every step")
    checks.equal("steps", len(steps), len(data.steps_names))
    checks.near("span of stretched steps", sum(spans) / len(spans), data.avg_costs.costs[ProfileRole.Total])


def main():
    arguments = sys.argv[1:]
    stock = "--stock" in arguments
    if stock:
        arguments.remove("--stock")
    else:
        teach_last_source()
    checks = Checks("torch-tb-profiler" + (" as released" if stock else ""))
    for run in runs_of(arguments, "profiler_plugin_stock" if stock else "profiler_plugin"):
        for window in range(len(run.windows)):
            data, profile = load(run.trace_of(window), stock)
            with_kernels = bool(run.csv("events/kernels", window))
            check_views(checks, run, profile)
            check_modules(checks, run, window, profile)
            if with_kernels:
                check_kernels(checks, run, window, data)
            check_operations(checks, run, window, data)
            if not run.metrics["sync_timing"]:
                check_stretched_steps(checks, run, window, data)
                continue
            if with_kernels:
                check_device_figures(checks, run, window, data)
            check_breakdown(checks, run, window, data, stock)
    checks.end()


if __name__ == "__main__":
    main()

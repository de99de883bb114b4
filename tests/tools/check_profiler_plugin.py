"""torch-tb-profiler opens a run's traces, with its views filled, and its figures are pdhost's.
Usage: check_profiler_plugin.py [--stock] RUN_FOLDER ...

The release on PyPI (0.4.3) is older than the last source of the same version: it takes launches of category "runtime"
only and drops user annotations, in PyTorch's own traces too. Without --stock both are taught to it as the source does;
with --stock it is used as it is, and the traces must have been written with runtime_category=runtime.
"""
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


def load(path):
    match = consts.WORKER_PATTERN.match(path.split("/")[-1])
    if not match:
        raise SystemExit(f"{path}: the plugin would not find it")
    data = RunProfileData.parse(match.group(1), match.group(2)[1:], path, tempfile.gettempdir())
    return data, RunGenerator(match.group(1), 1, data).generate_run_profile()


def check_views(checks, run, profile, stock):
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
        "Kernel": profile.kernel_table["data"]["rows"],
        "Kernel by operation": profile.kernel_op_table["data"]["rows"],
    }
    if "Module" in wanted:
        rows["Module"] = profile.get_module_view()["data"]
    if not stock:  # as released it ties no device time to operations
        rows["Operator, pie of device time"] = profile.operation_pie_by_name["device_total_time"]["rows"]
    curve, events = profile.get_memory_curve()["rows"], profile.get_memory_events()["rows"]
    for device, points in curve.items():
        rows[f"Memory, curve of {device}"] = points[1:]  # a line has two ends
        checks.true(max(point[1] for point in points) > 0, f"{run.folder}: nothing allocated on {device}")
    rows["Memory, devices"] = list(curve)
    rows["Memory, events"] = [row for rows_of in events.values() for row in rows_of]
    if run.metrics["scenario"] == "memory_churn":  # no other step allocates
        rows["Memory, operators"] = [row for of in profile.get_memory_stats()["rows"].values() for row in of]
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


def check_kernels(checks, run, window, profile):
    ours = {}
    for row in run.csv("events/kernels", window):
        count, total = ours.get(row["name"], (0, 0))
        ours[row["name"]] = (count + 1, total + int(row["duration_ns"]))
    theirs = {row[0]: row for row in profile.kernel_table["data"]["rows"]}
    checks.equal("kernel names", sorted(ours), sorted(theirs))
    for name, (count, total) in ours.items():
        checks.equal(f"calls of {name}", count, theirs[name][2])
        checks.near(f"time of {name}", total / 1e3, theirs[name][3], absolute=0.51)  # the plugin rounds to us
    table = run.table("kernels", window)
    for row in table or []:
        checks.near(f"table kernels, {row['name']}", row["gpu_total"] / 1e3, theirs[row["name"]][3], absolute=0.51)


def operations(run, window):
    """(calls, own host time, device time of what was launched directly) by name, of category cpu_op."""
    ranges = run.csv("events/ranges", window)
    calls = run.csv("events/calls", window)
    own, device = {}, {}
    for row in run.csv("events/kernels", window) + run.csv("events/copies", window):
        if row["range"]:
            device[int(row["range"])] = device.get(int(row["range"]), 0) + int(row["duration_ns"])
    for row in ranges:
        own[int(row["index"])] = int(row["duration_ns"])
    for row in ranges:
        if row["parent"] and row["kind"] != "profiler_step":
            own[int(row["parent"])] -= int(row["duration_ns"])
    for row in calls:
        if row["range"] and row["kind"] == "runtime":
            own[int(row["range"])] -= int(row["duration_ns"])
    return ranges, own, device


def check_operations(checks, run, window, data):
    """Self times: the plugin merges an only child of the same name, which changes neither sum."""
    ranges, own, device = operations(run, window)
    ours = {}
    for row in ranges:
        if row["kind"] not in ("cpu_op", "cpu_op_inner") or row["name"].startswith("Optimizer."):
            continue
        index = int(row["index"])
        calls, host, dev = ours.get(row["name"], (0, 0, 0))
        ours[row["name"]] = (calls + 1, host + own[index], dev + device.get(index, 0))
    theirs = {operation.name: operation for operation in data.op_list_groupby_name}
    checks.true(set(ours) <= set(theirs), f"operations that the plugin lacks: {sorted(set(ours) - set(theirs))}")
    for name, (calls, host, dev) in ours.items():
        if name not in theirs:
            continue
        # The trace cuts a range by a nanosecond where doubles would make it overlap the next: as many as there are.
        checks.near(f"own host time of {name}", host / 1e3, theirs[name].self_host_duration, absolute=0.002 * calls)
        checks.near(f"own device time of {name}", dev / 1e3, theirs[name].self_device_duration, absolute=0.01)
    for row in run.table("operators", window) or []:
        if row["kind"] == "op" and row["name"] in ours and row["name"] in theirs:
            checks.near(f"table operators, own device time of {row['name']}", row["self_device_time_total"] / 1e3,
                        theirs[row["name"]].self_device_duration, absolute=0.01)


ROLES = {"Kernel": ProfileRole.Kernel, "Memcpy": ProfileRole.Memcpy, "Memset": ProfileRole.Memset,
         "Communication": ProfileRole.Communication, "Runtime": ProfileRole.Runtime,
         "DataLoader": ProfileRole.DataLoader, "CPU Exec": ProfileRole.CpuOp, "Other": ProfileRole.Other}
BUSY = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cpu_op", "user_annotation")


def annotation_alone_ns(run, window):
    """Time in steps when only an annotation's row on the device is busy: the plugin takes that for work of the host."""
    rows = [event for event in load_trace(run.trace_of(window))["traceEvents"] if event["ph"] == "X"]

    def spans(wanted):
        return [(event["ts"], event["ts"] + event["dur"]) for event in rows if wanted(event)]

    steps = spans(lambda event: event["name"].startswith("ProfilerStep#"))
    busy = spans(lambda event: event["cat"] in BUSY and not event["name"].startswith("ProfilerStep#"))
    both = busy + spans(lambda event: event["cat"] == "gpu_user_annotation")

    def covered(intervals):
        return sum(union_ns([(max(start, step[0]), min(end, step[1])) for start, end in intervals
                             if start < step[1] and end > step[0]]) for step in steps)

    return (covered(both) - covered(busy)) * 1e3


def check_breakdown(checks, run, window, data):
    costs, steps = data.avg_costs.costs, run.windows[window]["steps"]
    checks.equal("steps", [str(step["number"]) for step in steps], data.steps_names)
    span = sum(step["duration_ns"] for step in steps) / len(steps) / 1e3
    checks.near("step span", span, costs[ProfileRole.Total])
    alone = annotation_alone_ns(run, window) / len(steps)
    moved = {"CPU Exec": alone, "Other": -alone}
    for row in run.table("breakdown", window) or []:
        if row["category"] in ROLES:  # a share of the step: a part of a thousandth of it is below what either shows
            ours = row["per_step"] + moved.get(row["category"], 0)
            checks.near(f"{run.folder}: breakdown, {row['category']}", ours / 1e3, costs[ROLES[row["category"]]],
                        absolute=span * 1e-3)
    if run.metrics["scenario"] == "dataloader":
        checks.true(costs[ProfileRole.DataLoader] > 0, "no DataLoader time in dataloader")


def check_utilization(checks, run, window, data):
    steps = run.windows[window]["steps"]
    kernels = [(int(row["start_ns"]), int(row["end_ns"])) for row in run.csv("events/kernels", window)]
    ours = union_ns(kernels) / sum(step["duration_ns"] for step in steps)
    theirs = [value for value in data.gpu_metrics_parser.gpu_utilization if value]
    checks.near("GPU utilization", ours, theirs[0] if theirs else 0.0)


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
            data, profile = load(run.trace_of(window))
            with_kernels = bool(run.csv("events/kernels", window))
            check_views(checks, run, profile, stock)
            check_modules(checks, run, window, profile)
            if with_kernels:
                check_kernels(checks, run, window, profile)
                check_utilization(checks, run, window, data)
            if stock:  # it knows no annotations: own times of operations hold, the breakdown does not
                checks.true(data.avg_costs.costs[ProfileRole.DataLoader] > 0 or run.metrics["scenario"] != "dataloader",
                            "no DataLoader time in dataloader")
            else:
                check_breakdown(checks, run, window, data)
            check_operations(checks, run, window, data)
    checks.end()


if __name__ == "__main__":
    main()

"""The tables of the steps and of their parts, computed again; for recompute_tables.py."""
import math
import os
import statistics

from csv_run import divide, merged, number, read, union
from recompute_ledger import judged_from
from table_check import is_communication, percent, stats_cells

PARTS = ["dataloader", "forward", "backward", "optimization"]
CLASSES = ["Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec", "Other"]


def class_lists(run):
    by_kind = lambda kind: [(r.start_ns, r.end_ns) for r in run.records if r.kind == kind]
    ranges = [r for r in run.ranges if r.kind != "profiler_step"]
    loading = [r for r in ranges if r.kind == "dataloader"]
    others = [r for r in ranges if r.kind != "dataloader"]
    span = lambda rows: [(r.start_ns, r.end_ns) for r in rows]
    lists = [by_kind("kernel"), by_kind("memcpy"), by_kind("memset"),
             span(r for r in others if is_communication(r.name)),
             span(c for c in run.calls if c.kind == "runtime"), span(loading), span(others)]
    return [merged(spans) for spans in lists]


def check_breakdown(run, check):
    cells = divide(run.steps, class_lists(run))
    want = {}
    for rank, name in enumerate(CLASSES):
        total = sum(row[rank] for row in cells)
        want[name] = {"total": total, "per_step": total // max(1, len(run.steps)),
                      "share": percent(total, run.steps_ns)}
    check.table(run, "breakdown", want, ("category",))
    keys = ["step_" + name.lower().replace(" ", "_") for name in CLASSES]
    steps = {str(step[2]): dict(zip(keys, row)) for step, row in zip(run.steps, cells)}
    for row in steps.values():
        row["device_busy"] = row["step_kernel"] + row["step_memcpy"] + row["step_memset"]
    measured = {row["index"]: row for row in read(os.path.join(run.folder, "steps.csv"))}
    ranges = {item.step: item for item in run.ranges if item.kind == "profiler_step"}
    for _, _, n in run.steps:
        loop = measured[str(n)]
        launches = [call for call in run.calls if call.step == n and call.result == "0" and
                    getattr(call, "class") in ("launch", "memcpy", "memset", "graph_launch")]
        steps[str(n)].update(
            device_records=sum(1 for r in run.records if r.step == n), launches=len(launches),
            matched=sum(1 for call in launches if call.device_records != "0"),
            step_time=int(loop["step_time_ns"]), data_wait=int(loop["data_wait_ns"]), loss=number(loop["loss"]))
    check.table(run, "active_steps", steps, ("step",))
    # Steps are back to back, hold their range, and last what the loop's clock says; a busy machine parts the two clocks
    # now and then.
    apart = []
    for before, (start, end, n) in zip([None, *run.steps], run.steps):
        check.cells += 2
        apart.append(abs(end - start - int(measured[str(n)]["batch_cost_ns"])) / (end - start))
        if not (before is None or before[1] == start) or not start <= ranges[n].start_ns <= ranges[n].end_ns <= end:
            check.errors.append(f"active_steps[{n}]: {start}..{end} does not hold its range, or not follow the step before")
    if run.sync_timing and statistics.median(apart) > 0.02: # else the loop's time of an iteration is the device's
        check.errors.append(f"active_steps.step_span: apart from the loop's clock by {apart}")
    check.unchecked -= {"active_steps.step_start", "active_steps.step_span"}
    footer = run.table("breakdown")[1]
    for column, value in (("total", run.steps_ns), ("per_step", run.steps_ns // max(1, len(run.steps))), ("share", 100.0)):
        check.same(f"breakdown.footer.{column}", footer[column], value)


def begins_part(run, i):
    item = run.ranges[i]
    return item.part and item.kind != "worker" and (item.parent is None or run.ranges[item.parent].part != item.part)


def check_overview(run, check):
    span = lambda rows: [(r.start_ns, r.end_ns) for r in rows]
    of_kind = lambda kind: [r for r in run.ranges if r.kind == kind]
    part = lambda name: [r for i, r in enumerate(run.ranges) if r.part == name and begins_part(run, i)]
    operations = {False: [], True: []}  # by whether another operation holds it
    for i, item in enumerate(run.ranges):
        if item.kind.startswith("cpu_op"):
            operations[any(run.ranges[up].kind == "cpu_op" for up in run.ancestors(i))].append(item)
    host = {"CudaRuntime" if run.is_cuda else "Runtime": run.calls, "UserDefined": of_kind("user_annotation"),
            "Dataloader": part("dataloader"), "Forward": part("forward"), "Backward": part("backward"),
            "Optimization": part("optimization"), "Operator": operations[False], "OperatorInner": operations[True]}
    device = {"Kernel": run.kernels, "Memcpy": [r for r in run.copies if r.kind == "memcpy"],
              "Memset": [r for r in run.copies if r.kind == "memset"],
              "Communication": [r for r in run.kernels if is_communication(r.name)]}
    want = {"ProfileStep": {"calls": len(run.steps), "cpu_time_union": run.steps_ns, "step_ratio": 100.0}}
    for column, types in (("cpu_time_union", host), ("gpu_time_union", device)):
        for name, rows in types.items():
            time = union(span(rows))
            want[name] = {"calls": len(rows), column: time, "step_ratio": percent(time, run.steps_ns)}
    check.table(run, "overview", want, ("event_type",))
    communication = span(device["Communication"]) + span(r for r in run.ranges if is_communication(r.name))
    computation = span(r for r in run.kernels if not is_communication(r.name))
    both = union(communication) + union(computation) - union(communication + computation)
    rows = {"ProfileStep": run.steps_ns, "Communication": union(communication), "Computation": union(computation),
            "Overlap": both}
    check.table(run, "distributed", {name: {"total_time": time, "step_ratio": percent(time, run.steps_ns)}
                                     for name, time in rows.items()})


def check_model(run, check):
    lists = [[], [], [], []]
    for i, item in enumerate(run.ranges):
        part = "dataloader" if item.kind == "dataloader" else item.part
        if part and item.kind != "worker":
            lists[PARTS.index(part)].append((item.start_ns, item.end_ns))
    cpu = divide(run.steps, [merged(spans) for spans in lists])
    gpu = {number_: [0] * 5 for _, _, number_ in run.steps}
    for record in run.records:
        part = run.ranges[record.range].part if record.range is not None else ""
        if record.step in gpu:
            gpu[record.step][PARTS.index(part) if part else 4] += record.span
    gpu = [gpu[number_] for _, _, number_ in run.steps]
    names = ["Dataloader", "Forward", "Backward", "Optimization", "Others"]
    whole_gpu = sum(map(sum, gpu))
    want = {"ProfileStep": stats_cells(len(cpu), [sum(row) for row in cpu], [sum(row) for row in gpu], run.steps_ns,
                                       whole_gpu)}
    for rank, name in enumerate(names):
        want[name] = stats_cells(len(cpu), [row[rank] for row in cpu], [row[rank] for row in gpu], run.steps_ns,
                                 whole_gpu)
    check.table(run, "model", want)


def check_perf_summary(run, check):
    active = [row for row in read(os.path.join(run.folder, "steps.csv")) if row["phase"] == "active"]
    reader, batch = ([int(row[key]) for row in active] for key in ("data_wait_ns", "batch_cost_ns"))
    # No file tells the samples of a step: they are the whole number that the average rate gives.
    rate = next(float(row["avg"]) for row in run.table("perf_summary")[0] if row["name"] == "ips")
    samples = round(rate * sum(batch) / 1e9 / len(active))
    rows = {"Reader Ratio": ("%", 100 * sum(reader) / sum(batch), [100 * r / b for r, b in zip(reader, batch)]),
            "reader_cost": ("s", sum(reader) / len(active) / 1e9, [r / 1e9 for r in reader]),
            "batch_cost": ("s", sum(batch) / len(active) / 1e9, [b / 1e9 for b in batch]),
            "ips": ("samples/s", samples * len(active) / sum(batch) * 1e9, [samples * 1e9 / b for b in batch])}
    check.table(run, "perf_summary", {
        name: {"figure_unit": unit, "avg": average, "max": max(values), "min": min(values),
               "p50": statistics.median(values), "p95": quantile(values, 0.95), "step_count": len(active),
               "first_step": int(active[0]["index"]), "last_step": int(active[-1]["index"])}
        for name, (unit, average, values) in rows.items()})


def quantile(values, share):
    at = share * (len(values) - 1)
    low = sorted(values)[math.floor(at)]
    return low + (at - math.floor(at)) * (sorted(values)[math.ceil(at)] - low)


READER_RATIO = "Reader Ratio"


def check_reader_ratio(run, check):
    """timer_only's Reader Ratio, from the loop's own clock, and the traced Dataloader ratio: within one point."""
    reader = next(float(row["avg"]) for row in run.table("perf_summary")[0] if row["name"] == "Reader Ratio")
    traced = next(float(row["cpu_ratio"]) for row in run.table("model")[0] if row["name"] == "Dataloader")
    check.cells += 1
    if abs(reader - traced) > 1:
        check.errors.append(f"{READER_RATIO} {reader:.2f} %, but the traced Dataloader ratio is {traced:.2f} %")


def check_gains(run, check):
    """The replay itself is held to an independent simulation by the suite replay; here its rows are held to each other
    and to the steps: all gains are of one step, which takes as long as the recorded ones."""
    rows, _ = run.table("gains")
    causes = [row for row in rows if " " not in row["removed_cause"]]
    steps = [(float(row["gain_step"]), float(row["gain"])) for row in rows]
    if not steps:
        check.errors.append("gains: no rows")
        return
    now = statistics.median(step / (1 - gain / 100) for step, gain in steps if gain < 90)
    for row, (step, gain) in zip(rows, steps):
        check.cells += 1
        if abs(step - now * (1 - gain / 100)) > 2 + 1e-6 * now:
            check.errors.append(f"gains[{row['removed_cause']}]: {gain} % of {now:.0f} ns do not leave {step:.0f} ns")
    for row in causes:
        check.cells += 1
        if not float(row["gain_low"]) - 1e-9 <= float(row["gain_high"]):
            check.errors.append(f"gains[{row['removed_cause']}]: the interval's ends are swapped")
    # Up to three that are ranked come first. The first of them may be smaller: the device is idle in its time.
    falling = [float(row["gain"]) for row in causes]
    if not any(part == sorted(part, reverse=True) and behind == sorted(behind, reverse=True)
               for part, behind in ((falling[1:ranked], falling[ranked:]) for ranked in range(4))):
        check.errors.append("gains: not in falling order")
    starts = judged_from(run)
    found = [(run.steps[-1][1] - start) / (len(run.steps) - at) for at, start in enumerate(starts)]
    if run.sync_timing and not 0.5 * min(found) <= now <= 1.1 * max(found):
        check.errors.append(f"gains: of a step of {now:.0f} ns, but the steps take {found} ns")

"""Recomputes pdhost's tables from the events of the csv sink, by other means, and compares them cell by cell.

    recompute_tables.py CSV_FOLDER                    one finished run, with run.sync_timing
    recompute_tables.py --run PDHOST CONF_FOLDER      runs every scenario on the CPU device, then checks each

The C code sweeps sorted arrays; here, every nanosecond between two boundaries looks up who is open and who owns it.
Nothing is shared with the code under test but the definitions in docs/metrics.md.
"""
import collections
import csv
import math
import os
import statistics
import subprocess
import sys
import tempfile

from csv_run import Run, divide, merged, number, owners, read, union
from recompute_ledger import check_ledger, judged_from

PARTS = ["dataloader", "forward", "backward", "optimization"]
CLASSES = ["Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec", "Other"]
RUNS = [("dataloader", []), ("sync", ["-o", "run.sync_timing=true"]), ("tiny_ops", []), ("memory_churn", []), ("control", []),
        ("dataloader", ["-o", "data.io_sleep_ms=1"]),
        ("dataloader", ["-o", "data.io_sleep_ms=1", "-o", "data.pin_memory=true", "-o", "data.prefetch_to_device=true"]),
        ("sync", ["-o", "run.sync_timing=false", "-o", "schedule.active=8"]),
        ("memory_churn", ["-o", "scenario.allocator=raw", "-o", "run.sync_timing=false", "-o", "schedule.active=8"]),
        ("serial_streams", ["-o", "scenario.streams=3"]), ("small_batch", []),
        ("memory_churn", ["-o", "profile.with_stack=true"]), ("dataloader", ["-o", "schedule.twin=2"]),
        ("memory_churn", ["-o", "schedule.twin=1"])]


def is_communication(name):
    return name.startswith(("nccl", "gloo:")) or "ncclKernel" in name or "ncclDevKernel" in name


def self_times(run):
    """Self host time by range index and by call index."""
    ranges, calls = collections.Counter(), collections.Counter()
    by_thread = collections.defaultdict(list)
    for i, item in enumerate(run.ranges):
        by_thread[item.tid].append((item.start_ns, item.end_ns, item.depth, ranges, i))
    for i, item in enumerate(run.calls):
        by_thread[item.tid].append((item.start_ns, item.end_ns, 10**6, calls, i))
    for items in by_thread.values():
        for node, length in owners([item[:3] for item in items]):
            items[node][3][items[node][4]] += length
    return ranges, calls


def percent(part, whole):
    return 100 * part / whole if whole else None


class Checker:
    def __init__(self):
        self.cells, self.errors = 0, []
        self.unchecked = set()  # columns of checked tables that hold figures which nobody recomputed

    def same(self, where, is_, want):
        self.cells += 1
        is_ = number(is_) if isinstance(is_, str) and not isinstance(want, str) else is_
        if want is None or is_ is None or isinstance(want, str):
            good = is_ == want or (want == "" and is_ is None)
        elif isinstance(want, float):
            good = math.isclose(is_, want, rel_tol=1e-9, abs_tol=1e-9)
        else:
            good = is_ == want
        if not good:
            self.errors.append(f"{where}: {is_!r}, recomputed {want!r}")

    def table(self, run, name, want, keys=("name",)):
        """`want` maps the row's key to its cells; every row must be there and no other."""
        rows, _ = run.table(name)
        seen = set()
        for row in rows:
            key = tuple(row[k] for k in keys)
            key = key[0] if len(key) == 1 else key
            where = f"{name}[{key}]"
            if key not in want:
                self.errors.append(f"{where}: not recomputed")
                continue
            seen.add(key)
            for column, value in want[key].items():
                self.same(f"{where}.{column}", row[column], value)
            self.unchecked.update(f"{name}.{column}" for column, cell in row.items()
                                  if cell and column not in (*want[key], *keys, "level", "row_kind"))
        for key in want:
            if key not in seen:
                self.errors.append(f"{name}[{key}]: missing from the table")


def stats_cells(calls, cpu=None, gpu=None, cpu_whole=None, gpu_whole=None):
    cells = {"calls": calls}
    for side, values, whole in (("cpu", cpu, cpu_whole), ("gpu", gpu, gpu_whole)):
        if values is None:
            continue
        cells.update({f"{side}_total": sum(values), f"{side}_avg": sum(values) // len(values),
                      f"{side}_max": max(values), f"{side}_min": min(values),
                      f"{side}_ratio": percent(sum(values), whole)})
    return cells


def check_operators(run, check):
    self_ranges, self_calls = self_times(run)
    whole_cpu = sum(self_ranges.values()) + sum(self_calls.values())
    whole_device = sum(record.span for record in run.records)
    label = lambda i: (("ProfilerStep*", "user") if run.ranges[i].kind == "profiler_step" else
                       (run.ranges[i].name, "op" if run.ranges[i].kind.startswith("cpu_op") else "user"))
    rows = collections.defaultdict(lambda: collections.defaultdict(int))
    modules = collections.defaultdict(set)
    for i, item in enumerate(run.ranges):
        row = rows[label(i)]
        row["count"] += 1
        row["self_cpu_time_total"] += self_ranges[i]
        row["self_device_time_total"] += run.device_self[i]
        modules[label(i)].add(item.module)
        if all(label(up) != label(i) for up in run.ancestors(i)):
            row["cpu_time_total"] += item.span
            row["device_time_total"] += run.device_total[i]
        row["flops"] += item.flops or 0
    for event in run.memory:
        if event.range is not None:
            side = "cpu" if event.device_type == "host" else "device"
            chain = {label(up) for up in (event.range, *run.ancestors(event.range))}
            rows[label(event.range)][f"self_{side}_memory_usage"] += event.bytes
            for name in chain:  # a name that recurs counts once
                rows[name][f"{side}_memory_usage"] += event.bytes
    for i, item in enumerate(run.calls):
        row = rows[(item.name, "runtime")]
        row["count"] += 1
        row["self_cpu_time_total"] += self_calls[i]
        row["cpu_time_total"] += item.span
    want = {}
    for (name, kind), row in rows.items():
        of = modules[(name, kind)]
        cells = {"count": row["count"]}
        if run.table("modules")[0] is not None:
            cells["operator_module"] = next(iter(of)) if len(of) == 1 else ""
        cells.update({key: row[key] for key in ("self_cpu_time_total", "cpu_time_total")})
        cells["cpu_time"] = row["cpu_time_total"] // row["count"]
        cells["self_cpu_percent"] = percent(row["self_cpu_time_total"], whole_cpu)
        cells["cpu_total_percent"] = percent(row["cpu_time_total"], whole_cpu)
        if kind in ("op", "user") and run.memory:
            cells.update({f"{own}{side}_memory_usage": row[f"{own}{side}_memory_usage"]
                          for own in ("", "self_") for side in ("cpu", "device")})
        if kind == "op" and run.table("flops")[0] is not None:
            cells["flops"] = row["flops"]
        if kind != "runtime":
            cells.update({key: row[key] for key in ("self_device_time_total", "device_time_total")})
            cells["device_time"] = row["device_time_total"] // row["count"]
            cells["self_device_percent"] = percent(row["self_device_time_total"], whole_device)
        want[(name, kind)] = cells
    check.table(run, "operators", want, ("name", "kind"))
    footer = run.table("operators")[1]
    check.same("operators.footer", footer["self_cpu_time_total"], whole_cpu)
    check.same("operators.footer", footer["self_device_time_total"], whole_device)


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


def check_device(run, check):
    start, end = run.steps[0][0], run.steps[-1][1]
    prefix = "GPU" if run.is_cuda else "Device "
    figures, summary = {}, {}
    told = {int(row["device"][len(prefix):]) for row in run.table("device_figures")[0]}  # one may have been idle
    for device in sorted({r.device for r in run.records} | told):
        kernels = [k for k in run.kernels if k.device == device]
        clip = [(max(k.start_ns, start), min(k.end_ns, end), k) for k in kernels]
        clip = [c for c in clip if c[1] > c[0]]
        cells = {"gpu_utilization": percent(union(c[:2] for c in clip), end - start)}
        loaded = [c for c in clip if c[2].blocks_per_sm]
        points = sorted({p for c in loaded for p in c[:2]})
        if loaded:
            busy = sum((b - a) * min(1.0, sum(c[2].blocks_per_sm for c in loaded if c[0] <= a < c[1]))
                       for a, b in zip(points, points[1:]))
            cells["sm_efficiency"] = 100 * busy / (end - start)
        known = [c for c in clip if c[2].occupancy is not None and c[2].occupancy >= 0]
        if known:
            cells["achieved_occupancy"] = (100 * sum((c[1] - c[0]) * c[2].occupancy for c in known) /
                                           sum(c[1] - c[0] for c in known))
        figures[f"{prefix}{device}"] = cells
        busy = union((max(r.start_ns, start), min(r.end_ns, end)) for r in run.records if r.device == device)
        summary[f"{prefix}{device}"] = {"utilization": percent(busy, end - start), "utilization_bound": 100.0}
    check.table(run, "device_figures", figures, ("device",))
    rows = {row["device"]: row for row in run.table("device_summary")[0]}
    for device, cells in summary.items():
        for key, value in cells.items():
            check.same(f"device_summary[{device}].{key}", rows[device][key], float(value))
    for device in ("CPU(Process)", "CPU(System)"):  # measured at run time: only the bounds can be checked
        if device in rows and rows[device]["utilization"]:
            assert 0 <= float(rows[device]["utilization"]) <= float(rows[device]["utilization_bound"])


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


def check_operator_summary(run, check):
    top, inner = {}, {}
    for i in range(len(run.ranges)):
        chain = [i, *run.ancestors(i)]
        operations = [j for j in chain if run.ranges[j].kind == "cpu_op"]
        if operations:
            top[i] = operations[-1]
            below = chain[:chain.index(operations[-1])]
            inner[i] = below[-1] if below else None
    groups = collections.defaultdict(list)  # path of names: [(cpu, gpu)]
    for i, item in enumerate(run.ranges):
        if i in top and top[i] == i:
            groups[(item.name,)].append((item.span, run.device_total[i]))
        elif i in top and inner[i] == i:
            groups[(run.ranges[top[i]].name, item.name)].append((item.span, run.device_total[i]))
    for record in run.records:
        if record.range in top:
            path = [run.ranges[top[record.range]].name]
            if inner[record.range] is not None:
                path.append(run.ranges[inner[record.range]].name)
            groups[(*path, "device", record.name)].append((0, record.span))
    whole = [sum(value[side] for path, values in groups.items() if len(path) == 1 for value in values)
             for side in (0, 1)]
    want = {}
    for path, values in groups.items():
        device = len(path) > 2 and path[-2] == "device"
        parent = path[:-2] if device else path[:-1]
        wholes = [sum(v[side] for v in groups[parent]) for side in (0, 1)] if parent else whole
        want[path] = stats_cells(len(values), None if device else [v[0] for v in values], [v[1] for v in values], *wholes)
    rows, path, seen = run.table("operator_summary")[0], [], set()
    for row in rows:
        path = path[:int(row["level"])] + [row["name"]]
        key = tuple(path[:-1] + ["device", path[-1]]) if row["kind"] == "device" else tuple(path)
        seen.add(key)
        for column, value in want.get(key, {"calls": None}).items():
            check.same(f"operator_summary{list(key)}.{column}", row[column], value)
    check.same("operator_summary rows", str(sorted(seen)), str(sorted(want)))


def check_kernels(run, check):
    groups = collections.defaultdict(list)
    for kernel in run.kernels:
        groups[kernel.name].append(kernel)
    whole = sum(k.span for k in run.kernels)
    want = {}
    for name, kernels in groups.items():
        cells = stats_cells(len(kernels), None, [k.span for k in kernels], None, whole)
        grids = {(k.grid_x, k.grid_y, k.grid_z) for k in kernels}
        blocks = {(k.block_x, k.block_y, k.block_z) for k in kernels}
        for key, shapes in (("grid", grids), ("block", blocks)):  # a device without grids reports zeros
            shape = shapes.pop() if len(shapes) == 1 else (0, 0, 0)
            cells[key] = "%d,%d,%d" % shape if shape[0] else ""
        loaded = [k for k in kernels if k.blocks_per_sm]
        if sum(k.span for k in loaded):
            cells["blocks_per_sm"] = sum(k.span * k.blocks_per_sm for k in loaded) / sum(k.span for k in loaded)
        known = [k for k in kernels if k.occupancy is not None and k.occupancy >= 0]
        if sum(k.span for k in known):
            cells["occupancy"] = 100 * sum(k.span * k.occupancy for k in known) / sum(k.span for k in known)
        registers = {k.registers_per_thread for k in kernels}
        cells["registers"] = registers.pop() or None if len(registers) == 1 else None
        shared = {(k.static_shared_bytes, k.dynamic_shared_bytes) for k in kernels}
        cells["shared_memory"] = sum(shared.pop()) if len(shared) == 1 and kernels[0].grid_x else None
        want[name] = cells
    check.table(run, "kernels", want)


def operator_of(run, record):
    """The innermost operator around its launch, or its range."""
    if record.range is None:
        return "(outside all ranges)"
    for at in (record.range, *run.ancestors(record.range)):
        if run.ranges[at].kind == "op":
            return run.ranges[at].name
    own = run.ranges[record.range]
    return "(outside all ranges)" if own.kind == "step" else own.name


def check_kernel_operators(run, check):
    groups = collections.defaultdict(list)
    for kernel in run.kernels:
        groups[(kernel.name, operator_of(run, kernel))].append(kernel.span)
    whole = sum(k.span for k in run.kernels)
    check.table(run, "kernel_operators", {key: stats_cells(len(spans), None, spans, None, whole)
                                          for key, spans in groups.items()}, ("name", "operator"))


def check_copies(run, check):
    words = {"Pageable": "CPU", "Pinned": "CUDAPinned" if run.is_cuda else "Pinned",
             "Device": "GPU" if run.is_cuda else "Device", "Managed": "Managed", "Unknown": "Unknown"}
    prefix = "Gpu" if run.is_cuda else "Device"
    groups = collections.defaultdict(list)  # name: [(cpu, gpu, bytes)]
    counted = set()  # calls: each counts with the first of its copies
    for record in run.copies:
        ends = record.name[record.name.index("(") + 1:-1].split(" -> ")
        call = run.calls[record.call] if record.call is not None else None
        mode = "Async" if call and ("Async" in call.name or getattr(call, "class") == "graph_launch") else "Sync"
        kind = "Memcpy" if record.kind == "memcpy" else "Memset"
        name = f"{prefix}{kind}{mode}:" + "->".join(words[end] for end in ends)
        groups[name].append((call.span if call and record.call not in counted else 0, record.span, record.bytes))
        counted.add(record.call)
    for event in run.memory:
        kind = "Free" if event.bytes < 0 else "Allocation"
        where = words["Device" if event.device_type == "device" else "Pinned"]
        groups[f"{kind}:{where}"].append((event.allocator_ns, 0, abs(event.bytes)))
    wholes = [sum(v[side] for values in groups.values() for v in values) for side in (0, 1)]
    want = {}
    for name, values in groups.items():
        device = "Mem" in name.split(":")[0]
        cells = stats_cells(len(values), [v[0] for v in values], [v[1] for v in values] if device else None, *wholes)
        cells["bytes"] = sum(v[2] for v in values)
        if device and cells["gpu_total"]:
            cells["bandwidth"] = cells["bytes"] / cells["gpu_total"]
        want[name] = cells
    check.table(run, "memcpy", want)


def check_userdefined(run, check):
    groups = collections.defaultdict(list)
    for i, item in enumerate(run.ranges):
        if item.kind == "user_annotation":
            groups[item.name].append((item.span, run.device_total[i]))
    wholes = [sum(v[side] for values in groups.values() for v in values) for side in (0, 1)]
    check.table(run, "userdefined", {name: stats_cells(len(v), [x[0] for x in v], [x[1] for x in v], *wholes)
                                     for name, v in groups.items()})


def holder(run, event):
    if event.range is None or run.ranges[event.range].kind == "profiler_step":
        return "(outside all ranges)"
    return run.ranges[event.range].name


def check_memory(run, check):
    if run.table("memory")[0] is None:
        return
    types = {"device": "GPU" if run.is_cuda else "Device", "host": "Pinned host"}
    users, peaks, churn = {}, {}, {}
    for device_type, label in types.items():
        events = [e for e in run.memory if e.device_type == device_type]
        if not events:
            continue
        for event in events:
            user = users.setdefault((holder(run, event), label), dict.fromkeys(
                ("allocation_count", "free_count", "allocation_size", "free_size"), 0))
            kind = "free" if event.bytes < 0 else "allocation"
            user[kind + "_count"] += 1
            user[kind + "_size"] += abs(event.bytes)
        most = max(events[0].total_allocated - events[0].bytes, *(e.total_allocated for e in events))
        peak = next((i for i, e in enumerate(events) if e.total_allocated == most), None)  # None: at the window's start
        alive = {}
        for event in events[:0 if peak is None else peak + 1]:
            alive.pop(event.address, None)
            if event.bytes >= 0:
                alive[event.address] = event
        held = collections.defaultdict(lambda: [0, 0])
        for event in alive.values():
            held[holder(run, event)][0] += event.bytes
            held[holder(run, event)][1] += 1
        for name, (size, blocks) in held.items():
            peaks[(name, label)] = {"held_bytes": size, "held_blocks": blocks, "held_percent": percent(size, most)}
        rest = most - sum(size for size, _ in held.values())
        peaks[("(allocated before the window)", label)] = {"held_bytes": rest, "held_percent": percent(rest, most)}
        born, lives = {}, []
        for event in events:
            if event.bytes >= 0:
                born[event.address] = event.ts_ns
            elif event.address in born:
                lives.append(event.ts_ns - born.pop(event.address))
        made = [e for e in events if e.bytes >= 0]
        churn[label] = {"allocations_per_step": len(made) / len(run.steps),
                        "bytes_per_step": sum(e.bytes for e in made) // len(run.steps),
                        "allocator_time": sum(e.allocator_ns for e in events), "peak_allocated": most,
                        "peak_reserved": max(most, *(e.total_reserved for e in events)),
                        "fragmentation": None if peak is None else events[peak].total_reserved - most,
                        "median_lifetime": int(statistics.median(lives)) if lives else None}
    for user in users.values():
        user["increased_size"] = user["allocation_size"] - user["free_size"]
    check.table(run, "memory", users, ("name", "memory_type"))
    check.table(run, "memory_peak", peaks, ("name", "memory_type"))
    check.table(run, "memory_churn", churn, ("memory_type",))


def check_memory_blocks(run, check):
    if run.table("memory_blocks")[0] is None:
        return
    types = {"device": "GPU" if run.is_cuda else "Device", "host": "Pinned host"}
    begin = run.steps[0][0]
    pairs, alive = [], {}
    for index, event in enumerate(run.memory):
        at = (event.address, event.device_type, event.device)
        if event.bytes < 0 and at in alive:
            alive.pop(at)[2] = event
        elif event.bytes:
            pairs.append([-abs(event.bytes), index, None if event.bytes > 0 else event, event])
            alive.pop(at, None)
            if event.bytes > 0:
                alive[at] = pairs[-1]
    want = []
    for size, _, freed, first in sorted(pairs, key=lambda pair: pair[:2])[:100]:
        made = first if first.bytes > 0 else None
        want.append({"name": holder(run, first), "memory_type": types[first.device_type], "block_size": -size,
                     "allocated_at": made and made.ts_ns - begin, "released_at": freed and freed.ts_ns - begin,
                     "lifetime": freed.ts_ns - made.ts_ns if made and freed else None})
    rows, _ = run.table("memory_blocks")
    check.same("memory_blocks rows", len(rows), len(want))
    for i, (row, cells) in enumerate(zip(rows, want)):
        for column, value in cells.items():
            check.same(f"memory_blocks[{i}].{column}", row[column], value)


def module_calls(run):
    """Host and device time of each call of each module, by path: forward, and the backward work of its operations."""
    groups = collections.defaultdict(list)
    for i, r in enumerate(run.ranges):
        if not r.module:
            continue
        if r.kind == "python_function":
            groups[r.module].append([r.span, run.device_total[i]])
        elif not any(run.ranges[j].module for j in run.ancestors(i)):
            path = r.module
            while path:  # SimpleCNN.conv1, then SimpleCNN
                groups[path][-1][0] += r.span
                groups[path][-1][1] += run.device_total[i]
                path = path.rpartition(".")[0]
    return groups


def check_flops_and_modules(run, check):
    if run.table("flops")[0] is not None:
        total = sum(r.flops or 0 for r in run.ranges)
        gpu = sum(run.device_total[i] for i, r in enumerate(run.ranges) if r.flops)
        footer = run.table("flops")[1]
        check.same("flops.footer", footer["flops"], total)
        check.same("flops.footer", footer["gpu_total"], gpu)
        check.same("flops.footer", footer["flops_per_step"], total // len(run.steps))
        rows = collections.defaultdict(list)  # in float32, as every run here: no event file tells of which type
        for i, r in enumerate(run.ranges):
            if r.flops:
                rows[r.name].append((r.flops, run.device_total[i]))
        want = {}
        for name, values in rows.items():
            flops, time = (sum(value[side] for value in values) for side in (0, 1))
            want[name] = {"calls": len(values), "flops": flops, "flops_per_step": flops // len(run.steps),
                          "gpu_total": time, "flops_per_s": flops * 1e9 / time if time else None}
        check.table(run, "flops", want)
        for row in run.table("flops")[0]:
            if row["peak_percent"]:
                assert 0 < float(row["peak_percent"]) <= 100, row
    if run.table("modules")[0] is not None:
        groups = module_calls(run)
        entered = collections.Counter(r.module for r in run.ranges if r.name.startswith("nn.Module: "))
        for row in run.table("modules")[0]:
            check.same(f"modules.calls {row['module']}", row["calls"], entered[row["module"]])
            inner = [other for other in run.table("modules")[0] if other["module"].rpartition(".")[0] == row["module"]]
            for column in ("cpu_total", "gpu_total"):
                if int(row[column]) < sum(int(other[column]) for other in inner):
                    check.errors.append(f"modules: {row['module']} has less {column} than the modules in it")
        whole = sum(record.span for record in run.records)
        check.table(run, "modules", {name: stats_cells(len(v), [x[0] for x in v], [x[1] for x in v], run.steps_ns, whole)
                                     for name, v in groups.items()}, ("module",))


def check_stacks(run, check):
    """Ranges that hold each other; before an operation's name what its call stack has beyond that of its holder."""
    def clean(name):
        return "".join("_" * len(c.encode()) if ord(c) <= 32 or c in ";\x7f" else c for c in name)

    stacks = {row["index"]: row["frames"].split(";")[::-1] for row in read(f"{run.folder}/events/stacks.csv")}

    def path(i):
        names, outer = [], []
        for j in reversed([i, *run.ancestors(i)]):
            r = run.ranges[j]
            if r.stack:
                frames = stacks[r.stack]
                shared = len(os.path.commonprefix([frames, outer]))
                names += frames[shared:]
                outer = frames
            names.append("ProfileStep" if r.kind == "profiler_step" else r.name)
        return [clean(name) for name in names]

    self_ranges, self_calls = self_times(run)
    host, device = collections.Counter(), collections.Counter()
    for i in range(len(run.ranges)):
        host[";".join(path(i))] += self_ranges[i]
    for i, call in enumerate(run.calls):
        host[";".join((path(call.range) if call.range is not None else []) + [clean(call.name)])] += self_calls[i]
    for record in run.records:
        device[";".join((path(record.range) if record.range is not None else []) + [clean(record.name)])] += record.span
    for name, values in (("stacks", host), ("stacks_device", device)):
        check.table(run, name, {stack: {"value_us": (ns + 500) // 1000} for stack, ns in values.items() if ns >= 500},
                    ("stack",))


def check_run(folder, quiet=False, sync_timing=True, copies_ahead=False):
    """Whether all agrees; None: all but the Reader Ratio."""
    run, check = Run(folder, sync_timing, copies_ahead), Checker()
    for part in (check_operators, check_breakdown, check_device, check_overview, check_model, check_operator_summary,
                 check_kernels, check_kernel_operators, check_copies, check_userdefined, check_memory, check_memory_blocks, check_flops_and_modules, check_stacks,
                 check_perf_summary, check_reader_ratio, check_ledger, check_gains):
        part(run, check)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".csv") and name[:-4] not in CORRUPTED and name not in ("steps.csv", "run.csv", "files.csv"):
            check.errors.append(f"{name}: this table is not recomputed")
    check.unchecked -= WORDS
    check.errors += [f"{column}: this column is not recomputed" for column in sorted(check.unchecked)]
    events = len(run.ranges) + len(run.calls) + len(run.records) + len(run.memory)
    if not events or check.cells < 100:
        check.errors.append(f"{folder}: only {events} events and {check.cells} cells: nothing was checked")
    if quiet:
        return not check.errors
    for error in check.errors[:20]:
        print(error, file=sys.stderr)
    print(f"{folder}: {events} events, {check.cells} cells, {len(check.errors)} differ")
    if check.errors and all(error.startswith(READER_RATIO) for error in check.errors):
        return None
    return not check.errors


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
    if [float(row["gain"]) for row in causes] != sorted((float(row["gain"]) for row in causes), reverse=True):
        check.errors.append("gains: not in falling order")
    starts = judged_from(run)
    found = [(run.steps[-1][1] - start) / (len(run.steps) - at) for at, start in enumerate(starts)]
    if run.sync_timing and not 0.5 * min(found) <= now <= 1.1 * max(found):
        check.errors.append(f"gains: of a step of {now:.0f} ns, but the steps take {found} ns")


CORRUPTED = {"gains": "gain", "operators": "count", "breakdown": "total", "device_figures": "gpu_utilization", "active_steps": "step_kernel",
             "overview": "cpu_time_union", "model": "gpu_total", "distributed": "total_time",
             "operator_summary": "cpu_max", "kernels": "gpu_min", "memcpy": "bytes", "userdefined": "cpu_total",
             "flops": "flops", "modules": "calls", "ledger": "total", "ledger_steps": "ledger_compute",
             "verdict": "verdict_share", "device_summary": "utilization", "memory": "free_size",
             "memory_peak": "held_bytes", "memory_churn": "fragmentation", "memory_blocks": "lifetime",
             "kernel_operators": "gpu_max", "perf_summary": "p95",
             "stacks": "value_us", "stacks_device": "value_us"}


# Names of rows, which are compared as keys elsewhere, and sentences whose figures stand in other cells.
WORDS = {"gains.removed", "ledger.category", "ledger.state", "flops.peak_kind", "verdict.verdict", "verdict.verdict_evidence",
         "verdict.verdict_others", "verdict.verdict_helps", "verdict.verdict_next", "verdict.verdict_after",
         "verdict.verdict_overrides"}


def check_that_it_can_fail(folder):
    """A wrong cell in any table must be found."""
    good = True
    for name, column in CORRUPTED.items():
        path = os.path.join(folder, name + ".csv")
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        kept = [list(row) for row in rows]
        rows[-1 if name == "device_summary" else 1][rows[0].index(column)] = "123456789"  # not the process's own share
        for content, expect in ((rows, False), (kept, True)):
            with open(path, "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(content)
            if not expect and check_run(folder, quiet=True):
                print(f"{name}: a wrong {column} was not found", file=sys.stderr)
                good = False
    return good


def run_scenarios(pdhost, conf):
    good = True
    with tempfile.TemporaryDirectory(prefix="pdhost tables ") as root:
        for scenario, settings in RUNS:
            # The loop may lose its core between the two clocks of the Reader Ratio: not three times in a row.
            for attempt in range(3):
                folder = os.path.join(root, " ".join([str(attempt), scenario, *settings[1::2]]))
                os.mkdir(folder)
                subprocess.run([pdhost, "-c", f"{conf}/{scenario}.ini", "--device", "cpu", "--sink", "csv",
                                "-o", "data.batch_size=4", "-o", "data.image_size=16", "-o", "schedule.active=6",
                                "-o", "data.io_sleep_ms=0", "-o", "data.cpu_work=100",
                                "-o", "profile.with_flops=true", "-o", "profile.with_modules=true", *settings],
                               cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                files = os.path.join(folder, "results", scenario, "latest", "csv")
                found = check_run(files, sync_timing="run.sync_timing=false" not in settings,
                                  copies_ahead="data.prefetch_to_device=true" in settings)
                if found is not None:
                    break
            good = bool(found) and good
            if scenario == "memory_churn" and not settings:
                good = check_that_it_can_fail(files) and good
    return good


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--run":
        good = run_scenarios(os.path.abspath(arguments[1]), os.path.abspath(arguments[2]))
    elif len(arguments) == 1:
        good = check_run(arguments[0])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The tables of kernels, copies, devices and memory, computed again; for recompute_tables.py."""
import collections
import statistics

from csv_run import union
from table_check import percent, stats_cells


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

"""The tables of host ranges, modules and call stacks, computed again; for recompute_tables.py."""
import collections
import os

from csv_run import read
from table_check import percent, self_times, stats_cells


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


def check_userdefined(run, check):
    groups = collections.defaultdict(list)
    for i, item in enumerate(run.ranges):
        if item.kind == "user_annotation":
            groups[item.name].append((item.span, run.device_total[i]))
    wholes = [sum(v[side] for values in groups.values() for v in values) for side in (0, 1)]
    check.table(run, "userdefined", {name: stats_cells(len(v), [x[0] for x in v], [x[1] for x in v], *wholes)
                                     for name, v in groups.items()})


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

"""Compares the cells of a table with what was computed again; for recompute_tables.py."""
import collections
import math

from csv_run import number, owners


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

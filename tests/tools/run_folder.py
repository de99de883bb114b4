"""What one run left in its folder, and the counting of checks; imported by the check_*.py scripts.

A run's folder holds results/metrics_*.json and traces/ with the Chrome traces, the event file and csv/.
"""
import csv
import glob
import gzip
import json
import os
import sys


class Checks:
    """Counts what was compared; a script without a single comparison has failed too."""

    def __init__(self, what):
        self.what, self.done, self.failed = what, 0, []

    def true(self, condition, message):
        self.done += 1
        if not condition:
            self.failed.append(message)

    def equal(self, name, ours, theirs):
        self.true(ours == theirs, f"{name}: {ours!r} in pdhost's file, {theirs!r} in the tool")

    def near(self, name, ours, theirs, relative=1e-3, absolute=1e-9):
        good = abs(ours - theirs) <= max(relative * max(abs(ours), abs(theirs)), absolute)
        self.true(good, f"{name}: {ours!r} in pdhost's file, {theirs!r} in the tool")

    def end(self):
        for line in self.failed[:40]:
            print(f"{self.what}: {line}", file=sys.stderr)
        print(f"{self.what}: {self.done} checks, {len(self.failed)} failed")
        sys.exit(1 if self.failed or not self.done else 0)


class Run:
    def __init__(self, folder, hand_made=False):
        self.folder, self.hand_made = folder, hand_made
        found = [path for place in ("results", "traces") for path in glob.glob(os.path.join(folder, place, "metrics_*.json"))]
        if len(found) != 1:
            raise SystemExit(f"{folder}: {len(found)} metrics files, expected one")
        with open(found[0], encoding="utf-8") as file:
            self.metrics = json.load(file, parse_constant=refuse_constant)
        self.trace_dir = os.path.join(folder, "traces")
        self.traces = sorted(glob.glob(os.path.join(self.trace_dir, "*.pt.trace.json*")))
        self.windows = self.metrics["windows"]
        self.many = self.metrics["schedule"]["repeat"] != 1

    def csv_path(self, name, window=0):
        ending = f".{window}.csv" if self.many and window is not None else ".csv"
        return os.path.join(self.trace_dir, "csv", name + ending)

    def csv(self, name, window=0):
        with open(self.csv_path(name, window), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file, strict=True))

    def table(self, name, window=0):
        """Rows of a table of the analysis. A run without that table fails: there would be nothing to compare."""
        tables = self.windows[window]["tables"]
        if name not in tables:
            raise SystemExit(f"{self.folder}: window {window} has no table {name}, only {', '.join(tables) or 'none'}")
        return tables[name]["rows"]

    def trace_of(self, window):
        found = [path for path in self.traces if os.path.basename(path).split(".pt.")[0].split(".")[-2] == str(window)]
        if len(found) != 1:
            raise SystemExit(f"{self.folder}: {len(found)} traces of window {window}, expected one")
        return found[0]


def refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


def load_trace(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file, parse_constant=refuse_constant)


def union_ns(intervals):
    """Length of the union of (start, end) pairs."""
    total, end = 0, None
    for start, stop in sorted(intervals):
        if end is None or start > end:
            total += stop - start
            end = stop
        elif stop > end:
            total += stop - end
            end = stop
    return total


def runs_of(arguments, check):
    """Runs by their folders; of a folder with a runs.json those that it lists for this check."""
    runs = []
    for argument in arguments:
        listed = os.path.join(argument, "runs.json")
        if os.path.exists(listed):
            with open(listed, encoding="utf-8") as file:
                runs += [Run(os.path.join(argument, name)) for name, checks in json.load(file).items()
                         if check in checks]
        else:
            runs.append(Run(argument, hand_made=True))
    if not runs:
        raise SystemExit(f"no run for check {check}; usage: check_*.py FOLDER ...")
    return runs

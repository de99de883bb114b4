#!/usr/bin/env python3
"""Times scenario vec_dot and the same statements under torch.utils.benchmark, on the same GPU, in alternation.

    vec_dot_peer.py --pdhost BIN [--rounds 2] [--min-run-time 0.5] [--out DIR]

Both sides use blocked_autorange. The table shows both medians; the same statement on two pairs of four elements, which is
all launching; the device time of the kernels alone, as each side's profiler has it; and what is left of the median without
its launch cost. Where the kernels take nine tenths of both medians, launching is hidden behind them, costs nothing, and
the medians stand as they are. Elsewhere the launch cost is what a run takes beyond its kernels, and they alone are left.
What is left of the two sides has to agree to within the larger of 5 % and 1 us; where launching counts, of the same kernels
alone, since there the timers are not what differs. Exit status 1: a row disagrees, or an implementation was never judged.
Raw numbers are in DIR/vec_dot.json.
"""
import argparse
import collections
import csv
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile

import torch
import torch.utils.benchmark as benchmark

LAUNCH = (2, 4)
SHAPES = [(64, 512), (128, 1024), (10000, 64), (50000, 1024), (200000, 1024)]
HIDDEN = 0.9  # of a median: then its kernels hide the launching
IMPLEMENTATIONS = ["mul_sum", "bmm"]


def mul_sum(a, b):
    return a.mul(b).sum(-1)


def bmm(a, b):
    a = a.reshape(-1, 1, a.shape[-1])
    b = b.reshape(-1, b.shape[-1], 1)
    return torch.bmm(a, b).flatten(-3)


class Ours:
    def __init__(self, binary, min_run_time, folder):
        self.binary, self.min_run_time, self.folder = binary, min_run_time, folder

    def run(self, name, shape, *more):
        command = [self.binary, "-q", "--scenario", "vec_dot", "--device", "cuda", "-o", f"scenario.implementation={name}",
                   "-o", f"scenario.batch={shape[0]}", "-o", f"scenario.dim={shape[1]}", *more]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 7):  # 7: measured on a noisy machine
            raise SystemExit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr[-1000:]}")

    def measure(self, name, shape):
        path = os.path.join(self.folder, "ours.json")
        self.run(name, shape, "--mode", "benchmark", "-o", f"benchmark.min_run_time={self.min_run_time}",
                 "-o", f"benchmark.output={path}")
        with open(path, encoding="utf-8") as file:
            row = json.load(file)["measurements"][0]
        return statistics.median(row["host_s"]) / row["number_per_run"] * 1e6, row["warnings"]

    def kernels(self, name, shape):
        folder = os.path.join(self.folder, "csv")
        self.run(name, shape, "--mode", "train", "--sink", f"csv:dir={folder}", "-o", "schedule.active=20")
        times, names = collections.defaultdict(float), set()
        for path in glob.glob(os.path.join(folder, "events", "kernels*.csv")):
            with open(path, encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    times[row["step"]] += float(row["duration_ns"]) / 1e3
                    names.add(row["name"])
        return statistics.median(times.values()), sorted(names)


class Theirs:
    def __init__(self, min_run_time):
        self.min_run_time, self.inputs = min_run_time, (None, None)

    def tensors(self, shape):
        if self.inputs[0] != shape:
            self.inputs = (shape, None)
            self.inputs = (shape, [torch.randn(shape, device="cuda") for _ in range(2)])
        return self.inputs[1]

    def measure(self, name, shape):
        a, b = self.tensors(shape)
        timer = benchmark.Timer(stmt=f"{name}(a, b)", globals={"mul_sum": mul_sum, "bmm": bmm, "a": a, "b": b})
        return timer.blocked_autorange(min_run_time=self.min_run_time).median * 1e6

    def kernels(self, name, shape, count=20):
        a, b = self.tensors(shape)
        call = globals()[name]
        for _ in range(5):
            call(a, b)
        torch.cuda.synchronize()
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profiler:
            for _ in range(count):
                call(a, b)
                torch.cuda.synchronize()
        rows = collections.defaultdict(list)
        for event in profiler.events():
            if event.device_type == torch.autograd.DeviceType.CUDA:
                rows[event.name].append(event.time_range.elapsed_us())
        return sum(statistics.median(times) * max(round(len(times) / count), 1) for times in rows.values()), sorted(rows)


def judge(row):
    """What is left of both sides, and whether they agree; None: different kernels, and launching counts."""
    hidden = all(row[side + "_kernels"] >= HIDDEN * row[side] for side in ("ours", "torch"))
    for side in ("ours", "torch"):
        row[side + "_left"] = row[side] if hidden else row[side + "_kernels"]
    if not hidden and row["ours_names"] != row["torch_names"]:
        return None
    return abs(row["ours_left"] - row["torch_left"]) <= max(0.05 * row["torch_left"], 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdhost", required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--min-run-time", type=float, default=0.5)
    parser.add_argument("--out", default=".")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Ours(os.path.abspath(args.pdhost), args.min_run_time, folder), Theirs(args.min_run_time)
        raw = collections.defaultdict(list)
        for _ in range(args.rounds):
            for shape in [LAUNCH, *SHAPES]:
                for name in IMPLEMENTATIONS:
                    took, warnings = ours.measure(name, shape)
                    raw["ours", name, shape].append(took)
                    raw["torch", name, shape].append(theirs.measure(name, shape))
                    for warning in warnings:
                        print(f"{name} {shape[0]} x {shape[1]}:", warning.replace("\n", " "), file=sys.stderr)
        for shape in SHAPES:
            for name in IMPLEMENTATIONS:
                row = {"implementation": name, "batch": shape[0], "dim": shape[1]}
                for side in ("ours", "torch"):
                    row[side + "_rounds"] = raw[side, name, shape]
                    row[side] = statistics.median(raw[side, name, shape])
                    row[side + "_launch"] = statistics.median(raw[side, name, LAUNCH])
                row["ours_kernels"], row["ours_names"] = ours.kernels(name, shape)
                row["torch_kernels"], row["torch_names"] = theirs.kernels(name, shape)
                row["agree"] = judge(row)
                rows.append(row)
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}; us a run, median of {args.rounds} rounds")
    print(f"{'':22}" + "".join(f"{title:>18}" for title in ("median", "on 2 x 4", "kernels alone", "left")))
    print(f"{'':22}" + f"{'pdhost':>9}{'torch':>9}" * 4)
    for row in rows:
        figures = "".join(f"{row[side + what]:9.2f}" for what in ("", "_launch", "_kernels", "_left") for side in ("ours", "torch"))
        said = {None: "launch-bound, other kernels", True: "agree", False: "DISAGREE"}[row["agree"]]
        print(f"{row['implementation']:8}{row['batch']:>7} x {row['dim']:<4}{figures}  {said}")
    with open(os.path.join(args.out, "vec_dot.json"), "w", encoding="utf-8") as file:
        json.dump({"torch": torch.__version__, "device": torch.cuda.get_device_name(0), "rows": rows}, file, indent=1)
    judged = [row for row in rows if row["agree"] is not None]
    print(f"{len(judged)} of {len(rows)} rows judged, {sum(not row['agree'] for row in judged)} disagree")
    return 0 if {row["implementation"] for row in judged if row["agree"]} == set(IMPLEMENTATIONS) and all(
        row["agree"] for row in judged) else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What recording costs in whole runs: interleaved runs of the program, compared within each round.

    profile_cost.py PDHOST FIXTURES [--rounds N] [--steps N]

The null device of tests/fixtures computes nothing and takes no time, so that a step is the host's work alone: tiny_ops
on it is a step of about a thousand operations. Each line is a median over the rounds, with the quartiles.

"off" is a loop in which nothing is ever recorded; each figure is against it, in the same round:
  per operation     step time with a window open, with and without call stacks, less "off", over operations per step
  stacks, unused    with_stack = true where nothing is recorded: what the key costs by itself
  timer_only        the whole iteration of a timer_only run over that of "off"
  empty step        the whole iteration of a scenario that does nothing, under timer_only: all that the loop adds
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile


def run(folder, pdhost, arguments):
    path = os.path.join(folder, "metrics.json")
    command = [os.path.abspath(pdhost), *arguments, "--sink", f"json:output_json={path}", "--trace_dir",
               os.path.join(folder, "traces")]
    subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def typical(metrics, key, steps):
    """Median of the last steps: those before warm caches up."""
    return statistics.median(row[key] for row in metrics["step_rows"][-steps:])


def operations(metrics):
    window = metrics["windows"][0]
    rows = window["tables"]["operators"]["rows"]
    return sum(row["count"] for row in rows if row["kind"] == "op") / len(window["steps"])


def one_round(folder, pdhost, fixtures, steps):
    device = ["--device", os.path.join(fixtures, "device", "null.so")]
    ops = ["--scenario", "tiny_ops", *device, "--batch_size", "1", "--image_size", "8", "-o", "data.resident=host",
           "-o", "schedule.wait=0", "-o", f"run.max_steps={steps + 20}", "-o", "schedule.skip_first=20",
           "-o", f"schedule.active={steps}", "-o", "schedule.warmup=0"]
    never = [*ops, "-o", "schedule.skip_first=1000000000"]
    stacks = ["-o", "profile.with_stack=true"]
    timer = ["-o", "profile.timer_only=true", "-o", "profile.step_info_every=10"]
    off = run(folder, pdhost, never)
    recorded = run(folder, pdhost, ops)
    with_stacks = run(folder, pdhost, [*ops, *stacks])
    unused = run(folder, pdhost, [*never, *stacks])
    timed = run(folder, pdhost, [*ops, *timer, "--sink", f"table:path={folder}/timer.txt"])
    empty = run(folder, pdhost, ["--scenario", os.path.join(fixtures, "scenario", "probe.so"), "-o", "scenario.token=-",
                                 *device, "--batch_size", "1", "--image_size", "8", "-o", "data.resident=host",
                                 "-o", "run.max_steps=20000", "-o", "schedule.active=20000", *timer,
                                 "--sink", f"table:path={folder}/timer.txt"])
    count = operations(with_stacks)
    base = typical(off, "step_time_ns", steps)
    plain, stacked = (typical(m, "step_time_ns", steps) for m in (recorded, with_stacks))
    return {"off: step, us": base / 1e3,
            "recording, ns per operation": (plain - base) / count,
            "recording with stacks, ns per operation": (stacked - base) / count,
            "with_stack adds, ns per operation": (stacked - plain) / count,
            "stacks, unused: step over off": typical(unused, "step_time_ns", steps) / base,
            "timer_only: iteration over off":
                typical(timed, "batch_cost_ns", steps) / typical(off, "batch_cost_ns", steps),
            "empty step under timer_only, us": typical(empty, "batch_cost_ns", 10000) / 1e3}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pdhost")
    parser.add_argument("fixtures")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()
    rounds = []
    with tempfile.TemporaryDirectory(prefix="pdhost cost ") as folder:
        for _ in range(arguments.rounds):
            rounds.append(one_round(folder, arguments.pdhost, os.path.abspath(arguments.fixtures), arguments.steps))
    print(f"{arguments.rounds} rounds of {arguments.steps} steps" + " " * 24 + "median   quartiles")
    for key in rounds[0]:
        values = sorted(one[key] for one in rounds)
        low, high = values[len(values) // 4], values[-1 - len(values) // 4]
        print(f"{key:44}  {statistics.median(values):10.3f}   {low:.3f} .. {high:.3f}")


if __name__ == "__main__":
    main()

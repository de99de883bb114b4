#!/usr/bin/env python3
"""Two builds of pdhost in turns on one machine with a GPU: what a step takes, what recording adds to a launch, and how
long the end of a run takes. A figure that is worse in one build than the other's rounds ever were has become worse.

    builds.py BEFORE AFTER [--rounds N] [--steps N] [--out DIR]

BEFORE and AFTER are folders that scripts/gpu-pack made. Prints a row for each figure, the median of its rounds and their
range, and writes builds.json into DIR.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile

from measured import CLOSING, PART, TINY, Launches, Loader, Pdhost

RESIDENT = ["data.resident=host", "data.pin_memory=true"]


def measure(pdhost):
    """Functions, each of which gives some figures of one round by their names."""
    def recorded():
        on = pdhost.run("tiny_ops", TINY, sinks="json,table,chrome_trace", traced=True, active=CLOSING)
        return {"tiny_ops recorded, ms": on["median_ms"],
                f"last of {CLOSING} steps to files closed, s": on["last_step_to_closed_s"],
                f"last of {CLOSING} steps to process end, s": on["last_step_to_end_s"]}

    def launches():
        added, bare = Launches().ours(pdhost)
        return {"added to a launch, ns": added, "the same, to bare CUPTI": added / bare}
    yield lambda: {"plain fp32, ms": pdhost.run("control", RESIDENT)["median_ms"]}
    yield lambda: {"tiny_ops, ms": pdhost.run("tiny_ops", TINY)["median_ms"]}
    yield lambda: {"memory_churn, ms": pdhost.run("memory_churn", RESIDENT)["median_ms"]}
    yield lambda: {"loader, 8 workers, samples/s": Loader(8, 200).ours(pdhost)}
    yield recorded
    yield launches


def one_round(pdhost, into):
    for figures in measure(pdhost):
        try:
            for name, value in figures().items():
                into.setdefault(name, []).append(value)
        except PART as failed:
            print(f"builds: {failed!r}", file=sys.stderr)


def row(name, values):
    if not values:
        return f"{name:>40}  not measured"
    return f"{name:>40}  {statistics.median(values):10.4g} ({min(values):.4g} to {max(values):.4g})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--out", default=".")
    args = parser.parse_args()
    builds = {"before": args.before, "after": args.after}
    found = {tag: {} for tag in builds}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.rounds):
            for tag in sorted(builds, reverse=number % 2 == 0):
                one_round(Pdhost(os.path.join(builds[tag], "bin", "pdhost"), args.steps, folder, []), found[tag])
    names = list(dict.fromkeys([*found["before"], *found["after"]]))
    for name in names:
        print(name)
        for tag in builds:
            print(row(tag, found[tag].get(name, [])))
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "builds.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": args.rounds, **found}, file, indent=1)
    return not names or any(name not in found[tag] for name in names for tag in builds)


if __name__ == "__main__":
    sys.exit(main())

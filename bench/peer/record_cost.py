#!/usr/bin/env python3
"""What recording costs an unchanged PyTorch program: the same loop alone, under pdhost record, under pdhost record --torch,
and in torch.profiler, in turns. Prints a row for each loop, and writes record_cost.json.

    record_cost.py --pdhost BIN [--rounds N] [--steps N] [--cells CELL ...] [--out DIR]

A loop is a cell of corpus/pytorch/generate.py. Each run is a process of its own, which prints the median of five blocks of
steps; a ratio is of two runs of one round, and the figure is the median of the rounds.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GENERATE = os.path.join(ROOT, "corpus", "pytorch", "generate.py")
CELLS = ("convolutions_bf16_sync_none_0", "encoder_bf16_async_none_0", "perceptron_fp32_sync_launch_bound_30")
VARIANTS = ("alone", "record", "record --torch", "torch.profiler")


def step_us(args, cell, variant):
    job = [sys.executable, GENERATE, "--run", cell, "--steps", str(args.steps)]
    if variant == "torch.profiler":
        job.append("--profile")
    elif variant != "alone":
        out = os.path.join(args.out, "recorded")
        job = [args.pdhost, *variant.split(), "-q", "--out", out, "--", *job]
    done = subprocess.run(job, capture_output=True, text=True, check=False)
    found = re.search(r"step (\d+) us", done.stdout)
    if done.returncode or not found:
        sys.exit(f"record_cost: {cell}, {variant}: exit status {done.returncode}: {done.stderr.strip()[-500:]}")
    return float(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdhost", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--cells", nargs="+", default=CELLS)
    parser.add_argument("--out", default=".")
    args = parser.parse_args()
    rows = []
    for cell in args.cells:
        rounds = [{variant: step_us(args, cell, variant) for variant in VARIANTS} for _ in range(args.rounds)]
        alone = statistics.median(one["alone"] for one in rounds)
        print(f"{cell}: alone {alone:.0f} us", end="")
        for variant in VARIANTS:
            ratios = sorted(one[variant] / one["alone"] for one in rounds)
            rows.append({"cell": cell, "variant": variant, "step_us": statistics.median(one[variant] for one in rounds),
                         "ratio": statistics.median(ratios), "low": ratios[0], "high": ratios[-1]})
            if variant != "alone":
                print(f"; {variant} {rows[-1]['ratio']:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})", end="")
        print(flush=True)
    with open(os.path.join(args.out, "record_cost.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": args.rounds, "steps": args.steps, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()

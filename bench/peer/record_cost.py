#!/usr/bin/env python3
"""What recording costs an unchanged PyTorch program: the same loop alone, under pdhost record, under pdhost record --torch,
with a bare CUPTI collector, and in torch.profiler. Prints a row for each loop, and writes record_cost.json.

    record_cost.py --pdhost BIN [--rounds N] [--steps N] [--cells CELL ...] [--out DIR]

A loop is a cell of corpus/pytorch/generate.py. The bare collector only counts what CUPTI brings. All are processes that are
there at the same time, and make their blocks of steps in turns, so that a slow time of the machine is in all of them. A ratio is
of two blocks of one round. The figure is the median of the rounds, with its quartiles.
"""
import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
GENERATE = os.path.join(ROOT, "corpus", "pytorch", "generate.py")
CELLS = ("convolutions_bf16_sync_none_0", "encoder_bf16_async_none_0", "perceptron_fp32_sync_launch_bound_30")
VARIANTS = ("alone", "record", "record --torch", "bare CUPTI", "torch.profiler")
BARE = "../bench/libpdhost_cupti_bare.so"  # from the folder of pdhost


def bare(args):
    return os.path.abspath(os.path.join(os.path.dirname(args.pdhost), BARE))


class Loop:
    """A process that makes a block of steps when it is told to."""

    def __init__(self, args, cell, variant):
        job = [sys.executable, GENERATE, "--run", cell, "--steps", str(5 * args.steps), "--blocks"]
        env = dict(os.environ)
        if variant == "torch.profiler":
            job.append("--profile")
        elif variant == "bare CUPTI":
            env["CUDA_INJECTION64_PATH"] = bare(args)
        elif variant != "alone":
            out = os.path.join(args.out, "recorded", variant.replace(" ", ""))
            job = [args.pdhost, *variant.split(), "-q", "--duration", "all", "--out", out, "--", *job]
        self.what, self.said = f"{cell}, {variant}", tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(job, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True,
                                        env=env)

    def line(self):
        if not self.process.stdout.closed and (line := self.process.stdout.readline()):
            return line
        self.said.seek(0)
        sys.exit(f"record_cost: {self.what}: exit status {self.process.wait()}: {self.said.read().strip()[-500:]}")

    def step_us(self):
        with contextlib.suppress(BrokenPipeError):  # line() says why
            self.process.stdin.write("block\n")
            self.process.stdin.flush()
        return float(self.line())

    def end(self):
        self.process.communicate()
        if self.process.returncode:
            self.line()


def measured(args, cell):
    """Microseconds of a step, by variant, of each round."""
    loops = {}
    try:
        for variant in VARIANTS:
            loops[variant] = Loop(args, cell, variant)
        for loop in loops.values():
            loop.line()  # it is ready
        rounds = [{variant: loop.step_us() for variant, loop in loops.items()} for _ in range(args.rounds)]
        for loop in loops.values():
            loop.end()
        return rounds
    finally:
        for loop in loops.values():
            loop.process.kill()
            loop.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdhost", required=True)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=20, help="of a block")
    parser.add_argument("--cells", nargs="+", default=CELLS)
    parser.add_argument("--out", default=".")
    args = parser.parse_args()
    args.pdhost = shutil.which(args.pdhost) or args.pdhost
    if args.rounds < 2:
        parser.error("--rounds has to be 2 or more")
    if not os.path.isfile(bare(args)):
        parser.error(f"{bare(args)} is not there; it belongs to a build with the CUDA device")
    rows = []
    for cell in args.cells:
        rounds = measured(args, cell)
        print(f"{cell}: alone {statistics.median(one['alone'] for one in rounds):.0f} us", end="")
        for variant in VARIANTS:
            ratios = [one[variant] / one["alone"] for one in rounds]
            low, ratio, high = statistics.quantiles(ratios, n=4)
            rows.append({"cell": cell, "variant": variant, "step_us": statistics.median(one[variant] for one in rounds),
                         "ratio": ratio, "low": low, "high": high})
            if variant != "alone":
                print(f"; {variant} {ratio:.3f} ({low:.3f} to {high:.3f})", end="")
        print(flush=True)
    with open(os.path.join(args.out, "record_cost.json"), "w", encoding="utf-8") as file:
        json.dump({"rounds": args.rounds, "steps": args.steps, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()

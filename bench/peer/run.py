#!/usr/bin/env python3
"""Measures pdhost and PyTorch on the same GPU, in alternating rounds, and prints the ratios with their spread.

    run.py --pdhost BIN [--rounds 5] [--seconds N] [--steps 40] [--only NAME,...] [--out DIR]

Each round runs everything once: pdhost on every workload, and then one PyTorch process on every one twice, as the
script is written and tuned (fused AdamW, cudnn.benchmark, TF32 products). Only what closes 60 profiled steps in
PyTorch is measured once, in the first round, since its table takes 20 s. A ratio is pdhost over the better PyTorch of
the same round; the table shows the median of the rounds' ratios, their smallest and largest, and the goal; where the
goal is a time of pdhost's, the spread is that of the time. The last column is bare CUPTI, a collector that counts
records and does nothing else: under pdhost's own workload (by CUDA_INJECTION64_PATH), and under null kernels back to
back (bench_cupti_idle), whose ratio is to it. --only takes regular expressions of rows' names. Every raw number is in
DIR/peer.json.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from measured import PART, Failed, Graph, Launches, Loader, Pdhost, Profiling, Start, Steps, run

HERE = os.path.dirname(os.path.abspath(__file__))
PEER = os.path.join(HERE, "profiler_peer.py")
# The copy of the next batch beside the step, on both sides.
AHEAD = ["data.prefetch_to_device=true"]
# name, scenario of ours, scenario of the peer, extra keys of ours, extra flags of the peer, goal
STEPS = [
    ("plain fp32", "control", "plain", [], [], 0.5),
    ("plain fp32 channels_last", "control", "plain", ["train.channels_last=true"], ["--channels-last"], 0.5),
    ("plain amp", "control", "plain", ["train.amp=true"], ["--amp"], 0.4),
    ("plain amp channels_last", "control", "plain", ["train.amp=true", "train.channels_last=true"],
     ["--amp", "--channels-last"], 0.4),
    ("plain fp32, copied ahead", "control", "plain", AHEAD, ["--prefetch"], 0.5),
    ("plain fp32 channels_last, copied ahead", "control", "plain", ["train.channels_last=true"] + AHEAD,
     ["--channels-last", "--prefetch"], 0.5),
    ("plain amp, copied ahead", "control", "plain", ["train.amp=true"] + AHEAD, ["--amp", "--prefetch"], 0.4),
    ("plain amp channels_last, copied ahead", "control", "plain",
     ["train.amp=true", "train.channels_last=true"] + AHEAD, ["--amp", "--channels-last", "--prefetch"], 0.4),
    ("tiny_ops, copied ahead", "tiny_ops", "tiny_ops", ["train.fused=false"] + AHEAD, ["--prefetch"], 0.25),
    ("memory_churn, copied ahead", "memory_churn", "memory_churn", AHEAD, ["--prefetch"], 0.5),
    ("tiny_ops", "tiny_ops", "tiny_ops", ["train.fused=false"], [], 0.25),
    ("tiny_ops fused", "tiny_ops", "tiny_ops", ["train.fused=true"], [], None),
    ("tiny_ops as a graph", "tiny_ops", "tiny_ops", ["train.fused=false", "train.cuda_graph=true"], [], None),
    ("memory_churn", "memory_churn", "memory_churn", [], [], 0.5),
]
COLUMNS = ("ours", "as_written", "tuned", "bare")


def peer_many(lines, script):
    """The peer's answers to command lines, all in one process."""
    if not lines:
        return []
    out, _ = run([sys.executable, script, "many"], timeout=300, text="\n".join(lines))
    answers = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    if len(answers) != len(lines):
        raise Failed(f"PyTorch: {len(answers)} answers to {len(lines)} commands: {out[-300:]}")
    return answers


def one_round(parts, pdhost, script, wanted, rounds, failures):
    """Ours of every part, then the peer's in one process; adds the rows' values to `rounds`."""
    ours, lines = {}, []
    for part in parts:
        try:
            ours[part] = part.ours(pdhost)
        except PART as error:
            failures.append(f"{part.rows[0]}: {type(error).__name__}: {error}")
            continue
        lines += part.lines
    try:
        answers = peer_many(lines, script)
    except PART as error:
        failures.append(f"PyTorch: {error}")
        return
    for part, measured in ours.items():
        theirs, answers = answers[:len(part.lines)], answers[len(part.lines):]
        wrong = [answer["error"] for answer in theirs if "error" in answer]
        try:
            if wrong:
                raise Failed(wrong[0])
            for name, value in part.result(measured, theirs).items():
                if wanted(name):
                    rounds.setdefault(name, []).append(value)
        except PART as error:
            failures.append(f"{part.rows[0]}: {type(error).__name__}: {error}")


def table_row(name, values, goal, limit):
    """Medians of the rounds' values; the spread is the ratios', or where there is a limit, that of ours."""
    ratios = sorted(r for r in map(ratio_of, values) if r is not None)
    ours = sorted(v["ours"] for v in values)
    row = {"name": name, "unit": values[0]["unit"], "rounds": len(values), "goal": goal, "limit": limit,
           **{k: statistics.median(v[k] for v in values if k in v) for k in COLUMNS if any(k in v for v in values)},
           "ours_min": ours[0], "ours_max": ours[-1], "ratios": len(ratios), "ratio": None, "ratio_min": None,
           "ratio_max": None}
    if ratios:
        row.update(ratio=statistics.median(ratios), ratio_min=ratios[0], ratio_max=ratios[-1])
    return row


def spread_of(row):
    if row["rounds"] == 1:
        return "1 round"
    if row["limit"] or row["ratios"] < 2:
        return f"{row['ours_min']:.3f}-{row['ours_max']:.3f} {row['unit']}"
    return f"{row['ratio_min']:.3f}-{row['ratio_max']:.3f}"


def print_table(rows):
    heads = "".join(f"{head:>12}" for head in ("pdhost", "PyTorch", "tuned", "bare"))
    print(f"{'':40}{heads}  {'unit':10}{'ratio':>7}  {'spread':22}{'goal':>7}")
    for row in rows:
        cells = "".join(f"{row[k]:12.3f}" if k in row else f"{'':12}" for k in COLUMNS)
        ratio = f"{row['ratio']:7.3f}" if row["ratio"] is not None else f"{'':7}"
        goal = f"{row['goal']:7.3f}" if row["goal"] else f"{row['limit']:5.2f} {row['unit']}" if row["limit"] else ""
        reached = row["ratio_max"] is not None and row["ratio_max"] <= row["goal"] if row["goal"] else \
            row["limit"] and row["ours_max"] <= row["limit"]
        met = ("  met" if reached else "  missed") if goal else ""
        print(f"{row['name']:40}{cells}  {row['unit']:10}{ratio}  {spread_of(row):22}{goal}{met}".rstrip())


def versions():
    try:
        out, _ = run([sys.executable, "-c", "import torch; print(torch.__version__, torch.version.cuda, "
                      "torch.backends.cudnn.version(), torch.cuda.get_device_name(0))"])
        return out.strip()
    except (Failed, OSError) as error:
        return str(error)


def ratio_of(round_):
    """To the better PyTorch; where there is none, to bare CUPTI; None where pdhost has no peer."""
    best = [round_[k] for k in ("as_written", "tuned") if round_.get(k) is not None]
    if not best:
        return round_["ours"] / round_["bare"] if round_.get("bare", 0) > 0 else None
    if round_["unit"] == "samples/s":
        return max(best) / round_["ours"]
    return round_["ours"] / min(best)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdhost", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3600, help="no round begins that would end later than that")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--only", default="", help="regular expressions of rows' names, by commas")
    parser.add_argument("--out", default=".")
    parser.add_argument("--peer", default=PEER, help="a script with profiler_peer.py's commands")
    parser.add_argument("--pdhost-args", default="", help="further words for every run of pdhost")
    args = parser.parse_args()
    only = [n for n in args.only.split(",") if n]

    labels = {row[0]: "steps " + row[0] for row in STEPS}

    def wanted(name):
        return not only or any(re.search(o, labels.get(name, name)) for o in only)
    parts = [Start(), Loader(2, 40), Loader(8, 80), Steps([row for row in STEPS if wanted(row[0])], args.steps),
             Launches(), Graph(), Profiling(args.steps)]
    names = [row for part in parts for row in part.rows] + [row[0] for row in STEPS]
    for pattern in only:
        if not any(re.search(pattern, labels.get(name, name)) for name in names):
            parser.error(f"--only {pattern}: there is no such row; there are: {'; '.join(dict.fromkeys(names))}")
    parts = [part for part in parts if any(map(wanted, part.rows))]
    os.makedirs(args.out, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="peer")
    pdhost = Pdhost(args.pdhost, args.steps, folder, args.pdhost_args.split())
    rounds, failures = {}, []
    begun = time.monotonic()
    shortest = float("inf")
    for done in range(args.rounds):
        at = time.monotonic()
        if done and at - begun + shortest > args.seconds:
            print(f"{done} of {args.rounds} rounds: no time for more")
            break
        one_round(parts, pdhost, args.peer, wanted, rounds, failures)
        shortest = min(shortest, time.monotonic() - at)

    goals = {name: goal for name, _s, _o, _k, _f, goal in STEPS}
    goals.update({"profiling, per kernel": 1 / 6, "loader, 2 workers": 0.2, "loader, 8 workers": 0.2,
                  "start to first step done": 0.2, "launches recorded": 1.25, Profiling.beside_bare: 1.25})
    # In the row's own unit. A node of a graph of null kernels takes 0.5 us on an H200.
    limits = {Profiling.closed: 0.2, "graph, each further kernel": 1.5 * 0.5}
    rows = [table_row(name, values, goals.get(name), limits.get(name)) for name, values in rounds.items()]
    print_table(rows)
    for failure in failures:
        print("FAILED", failure)
    with open(os.path.join(args.out, "peer.json"), "w") as file:
        json.dump({"versions": versions(), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                   "command": sys.argv, "seconds": time.monotonic() - begun, "rows": rows, "rounds": rounds,
                   "failures": failures}, file, indent=1)
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

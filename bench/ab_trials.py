#!/usr/bin/env python3
"""How often pdhost ab is right on this machine: bench/ab_trials.py PDHOST [TRIALS=200] [options of pdhost ab]

Each trial is a process of its own at the default budget: A against A, where FASTER and SLOWER are false alarms, and A
against A with 3 % of its step planted as host work (host_compute's inject_us), which is to be found SLOWER.
"""
import collections
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BASE_US, PLANTED = 5000, 0.03
SCENARIO = ["-q", "-c", os.path.join(HERE, "../conf/host_compute.ini"), "--device", "cpu", "-o",
            "data.image_size=8", "-o", "data.batch_size=1", "-o", "run.warmup_steps=1", "--format", "json"]


def trial(pdhost, more, a_us, b_us):
    begin = time.monotonic()
    run = subprocess.run([pdhost, "ab", *SCENARIO, f"scenario.inject_us={a_us:.1f}" if a_us != b_us else "",
                          f"scenario.inject_us={b_us:.1f}" if a_us != b_us else "", "-o", f"scenario.inject_us={a_us:.1f}", *more],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(run.stdout)
    result["planted_us"] = b_us - a_us
    result["wall_s"] = time.monotonic() - begin
    return result


def report(name, trials):
    """The truth of an interval is what the planted time is of its own trial's step: the machine drifts between them."""
    verdicts = collections.Counter(row["verdict"] for row in trials)
    held = sum(row["low"] <= 1 + 1e-6 * row["planted_us"] / step_s(row) <= row["high"] for row in trials)
    widths = [100 * (row["high"] - row["low"]) / 2 for row in trials]
    print(f"{name}: {dict(verdicts)}; of {len(trials)} intervals {held} hold the truth; reach +- "
          f"{statistics.median(widths):.2f} % (median, {min(widths):.2f} to {max(widths):.2f}); "
          f"{statistics.median(row['rounds'] for row in trials):.0f} rounds; ratio "
          f"{statistics.median(row['ratio'] for row in trials):.4f}; {statistics.median(row['wall_s'] for row in trials):.1f} s "
          "a trial", flush=True)


def step_s(row):
    return statistics.median(row["a"]["host_s"]) / row["number_per_run"]


def main(pdhost, trials="200", *more):
    count = int(trials)
    same, different = [], []
    for i in range(count):
        same.append(trial(pdhost, more, BASE_US, BASE_US))
        planted_us = 1e6 * PLANTED * step_s(same[-1])  # of the step right before: the machine drifts
        different.append(trial(pdhost, more, BASE_US, BASE_US + planted_us))
        if (i + 1) % 25 == 0 or i + 1 == count:
            report(f"A/A after {i + 1}", same)
            report(f"planted 3 % after {i + 1}", different)
    alarms = sum(row["verdict"] in ("FASTER", "SLOWER") for row in same)
    found = sum(row["verdict"] == "SLOWER" for row in different)
    print(f"false alarms {alarms} of {count}; found {found} of {count}")
    return 0 if alarms <= 0.05 * count and found >= 0.95 * count else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

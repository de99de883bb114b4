"""Random pairs through pdhost's rank correlation and through pandas: check_rank_correlation.py PRINT_RANK_CORRELATION

The chance is that of Student's t, which scipy.stats.spearmanr uses too; ours is from 999 shuffles and lies around it."""
import json
import math
import subprocess
import sys

import numpy as np
import pandas as pd

from run_folder import Checks

SAMPLES = 400


def samples(random):
    for i in range(SAMPLES):
        count = int(random.integers(0, 60))
        x = random.integers(0, 6, count) if i % 3 == 0 else random.lognormal(0, 2, count)  # many equal ones
        y = random.normal(0, 1, count) + random.uniform(-1, 1) * np.log1p(x)
        yield x.astype(float), np.round(y, 1) if i % 4 == 0 else y


def chance(rho, count):
    """Both tails of Student's t with count - 2 degrees of freedom, by adding up its density."""
    if abs(rho) > 1 - 1e-12:
        return 0.0
    free = count - 2
    t = abs(rho) * math.sqrt(free / (1 - rho * rho))
    angle = np.linspace(math.atan(t / math.sqrt(free)), math.pi / 2, 20001)
    whole = np.linspace(0, math.pi / 2, 20001)
    return float(np.trapezoid(np.cos(angle) ** (free - 1), angle) / np.trapezoid(np.cos(whole) ** (free - 1), whole))


def main(program):
    checks = Checks("rank correlation")
    drawn = list(samples(np.random.default_rng(2026)))
    text = "".join(" ".join(f"{a!r} {b!r}" for a, b in zip(x.tolist(), y.tolist())) + "\n" for x, y in drawn)
    lines = subprocess.run([program], input=text, text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    checks.equal("samples", len(lines), len(drawn))
    for i, (line, (x, y)) in enumerate(zip(lines, drawn)):
        ours = json.loads(line)
        theirs = pd.DataFrame({"x": x, "y": y}).corr(method="spearman").loc["x", "y"] if len(x) > 2 else math.nan
        checks.equal(f"sample {i} has one", ours is not None, not math.isnan(theirs))
        if ours is None:
            continue
        checks.near(f"sample {i} rho", ours["rho"], float(theirs), relative=1e-12, absolute=1e-12)
        if len(x) >= 10:  # Student's t is no good guess of fewer
            checks.near(f"sample {i} p", ours["p"], chance(ours["rho"], len(x)), relative=0, absolute=0.08)
    checks.end()


if __name__ == "__main__":
    main(*sys.argv[1:])

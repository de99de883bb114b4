"""Random samples through pdhost's statistics and through numpy: check_statistics.py PRINT_STATISTICS

The significant figures, their trimming and the unit are those of torch.utils.benchmark, computed here with numpy."""
import json
import math
import subprocess
import sys

import numpy as np

from run_folder import Checks

SAMPLES = 2000


def samples(random):
    for i in range(SAMPLES):
        count = int(random.integers(1, 40)) if i % 10 else int(random.integers(40, 4000))
        scale = 10 ** random.uniform(-8, 1)
        kind = i % 4
        if kind == 0:
            values = random.lognormal(0, 10 ** random.uniform(-5, 0), count)
        elif kind == 1:
            values = 1 + random.exponential(0.2, count)
        elif kind == 2:
            values = 1 + random.integers(0, 4, count) / 10  # many equal ones
        else:
            values = 1 + np.abs(random.standard_cauchy(count)) * 1e-3
        yield values * scale


def figures(values):
    ordered = np.sort(values)
    n = len(ordered)
    inner = ordered[n // 4:int(np.ceil(3 * n / 4))]
    interval = max(1.645 * np.std(inner) / np.sqrt(len(inner)), 25e-9)
    return min(max(int(np.floor(np.log10(np.median(ordered) / interval))), 1), 4)


def trim(x, n):
    scale = 10.0 ** (int(np.ceil(np.log10(np.abs(x)))) - n)
    return float(np.round(x / scale) * scale)


def unit(seconds):
    return {-3: "ns", -2: "us", -1: "ms"}.get(int(np.log10(seconds) // 3), "s")


def main(program):
    checks = Checks("statistics")
    drawn = list(samples(np.random.default_rng(2024)))
    text = "".join(" ".join(repr(float(v)) for v in values) + "\n" for values in drawn)
    lines = subprocess.run([program], input=text, text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    checks.equal("samples", len(lines), len(drawn))
    for i, (line, values) in enumerate(zip(lines, drawn)):
        ours, median = json.loads(line), np.median(values)
        p25, p75 = np.percentile(values, [25, 75])
        theirs = {"min": values.min(), "p25": p25, "median": median, "p75": p75, "p90": np.percentile(values, 90),
                  "p99": np.percentile(values, 99), "max": values.max(), "mean": values.mean()}
        for name, value in theirs.items():
            checks.near(f"sample {i} {name}", ours[name], float(value), relative=1e-13, absolute=0)
        # Differences of larger numbers: what is lost there is lost in numpy too.
        for name, value in (("iqr", p75 - p25), ("mad", np.median(np.abs(values - median)))):
            checks.near(f"sample {i} {name}", ours[name], float(value), relative=1e-13, absolute=4e-16 * float(p75))
        checks.equal(f"sample {i} count", ours["count"], len(values))
        checks.equal(f"sample {i} figures", ours["figures"], figures(values))
        checks.near(f"sample {i} trimmed", ours["trimmed"], trim(median, figures(values)), relative=1e-13, absolute=0)
        if not math.isclose(math.log10(median) % 3, 0, abs_tol=1e-9):
            checks.equal(f"sample {i} unit", ours["unit"], unit(median))
    checks.end()


if __name__ == "__main__":
    main(*sys.argv[1:])

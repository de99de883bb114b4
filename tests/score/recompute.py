"""The figures of a score, computed again from its cells.csv by other means, to be held against score.json."""
import csv
import math
import statistics


def read_cells(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for key in ("effect", "share", "repeatable", "idle_ns", "unknown_ns"):
            row[key] = float(row[key])
        row["mixed_error"] = float(row["mixed_error"]) if row["mixed_error"] else math.nan
        row["fix_error"] = float(row["fix_error"]) if row["fix_error"] else math.nan
        row["gain_errors"] = [float(word) for word in row["gain_errors"].split()]
        row["counted"], row["off_path"] = row["counted"] == "1", row["off_path"] == "1"
    return rows


def ratio(part, whole):
    return part / whole if whole else math.nan


def f1_of(pairs, cause):
    right = sum(t == v == cause for t, v in pairs)
    wrong = sum((t == cause) != (v == cause) for t, v in pairs)
    return ratio(2 * right, 2 * right + wrong)


def macro_f1(pairs):
    causes = sorted({t for t, _ in pairs})
    return ratio(math.fsum(f1_of(pairs, c) for c in causes), len(causes))


def quantile(values, q):
    if not values:
        return math.nan
    values = sorted(values)
    at = q * (len(values) - 1)
    low = math.floor(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def detection_limit(runs, wanted):
    """Largest of the means over [i, j] for j, smallest over i: the min-max form of isotonic regression."""
    points = {}
    for effect, hit in runs:
        points.setdefault(effect, []).append(hit)
    effects = sorted(points)

    def mean(i, j):
        hits = [hit for effect in effects[i:j + 1] for hit in points[effect]]
        return sum(hits) / len(hits)
    for k, effect in enumerate(effects):
        fitted = max(min(mean(i, j) for j in range(k, len(effects))) for i in range(k + 1))
        if fitted >= wanted - 1e-12:
            return effect
    return math.nan


def calibration_error(cells):
    bins = {}
    for cell in cells:
        bins.setdefault(min(int(cell["repeatable"] * 10), 9), []).append(cell)
    return ratio(sum(abs(sum(c["repeatable"] for c in b) - sum(c["truth"] == c["verdict"] for c in b))
                     for b in bins.values()), len(cells))


def rate_interval(part, whole):
    """Wilson's score interval: the rates p whose distance from part / whole is 1.96 standard errors of p's own."""
    if not whole:
        return math.nan, math.nan
    z = statistics.NormalDist().inv_cdf(0.975)
    # (part / whole - p)^2 = z^2 p (1 - p) / whole, as a p^2 + b p + c = 0
    a, b, c = 1 + z * z / whole, -2 * part / whole - z * z / whole, (part / whole) ** 2
    root = math.sqrt(b * b - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def rates(cells):
    """Part and whole of what is a rate."""
    counted = [c for c in cells if c["counted"] and not c["off_path"]]
    baselines = [c for c in counted if c["truth"] == "none"]
    off_path = [c for c in cells if c["off_path"]]
    return {
        "accuracy": (sum(c["truth"] == c["verdict"] for c in counted), len(counted)),
        "false_alarms": (sum(c["verdict"] != "none" for c in baselines), len(baselines)),
        "off_path_alarms": (sum(c["verdict"] != "none" for c in off_path), len(off_path)),
    }


def is_own(cell):
    """The scenario's own cure was tried, not settings of the core."""
    return any(word.startswith("scenario.") for word in cell["fix"].split())


def median(values):
    return statistics.median(values) if values else math.nan


def figures(cells):
    counted = [c for c in cells if c["counted"] and not c["off_path"]]
    off_path = [c for c in cells if c["off_path"]]
    baselines = [c for c in counted if c["truth"] == "none"]
    pairs = [(c["truth"], c["verdict"]) for c in counted]
    errors = [100 * abs(c["share"] - c["effect"]) for c in counted if c["truth"] == c["verdict"] != "none"]
    mixed = [100 * c["mixed_error"] for c in counted if not math.isnan(c["mixed_error"])]
    gains = [abs(error) for c in cells for error in c["gain_errors"]]
    fixes = [c for c in cells if not math.isnan(c["fix_error"])]
    return {
        "macro_f1": macro_f1(pairs),
        "accuracy": ratio(sum(t == v for t, v in pairs), len(pairs)),
        "false_alarms": ratio(sum(c["verdict"] != "none" for c in baselines), len(baselines)),
        "off_path_alarms": ratio(sum(c["verdict"] != "none" for c in off_path), len(off_path)),
        "error_median": quantile(errors, 0.5),
        "error_p95": quantile(errors, 0.95),
        "calibration": calibration_error(counted),
        "unknown": ratio(math.fsum(c["unknown_ns"] for c in cells), math.fsum(c["idle_ns"] for c in cells)),
        "gain_error_median": quantile(gains, 0.5),
        "gain_error_p95": quantile(gains, 0.95),
        "mixed_error": statistics.fmean(mixed) if mixed else math.nan,
        "fix_error": median([c["fix_error"] for c in fixes]),
        "own_fix_error": median([c["fix_error"] for c in fixes if is_own(c)]),
        "core_fix_error": median([c["fix_error"] for c in fixes if not is_own(c)]),
    }


def limits(cells, cause):
    runs = [(c["effect"], c["verdict"] == cause) for c in cells if c["truth"] == cause and not c["off_path"] and c["effect"] > 0]
    return detection_limit(runs, 0.5), detection_limit(runs, 0.95)


def rival_f1(cells, tool):
    return macro_f1([(c["truth"], c[tool]) for c in cells if c["counted"] and not c["off_path"]])

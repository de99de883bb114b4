"""What TensorBoard must show of a run, from its json and csv files; for check_tensorboard.py."""
import html
import re
import struct

from run_folder import union_ns

TABLE_ROWS = 100  # of a table, as text


def single(value):
    """TensorBoard's scalars are 32-bit floats."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def last_step(run, window):
    steps = run.windows[window]["steps"]
    return steps[-1]["number"] if steps else 0


def busy_share(run, window, step):
    """The share of the step's own time that any kernel, copy or set covers."""
    start = step["start_ns"] - run.windows[window]["start_realtime_ns"]
    base = int(run.csv("active_steps", window)[0]["step_start"]) - (run.windows[window]["steps"][0]["start_ns"]
                                                                    - run.windows[window]["start_realtime_ns"])
    start, end = start + base, start + base + step["duration_ns"]
    rows = [(max(start, int(row["start_ns"])), min(end, int(row["end_ns"])))
            for name in ("kernels", "copies") for row in run.csv("events/" + name, window)]
    return union_ns([span for span in rows if span[1] > span[0]]) / step["duration_ns"] if step["duration_ns"] else 0.0


def scalars(run):
    """{tag: {step: value}}"""
    expected = {}

    def add(tag, step, value):
        if value is not None:
            expected.setdefault(tag, {})[step] = single(value)

    for row in run.metrics["step_rows"]:
        add("time/step_time_s", row["index"], row["step_time_ns"] / 1e9)
        add("time/dataloader_wait_s", row["index"], row["data_wait_ns"] / 1e9)
        add("time/batch_cost_s", row["index"], row["batch_cost_ns"] / 1e9)
        add("train/loss", row["index"], row["loss"])
        add("memory/allocated_bytes", row["index"], row["allocated_bytes"])
        add("memory/reserved_bytes", row["index"], row["reserved_bytes"])
        if row["batch_cost_ns"]:
            add("throughput/samples_per_s", row["index"], run.metrics["batch_size"] / (row["batch_cost_ns"] / 1e9))
    for window, content in enumerate(run.windows):
        for step in content["steps"]:
            if content["profile"] == "full":
                add("device/launches", step["number"], step["launches"])
                add("device/busy_share", step["number"], busy_share(run, window, step))
        rows = run.table("ledger_steps", window)
        for key in {key for row in rows for key in row if key.startswith("ledger_") and row[key]}:
            for row in rows:
                add("ledger/" + key[len("ledger_"):] + "_us", row["step"], row[key] * 1e-3)
    for key in ("avg_step_time_s", "avg_dataloader_wait_s", "samples_per_s", "peak_allocated_bytes", "coverage"):
        add("summary/" + key, run.metrics["steps"], run.metrics[key])
    return expected


def histogram_values(run, window):
    """{tag: values}, none for a tag without values."""
    calls = run.csv("events/calls", window)
    kernels = run.csv("events/kernels", window)
    values = {
        "histograms/step_time_us": [step["step_time_ns"] / 1e3 for step in run.windows[window]["steps"]],
        "histograms/kernel_duration_us": [int(row["duration_ns"]) / 1e3 for row in kernels],
        "histograms/launch_latency_us": [(int(row["start_ns"]) - int(calls[int(row["call"])]["start_ns"])) / 1e3
                                         for row in kernels if row["call"]],
    }
    return {tag: found for tag, found in values.items() if found}


def check_bins(checks, name, values, bins):
    """`bins`, rows of left, right and count, hold `values`: without gaps, from the least to the greatest, each value in
    its own. A value within the last digits of an edge may be on either side."""
    checks.true(len(bins) > 0, f"{name}: no bins")
    if not bins:
        return
    checks.equal(f"{name}: values", len(values), sum(row[2] for row in bins))
    if len(bins) > 1:
        checks.near(f"{name}: least", min(values), bins[0][0], 1e-12)
        checks.near(f"{name}: greatest", max(values), bins[-1][1], 1e-12)
    below = 0
    for before, after in zip(bins, bins[1:]):
        below += before[2]
        edge, slack = after[0], 1e-9 * max(abs(after[0]), 1)
        checks.near(f"{name}: a gap", before[1], edge, 1e-9)
        least = sum(value < edge - slack for value in values)
        most = sum(value < edge + slack for value in values)
        checks.true(least <= below <= most, f"{name}: {below} below {edge}, expected {least} to {most}")


# ---- text ----

def shown_time(ns):
    for size, unit in ((1e9, "s"), (1e6, "ms")):
        if abs(ns) >= size:
            return f"{ns / size:.3f} {unit}"
    return f"{ns / 1e3:.3f} us"


def shown_bytes(count):
    for size, unit in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if abs(count) >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count:.0f} B"


def shown(unit, value):
    if value is None:
        return ""
    if unit == "text":
        return re.sub(r"[\r\n]", " ", value)
    if unit == "ns":
        return shown_time(value)
    if unit == "bytes":
        return shown_bytes(value)
    if unit == "percent":
        return f"{value:.2f}%"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def same_cell(expected, unit, value, cell):
    """The json file does not say whether a whole number is a ratio: such a cell may be written either way."""
    return cell == expected or (unit not in ("text", "ns", "bytes", "percent") and value is not None
                                and cell == f"{value:.6g}")


def cells_of(line):
    """Cells of a markdown row."""
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [html.unescape(re.sub(r"\\(.)", r"\1", re.sub("^(&nbsp;)+", "", cell.strip()))) for cell in cells]


def rows_of_markdown(text):
    """Header and body of the one table in a markdown text."""
    lines = [cells_of(line) for line in text.split("\n") if line.startswith("|")]
    return lines[0], lines[2:]


def check_table(checks, name, table, header, body):
    """`body` shows `table` of the json file, under the columns that are not details."""
    columns, rest = [], list(table["columns"])
    for heading in header:
        while rest and rest[0]["heading"] != heading:
            rest.pop(0)
        checks.true(bool(rest), f"{name}: no column {heading}")
        if not rest:
            return
        columns.append(rest.pop(0))
    rows = table["rows"][:TABLE_ROWS] + ([table["footer"]] if table["footer"] else [])
    checks.equal(f"{name}: rows", len(rows), len(body))
    for row, cells in zip(rows, body):
        for column, cell in zip(columns, cells):
            value = row[column["key"]]
            expected = shown(column["unit"], value)
            checks.true(same_cell(expected.strip(), column["unit"], value, cell),
                        f"{name}, {column['heading']}: {expected!r} in pdhost's file, {cell!r} in the tool")


def quick_stats(run):
    metrics = run.metrics

    def spread(key):
        return ", ".join(f"{metrics[key][part]:.6f}" for part in ("median", "p10", "p90")) + " s"

    expected = {"scenario": metrics["scenario"], "outcome": metrics["outcome"], "device": metrics["device"]["name"],
                "versions": metrics["device"]["versions"], "steps": str(metrics["steps"]),
                "avg step time (all steps)": f"{metrics['avg_step_time_s']:.6f} s",
                "avg dataloader wait (all steps)": f"{metrics['avg_dataloader_wait_s']:.6f} s",
                "samples per second": f"{metrics['samples_per_s']:.3f}",
                "peak device memory": f"{metrics['peak_allocated_bytes']} bytes",
                "launches with their device record": f"{100 * metrics['coverage']:.4f}%"
                if metrics["coverage"] is not None else "n/a"}
    if metrics["active_step_time_s"]["count"]:
        expected["step time (active): median, p10, p90"] = spread("active_step_time_s")
        expected["data wait (active): median, p10, p90"] = spread("active_dataloader_wait_s")
    return expected


# ---- hyperparameters ----

ALWAYS = ("run.scenario", "run.device", "run.sync_timing", "data.batch_size", "data.num_workers", "data.pin_memory",
          "data.image_size", "train.amp", "train.channels_last")


HEADLINE = ("samples_per_s", "avg_step_time_s", "avg_dataloader_wait_s", "peak_allocated_bytes", "coverage")


NO_COLUMNS = ("sink.", "benchmark.", "truth.")  # unless the run sets them


def columns(run):
    """The keys that the HParams tab has columns for: {key: whether it is varied}."""
    found = {}
    for row in run.metrics["configuration"]:
        name = f"{row['section']}.{row['key']}"
        if row["is_default"] and name.startswith(NO_COLUMNS):
            continue
        found[name] = row["origin"] == "command line" and name not in ("run.trace_dir", "run.sinks")
    return found


def hyperparameters(run):
    """Every key that is not at its default, and those that are always shown; typed as TensorBoard has them."""
    found = {}
    for row in run.metrics["configuration"]:
        name, value = f"{row['section']}.{row['key']}", row["value"]
        if row["is_default"] and name not in ALWAYS:
            continue
        if value in ("true", "false"):
            found[name] = value == "true"
            continue
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = value
    return found

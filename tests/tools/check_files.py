"""The json, csv and chrome_trace files of a run by themselves: schema, RFC 4180, nesting, flows, and that the same
figures stand in all three. Usage: check_files.py RUN_FOLDER ..."""
import itertools
import json
import os
import sys

import jsonschema

from run_folder import Checks, load_trace, runs_of

SCHEMAS = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "schema")


def check_schema(checks, name, document):
    with open(os.path.join(SCHEMAS, name + ".schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(document))
    checks.true(not errors, f"{name}: {[error.message[:200] for error in errors[:3]]}")


def check_cells(checks, run):
    """The schema takes text for columns of text alone, and numbers for the others."""
    with open(os.path.join(SCHEMAS, "metrics.schema.json"), encoding="utf-8") as file:
        whole = json.load(file)
    schema = jsonschema.Draft202012Validator({"$ref": "#/$defs/table", "$defs": whole["$defs"]})
    for content in run.windows[:1]:
        for name, table in content["tables"].items():
            for column in table["columns"] if table["rows"] else []:
                wrong = 7 if column["unit"] == "text" else "seven"
                odd = dict(table, rows=[dict(table["rows"][0], **{column["key"]: wrong})])
                checks.true(not schema.is_valid(odd), f"the schema takes {wrong!r} for {name}.{column['key']}")


def check_truth(checks, run):
    # Tools take every .json of the folder for a trace.
    other = [name for name in os.listdir(run.trace_dir) if name.endswith(".json") and not name.endswith(".trace.json")]
    checks.equal("files of the trace folder that are not traces", [], other)
    path = os.path.join(run.trace_dir, "truth", "truth.json")
    active = any(row["phase"] == "active" for row in run.metrics["step_rows"])
    checks.equal("truth.json of a run with active steps", active, os.path.exists(path))
    if active:
        with open(path, encoding="utf-8") as file:
            check_schema(checks, "truth", json.load(file))


def check_json(checks, run):
    check_schema(checks, "metrics", run.metrics)
    if run.metrics["losses"]:
        checks.equal("one loss per step", run.metrics["steps"], len(run.metrics["losses"]))
    checks.equal("one row per step", run.metrics["steps"], len(run.metrics["step_rows"]))
    rows = run.metrics["step_rows"]
    if rows:
        mean = sum(row["step_time_ns"] for row in rows) / len(rows) / 1e9
        checks.near("avg_step_time_s", run.metrics["avg_step_time_s"], mean, 1e-6)
        mean = sum(row["data_wait_ns"] for row in rows) / len(rows) / 1e9
        checks.near("avg_dataloader_wait_s", run.metrics["avg_dataloader_wait_s"], mean, 1e-6)


def check_csv(checks, run):
    steps = run.csv("steps", None)
    checks.equal("steps.csv", len(run.metrics["step_rows"]), len(steps))
    for ours, theirs in zip(run.metrics["step_rows"], steps):
        checks.equal("step_time_ns", ours["step_time_ns"], int(theirs["step_time_ns"]))
        checks.equal("loss", ours["loss"], float(theirs["loss"]) if theirs["loss"] else None)
    for window, content in enumerate(run.windows):
        for name, table in content["tables"].items():
            rows = [row for row in run.csv(name, window) if row["row_kind"] == "row"]
            checks.equal(f"rows of {name}", len(table["rows"]), len(rows))
            for ours, theirs in zip(table["rows"], rows):
                for column in table["columns"]:
                    key, value = column["key"], theirs[column["key"]]
                    if ours[key] is None:
                        checks.equal(f"{name}.{key}", "", value)
                    elif column["unit"] == "text":
                        checks.equal(f"{name}.{key}", ours[key], value)
                    else:
                        checks.near(f"{name}.{key}", ours[key], float(value), 1e-12)
        counts = content["counts"]
        kernels, copies = run.csv("events/kernels", window), run.csv("events/copies", window)
        checks.equal("activities", counts["activities"], len(kernels) + len(copies))
        for name in ("ranges", "calls", "memory", "counters", "others"):
            checks.equal(name, counts[name], len(run.csv("events/" + name, window)))
        lost = dict.fromkeys(content["lost"], 0)
        for row in run.csv("events/lost_spans", window):
            lost[row["loss"]] += int(row["count"])
        if not run.hand_made:  # whose losses have no place
            checks.equal("lost spans", content["lost"], lost)


def ns(event, key):
    return round(event[key] * 1000)


def check_sums(checks, slices):
    """Nesting again, as readers have it who add ts and dur as doubles."""
    for _, events in itertools.groupby(sorted(slices, key=lambda e: (str(e["pid"]), str(e["tid"]), e["ts"], -e["dur"])),
                                       lambda e: (str(e["pid"]), str(e["tid"]))):
        open_ends, bad = [], None
        for event in events:
            while open_ends and open_ends[-1] <= event["ts"]:
                open_ends.pop()
            if open_ends and event["ts"] + event["dur"] > open_ends[-1]:
                bad = bad or event
            open_ends.append(event["ts"] + event["dur"])
        checks.true(bad is None, f"{bad} overlaps as a sum of doubles")


def check_nesting(checks, slices):
    def track(event):
        return str(event["pid"]), str(event["tid"])

    for name, events in itertools.groupby(sorted(slices, key=lambda e: (track(e), ns(e, "ts"), -ns(e, "dur"))), track):
        open_ends, bad = [], None
        for event in events:
            start, end = ns(event, "ts"), ns(event, "ts") + ns(event, "dur")
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if open_ends and end > open_ends[-1]:
                bad = bad or event
            open_ends.append(end)
        checks.true(bad is None, f"track {name}: {bad} overlaps")


RUNTIME = ["cuda_runtime", "runtime"]  # by sink.chrome_trace.runtime_category


def check_arguments(checks, run, window, operations):
    """Shapes, element types and call stacks of every operation."""
    ranges = {int(row["index"]): row for row in run.csv("events/ranges", window)}
    stacks = {row["index"]: row["frames"] for row in run.csv("events/stacks", window)}
    for event in operations:
        args, row = event["args"], ranges[event["args"]["Ev Idx"]]
        dims = "".join("[" + " ".join(str(dim) for dim in shape) + "]" for shape in args.get("Input Dims", []))
        checks.equal(f"shapes of {event['name']}", row["input_shapes"], dims)
        checks.equal(f"types of {event['name']}", row["input_types"], ";".join(args.get("Input type", [])))
        checks.equal(f"stack of {event['name']}", stacks.get(row["stack"]), args.get("Call stack"))
    if run.metrics["with_stack"] and operations:
        checks.true(bool(stacks), f"{run.folder}: no stacks")


# Arguments of Kineto's events, as a trace of PyTorch 2.11 on an H200 has them; then which of them may be missing here,
# and which are pdhost's own. docs/tools.md says why.
KERNEL = ("External id", "queued", "device", "context", "stream", "correlation", "registers per thread",
          "shared memory", "blocks per SM", "warps per SM", "grid", "block", "est. achieved occupancy %")
COPY = ("External id", "device", "context", "stream", "correlation", "bytes", "memory bandwidth (GB/s)")
CALL = ("External id", "cbid", "correlation")
GRAPH = ("graph id", "graph node id")
KINETO = {
    "cpu_op": (("External id", "Record function id", "Sequence number", "Fwd thread id", "Concrete Inputs",
                "Input type", "Input Strides", "Input Dims", "Ev Idx"),
               ("Sequence number", "Fwd thread id", "Concrete Inputs", "Input type", "Input Strides", "Input Dims"),
               ("flops", "Module Hierarchy", "Call stack")),
    "user_annotation": (("External id", "Record function id", "Ev Idx"), (), ()),
    "gpu_user_annotation": (("External id",), (), ()),
    "cuda_runtime": (CALL, ("External id",), ("result",)),
    "runtime": (CALL, ("External id",), ("result",)),
    "cuda_driver": (CALL, ("External id",), ("result",)),
    "gpu_memcpy": (COPY, ("External id", "memory bandwidth (GB/s)"), GRAPH),
    "gpu_memset": (COPY, ("External id", "memory bandwidth (GB/s)"), GRAPH),
    "cpu_instant_event": (("Total Reserved", "Total Allocated", "Bytes", "Device Id", "Device Type", "Addr",
                           "finished", "Ev Idx"), (), ()),
}
ON_GPU = (KERNEL, ("External id",), ("waves", *GRAPH))
ON_CPU = (KERNEL, ("External id", "blocks per SM", "warps per SM", "est. achieved occupancy %"), GRAPH)


def check_fields(checks, run, window):
    """Every event has Kineto's fields in Kineto's order, but for what is known to differ."""
    trace = load_trace(run.trace_of(window))
    forms = dict(KINETO, kernel=ON_GPU if "numSms" in trace["deviceProperties"][0] else ON_CPU)
    for event in trace["traceEvents"]:
        if event.get("cat") not in forms or event["ph"] not in "Xi":
            continue
        known, optional, own = forms[event["cat"]]
        keys = [key for key in event["args"] if key not in own]
        wanted = [key for key in known if key in keys or key not in optional]
        checks.true(keys == wanted, f"{event['cat']} {event['name']}: {keys} where Kineto has {wanted}")
        head = [key for key in event if key not in ("dur", "s")]
        checks.true(head == ["ph", "cat", "name", "pid", "tid", "ts", "args"], f"{event['cat']}: fields {head}")


def check_span(checks, events, slices):
    """It holds every slice, also those of a device that works on after the window, and ends with the window's mark."""
    span = [(ns(event, "ts"), ns(event, "ts") + ns(event, "dur")) for event in slices if event["cat"] == "Trace"]
    rows = [event for event in slices if event["cat"] != "Trace"]
    last = max((ns(event, "ts") + ns(event, "dur") for event in rows), default=0)
    checks.equal("spans", 1, len(span))
    for begin, end in span:
        checks.true(begin <= min((ns(event, "ts") for event in rows), default=begin) and last <= end,
                    f"the span is {begin} to {end} ns, the last slice ends at {last}")
        marks = [ns(event, "ts") for event in events if event["name"] == "Record Window End"]
        checks.equal("mark of the window's end", [end] if end - begin < 60_000_000_000 else [], marks)


def check_trace(checks, run, window):
    trace = load_trace(run.trace_of(window))
    events = trace["traceEvents"]
    checks.equal("schemaVersion", 1, trace["schemaVersion"])
    for event in events:
        checks.true({"name", "ph", "pid", "tid", "ts"} <= event.keys(), f"{event}: a field is missing")
    slices = [event for event in events if event["ph"] == "X"]
    checks.true(all("cat" in event and event["dur"] >= 0 for event in slices), "a slice without cat or dur")
    check_nesting(checks, slices)
    check_sums(checks, [event for event in slices
                        if event["cat"] in ("cpu_op", "user_annotation", "gpu_user_annotation", "python_function")])
    spans = [event["args"]["Op count"] for event in slices if event["cat"] == "Trace"]
    checks.equal("operations in the span", [sum(event["cat"] == "cpu_op" for event in slices)], spans)
    check_span(checks, events, slices)
    first = slices[0]["name"]
    checks.true(first.startswith("ProfilerStep#") or not run.windows[window]["steps"], f"first slice is {first}")
    steps = [event for event in slices if event["name"].startswith("ProfilerStep#")]
    checks.equal("steps", [f"ProfilerStep#{step['number']}" for step in run.windows[window]["steps"]],
                 [event["name"] for event in steps])
    for before, after in zip(steps, steps[1:]):
        gap = ns(after, "ts") - ns(before, "ts") - ns(before, "dur")
        checks.true(gap in (0, 1), f"{after['name']} begins {gap} ns after the step before")
    starts = [event["id"] for event in events if event["ph"] == "s" and event["cat"] == "ac2g"]
    ends = {event["id"] for event in events if event["ph"] == "f" and event["cat"] == "ac2g"}
    checks.equal("one start per flow", len(starts), len(set(starts)))
    checks.equal("flows with one end missing", set(), ends ^ set(starts))
    by_category = {}
    for event in slices:
        by_category.setdefault(event["cat"], []).append(event)
    for name, category in (("kernels", ["kernel"]), ("copies", ["gpu_memcpy", "gpu_memset"]),
                           ("calls", RUNTIME + ["cuda_driver"])):
        ours = run.csv("events/" + name, window)
        theirs = [event for kind in category for event in by_category.get(kind, [])]
        checks.equal(name, len(ours), len(theirs))
        if name != "calls":  # calls may be cut to nest
            checks.equal(f"time of {name}", sum(int(row["duration_ns"]) for row in ours),
                         sum(ns(event, "dur") for event in theirs))
    check_arguments(checks, run, window, by_category.get("cpu_op", []))
    operations = {event["args"]["External id"] for event in slices
                  if event["cat"] in ("cpu_op", "user_annotation") and "External id" in event["args"]}
    launched = {event["args"]["correlation"] for kind in RUNTIME for event in by_category.get(kind, [])}
    for event in by_category.get("kernel", []):
        checks.true(event["args"]["correlation"] in launched, f"{event['name']}: no launch")
        checks.true(event["args"].get("External id") in operations, f"{event['name']}: no operation")


def check_annotations(checks, run, window):
    """Each from the first to the last device row that was launched while its range was the innermost user range."""
    ranges = run.csv("events/ranges", window)

    def innermost(place):
        while place and ranges[int(place)]["kind"] not in ("user_annotation", "dataloader", "worker"):
            place = ranges[int(place)]["parent"]
        return place

    want = {}
    for row in run.csv("events/kernels", window) + run.csv("events/copies", window):
        place = innermost(row["range"])
        if place:
            want.setdefault((place, row["device"], row["context"], row["stream"]), []).append(row)
    want = sorted((ranges[int(key[0])]["name"], *key, min(int(row["start_ns"]) for row in rows),
                   max(int(row["end_ns"]) for row in rows), len(rows)) for key, rows in want.items())
    columns = ("name", "range", "device", "context", "stream")
    got = sorted((*(row[column] for column in columns), int(row["start_ns"]), int(row["end_ns"]), int(row["rows"]))
                 for row in run.csv("events/annotations", window))
    checks.equal("annotations", want, got)
    drawn = [event["name"] for event in load_trace(run.trace_of(window))["traceEvents"]
             if event.get("cat") == "gpu_user_annotation"]
    checks.true(len(drawn) <= len(got), f"{len(drawn)} annotations in the trace, {len(got)} in csv")


def check_names(checks, run, window):
    """Threads, streams and waits of the trace are those of the csv files."""
    events = load_trace(run.trace_of(window))["traceEvents"]
    named = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    threads = [f"thread {row['tid']} ({row['name']})" for row in run.csv("events/threads", window)]
    streams = [f"stream {row['stream']} " for row in run.csv("events/streams", window)]
    checks.true(set(threads + streams) <= set(named), f"{set(threads + streams) - set(named)}: not named in the trace")
    columns = ("device", "context", "correlation")
    ours = sorted((row["name"], *(int(row[column] or 0) for column in columns))
                  for row in run.csv("events/others", window) if row["kind"] == "sync")
    theirs = sorted((event["args"]["cuda_sync_kind"], *(event["args"].get(column, 0) for column in columns))
                    for event in events if event.get("cat") == "cuda_sync")
    checks.equal("waits", ours, theirs)


def check_ledger(checks, run, window):
    """The counter track has the ledger of every step, and nothing when they are over."""
    trace = load_trace(run.trace_of(window))
    samples = [event["args"] for event in trace["traceEvents"] if event["ph"] == "C" and event["name"].endswith(" ledger")]
    rows = run.table("ledger_steps", window)
    owners = {key for row in rows for key in row if key.startswith("ledger_") and row[key]}
    checks.equal("steps in the ledger's track", len(rows) + 1 if owners else 0, len(samples))
    for row, sample in zip(rows, samples):
        checks.equal("ledger of a step", {key[len("ledger_"):]: row[key] for key in owners},
                     {key: round(value * 1000) for key, value in sample.items()})


def main():
    checks = Checks("files")
    for run in runs_of(sys.argv[1:], "files"):
        check_json(checks, run)
        check_cells(checks, run)
        if not run.hand_made:
            check_truth(checks, run)
        check_csv(checks, run)
        for window in range(len(run.windows)):
            check_trace(checks, run, window)
            check_names(checks, run, window)
            check_annotations(checks, run, window)
            check_fields(checks, run, window)
            check_ledger(checks, run, window)
    checks.end()


main()

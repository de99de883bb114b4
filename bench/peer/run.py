#!/usr/bin/env python3
"""Measures pdhost and PyTorch on the same GPU, in alternating rounds, and prints the ratios with their spread.

    run.py --pdhost BIN [--rounds 5] [--seconds N] [--steps 40] [--only NAME,...] [--out DIR]

Each round runs pdhost on every workload, and then PyTorch on every one twice: as the script is written, and tuned
(fused AdamW, cudnn.benchmark, TF32 products). A ratio is pdhost over the better PyTorch of the same round; the table
shows the median of the rounds' ratios, their smallest and largest, and the goal. The last column is bare CUPTI, a
collector that counts records and does nothing else: under pdhost's own workload (by CUDA_INJECTION64_PATH), and under
null kernels back to back (bench_cupti_idle), whose ratio is to it. Every raw number is in DIR/peer.json.
"""
import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

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


class Failed(Exception):
    pass


def run(command, timeout=120, text=None, more=None):
    environment = dict(os.environ, PD_START_NS=str(time.time_ns()), **more or {})
    start = time.time_ns()
    done = subprocess.run(command, env=environment, input=text, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout + (done.stderr if more else ""), start


def trace_size(paths):
    """Bytes of the run's Chrome traces, and their events that are no metadata."""
    size = events = 0
    for path in paths:
        size += os.path.getsize(path)
        with open(path, encoding="utf-8") as file:
            events += sum(1 for event in json.load(file)["traceEvents"] if event["ph"] != "M")
    return size, events


class Pdhost:
    def __init__(self, binary, steps, folder, extra):
        self.binary, self.steps, self.folder, self.extra = binary, steps, folder, extra
        self.benches = os.path.join(os.path.dirname(os.path.abspath(binary)), "..", "bench")

    def run(self, scenario, keys, sinks="json", traced=False, active=None, more=None):
        metrics = os.path.join(self.folder, "metrics.json")
        traces = os.path.join(self.folder, "traces")
        command = [self.binary, "-q", "--scenario", scenario, "--device", "cuda",
                   "-o", f"run.sinks={sinks}", "-o", f"profile.timer_only={'false' if traced else 'true'}",
                   "-o", f"run.trace_dir={traces}",
                   "-o", f"sink.json.output_json={metrics}", "-o", f"schedule.active={active or self.steps}"]
        for key in keys:
            command += ["-o", key]
        command += self.extra
        out, start = run(command, more=more)
        end = time.time_ns()
        with open(metrics) as file:
            result = json.load(file)
        result["trace_size"] = trace_size(glob.glob(os.path.join(traces, "*.pt.trace.json")))
        # A file's time is that of its last write; it is closed and has its name microseconds later.
        files = glob.glob(os.path.join(traces, "**"), recursive=True) + [metrics]
        closed = max(os.stat(path).st_mtime_ns for path in files)
        shutil.rmtree(traces, ignore_errors=True)
        rows = [r for r in result["step_rows"] if r["phase"] == "active"]
        result["median_ms"] = statistics.median(r["step_time_ns"] for r in rows) / 1e6
        result["start_to_first_step_s"] = (result["step_rows"][0]["end_realtime_ns"] - start) / 1e9
        last = result["step_rows"][-1]["end_realtime_ns"]
        result["last_step_to_closed_s"], result["last_step_to_end_s"] = (closed - last) / 1e9, (end - last) / 1e9
        result["out"] = out
        return result


def peer(what, flags):
    out, _ = run([sys.executable, PEER, what] + flags, timeout=300)
    return json.loads(out.strip().splitlines()[-1])


def compare_steps(pdhost, chosen, steps):
    """One round of every workload: ours, then the peer's in one process."""
    resident = ["data.resident=host", "data.pin_memory=true"]
    ours = {name: pdhost.run(scenario, keys + resident)["median_ms"] for name, scenario, _o, keys, _f, _g in chosen}
    lines = [" ".join(["steps", "--scenario", other, "--steps", str(steps)] + flags + tuned)
             for _n, _s, other, _k, flags, _g in chosen for tuned in ([], ["--tuned"])]
    out, _ = run([sys.executable, PEER, "many"], timeout=300, text="\n".join(lines))
    medians = [json.loads(line)["median_ms"] for line in out.splitlines() if line.startswith("{")]
    return {name: {"ours": ours[name], "as_written": medians[2 * i], "tuned": medians[2 * i + 1], "unit": "ms"}
            for i, (name, *_rest) in enumerate(chosen)}


def compare_start(pdhost):
    keys = ["run.warmup_steps=0", "schedule.wait=0", "schedule.warmup=0", "data.resident=host", "data.pin_memory=true"]
    ours = pdhost.run("control", keys, active=1)
    theirs = peer("steps", ["--scenario", "plain", "--steps", "1", "--warmup", "0"])
    return {"ours": ours["start_to_first_step_s"], "as_written": theirs["start_to_first_step_s"], "unit": "s"}


TINY = ["train.fused=false", "data.resident=host", "data.pin_memory=true"]


def bare_step(pdhost):
    """Median step of tiny_ops while a bare collector counts the records of the whole process."""
    library = os.path.join(pdhost.benches, "libpdhost_cupti_bare.so")
    result = pdhost.run("tiny_ops", TINY, more={"CUDA_INJECTION64_PATH": library})
    counted = re.search(r"bare CUPTI: (\d+) device records", result["out"])
    if not counted or not int(counted[1]):
        raise Failed("the bare collector counted nothing: " + result["out"][-300:])
    return result["median_ms"]


def compare_launches(pdhost):
    """What recording adds to a launch of a null kernel, in one run with the bare collector."""
    out, _ = run([os.path.join(pdhost.benches, "bench_cupti_idle")])
    added = re.search(r"added per launch: pdhost (-?\d+) ns, bare CUPTI (-?\d+) ns", out)
    if not added:
        raise Failed("bench_cupti_idle: " + out[-300:])
    return {"ours": float(added[1]), "bare": float(added[2]), "unit": "ns"}


def compare_closing(pdhost, steps, times):
    """From the last step's end to the last write to any file, and to the process's end. PyTorch's is to the end of its
    stop, export and table."""
    runs = [pdhost.run("tiny_ops", TINY, sinks="json,table,chrome_trace", traced=True, active=steps)
            for _ in range(times)]
    theirs = peer("profile", ["--scenario", "tiny_ops", "--steps", str(steps)])["last_step_to_closed_s"]
    result = {}
    for name, key in (("files closed", "last_step_to_closed_s"), ("process end", "last_step_to_end_s")):
        ours = [r[key] for r in runs]
        result[f"last of {steps} steps to {name}"] = {"ours": statistics.median(ours), "runs": ours, "unit": "s",
                                                  "as_written": theirs}
    return result


def compare_graph(pdhost):
    """Microseconds that each kernel of tiny_ops beyond the plain step's adds when the step is a graph."""
    def kernels(scenario):
        window = pdhost.run(scenario, TINY, traced=True, active=4)["windows"][0]
        return window["counts"]["activities"] / len(window["steps"])

    def graph(scenario):
        return pdhost.run(scenario, TINY + ["train.cuda_graph=true"])["median_ms"]
    more = kernels("tiny_ops") - kernels("control")
    return {"ours": (graph("tiny_ops") - graph("control")) * 1000 / more, "unit": "us", "kernels": more}


def compare_profiling(pdhost, steps):
    plain = pdhost.run("tiny_ops", TINY)
    on = pdhost.run("tiny_ops", TINY, sinks="json,table,chrome_trace", traced=True)
    # The launches of a step: calls of the window over its active steps.
    window = on["windows"][0] if on.get("windows") else {}
    launches = window.get("counts", {}).get("calls", 0) / max(len(window.get("steps", [])), 1)
    theirs = peer("profile", ["--scenario", "tiny_ops", "--steps", str(steps)])
    cost = (on["median_ms"] - plain["median_ms"]) * 1000 / max(launches, 1)
    result = {
        "profiling, per kernel": {"ours": cost, "as_written": theirs["cost_per_kernel_us"], "unit": "us",
                                  "bare": (bare_step(pdhost) - plain["median_ms"]) * 1000 / max(launches, 1)},
        "coverage": on.get("coverage"),
    }
    size, events = on["trace_size"]
    if events and theirs.get("trace_events"):
        # Counter samples among ours, which Kineto has none of.
        result["trace, bytes per event"] = {"ours": size / events, "unit": "bytes",
                                            "as_written": theirs["trace_bytes"] / theirs["trace_events"]}
        result["trace, bytes per step"] = {"ours": size / len(window["steps"]), "unit": "bytes",
                                           "as_written": theirs["trace_bytes"] / steps}
    return result


def compare_loader(pdhost, workers, batches):
    keys = [f"data.num_workers={workers}", "data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=none",
            "data.pin_memory=true"]
    ours = pdhost.run("dataloader", keys, active=batches)
    rows = [r for r in ours["step_rows"] if r["phase"] == "active"]
    seconds = sum(r["data_wait_ns"] + r["step_time_ns"] for r in rows) / 1e9
    theirs = peer("loader", ["--workers", str(workers), "--batches", str(batches)])
    # Rates: the ratio is the peer's time over ours, so that smaller stays better.
    return {"ours": len(rows) * ours.get("batch_size", 64) / seconds, "as_written": theirs["samples_per_s"],
            "unit": "samples/s"}


def versions():
    try:
        out, _ = run([sys.executable, "-c", "import torch; print(torch.__version__, torch.version.cuda, "
                      "torch.backends.cudnn.version(), torch.cuda.get_device_name(0))"])
        return out.strip()
    except (Failed, OSError) as error:
        return str(error)


def ratio_of(round_):
    """To the better PyTorch; where there is none, to bare CUPTI; None where pdhost stands alone."""
    best = [round_[k] for k in ("as_written", "tuned") if round_.get(k) is not None]
    if not best:
        return round_["ours"] / round_["bare"] if "bare" in round_ else None
    if round_["unit"] == "samples/s":
        return max(best) / round_["ours"]
    return round_["ours"] / min(best)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdhost", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3600, help="no round begins that would end later than that")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", default=".")
    parser.add_argument("--pdhost-args", default="", help="further words for every run of pdhost")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="peer")
    pdhost = Pdhost(args.pdhost, args.steps, folder, args.pdhost_args.split())
    only = [n for n in args.only.split(",") if n]
    chosen = [row for row in STEPS if not only or any(re.search(o, "steps " + row[0]) for o in only)]
    rounds, failures = {}, []

    def measure(name, call):
        if only and not (name == "steps" and chosen) and not any(re.search(o, name) for o in only):
            return
        try:
            result = call()
        except (Failed, IndexError, KeyError, OSError, ValueError, subprocess.TimeoutExpired) as error:
            failures.append(f"{name}: {error}")
            return
        if "unit" in result:
            result = {name: result}
        if "coverage" in result and result["coverage"] != 1.0:
            failures.append(f"{name}: coverage {result['coverage']}")
        for key, value in result.items():
            rounds.setdefault(key, []).append(value)

    begun = time.monotonic()
    measure("launches recorded", lambda: compare_launches(pdhost))
    measure("graph, each further kernel", lambda: compare_graph(pdhost))
    measure("files closed", lambda: compare_closing(pdhost, 60, 3))
    for workers in (2, 8):
        measure(f"loader, {workers} workers", lambda: compare_loader(pdhost, workers, 40 if workers == 2 else 80))
    longest = 0
    for done in range(args.rounds):
        at = time.monotonic()
        if done and at - begun + longest > args.seconds:
            print(f"{done} of {args.rounds} rounds: no time for more")
            break
        measure("steps", lambda: compare_steps(pdhost, chosen, args.steps))
        measure("start to first step done", lambda: compare_start(pdhost))
        measure("profiling", lambda: compare_profiling(pdhost, args.steps))
        longest = max(longest, time.monotonic() - at)

    goals = {name: goal for name, _s, _o, _k, _f, goal in STEPS}
    goals.update({"profiling, per kernel": 1 / 6, "loader, 2 workers": 0.2, "loader, 8 workers": 0.2,
                  "start to first step done": 0.2, "launches recorded": 1.25})
    # In the row's own unit. A node of a graph of null kernels takes 0.5 us on an H200.
    limits = {"last of 60 steps to files closed": 0.2, "graph, each further kernel": 1.5 * 0.5}
    rows = []
    for name, values in rounds.items():
        if name == "coverage":
            continue
        ratios = sorted(r for r in map(ratio_of, values) if r is not None) or [None]
        middle = {k: statistics.median(v[k] for v in values) for k in COLUMNS if k in values[0]}
        rows.append({"name": name, "unit": values[0]["unit"], **middle, "ratio_min": ratios[0], "ratio_max": ratios[-1],
                     "ratio": statistics.median(ratios) if ratios[0] is not None else None,
                     "goal": goals.get(name), "limit": limits.get(name)})
    heads = "".join(f"{head:>10}" for head in ("pdhost", "PyTorch", "tuned", "bare"))
    print(f"{'':40}{heads}  {'unit':10}{'ratio':>7}  {'spread':15}{'goal':>7}")
    for r in rows:
        cells = "".join(f"{r[k]:10.3f}" if k in r else f"{'':10}" for k in COLUMNS)
        spread = "" if r["ratio"] is None else f"{r['ratio']:7.3f}  {r['ratio_min']:.3f}-{r['ratio_max']:.3f}"
        goal = f"{r['goal']:7.3f}" if r["goal"] else f"{r['limit']:5.2f} {r['unit']}" if r["limit"] else ""
        reached = r["ratio_max"] <= r["goal"] if r["goal"] else r["limit"] and r["ours"] <= r["limit"]
        met = ("  met" if reached else "  missed") if goal else ""
        print(f"{r['name']:40}{cells}  {r['unit']:10}{spread:24}{goal}{met}".rstrip())
    for failure in failures:
        print("FAILED", failure)
    with open(os.path.join(args.out, "peer.json"), "w") as file:
        json.dump({"versions": versions(), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                   "command": sys.argv, "rows": rows, "rounds": rounds, "failures": failures}, file, indent=1)
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Measures pdhost and PyTorch on the same GPU, in alternating rounds, and prints the ratios with their spread.

    run.py --pdhost BIN [--rounds 5] [--steps 40] [--only NAME,...] [--out DIR]

Each round runs pdhost on every workload, and then PyTorch on every one twice: as the script is written, and tuned (fused
AdamW, cudnn.benchmark, TF32 products). A ratio is pdhost over the better PyTorch of the same round; the table shows the median of the rounds' ratios,
their smallest and largest, and the goal. Every raw number is in DIR/peer.json.
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


class Failed(Exception):
    pass


def run(command, timeout=120, text=None):
    environment = dict(os.environ, PD_START_NS=str(time.time_ns()))
    start = time.time_ns()
    done = subprocess.run(command, env=environment, input=text, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    return done.stdout, start


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

    def run(self, scenario, keys, sinks="json", traced=False, active=None):
        metrics = os.path.join(self.folder, "metrics.json")
        traces = os.path.join(self.folder, "traces")
        command = [self.binary, "-q", "--scenario", scenario, "--device", "cuda",
                   "-o", f"run.sinks={sinks}", "-o", f"profile.timer_only={'false' if traced else 'true'}", "-o", f"run.trace_dir={traces}",
                   "-o", f"sink.json.output_json={metrics}", "-o", f"schedule.active={active or self.steps}"]
        for key in keys:
            command += ["-o", key]
        command += self.extra
        _, start = run(command)
        end = time.time_ns()
        with open(metrics) as file:
            result = json.load(file)
        result["trace_size"] = trace_size(glob.glob(os.path.join(traces, "*.pt.trace.json")))
        shutil.rmtree(traces, ignore_errors=True)
        rows = [r for r in result["step_rows"] if r["phase"] == "active"]
        result["median_ms"] = statistics.median(r["step_time_ns"] for r in rows) / 1e6
        result["start_to_first_step_s"] = (result["step_rows"][0]["end_realtime_ns"] - start) / 1e9
        result["last_step_to_end_s"] = (end - result["step_rows"][-1]["end_realtime_ns"]) / 1e9
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


def compare_profiling(pdhost, steps):
    keys = ["train.fused=false", "data.resident=host", "data.pin_memory=true"]
    plain = pdhost.run("tiny_ops", keys)
    on = pdhost.run("tiny_ops", keys, sinks="json,table,chrome_trace", traced=True)
    # The launches of a step: calls of the window over its active steps.
    window = on["windows"][0] if on.get("windows") else {}
    launches = window.get("counts", {}).get("calls", 0) / max(len(window.get("steps", [])), 1)
    theirs = peer("profile", ["--scenario", "tiny_ops", "--steps", str(steps)])
    cost = (on["median_ms"] - plain["median_ms"]) * 1000 / max(launches, 1)
    result = {
        "profiling, per kernel": {"ours": cost, "as_written": theirs["cost_per_kernel_us"], "unit": "us"},
        "last step to files closed": {"ours": on["last_step_to_end_s"], "as_written": theirs["last_step_to_closed_s"],
                                      "unit": "s"},
        "coverage": on.get("coverage"),
    }
    size, events = on["trace_size"]
    if events and theirs.get("trace_events"):
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
    best = [round_[k] for k in ("as_written", "tuned") if round_.get(k) is not None]
    if round_["unit"] == "samples/s":
        return max(best) / round_["ours"]
    return round_["ours"] / min(best)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdhost", required=True)
    parser.add_argument("--rounds", type=int, default=5)
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

    for _ in range(args.rounds):
        measure("steps", lambda: compare_steps(pdhost, chosen, args.steps))
        measure("start to first step done", lambda: compare_start(pdhost))
        measure("profiling", lambda: compare_profiling(pdhost, args.steps))
    for workers in (2, 8):
        measure(f"loader, {workers} workers", lambda: compare_loader(pdhost, workers, 40 if workers == 2 else 80))

    goals = {name: goal for name, _s, _o, _k, _f, goal in STEPS}
    goals.update({"profiling, per kernel": 1 / 6, "loader, 2 workers": 0.2, "loader, 8 workers": 0.2,
                  "start to first step done": 0.2})
    rows = []
    for name, values in rounds.items():
        if name == "coverage":
            continue
        ratios = sorted(ratio_of(v) for v in values)
        middle = {k: statistics.median(v[k] for v in values) for k in ("ours", "as_written", "tuned") if k in values[0]}
        rows.append({"name": name, "unit": values[0]["unit"], **middle, "ratio": statistics.median(ratios),
                     "ratio_min": ratios[0], "ratio_max": ratios[-1], "goal": goals.get(name)})
    print(f"{'':40}{'pdhost':>10}{'PyTorch':>10}{'tuned':>10}  {'unit':10}{'ratio':>7}  {'spread':15}{'goal':>6}")
    for r in rows:
        tuned = f"{r['tuned']:10.3f}" if "tuned" in r else f"{'':10}"
        goal = f"{r['goal']:6.3f}" if r["goal"] else f"{'':6}"
        met = "" if not r["goal"] else ("  met" if r["ratio_max"] <= r["goal"] else "  missed")
        print(f"{r['name']:40}{r['ours']:10.3f}{r['as_written']:10.3f}{tuned}  {r['unit']:10}{r['ratio']:7.3f}  "
              f"{r['ratio_min']:.3f}-{r['ratio_max']:.3f}    {goal}{met}")
    for failure in failures:
        print("FAILED", failure)
    with open(os.path.join(args.out, "peer.json"), "w") as file:
        json.dump({"versions": versions(), "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                   "command": sys.argv, "rows": rows, "rounds": rounds, "failures": failures}, file, indent=1)
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

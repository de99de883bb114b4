"""What is measured of pdhost and of PyTorch: one class for each group of rows of run.py."""
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import time


class Failed(Exception):
    pass


# What takes a part of a round down, and no more.
PART = (Failed, IndexError, KeyError, OSError, TypeError, ValueError, ZeroDivisionError, subprocess.TimeoutExpired)


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


TINY = ["train.fused=false", "data.resident=host", "data.pin_memory=true"]
CLOSING = 60  # profiled steps whose files are closed


class Start:
    """Process start to first step done. Its command has to be the first of the peer's process."""
    rows = ["start to first step done"]
    lines = ["steps --scenario plain --steps 1 --warmup 0"]

    def ours(self, pdhost):
        keys = ["run.warmup_steps=0", "schedule.wait=0", "schedule.warmup=0", "data.resident=host",
                "data.pin_memory=true"]
        return pdhost.run("control", keys, active=1)["start_to_first_step_s"]

    def result(self, ours, theirs):
        return {self.rows[0]: {"ours": ours, "as_written": theirs[0]["start_to_first_step_s"], "unit": "s"}}


class Loader:
    def __init__(self, workers, batches):
        self.workers, self.batches = workers, batches
        self.rows = [f"loader, {workers} workers"]
        self.lines = [f"loader --workers {workers} --batches {batches}"]

    def ours(self, pdhost):
        keys = [f"data.num_workers={self.workers}", "data.cpu_work=200", "data.io_sleep_ms=0", "data.resident=none",
                "data.pin_memory=true"]
        result = pdhost.run("dataloader", keys, active=self.batches)
        rows = [r for r in result["step_rows"] if r["phase"] == "active"]
        seconds = sum(r["data_wait_ns"] + r["step_time_ns"] for r in rows) / 1e9
        return len(rows) * result.get("batch_size", 64) / seconds

    def result(self, ours, theirs):
        return {self.rows[0]: {"ours": ours, "as_written": theirs[0]["samples_per_s"], "unit": "samples/s"}}


class Steps:
    """Every chosen workload: ours, then the peer's."""

    def __init__(self, chosen, steps):
        self.chosen = chosen
        self.rows = [row[0] for row in chosen]
        self.lines = [" ".join(["steps", "--scenario", other, "--steps", str(steps)] + flags + tuned)
                      for _n, _s, other, _k, flags, _g in chosen for tuned in ([], ["--tuned"])]

    def ours(self, pdhost):
        resident = ["data.resident=host", "data.pin_memory=true"]
        return [pdhost.run(scenario, keys + resident)["median_ms"] for _n, scenario, _o, keys, _f, _g in self.chosen]

    def result(self, ours, theirs):
        medians = [answer["median_ms"] for answer in theirs]
        return {name: {"ours": ours[i], "as_written": medians[2 * i], "tuned": medians[2 * i + 1], "unit": "ms"}
                for i, name in enumerate(self.rows)}


class Launches:
    """What recording adds to a launch of a null kernel, in one run with the bare collector."""
    rows, lines = ["launches recorded"], []

    def ours(self, pdhost):
        out, _ = run([os.path.join(pdhost.benches, "bench_cupti_idle"), "3"])
        added = re.search(r"added per launch: pdhost (-?\d+) ns, bare CUPTI (-?\d+) ns", out)
        if not added:
            raise Failed("bench_cupti_idle: " + out[-300:])
        return float(added[1]), float(added[2])

    def result(self, ours, _theirs):
        return {self.rows[0]: {"ours": ours[0], "bare": ours[1], "unit": "ns"}}


class Graph:
    """Microseconds that each kernel of tiny_ops beyond the plain step's adds when the step is a graph."""
    rows, lines = ["graph, each further kernel"], []
    more = None  # kernels; the same in every round

    def ours(self, pdhost):
        def kernels(scenario):
            window = pdhost.run(scenario, TINY, traced=True, active=4)["windows"][0]
            return window["counts"]["activities"] / len(window["steps"])

        def graph(scenario):
            return pdhost.run(scenario, TINY + ["train.cuda_graph=true"])["median_ms"]
        if self.more is None:
            self.more = kernels("tiny_ops") - kernels("control")
        return (graph("tiny_ops") - graph("control")) * 1000 / self.more

    def result(self, ours, _theirs):
        return {self.rows[0]: {"ours": ours, "unit": "us", "kernels": self.more}}


class Profiling:
    """What profiling costs a kernel of tiny_ops, its files' size, and how long they take: from the last step's end to
    the last write to any file, and to the process's end."""
    closed, ended = (f"last of {CLOSING} steps to {what}" for what in ("files closed", "process end"))
    beside_bare = "profiling, per kernel: to bare CUPTI"
    rows = ["profiling, per kernel", "trace, bytes per event", "trace, bytes per step", closed, ended, beside_bare]

    def __init__(self, steps):
        self.steps, self.profiled = steps, CLOSING
        self.lines = [f"profile --scenario tiny_ops --steps {CLOSING}"]

    def bare_step(self, pdhost):
        """Median step of tiny_ops while a bare collector counts the records of the whole process."""
        library = os.path.join(pdhost.benches, "libpdhost_cupti_bare.so")
        result = pdhost.run("tiny_ops", TINY, more={"CUDA_INJECTION64_PATH": library})
        counted = re.search(r"bare CUPTI: (\d+) device records", result["out"])
        if not counted or not int(counted[1]):
            raise Failed("the bare collector counted nothing: " + result["out"][-300:])
        return result["median_ms"]

    def ours(self, pdhost):
        plain = pdhost.run("tiny_ops", TINY)["median_ms"]
        on = pdhost.run("tiny_ops", TINY, sinks="json,table,chrome_trace", traced=True, active=CLOSING)
        return plain, on, self.bare_step(pdhost)

    def result(self, ours, theirs):
        plain, on, bare = ours
        if on.get("coverage") != 1.0:
            raise Failed(f"coverage {on.get('coverage')}")
        # The launches of a step: calls of the window over its active steps.
        window = on["windows"][0]
        launches = window["counts"]["calls"] / len(window["steps"])
        size, events = on["trace_size"]
        added, least = (on["median_ms"] - plain) * 1000 / launches, (bare - plain) * 1000 / launches
        result = {
            self.rows[0]: {"ours": added, "unit": "us", "as_written": theirs[0]["cost_per_kernel_us"], "bare": least},
            self.beside_bare: {"ours": added, "unit": "us", "bare": least},
            self.closed: {"ours": on["last_step_to_closed_s"], "unit": "s"},
            self.ended: {"ours": on["last_step_to_end_s"], "unit": "s"}}
        if events and theirs[0].get("trace_events"):
            # Counter samples among ours, which Kineto has none of.
            result[self.rows[1]] = {"ours": size / events, "unit": "bytes",
                                    "as_written": theirs[0]["trace_bytes"] / theirs[0]["trace_events"]}
            result[self.rows[2]] = {"ours": size / len(window["steps"]), "unit": "bytes",
                                    "as_written": theirs[0]["trace_bytes"] / self.profiled}
        if self.profiled == CLOSING:
            for name in (self.closed, self.ended):
                result[name]["as_written"] = theirs[0]["last_step_to_closed_s"]
        # Once is enough: PyTorch's table of that many steps takes 20 s.
        self.profiled, self.lines = self.steps, [f"profile --scenario tiny_ops --steps {self.steps} --no-table"]
        return result

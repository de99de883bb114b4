"""Runs of pdhost at the edges, opened by the readers of their files: no window, one step, windows split and compressed,
texts that are no text, a run killed half-way, and runs to compare in the HParams tab.
Usage: check_edges.py PDHOST CONF_FOLDER FIXTURE_FOLDER OUTPUT_FOLDER

OUTPUT_FOLDER/runs.json lists the runs that other checks look at: those to compare, workers0, workers2 and workers8, and
those with next to nothing in them.
"""
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

import jsonschema
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from run_folder import Checks, Run, load_trace

SCHEMA = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "schema", "metrics.schema.json")
SINKS = "run.sinks=json,csv,chrome_trace,tensorboard"


class Edges:
    def __init__(self, program, conf, fixtures, output):
        self.program, self.conf, self.output = program, conf, output
        self.fault, self.probe = (os.path.join(fixtures, "scenario", name + ".so") for name in ("fault", "probe"))
        self.checks = Checks("edges")
        shutil.rmtree(output, ignore_errors=True)
        with open(SCHEMA, encoding="utf-8") as file:
            self.schema = jsonschema.Draft202012Validator(json.load(file))

    def command(self, name, scenario, *settings):
        folder = os.path.join(self.output, name)
        command = [self.program, "-q", "-c", os.path.join(self.conf, scenario + ".ini"),
                   "--device", "cpu", "-o", SINKS, "-o", f"run.trace_dir={folder}/traces",
                   "-o", f"sink.json.output_json={folder}/results/metrics_{scenario}.json"]
        for setting in settings:
            command += ["-o", setting]
        return folder, command

    def run(self, name, scenario, *settings):
        folder, command = self.command(name, scenario, *settings)
        subprocess.run(command, check=True)
        run = Run(folder)
        errors = [error.message[:200] for error in self.schema.iter_errors(run.metrics)]
        self.checks.equal(f"{name}: against the schema", [], errors)
        return run

    def scalars(self, folder, tag):
        reader = EventAccumulator(os.path.join(folder, "traces"), size_guidance={"scalars": 0, "tensors": 0})
        reader.Reload()
        return [event.step for event in reader.Scalars(tag)] if tag in reader.Tags()["scalars"] else []

    def tensors(self, folder):
        reader = EventAccumulator(os.path.join(folder, "traces"))
        reader.Reload()
        return reader.Tags()["tensors"]

    def no_window(self):
        """Steps, but none of them recorded."""
        run = self.run("no_window", "control", "schedule.skip_first=5", "run.max_steps=3")
        self.checks.equal("no_window: steps and windows", (3, 0), (run.metrics["steps"], len(run.windows)))
        self.checks.equal("no_window: traces", [], run.traces)
        self.checks.equal("no_window: steps in TensorBoard", [0, 1, 2], self.scalars(run.folder, "time/step_time_s"))
        self.checks.equal("no_window: rows of steps.csv", 3, len(run.csv("steps", None)))

    def no_step(self):
        """The scenario asks for the end at once: before the first window, and in it, which is no window then."""
        for name, wait in (("no_step", 1), ("no_step_in_window", 0)):
            run = self.run(name, "control", "run.scenario=" + self.fault, "scenario.stop_step=0", f"schedule.wait={wait}",
                           "schedule.warmup=0")
            self.checks.equal(f"{name}: steps and windows", (0, 0), (run.metrics["steps"], len(run.windows)))
            self.checks.equal(f"{name}: traces", [], run.traces)
            self.checks.equal(f"{name}: steps in TensorBoard", [], self.scalars(run.folder, "time/step_time_s"))
            self.checks.equal(f"{name}: rows of steps.csv", 0, len(run.csv("steps", None)))

    def no_kernels(self):
        """A scenario whose steps launch nothing."""
        run = self.run("no_kernels", "control", "run.scenario=" + self.probe, "scenario.token=t")
        self.checks.equal("no_kernels: steps", 8, len(run.windows[0]["steps"]))
        self.checks.equal("no_kernels: kernels", [], run.csv("events/kernels"))
        self.checks.equal("no_kernels: histograms", [], [tag for tag in self.tensors(run.folder) if "kernel" in tag
                                                         and tag.startswith("histograms/")])

    def one_step(self):
        run = self.run("one_step", "control", "schedule.wait=0", "schedule.warmup=0", "schedule.active=1",
                       "run.max_steps=1")
        self.checks.equal("one_step: steps", 1, run.metrics["steps"])
        self.checks.equal("one_step: steps in the trace", ["ProfilerStep#0"],
                          [event["name"] for event in load_trace(run.trace_of(0))["traceEvents"]
                           if event["name"].startswith("ProfilerStep#") and event["cat"] == "user_annotation"])

    def split(self):
        """Files of about 20 KiB, each valid by itself, hold every event once."""
        run = self.run("split", "control", "sink.chrome_trace.split_size=20KiB", "sink.chrome_trace.gzip=true")
        self.checks.true(len(run.traces) > 2, f"split: {len(run.traces)} files")
        found = {}
        for path in sorted(run.traces, key=lambda path: int(path.split(".pt.")[0].split(".")[-1])):
            self.checks.equal(f"gzip -t {path}", 0, subprocess.run(["gzip", "-t", path], check=False).returncode)
            for event in load_trace(path)["traceEvents"]:
                if event["ph"] == "X":
                    found.setdefault(event["cat"], []).append(event["name"])
        self.checks.equal("split: steps", [f"ProfilerStep#{step['number']}" for step in run.windows[0]["steps"]],
                          [name for name in found["user_annotation"] if name.startswith("ProfilerStep#")])
        self.checks.equal("split: kernels", sorted(row["name"] for row in run.csv("events/kernels")),
                          sorted(found["kernel"]))
        self.checks.equal("split: copies", len(run.csv("events/copies")),
                          len(found.get("gpu_memcpy", [])) + len(found.get("gpu_memset", [])))

    def hostile(self):
        """A folder with a quote, a backslash, a control byte and a byte that is no UTF-8 stands in the configuration."""
        name = os.fsdecode(b'a "quoted" \\ \x01 \xff folder')
        run = self.run(name, "control")
        shown = [row["value"] for row in run.metrics["configuration"] if row["key"] == "trace_dir"][0]
        self.checks.true('a "quoted" \\ \x01 \ufffd folder' in shown, f"hostile: trace_dir is {shown!r}")
        link = os.path.join(self.output, "hostile")  # TensorBoard cannot open a name that is no UTF-8 itself
        os.symlink(run.folder, link)
        self.checks.equal("hostile: steps in TensorBoard", [row["index"] for row in run.metrics["step_rows"]],
                          self.scalars(link, "time/step_time_s"))
        load_trace(run.trace_of(0))

    def killed(self):
        """SIGKILL between two of many windows: the event file is read up to its last whole record."""
        folder, command = self.command("killed", "control", "schedule.repeat=0", "schedule.active=1",
                                       "run.max_steps=1000000")
        with subprocess.Popen(command) as process:
            end = time.monotonic() + 60
            while len(glob.glob(os.path.join(folder, "traces", "*.pt.trace.json"))) < 3:
                if process.poll() is not None or time.monotonic() > end:
                    break
                time.sleep(0.01)
            self.checks.equal("killed: still running", None, process.poll())
            process.send_signal(signal.SIGKILL)
        steps = self.scalars(folder, "time/step_time_s")
        self.checks.true(len(steps) >= 6, f"killed: only steps {steps} are readable")
        self.checks.equal("killed: steps", list(range(len(steps))), steps)
        for path in glob.glob(os.path.join(folder, "traces", "*.pt.trace.json")):
            load_trace(path)

    def cut(self):
        """A file cut anywhere, as a kill or a full disk leaves it, is read up to its last whole record."""
        run = self.run("whole", "control")
        path = glob.glob(os.path.join(run.trace_dir, "events.out.tfevents.*"))[0]
        with open(path, "rb") as file:
            whole = file.read()
        ends, at = [0], 0
        while at < len(whole):
            at += 8 + 4 + struct.unpack_from("<Q", whole, at)[0] + 4
            ends.append(at)
        self.checks.equal("cut: the file ends with a record", len(whole), at)
        folder = os.path.join(self.output, "cut")
        os.makedirs(folder)
        copy = os.path.join(folder, os.path.basename(path))
        for number in range(0, len(ends) - 1, max(1, len(ends) // 25)):
            for size in {ends[number], ends[number] + 1, ends[number] + 11, ends[number + 1] - 1}:
                with open(copy, "wb") as file:
                    file.write(whole[:size])
                read = sum(1 for _ in EventFileLoader(copy).Load())
                self.checks.equal(f"cut: records in the first {size} bytes", number, read)

    def list_runs(self):
        listed = {f"workers{workers}": ["tensorboard"] for workers in (0, 2, 8)}
        listed.update({name: ["perfetto", "files"] for name in ("no_kernels", "one_step")})
        with open(os.path.join(self.output, "runs.json"), "w", encoding="utf-8") as file:
            json.dump(listed, file)

    def workers(self):
        for workers in (0, 2, 8):
            run = self.run(f"workers{workers}", "dataloader", f"data.num_workers={workers}")
            self.checks.equal("workers", workers, run.metrics["num_workers"])


def main():
    edges = Edges(*sys.argv[1:5])
    for case in (edges.no_window, edges.no_step, edges.no_kernels, edges.one_step, edges.split, edges.hostile, edges.killed,
                 edges.cut, edges.workers):
        case()
    edges.list_runs()
    edges.checks.end()


main()

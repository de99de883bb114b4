"""TensorBoard returns the very values of the json file: its event reader, and the web server over the runs together.
Usage: check_tensorboard.py RUN_FOLDER ..."""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from run_folder import Checks, runs_of


def single(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def expected_scalars(run):
    """{tag: {step: value}} as the json file has them."""
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
    for window in run.windows:
        for step in window["steps"]:
            add("device/launches", step["number"], step["launches"])
    steps = run.metrics["steps"]
    for key in ("avg_step_time_s", "avg_dataloader_wait_s", "samples_per_s", "peak_allocated_bytes", "coverage"):
        add("summary/" + key, steps, run.metrics[key])
    return expected


def check_reader(checks, run):
    reader = EventAccumulator(run.trace_dir, size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    tags = reader.Tags()
    for tag, values in expected_scalars(run).items():
        theirs = {event.step: event.value for event in reader.Scalars(tag)} if tag in tags["scalars"] else {}
        checks.equal(f"{run.folder}: {tag}", values, theirs)
    for tag in ("run/configuration", "run/quick_stats", "custom_scalars__config__"):
        checks.true(tag in tags["tensors"], f"{run.folder}: no {tag}")
    if run.csv("events/kernels"):
        event = reader.Tensors("histograms/kernel_duration_us")[0]
        rows = struct.unpack("<%dd" % (len(event.tensor_proto.tensor_content) // 8), event.tensor_proto.tensor_content)
        checks.equal("kernels in the histogram", len(run.csv("events/kernels")), int(sum(rows[2::3])))
    return reader


class Server:
    """tensorboard on a free port, over links to the runs' folders."""

    def __init__(self, runs):
        self.folder = tempfile.TemporaryDirectory()
        for number, run in enumerate(runs):
            os.symlink(os.path.abspath(run.trace_dir), os.path.join(self.folder.name, f"run{number}"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--logdir", self.folder.name, "--port", str(self.port),
             "--host", "127.0.0.1", "--reload_interval", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def get(self, route, body=None, **query):
        address = f"http://127.0.0.1:{self.port}/data/{route}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(address, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def wait_for(self, wanted, seconds=90):
        """Until every run shows its last scalar: the server reads in the background."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                tags = self.get("plugin/scalars/tags")
                if len(tags) == wanted and all("summary/coverage" in tags[run] for run in tags):
                    return True
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.2)
        return False

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def check_server(checks, runs):
    server = Server(runs)
    try:
        checks.true(server.wait_for(len(runs)), "the server does not show the runs")
        for number, run in enumerate(runs):
            name = f"run{number}"
            for tag, values in expected_scalars(run).items():
                theirs = {int(step): value for _, step, value in server.get("plugin/scalars/scalars", run=name, tag=tag)}
                checks.equal(f"{name}: {tag} over HTTP", sorted(values), sorted(theirs))
                for step, value in values.items():
                    checks.near(f"{name}: {tag} at {step} over HTTP", value, theirs.get(step, float("nan")), 1e-6)
            texts = server.get("plugin/text/text", run=name, tag="run/quick_stats")
            checks.true(texts and "samples per second" in texts[0]["text"], f"{name}: no quick stats over HTTP")
            if run.csv("events/kernels"):
                histogram = server.get("plugin/histograms/histograms", run=name, tag="histograms/kernel_duration_us")
                checks.equal(f"{name}: kernels in the histogram over HTTP", len(run.csv("events/kernels")),
                             int(sum(bucket[2] for bucket in histogram[0][2])))
        check_hparams(checks, server, runs)
    finally:
        server.close()


def check_hparams(checks, server, runs):
    experiment = server.get("plugin/hparams/experiment", body={"experimentName": ""})
    shown = {info["name"] for info in experiment["hparamInfos"]}
    always = {"run.scenario", "data.batch_size", "data.num_workers", "data.pin_memory", "train.amp"}
    # What is alike in all runs is left out by the tab itself when it can tell from one value only.
    checks.true(shown, "the HParams tab shows no parameter")
    sessions = server.get("plugin/hparams/session_groups", body={
        "experimentName": "", "startIndex": 0, "sliceSize": 100,
        "allowedStatuses": ["STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING", "STATUS_UNKNOWN"],
        "colParams": [{"hparam": name} for name in sorted(shown)]
        + [{"metric": {"group": "", "tag": "summary/samples_per_s"}}]})
    groups = {group["name"]: group for group in sessions["sessionGroups"]}
    checks.equal("sessions in the HParams tab", len(runs), len(groups))
    settings = {}
    for number, run in enumerate(runs):
        group = next((value for key, value in groups.items() if f"run{number}" in json.dumps(value)), None)
        checks.true(group is not None, f"run{number} is no session")
        if group is None:
            continue
        settings = {f"{row['section']}.{row['key']}": row for row in run.metrics["configuration"]}
        for name in always & set(settings):
            checks.true(name in group["hparams"], f"run{number}: no {name} in the HParams tab")
        workers = group["hparams"].get("data.num_workers")
        checks.equal(f"run{number}: num_workers in the HParams tab", float(run.metrics["num_workers"]), workers)
        metrics = {value["name"]["tag"]: value["value"] for value in group["metricValues"]}
        checks.near(f"run{number}: samples_per_s in the HParams tab", single(run.metrics["samples_per_s"]),
                    metrics.get("summary/samples_per_s", float("nan")), 1e-6)


def main():
    checks = Checks("TensorBoard")
    runs = runs_of(sys.argv[1:], "tensorboard")
    for run in runs:
        check_reader(checks, run)
    check_server(checks, runs)
    checks.end()


main()

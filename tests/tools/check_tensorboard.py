"""TensorBoard returns the very values of the json and csv files: its event reader, and the web server over the runs
together. Usage: check_tensorboard.py FOLDER ..."""
import html.parser
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

import tensorboard_values as values
from run_folder import Checks, runs_of


def text_of(event):
    return event.tensor_proto.string_val[0].decode("utf-8")


def bins_of(event):
    flat = struct.unpack("<%dd" % (len(event.tensor_proto.tensor_content) // 8), event.tensor_proto.tensor_content)
    return [flat[i:i + 3] for i in range(0, len(flat), 3)]


def check_texts(checks, run, texts, rows_of):
    """`texts` is {tag: {step: text}}; `rows_of` finds the table in one."""
    header, body = rows_of(texts["run/configuration"][0])
    checks.equal(f"{run.folder}: columns of the configuration", ["key", "value", "origin"], header)
    checks.equal(f"{run.folder}: the configuration",
                 [[f"{row['section']}.{row['key']}", row["value"], row["origin"]] for row in run.metrics["configuration"]],
                 body)
    _, body = rows_of(texts["run/quick_stats"][run.metrics["steps"]])
    stats = {row[0]: row[1] for row in body}
    for name, value in values.quick_stats(run).items():
        checks.equal(f"{run.folder}: quick stats, {name}", value, stats.get(name))
    tables = [(run.metrics["steps"], run.metrics["tables"])]
    tables += [(values.last_step(run, window), content["tables"]) for window, content in enumerate(run.windows)]
    for step, of_step in tables:
        for name, table in of_step.items():
            found = texts.get("tables/" + name, {}).get(step)
            checks.true(found is not None, f"{run.folder}: no table {name} at step {step}")
            if found is not None:
                values.check_table(checks, f"{run.folder}: table {name}", table, *rows_of(found))


def check_reader(checks, run):
    reader = EventAccumulator(run.trace_dir, size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    tags = reader.Tags()
    expected = values.scalars(run)
    checks.equal(f"{run.folder}: scalars", sorted(expected), sorted(tags["scalars"]))
    for tag in set(expected) & set(tags["scalars"]):
        checks.equal(f"{run.folder}: {tag}", expected[tag], {event.step: event.value for event in reader.Scalars(tag)})
    checks.true("custom_scalars__config__" in tags["tensors"], f"{run.folder}: no layout of the charts")
    found = set()
    for window in range(len(run.windows)):
        for tag, numbers in values.histogram_values(run, window).items():
            found.add(tag)
            events = [event for event in reader.Tensors(tag) if event.step == values.last_step(run, window)]
            checks.equal(f"{run.folder}: {tag} of window {window}", 1, len(events))
            values.check_bins(checks, f"{run.folder}: {tag}", numbers, bins_of(events[0]))
    checks.equal(f"{run.folder}: histograms", found, {tag for tag in tags["tensors"] if tag.startswith("histograms/")})
    texts = {tag: {event.step: text_of(event) for event in reader.Tensors(tag)} for tag in tags["tensors"]
             if tag.startswith(("run/", "tables/"))}
    check_texts(checks, run, texts, values.rows_of_markdown)


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
             "--host", "127.0.0.1", "--reload_interval", "1", "--samples_per_plugin", "text=100,histograms=100"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def get(self, route, body=None, **query):
        address = f"http://127.0.0.1:{self.port}/data/{route}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(address, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def wait_for(self, wanted, seconds=90):
        """Until every run shows its last text: the server reads in the background, and the file's end last."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                tags = self.get("plugin/text/tags")
                if len(tags) == wanted and all("run/quick_stats" in tags[run] for run in tags):
                    return True
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.2)
        return False

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


class HtmlTable(html.parser.HTMLParser):
    """Cells of the one table in a text that the server has rendered."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.rows, self.cell = [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.cell = ""

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.rows[-1].append(self.cell.strip("\u00a0 \n"))
            self.cell = None


def rows_of_html(text):
    rows = HtmlTable(text).rows
    return rows[0], [row for row in rows[1:] if any(row)]  # a table without rows is rendered with an empty one


def check_server(checks, runs):
    server = Server(runs)
    try:
        checks.true(server.wait_for(len(runs)), "the server does not show the runs")
        for number, run in enumerate(runs):
            name = f"run{number}"
            for tag, expected in values.scalars(run).items():
                rows = server.get("plugin/scalars/scalars", run=name, tag=tag)
                checks.equal(f"{name}: {tag} over HTTP", expected,
                             {int(step): values.single(value) for _, step, value in rows})
            for window in range(len(run.windows)):
                for tag, numbers in values.histogram_values(run, window).items():
                    events = {event[1]: event[2]
                              for event in server.get("plugin/histograms/histograms", run=name, tag=tag)}
                    values.check_bins(checks, f"{name}: {tag} over HTTP", numbers,
                                      events.get(values.last_step(run, window), []))
            texts = {tag: {row["step"]: row["text"] for row in server.get("plugin/text/text", run=name, tag=tag)}
                     for tag in server.get("plugin/text/tags")[name]}
            check_texts(checks, run, texts, rows_of_html)
        check_hparams(checks, server, runs)
    finally:
        server.close()


def check_hparams(checks, server, runs):
    """One session per run, with every key of its own and its figures."""
    experiment = server.get("plugin/hparams/experiment", body={"experimentName": ""})
    expected = [values.hyperparameters(run) for run in runs]
    shown = {info["name"] for info in experiment["hparamInfos"]}
    of_runs = [values.columns(run) for run in runs]  # TensorBoard takes one run's for all
    differing = {info["name"]: info.get("differs", False) for info in experiment["hparamInfos"]}
    checks.true(differing in of_runs, f"columns of the HParams tab: {differing}, and no run has those")
    lacking = {key for keys, own in zip(expected, of_runs) if own == differing
               for key in keys if not key.startswith(values.NO_COLUMNS)} - shown
    checks.equal("keys without a column in the HParams tab", set(), lacking)
    metrics = [info["name"]["tag"] for info in experiment["metricInfos"]]
    checks.equal("metrics in the HParams tab", ["summary/" + key for key in values.HEADLINE], metrics)
    sessions = server.get("plugin/hparams/session_groups", body={
        "experimentName": "", "startIndex": 0, "sliceSize": 100,
        "allowedStatuses": ["STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING", "STATUS_UNKNOWN"],
        "colParams": [{"hparam": name} for name in sorted(shown)]
        + [{"metric": {"group": "", "tag": tag}} for tag in sorted(metrics)]})
    groups = {group["sessions"][0]["name"]: group for group in sessions["sessionGroups"]}
    checks.equal("sessions in the HParams tab", {f"run{number}" for number in range(len(runs))}, set(groups))
    for number, run in enumerate(runs):
        group = groups.get(f"run{number}")
        if group is None:
            continue
        checks.equal(f"run{number} in the HParams tab", expected[number],
                     {key: value for key, value in group["hparams"].items() if value not in (None, "")})
        checks.equal(f"run{number}: outcome in the HParams tab",
                     "STATUS_SUCCESS" if run.metrics["outcome"] == "complete" else "STATUS_FAILURE",
                     group["sessions"][0]["status"])
        found = {value["name"]["tag"]: values.single(value["value"]) for value in group["metricValues"]}
        for tag, scalars in values.scalars(run).items():
            if tag not in metrics:
                continue
            checks.equal(f"run{number}: {tag} in the HParams tab", scalars[max(scalars)], found.get(tag))


def main():
    checks = Checks("TensorBoard")
    runs = runs_of(sys.argv[1:], "tensorboard")
    for run in runs:
        check_reader(checks, run)
    check_server(checks, runs)
    checks.end()


main()

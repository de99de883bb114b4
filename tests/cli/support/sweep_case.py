"""What the tests of pdhost sweep share: its command, and looks at what it wrote."""
import glob
import hashlib
import json
import os
import xml.etree.ElementTree as xml

from pdhost_run import FIXTURES, PDHOST, Case

FAULT = os.path.join(FIXTURES, "scenario", "fault.so")
STALL = os.path.join(FIXTURES, "scenario", "host_stall.so")

# The loader's keys are what is varied, so they are not given here.
BASE = ["--scenario", "dataloader", "--device", "cpu", "--batch_size", "4", "--image_size", "16", "--warmup_steps", "1", "-o",
        "device.threads=1", "-o", "data.cpu_work=10", "-o", "schedule.active=12"]


class SweepCase(Case):
    def check_curves(self, path, points, series):
        root = xml.parse(self.path(path)).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertEqual(len(root.findall(".//{*}circle")), points)
        self.assertEqual(len(root.findall("{*}g")), series)
        height, width = float(root.get("height")), float(root.get("width"))
        values = [(float(text.get("x")), 3.5 * len(text.text)) for text in root.findall("{*}text") if text.get("y") == "398.0"]
        for (x, half), (other, other_half) in zip(values, values[1:]):
            self.assertLess(x + half, other - other_half, "values below the axis stand apart")
        for circle in root.findall(".//{*}circle"):
            self.assertTrue(0 < float(circle.get("cx")) < width and 0 < float(circle.get("cy")) < height)

    def check_hparams(self, folder, count):
        found = sorted(glob.glob(self.path(folder + "/*/events.out.tfevents.*")))
        self.assertEqual(len(found), count)
        for path in found:
            with open(path, "rb") as file:
                data = file.read()
            for part in (b"_hparams_/session_start_info", b"_hparams_/session_end_info", b"data.num_workers"):
                self.assertIn(part, data)

    def version(self):
        """pdhost and its number."""
        return self.run_pdhost("--version")[1].splitlines()[0]

    def code_lines(self):
        """What a cell remembers of the program and of the plugins of BASE."""
        lib = os.path.join(os.path.dirname(PDHOST), "..", "lib", "pdhost")
        for path in (PDHOST, *(os.path.join(lib, name + ".so") for name in ("scenario/dataloader", "device/cpu", "sink/json",
                                                                           "sink/tensorboard"))):
            with open(path, "rb") as file:
                yield f"# sha256 {hashlib.sha256(file.read()).hexdigest()} {os.path.basename(path)}"

    def save_cell(self, base, values, times_ms, **data):
        """A cell as the sweep of these axes finds it: the command that made it, and the times of its active steps. `data`:
        more of its configuration."""
        folder = "s/cells/" + ",".join(f"{key}={value}" for key, value in values)
        words = [os.path.realpath(PDHOST), "-q", "-o", "profile.timer_only=true", *base]
        for key, value in values:
            words += ["-o", f"{key}={value}"]
        words += ["-o", f"run.trace_dir={folder}", "--sink", "json", "--sink", "tensorboard", "-o",
                  f"sink.json.output_json={folder}/metrics.json", "-o", f"benchmark.output={folder}/benchmark.json"]
        os.makedirs(self.path(folder))
        with open(self.path(folder + "/command"), "w", encoding="utf-8") as file:
            file.writelines(word + "\n" for word in [*words, "# " + self.version(), *self.code_lines()])
        options = [{"section": key.split(".")[0], "key": key.split(".")[1], "value": value}
                   for key, value in [*values, *(("run.epochs" if key == "epochs" else f"data.{key}", value)
                                                 for key, value in data.items())]]
        with open(self.path(folder + "/metrics.json"), "w", encoding="utf-8") as file:
            json.dump({"scenario": "dataloader", "device": {"name": "CPU (fake)", "versions": "fake 1"}, "outcome": "complete",
                       "pdhost_version": "1.0.0", "host_name": "here", "command_line": "x", "start_realtime_ns": 1,
                       "configuration": options,
                       "step_rows": [{"phase": "wait", "batch_cost_ns": 10 ** 9}] +
                       [{"phase": "active", "batch_cost_ns": round(1e6 * time)} for time in times_ms]}, file)

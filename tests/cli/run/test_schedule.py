"""Schedules of whole runs: which steps are recorded, in how many windows, by counting rows and files."""
import csv
import glob
import os
import re
import statistics
import struct
import unittest

from pdhost_run import FIXTURES, Case

JSON = "json:output_json=metrics.json"


class Schedules(Case):
    def record(self, *settings, flags=()):
        keys = [part for setting in settings for part in ("-o", setting)]
        code, _, err = self.run_small("--scenario", "control", *flags, *keys, "--sink", JSON, "--sink", "chrome_trace",
                                      "--trace_dir", "traces")
        self.assertEqual(code, 0, err)
        metrics = self.json("metrics.json")
        self.assertEqual(len(glob.glob(self.path("traces/*.pt.trace.json"))), len(metrics["windows"]))
        recorded = [[step["number"] for step in window["steps"]] for window in metrics["windows"]]
        return metrics["steps"], recorded

    def test_windows_larger_than_the_memory_are_split(self):
        keys = ("-o", "schedule.wait=1", "-o", "schedule.warmup=1", "-o", "profile.max_memory=1MiB", "-o",
                "run.epochs=0", "-o", "run.max_steps=160", "--sink", JSON, "--trace_dir", "traces", "-o")
        for schedule, end in (("schedule.active=all", 160), ("schedule.active=120", 122)):
            code, _, err = self.run_small("--scenario", "control", *keys, schedule)
            self.assertEqual(code, 0, err)
            self.assertEqual(err.count("steps fill [profile] max_memory = 1 MiB: the window ends there"), 1, err)
            metrics = self.json("metrics.json")
            windows = metrics["windows"]
            self.assertEqual([step["number"] for window in windows for step in window["steps"]], list(range(2, end)))
            self.assertGreater(len(windows), 1)
            self.assertEqual([window["window"] for window in windows], list(range(len(windows))))
            self.assertEqual({(window["coverage"], window["partial"]) for window in windows}, {(1, False)})
            self.assertEqual(sum(metrics["lost"].values()), 0)
            self.assertIn("the window ends there", " ".join(metrics["notes"]))

    def test_the_default_is_one_window_of_eight(self):
        self.assertEqual(self.record(), (10, [list(range(2, 10))]))

    def test_repeat_gives_windows_of_their_own(self):
        self.assertEqual(self.record("schedule.skip_first=1", "schedule.active=2", "schedule.repeat=2"),
                         (9, [[3, 4], [7, 8]]))

    def test_without_warmup(self):
        self.assertEqual(self.record("schedule.warmup=0", "schedule.active=1"), (2, [[1]]))

    def test_torchs_other_name(self):
        self.assertEqual(self.record(flags=("--profile_steps", "3")), (5, [[2, 3, 4]]))

    def test_a_plain_range(self):
        self.assertEqual(self.record("schedule.range=2:5"), (5, [[2, 3, 4]]))

    def test_for_ever_ends_at_max_steps_within_a_window(self):
        self.assertEqual(self.record("schedule.repeat=0", "schedule.active=2", "run.max_steps=7"), (7, [[2, 3], [6]]))

    def test_record_everything(self):
        self.assertEqual(self.record("schedule.wait=0", "schedule.warmup=0", "schedule.active=all", "run.max_steps=4"),
                         (4, [[0, 1, 2, 3]]))

    def test_no_step_is_recorded(self):
        self.assertEqual(self.record("run.max_steps=1"), (1, []))

    def test_timer_only_records_nothing_and_times_every_step(self):
        code, out, err = self.run_small("--scenario", "control", "-o", "profile.timer_only=true", "--sink", JSON,
                                        "--sink", "table", "-o", "profile.step_info_every=5")
        self.assertEqual(code, 0, err)
        metrics = self.json("metrics.json")
        self.assertEqual((metrics["steps"], metrics["windows"], metrics["coverage"]), (10, [], None))
        self.assertEqual((metrics["profile"], metrics["profile_note"]),
                         ("none", "profile.timer_only = true: only steps were timed"))
        self.assertIn("reader_cost", out)
        self.assertIn("Reader Ratio", out)

    def test_the_unit_of_step_info(self):
        for unit, factor in (("samples", 4), ("images", 4), ("steps", 1)):
            code, out, err = self.run_small("--scenario", "control", "-o", "profile.timer_only=true", "--sink", "table",
                                            "-o", "profile.step_info_every=5", "-o", f"profile.step_info_unit={unit}")
            self.assertEqual(code, 0, err)
            lines = re.findall(r"(?m)^step \d+ reader_cost: \S+ s batch_cost: (\S+) s ips: (\S+) (.*)$", out)
            self.assertEqual([line[2] for line in lines], [f"{unit}/s"] * 2)
            for cost, rate, _ in lines: # rounded figures, both
                self.assertLess(abs(float(rate) * float(cost) / factor - 1), 0.2)

    def test_timer_only_hands_losses_on_as_it_goes(self):
        code, _, err = self.run_small("--scenario", "control", "-o", "profile.timer_only=true", "--sink", "tensorboard",
                                      "--trace_dir", "traces")
        self.assertEqual(code, 0, err)
        (path,) = glob.glob(self.path("traces/events.out.tfevents.*"))
        with open(path, "rb") as file:
            self.assertGreaterEqual(file.read().count(b"train/loss"), 10)

    def rates(self, *arguments):
        """Samples per second of a run without a trace, by everything that says so."""
        code, out, err = self.run_small("--scenario", "vec_dot", "-o", "profile.timer_only=true", "--profile_steps", "40",
                                        "--sink", JSON, "--sink", "table:views=all", "--sink", "tensorboard", "--trace_dir", "traces",
                                        *arguments)
        self.assertEqual(code, 0, err)
        metrics, batch = self.json("metrics.json"), 4
        active = [row["batch_cost_ns"] for row in metrics["step_rows"] if row["phase"] == "active"]
        perf = {row["name"]: row["avg"] for row in metrics["tables"]["perf_summary"]["rows"]}
        (path,) = glob.glob(self.path("traces/events.out.tfevents.*"))
        with open(path, "rb") as file: # a Summary.Value: the tag, then field 2, a float
            shown = [struct.unpack("<f", at)[0] for at in re.findall(rb"throughput/samples_per_s\x15(.{4})", file.read(), re.DOTALL)]
        os.remove(path)
        self.assertEqual(len(shown), 42)
        lines = [float(at) for at in re.findall(r"ips: (\S+) samples/s", out)]
        self.assertEqual(len(lines), 4)
        return {"json": metrics["samples_per_s"], "rows": batch * len(active) * 1e9 / sum(active), "ips": perf["ips"],
                "batch_cost": batch / perf["batch_cost"], "steps": batch * metrics["steps_per_s"],
                "step_info": statistics.median(lines), "tensorboard": statistics.median(shown),
                "quick stats": float(re.search(r"samples_per_s +(\S+)", out).group(1))}

    def test_steps_that_are_not_waited_for_have_the_devices_rate(self):
        """Launching a step takes a thousandth of the time that the device needs for it."""
        waited, free = self.rates(), self.rates("-o", "run.sync_timing=false")
        for name, rate in free.items():
            self.assertLess(rate, 8 * waited[name], name)
            self.assertGreater(8 * rate, waited[name], name)

    def test_how_often_steps_are_told_is_no_matter_to_their_rate(self):
        """The steps do not wait for the device: what waits for it in between would hide it from every step."""
        rates = []
        for every in (0, 1):
            code, _, err = self.run_small("--scenario", "tiny_ops", "-o", "profile.timer_only=true", "-o", "run.sync_timing=false",
                                          "-o", f"profile.step_info_every={every}", "--profile_steps", "60", "--sink", JSON)
            self.assertEqual(code, 0, err)
            rates.append(self.json("metrics.json")["steps_per_s"])
        self.assertLess(rates[1], 3 * rates[0], rates)

    def test_timer_only_attaches_no_profiler(self):
        """On a device that cannot be profiled: CUPTI is loaded where a device is asked to attach, and nowhere else."""
        device = ("--device", os.path.join(FIXTURES, "device", "unprofiled.so"), "--scenario", "control",
                  "--batch_size", "4", "--image_size", "16", "--sink", "table")
        code, out, err = self.run_pdhost(*device, "-o", "profile.timer_only=true")
        self.assertEqual(code, 0, err)
        self.assertIn("Perf Summary", out)
        code, _, err = self.run_pdhost(*device)
        self.assertNotEqual(code, 0)
        self.assertIn("a profiler was asked for", err)

    def test_a_silent_profiler_is_told(self):
        """A device that is attached, says that it records, and delivers no launch: no coverage, no verdict."""
        device = ("--device", os.path.join(FIXTURES, "device", "silent.so"), "--scenario", "control", "--batch_size", "4",
                  "--image_size", "16", "--sink", "table:views=all", "--sink", JSON)
        code, out, err = self.run_pdhost(*device, watch=False)
        self.assertEqual(code, 0, err)
        self.assertIn("not one launch of theirs was recorded", err)
        self.assertIn("coverage n/a", out)
        metrics = self.json("metrics.json")
        self.assertEqual((metrics["profile"], metrics["coverage"], metrics["windows"][0]["coverage"]), ("full", None, None))
        verdict = metrics["windows"][0]["tables"]["verdict"]["rows"][0]
        self.assertEqual(verdict["verdict_cause"], "withheld")
        code, _, err = self.run_pdhost(*device, "-o", "run.require_cupti=true", watch=False)
        self.assertEqual(code, 7, err)
        self.assertIn("require_cupti", err)

    def test_the_perf_summary_is_one_in_every_sink(self):
        code, out, err = self.run_small("--scenario", "dataloader", "-o", "profile.timer_only=true", "-o",
                                        "data.io_sleep_ms=1", "--sink", JSON, "--sink", "table:wide=true", "--sink", "csv:dir=csv")
        self.assertEqual(code, 0, err)
        metrics = self.json("metrics.json")
        rows = {row["name"]: row for row in metrics["tables"]["perf_summary"]["rows"]}
        active = [step for step in metrics["step_rows"] if step["phase"] == "active"]
        reader, batch = (sum(step[key] for step in active) for key in ("data_wait_ns", "batch_cost_ns"))
        self.assertAlmostEqual(rows["Reader Ratio"]["avg"], 100 * reader / batch)
        self.assertAlmostEqual(rows["ips"]["avg"], metrics["batch_size"] * len(active) * 1e9 / batch)
        self.assertEqual({row["step_count"] for row in rows.values()}, {len(active)})
        with open(self.path("csv/perf_summary.csv"), encoding="utf-8", newline="") as file:
            stored = {row["name"]: row for row in csv.DictReader(file)}
        shown = {line.split("  ")[0].strip(): line.split() for line in out[out.index("Perf Summary"):].splitlines()}
        for name, row in rows.items():
            self.assertLessEqual(row["min"], row["avg"])
            self.assertLessEqual(row["avg"], row["max"])
            for at, key in enumerate(("avg", "max", "min", "p50", "p95")):
                self.assertEqual(float(stored[name][key]), row[key])
                self.assertAlmostEqual(float(shown[name][at - 5]), row[key], delta=0.005 * abs(row[key]))


if __name__ == "__main__":
    unittest.main()

"""schedule.twin: recorded steps take turns with others, what recording costs is measured, and nothing else changes."""
import glob
import json
import os
import unittest

from pdhost_run import FIXTURES, Case

JSON = "json:output_json=metrics.json"
TURNS = ("-o", "schedule.active=8", "-o", "schedule.twin=2")
# RRsUUUUwRRRRsUUUUwRR behind a step to wait and one to warm up.
RECORDED, ALL = [2, 3, 10, 11, 12, 13, 20, 21], 22
# What each call of tests/fixtures/device/costly.so takes longer while it is recorded.
COSTLY_NS = 50_000


class Twin(Case):
    def window(self, *arguments, device=None):
        run = self.run_small if device is None else self.run_pdhost
        of = () if device is None else ("--device", os.path.join(FIXTURES, "device", device + ".so"), "--batch_size", "4",
                                        "--image_size", "16")
        code, out, err = run("--scenario", "control", *of, *arguments, "--sink", JSON, "--trace_dir", "traces")
        self.assertEqual(code, 0, err)
        metrics = self.json("metrics.json")
        self.assertEqual(len(metrics["windows"]), 1)
        return metrics, metrics["windows"][0], out + err

    def test_the_window_has_the_recorded_steps_alone(self):
        metrics, window, out = self.window(*TURNS, "--sink", "table:views=active_steps", "--sink", "chrome_trace")
        self.assertEqual([step["number"] for step in window["steps"]], RECORDED)
        self.assertIn("steps 2..21 (8)", out)
        self.assertIn("ms of steps between them that were not recorded", " ".join(out.split()))
        rows = metrics["step_rows"]
        self.assertEqual((metrics["steps"], [row["index"] for row in rows if row["phase"] == "active"]), (ALL, RECORDED))
        self.assertEqual({row["phase"] for row in rows if row["index"] not in RECORDED}, {"wait", "warmup"})
        # Each step has the loss and the time of its own row, and begins where the one before ends.
        by_index = {row["index"]: row for row in rows}
        for step in window["steps"]:
            self.assertEqual((step["loss"], step["step_time_ns"]),
                             (by_index[step["number"]]["loss"], by_index[step["number"]]["step_time_ns"]))
            self.assertEqual((step["launches"], step["matched"]), (step["device_rows"], step["device_rows"]))
        steps = window["steps"]
        for before, step in zip(steps, steps[1:]):
            self.assertEqual(before["start_ns"] + before["duration_ns"], step["start_ns"])
        self.assertEqual(sum(step["duration_ns"] for step in steps), window["duration_ns"])
        self.assertEqual((window["coverage"], set(window["lost"].values())), (1, {0}))
        # What is cut out is as long as the steps in it, at the least.
        self.assertGreaterEqual(window["unrecorded_ns"], sum(row["step_time_ns"] for row in rows
                                                         if row["index"] not in RECORDED and row["index"] > 3))
        owned = sum(row["total"] for row in window["tables"]["ledger"]["rows"] if row["state"])
        self.assertEqual(owned, window["duration_ns"])
        self.assertEqual(window["recording_cost"]["twin_rounds"], 4)
        (trace,) = glob.glob(self.path("traces/*.pt.trace.json"))
        with open(trace, encoding="utf-8") as file:
            document = json.load(file)
        names = [event["name"] for event in document["traceEvents"] if event["name"].startswith("ProfilerStep#")]
        self.assertEqual(sorted(set(names)), sorted(f"ProfilerStep#{number}" for number in RECORDED))
        code, out, err = self.run_pdhost("check", trace, watch=False)
        self.assertEqual(code, 0, out + err)

    def test_a_capture_has_it_too(self):
        _, window, _ = self.window(*TURNS, "-o", "run.keep_capture=true")
        (capture,) = glob.glob(self.path("traces/*.pdcap"))
        code, _, err = self.run_pdhost("recover", capture, "--sink", "json:output_json=again.json", watch=False)
        self.assertEqual(code, 0, err)
        again = self.json("again.json")["windows"][0]
        for key in ("recording_cost", "unrecorded_ns", "duration_ns", "steps", "coverage"):
            self.assertEqual(again[key], window[key], key)

    @staticmethod
    def by_hand(rows, block):
        """The trimmed mean of the differences of the rounds, by the steps' rows: two rounds are 4 * block + 2 steps."""
        times, more = [row["batch_cost_ns"] - row["data_wait_ns"] for row in rows[2:]], []
        mean = lambda first: sum(times[first:first + block]) / block
        for at in range(0, len(times), 4 * block + 2):
            more += [mean(at) - mean(at + block + 1), mean(at + 3 * block + 2) - mean(at + 2 * block + 1)]
        cut = len(more) // 5
        return sum(sorted(more)[cut:len(more) - cut]) / (len(more) - 2 * cut)

    def test_what_recording_costs_is_found(self):
        """On a device whose calls cost a known time more while they are recorded, and on the same one without that."""
        for device, cost_ns in (("costly", COSTLY_NS), ("null", 0)):
            metrics, window, out = self.window("-o", "schedule.active=64", "-o", "schedule.twin=4", "--corrected", "--sink",
                                         "table:views=gains", device=device)
            cost, steps = window["recording_cost"], window["steps"]
            # The calls of a step, and the waits at its beginning and at its end.
            truth_ns = cost_ns * (steps[0]["launches"] + 2)
            with self.subTest(device=device):
                self.assertLess(cost["low_ns"], cost["added_ns"])
                self.assertLess(cost["added_ns"], cost["high_ns"])
                self.assertEqual(cost["twin_rounds"], 16)
                if cost_ns:
                    self.assertGreater(cost["low_ns"], 0)
                    # Other work of the machine may lengthen the steps that take time, and those alone.
                    self.assertGreater(cost["added_ns"], 0.95 * truth_ns)
                else:
                    self.assertLess(cost["added_ns"], COSTLY_NS * steps[0]["launches"] / 4)
                self.assertAlmostEqual(cost["added_ns"], self.by_hand(metrics["step_rows"], 4), delta=1)
                self.assertIn("Measured: in 16 rounds recorded steps of this window took turns with", " ".join(out.split()))

    def test_a_loop_that_does_not_wait_is_timed_before_the_profiler(self):
        """No such step has a time of its own: those before the profiler are timed together."""
        added_ns = {}
        for device in ("costly", "null"):
            _, window, _ = self.window("-o", "run.sync_timing=false", "--warmup_steps", "20", "-o", "schedule.active=20",
                                       device=device)
            self.assertGreater(window["unprofiled_step_ns"], 0)
            added_ns[device] = window["duration_ns"] / len(window["steps"]) - window["unprofiled_step_ns"]
            verdict = window["tables"]["verdict"]["rows"][0]
            if device == "costly" and verdict["verdict_cause"] != "withheld":  # a busy machine's steps may differ too much
                self.assertIn("; recording adds ", verdict["verdict_evidence"])
        self.assertGreater(added_ns["costly"], 0.95 * COSTLY_NS * window["steps"][0]["launches"])
        self.assertLess(added_ns["null"], COSTLY_NS * window["steps"][0]["launches"] / 4)

    def test_cut_short_it_is_a_window_still(self):
        for last in (6, 9, 12):
            _, window, _ = self.window(*TURNS, "-o", f"run.max_steps={last}")
            self.assertEqual([step["number"] for step in window["steps"]], [at for at in RECORDED if at < last])
            self.assertEqual(window["coverage"], 1)
            rounds = window["recording_cost"] and window["recording_cost"]["twin_rounds"]
            self.assertEqual(rounds, 2 if last == 12 else None)

    def test_a_window_that_is_split_keeps_its_turns(self):
        code, _, err = self.run_small("--scenario", "control", "-o", "schedule.active=160", "-o", "schedule.twin=8", "-o",
                                      "profile.max_memory=1MiB", "-o", "run.epochs=0", "--sink", JSON)
        self.assertEqual(code, 0, err)
        windows = self.json("metrics.json")["windows"]
        self.assertGreater(len(windows), 1)
        self.assertEqual(sum(len(window["steps"]) for window in windows), 160)
        for window in windows:
            self.assertEqual(window["coverage"], 1)
            self.assertEqual(sum(step["duration_ns"] for step in window["steps"]), window["duration_ns"])

    def test_where_it_has_no_effect_a_line_says_so(self):
        for key, why in (("run.sync_timing=false", "where steps run into one another"),
                         ("profile.timer_only=true", "which records nothing")):
            code, _, err = self.run_small("--scenario", "control", *TURNS, "-o", key, "--sink", JSON)
            self.assertEqual(code, 0, err)
            self.assertIn(f"command line: [schedule] twin = 2: no effect with [{key.split('.')[0]}] ", err)
            self.assertIn(why, err)
            self.assertEqual(self.json("metrics.json")["steps"], 10)
        code, _, err = self.run_small("--scenario", "control", "-o", "schedule.range=2,5", "-o", "schedule.twin=2")
        self.assertEqual(code, 3)
        self.assertIn("replaces twin, which command line sets too", err)

    def test_the_plan_tells_of_it(self):
        code, out, err = self.run_small("--scenario", "control", *TURNS, "--dry-run", watch=False)
        self.assertEqual(code, 0, err)
        self.assertIn("record 8, in turns with as many that are not, in blocks of 2; once", out)
        self.assertIn("then 22", out)


if __name__ == "__main__":
    unittest.main()

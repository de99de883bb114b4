"""truth.json: what a scenario injected, as the host measured it."""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import unittest

from pdhost_run import CONF, FIXTURES, SMALL, Case

SCHEMA = os.path.join(CONF, "..", "docs", "schema", "truth.schema.json")
TOOLS = os.path.join(CONF, "..", ".venv", "tools", "bin", "python")


class TruthCase(Case):
    def truth(self, scenario, *more):
        code, out, err = self.run_small("--scenario", scenario, *more, "--trace_dir", "traces")
        self.assertEqual(code, 0, err)
        self.assertIn("\n  traces/truth/truth.json\n", out)
        self.assertFalse(os.path.exists(self.path("traces/truth.json")), "tools would take it for a trace")
        return self.json("traces/truth/truth.json")

    def check_schema(self, path):
        check = "import json, sys, jsonschema; jsonschema.validate(*(json.load(open(path)) for path in sys.argv[1:]))"
        subprocess.run([TOOLS, "-c", check, self.path(path), SCHEMA], check=True, stdout=sys.stderr)


class Truth(TruthCase):
    def test_counts_are_exact_and_causes_the_scenarios(self):
        for scenario, cause, count, more in (
                ("sync", "forced_sync", 3, ["-o", "scenario.reads_per_step=3"]),
                ("memory_churn", "allocator", 20, []),
                ("pageable_copy", "pageable_copy", 4, ["-o", "scenario.copies=4", "-o", "scenario.bytes=4096"]),
                ("host_compute", "host_compute", 1, ["-o", "scenario.inject_us=500"])):
            with self.subTest(scenario=scenario):
                truth = self.truth(scenario, *more)
                self.assertEqual(truth["format"], "pdhost.truth/1")
                self.assertEqual((truth["scenario"], truth["cause"]), (scenario, cause))
                self.assertEqual(truth["steps"], 8)
                self.assertEqual(truth["count_per_step"], count)
                self.assertGreater(truth["injected_us_per_step"], 0)
                self.assertLess(truth["injected_us_per_step"], truth["step_us"])
                for setting in more[1::2]:
                    key, value = setting.split("=")
                    self.assertEqual(truth["settings"][key], value)

    def test_a_cure_that_changes_nothing_is_not_tried(self):
        """Blocks of the same settings measure chance alone: 5 % in one run."""
        for serial, tried in (("true", ["scenario.serial=false scenario.inject_share=0"]), ("false", [])):
            with self.subTest(serial=serial):
                truth = self.truth("serial_streams", "-o", f"scenario.serial={serial}", "-o", "scenario.inject_us=1000", "-o",
                                   "data.resident=device", "-o", "truth.cures=auto", "-o", "truth.interleave=1", "-o",
                                   "truth.block=1")
                self.assertEqual([cure["settings"] for cure in truth["cures"]], tried)

    def test_a_cure_is_tried_on_the_device_of_the_run(self):
        """One of them may be open once in a process. The peaks of memory are the run's alone."""
        run = ["--scenario", "host_compute", "--batch_size", "4", "--image_size", "16", "-o", "truth.interleave=1", "-o",
               "truth.block=1", "-o", "data.num_workers=0", "--sink", "json:output_json=metrics.json", "--trace_dir", "traces"]
        for device in (os.path.join(FIXTURES, "device", "single.so"), "cpu"):
            peaks = []
            for cures, tried in (("auto", [True]), ("none", [])):
                code, _, err = self.run_pdhost("--device", device, *run, "-o", f"truth.cures={cures}")
                self.assertEqual(code, 0, err)
                self.assertEqual([one["effect"] is not None for one in self.json("traces/truth/truth.json")["cures"]], tried, err)
                metrics = self.json("metrics.json")
                peaks.append((metrics["peak_allocated_bytes"], metrics["peak_reserved_bytes"]))
            self.assertEqual(*peaks)

    def test_the_file_fits_the_schema(self):
        """Without an effect that was measured, and for two causes. Those of dials are looked at above."""
        if not os.path.exists(TOOLS):
            self.skip("no .venv/tools; scripts/tools-venv makes it")
        for scenario, *more in (("control",), ("host_compute", "-o", "data.io_sleep_ms=1", "-o", "data.resident=none")):
            with self.subTest(scenario=scenario):
                self.truth(scenario, *more)
                self.check_schema("traces/truth/truth.json")

    def test_every_scenario_takes_a_dial_and_tells_its_error(self):
        """How close it comes is the machine's affair, and tests/run/test_dial.c's: here, that the document says so."""
        effects = (("sync", "inject_us", 2000), ("tiny_ops", "inject_share", 0.3), ("memory_churn", "inject_us", 3000),
                   ("small_batch", "inject_share", 0.2), ("host_compute", "inject_share", 0.3),
                   ("pageable_copy", "inject_share", 0.25), ("serial_streams", "inject_share", 0.3),
                   ("low_occupancy", "inject_share", 0.2), ("slow_clock", "inject_share", 0.2),
                   ("blocking_copy", "inject_share", 0.2))
        listed = json.loads(self.run_pdhost("list", "--format", "json")[1])
        scenarios = {one["name"] for one in listed["scenarios"]} - {"control", "vec_dot", "ddp"}
        self.assertGreaterEqual(len(scenarios), 11)
        runs = [(scenario, f"scenario.{key}", asked, True) for scenario, key, asked in effects]
        runs += [(scenario, "data.cpu_us" if scenario == "dataloader" else "scenario.inject_us",
                  500 if scenario == "dataloader" else 4000, False) for scenario in sorted(scenarios - {of for of, *_ in effects})]
        # All at once, since a search ends by the clock: how exact it is is not looked at.
        with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
            for (scenario, key, asked, has_effect), (path, out, err) in zip(runs, pool.map(self.dialled, runs)):
                with self.subTest(scenario=scenario, key=key):
                    truth = self.json(path)
                    self.check_warning(truth, err)
                    self.check_report(truth, out)
                    if has_effect:
                        self.check_effect(truth, key, asked)
                        self.check_progress(err)
                    if os.path.exists(TOOLS):
                        self.check_schema(path)

    def dialled(self, run):
        scenario, key, asked, has_effect = run
        folder = f"traces/{scenario}/{has_effect}"
        code, out, err = self.run_small("--scenario", scenario, "-o", f"{key}={asked}", "-o", "truth.block=1", "--trace_dir",
                                        folder, "--sink", "table:views=run", "--progress=json", watch=False)
        self.assertEqual(code, 0, err)
        return f"{folder}/truth/truth.json", out, err

    def check_warning(self, truth, err):
        """It comes with an error above 5 % that chance does not explain, and with no other one."""
        self.assertGreater(truth["asked_us_per_step"], 0)
        error = truth["dial_error_percent"]
        self.assertAlmostEqual(error, 100 * (truth["measured_us_per_step"] / truth["asked_us_per_step"] - 1), delta=0.01)
        said = re.search(r"was to inject (\d+) us a step and injected (-?\d+) us(?: \(95 %: -?\d+ to -?\d+ us\))?, "
                         r"(\d+) % (more|less)", err)
        low, high = truth["dial_error_low_percent"], truth["dial_error_high_percent"]
        self.assertEqual((low is None, high is None), (truth["effect"] is None,) * 2)
        missed = abs(error) > 5 and (low is None or not low <= 0 <= high)
        if abs(abs(error) - 5) > 0.01:
            self.assertEqual(said is not None, missed, (error, low, high, err))
        if said:
            self.assertAlmostEqual(int(said.group(3)), abs(error), delta=0.6)
            self.assertEqual(said.group(4), "more" if error > 0 else "less")

    def check_effect(self, truth, key, asked):
        self.assertIsNone(truth["asked_count_per_step"])
        self.assertEqual(truth["settings"][key], str(asked))
        effect = truth["effect"]
        self.assertGreaterEqual(len(effect["rounds"]), 8)
        wanted = asked if key.endswith("_us") else effect["control_step_us"] * asked / (1 - asked)
        self.assertAlmostEqual(truth["asked_us_per_step"], wanted, delta=0.01)
        self.assertEqual(truth["measured_us_per_step"], effect["us_per_step"])
        for end, us in (("low", truth["dial_error_low_percent"]), ("high", truth["dial_error_high_percent"])):
            ratio = 1 / (1 - effect[f"share_{end}"])
            self.assertAlmostEqual(us, 100 * (effect["control_step_us"] * (ratio - 1) / wanted - 1), delta=0.1)

    def check_report(self, truth, out):
        said = re.search(r"dial +(\d+) us a step asked for, (-?\d+) us injected, ([\d.]+) % (more|less)",
                         re.sub(r"\s+", " ", out))
        self.assertIsNotNone(said, out)
        self.assertAlmostEqual(int(said.group(1)), truth["asked_us_per_step"], delta=0.51)
        self.assertAlmostEqual(int(said.group(2)), truth["measured_us_per_step"], delta=0.51)
        self.assertAlmostEqual(float(said.group(3)), abs(truth["dial_error_percent"]), delta=0.051)
        self.assertEqual(said.group(4), "less" if truth["dial_error_percent"] < 0 else "more")

    def check_progress(self, err):
        """How many steps a dial takes is not known: no total is told that they exceed."""
        said = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
        totals = {one["phase"]: one["of"] for one in said if one["event"] == "end"}
        for phase in ("setting the dial by control steps", "measuring what the injection costs"):
            self.assertIsNone(totals[phase])
        self.assertEqual([one for one in said if one["of"] is not None and one["step"] > one["of"]], [])

    def test_what_was_asked_for_by_count_was_injected(self):
        for scenario, more, count in (("sync", "scenario.reads_per_step=5", 5),
                                      ("memory_churn", "scenario.temporaries=7", 7),
                                      ("tiny_ops", "scenario.rounds=120", 120), ("small_batch", "scenario.passes=4", 3),
                                      ("pageable_copy", "scenario.copies=6", 6)):
            with self.subTest(scenario=scenario):
                truth = self.truth(scenario, "-o", more)
                self.assertEqual((truth["asked_count_per_step"], truth["count_per_step"]), (count, count))

    def test_the_report_of_a_scenario_without_a_dial(self):
        code, out, err = self.run_small("--scenario", "control", "--trace_dir", "traces", "--sink", "table:views=run")
        self.assertEqual(code, 0, err)
        self.assertNotRegex(out, r"\n +dial ")

    def test_a_count_of_nothing_turns_the_dial_off(self):
        for scenario, cure in (("sync", "reads_per_step=0"), ("small_batch", "passes=1")):
            truth = self.truth(scenario, "-o", "scenario.inject_us=2000", "-o", f"scenario.{cure}")
            self.assertEqual((truth["asked_us_per_step"], truth["effect"], truth["count_per_step"]), (None, None, 0))

    def test_a_share_of_what_makes_no_step_longer(self):
        """The search for it ends, and leaves the work as it is."""
        truth = self.truth("serial_streams", "-o", "scenario.serial=false", "-o", "scenario.inject_share=0.3", "-o", "truth.block=1")
        self.assertLess(truth["effect"]["control_step_us"], 1e6)
        self.assertLess(truth["measured_us_per_step"], 1e6)

    def test_a_time_or_a_share_but_not_both(self):
        code, _, err = self.run_small("--scenario", "sync", "-o", "scenario.inject_us=10", "-o",
                                      "scenario.inject_share=0.1")
        self.assertEqual(code, 3)
        self.assertIn("[scenario] inject_share = 0.1: set inject_us = 10 or this, not both", err)

    def test_few_rounds_show_an_effect_but_no_path(self):
        truth = self.truth("host_compute", "-o", "truth.interleave=5", "-o", "truth.block=1")
        self.assertEqual(len(truth["effect"]["rounds"]), 5)
        self.assertIsNone(truth["path"])

    def test_a_loader_that_is_not_dialled_by_time_is_no_second_cause(self):
        for scenario, more in (("host_compute", []), ("host_compute", ["-o", "data.io_sleep_ms=4"]),
                               ("dataloader", ["-o", "data.io_sleep_ms=4"])):
            with self.subTest(scenario=scenario, more=more):
                self.assertEqual(self.truth(scenario, *more)["also"], []) # resident data; the loader is the one cause

    def test_without_control_steps_the_effect_is_not_known(self):
        truth = self.truth("host_compute")
        self.assertIsNone(truth["effect"])
        self.assertIsNone(truth["path"])

    def test_the_loaders_injection_is_the_wait_for_data(self):
        truth = self.truth("dataloader", "-o", "data.io_sleep_ms=2")
        self.assertEqual(truth["cause"], "input_bound")
        self.assertIsNone(truth["count_per_step"])
        self.assertGreater(truth["injected_us_per_step"], 0)

    def test_what_nobody_measured_is_null_and_nothing_is_zero(self):
        self.assertEqual(self.truth("control")["injected_us_per_step"], 0)
        self.assertIsNone(self.truth("tiny_ops")["injected_us_per_step"])


class Timing(TruthCase):
    """How much was injected, and what it costs: by the clock."""

    def test_what_was_asked_for_in_time_was_injected(self):
        """Within 2 %, by the median of the steps. Other programs of the machine may spoil runs, but not all of them."""
        for scenario, more, asked in (("host_compute", ["-o", "scenario.inject_us=10000"], 10000),
                                      ("pageable_copy", ["-o", "scenario.inject_us=10000"], 10000),
                                      ("serial_streams", ["-o", "scenario.inject_us=10000"], 10000),
                                      ("serial_streams", ["-o", "scenario.inject_us=12000", "-o", "scenario.streams=2"],
                                       12000),
                                      ("dataloader", ["-o", "data.io_sleep_ms=4", "-o", "data.cpu_us=1000"], 20000)):
            with self.subTest(scenario=scenario, more=more):
                errors = []
                for _ in range(20):
                    truth = self.truth(scenario, *more)
                    errors.append(abs(truth["dial_error_percent"]))
                    if errors[-1] <= 2:
                        break
                if min(errors) > 2 and os.getloadavg()[0] > 1.5 * os.cpu_count():
                    self.skip(f"{scenario}: the machine's load is {os.getloadavg()[0]:.1f}: no step takes its own time")
                self.assertLessEqual(min(errors), 2, errors)
                self.assertEqual(truth["asked_us_per_step"], asked)

    def test_control_steps_show_the_effect(self):
        """A large injection is on the path whatever the machine does; so is none of them when nothing is injected."""
        for scenario, more, path in (("host_compute", ["-o", "scenario.inject_us=60000"], "on the path"),
                                     ("dataloader", ["-o", "data.io_sleep_ms=20"], "on the path"),
                                     ("control", [], "nothing injected")):
            with self.subTest(scenario=scenario):
                truth = self.truth(scenario, *more, "-o", "truth.interleave=6", "-o", "truth.block=2")
                effect = truth["effect"]
                self.assertEqual(truth["path"], path, effect)
                self.assertEqual(len(effect["rounds"]), 6)
                self.assertLessEqual(effect["share_low"], effect["share"])
                self.assertLessEqual(effect["share"], effect["share_high"])
                self.assertEqual(truth["steps"], 8)
                if more:
                    self.assertGreater(effect["us_per_step"], 20000)

    def test_what_is_hidden_is_off_the_path(self):
        """An injection of no length has no effect; chance makes one once in 20 times, not three times in a row."""
        paths = []
        while len(paths) < 3 and "present, off the path" not in paths:
            paths.append(self.truth("host_compute", "-o", "scenario.inject_us=0", "-o", "truth.interleave=6", "-o",
                                    "truth.block=2")["path"])
        self.assertIn("present, off the path", paths)

    def test_two_causes_at_once_are_both_labelled(self):
        """Loading by the loop itself, so that the effects add up: the larger of them is the one that is set higher.
        Other programs of the machine may spoil rounds, but not those of three runs."""
        for compute_us, larger in ((2000, "input_bound"), (60000, "host_compute")):
            with self.subTest(larger=larger):
                for _ in range(3):
                    truth, effects = self.two_causes(compute_us)
                    if truth[larger]["path"] == "on the path" and max(effects, key=effects.get) == larger:
                        break
                self.assertEqual(max(effects, key=effects.get), larger, truth)
                self.assertEqual(truth[larger]["path"], "on the path", truth)

    def two_causes(self, compute_us):
        """What is said of either, and its share."""
        whole = self.truth("host_compute", "-o", f"scenario.inject_us={compute_us}", "-o", "data.resident=none",
                           "--num_workers", "0", "-o", "data.io_sleep_ms=4", "-o", "truth.interleave=6", "-o",
                           "truth.block=2")
        self.assertEqual(whole["cause"], "host_compute")
        self.assertEqual([also["cause"] for also in whole["also"]], ["input_bound"])
        also = whole["also"][0]
        self.assertEqual((whole["asked_us_per_step"], also["asked_us_per_step"]), (compute_us, 16000))
        self.assertGreaterEqual(also["measured_us_per_step"], 15000)
        self.assertGreaterEqual(also["injected_us_per_step"], 15000)
        both = {"host_compute": whole, "input_bound": also}
        for of in both.values():
            self.assertEqual(len(of["effect"]["rounds"]), 6)
        self.assertEqual(*([with_it for with_it, _ in of["effect"]["rounds"]] for of in both.values()))
        return both, {cause: of["effect"]["share"] for cause, of in both.items()}


if __name__ == "__main__":
    unittest.main()

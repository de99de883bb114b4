"""The verdict of whole runs on the CPU device names what the scenario injects, and nothing else."""
import csv
import glob
import os
import re
import shlex
import unittest

from pdhost_run import SANITIZER, Case

# Small, but large enough for the device's work to show beside the cost of a launch; the scenarios' own data keys.
MODEST = ["--device", "cpu", "--batch_size", "16", "--image_size", "16", "--warmup_steps", "3", "--num_workers", "1",
          "-o", "device.threads=1", "-o", "schedule.active=16"]


class Verdicts(Case):
    def verdict(self, scenario, *more):
        code, out, err = self.run_pdhost(*MODEST, "--scenario", scenario, *more, "--sink", "table", "--sink",
                                         f"json:output_json={scenario}.json", "--sink", f"csv:dir={scenario}",
                                         "--trace_dir", f"traces_{scenario}")
        self.assertEqual(code, 0, err)
        self.assertTrue(out.startswith("Verdict  "), out[:200])
        tables = self.json(f"{scenario}.json")["windows"][0]["tables"]
        return tables["verdict"]["rows"][0], tables, out

    def try_next(self, scenario, row):
        """Runs the command that the verdict suggests, as a user would paste it; the verdict it comes to."""
        command = shlex.split(row["verdict_next"])
        self.assertEqual(os.path.basename(command[0]), "pdhost")
        code, _, err = self.run_pdhost(*command[1:], "--dry-run")
        self.assertEqual(code, 0, err)
        code, effective, err = self.run_pdhost(*command[1:], "--show-config")
        self.assertEqual(code, 0, err)
        for setting in (row["verdict_overrides"] or "").split():
            section, key, value = re.fullmatch(r"(\w+)\.(\w+)=(.*)", setting).groups()
            within = effective.split(f"[{section}]")[1].split("\n[")[0]
            self.assertRegex(within, rf"(?m)^{key} = {value}\b", setting)
        code, _, err = self.run_pdhost(*command[1:])
        self.assertEqual(code, 0, err)
        return self.json(f"{scenario}.json")["windows"][0]["tables"]["verdict"]["rows"][0]

    def test_the_window_knows_the_steps_before_the_profiler(self):
        def window(*more):
            code, _, err = self.run_pdhost(*MODEST, "--scenario", "control", "-o", "data.resident=none", *more,
                                           "--sink", "json:output_json=w.json", "--trace_dir", "traces_w")
            self.assertEqual(code, 0, err)
            return self.json("w.json")["windows"][0]
        ahead = window("--warmup_steps", "6", "--pin_memory", "-o", "data.prefetch_to_device=true")
        self.assertTrue(ahead["copies_ahead"])
        typical = [step["step_time_ns"] for step in ahead["steps"]]
        self.assertTrue(min(typical) / 10 < ahead["unprofiled_step_ns"] < 10 * max(typical), ahead["unprofiled_step_ns"])
        none = window("--warmup_steps", "2", "-o", "schedule.wait=1")
        self.assertIs(none["copies_ahead"], False)
        self.assertIsNone(none["unprofiled_step_ns"])
        free = ("--num_workers", "0", "-o", "run.sync_timing=false", "--warmup_steps")
        self.assertGreater(window(*free, "5")["unprofiled_step_ns"], 0)
        self.assertIsNone(window(*free, "4")["unprofiled_step_ns"])
        short = ("-o", "data.dataset_size=96", "-o", "data.batch_size=16", "-o", "run.epochs=9")  # six steps
        self.assertGreater(window(*free, "40", *short)["unprofiled_step_ns"], 0)

    def test_every_scenario(self):
        """Other programs of the machine may spoil a run, but not all of three."""
        if SANITIZER:
            self.skip(f"under the {SANITIZER} sanitizer the host's own cost outweighs what the scenarios inject")
        for_5_ms = ["-o", "scenario.inject_us=5000"]
        expected = {"control": ("none", []), "dataloader": ("input_bound", ["-o", "data.io_sleep_ms=6"]),
                    "sync": ("forced_sync", ["-o", "scenario.reads_per_step=200"]),
                    "tiny_ops": ("launch_bound", ["-o", "scenario.rounds=30", "--batch_size", "4", "--image_size", "8"]),
                    "memory_churn": ("allocator", []),
                    "host_compute": ("host_compute", for_5_ms), "pageable_copy": ("pageable_copy", for_5_ms),
                    "serial_streams": ("serial_streams", for_5_ms), "small_batch": ("small_batch", []),
                    "blocking_copy": ("forced_sync", ["-o", "data.batch_size=4", "-o", "data.image_size=8",
                                                       "-o", "scenario.calls=200"]),
                    "slow_clock": ("none", []), "low_occupancy": ("none", [])}
        for scenario, (cause, more) in expected.items():
            with self.subTest(scenario=scenario):
                for _ in range(3):
                    row, _, out = self.verdict(scenario, *more)
                    if row["verdict_cause"] == cause:
                        break
                self.assertEqual(row["verdict_cause"], cause, out[:2000])
                self.assertTrue(out.startswith("Verdict  " + row["verdict"][:40]), out[:200])
                for key in ("share", "repeatable", "evidence", "others", "next", "step"):
                    self.assertIsNotNone(row["verdict_" + key], key)
                # What no replay can predict is not suggested: nothing where all is well, and no fused operations.
                self.assertEqual(row["verdict_overrides"] is None, cause in ("none", "launch_bound"), scenario)
                tried = self.try_next(scenario, row)
                if cause == "none":
                    self.assertRegex(row["verdict"], r"^(possibly )?no bottleneck found: the device is busy \d+ % of the step$")
                else:
                    self.assertLess(row["verdict_expected"], row["verdict_step"])
                # What takes a cause out by its very nature leaves none of it.
                if cause in ("forced_sync", "allocator", "host_compute", "pageable_copy", "serial_streams", "small_batch"):
                    self.assertNotEqual(tried["verdict_cause"], cause)

    def test_what_the_run_has_is_not_suggested_again(self):
        """Whatever the verdict is, its command is not the same run again."""
        for scenario, more in (("control", ["--channels_last"]), ("tiny_ops", ["-o", "train.fused=true"]),
                               ("dataloader", ["-o", "data.io_sleep_ms=6", "--num_workers", "40"]),
                               ("dataloader", ["-o", "data.resident=host"])):
            with self.subTest(scenario=scenario, more=more):
                row, _, out = self.verdict(scenario, *more)
                code, effective, err = self.run_pdhost(*shlex.split(row["verdict_next"])[1:], "--show-config")
                self.assertEqual(code, 0, err)
                _, before, _ = self.run_pdhost(*MODEST, "--scenario", scenario, *more, "--show-config")
                settings = [re.sub(" *;.*", "", line) for line in effective.splitlines()]
                self.assertNotEqual(settings, [re.sub(" *;.*", "", line) for line in before.splitlines()], out[:2000])

    def test_without_a_gpu_the_cpu_device_takes_its_own_sizes_and_gets_a_verdict(self):
        code, out, err = self.run_pdhost("--device", "auto", "--scenario", "control", env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"(?m)^pdhost: warn: no GPU found \([^();]+\); using the CPU device$")
        self.assertRegex(err, r"sized for this device: warmup_steps 3, batch_size 16, image_size 16, num_workers 1, threads 1;")
        run = self.json("results/control/latest/metrics_control.json")
        self.assertEqual((run["batch_size"], run["image_size"]), (16, 16))
        self.assertNotEqual(run["windows"][0]["tables"]["verdict"]["rows"][0]["verdict_cause"], "withheld")
        self.assertIn("device cuda: ", run["device"]["fallback"])
        self.assertNotIn(run["device"]["fallback"], err)

    def test_why_no_gpu_was_found_is_told_whole_when_asked_for(self):
        code, _, err = self.run_pdhost("-v", "--device", "auto", "--scenario", "control", "--sink", "json:output_json=run.json",
                                       env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(code, 0, err)
        self.assertIn("pdhost: debug: " + self.json("run.json")["device"]["fallback"] + "\n", err)

    def test_sizes_that_the_user_gives_win_over_the_devices_own(self):
        code, effective, err = self.run_pdhost("--device", "cpu", "--scenario", "control", "--batch_size", "5",
                                               "--show-config")
        self.assertEqual(code, 0, err)
        self.assertRegex(effective, r"# command line\nbatch_size = 5\n")
        self.assertRegex(effective, r"# preset of device cpu\nimage_size = 16\n")

    def test_the_ledger_adds_up_in_every_form(self):
        _, tables, _ = self.verdict("sync", "--sink", "tensorboard:logdir=tb")
        total = sum(row["total"] for row in tables["ledger"]["rows"])
        steps = tables["ledger_steps"]["rows"]
        self.assertEqual(total, sum(row["step_span"] for row in steps))
        self.assertEqual(len(steps), 16)
        for row in steps:
            self.assertEqual(sum(value for key, value in row.items() if key.startswith("ledger_")), row["step_span"])
        with open(self.path("sync/ledger.csv"), encoding="utf-8", newline="") as file:
            written = list(csv.DictReader(file))
        by_cause = {row["cause"]: row["total"] for row in tables["ledger"]["rows"]}
        self.assertEqual({row["cause"]: int(row["total"]) for row in written if row["cause"]}, by_cause)
        with open(glob.glob(self.path("tb/*tfevents*"))[0], "rb") as file:
            events = file.read()
        for cause, total in by_cause.items():
            self.assertEqual(events.count(b"ledger/%s_us" % cause.encode()), 16 if total else 0, cause)

    def test_waits_for_reading_and_for_computing_are_told_apart(self):
        if SANITIZER:
            self.skip(f"under the {SANITIZER} sanitizer the steps outlast the waits")
        for workers in ("0", "1"):
            for more, largest in ((["data.io_sleep_ms=2", "data.cpu_work=0"], "input_io"),
                                  (["data.io_sleep_ms=0", "data.cpu_work=120000"], "input_cpu")):
                with self.subTest(workers=workers, largest=largest):
                    row, tables, out = self.verdict("dataloader", "-o", more[0], "-o", more[1], "--num_workers",
                                                    workers)
                    self.assertEqual(row["verdict_cause"], "input_bound", out[:2000])
                    owned = {row["cause"]: row["total"] for row in tables["ledger"]["rows"]}
                    waits = [cause for cause in owned if cause and cause.startswith("input_")]
                    self.assertEqual(max(waits, key=owned.get), largest, owned)
                    if largest == "input_cpu":
                        self.assertEqual(owned["input_io"], 0)

    def test_without_synchronisation_the_device_is_judged_and_not_the_launching(self):
        """The host is done with its steps before the device has worked on most of them: a step then ends when the
        device has."""
        for _ in range(3):
            row, tables, out = self.verdict("control", "-o", "run.sync_timing=false", "--image_size", "48")
            if row["verdict_cause"] == "none":
                break
        self.assertEqual(row["verdict_cause"], "none", out[:2000])
        self.assertGreater(row["verdict_share"], 50)
        self.assertEqual(sum(row["total"] for row in tables["ledger"]["rows"]),
                         sum(row["step_span"] for row in tables["ledger_steps"]["rows"]))

    def test_without_synchronisation_a_blocking_call_keeps_host_and_device_together(self):
        if SANITIZER:
            self.skip(f"under the {SANITIZER} sanitizer the host's own cost outweighs what the scenarios inject")
        for _ in range(3):
            row, _, out = self.verdict("sync", "-o", "run.sync_timing=false", "-o", "scenario.reads_per_step=200")
            if row["verdict_cause"] == "forced_sync":
                break
        self.assertEqual(row["verdict_cause"], "forced_sync", out[:2000])
        self.assertRegex(out, r"\n  Step +[0-9.]+ [mu]s -> [0-9.]+ [mu]s expected( \([0-9.]+x\))?\n")

    def test_is_withheld_when_steps_are_few(self):
        row, _, out = self.verdict("control", "-o", "schedule.active=4")
        self.assertEqual(row["verdict_cause"], "withheld")
        self.assertIn("4 active steps are too few", out)


if __name__ == "__main__":
    unittest.main()

"""The verdict of whole runs on the CPU device names what the scenario injects, and nothing else."""
import csv
import glob
import unittest

from pdhost_run import SANITIZER, Case

# Small, but large enough for the device's work to show beside the cost of a launch; the scenarios' own data keys.
MODEST = ["--device", "cpu", "--batch_size", "16", "--image_size", "24", "--warmup_steps", "3", "--num_workers", "1",
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

    def test_every_scenario(self):
        if SANITIZER:
            self.skip(f"under the {SANITIZER} sanitizer the host's own cost outweighs what the scenarios inject")
        for_5_ms = ["-o", "scenario.inject_us=5000"]
        expected = {"control": ("none", []), "dataloader": ("input_bound", []), "sync": ("forced_sync", []),
                    "tiny_ops": ("launch_bound", []), "memory_churn": ("allocator", []),
                    "host_compute": ("host_compute", for_5_ms), "pageable_copy": ("pageable_copy", for_5_ms)}
        for scenario, (cause, more) in expected.items():
            with self.subTest(scenario=scenario):
                row, tables, out = self.verdict(scenario, *more)
                self.assertEqual(row["verdict_cause"], cause, out[:2000])
                self.assertTrue(out.startswith("Verdict  " + row["verdict"][:40]), out[:200])
                if cause == "none":
                    self.assertEqual(row["verdict"], "no bottleneck injected: device-bound")
                else:
                    self.assertLess(row["verdict_expected"], row["verdict_step"])

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
                                  (["data.io_sleep_ms=0", "data.cpu_work=40000"], "input_cpu")):
                with self.subTest(workers=workers, largest=largest):
                    row, tables, out = self.verdict("dataloader", "-o", more[0], "-o", more[1], "-o",
                                                    "data.num_workers=" + workers)
                    self.assertEqual(row["verdict_cause"], "input_bound", out[:2000])
                    owned = {row["cause"]: row["total"] for row in tables["ledger"]["rows"]}
                    waits = [cause for cause in owned if cause and cause.startswith("input_")]
                    self.assertEqual(max(waits, key=owned.get), largest, owned)
                    if largest == "input_cpu":
                        self.assertEqual(owned["input_io"], 0)

    def test_is_withheld_when_steps_are_few(self):
        row, _, out = self.verdict("control", "-o", "schedule.active=4")
        self.assertEqual(row["verdict_cause"], "withheld")
        self.assertIn("4 active steps are too few", out)


if __name__ == "__main__":
    unittest.main()

"""Each scenario shows its own mark, and only its own: by counts and orderings, never by absolute times."""
import csv
import glob
import os
import re
import unittest

from pdhost_run import CONF, SANITIZER, SMALL, Case

# The scenarios' own data keys, and enough warm-up for each resident batch to be seen once.
MODEST = [*SMALL[2:], "--num_workers", "1"]
MODEST[MODEST.index("--warmup_steps") + 1] = "4"


class Scenarios(Case):
    def measure(self, scenario, *more):
        """Runs `scenario` and returns (metrics, rows of ranges, calls and memory of its window)."""
        code, _, err = self.run_pdhost(*MODEST, "--scenario", scenario, *more, "--sink",
                                       f"json:output_json={scenario}.json", "--sink",
                                       f"csv:dir={scenario}", "--trace_dir", f"traces_{scenario}")
        self.assertEqual(code, 0, err)
        tables = {}
        for path in glob.glob(self.path(f"{scenario}/events/*.csv")):
            with open(path, encoding="utf-8", newline="") as file:
                tables[os.path.basename(path)[:-4]] = list(csv.DictReader(file))
        return self.json(f"{scenario}.json"), tables

    def test_every_scenario_has_whole_coverage_and_finite_losses(self):
        for scenario in ("dataloader", "sync", "tiny_ops", "memory_churn", "control"):
            with self.subTest(scenario=scenario):
                metrics, tables = self.measure(scenario)
                self.assertEqual(metrics["coverage"], 1.0)
                self.assertEqual(len(metrics["losses"]), 10)
                self.assertTrue(all(0 < loss < 20 for loss in metrics["losses"]), metrics["losses"])
                self.assertEqual(sum(metrics["lost"].values()), 0, metrics["lost"])
                for row in tables["kernels"] + tables["copies"]:
                    self.assertNotEqual(row["call"], "")
                    self.assertNotEqual(row["range"], "")
                    self.assertNotEqual(row["step"], "")

    def launches_per_step(self, tables):
        kinds = ("launch", "memcpy", "memset", "graph_launch")
        return sum(1 for row in tables["calls"] if row["class"] in kinds) / 8

    def reads_per_step(self, tables):
        names = [row["name"] for row in tables["ranges"]]
        return names.count("aten::item") / 8

    def test_marks(self):
        runs = {name: self.measure(name) for name in ("sync", "tiny_ops", "memory_churn", "control")}
        # A busy machine or a sanitizer makes steps slow and leaves sleep as it is: the input has to stay the slower one.
        runs["dataloader"] = self.measure("dataloader", "-o", f"data.io_sleep_ms={180 if SANITIZER else 60}")
        control_metrics, control = runs["control"]

        metrics, _ = runs["dataloader"]
        self.assertGreater(metrics["avg_dataloader_wait_s"], metrics["avg_step_time_s"])
        self.assertLess(control_metrics["avg_dataloader_wait_s"], control_metrics["avg_step_time_s"])
        for name in ("sync", "tiny_ops", "memory_churn", "control"):
            self.assertLess(runs[name][0]["avg_dataloader_wait_s"], metrics["avg_dataloader_wait_s"])

        self.assertEqual(self.reads_per_step(runs["sync"][1]), 150)
        for name in ("dataloader", "tiny_ops", "memory_churn", "control"):
            self.assertEqual(self.reads_per_step(runs[name][1]), 0, name)

        self.assertGreaterEqual(self.launches_per_step(runs["tiny_ops"][1]), 10 * self.launches_per_step(control))

        with open(os.path.join(CONF, "tiny_ops.ini"), encoding="utf-8") as file:
            told = re.search(r"(\d+) kernels on the CPU device.*\n.*where control has (\d+)", file.read()).groups()
        self.assertEqual(told, tuple(str(len(runs[name][1]["kernels"]) // 8) for name in ("tiny_ops", "control")))

        batch_bytes = 4 * 3 * 16 * 16 * 4
        allocations = [row for row in runs["memory_churn"][1]["memory"] if int(row["bytes"]) >= batch_bytes]
        self.assertGreaterEqual(len(allocations) / 8, 20)
        self.assertEqual([row for row in control["memory"] if int(row["bytes"]) >= batch_bytes], [])

    def test_sync_leaves_a_gap_on_the_device_behind_its_read(self):
        _, tables = self.measure("sync", "-o", "scenario.reads_per_step=1")
        ranges = [row for row in tables["ranges"] if row["name"] == "aten::item"]
        rows = sorted(tables["kernels"] + tables["copies"], key=lambda row: int(row["start_ns"]))
        self.assertEqual(len(ranges), 8)
        for read in ranges:
            after = [row for row in rows if int(row["start_ns"]) >= int(read["end_ns"])]
            running = [row for row in rows if int(row["start_ns"]) < int(read["end_ns"]) < int(row["end_ns"])]
            self.assertEqual(running, [], "the device still worked when the read returned")
            self.assertTrue(after, "nothing was launched after the read")

    def test_rates_of_unsynchronised_steps_are_the_devices(self):
        metrics, tables = self.measure("control", "-o", "run.sync_timing=false")
        rows = tables["kernels"] + tables["copies"]
        busy_ns = sum(int(row["duration_ns"]) for row in rows)
        self.assertGreaterEqual(8 * 1e9 / metrics["steps_per_s"], busy_ns, "more steps than the device had time for")

    def test_the_same_seed_gives_the_same_losses_for_any_number_of_workers(self):
        losses = []
        for workers in (0, 1, 2, 5):
            metrics, _ = self.measure("dataloader", "-o", f"data.num_workers={workers}", "-o", "data.io_sleep_ms=0",
                                      "-o", "data.cpu_work=50")
            losses.append(metrics["losses"])
        for other in losses[1:]:
            self.assertEqual(losses[0], other)

    def test_the_next_batch_is_copied_beside_the_step(self):
        keys = ("-o", "data.resident=host", "-o", "data.pin_memory=true")
        plain, alone = self.measure("control", *keys)
        metrics, tables = self.measure("control", *keys, "-o", "data.prefetch_to_device=true")
        self.assertEqual(metrics["losses"], plain["losses"])
        self.assertEqual(metrics["coverage"], 1.0)
        busy = {row["stream"] for row in tables["kernels"]}
        self.assertEqual({row["stream"] for row in alone["copies"]}, busy)
        ahead = [row for row in tables["copies"] if row["stream"] not in busy]
        self.assertEqual(len(ahead), 2 * 8, "images and labels of each next batch, on a stream of their own")
        self.assertEqual(len(tables["copies"]), len(alone["copies"]))
        code, _, err = self.run_small("--scenario", "dataloader", "--num_workers", "2", "-o", "data.pin_memory=true",
                                      "-o", "data.prefetch_to_device=true", "-o", "run.max_steps=3")
        self.assertEqual(code, 0, err)
        refused = self.run_small("--scenario", "control", "-o", "data.prefetch_to_device=true")
        self.assert_fails(refused, 3, "set pin_memory = true")

    def test_windows_are_files_of_their_own(self):
        metrics, _ = self.measure("control", "--sink", "chrome_trace", "-o", "schedule.active=2", "-o",
                                  "schedule.repeat=3")
        self.assertEqual(len(metrics["windows"]), 3)
        self.assertEqual(len(glob.glob(self.path("traces_control/*.pt.trace.json"))), 3)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""pdhost sweep: every cell, in its folder, found again; interrupted and gone on; the table, the best cell, the curves."""
import csv
import glob
import os
import re
import shlex
import shutil
import unittest

from pdhost_run import CONF, PDHOST, SANITIZER, SMALL
from sweep_case import BASE, SweepCase

SLEEPS = ["--vary", "data.io_sleep_ms=0,30", "--vary", "data.num_workers=1,2,3"]
# What the times of test_the_report_of_known_times are printed as. A bimodal cell has one significant figure, as in
# torch, which would be 20; it gets another, since 20 is not less than 17.10.
REPORT = """\
[------------------------------ dataloader ------------------------------]
                      |  data.prefetch_factor=1  |  data.prefetch_factor=4
1 threads: ---------------------------------------------------------------
  data.num_workers=2  |          17.10           |        16 (! 39%)      
  data.num_workers=4  |          10.00           |         8              
  data.num_workers=8  |           7.94           |         9              

Times are in milliseconds (ms).
(! XX%) Measurement has high variance, where XX is the IQR / median * 100.

Best: data.num_workers=8, data.prefetch_factor=1: 7.938 ms, 0.46 of the slowest (iteration)
not told apart from it: data.num_workers=4, data.prefetch_factor=4

data.num_workers with data.prefetch_factor=1
  2  ######################################## 17.1 ms
  4  ####################### 10 ms
  8  ################### 7.938 ms

data.num_workers with data.prefetch_factor=4
  2  #################################### 16 ms
  4  ################### 7.94 ms
  8  ##################### 9.1 ms
"""
MARKDOWN = """\
| dataloader (ms) | data.prefetch_factor=1 | data.prefetch_factor=4 |
| --- | ---: | ---: |
| data.num_workers=2 | 17.10 | **16** |
| data.num_workers=4 | 10.00 | **7.940** |
| data.num_workers=8 | **7.938** | 9.100 |
"""


class Sweep(SweepCase):
    def test_every_cell_its_files_and_the_same_again(self):
        code, out, err = self.run_pdhost("sweep", *BASE, *SLEEPS, "--out", "s")
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("pdhost: sweep "), 6)
        self.assertRegex(err, r"sweep 2/6 data.io_sleep_ms=0, data.num_workers=2: [\d.]+ (us|ms)")
        self.assertRegex(out, r"\|  data.num_workers=1 +\|  data.num_workers=2 +\|  data.num_workers=3")
        self.assertRegex(out, r"\n  data.io_sleep_ms=30  +\|")
        # Under a sanitizer on a busy machine the steps outlast the sleeps.
        self.assertRegex(out, rf"\nBest: data.io_sleep_ms={'[0-9]+' if SANITIZER else '0'}, data.num_workers=\d: ")
        self.assertRegex(out, r"\ndata.io_sleep_ms with data.num_workers=2\n   0  #* [\d.]+ ms\n  30  #+ [\d.]+ ms\n")

        rows = self.json("s/sweep.json")["measurements"]
        self.assertEqual([(row["sub_label"], row["description"]) for row in rows],
                         [(f"data.io_sleep_ms={sleep}", f"data.num_workers={workers}") for sleep in (0, 30)
                          for workers in (1, 2, 3)])
        for row in rows:
            self.assertEqual((row["label"], row["scenario"]), (None, "dataloader"))
            self.assertEqual(row["number_per_run"], int(row["options"]["data.num_workers"]), "batches come in bursts")
            self.assertEqual(len(row["host_s"]) * row["number_per_run"], 12)
            self.assertEqual(f"data.num_workers={row['options']['data.num_workers']}", row["description"])
        # Four samples that sleep 30 ms each in one worker: no iteration on average is below what the sleeps take.
        means = [sum(row["host_s"]) / 12 for row in rows]
        self.assertGreater(means[3], 0.05)
        with open(self.path("s/sweep.csv"), encoding="utf-8", newline="") as file:
            self.assertEqual(len(list(csv.DictReader(file))), 6)
        with open(self.path("s/sweep.md"), encoding="utf-8") as file:
            self.assertEqual(len(file.read().splitlines()), 4)
        self.assertEqual(len(glob.glob(self.path("s/**/*.partial"), recursive=True)), 0)
        self.check_curves("s/curves.svg", points=6, series=3)
        with open(self.path("s/sweep.html"), encoding="utf-8") as file:
            page = file.read()
        for row in rows:
            self.assertIn(f'<th scope="row">{row["sub_label"]}, {row["description"]}</th>', page)
        self.assertEqual(page.count("<svg xmlns"), 1)
        self.assertIn("Two keys as a map", page)
        self.check_hparams("s/cells", 6)
        # A sweep's file is one of measurements like others.
        self.assertEqual(self.run_pdhost("compare", "s/sweep.json")[0], 0)

        again = self.run_pdhost("sweep", *BASE, *SLEEPS, "--out", "s")
        self.assertEqual(again[0], 0, again[2])
        self.assertEqual(again[2].count("(was there)"), 6)
        self.assertEqual(again[1], out)
        for format in ("json", "csv", "md"):  # what the file of that name holds
            printed = self.run_pdhost("sweep", *BASE, *SLEEPS, "--out", "s", "--format", format, "-q")[1]
            with open(self.path("s/sweep." + format), encoding="utf-8", newline="") as file:
                self.assertEqual(printed.replace("\r\n", "\n"), file.read().replace("\r\n", "\n"), format)
        other = self.run_pdhost("sweep", *BASE, "-o", "run.seed=1", *SLEEPS, "--out", "s", "--format", "none", "-q")
        self.assertEqual((other[0], other[1], other[2]), (0, "", ""))
        self.assertEqual(self.json("s/sweep.json")["measurements"][0]["options"]["run.seed"], "1", "another command runs anew")

    def test_a_file_or_a_version_that_changed_is_measured_anew(self):
        def sweep(seed):
            with open(self.path("c.ini"), "w", encoding="utf-8") as ini:
                ini.write(f"[run]\nseed = {seed}")
            code, _, err = self.run_pdhost("sweep", *BASE, "-c", "c.ini", "--vary", "data.num_workers=0", "--out", "s")
            self.assertEqual(code, 0, err)
            self.assertEqual(self.json("s/sweep.json")["measurements"][0]["options"]["run.seed"], str(seed))
            return "(was there)" in err

        self.assertEqual([sweep(1), sweep(1), sweep(2), sweep(2)], [False, True, False, True])
        path = self.path("s/cells/data.num_workers=0/command")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(f"\n# {self.version()}\n", text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(self.version(), "pdhost 0.0.1"))
        self.assertEqual([sweep(2), sweep(2)], [False, True])

    def test_a_plugin_that_changed_is_measured_anew(self):
        plugins = os.path.join(os.path.dirname(PDHOST), "..", "lib", "pdhost", "scenario")
        base = [word if word != "dataloader" else "./mine.so" for word in BASE]

        def sweep(plugin):
            shutil.copy(os.path.join(plugins, plugin + ".so"), self.path("mine.so"))
            code, _, err = self.run_pdhost("sweep", *base, "-o", "data.resident=none", "--vary", "data.num_workers=0",
                                           "--out", "s")
            self.assertEqual(code, 0, err)
            self.assertEqual(self.json("s/sweep.json")["measurements"][0]["scenario"], plugin)
            return "(was there)" in err

        self.assertEqual([sweep("control"), sweep("control"), sweep("sync"), sweep("sync"), sweep("control")],
                         [False, True, False, True, False])

    def test_the_report_of_known_times(self):
        # 256 steps each. Batches come in bursts of as many as there are workers: what counts is an average of those.
        cells = {("2", "1"): [17.0, 17.2] * 128, ("2", "4"): [12, 13] * 64 + [18, 19] * 64, ("4", "1"): [8, 8, 8, 16] * 64,
                 ("4", "4"): [7.9, 8.0, 7.9, 7.96] * 64, ("8", "1"): ([0.5] * 7 + [60]) * 32, ("8", "4"): [9.1] * 256}
        for (workers, factor), times in cells.items():
            self.save_cell(BASE, [("data.num_workers", workers), ("data.prefetch_factor", factor)], times)
        code, out, err = self.run_pdhost("sweep", *BASE, "--vary", "data.num_workers=2,4,8", "--vary",
                                         "data.prefetch_factor=1,4", "--out", "s")
        self.assertEqual((code, err.count("(was there)")), (0, 6), err)
        self.assertEqual(out, REPORT)
        with open(self.path("s/sweep.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), MARKDOWN)
        self.check_curves("s/curves.svg", points=6, series=2)
        with open(self.path("s/curves.svg"), encoding="utf-8") as file:
            svg = file.read()
        for text in ("dataloader on CPU (fake)", "data.num_workers", "data.prefetch_factor=4",
                     "iteration, ms (median and quartiles)"):
            self.assertIn(f">{text}<", svg)

    def test_the_decimals_of_a_column_keep_the_order(self):
        # A column of a cell with one or two figures and of the best one, which would both be without decimals.
        cells = {("2", "1"): [12, 13] * 64 + [18, 19] * 64, ("4", "1"): [7.6, 7.6, 7.6, 7.6, 7.64, 7.64, 7.64, 7.64] * 32,
                 ("2", "4"): [17.0, 17.2] * 128, ("4", "4"): [7.9, 8.0, 7.9, 7.96] * 64}
        for (workers, factor), times in cells.items():
            self.save_cell(BASE, [("data.num_workers", workers), ("data.prefetch_factor", factor)], times)
        code, out, err = self.run_pdhost("sweep", *BASE, "--vary", "data.num_workers=2,4", "--vary",
                                         "data.prefetch_factor=1,4", "--out", "s")
        self.assertEqual((code, err.count("(was there)")), (0, 4), err)
        for text in ("  data.num_workers=2  |       16   (! 39%)       |          17.10         \n",
                     "  data.num_workers=4  |        7.6               |           7.94         \n",
                     "\nBest: data.num_workers=4, data.prefetch_factor=1: 7.62 ms"):
            self.assertIn(text, out)
        # Beside no other the digits of one with a wide spread are not cut.
        self.assertIn("sweep 1/4 data.num_workers=2, data.prefetch_factor=1: 15.5 ms (was there)\n", err)

    def test_too_few_blocks_are_no_tie(self):
        # Twice as slow, which seven blocks cannot tell; a whole interval within 1 % is the same even of 31.
        for workers, times in (("2", [10, 10, 10.1, 10.1] * 16), ("4", [20] * 4 * 7), ("8", [20] * 8 * 5),
                               ("1", [10.05] * 31)):
            self.save_cell(BASE, [("data.num_workers", workers)], times)
        code, out, err = self.run_pdhost("sweep", *BASE, "--vary", "data.num_workers=2,4,8,1", "--out", "s")
        self.assertEqual((code, err.count("(was there)")), (0, 4), err)
        self.assertIn("""
not told apart from it: data.num_workers=1
too few blocks (5 of 32) to tell it from: data.num_workers=4
                                          data.num_workers=8
raise schedule.active for more blocks

data.num_workers
""", out)

    def test_a_time_of_zero_has_no_ratio(self):
        for name, one, other in (("a", [0] * 64, [0] * 64), ("b", [1] * 64, [0] + [5] * 63)):
            base = [*BASE, "-o", f"run.seed={ord(name)}"]
            self.save_cell(base, [("data.num_workers", "0")], one)
            self.save_cell(base, [("data.num_workers", "1")], other)
            code, out, err = self.run_pdhost("sweep", *base, "--vary", "data.num_workers=0,1", "--out", "s")
            self.assertEqual((code, err.count("(was there)")), (0, 2), err)
            self.assertRegex(out, r"\nBest: data.num_workers=0: .*\na time is zero, so there is no ratio to: data.num_workers=1\n")
            shutil.rmtree(self.path("s"))

    def test_a_block_holds_whole_epochs_where_they_end_on_the_way(self):
        # (workers, batches of an epoch, epochs): iterations of a block, of 48.
        for case, (workers, samples, drop, epochs, expected) in enumerate((
                ("2", "32", "true", "0", 8), ("2", "35", "true", "0", 8), ("2", "35", "false", "0", 9),
                ("8", "12", "true", "0", 9), ("2", "32", "true", "1", 2), ("2", "192", "true", "0", 2), ("0", "32", "true", "3", 8))):
            base = [*BASE, "-o", f"run.seed={case}"]
            self.save_cell(base, [("data.num_workers", workers)], [1] * 48, epochs=epochs, dataset_size=samples, drop_last=drop,
                           batch_size="4")
            code, _, err = self.run_pdhost("sweep", *base, "--vary", f"data.num_workers={workers}", "--out", "s")
            self.assertEqual((code, err.count("(was there)")), (0, 1), err)
            self.assertEqual(self.json("s/sweep.json")["measurements"][0]["number_per_run"], expected, case)
            shutil.rmtree(self.path("s"))

    def test_one_axis_and_the_kinds_of_time(self):
        times = {}
        for name in ("iteration", "step", "wait"):
            code, out, err = self.run_pdhost("sweep", *BASE, "--vary", "data.io_sleep_ms=20", "--vary", "data.num_workers=0",
                                             "--time", name, "--out", "s")
            self.assertEqual(code, 0, err)
            (row,) = self.json("s/sweep.json")["measurements"]
            times[name] = row["host_s"]
        for iteration, step, wait in zip(times["iteration"], times["step"], times["wait"]):
            self.assertGreaterEqual(iteration + 1e-6, step + wait)
            self.assertGreaterEqual(wait, 0.08, "four sleeps of 20 ms in the loop's own thread")
        code, out, err = self.run_pdhost("sweep", *BASE, "--vary", "data.num_workers=0,1", "--out", "one")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"\n  data.num_workers=0  \|")
        self.assertRegex(out, r"\|\s+iteration")
        self.check_curves("one/curves.svg", points=2, series=1)

    def test_files_of_others_stay_and_are_not_read(self):
        cell = "s/cells/train.fused=true"
        mine = [cell + "/events.out.tfevents.mine", cell + "/metrics.json.kept", cell + "/benchmark.json",
                cell + "/benchmark.json.kept", "s/draws.csv"]
        os.makedirs(self.path(cell))
        for name in [*mine, cell + "/metrics.json"]:
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write("mine")
        sweep = ["sweep", *BASE, "--vary", "train.fused=true", "--out", "s"]
        failed = self.run_pdhost(*sweep, "-o", "run.device_index=9")
        self.assert_fails(failed, 6, "pdhost: error: ")
        with open(self.path(cell + "/metrics.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine", "a run that left no times leaves the file of that name")
        for there in (0, 1):
            code, _, err = self.run_pdhost(*sweep)
            self.assertEqual((code, err.count("(was there)")), (0, there), err)
            self.assertIn("pdhost: wrote s/sweep.json, sweep.csv, sweep.md, sweep.html, curves.svg\n"
                          "pdhost: s/draws.csv was there before and is not of this sweep; it stays as it is\n", err)
            self.assertEqual(len(self.json("s/sweep.json")["measurements"]), 1)
            for name in mine:
                with open(self.path(name), encoding="utf-8") as file:
                    self.assertEqual(file.read(), "mine", name)

    def test_benchmark_mode(self):
        benchmark = [*SMALL, "--scenario", "control", "-o", "benchmark.min_run_time=10ms"]
        code, out, err = self.run_pdhost("sweep", *benchmark, "-o", "run.mode=benchmark", "--vary", "train.fused=true,false",
                                         "--out", "s")
        self.assertEqual(code in (0, 7), True, err)
        rows = self.json("s/sweep.json")["measurements"]
        self.assertEqual([(row["method"], row["sub_label"], row["description"]) for row in rows],
                         [("blocked_autorange", "train.fused=true", "step"), ("blocked_autorange", "train.fused=false", "step")])
        # The step alone is timed, and is called that.
        self.assertRegex(out, r"\nBest: .* of the slowest \(step\)\n")
        with open(self.path("s/curves.svg"), encoding="utf-8") as file:
            svg = file.read()
        self.assertRegex(svg, r">step, \w+ \(median and quartiles\)<")
        self.assertNotIn("iteration", out + svg)
        for arguments in (("--vary", "run.mode=benchmark", "--time", "wait"), ("--vary", "run.mode=train,benchmark")):
            self.assert_fails(self.run_pdhost("sweep", *benchmark, *arguments), 2, "[run] mode = benchmark times the step alone")

    def test_values_become_folders(self):
        code, _, err = self.run_pdhost("sweep", *BASE, "--vary", "run.plugin_path=/a b,/c\\,d/" + "e" * 300, "--out", "s")
        self.assertEqual(code, 0, err)
        names = sorted(os.listdir(self.path("s/cells")))
        self.assertEqual(len(names), 2)
        self.assertTrue(all(len(name) < 255 for name in names), names)
        self.assertEqual([row["options"]["run.plugin_path"][:5] for row in self.json("s/sweep.json")["measurements"]],
                         ["/a b", "/c,d/"])

    def test_the_command_of_the_guide(self):
        """As a shell reads it, with one short epoch of no sleep per cell: the table and the curves that the guide shows."""
        with open(os.path.join(CONF, "..", "docs", "benchmarking.md"), encoding="utf-8") as file:
            (block,) = re.findall(r"```\n\$ (pdhost sweep -c conf/dataloader.ini .*?)```", file.read(), re.DOTALL)
        command = re.match(r"(?:.*\\\n)*.*\n", block).group()
        words = shlex.split(command.replace("\\\n", " "))
        self.assertEqual(words.count("--vary"), 3, command)
        for full, small in (("data.io_sleep_ms=10", "data.io_sleep_ms=0"), ("data.worker_init_ms=100", "data.worker_init_ms=0"),
                            ("data.dataset_size=128", "data.dataset_size=16"), ("schedule.active=2560", "schedule.active=8")):
            words[words.index(full)] = small
        os.symlink(CONF, self.path("conf"))
        code, out, err = self.run_pdhost(*words[1:])
        self.assertEqual(code, 0, err)

        def without_figures(text):
            """Its columns, rows and curves, and that there is a best."""
            rows = re.findall(r"^ +\|  data.*|^  data\.\S+, \S+ +\||^data\..*|^  \d  #|^Best: ", text, re.MULTILINE)
            return [" ".join(row.split()) for row in rows]

        quoted = without_figures(block[len(command):])
        self.assertEqual(len(quoted), 1 + 6 + 1 + 4 * (1 + 3), quoted)
        self.assertEqual(without_figures(out), quoted)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""pdhost sweep: every cell, in its folder, found again; interrupted and gone on; the table, the best cell, the curves."""
import csv
import glob
import os
import re
import shlex
import signal
import shutil
import time
import unittest

from pdhost_run import CONF, PDHOST, SANITIZER, SMALL, children_of, worker_of
from sweep_case import STALL, BASE, SweepCase

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

    def test_interrupted_it_goes_on(self):
        arguments = ["sweep", *BASE, "--vary", "data.io_sleep_ms=0,1,40", "--vary", "data.num_workers=1,2", "--out", "s"]
        process = self.start(*arguments)
        for line in process.stderr:
            if "sweep 3/6" in line:
                process.send_signal(signal.SIGINT)
                break
        err = process.stderr.read()
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("interrupted; the same command goes on from here", err)
        self.assertFalse(os.path.exists(self.path("s/sweep.json")))
        done = len(glob.glob(self.path("s/cells/*/command")))
        self.assertGreaterEqual(done, 3)
        self.assertLess(done, 6)
        code, out, err = self.run_pdhost(*arguments)
        self.assertEqual(code, 0, err)
        # The cell that was interrupted as it ended has its files, and not all of its steps.
        self.assertIn(done - err.count("(was there)"), (0, 1), err)
        self.assertEqual(len(self.json("s/sweep.json")["measurements"]), 6)
        self.check_hparams("s/cells", 6)

    def start_stalled(self, seconds):
        """A sweep in a session of its own whose first cell stalls in every step, and the process of that cell in its first
        one: a stall is busy, and what comes before takes less of a processor."""
        process = self.start("sweep", *SMALL, "--scenario", STALL, "-o", f"scenario.stall_ms={seconds}s", "--vary",
                             "train.lr=1e-3,1e-4", "--out", "s", start_new_session=True)
        until, begun_s, children = time.monotonic() + 60, None, []
        partial = self.path("s/cells/train.lr=1e-3/metrics.json.*.partial")
        while begun_s is None or self.busy_s(worker_of(children[0])) < begun_s + 1.5:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), until, "the first cell does not stall")
            time.sleep(0.02)
            if begun_s is None and glob.glob(partial):
                children = children_of(process.pid)
                begun_s = self.busy_s(worker_of(children[0]))
        return process, children[0]

    @staticmethod
    def busy_s(pid):
        """What its first thread has had of a processor."""
        with open(f"/proc/{pid}/task/{pid}/stat", encoding="utf-8") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")

    def wait_for_end(self, pid):
        until = time.monotonic() + 30
        while os.path.exists(f"/proc/{pid}"):
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                self.fail("a cell's run is left behind")
            time.sleep(0.02)
        with open(self.path("s/cells/train.lr=1e-3/log"), encoding="utf-8") as file:
            return file.read()

    def test_a_terminals_signal_comes_to_a_cell_once(self):
        process, child = self.start_stalled(5)
        os.kill(process.pid, signal.SIGSTOP) # so that the cell has taken its own, if any, when another is handed on
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGCONT)
        code, _, err = self.ended(process)
        self.assertEqual((code, self.errors(err)), (130, ["pdhost: error: interrupted; the same command goes on from here"]))
        self.assertNotIn("second signal", self.wait_for_end(child))
        self.assertEqual(glob.glob(self.path("s/**/*.partial"), recursive=True), [])
        self.assertEqual(self.json("s/cells/train.lr=1e-3/metrics.json")["outcome"], "interrupted")

    def test_a_second_signal_ends_the_cell_at_once_too(self):
        process, child = self.start_stalled(600)
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        os.killpg(process.pid, signal.SIGINT)
        code, _, err = self.ended(process, timeout=20)
        self.assertEqual(code, 130, err)
        self.assertIn("ended at once by a second signal", self.wait_for_end(child))

    def test_a_sweep_that_is_killed_leaves_no_run(self):
        process, child = self.start_stalled(5)
        process.kill()
        self.ended(process)
        self.assertNotIn("second signal", self.wait_for_end(child))
        self.assertEqual(glob.glob(self.path("s/**/*.partial"), recursive=True), [])
        self.assertEqual(self.json("s/cells/train.lr=1e-3/metrics.json")["outcome"], "interrupted")

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

    def test_a_cell_that_fails_is_left_out_and_said(self):
        code, out, err = self.run_pdhost("sweep", *BASE, "--vary", "data.num_workers=0,1", "--vary",
                                         "train.channels_last=false", "--vary", "run.device_index=0,9", "--out", "s")
        self.assertNotEqual(code, 0)
        self.assertEqual(err.count("failed with exit code"), 2, err)
        self.assertEqual(len(self.errors(err)), 2, err)
        self.assertIn("not measured", out)
        self.assertEqual(len(self.json("s/sweep.json")["measurements"]), 2)
        self.check_curves("s/curves.svg", points=2, series=2)

    def test_what_no_cell_can_do_ends_it(self):
        result = self.run_pdhost("sweep", *BASE, "-o", "run.device_index=9", "--vary", "data.num_workers=0,1,2", "--out", "s")
        self.assert_fails(result, 6, "pdhost: error: ")
        self.assertTrue(self.errors(result[2])[0].endswith("; 2 other cells are not run"), result[2])
        self.assertNotIn("/log: ", result[2])
        self.assertEqual(os.listdir(self.path("s/cells")), ["data.num_workers=0"])
        # What an earlier call measured is reported all the same.
        base = [*BASE, "-o", "run.device_index=9"]
        for workers in ("1", "3"):
            self.save_cell(base, [("data.num_workers", workers)], [10] * 96)
        code, out, err = self.run_pdhost("sweep", *base, "--vary", "data.num_workers=1,0,2,3", "--out", "s")
        self.assertEqual((code, err.count("(was there)"), len(self.errors(err))), (6, 2, 1), err)
        self.assertTrue(self.errors(err)[0].endswith("; 1 other cell is not run"), err)
        self.assertRegex(out, r"\n  1  #+ 10 ms\n  0  not measured\n  2  not measured\n  3  #+ 10 ms\n")
        # A log that cannot be written.
        cell = self.path("full/cells/data.num_workers=0")
        os.makedirs(cell)
        os.symlink("/dev/full", os.path.join(cell, "log"))
        code, _, err = self.run_pdhost("sweep", *BASE, "--vary", "data.num_workers=0,1,2", "--out", "full")
        self.assertEqual((code, err), (8, "pdhost: error: full/cells/data.num_workers=0/log: cannot be written: No space left "
                                       "on device [PDH-0800]\n"))

    def test_what_a_key_that_differs_decides_does_not_end_it(self):
        # Of two draws either may be the first.
        for more in (("--vary", "run.device_index=9,0"), ("--sample", "run.device_index=choice(0,9)", "--draws", "2")):
            for seed in ("0", "1", "2") if "--draws" in more else ("",):
                with self.subTest(more=more, seed=seed):
                    drawn = ("--draw-seed", seed) if seed else ()
                    code, out, err = self.run_pdhost("sweep", *BASE, *more, *drawn, "--out", "s" + seed)
                    self.assertEqual((code, len(self.errors(err))), (6, 1), err)
                    self.assertNotIn("not run", err)
                    (row,) = self.json(f"s{seed}/sweep.json")["measurements"]
                    self.assertEqual(row["options"]["run.device_index"], "0")

    def test_a_key_that_the_device_refuses_does_not_end_it(self):
        code, out, err = self.run_pdhost("sweep", *BASE, "--vary", "train.amp=true,false", "--out", "s")
        self.assertEqual((code, len(self.errors(err))), (3, 1), err)
        self.assertIn("[train] amp = true: ", self.errors(err)[0])
        self.assertEqual([row["sub_label"] for row in self.json("s/sweep.json")["measurements"]], ["train.amp=false"])

    def test_a_cell_without_a_block_is_left_out_and_said(self):
        # 16 workers make blocks of 16 steps, of 12. The cell behind it is measured all the same, and found again.
        for found_again in (0, 1):
            code, out, err = self.run_pdhost("sweep", *BASE, "--vary", "data.num_workers=16,1", "--out", "s")
            self.assertEqual(code, 5, err)
            self.assertIn("sweep 1/2 data.num_workers=16: left out", err)
            (message,) = self.errors(err)
            self.assertIn("s/cells/data.num_workers=16/metrics.json: fewer active steps than make a block", message)
            self.assertIn("raise [schedule] active", message)
            self.assertEqual(err.count("(was there)"), found_again, err)
            self.assertRegex(out, r"\n  16  not measured\n   1  #+ ")
            self.assertEqual([row["sub_label"] for row in self.json("s/sweep.json")["measurements"]], ["data.num_workers=1"])

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

    # ---- drawn keys ----

    def test_a_key_that_can_do_nothing_is_refused(self):
        control = [*SMALL, "--scenario", "control"]
        traced = ["-o", "profile.timer_only=false"]
        sweep = ["--vary", "train.lr=1e-3,1e-4"]
        for words, key, why in (
                ([*BASE, "--vary", "profile.with_stack=false,true"], "profile.with_stack", "add -o profile.timer_only=false"),
                ([*BASE, *sweep, "--with_stack"], "profile.with_stack", "add -o profile.timer_only=false"),
                ([*BASE, "--vary", "run.require_cupti=false,true"], "run.require_cupti", "add -o profile.timer_only=false"),
                ([*BASE, *traced, "--vary", "profile.step_info_every=1,2"], "profile.step_info_every", "the table sink's"),
                ([*BASE, "--vary", "benchmark.cold_cache=false,true"], "benchmark.cold_cache", "add -o run.mode=benchmark"),
                ([*BASE, "--vary", "data.resident_batches=1,2"], "data.resident_batches", "add -o data.resident=host or device"),
                ([*control, "--vary", "data.io_sleep_ms=0,9"], "data.io_sleep_ms", "add -o data.resident=none"),
                ([*BASE, "--vary", "run.trace_dir=a,b"], "run.trace_dir", "is set by the sweep"),
                ([*BASE, "--vary", "run.sinks=json,table"], "run.sinks", "is set by the sweep"),
                ([*BASE, "--vary", "sink.json.output_json=a,b"], "sink.json.output_json", "the sweep has sinks of its own"),
                ([*BASE, *sweep, "--output_json", "x"], "sink.json.output_json", "the sweep has sinks of its own"),
                ([*BASE, *sweep, "--wide"], "sink.table.wide", "the sweep has sinks of its own"),
                ([*control, *sweep, "-o", "benchmark.sub_label=x"], "benchmark.sub_label", "is set by the sweep")):
            found = self.run_pdhost("sweep", *words, watch=False)
            self.assert_fails(found, 2, f"sweep: {key}: ")
            self.assertIn(why, found[2])
        for key in ("profile.timer_only", "profile.with_stack", "schedule.active", "truth.interleave", "data.num_workers",
                    "run.sync_timing", "benchmark.label", "benchmark.callgrind"):
            self.assert_fails(self.run_pdhost("sweep", *control, "--mode", "benchmark", "--vary", f"{key}=1"), 2, f"sweep: {key}: ")
        # One cell in which it acts is enough.
        self.assert_fails(self.run_pdhost("sweep", *BASE, "--vary", "profile.with_stack=false,true", "--vary",
                                          "profile.timer_only=false,true", "--out", "/dev/null/x"), 8, "/dev/null")
        self.assert_fails(self.run_pdhost("sweep", *control, "--vary", "run.mode=train,benchmark", "--vary", "schedule.active=9",
                                          "--time", "step", "--out", "/dev/null/x"), 8, "/dev/null")

    def test_mistakes(self):
        for arguments, code, message in (
                ((), 2, "nothing is varied"),
                (("--vary", "num_workers=1"), 2, "--vary num_workers=1: write section.key=VALUE"),
                (("--vary", "data.num_workers="), 2, "a value is empty"),
                (("--vary", "data.num_workers=1,,2"), 2, "a value is empty"),
                (("--vary", "data.num_workers=1,1"), 2, "1 stands there twice"),
                (("--vary", "data.num_workers=1", "--vary", "data.num_workers=2"), 2, "is varied already"),
                (("--vary", "data.batch_size=1,2"), 2, "data.batch_size is varied and given too"),
                (("--vary", "data.num_workers=0,many"), 3, "num_workers = many"),
                (("--vary", "data.workers=0"), 3, "[data] workers"),
                (("--vary", "data.num_workers=0", "--trace_dir", "x"), 2, "run.trace_dir: is set by the sweep"),
                (("--vary", "data.num_workers=0", "-o", "run.sinks=table"), 2, "run.sinks: is set by the sweep"),
                (("--vary", "data.num_workers=0", "--list"), 2, "only options of a run"),
                (("--vary", "data.num_workers=0", "--time", "all"), 2, "--time all: not allowed"),
                (("--vary", "run.seed=" + ",".join(map(str, range(100))), "--vary",
                  "data.num_workers=" + ",".join(map(str, range(100)))), 2, "10000 cells are more than"),
                (("--vary", "data.num_workers=0", "--out", "/dev/null/x"), 8, "/dev/null"),
                (("data.num_workers=0",), 2, "nothing is varied"),
                (("--vary", "data.num_workers=0", "word"), 2, "unexpected argument 'word'")):
            self.assert_fails(self.run_pdhost("sweep", *BASE, *arguments), code, message)
        code, out, err = self.run_pdhost("sweep", "--help")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("usage: pdhost sweep", out)


if __name__ == "__main__":
    unittest.main()

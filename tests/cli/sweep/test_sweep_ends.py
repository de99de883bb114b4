"""pdhost sweep: interrupted and gone on, cells that fail, keys that do nothing, mistakes."""
import glob
import os
import signal
import time
import unittest

from pdhost_run import SMALL, children_of, worker_of
from sweep_case import STALL, BASE, SweepCase


class SweepEnds(SweepCase):
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
        time.sleep(1.5)  # within half a second of when the first was heard, it is no second one
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
        # Either of two draws may be the first.
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
                (("--vary", "data.num_workers=1,1"), 2, "1 is given twice"),
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

#!/usr/bin/env python3
"""pdhost top: a run that is under way, seen from another process. What it computes is tested on a made-up board
(test_top_view.c); here, that it finds the run."""
import os
import signal
import time
import unittest

from pdhost_run import SMALL, Case, worker_of


class Top(Case):
    def look(self, *words):
        return self.run_pdhost("top", "--once", *words, watch=False)

    def until_it_steps(self, *words):
        """What top prints as soon as the run has done a step."""
        until = time.monotonic() + 60
        while True:
            code, out, err = self.look(*words)
            if code == 0 and "Device memory" in out:
                return out
            self.assertLess(time.monotonic(), until, (code, out, err))
            time.sleep(0.05)

    def test_a_run_under_way(self):
        run = self.start(*SMALL, "--scenario", "control", "-o", "schedule.wait=100000000", "--trace_dir", "run")
        for pid in (run.pid, worker_of(run.pid)):
            out = self.until_it_steps(str(pid))
            self.assertRegex(out, rf"^pdhost {pid}: .*\n\nSteps done +[1-9]\d*, the last one not recorded\n")
            self.assertLessEqual(max(map(len, out.splitlines()[1:])), 80, out)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=110)
        self.assert_fails(self.look(str(run.pid)), 2, f"top: process {run.pid}: there is no run in it")

    def test_its_folder(self):
        run = self.start(*SMALL, "--scenario", "control", "-o", "schedule.wait=100000000", watch=False)
        self.until_it_steps(str(run.pid))
        until = time.monotonic() + 60
        folder = self.path(os.path.join("results", "control"))
        while not os.path.isdir(folder) or not [name for name in os.listdir(folder) if name.endswith(f"-{run.pid}")]:
            self.assertLess(time.monotonic(), until, "the run has no folder")
            time.sleep(0.05)
        (name,) = [name for name in os.listdir(folder) if name.endswith(f"-{run.pid}")]
        self.assertIn(f"pdhost {run.pid}: ", self.until_it_steps(os.path.join(folder, name)))
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=110)

    def test_mistakes(self):
        self.assert_fails(self.look("nothing"), 2, "top: nothing: neither the number of a process nor the folder of a run")
        self.assert_fails(self.look(str(os.getpid())), 2, f"top: process {os.getpid()}: there is no run in it")
        self.assert_fails(self.look("1", "2"), 2, "top: expected one run, got '1' and '2'")


if __name__ == "__main__":
    unittest.main()

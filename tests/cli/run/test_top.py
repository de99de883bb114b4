#!/usr/bin/env python3
"""pdhost top: a run or a recording that is under way, seen from another process. What it computes is tested on made-up
figures (test_top_view.c, test_record_live.c); here, that it finds what there is."""
import os
import pty
import re
import signal
import subprocess
import time
import unittest

from pdhost_run import PDHOST, SMALL, Case, worker_of
from record_case import PROGRAM, Record


def watch(pid, seconds):
    """Runs top on a terminal for so long: its exit status, and the share of a core that it took, its start included."""
    master, slave = pty.openpty()
    began = time.monotonic()
    top = subprocess.Popen([PDHOST, "top", str(pid)], stdout=slave, stdin=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    while time.monotonic() < began + seconds:
        os.read(master, 65536)
    took = time.monotonic() - began
    top.send_signal(signal.SIGINT)
    _, status, use = os.wait4(top.pid, 0)
    os.close(master)
    return status, (use.ru_utime + use.ru_stime) / took


def processor_s(pid):
    """What a process has used of the processors."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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

    def test_the_device_of_an_open_window(self):
        run = self.start(*SMALL, "--scenario", "control", "-o", "schedule.wait=0", "-o", "schedule.active=100000",
                         "-o", "data.dataset_size=4000000", watch=False)
        until = time.monotonic() + 60
        out = ""
        while not re.search(r"  kernels +[1-9]", out):
            self.assertLess(time.monotonic(), until, out)
            _, out, _ = self.look(str(run.pid))
        shares = dict(re.findall(r"^  (kernels|copies|sets|idle) +([\d.]+) %$", out, re.M))
        self.assertAlmostEqual(sum(map(float, shares.values())), 100, delta=0.3)
        self.assertRegex(out, r"\nThe device +the second up to its newest record, [\d.]+ (us|ms|s) ago\n")
        self.assertRegex(out, r"  waiting +[\d.]+ %\n  memory +[\d.]+ %\nLost +nothing\n$")
        self.assertLessEqual(max(map(len, out.splitlines()[1:])), 80, out)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=110)

    def cost(self, run, worker):
        """The processor time that a step takes the run while top looks, to that without, and top's share of a core."""
        per_step = []
        for look in (True, False):
            used, done = processor_s(worker), self.steps_done(run.pid)
            if look:
                status, share = watch(run.pid, 6)
                self.assertEqual(status, 0)
            else:
                time.sleep(6)
            per_step.append((processor_s(worker) - used) / (self.steps_done(run.pid) - done))
        return per_step[0] / per_step[1], share

    def steps_done(self, pid):
        return int(re.search(r"Steps done +(\d+)", self.look(str(pid))[1]).group(1))

    def test_looking_takes_little(self):
        """At most 1 % of a core, and the run's steps do not get dearer: by at most 3 % in one of six turns, since other programs of
        the machine move them, too."""
        run = self.start(*SMALL, "--scenario", "control", "-o", "schedule.wait=0", "-o", "schedule.active=100000000",
                         "-o", "data.dataset_size=100000000", watch=False)
        self.until_it_steps(str(run.pid))
        turns = []
        while len(turns) < 6 and (not turns or turns[-1][0] > 1.03):
            turns.append(self.cost(run, worker_of(run.pid)))
        self.assertLess(min(share for _, share in turns), 0.01, turns)
        self.assertLessEqual(min(ratio for ratio, _ in turns), 1.03, turns)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=110)

    def test_no_window_is_open(self):
        run = self.start(*SMALL, "--scenario", "control", "-o", "schedule.wait=100000000", watch=False)
        self.assertRegex(self.until_it_steps(str(run.pid)), r"\nThe device +not recorded now\nLost +nothing\n$")
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=110)

    def test_a_run_that_begins_says_what_it_does(self):
        run = self.start(*SMALL, "--scenario", "control", "-o", "data.dataset_size=100000000", watch=False)
        until = time.monotonic() + 60
        out = ""
        while not re.search(r"^Steps done +0\nUnder way +(setting up|warming up|beginning with the data), for [\d.]+ (us|ms|s)\n"
                            r"The last second +no step ended\n", out, re.M):
            self.assertLess(time.monotonic(), until, out)
            self.assertIsNone(run.poll(), out)
            _, out, _ = self.look(str(run.pid))
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=110)

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


class TopRecording(Record):
    """The played GPU works for some nanoseconds of each step, and is idle for the rest."""
    def recording(self, *words, options=()):
        process = self.start("record", *options, "--", PROGRAM, "init", "pid", *words, watch=False)
        self.addCleanup(self.end, process)
        return process, int(process.stdout.readline())

    def look(self, *words):
        return self.run_pdhost("top", "--once", *words, watch=False)

    def until(self, pid, words):
        until = time.monotonic() + 60
        while True:
            code, out, err = self.look(str(pid))
            if code == 0 and re.search(words, out):
                return out
            self.assertLess(time.monotonic(), until, (code, out, err))
            time.sleep(0.1)

    def end(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)

    def test_a_program_under_way(self):
        process, pid = self.recording("until_stopped")
        for asked in (process.pid, pid):
            out = self.until(asked, r"(?s)GPUs at work +1\n.*launching +(?!0\.0)\d")
            self.assertRegex(out, rf"^pdhost {process.pid}: .*\n\nThe recording +going on, 1 process\nFirst call +\d")
            self.assertRegex(out, r"A second +[1-9]\d* launches\nGPUs at work +1\n")
            shares = dict(re.findall(r"^  (kernels|copies|sets|idle) +([\d.]+) %$", out, re.M))
            self.assertAlmostEqual(sum(map(float, shares.values())), 100, delta=0.3)
            self.assertRegex(out, r"Lost +nothing\n$")
            self.assertLessEqual(max(map(len, out.splitlines()[1:])), 80, out)
        self.end(process)
        self.assert_fails(self.look(str(process.pid)), 2, f"top: process {process.pid}: there is no run in it")

    def test_marked_steps_have_a_time(self):
        process, pid = self.recording("marked=3000")
        out = self.until(pid, r"  a step +\d")
        self.assertNotIn("the last one", out)
        milliseconds = float(re.search(r"  a step +([\d.]+) ms", out).group(1))
        self.assertGreater(milliseconds, 2.3, "2 ms for the input, 0.3 ms for the work")
        self.end(process)

    def test_a_pause_is_said(self):
        process, pid = self.recording("steps=50", "settle", "pid", "sleep=60000")
        process.stdout.readline()
        self.assertEqual(self.run_pdhost("pause", str(process.pid), watch=False)[0], 0)
        self.until(pid, "The recording +paused")
        out = self.until(pid, "GPUs at work +none")
        self.assertRegex(out, r"Launches +200 in all")
        self.assertNotIn("idle", out)
        self.end(process)

    def test_looking_takes_little(self):
        """At most 1 % of a core, its start included."""
        process, pid = self.recording("until_stopped")
        self.until(pid, r"A second +[1-9]")
        status, share = watch(pid, 8)
        self.assertEqual(status, 0)
        self.assertLess(share, 0.01)
        self.end(process)


if __name__ == "__main__":
    unittest.main()

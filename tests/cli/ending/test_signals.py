"""Signals: they end a run in order, its outputs closed and marked."""
import fcntl
import glob
import os
import re
import shutil
import signal
import struct
import termios
import time
import unittest

from pdhost_run import FIXTURES, SMALL, Case

FAULT_SCENARIO = os.path.join(FIXTURES, "scenario", "fault.so")
FAULT_SINK = os.path.join(FIXTURES, "sink", "fault.so")
JSON = "json:output_json=metrics.json"
ENDLESS = ["-o", "schedule.repeat=0", "-o", "schedule.wait=0", "-o", "schedule.warmup=1", "-o", "schedule.active=2"]


class Signals(Case):
    def wait_for_first_window(self, process):
        deadline = time.monotonic() + 60
        while not glob.glob(self.path("traces/*.pt.trace.json")):
            self.assertIsNone(process.poll(), "pdhost ended by itself")
            self.assertLess(time.monotonic(), deadline, "no window was written")
            time.sleep(0.02)

    def test_signals_close_the_outputs(self):
        for number, name in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
            with self.subTest(signal=name):
                process = self.start("--device", "cpu", "--batch_size", "4", "--image_size", "16", "--num_workers", "1",
                                     "-o", "data.cpu_work=10", "-o", "data.io_sleep_ms=0", "--scenario", "control",
                                     *ENDLESS, "--sink", JSON, "--sink", "chrome_trace", "--sink", "csv:dir=csv",
                                     "--trace_dir", "traces")
                self.wait_for_first_window(process)
                process.send_signal(number)
                code, _, err = self.ended(process, timeout=60)
                self.assertEqual(code, 128 + number, err)
                metrics = self.json("metrics.json")
                self.assertEqual(metrics["outcome"], "interrupted")
                self.assertGreater(len(metrics["losses"]), 0)
                with open(self.path("csv/run.csv"), encoding="utf-8") as file:
                    self.assertTrue(file.read().splitlines()[1].startswith(f"interrupted,{name},"))
                self.assertEqual(glob.glob(self.path("**/*.partial"), recursive=True), [])
                shutil.rmtree(self.path("traces"))

    def test_a_signal_while_the_sinks_are_opened(self):
        def run(number, **options):
            return self.run_small("--scenario", "control", "--sink", "csv:dir=csv", "--sink",
                                  f"{FAULT_SINK}:signal_number={int(number)}", "--sink", JSON, **options)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number.name):
                code, _, err = run(number)
                self.assertEqual((code, self.errors(err)), (128 + number, []), err)
                self.assertIn(f"pdhost: {number.name}: the run ends after 0 steps; its outputs are closed and marked\n", err)
                self.assertEqual(glob.glob(self.path("**/*.partial"), recursive=True), [])
                metrics = self.json("metrics.json")
                self.assertEqual((metrics["outcome"], metrics["losses"]), ("interrupted", []))
                shutil.rmtree(self.path("csv"))
        code, _, err = run(signal.SIGHUP, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) # as nohup does
        self.assertEqual((code, self.json("metrics.json")["outcome"]), (0, "complete"), err)

    def stalled_check(self, process):
        """The check that is seen twice, since others end meanwhile: its process, and its folder."""
        seen, until = None, time.monotonic() + 90
        while True:
            self.assertIsNone(process.poll())
            self.assertLess(time.monotonic(), until, "no check stalls")
            with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
                children = file.read().split()
            try:
                found = (children[0], os.readlink(f"/proc/{children[0]}/cwd")) if children else None
            except FileNotFoundError: # it ended
                found = None
            if found and found == seen and found[1].startswith("/tmp/pdhost-check-"):
                return found
            seen = found
            time.sleep(2)

    def test_a_signal_ends_the_conformance_checks(self):
        """With the check that is at work, and its folder."""
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                process = self.start("--check-plugin", os.path.join(FIXTURES, "scenario/host_stall.so"), "-o",
                                     "scenario.stall_ms=40000")
                child, place = self.stalled_check(process)
                process.send_signal(number)
                code, _, err = self.ended(process, timeout=20)
                self.assertEqual(code, 128 + number, err)
                self.assertRegex(err, f"^pdhost: error: --check-plugin: {number.name}: ended after \\d+ checks\n$")
                self.assertFalse(os.path.exists(place), place)
                self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_a_signal_inside_a_window_marks_its_trace_partial(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                code, _, err = self.run_small("--scenario", FAULT_SCENARIO, "-o", "scenario.signal_step=4", "-o",
                                              f"scenario.signal_number={int(number)}", *ENDLESS, "--sink", JSON, "--sink",
                                              "chrome_trace", "--trace_dir", f"traces_{number.name}")
                self.assertEqual(code, 128 + number, err)
                traces = sorted(glob.glob(self.path(f"traces_{number.name}/*.pt.trace.json")))
                self.assertEqual([self.json(path)["pdhost"].get("partial", 0) for path in traces], [0, 1])
                self.assertEqual(len(self.json("metrics.json")["losses"]), 5)

    def test_a_second_signal_ends_the_run_at_once_and_says_so(self):
        """While its last output is written into a pipe that is full."""
        os.mkfifo(self.path("pipe"))
        reader = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        room = fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        process = self.start(*SMALL, "--scenario", "control", "--sink", "json:output_json=pipe", watch=False)
        held, deadline = 0, time.monotonic() + 60
        while held < room:
            self.assertIsNone(process.poll(), "pdhost ended by itself")
            self.assertLess(time.monotonic(), deadline, "nothing was written")
            time.sleep(0.02)
            held = struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, bytes(4)))[0]
        for number in (signal.SIGINT, signal.SIGTERM):
            self.assertIsNone(process.poll())
            process.send_signal(number)
            self.wait_until_taken(process) # else both wait, and the later one may be handled first
        code, _, err = self.ended(process, timeout=20)
        self.assertEqual(code, 143, err)
        self.assertEqual(err.splitlines()[-1:],
                         ["pdhost: ended at once by a second signal; outputs may be missing or incomplete"])

    def wait_until_taken(self, process):
        """No signal waits for the process any more, and its handler had the time to run; or it has ended."""
        until = time.monotonic() + 20
        while process.poll() is None:
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                waiting = re.findall(r"^(?:SigPnd|ShdPnd):\t([0-9a-f]+)$", file.read(), re.MULTILINE)
            if not any(int(mask, 16) for mask in waiting):
                time.sleep(0.1)
                return
            self.assertLess(time.monotonic(), until, "a signal is not taken")
            time.sleep(0.01)

    def test_a_signal_while_the_loader_sleeps_ends_it_soon(self):
        process = self.start("--device", "cpu", "--batch_size", "4", "--image_size", "16", "--scenario", "dataloader",
                             "-o", "data.io_sleep_ms=20s", "--sink", JSON)
        for line in process.stderr:
            if line.startswith("pdhost 1"):
                break
        process.send_signal(signal.SIGINT)
        code, _, err = self.ended(process, timeout=10) # less than the loader's sleep
        self.assertEqual(code, 130, err)


if __name__ == "__main__":
    unittest.main()

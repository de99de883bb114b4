"""The progress line on a terminal, its objects in a pipe, and silence elsewhere."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import time
import unittest

from made_nsys import MadeNsys
from made_trace import MadeTrace
from pdhost_run import PDHOST, SMALL, Case

# Some 100 steps of 20 to 40 ms, which a machine that is busy makes longer, not shorter.
SLOW = [*SMALL, "--scenario", "dataloader", "-o", "data.cpu_work=0", "-o", "data.io_sleep_ms=5", "-o", "data.num_workers=1"]
LINE = re.compile(r"\r\x1b\[K((?!pdhost)[^\r\n\x1b]+)")
STEP = re.compile(r"^(\w+): ([\w ]+): (\w+) (\d+)(?: of (\d+))?")


class ProgressCase(Case):
    def on_tty(self, *arguments, columns=80, later=None):
        """What standard error shows where it is a terminal; `later`: its columns after a second."""
        master, slave = pty.openpty()
        resize = lambda wide: fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, wide, 0, 0))
        resize(columns)
        child = subprocess.Popen([PDHOST, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=slave, env=dict(os.environ, TERM="xterm"))
        self.addCleanup(self.leave_none, child)
        os.close(slave)
        seen, due = b"", time.monotonic() + 1
        try:
            while piece := os.read(master, 65536):
                seen += piece
                if later and time.monotonic() > due:
                    resize(later)
                    seen += b"\nRESIZED\n"
                    later = None
        except OSError:
            pass # the other end is gone
        os.close(master)
        self.assertEqual(child.wait(timeout=60), 0, seen)
        return seen.decode()

    def steps(self, text, phase):
        """(step, of) of each line of a phase."""
        found = [STEP.match(line) for line in LINE.findall(text)]
        return [(int(at.group(4)), int(at.group(5) or 0)) for at in found if at and at.group(2) == phase]

    def objects(self, text):
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Progress(ProgressCase):
    def test_the_time_of_a_phase_is_known_before_its_first_step(self):
        """From the phase before: a window whose first step does not come soon."""
        code, _, err = self.run_pdhost(*SLOW, "--warmup_steps", "10", "-o", "schedule.wait=0", "-o", "schedule.warmup=0",
                                       "--progress=json")
        self.assertEqual(code, 0, err)
        begun = [at for at in self.objects(err) if at["event"] == "begin" and at["phase"] == "recording"]
        self.assertEqual(len(begun), 1)
        if begun[0]["step"] == 0 and begun[0]["seconds"] > 0: # else the phase was over before it was told
            self.assertGreater(begun[0]["seconds_left"], 0)

    def test_messages_do_not_end_in_the_line(self):
        """What is said meanwhile begins a line of its own."""
        seen = self.on_tty(*SLOW, "--profile_steps", "40", "--sink", "csv", "-o", "data.io_spread=0", "-v")
        for line in seen.replace("\r\x1b[K", "\n").splitlines():
            self.assertNotRegex(line, r"\d of \d.*pdhost")

    def test_objects(self):
        code, out, err = self.run_pdhost(*SLOW, "--warmup_steps", "3", "--profile_steps", "50", "--sink", "csv", "--progress=json")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.objects(out), [])
        told = self.objects(err)
        for at in told:
            self.assertEqual(list(at), ["task", "phase", "event", "unit", "step", "of", "rate", "seconds", "seconds_left",
                                        "at_most", "doing", "note"])
            self.assertEqual(at["task"], "dataloader")
            self.assertIn(at["event"], ("begin", "run", "end"))
        phases = []
        for at in told:
            if at["event"] == "begin":
                phases.append(at["phase"])
            self.assertEqual(at["phase"], phases[-1])
        self.assertEqual(phases, ["setting up", "warming up", "not recording", "warming the profiler up", "recording",
                                  "writing what was recorded", "writing the results"])
        ends = {at["phase"]: at for at in told if at["event"] == "end"}
        self.assertEqual(list(ends), phases)
        self.assertEqual((ends["warming up"]["step"], ends["recording"]["step"], ends["recording"]["of"]), (3, 50, 50))
        recorded = [at for at in told if at["phase"] == "recording"]
        self.assertGreaterEqual(len([at for at in recorded if at["event"] == "run"]), 1)
        self.assertGreater(ends["recording"]["rate"], 0)

    def test_a_trace_is_read_by_its_bytes(self):
        """Compressed ones where it is compressed; how many there are in a pipe is not known."""
        for name in ("made.json", "made.json.gz"):
            MadeTrace(steps=2000).write(self.path(name))
        sizes = {name: os.path.getsize(self.path(name)) for name in ("made.json", "made.json.gz")}
        for command, phase in (("analyze", "reading"), ("check", "checking")):
            for name, size in sizes.items():
                told = self.objects(self.run_pdhost(command, name, "--progress=json", watch=False)[2])
                end = [at for at in told if (at["phase"], at["event"]) == (phase, "end")][0]
                self.assertEqual((end["unit"], end["step"], end["of"]), ("byte", size, size))
                self.assertGreater(end["rate"], 0)
        told = self.objects(self.run_pdhost("analyze", "-", "--progress=json", watch=False,
                                            under=("sh", "-c", 'cat made.json | "$0" "$@"'))[2])
        end = [at for at in told if (at["phase"], at["event"]) == ("reading", "end")][0]
        self.assertEqual((end["unit"], end["step"], end["of"]), ("byte", sizes["made.json"], None))
        self.assertEqual(self.run_pdhost("analyze", "made.json", watch=False)[2], "", "quiet in a pipe")

    def test_an_export_is_read_by_its_pages(self):
        """Each process of it is a window, which is read from the whole file."""
        made = MadeNsys(self.path("made.sqlite"))
        for pid in (7, 8):
            made.pid = pid
            made.take(MadeTrace(steps=20))
        made.file.execute("INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, text) WITH RECURSIVE numbers(i) AS (SELECT 1 "
                          "UNION ALL SELECT i + 1 FROM numbers WHERE i < 1000000) SELECT 1000 * i, 1000 * i + 10, 59, ?, 'work' "
                          "FROM numbers", (made.thread(),))
        size = os.path.getsize(made.write())
        told = self.objects(self.run_pdhost("analyze", "made.sqlite", "--progress=json", watch=False)[2])
        reading = [at for at in told if at["phase"] == "reading"]
        self.assertEqual({(at["unit"], at["of"]) for at in reading}, {("byte", size)})
        self.assertEqual([at["step"] for at in reading if at["event"] == "end"][:2], [size // 2, size])
        steps = [at["step"] for at in reading if at["step"]]
        self.assertEqual(steps, sorted(steps))
        self.assertTrue([step for step in steps if size // 2 < step < size], "not only when a window is read")

    def test_silence(self):
        run = [*SLOW, "--profile_steps", "20", "--sink", "csv"]
        code, _, err = self.run_pdhost(*run)
        self.assertEqual(code, 0, err)
        self.assertNotIn("recording", err)
        self.assertNotIn("\x1b", err)
        self.assertNotIn("recording", self.on_tty(*run, "--progress=never"))
        said = re.sub(r"\x1b\[[\d;]*m", "", self.on_tty(*run, "-q")).splitlines()
        self.assertEqual([line for line in said if not line.startswith("pdhost: warn: other programs kept ")], [])
        self.assertLessEqual(len(said), 1)

    def test_lines_where_there_is_no_terminal(self):
        code, _, err = self.run_pdhost(*SLOW, "--profile_steps", "60", "--sink", "csv", "--progress=always")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"(?m)^pdhost: dataloader: recording: step \d+ of 60, ")
        self.assertNotIn("\x1b", err)

    def test_a_mode_that_is_none(self):
        self.assert_fails(self.run_small("--scenario", "control", "--progress=loud"), 2,
                          "--progress loud: not allowed; allowed: auto, always, never, json")


class Timing(ProgressCase):
    """How often the line moves, which a machine that does something else changes."""

    def test_every_phase_moves_the_line(self):
        seen = self.on_tty(*SLOW, "--warmup_steps", "40", "--profile_steps", "60", "--sink", "csv")
        for phase, of in (("warming up", 40), ("recording", 60)):
            shown = self.steps(seen, phase)
            self.assertEqual({whole for _, whole in shown}, {of}, seen)
            steps = [step for step, _ in shown]
            self.assertGreaterEqual(len(set(steps)), 3, seen)
            self.assertEqual(steps, sorted(steps))
        self.assertRegex(seen, r"recording: step \d+ of 60, [\d.]+(/s| s each), [\d.]+ s left")
        last = LINE.findall(seen)[-1]
        self.assertIn("\r\x1b[K", seen[seen.rindex(last):], "the line stays")

    def test_a_benchmark_moves_the_line(self):
        seen = self.on_tty(*SMALL, "--scenario", "control", "--mode", "benchmark", "-o", "benchmark.min_run_time=1",
                           "-o", "benchmark.output=")
        self.assertGreaterEqual(len(set(self.steps(seen, "measuring"))), 3, seen)
        self.assertRegex(seen, r"measuring: step \d+, \S+/s, at most [\d.]+ s left")

    def test_ab_moves_the_line(self):
        seen = self.on_tty("ab", *SMALL, "--scenario", "control", "--max-time", "2", "data.image_size=16", "data.image_size=18")
        self.assertGreaterEqual(len(set(self.steps(seen, "measuring"))), 3, seen)
        self.assertRegex(seen, r"at most [\d.]+ s left; \d+ rounds")

    def test_a_sweep_tells_its_cells(self):
        seen = self.on_tty("sweep", *SLOW, "--vary", "data.io_spread=0.1,0.2,0.3", "--format", "none", columns=200)
        cells = [int(cell) for cell in re.findall(r"sweep: running: cell (\d) of 3, ", seen)]
        self.assertGreaterEqual(len(set(cells)), 1, seen)
        self.assertIn("; data.io_spread=0.2", seen)
        self.assertEqual(len(re.findall(r"^pdhost: sweep \d/3 data.io_spread=0.\d: ", seen.replace("\r\x1b[K", "\n"), re.MULTILINE)), 3, seen)

    def test_making_resident_batches_is_named(self):
        seen = self.on_tty(*SMALL, "--scenario", "control", "-o", "data.resident=host", "-o", "data.io_sleep_ms=120", columns=200)
        self.assertRegex(seen, r"control: setting up(, \S+ s)?: making 4 resident batches, [0-3] done")

    def test_a_line_is_cut_to_the_terminal(self):
        seen = self.on_tty(*SLOW, "--profile_steps", "100", "--sink", "csv", columns=60, later=30)
        before, after = seen.split("\nRESIZED\n")
        self.assertGreater(max(map(len, LINE.findall(before))), 30)
        self.assertLessEqual(max(map(len, LINE.findall(before))), 59)
        self.assertLessEqual(max(map(len, LINE.findall(after)[1:])), 29) # one may have been on its way
        self.assertRegex(after, r"\x1b\[1A\r\x1b\[J", "the line that the terminal broke stays")


if __name__ == "__main__":
    unittest.main()

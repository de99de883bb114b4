"""pdhost record: what the host did while the device was idle, by context switches and by /proc alone."""
import contextlib
import json
import os
import subprocess
import sys
import unittest

from html_page import timeline_of
from pdhost_run import FIXTURES
from record_case import CUPTI, PROGRAM, TORCH, PythonRecord, Record

STARVING = os.path.join(FIXTURES, "starving_program")
WAIT_MS, STEPS = 12, 30
WAYS = ("switches", "proc")


def tables(figures):
    return figures["windows"][0]["tables"]


class Host(Record):
    def starve(self, how, way, *options):
        """The verdict's row, and the share of the device's idle time by state."""
        code, _, err, figures = self.record(options=("--host-samples", way, *options),
                                            command=(STARVING, how, str(WAIT_MS), str(STEPS)))
        self.assertEqual(code, 0, err)
        self.assertIsNotNone(figures, err)
        found = tables(figures)
        rows = found["idle_reasons"]["rows"] if "idle_reasons" in found else []
        times = {row["idle_state"]: 0 for row in rows}
        for row in rows:
            times[row["idle_state"]] += row["idle_time"]
        self.words = {row["idle_state"]: row["idle_reason"] for row in rows}
        self.steps = len(figures["step_rows"])
        self.found = found
        return found["verdict"]["rows"][0], times

    def assert_blocked(self, how, state, words, is_input):
        for way in WAYS:
            with self.subTest(how=how, way=way):
                verdict, times = self.starve(how, way)
                whole = sum(times.values())
                # On a machine with other work some looks come late: /proc alone then says that it did not see.
                seen = whole - times.get("unknown", 0)
                self.assertGreater(seen, 0.5 * whole if way == "switches" else 0.2 * whole, times)
                self.assertGreater(times[state], 0.7 * seen, times)
                self.assertGreater(whole / self.steps, 0.9e6 * WAIT_MS)
                if way == "switches":
                    self.assertGreater(times[state] / self.steps, 0.9e6 * WAIT_MS)
                self.assertEqual(self.words[state], words)
                if seen > 0.55 * whole:
                    self.assertIn(f"while the device was idle the launching thread was {words} for ",
                                  verdict["verdict_evidence"])
                if seen > 0.9 * whole:
                    self.assertEqual(verdict["verdict_cause"], "input_bound" if is_input else "host_compute")

    def test_a_read_is_input(self):
        self.assert_blocked("read", "read", "blocked in read() of a pipe", True)

    def test_a_poll_is_input(self):
        self.assert_blocked("poll", "poll", "blocked in poll()", True)

    def test_a_thread_that_computes_nothing_is_input(self):
        self.assert_blocked("futex", "futex", "blocked in futex()", True)

    def test_a_thread_that_computes_is_none(self):
        self.assert_blocked("crowd", "futex", "blocked in futex()", False)

    def test_sleep_is_no_input(self):
        self.assert_blocked("sleep", "sleep", "asleep, as it asked by clock_nanosleep()", False)

    def test_computing(self):
        """Beside other work it waits for a processor, too."""
        for way in WAYS:
            with self.subTest(way=way):
                verdict, times = self.starve("burn", way)
                seen = sum(times.values()) - times.get("unknown", 0)
                self.assertGreater(times["runs"] + times.get("delayed", 0), 0.8 * seen, times)
                self.assertGreater(times["runs"], 0, times)
                self.assertEqual(verdict["verdict_cause"], "host_compute")

    def test_states_are_rows_of_the_timelines(self):
        """The same stretches on a track of the Chrome trace and in a lane of the page; none over another."""
        self.starve("read", "proc", "--sink", f"html:path={self.path('page.html')}", "--sink",
                    f"chrome_trace:path={self.path('trace.json')}")
        with open(self.path("trace.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        states = sorted((event for event in events if event.get("cat") == "host_state"), key=lambda event: event["ts"])
        tracks = {event["tid"] for event in states}
        self.assertEqual(len(tracks), 1)
        named = [event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name" and
                 event["tid"] in tracks]
        self.assertEqual(len(named), 1)
        self.assertRegex(named[0], r"^what thread \d+ \(.*\) was at$")
        for one, after in zip(states, states[1:]):
            self.assertLessEqual(one["ts"] + one["dur"], after["ts"] + 0.002)
        reads = [event for event in states if event["name"] == "blocked in read() of a pipe"]
        self.assertGreater(len(reads), STEPS // 3)
        self.assertGreater(sum(event["dur"] for event in reads) / len(reads), 200 * WAIT_MS)
        with open(self.path("page.html"), encoding="utf-8") as file:
            head, rows = timeline_of(file.read())
        shown = [event for row in rows for event in row if event["kind"] == "state of the thread"]
        self.assertEqual([lane.get("states") for lane in head["lanes"]].count(True), 1)
        self.assertEqual({head["lanes"][event["lane"]].get("states") for event in shown}, {True})
        self.assertEqual([(event["name"], event["end"] - event["start"]) for event in shown],
                         [(event["name"], round(1000 * event["dur"])) for event in states])

    def test_children(self):
        for way in WAYS:
            with self.subTest(way=way):
                verdict, times = self.starve("child", way)
                rows = self.found["children"]["rows"]
                self.assertEqual(len(rows), 1)
                self.assertRegex(rows[0]["child"], r"^starving_progra \(\d+\)$")
                self.assertGreater(rows[0]["child_processors"], 5)
                self.assertLess(rows[0]["child_processors"], 105)
                if times.get("unknown", 0) < 0.1 * sum(times.values()):
                    self.assertEqual(verdict["verdict_cause"], "input_bound")
                    self.assertIn("its 1 child process used 0.", verdict["verdict_evidence"])

    def test_nothing_is_said_where_nobody_looked(self):
        verdict, times = self.starve("read", "none")
        self.assertEqual(times, {})
        self.assertNotIn("children", self.found)
        self.assertNotIn("launching thread", verdict["verdict_evidence"])
        self.assertEqual(verdict["verdict_cause"], "host_compute")

    def test_the_last_seconds_have_it_too(self):
        _, times = self.starve("read", "auto", "--last", "20s")
        self.assertGreater(times["read"], 0.5 * sum(times.values()))

    def test_the_option(self):
        code, _, err = self.run_pdhost("record", "--host-samples", "bpf", "--", PROGRAM, watch=False)
        self.assertEqual(code, 2)
        self.assertIn("auto, switches, proc, none", err)


# What the thread that trains does between two steps, in code of its own. Calls are recorded once there were kernels
# without any (test_record.py: a CUPTI that wants whole kinds).
TRAIN = TORCH["train.py"].replace("launch()\ntime.sleep(1)\n", """
for _ in range(200): launch()
time.sleep(1.5)
launch()
time.sleep(1)
import json
def prepare():
    until = time.monotonic() + 0.03
    while time.monotonic() < until: json.loads("[" + "1, " * 20000 + "1]")
""").replace("for batch in torch.DataLoader(30):\n", "for batch in torch.DataLoader(30):\n    prepare()\n")


class Code(PythonRecord):
    files = {**TORCH, "train.py": TRAIN}

    def setUp(self):
        super().setUp()
        self.command = (sys.executable, "train.py", CUPTI)
        self.env = {"PYTHONPATH": self.path(".")}

    def test_a_line_of_the_programs_own(self):
        code, _, err, figures = self.record(command=self.command, options=("--torch",), env=self.env)
        self.assertEqual(code, 0, err)
        rows = tables(figures)["idle_code"]["rows"]
        line = 1 + TRAIN[:TRAIN.index("json.loads")].count("\n")
        self.assertEqual(rows[0]["code_place"], f"train.py:{line} (prepare)")
        self.assertGreater(rows[0]["code_share"], 50)
        evidence = tables(figures)["verdict"]["rows"][0]["verdict_evidence"]
        self.assertIn(f"with its Python code at train.py:{line} (prepare) in ", evidence)

    def test_none_without_host_samples(self):
        code, _, err, figures = self.record(command=self.command, options=("--torch", "--host-samples", "none"), env=self.env)
        self.assertEqual(code, 0, err)
        self.assertNotIn("idle_code", tables(figures))


# The same without a hook. Its calls are recorded once there were kernels without any, as above.
SEEN = """
import ctypes, json, os, sys, time
cupti = ctypes.CDLL(sys.argv[1])
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
def launch():
    cupti.fake_driver_launch(b"_Z4workv")
    cupti.fake_finish(0)
for _ in range(200): launch()
time.sleep(1.2)
launch()
time.sleep(0.5)
class Loop:
    def prepare(self, text):
        until = time.monotonic() + 0.04
        while time.monotonic() < until:

            json.loads(text)
    def wärme(self):
        # a comment
        time.sleep(
            0.04
        )
loop = Loop()
for _ in range(40):
    loop.prepare("[" + "1, " * 20000 + "1]")
    loop.wärme()
    launch()
time.sleep(0.7)
"""


def installed_version(wanted):
    """The version of pyenv that is the newest of these; None where there is none."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        return subprocess.run(["pyenv", "latest", wanted], capture_output=True, text=True, check=True).stdout.strip()
    return None


class Places(PythonRecord):
    """Where the launching thread is, read from the program's memory: CPython 3.13 says where that is."""
    files = {"train.py": SEEN}


    def seen(self, python, *options):
        code, _, err, figures = self.record(command=(python, "train.py", CUPTI), options=options)
        self.assertEqual(code, 0, err)
        self.assertEqual(sum(figures["lost"].values()), 0)
        found = tables(figures)
        return {row["code_place"]: row["code_share"] for row in found["idle_code"]["rows"]} if "idle_code" in found else {}

    def python(self):
        if sys.version_info[:2] == (3, 13):
            return sys.executable
        # A pyenv has a command of that name also where none of its versions is chosen.
        for command, version in (("python3.13", None), ("python3.13", installed_version("3.13"))):
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                return subprocess.run([command, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True,
                                      check=True, env={**os.environ, **({"PYENV_VERSION": version} if version else {})}).stdout.strip()
        return self.skip("there is no CPython 3.13")

    def test_lines_without_a_hook(self):
        shares = self.seen(self.python())
        lines = {word: 1 + SEEN[:SEEN.index(word)].count("\n") for word in ("json.loads(text)", "time.sleep(\n")}
        self.assertGreater(shares[f"train.py:{lines['json.loads(text)']} (prepare)"], 15, shares)
        self.assertGreater(shares[f"train.py:{lines['time.sleep(' + chr(10)]} (wärme)"], 15, shares)
        for place in shares:
            self.assertRegex(place, r"^train\.py:\d+ \((prepare|wärme|launch|<module>)\)$")

    def test_none_where_nobody_looks(self):
        self.assertEqual(self.seen(self.python(), "--host-samples", "none"), {})

    def test_another_version_is_left_alone(self):
        if sys.version_info[:2] == (3, 13):
            self.skip("this Python is the one that is read")
        self.assertEqual(self.seen(sys.executable), {})


if __name__ == "__main__":
    unittest.main()

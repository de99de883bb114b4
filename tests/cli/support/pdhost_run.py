"""Runs pdhost for tests: small, fast runs on the CPU device in a folder of their own.

PDHOST, PDHOST_FIXTURES and PDHOST_CONF come from CTest: the program, the folder of the fixture plugins, conf/.
PDHOST_TEST_SANITIZER is the sanitizer that slows the program down: address, thread or nothing.
"""
import collections
import csv
import glob
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
PDHOST = os.environ["PDHOST"]
FIXTURES = os.environ["PDHOST_FIXTURES"]
CONF = os.environ["PDHOST_CONF"]
SANITIZER = os.environ.get("PDHOST_TEST_SANITIZER", "")

# Small enough for a sanitizer on one core.
SMALL = ["-c", os.path.join(os.path.dirname(os.path.abspath(__file__)), "small.ini"), "--device", "cpu", "--batch_size", "4",
         "--image_size", "16", "--warmup_steps", "1", "-o", "device.threads=1"]

# What prints something and runs nothing.
COMMANDS = ("--list", "--help", "--check", "--show-config", "--dump-config", "--dry-run", "--version", "--explain")
# Exits after which the files of a run's sinks are there: done, done but for one sink, SIGINT, SIGTERM.
ENDS_WITH_FILES = (0, 8, 130, 143)


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def named_child(pid, name):
    """The child of that name; None: there is none now."""
    try:
        for child in children_of(pid):
            with open(f"/proc/{child}/comm", encoding="ascii") as file:
                if file.read().strip() == name:
                    return child
    except OSError:
        pass
    return None


def wait_for(found, what):
    """What it returns, once that is something."""
    until = time.monotonic() + 60
    while not (answer := found()):
        if time.monotonic() > until:
            raise AssertionError(what)
        time.sleep(0.005)
    return answer


def awaited_child(pid, name):
    return wait_for(lambda: named_child(pid, name), f"the run has no process {name}")


def worker_of(pid):
    """The process that a run's supervisor has for it, once it is there. Others look at plugins before."""
    return awaited_child(pid, "pdhost worker")


def writer_of(pid):
    """The process that its sinks are in."""
    return awaited_child(pid, "pdhost writer")


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pdhost cli ")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def skip(self, reason):
        """Skips and says so: unittest alone prints no reason."""
        print(f"SKIPPED: {self.id()}: {reason}", file=sys.stderr, flush=True)
        self.skipTest(reason)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *arguments, watch=True, under=(), env=None, **options):
        """Starts pdhost. A run that writes no csv of its own is given one more sink, so that ended() can check it;
        `watch` false: it is left as it is, for what a test says about the set of sinks or their order."""
        arguments, self.watched = self.with_csv(arguments) if watch else (arguments, None)
        process = subprocess.Popen([*under, PDHOST, *arguments], cwd=self.folder,
                                   env=dict(os.environ, NO_COLOR="1", **env or {}), text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.addCleanup(self.leave_none, process)
        return process

    @staticmethod
    def leave_none(process):
        """A test that fails half-way leaves nothing running."""
        if process.poll() is None:
            process.kill()
            process.communicate()

    def with_csv(self, arguments):
        """The arguments of a run with a csv sink, and the folder of its files; (arguments, None): no run, or no sinks."""
        if not arguments or any(argument.startswith(COMMANDS) for argument in arguments):
            return arguments, None
        sinks = [arguments[i + 1] for i, argument in enumerate(arguments[:-1]) if argument == "--sink"]
        for sink in sinks:
            name, _, rest = sink.partition(":")
            if name == "csv":
                folder = dict(pair.split("=", 1) for pair in rest.split(",") if pair).get("dir")
                return arguments, self.path(folder or os.path.join(self.trace_dir(arguments), "csv"))
        if not sinks: # --sink replaces the configured ones: they are named too
            shown = subprocess.run([PDHOST, *arguments, "--show-config"], cwd=self.folder, capture_output=True, text=True,
                                   check=False)
            found = re.search(r"^sinks = (.*)$", shown.stdout, re.MULTILINE)
            if shown.returncode != 0 or not found:
                return arguments, None
            for name in found.group(1).split(","):
                if name.strip():
                    arguments = (*arguments, "--sink", name.strip())
        folder = tempfile.mkdtemp(prefix="pdhost watched ")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return (*arguments, "--sink", f"csv:dir={folder}"), folder

    def trace_dir(self, arguments):
        shown = subprocess.run([PDHOST, *arguments, "--show-config"], cwd=self.folder, capture_output=True, text=True,
                               check=False)
        found = re.search(r"^trace_dir = (.*)$", shown.stdout, re.MULTILINE)
        return found.group(1).replace("<time>-<pid>", "latest") if found else "."

    def run_pdhost(self, *arguments, **options):
        return self.ended(self.start(*arguments, **options))

    def ended(self, process, timeout=110):
        """Waits for the end; whatever it was, the windows that the run leaves behind are whole."""
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail(f"pdhost did not end: {process.args}\n{err}")
        if self.watched:
            steps = os.path.join(self.watched, "steps.csv")
            if process.returncode in ENDS_WITH_FILES:
                self.assertTrue(os.path.exists(steps), f"no steps.csv after exit {process.returncode}: {process.args}\n{err}")
            if os.path.exists(steps):
                self.assert_windows_whole(self.watched, "profile.timer_only=true" in process.args)
        return process.returncode, out, err

    def run_small(self, *arguments, **options):
        return self.run_pdhost(*SMALL, *arguments, **options)

    def rows(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def assert_windows_whole(self, folder, timer_only=False):
        """Every active step lies in a window that has launches; each launch, copy and set of it has exactly one device
        record, one operation and one step, each record its call, and nothing was lost: coverage 1 by the counts."""
        windows = {row["window"] for row in self.rows(os.path.join(folder, "steps.csv")) if row["phase"] == "active"}
        files = glob.glob(os.path.join(glob.escape(folder), "events", "calls*.csv"))
        endings = {os.path.basename(path)[len("calls"):]: path for path in files}
        stepped = set() if timer_only else \
            {".csv" if window == "0" and ".csv" in endings else f".{window}.csv" for window in windows}
        self.assertLessEqual(stepped, set(endings), "windows without files")
        self.assertEqual(bool(stepped), bool(windows) and not timer_only)
        for ending, path in endings.items():
            name = lambda kind: os.path.join(folder, "events", kind + ending)
            calls = {row["index"]: row for row in self.rows(path)}
            records = self.rows(name("kernels")) + self.rows(name("copies"))
            launches = [row for row in calls.values() if row["class"] in ("launch", "memcpy", "memset", "graph_launch")]
            # A window that a failure cut short in its first step may have none.
            self.assertTrue(launches or ending not in stepped, f"no launch in {path}")
            per_call = collections.Counter(row["call"] for row in records)
            for row in launches:
                self.assertEqual(row["result"], "0", row)
                self.assertTrue(row["range"] and row["step"], row)
                self.assertEqual(int(row["device_records"]), per_call[row["index"]], row)
                if row["class"] == "graph_launch":
                    self.assertGreaterEqual(per_call[row["index"]], 1, row)
                else:
                    self.assertEqual(per_call[row["index"]], 1, row)
            for row in records:
                self.assertTrue(row["call"] and row["range"] and row["step"], row)
                call = calls[row["call"]]
                self.assertEqual((call["correlation"], call["range"], call["step"]),
                                 (row["correlation"], row["range"], row["step"]), row)
            for row in self.rows(name("lost")):
                self.assertEqual(row["count"], "0", row)

    def on_terminal(self, *arguments, **environment):
        """Standard output of a run whose standard output is a terminal."""
        master, slave = pty.openpty()
        kept = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        subprocess.run([PDHOST, *arguments], cwd=self.folder, env={**kept, "TERM": "xterm", **environment},
                       stdout=slave, stdin=subprocess.DEVNULL, check=True, timeout=60)
        os.close(slave)
        text = b""
        try:
            while piece := os.read(master, 65536):
                text += piece
        except OSError:
            pass  # the other end is gone
        os.close(master)
        return text.decode()

    def errors(self, err):
        """The lines of errors, without the code that each ends with."""
        found = [line for line in err.splitlines() if line.startswith("pdhost: error:")]
        for line in found:
            self.assertRegex(line, r" \[PDH-\d{4}\]$|^pdhost: error: (and \d+ more|interrupted; .*)$")
        return [re.sub(r" \[PDH-\d{4}\]$", "", line) for line in found]

    def warnings(self, err):
        """All but the one that the machine causes, not the run: that other programs took the cores. It comes once at most."""
        found = [line for line in err.splitlines() if line.startswith("pdhost: warn:")]
        busy = [line for line in found if re.match(r"pdhost: warn: other programs kept \d+\.\d of \d+ cores? busy while the "
                                                   r"steps ran.*: run it on a quiet machine$", line)]
        self.assertLessEqual(len(busy), 1, err)
        return [line for line in found if line not in busy]

    def assert_fails(self, result, code, line):
        """Exactly one error line, which holds `line`, and exit code `code`."""
        actual, _, err = result
        self.assertEqual(actual, code, err)
        found = self.errors(err)
        self.assertEqual(len(found), 1, err)
        self.assertIn(line, found[0])

    def json(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

"""Runs pdhost for tests: small, fast runs on the CPU device in a folder of their own.

PDHOST, PDHOST_FIXTURES and PDHOST_CONF come from CTest: the program, the folder of the fixture plugins, conf/.
PDHOST_TEST_SANITIZER is the sanitizer that slows the program down: address, thread or nothing.
"""
import csv
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PDHOST = os.environ["PDHOST"]
FIXTURES = os.environ["PDHOST_FIXTURES"]
CONF = os.environ["PDHOST_CONF"]
SANITIZER = os.environ.get("PDHOST_TEST_SANITIZER", "")

# Small enough for a sanitizer on one core.
SMALL = ["--device", "cpu", "--batch_size", "4", "--image_size", "16", "--warmup_steps", "1", "--num_workers", "1",
         "-o", "device.threads=1", "-o", "data.cpu_work=10", "-o", "data.io_sleep_ms=0"]


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

    def start(self, *arguments, **options):
        environment = dict(os.environ, NO_COLOR="1", **options.pop("env", {}))
        return subprocess.Popen([*options.pop("under", ()), PDHOST, *arguments], cwd=self.folder, env=environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def run_pdhost(self, *arguments, **options):
        process = self.start(*arguments, **options)
        try:
            out, err = process.communicate(timeout=110)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            self.fail(f"pdhost did not end: {arguments}\n{err}")
        if process.returncode in (0, 8):
            self.assert_nothing_untied()
        return process.returncode, out, err

    def run_small(self, *arguments, **options):
        """A small run that also writes its events as csv where it names sinks, so that every such run is checked."""
        if "--sink" in arguments and "csv" not in arguments:
            arguments = (*arguments, "--sink", "csv")
        return self.run_pdhost(*SMALL, *arguments, **options)

    def rows(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def assert_nothing_untied(self):
        """Whatever csv events the run left: each launch has one device record, each record one call, range and step."""
        for calls_path in glob.glob(self.path("**/events/calls*.csv"), recursive=True):
            folder, window = os.path.dirname(calls_path), os.path.basename(calls_path)[len("calls"):]
            calls = {row["index"]: row for row in self.rows(calls_path)}
            records = [row for name in ("kernels", "copies") for row in self.rows(os.path.join(folder, name + window))]
            for row in records:
                self.assertTrue(row["call"] and row["range"] and row["step"], row)
                self.assertEqual(calls[row["call"]]["correlation"], row["correlation"], row)
            for row in calls.values():
                if row["class"] == "launch":
                    self.assertEqual(row["device_records"], "1", row)
                    self.assertTrue(row["range"] and row["step"], row)
            for row in self.rows(os.path.join(folder, "lost" + window)):
                self.assertEqual(row["count"], "0", row)

    def errors(self, err):
        return [line for line in err.splitlines() if line.startswith("pdhost: error:")]

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

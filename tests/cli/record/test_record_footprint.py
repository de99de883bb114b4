"""pdhost record: the memory that it adds to a process, which does not grow with what is recorded, and its end.

By hand: PD_FOOTPRINT_KERNELS=30000000 for as many kernels.
"""
import argparse
import importlib.machinery
import importlib.util
import os
import sys
import unittest

import record_footprint
from pdhost_run import PDHOST, ROOT, SANITIZER, Case
from record_case import PROGRAM, Record

KERNELS = int(os.environ.get("PD_FOOTPRINT_KERNELS", "400000"))
FEW_KERNELS = 5000000  # with fewer it may still take buffers, which it has until its end


class Footprint(Record):
    def setUp(self):
        super().setUp()
        if SANITIZER:
            self.skip("a sanitizer keeps what is freed")

    def measure(self, word):
        """The report's time has no limit here: the last second holds as much as the machine is fast."""
        command = [PROGRAM, "who", "init", f"{word}={KERNELS}", "end"]
        row = record_footprint.measure(PDHOST, command, self.folder, ("--last", "1s"), rounds=1)
        print(f"{word}={KERNELS}: {row}", flush=True)
        return row

    def test_memory_is_bounded(self):
        for word in ("kernels", "graphs"):
            row = self.measure(word)
            grown = row["growth_bytes"] if KERNELS > FEW_KERNELS else 0
            self.assertEqual(record_footprint.wrong({**row, "growth_bytes": grown, "exit_s": 0}), [])
            self.assertLess(row["exit_s"], 2, "the library waits a fifth of a second at most, the machine may be busy")

    def test_what_is_wrong_is_seen(self):
        good = {"added_bytes": 6e7, "growth_bytes": 1e6, "exit_s": 0.1, "report_s": 3}
        self.assertEqual(record_footprint.wrong(good), [])
        self.assertEqual(record_footprint.wrong({**good, "growth_bytes": 5e6}, reports=True), ["report_s 3 of 1"])
        self.assertEqual(record_footprint.wrong({**good, "added_bytes": 7e7, "growth_bytes": 5e6}),
                         ["added_bytes 7e+07 of 6.711e+07", "growth_bytes 5e+06 of 4.194e+06"])
        self.assertEqual(record_footprint.growth([1] * 20 + [8] * 40 + [10] * 20), 2)
        with self.assertRaises(record_footprint.Failed):
            record_footprint.watched(["sh", "-c", "echo pid $$; exit 3"], self.folder)


class OnAGpu(Case):
    """scripts/gpu-record measures the same there; pdhost and the program are played."""

    def file(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o755)
        return self.path(name)

    def test_what_recording_adds_to_a_process(self):
        loader = importlib.machinery.SourceFileLoader("gpu_record", os.path.join(ROOT, "scripts", "gpu-record"))
        record = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(record)
        pdhost = self.file("pdhost", '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift\nexec "$@"\n')
        program = self.file("plain", f"#!{sys.executable}" + """
import os, sys, time
print("pid", os.getpid(), flush=True)
time.sleep(1)
print("end", time.monotonic_ns(), flush=True)
sys.exit(3 if len(sys.argv) == 2 and sys.argv[1].isdigit() else 1)
""")
        args = argparse.Namespace(pdhost=pdhost, out=self.folder, kernels=50)
        rows = list(record.footprint(args, program))
        self.assertEqual([(row["job"], row["kernels"]) for row, _ in rows], [("footprint", 50), ("report", 52500)])
        for row, _ in rows:
            self.assertLess(abs(row["added_bytes"]), 20e6)
            self.assertLess(row["report_s"], 5)
        fails = self.file("fails", "#!/bin/sh\necho no >&2; exit 3\n")
        self.assertEqual([len(wrong) for _, wrong in record.footprint(args, fails)], [1, 1])


if __name__ == "__main__":
    unittest.main()

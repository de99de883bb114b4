"""No memory, no thread, no file: each is told in a line, and nothing of the run's outputs is half written."""
import json
import os
import resource
import unittest

from pdhost_run import FIXTURES, PDHOST, SANITIZER, Case

POINTS = 8  # allocations that fail, each in a run of its own; spread over all of them
RUN = ("--scenario", "dataloader", "--profile_steps", "1", "--trace_dir", "traces", "--sink", "json:output_json=metrics.json",
       "--sink", "chrome_trace")


class Memory(Case):
    def setUp(self):
        super().setUp()
        if SANITIZER:
            self.skip("a sanitizer has the allocator for itself")
        self.shim = os.path.join(FIXTURES, "failing.so")

    def run_failing(self, **variables):
        if os.path.exists(self.path("metrics.json")):
            os.remove(self.path("metrics.json"))
        return self.run_small(*RUN, watch=False, env={"LD_PRELOAD": self.shim, **variables})

    def judge(self, code, err, what):
        """It ended in order: it did without, or said what was missing; what it wrote is whole."""
        self.assertIn(code, (0, 1, 5, 6, 8), f"{what}: {err}")
        self.assertNotIn("ended by", err, what)
        if code:
            self.assertTrue(self.errors(err), f"{what}: exit {code} without a word")
        if code == 0 or os.path.exists(self.path("metrics.json")):
            self.assertIn("windows", self.json("metrics.json"), what)
        if code == 0:
            self.assertEqual(self.json("metrics.json")["outcome"], "complete", what)
        for folder, _, names in os.walk(self.folder):
            for name in names:
                self.assertNotIn(".partial", name, what)
                if name.endswith(".trace.json"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        json.load(file)

    def test_every_allocation_fails_in_its_turn(self):
        """Those of the program and its plugins; a plain run says how many there are."""
        code, _, err = self.run_failing(FAIL_COUNT=self.path("count"))
        self.judge(code, err, "none fails")
        with open(self.path("count"), encoding="utf-8") as file:
            count = max(int(line.split()[0]) for line in file)
        self.assertGreater(count, 1000)
        failed = 0
        for n in range(POINTS):
            at = 1 + count * (2 * n + 1) // (2 * POINTS)
            code, _, err = self.run_failing(FAIL_MALLOC=str(at))
            self.judge(code, err, f"allocation {at} of {count}")
            failed += code != 0 or "memory" in err
        self.assertGreater(failed, POINTS // 3)

    def test_what_onednn_throws(self):
        """std::bad_alloc of the device's library is an error that names the operation."""
        device = os.path.join(os.path.dirname(PDHOST), "..", "lib", "pdhost", "device", "cpu.so")
        with open(device, "rb") as file:
            if b"__gxx_personality_v0" not in file.read():
                self.skip("the CPU device was built without a C++ compiler")
        code, _, err = self.run_failing(FAIL_COUNT=self.path("count"))
        self.judge(code, err, "none fails")
        with open(self.path("count"), encoding="utf-8") as file:
            count = max(int(line.split()[2]) for line in file)
        if not count:
            self.skip("oneDNN takes its memory in another way")
        code, _, err = self.run_failing(FAIL_NEW="1")
        self.judge(code, err, "the first new")
        self.assertEqual(code, 5, err)
        self.assertRegex(err, r"error: device: (oneDNN convolution \d+->\d+|dnnl_\w+: oneDNN threw).*std::bad_alloc")
        code, _, err = self.run_failing(FAIL_NEW=str(1 + count // 2))
        self.judge(code, err, f"new {1 + count // 2} of {count}")

    def test_threads_that_cannot_be_made(self):
        codes = []
        for at in range(1, 6):
            code, _, err = self.run_failing(FAIL_THREAD=str(at))
            self.judge(code, err, f"thread {at}")
            codes.append(code)
        self.assertTrue({5, 6} <= set(codes), codes)

    def test_few_files_to_open(self):
        code, _, err = self.run_small(*RUN, watch=False,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)))
        self.judge(code, err, "12 files")


if __name__ == "__main__":
    unittest.main()

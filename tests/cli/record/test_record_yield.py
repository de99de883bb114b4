"""pdhost record --yield: CUPTI is given to the profiler of the program itself, and what was recorded before is reported."""
import json
import os
import sys
import unittest

from record_case import CUPTI, PythonRecord


# The one place of PyTorch in which every profiler of it gets ready, and what it then asks of CUPTI.
TORCH = {
    "torch/__init__.py": "",
    "torch/autograd/__init__.py": "",
    "torch/autograd/profiler.py": """
import ctypes, enum, sys
class ProfilerActivity(enum.Enum):
    CPU = 0
    CUDA = 1
def _prepare_profiler(config, activities):
    subscriber = ctypes.c_void_p()
    print("subscribed", ctypes.CDLL(sys.argv[1]).cuptiSubscribe(ctypes.byref(subscriber), None, None), flush=True)
""",
    "train.py": """
import ctypes, os, sys, time
cupti = ctypes.CDLL(sys.argv[1])
from torch.autograd import profiler
def start_cuda():
    if "CUDA_INJECTION64_PATH" in os.environ: ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
def launch(count):
    for _ in range(count): cupti.fake_driver_launch(b"_Z4workv")
    cupti.fake_finish(0)
def profile(*kinds):
    profiler._prepare_profiler(None, {profiler.ProfilerActivity[kind] for kind in kinds})
for word in sys.argv[2:]:
    if word == "cuda": start_cuda()
    elif word == "wait": time.sleep(0.6)
    elif word.isdigit(): launch(int(word))
    else: profile(*word.split("+"))
""",
}


class Yield(PythonRecord):
    files = TORCH


    def record(self, *words, options=()):
        """What the program printed, warnings, and how many kernels were recorded."""
        code, out, err = self.run_pdhost("record", "--sink", "json:output_json=out.json", *options, "--", sys.executable,
                                         self.path("train.py"), CUPTI, *words, watch=False, env={"PYTHONPATH": self.path(".")})
        self.assertEqual(code, 0, err)
        kernels = 0
        if os.path.exists(self.path("out.json")):
            with open(self.path("out.json"), encoding="utf-8") as file:
                kernels = json.load(file)["windows"][0]["counts"]["activities"]
        return out, self.warnings(err), kernels

    def test_the_programs_own_profiler_gets_cupti_and_the_rest_is_reported(self):
        out, warnings, kernels = self.record("cuda", "40", "wait", "CPU+CUDA", "20", options=("--yield",))
        self.assertEqual(out, "subscribed 0\n")
        self.assertEqual(kernels, 40)
        self.assertEqual(len([line for line in warnings if "its recording ends where its own profiler began" in line]), 1)

    def test_records_of_just_before_are_not_lost(self):
        self.assertEqual(self.record("cuda", "40", "CPU+CUDA", options=("--yield",))[2], 40)

    def test_without_it_pdhost_keeps_cupti(self):
        out, warnings, kernels = self.record("cuda", "40", "wait", "CPU+CUDA", "20", "wait")
        self.assertEqual((out, kernels), ("subscribed 39\n", 60))
        self.assertNotIn("--yield", " ".join(warnings))

    def test_a_profiler_of_the_host_alone_takes_nothing(self):
        out, _, kernels = self.record("cuda", "40", "wait", "CPU", "20", "wait", options=("--yield", "--torch"))
        self.assertEqual((out, kernels), ("subscribed 39\n", 60))

    def test_a_profiler_that_is_first_keeps_cupti(self):
        out, warnings, kernels = self.record("CUDA", "cuda", "40", options=("--yield",))
        self.assertEqual((out, kernels), ("subscribed 0\n", 0))
        self.assertEqual(len([line for line in warnings if "not recorded: its own profiler began before CUDA did" in line]), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)

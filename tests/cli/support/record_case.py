"""What the tests of pdhost record share: a program with a CUPTI that is played, and its figures."""
import json
import os

from pdhost_run import Case, FIXTURES, SANITIZER

PROGRAM = os.path.join(FIXTURES, "recorded_program")
CUPTI = os.path.join(FIXTURES, "..", "devices", "cupti", "recorded", "libcupti.so.13")
MISDEED = os.path.join(FIXTURES, "sink", "misdeed.so")

# A package torch with the two places that the hook of --torch marks, as PyTorch 2 has them.
TORCH = {
    "torch/__init__.py": "from .utils.data import DataLoader\nfrom .optim import SGD\n",
    "torch/utils/__init__.py": "",
    "torch/utils/data/__init__.py": "from .dataloader import DataLoader\n",
    "torch/utils/data/dataloader.py": """
import time
class _BaseDataLoaderIter:
    def __init__(self, count): self.left = count
    def __iter__(self): return self
    def __next__(self):
        if not self.left: raise StopIteration
        self.left -= 1
        time.sleep(0.002)
        return self.left
class _SingleProcessDataLoaderIter(_BaseDataLoaderIter): pass
class DataLoader:
    def __init__(self, count): self.count = count
    def __iter__(self): return _SingleProcessDataLoaderIter(self.count)
""",
    "torch/optim/__init__.py": "from .optimizer import SGD\n",
    "torch/optim/optimizer.py": """
before, hooks = [], []
def register_optimizer_step_pre_hook(hook): before.append(hook)
def register_optimizer_step_post_hook(hook): hooks.append(hook)
class SGD:
    def step(self):
        for hook in before: hook(self, (), {})
        for hook in hooks: hook(self, (), {})
""",
    "sitecustomize.py": "import sys\nsys.dont_write_bytecode = True\nsys.own_start = 'was read'\n",
    # What CUDA and PyTorch's kernels do of it: the CUPTI that is played is called by hand.
    "train.py": """
import atexit, ctypes, os, sys, time
def count_threads():  # the interpreter then ends other threads wherever they are; one that has ended is seen a moment longer
    for _ in range(100):
        names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
        count = names.count(open("/proc/self/comm").read())
        if count == 1: break
        time.sleep(0.01)
    print(count, "thread")
atexit.register(count_threads)  # before torch is there, so that it is called after all that came with it
cupti = ctypes.CDLL(sys.argv[1])
import torch
if "CUDA_INJECTION64_PATH" in os.environ: ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
def launch():
    cupti.fake_driver_launch(b"_Z4workv")
    cupti.fake_finish(0)
launch()
time.sleep(1)
first, second = torch.SGD(), torch.SGD()
first.step()
for batch in torch.DataLoader(30):
    launch()
    second.step()
    first.step()
time.sleep(1)
print(sys.own_start, os.environ["PYTHONPATH"].count(":"))
""",
}


class Record(Case):
    def setUp(self):
        super().setUp()
        if not os.path.exists(PROGRAM):
            self.skip("built without CUPTI's headers")

    def record(self, *words, options=(), env=None, command=None):
        """Exit code, output, messages, and the figures, None where nothing was recorded."""
        code, out, err = self.run_pdhost("record", "--sink", "json:output_json=out.json", *options, "--",
                                         *(command or (PROGRAM,)), *words, watch=False, env=env or {})
        path = self.path("out.json")
        figures = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                figures = json.load(file)
            os.remove(path)
        return code, out, err, figures

    def recorded(self, *words, steps, code=0, **given):
        actual, out, err, figures = self.record(*words, **given)
        self.assertEqual(actual, code, err)
        self.assertIsNotNone(figures, err)
        self.assertEqual(len(figures["step_rows"]), steps, err)
        return out, err, figures

    def unrecorded(self, *words, said, code=0, **given):
        actual, out, err, figures = self.record(*words, **given)
        self.assertEqual(actual, code, err)
        self.assertIsNone(figures, err)
        warnings = self.warnings(err)
        self.assertEqual(len([line for line in warnings if said in line]), 1, err)
        return out, warnings


class PythonRecord(Record):
    """A program in Python, of these files by their names, which loads the CUPTI that is played."""
    files = {}

    def setUp(self):
        super().setUp()
        if SANITIZER:
            self.skip("Python itself is not built with the sanitizer, and cannot load what is")
        for name, text in self.files.items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

"""pdhost record --modules: the forward and the backward of a PyTorch program's modules."""
import sys
import unittest

from record_case import CUPTI, TORCH, PythonRecord

STEPS, KERNEL_NS = 30, 50
# What the hook uses of PyTorch 2, with a backward that another thread does, as it does for a GPU.
MODULES = {
    **TORCH,
    "torch/__init__.py": TORCH["torch/__init__.py"] + """
from .nn.modules.module import Module
class Node:
    def __init__(self, before): self.hooks, self.metadata, self.before = [], {}, before
    def register_prehook(self, hook): self.hooks.append(hook)
class Tensor:
    def __init__(self, before): self.grad_fn = Node(before)
    def backward(self):
        node = self.grad_fn
        while node:
            for hook in node.hooks: assert hook(None) is None
            yield
            node = node.before
""",
    "torch/nn/__init__.py": "",
    "torch/nn/modules/__init__.py": "",
    "torch/nn/modules/module.py": """
before, behind = [], []
def register_module_forward_pre_hook(hook): before.append(hook)
def register_module_forward_hook(hook): behind.append(hook)
class Module:
    def named_modules(self, prefix=""):
        yield prefix, self
        for name, inner in vars(self).items():
            if isinstance(inner, Module): yield from inner.named_modules(prefix + "." * bool(prefix) + name)
    def __call__(self, given):
        for hook in before: assert hook(self, (given,)) is None
        made = self.forward(given)
        for hook in behind: assert hook(self, (given,), made) is None
        return made
""",
    # Calls are recorded once there were kernels without any (test_record.py: a CUPTI that wants whole kinds).
    "train.py": """
import concurrent.futures, ctypes, os, sys, time
cupti = ctypes.CDLL(sys.argv[1])
import torch
if "CUDA_INJECTION64_PATH" in os.environ: ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
def launch(count=1):
    for _ in range(count):
        cupti.fake_driver_launch(b"_Z4workv")
        cupti.fake_finish(0)
launch(200)
time.sleep(1.5)
launch()
time.sleep(1)
class Layer(torch.Module):
    def forward(self, given):
        launch()
        if given == "broken": raise ValueError
        return torch.Tensor(getattr(given, "grad_fn", None))
class Block(torch.Module):
    def __init__(self): self.inner, self.deep = Layer(), [Layer()]
    def forward(self, given): return self.inner(given)
class Net(torch.Module):
    def __init__(self): self.first, self.second = Block(), Layer()
    def forward(self, given):
        made = self.first(given)
        launch(2)
        return {"logits": self.second(made)}
def backward(made):
    for _ in made["logits"].backward(): launch(2)
engine = concurrent.futures.ThreadPoolExecutor(1)
net, optimizer = Net(), torch.SGD()
optimizer.step()
for batch in torch.DataLoader(int(sys.argv[2])):
    if batch == 10:
        try: net("broken")
        except ValueError: pass
    made = net(batch)
    engine.submit(backward, made).result()
    optimizer.step()
    launch()
time.sleep(1)
""",
}


class Modules(PythonRecord):
    files = MODULES

    def setUp(self):
        super().setUp()
        self.command = (sys.executable, "train.py", CUPTI, str(STEPS))

    def tables(self, *options):
        code, _, err, figures = self.record(command=self.command, options=options, env={"PYTHONPATH": self.path(".")})
        self.assertEqual(code, 0, err)
        self.assertEqual(self.warnings(err), [])
        self.assertEqual(len(figures["step_rows"]), STEPS)
        self.assertEqual(sum(figures["lost"].values()), 0)
        found = figures["windows"][0]["tables"]
        return [{row[key]: row for row in found.get(name, {"rows": []})["rows"]}
                for name, key in (("modules", "module"), ("userdefined", "name"))]

    def test_the_time_of_each_module(self):
        modules, ranges = self.tables("--modules")
        self.assertEqual(set(modules), {"Net", "Net.first", "Net.first.inner", "Net.second"})
        self.assertEqual({name: row["calls"] for name, row in ranges.items() if name.startswith("forward")},
                         {"forward of Net": STEPS + 1, "forward of Net.first": STEPS + 1, "forward of Net.first.inner": STEPS + 1,
                          "forward of Net.second": STEPS})
        # What its last module gives is what a module gives: their backward begins together, and is the last one's.
        self.assertEqual({name: row["calls"] for name, row in ranges.items() if name.startswith("backward")},
                         {"backward of Net.first.inner": STEPS, "backward of Net.second": STEPS})
        gpu = {name: row["gpu_total"] for name, row in modules.items()}
        self.assertEqual(gpu["Net.first"], gpu["Net.first.inner"])
        kernels = {"Net.first": 3 * STEPS + 1, "Net.second": 3 * STEPS, "Net": 8 * STEPS + 1}
        self.assertEqual({name: gpu[name] / KERNEL_NS for name in kernels}, kernels)
        # Each backward is of the call before it, and not of the last one of all.
        self.assertLess(modules["Net"]["gpu_max"], 0.5 * gpu["Net"])

    def test_no_module_without_the_option(self):
        modules, ranges = self.tables("--torch")
        self.assertEqual((modules, ranges), ({}, {}))


if __name__ == "__main__":
    unittest.main()

"""Traces as torch.profiler writes them, made up: a training loop of a few kernels, with every time chosen by hand."""
import gzip
import json

BASE_NS = 1700000000000000000


class MadeTrace:
    """Steps of 1000 us: a wait for the loader, two operations that launch, a copy, an optimizer, a synchronisation."""

    def __init__(self, steps=5, wait_us=100, kernel_us=200, marks=True, loader=True, optimizer=True):
        self.events, self.number, self.steps = [], 1, steps
        self.head = {"schemaVersion": 1, "deviceProperties": [
            {"id": 0, "name": "Made GPU", "totalGlobalMem": 1 << 34, "computeMajor": 9, "computeMinor": 0, "warpSize": 32,
             "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536,
             "regsPerMultiprocessor": 65536, "sharedMemPerBlock": 49152, "sharedMemPerMultiprocessor": 233472,
             "numSms": 132}], "cuda_runtime_version": 13000, "baseTimeNanoseconds": BASE_NS}
        for step in range(steps):
            self.step(step, 1000.0 * step, wait_us, kernel_us, marks, loader, optimizer)

    def host(self, category, name, start, length, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 7, "tid": 7, "ts": start, "dur": length,
                            "args": args})

    def device(self, category, name, start, length, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": start, "dur": length,
                            "args": {"device": 0, "context": 1, "stream": 7, **args}})

    def launch(self, operation, kernel, at, start, length, grid=(16, 1, 1)):
        self.host("cpu_op", operation, at - 5, 20.0)
        self.host("cuda_runtime", "cudaLaunchKernel", at, 5.5, cbid=211, correlation=self.number)
        self.device("kernel", kernel, start, length, correlation=self.number, grid=list(grid), block=[128, 1, 1],
                    **{"registers per thread": 32, "shared memory": 0, "blocks per SM": 0.5, "warps per SM": 2.0,
                       "est. achieved occupancy %": 6})
        self.number += 1

    def step(self, step, at, wait_us, kernel_us, marks, loader, optimizer):
        if marks:
            self.host("user_annotation", f"ProfilerStep#{step}", at, 995.0)
        if loader:
            self.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 5, wait_us)
        at += 10 + wait_us
        self.host("cpu_op", "aten::copy_", at, 30.0)
        self.host("cuda_runtime", "cudaMemcpyAsync", at + 5, 6.25, cbid=41, correlation=self.number)
        self.device("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 15, 20.0, correlation=self.number, bytes=4096)
        self.number += 1
        at += 50
        self.launch("aten::linear", "gemm_kernel", at, at + 10, kernel_us)
        self.launch("aten::relu", "elementwise_kernel", at + 30, at + 11 + kernel_us, 10.0, (64, 1, 1))
        if optimizer:
            self.host("user_annotation", "Optimizer.step#AdamW.step", at + 60, 60.0)
        self.launch("aten::_fused_adamw_", "multi_tensor_apply_kernel<AdamW>", at + 80, at + 22 + kernel_us, 30.0)
        self.host("cuda_runtime", "cudaDeviceSynchronize", at + 130, kernel_us - 60, cbid=165, correlation=self.number)
        self.number += 1

    def text(self):
        return json.dumps({**self.head, "traceEvents": self.events, "traceName": "made.json"})

    def write(self, path, text=None):
        data = (text or self.text()).encode("utf-8", "surrogateescape")
        with (gzip.open if path.endswith(".gz") else open)(path, "wb") as file:
            file.write(data)
        return path


class MadeServer(MadeTrace):
    """Iterations of an inference server of 1000 us; between the two parts of one the host works for 600 us."""

    def __init__(self, name="execute_context_0(0)_generation_{0}({0})", trains=False, foreach=False, **how):
        self.name, self.trains, self.foreach = name, trains, foreach
        super().__init__(**how)

    def step(self, step, at, wait_us, kernel_us, marks, loader, optimizer):
        if marks:
            self.host("user_annotation", f"ProfilerStep#{step}", at, 995.0)
        self.host("user_annotation", self.name.format(step + 1), at + 5, 900.0)
        self.launch("aten::linear", f"gemm_kernel_{step % 2}", at + 20, at + 40, 100)
        self.launch("aten::softmax", "softmax_kernel", at + 750, at + 770, 100)
        if self.trains:
            self.host("user_annotation", "Optimizer.step#AdamW.step", at + 790, 40.0)
        if self.foreach or self.trains:
            self.launch("aten::_fused_adamw_", "multi_tensor_apply_kernel<Copy>", at + 800, at + 880, 10)
        self.host("cuda_runtime", "cudaDeviceSynchronize", at + 850, 45, cbid=165, correlation=self.number)
        self.number += 1

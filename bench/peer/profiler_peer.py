#!/usr/bin/env python3
"""The workload of pdhost as a PyTorch script: the peer that the benchmarks compare with.

    profiler_peer.py steps   --scenario S [--amp] [--channels-last] [--tuned] [--steps N]
    profiler_peer.py profile --scenario S [--amp] [--channels-last] [--tuned] [--steps N] [--no-table] [--dir DIR]
    profiler_peer.py loader  --workers N [--batches N]
    profiler_peer.py many    reads one command line of the above per line of its input, one process for all

The last line of its output is one JSON object (of `many`: one per command, in order; `error` in it: why that one has
no figures). `steps` times whole steps, each
between two synchronisations: the copy of a pinned batch to the device, zero_grad, forward, loss, backward, optimiser,
scaler. `profile` does the same without and with torch.profiler and times what follows the last step until every file is
written; without the operator table, most of whose time that is, with --no-table. `loader` measures the slow synthetic
dataset alone.

Scenarios: control (the batch lies on the device), plain (control with the copy), sync, tiny_ops, memory_churn.
PD_START_NS in the environment is the CLOCK_REALTIME at which the caller started this process.
"""
import argparse
import functools
import glob
import json
import math
import os
import shutil
import statistics
import sys
import tempfile
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class TinyOpsBlock(nn.Module):
    def __init__(self, dim=256, rounds=30):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.linear = nn.Linear(dim, dim)
        self.rounds = rounds

    def forward(self, x):
        for _ in range(self.rounds):
            x = x + 0.01 * torch.tanh(x)
            x = x * torch.sigmoid(x)
            x = self.norm(x)
            x = self.linear(x)
        return x


class SimpleCNN(nn.Module):
    def __init__(self, tiny):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(64, 128, 3, stride=2, padding=1)
        self.conv3 = nn.Conv2d(128, 256, 3, stride=2, padding=1)
        self.head = nn.Linear(256, 1000)
        self.tiny = TinyOpsBlock() if tiny else None

    def forward(self, x):
        for conv in (self.conv1, self.conv2, self.conv3):
            x = F.relu(conv(x))
        logits = self.head(x.mean(dim=(2, 3)))
        if self.tiny is not None:
            logits = torch.cat([self.tiny(logits[:, :256]), logits[:, 256:]], dim=1)
        return logits


class SlowDataset(torch.utils.data.Dataset):
    def __init__(self, args):
        self.args = args

    def __len__(self):
        return 100000

    def __getitem__(self, index):
        if self.args.io_sleep_ms:
            time.sleep(self.args.io_sleep_ms / 1000)
        image = torch.randn(3, self.args.size, self.args.size)
        label = int(torch.randint(0, 1000, (1,)).item())
        acc = 0.0
        for i in range(self.args.cpu_work):
            acc += math.sin(i * 0.001) * math.cos(i * 0.002)
        return image * (1 + acc % 1e-3), label


@functools.lru_cache(maxsize=None)
def ring_of(batch, size):
    """Pinned batches; of one process' commands all copy from the same."""
    shape = (batch, 3, size, size)
    return [(torch.randn(shape).pin_memory(), torch.randint(0, 1000, (batch,)).pin_memory()) for _ in range(4)]


class Trainer:
    """The model, the optimiser, a ring of pinned batches, and one step."""

    def __init__(self, args):
        self.args = args
        torch.manual_seed(0)
        torch.backends.cudnn.benchmark = args.tuned
        torch.set_float32_matmul_precision("high" if args.tuned else "highest")
        self.format = torch.channels_last if args.channels_last else torch.contiguous_format
        self.model = SimpleCNN(args.scenario == "tiny_ops").cuda().to(memory_format=self.format)
        extra = {"fused": True} if args.tuned else {}
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, **extra)
        self.scaler = torch.amp.GradScaler("cuda", enabled=args.amp)
        self.ring = ring_of(args.batch, args.size)
        self.resident = [(x.cuda(), y.cuda()) for x, y in self.ring[:1]]
        self.count = 0
        self.side = torch.cuda.Stream() if args.prefetch else None
        if self.side:
            self.fetch(0)

    def fetch(self, count):
        """The copy of a batch, on a stream of its own."""
        with torch.cuda.stream(self.side):
            self.ahead = [t.to("cuda", non_blocking=True) for t in self.ring[count % len(self.ring)]]

    def batch(self):
        if self.args.scenario == "control":
            return self.resident[0]
        if not self.side:
            return [t.to("cuda", non_blocking=True) for t in self.ring[self.count % len(self.ring)]]
        current = torch.cuda.current_stream()
        current.wait_stream(self.side)
        batch = self.ahead
        for tensor in batch:
            tensor.record_stream(current)
        self.fetch(self.count + 1)
        return batch

    def step(self):
        args = self.args
        x, y = self.batch()
        if args.channels_last:
            x = x.to(memory_format=self.format)
        self.count += 1
        if args.scenario == "memory_churn":
            temporaries = [torch.randn_like(x) for _ in range(20)]
            x = x + 0.001 * torch.stack([t.mean() for t in temporaries]).sum()
            del temporaries
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16, enabled=args.amp):
            loss = F.cross_entropy(self.model(x), y)
        if args.scenario == "sync":
            loss.item()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss

    def timed_step(self):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        self.step()
        torch.cuda.synchronize()
        return (time.perf_counter_ns() - start) / 1e6


def versions():
    return {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
            "device": torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"}


def steps(args):
    trainer = Trainer(args)
    trainer.timed_step()
    first = time.time_ns()
    for _ in range(args.warmup):
        trainer.step()
    times = [trainer.timed_step() for _ in range(args.steps)]
    started = int(os.environ.get("PD_START_NS", "0"))
    return {"step_ms": times, "median_ms": statistics.median(times),
            "start_to_first_step_s": (first - started) / 1e9 if started else None}


def trace_size(path):
    """Bytes of a Chrome trace, and its events that are no metadata."""
    with open(path, encoding="utf-8", errors="replace") as file:
        events = json.load(file)["traceEvents"]
    return os.path.getsize(path), sum(1 for event in events if event.get("ph") != "M")


def profile(args):
    from torch.profiler import ProfilerActivity, schedule
    trainer = Trainer(args)
    for _ in range(args.warmup):
        trainer.step()
    plain = [trainer.timed_step() for _ in range(args.steps)]
    folder = args.dir or tempfile.mkdtemp(prefix="peer")
    os.makedirs(folder, exist_ok=True)
    # The kernels of one step, from a profile of its own.
    with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as prof:
        trainer.timed_step()
    kernels = sum(1 for e in prof.events() if e.device_type == torch.autograd.DeviceType.CUDA and "Mem" not in e.name)
    handler = torch.profiler.tensorboard_trace_handler(folder)
    times = {}

    def ready(p):
        at = time.perf_counter()
        handler(p)
        times["export_s"] = time.perf_counter() - at

    profiled = []
    prof = torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                                  schedule=schedule(wait=1, warmup=1, active=args.steps, repeat=1),
                                  on_trace_ready=ready, record_shapes=True, profile_memory=True)
    prof.start()
    for i in range(args.steps + 2):
        ms = trainer.timed_step()
        if i >= 2:
            profiled.append(ms)
        last = time.perf_counter()
        prof.step()
    prof.stop()
    at = time.perf_counter()
    if args.table:
        table = prof.key_averages(group_by_input_shape=True).table(sort_by="cuda_time_total", row_limit=25)
        with open(os.path.join(folder, "table.txt"), "w") as out:
            out.write(table)
    end = time.perf_counter()
    difference = statistics.median(profiled) - statistics.median(plain)
    traces = sorted(glob.glob(os.path.join(folder, "*.pt.trace.json")), key=os.path.getmtime)
    size, events = trace_size(traces[-1]) if traces else (None, None)
    if not args.dir:
        shutil.rmtree(folder, ignore_errors=True)
    return {"plain_ms": statistics.median(plain), "profiled_ms": statistics.median(profiled), "kernels": kernels,
            "trace_bytes": size, "trace_events": events,
            "cost_per_kernel_us": difference * 1000 / max(kernels, 1), "last_step_to_closed_s": end - last,
            "export_s": times.get("export_s"), "table_s": end - at if args.table else None}


def loader(args):
    data = torch.utils.data.DataLoader(SlowDataset(args), batch_size=args.batch, shuffle=True,
                                       num_workers=args.workers, pin_memory=torch.cuda.is_available(), drop_last=True,
                                       prefetch_factor=2 if args.workers else None)
    it = iter(data)
    for _ in range(2 * args.workers + 2):
        next(it)
    start = time.perf_counter()
    for _ in range(args.batches):
        next(it)
    seconds = time.perf_counter() - start
    return {"samples_per_s": args.batches * args.batch / seconds, "workers": args.workers}


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["steps", "profile", "loader", "many"])
    parser.add_argument("--scenario", default="plain",
                        choices=["control", "plain", "sync", "tiny_ops", "memory_churn"])
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--tuned", action="store_true")
    parser.add_argument("--prefetch", action="store_true", help="copy the next batch while a step computes")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--cpu-work", type=int, default=200)
    parser.add_argument("--io-sleep-ms", type=float, default=0)
    parser.add_argument("--no-table", dest="table", action="store_false", help="profile: no operator table")
    parser.add_argument("--dir")
    return parser.parse_args(words)


def measure(args):
    result = {"steps": steps, "profile": profile, "loader": loader}[args.what](args)
    print(json.dumps({"what": args.what, "scenario": args.scenario, "amp": args.amp,
                      "channels_last": args.channels_last, "tuned": args.tuned, "batch": args.batch, "size": args.size,
                      **result, **versions()}), flush=True)


def main():
    args = parse(sys.argv[1:])
    if args.what != "loader" and not torch.cuda.is_available():
        print("profiler_peer: PyTorch sees no CUDA device", file=sys.stderr)
        return 1
    if args.what != "many":
        measure(args)
        return 0
    for line in sys.stdin.read().splitlines():
        try:
            measure(parse(line.split()))
        except Exception as error:  # pylint: disable=broad-except; the other commands have figures all the same
            print(json.dumps({"error": f"{line}: {type(error).__name__}: {error}"}), flush=True)
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())

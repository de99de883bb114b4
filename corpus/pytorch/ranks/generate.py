"""Trains a small network on several GPUs with DistributedDataParallel, with a straggler if one is asked for, prints what a
step takes on each rank, and then records eight steps of each rank with torch.profiler.

    torchrun --nproc-per-node 2 generate.py NAME [--late RANK] [--spin-ms MS] [--batch N] [--width N] [--no-overlap]

--late: the rank that is different (1); --spin-ms: its host computes for so long in each step; --batch: its batch (64, as on
the others); --width: of the large layer, so that there are more gradients (512); --no-overlap: gradients are averaged in
one piece, after the backward pass.
The step is measured as it is, without what makes the late rank late, and without averaging; blocks of the three alternate.
Rank 0 prints one JSON line: name, and the median step of each in microseconds. Writes NAME_rank0.json.gz,
NAME_rank1.json.gz, ... to the current folder.
"""
import argparse
import contextlib
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn

WARM_UP, STEPS, BLOCKS = 20, 20, 7
KINDS = ("step", "without the late rank", "without averaging")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--late", type=int, default=1)
    parser.add_argument("--spin-ms", type=float, default=0)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--no-overlap", action="store_true")
    args = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(4096, args.width), nn.ReLU(),
                          nn.Linear(args.width, 10)).cuda()
    model = nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer, loss = torch.optim.SGD(model.parameters(), 0.01), nn.CrossEntropyLoss()
    sizes = {"step": args.batch if rank == args.late else 64, "without the late rank": 64}
    sizes["without averaging"] = sizes["step"]
    batches = {size: (torch.randn(size, 3, 64, 64, device="cuda"), torch.randint(0, 10, (size,), device="cuda"))
               for size in set(sizes.values())}

    def average():
        flat = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
        dist.all_reduce(flat, op=dist.ReduceOp.AVG)
        for parameter, part in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
            parameter.grad.copy_(part.view_as(parameter))

    def steps(count, kind="step", profiler=None):
        images, labels = batches[sizes[kind]]
        alone = args.no_overlap or kind == "without averaging"
        for _ in range(count):
            spins = rank == args.late and kind != "without the late rank"
            end = time.perf_counter() + (args.spin_ms / 1e3 if spins else 0)
            while time.perf_counter() < end:
                pass
            optimizer.zero_grad()
            with model.no_sync() if alone else contextlib.nullcontext():
                loss(model(images), labels).backward()
            if args.no_overlap and kind != "without averaging":
                average()
            optimizer.step()
            if profiler:
                profiler.step()
        torch.cuda.synchronize()

    def step_us(kind):
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        steps(STEPS, kind)
        # Without averaging nothing makes the ranks wait for each other: the slowest counts.
        slowest = torch.tensor((time.perf_counter() - begin) / STEPS * 1e6, device="cuda")
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        return slowest.item()

    for kind in KINDS:
        steps(WARM_UP, kind)
    blocks = {kind: [] for kind in KINDS}
    for _ in range(BLOCKS):
        for kind in KINDS:
            blocks[kind].append(step_us(kind))
    if rank == 0:
        print(json.dumps({"name": args.name, **{f"{kind}, us": round(statistics.median(blocks[kind]), 1) for kind in KINDS}}),
              flush=True)
    schedule = torch.profiler.schedule(wait=1, warmup=3, active=8)
    with torch.profiler.profile(schedule=schedule) as profiler:
        steps(12, profiler=profiler)
    profiler.export_chrome_trace(f"{args.name}_rank{rank}.json.gz")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""Trains a small network on several GPUs with DistributedDataParallel, with a straggler if one is asked for, prints what a
step takes on each rank, and then records eight steps of each rank with torch.profiler.

    torchrun --nproc-per-node 2 generate.py NAME [--spin-ms MS] [--batch N]

--spin-ms: the host of rank 1 computes for so long in each step; --batch: the batch of rank 1 (64, as on the others).
Writes NAME_rank0.json.gz, NAME_rank1.json.gz, ... to the current folder.
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch import nn

WARM_UP, STEPS = 20, 60


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--spin-ms", type=float, default=0)
    parser.add_argument("--batch", type=int, default=64)
    args = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    batch = args.batch if rank == 1 else 64
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(4096, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
    model = nn.parallel.DistributedDataParallel(model, device_ids=[rank])
    optimizer, loss = torch.optim.SGD(model.parameters(), 0.01), nn.CrossEntropyLoss()
    images = torch.randn(batch, 3, 64, 64, device="cuda")
    labels = torch.randint(0, 10, (batch,), device="cuda")

    def steps(count, profiler=None):
        for _ in range(count):
            end = time.perf_counter() + (args.spin_ms / 1e3 if rank == 1 else 0)
            while time.perf_counter() < end:
                pass
            optimizer.zero_grad()
            loss(model(images), labels).backward()
            optimizer.step()
            if profiler:
                profiler.step()
        torch.cuda.synchronize()

    steps(WARM_UP)
    begin = time.perf_counter()
    steps(STEPS)
    print(f"rank {rank}: {(time.perf_counter() - begin) / STEPS * 1e3:.3f} ms a step", flush=True)
    schedule = torch.profiler.schedule(wait=1, warmup=3, active=8)
    with torch.profiler.profile(schedule=schedule) as profiler:
        steps(12, profiler)
    profiler.export_chrome_trace(f"{args.name}_rank{rank}.json.gz")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

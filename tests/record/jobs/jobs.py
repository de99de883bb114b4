#!/usr/bin/env python3
"""Training loops in the ways that people write them, for scripts/gpu-record: each is run alone, and under pdhost record.

    jobs.py NAME [--steps N]

NAME: compiled, graphed, transformers, lightning, timm, jax, cupy, ddp (under torchrun). A job trains on made-up data and
prints one line at its end, which depends on nothing but its name and its number of steps.
"""
import argparse
import logging
import os
import sys
import tempfile
import warnings


def perceptron(width=512):
    from torch import nn
    return nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(width, width), nn.GELU())), nn.Linear(width, 10))


def train(model, steps, shape, autocast=False):
    """The plain loop: batches of a DataLoader, one optimizer, the loss read now and then."""
    import torch
    data = torch.utils.data.TensorDataset(torch.randn(64, *shape), torch.randint(10, (64,)))
    loader = torch.utils.data.DataLoader(data, 16, num_workers=2, pin_memory=True, persistent_workers=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    done = 0
    while done < steps:
        for x, y in loader:
            if done == steps:
                break
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
                loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            if done % 10 == 0:
                loss.item()
            done += 1
    torch.cuda.synchronize()


def compiled(steps):
    import torch
    train(torch.compile(perceptron().cuda()), steps, (512,))


def timm(steps):
    import timm as models
    train(models.create_model("resnet18", num_classes=10).cuda(), steps, (3, 96, 96), autocast=True)


def graphed(steps):
    """A whole step as one CUDA graph, as PyTorch's documentation has it."""
    import torch
    model, x, y = perceptron().cuda(), torch.randn(64, 512, device="cuda"), torch.randint(10, (64,), device="cuda")
    batches = [torch.randn(64, 512).pin_memory() for _ in range(4)]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for done in range(steps):
        x.copy_(batches[done % 4], non_blocking=True)
        graph.replay()
        torch.cuda.synchronize()


def transformers(steps):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
    model = GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_positions=128, n_embd=256, n_layer=4, n_head=4))
    words = [torch.randint(1000, (128,)) for _ in range(256)]
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(output_dir=folder, max_steps=steps, per_device_train_batch_size=8, report_to=[],
                                     disable_tqdm=True, save_strategy="no", logging_strategy="no")
        Trainer(model=model, args=settings, train_dataset=[{"input_ids": ids, "labels": ids} for ids in words]).train()


def lightning(steps):
    import pytorch_lightning
    import torch
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

    class Module(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = perceptron()

        def training_step(self, batch, _):
            return torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-4)

    data = torch.utils.data.TensorDataset(torch.randn(4096, 512), torch.randint(10, (4096,)))
    loader = torch.utils.data.DataLoader(data, 64, num_workers=2)
    trainer = pytorch_lightning.Trainer(max_steps=steps, accelerator="gpu", devices=1, logger=False,
                                        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Module(), loader)


def jax(steps):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax as library
    import jax.numpy as jnp
    import numpy
    widths = [512] * 5 + [10]
    keys = library.random.split(library.random.key(0), len(widths))
    weights = [library.random.normal(key, pair) * 0.03 for key, pair in zip(keys, zip(widths, widths[1:]))]

    def loss(weights, x, y):
        for at in weights[:-1]:
            x = jnp.tanh(x @ at)
        return -jnp.mean(library.nn.log_softmax(x @ weights[-1])[jnp.arange(len(y)), y])

    @library.jit
    def step(weights, x, y):
        return [at - 1e-3 * slope for at, slope in zip(weights, library.grad(loss)(weights, x, y))]

    x, y = numpy.random.default_rng(0).normal(size=(128, 512)).astype("float32"), numpy.arange(128) % 10
    for _ in range(steps):
        weights = step(weights, x, y)
        library.block_until_ready(weights)


def cupy(steps):
    import cupy as library
    a, b = library.random.rand(1024, 1024, dtype="float32"), library.random.rand(1024, 1024, dtype="float32")
    for _ in range(steps):
        a = library.tanh(a @ b / 1024) + 0.5
        float(a.sum())


def ddp(steps):
    import torch
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))
    model = torch.nn.parallel.DistributedDataParallel(perceptron(1024).cuda(), device_ids=[rank])
    train(model, steps, (1024,))
    torch.distributed.destroy_process_group()
    return rank == 0


JOBS = {job.__name__: job for job in (compiled, graphed, transformers, lightning, timm, jax, cupy, ddp)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=JOBS)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if JOBS[args.name](args.steps) is not False:
        print(f"{args.name}: {args.steps} steps")


if __name__ == "__main__":
    sys.exit(main())

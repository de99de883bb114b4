#!/usr/bin/env python3
"""Make labelled PyTorch traces: training loops with one known bottleneck each, and what it really costs.

usage: generate.py FOLDER [--models NAMES] [--precisions NAMES] [--seed N] [--seconds N]
       generate.py --run CELL [--steps N] [--profile] [--blocks] [--trace FILE] [--label FILE] [--signal] [--turn FILE]
       generate.py --list [--models NAMES] [--precisions NAMES] [--seed N]

Each cell is one model, one precision, one kind of loop and one injected cause. Its step is measured without a profiler,
with and without the injection, in blocks that alternate. The step without the injection is measured as a CUDA graph too,
which says how much of it is launching. Then five steps are recorded by torch.profiler.

--run only runs the loop of one cell, injection included, with no profiler: a job for pdhost record. It prints the median of
five blocks of the steps. With --blocks, it makes a block for each line of its standard input instead, and prints the
microseconds of a step of each. With --profile, torch.profiler records them, and nothing is written. With --trace, the loop goes
on after that, and torch.profiler records five of its steps into FILE. With --label, the cell's label is measured first, in
the same process, and is written to FILE: a profiler can leave each launch slower when it has ended. With --signal, the
parent process gets SIGUSR2 before the steps and after them, for which pdhost record --start-on-signal waits, and steps that
follow are timed, too. CELL is the name of a trace without its ending, as encoder_fp32_sync_forced_sync_16. With --turn, one
job at a time uses the GPU, of all that name the same FILE, which has to be there. --list prints the cells in the order of the seed.

The same command goes on where an earlier one ended. A step that cannot be captured leaves PyTorch's random numbers of no
use, so that the script then begins anew by itself.

FOLDER gets one NAME.pt.trace.json.gz for each cell, and labels.json with a line for each, a JSON object in the form that
pdhost score --traces takes (docs/benchmark-of-diagnoses.md):
  trace                 file name
  gains                 share of the step that it takes less without each cause whose effect was measured
  model, precision, sync_each_step   the program; the last is whether each step waits for the device
  cause, detail, dial   what was injected, how, and how strongly
  step_us, control_us   median step with and without the injection
  effect_share          (step - control) / step; effect_blocks has this share for each pair of blocks
  graph_share           of the control step: how much shorter it is as a CUDA graph; null where it could not be captured
  graph_blocks          the same for each pair of blocks
"""
import argparse
import contextlib
import fcntl
import json
import os
import re
import signal
import statistics
import sys
import time
import traceback

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

from cells import CAUSES, cells, label_of, name_of
from loop_models import MODELS, Samples, model_of

# Without it CUPTI stays when torch.profiler has ended, and what is measured after that launches 10 to 20 % more slowly
# (pytorch/pytorch#146604).
os.environ.setdefault('TEARDOWN_CUPTI', '1')
DEVICE = torch.device('cuda')
BLOCK_STEPS = 12
BLOCK_PAIRS = (5, 9)  # at the least, and at the most in this many seconds
BLOCKS_S = 4


def repeated(measure):
    """What BLOCK_PAIRS and BLOCKS_S allow of its results."""
    found, begun = [], time.monotonic()
    while len(found) < BLOCK_PAIRS[0] or (len(found) < BLOCK_PAIRS[1] and time.monotonic() - begun < BLOCKS_S):
        found.append(measure())
    return found


class Program:
    """One training loop with its injection switched on or off."""

    def __init__(self, model, precision, sync, detail, dial):
        torch.manual_seed(0)
        self.kind, self.precision, self.sync, self.detail, self.dial = model, precision, sync, detail, dial
        self.model = model().to(DEVICE)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True, capturable=True)
        self.tiny = nn.Sequential(*(m for _ in range(3) for m in (nn.LayerNorm(64), nn.Linear(64, 64), nn.ReLU()))).to(DEVICE)
        self.tiny_input = torch.randn(16, 64, device=DEVICE)
        self.pageable = torch.randn(max(1, dial) * 65536) if detail == 'pageable_copy' else None
        self.means = [p.detach().clone() for p in self.model.parameters()] if detail == 'launch_loop' else []
        self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]
        self.products = [torch.randn(1024, 1024, device=DEVICE) for _ in range(2)] if detail == 'serial_streams' else []
        self.resident = [(torch.randn(model.batch, *model.shape, pin_memory=True),
                          torch.randint(model.classes, (model.batch,)).pin_memory()) for _ in range(4)]
        self.loaders = {}

    def batches(self, injected):
        """Batches without end: of a DataLoader where the input is the bottleneck, else of page-locked memory. Without
        workers even cheap samples are made in the loop's thread, so the control of input_main takes no loader."""
        if not self.detail.startswith('input') or (self.detail == 'input_main' and not injected):
            while True:
                yield from self.resident
        if injected not in self.loaders:
            data = Samples(self.kind, self.detail if injected else 'none', self.dial)
            workers = {} if self.detail == 'input_main' else {'num_workers': 4, 'prefetch_factor': 2, 'persistent_workers': True}
            self.loaders[injected] = iter(torch.utils.data.DataLoader(data, self.kind.batch, pin_memory=True, **workers))
        yield from self.loaders[injected]

    def loss(self, x, y):
        with torch.autocast('cuda', torch.bfloat16, enabled=self.precision == 'bf16', cache_enabled=False):
            return nn.functional.cross_entropy(self.model(x), y)

    def products_in_turn(self):
        a, b = self.products
        main = torch.cuda.current_stream()
        self.streams[0].wait_stream(main)
        for i in range(self.dial):
            here, there = self.streams[i % 2], self.streams[1 - i % 2]
            with torch.cuda.stream(here):
                torch.mm(a, b)
            there.wait_stream(here)
        main.wait_stream(self.streams[self.dial % 2])

    def step(self, batch, injected):
        detail, dial = (self.detail, self.dial) if injected else ('none', 0)
        if detail == 'pageable_copy':
            self.pageable.to(DEVICE)
        x, y = (t.to(DEVICE, non_blocking=True) for t in batch)
        self.optimizer.zero_grad(set_to_none=True)
        if detail == 'serial_streams':
            self.products_in_turn()
        if detail == 'small_batch':
            for part, labels in zip(x.chunk(dial), y.chunk(dial)):
                (self.loss(part, labels) / dial).backward()
        else:
            loss = self.loss(x, y)
            if detail == 'launch_bound':
                for _ in range(dial):
                    loss = loss + 1e-8 * self.tiny(self.tiny_input).sum()
            if detail == 'forced_sync':
                for _ in range(dial):
                    loss.item()
            if self.detail == 'sync_mask':  # the control picks as many rows, whose number the host knows
                for i in range(self.dial):
                    mask = y % self.dial == i
                    rows = x[mask] if detail == 'sync_mask' else x[mask.to(torch.int64).topk(len(x) // self.dial + 1).indices]
                    loss = loss + 1e-8 * rows.flatten()[:16].sum()
            if detail == 'launch_loop':
                with torch.no_grad():
                    for _ in range(dial):
                        for mean, parameter in zip(self.means, self.model.parameters()):
                            mean.mul_(0.99).add_(parameter, alpha=0.01)
            if detail == 'host_sleep':
                time.sleep(dial / 1e6)
            if detail == 'host_python':
                ' '.join(sorted(str(i * 7919 % 10007) for i in range(dial)))
            if detail == 'host_compute':
                until = time.perf_counter_ns() + dial * 1000
                while time.perf_counter_ns() < until:
                    pass
            if detail == 'allocator':
                for _ in range(dial):
                    torch.zeros(8 << 20, device=DEVICE)
                    torch.cuda.empty_cache()
            loss.backward()
            if detail == 'forced_sync':
                for parameter in list(self.model.parameters())[:dial]:
                    parameter.grad.norm().item()
            if detail == 'sync_device':
                for parameter in list(self.model.parameters())[:dial]:
                    parameter.grad.clamp_(-1, 1)
                    torch.cuda.synchronize()
        self.optimizer.step()
        if self.sync:
            torch.cuda.synchronize()

    def run(self, steps, injected):
        """Microseconds a step. What the loader's workers made while others ran is used up first."""
        batches = self.batches(injected)
        for _ in range(10 if self.detail.startswith('input') else 2):
            self.step(next(batches), injected)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(steps):
            self.step(next(batches), injected)
        torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e6 / steps

    def effect(self):
        """Blocks without and with the injection in turn: (control, injected) of each pair."""
        for injected in (False, True):
            self.run(8, injected)
        return repeated(lambda: (self.run(BLOCK_STEPS, False), self.run(BLOCK_STEPS, True)))

    def graph_shares(self):
        """How much shorter the control step is as a CUDA graph, copies included: the share of each pair of blocks."""
        x, y = (t.to(DEVICE) for t in self.resident[0])
        graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.optimizer.zero_grad(set_to_none=True)
                self.loss(x, y).backward()
                self.optimizer.step()
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)
        # The thread of a loader that page-locks batches may call CUDA meanwhile.
        with torch.cuda.graph(graph, capture_error_mode='thread_local'):
            self.loss(x, y).backward()
            self.optimizer.step()

        def replayed(steps):
            torch.cuda.synchronize()
            start = time.perf_counter()
            for i in range(steps):
                batch = self.resident[i % 4]
                x.copy_(batch[0], non_blocking=True)
                y.copy_(batch[1], non_blocking=True)
                graph.replay()
                if self.sync:
                    torch.cuda.synchronize()
            torch.cuda.synchronize()
            return (time.perf_counter() - start) * 1e6 / steps

        plain = Program(self.kind, self.precision, self.sync, 'none', 0)
        plain.run(8, False)
        replayed(4)
        return sorted(repeated(lambda: 1 - replayed(BLOCK_STEPS) / plain.run(BLOCK_STEPS, False)))

    def record(self, path, injected):
        batches = self.batches(injected)
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
                     schedule=schedule(wait=2, warmup=3, active=5, repeat=1),
                     on_trace_ready=lambda p: p.export_chrome_trace(path)) as profiler:
            for _ in range(10):
                self.step(next(batches), injected)
                profiler.step()


def labels_of(folder):
    path = os.path.join(folder, 'labels.json')
    if not os.path.exists(path):
        return []
    with open(path, encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def begin_anew(arguments, seconds):
    """The same command in a fresh process, for what is left of its time: the last --seconds is the one that counts."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *sys.argv, f'--seconds={arguments.seconds - seconds}'])


def graph_blocks_of(program, name):
    """None: its step cannot be captured, and PyTorch's random numbers are of no use in this process any more."""
    try:
        return program.graph_shares()
    except RuntimeError as error:
        print(f'{name}: not captured as a graph: {str(error).splitlines()[0]}', file=sys.stderr)
        return None


def take_turn(path):
    """Nobody else has it until this process has ended. Each process that waits adds a byte to the file. One that finds the file
    removed when it gets its turn, or its parent ended, ends."""
    parent = os.getppid()
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND)
    except FileNotFoundError:
        sys.exit('generate.py: its turn came too late')
    os.write(file, b'.')
    fcntl.flock(file, fcntl.LOCK_EX)
    if os.fstat(file).st_nlink == 0 or os.getppid() != parent:
        sys.exit('generate.py: its turn came too late')


def tell_recorder():
    """pdhost record --start-on-signal begins its recording, or ends it."""
    os.kill(os.getppid(), signal.SIGUSR2)
    time.sleep(0.5)


def make_blocks(program, steps):
    print('ready', flush=True)
    for _ in sys.stdin:
        print(f'{program.run(steps, True):.1f}', flush=True)


def run_cell(name, arguments):
    """The loop of one cell, as a job that somebody else records. No --steps: what takes ten seconds, 10 to 200."""
    parts = re.fullmatch(r'(.+)_(fp32|tf32|bf16)_(sync|async)_(\w+)_(\d+)', name)
    if not parts or parts[4] not in CAUSES:
        sys.exit(f'generate.py: {name} is no cell; one is encoder_fp32_sync_forced_sync_16')
    model, precision, kind, detail, dial = parts.groups()
    cell = (model, precision, kind == 'sync', detail, int(dial))
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == 'tf32'
    if arguments.turn:
        take_turn(arguments.turn)
    program = Program(model_of(model), *cell[1:])
    kinds = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    if arguments.label:
        label = label_of(cell, program.effect(), graph_blocks_of(program, name))
        with open(arguments.label, 'w', encoding='utf-8') as file:
            file.write(json.dumps(label) + '\n')
        if label['graph_share'] is None:
            sys.exit(f'generate.py: {name}: its label is without graph_share, and the loop cannot go on')
    step_us = program.run(20, True)
    block = -(-(arguments.steps or max(10, min(200, int(10e6 / step_us)))) // 5)
    if arguments.signal:
        tell_recorder()
    with profile(activities=kinds) if arguments.profile else contextlib.nullcontext():
        if arguments.blocks:
            make_blocks(program, block)
            return
        blocks = [program.run(block, True) for _ in range(5)]
    afterwards = ''
    if arguments.signal:
        tell_recorder()
        afterwards = f', afterwards {statistics.median(program.run(block, True) for _ in range(3)):.0f} us'
    if arguments.trace:
        program.record(arguments.trace, True)
    print(f'{name}: step {statistics.median(blocks):.0f} us{afterwards}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('folder', nargs='?')
    parser.add_argument('--models', default=','.join(MODELS), help='of ' + ', '.join(MODELS) + ', or timm-NAME')
    parser.add_argument('--precisions', default='fp32,bf16', help='fp32, tf32 or bf16')
    parser.add_argument('--seed', type=int, default=0, help='order of the cells, so that a short run takes a mixed sample')
    parser.add_argument('--seconds', type=float, default=1e9, help='no new cell is begun after so long')
    parser.add_argument('--list', action='store_true', help='print the names of the cells')
    parser.add_argument('--run', metavar='CELL', help='run the loop of this cell alone')
    parser.add_argument('--steps', type=int, help='of --run; without it, what takes ten seconds, 10 to 200')
    parser.add_argument('--profile', action='store_true', help='of --run: record the steps by torch.profiler')
    parser.add_argument('--blocks', action='store_true', help='of --run: make a block of steps for each line of standard input')
    parser.add_argument('--trace', metavar='FILE', help='of --run: then record five more steps by torch.profiler')
    parser.add_argument('--label', metavar='FILE', help='of --run: first measure what the cure saves, and write the label')
    parser.add_argument('--signal', action='store_true', help='of --run: SIGUSR2 to the parent before the steps and after them')
    parser.add_argument('--turn', metavar='FILE', help='of --run: use the GPU while no other job has this file')
    arguments = parser.parse_args()
    if arguments.list:
        print(*(name_of(*cell) for cell in cells(arguments)), sep='\n')
        return
    if arguments.run:
        run_cell(arguments.run, arguments)
        return
    if not arguments.folder:
        parser.error('FOLDER is missing')
    os.makedirs(arguments.folder, exist_ok=True)
    labels, started = labels_of(arguments.folder), time.monotonic()
    graphs = {(label['model'], label['precision'], label['sync_each_step']): label['graph_blocks'] for label in labels}
    done = {label['trace'] for label in labels}
    for cell in cells(arguments):
        if time.monotonic() - started > arguments.seconds:
            break
        name, (model, precision, sync, detail, dial) = name_of(*cell), cell
        if name + '.pt.trace.json.gz' in done:
            continue
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == 'tf32'
        is_broken = False
        try:
            program = Program(model_of(model), precision, sync, detail, dial)
            pairs = program.effect()
            program.record(os.path.join(arguments.folder, name + '.pt.trace.json.gz'), True)
            if (model, precision, sync) not in graphs:
                graphs[model, precision, sync] = graph_blocks_of(program, name)
                is_broken = graphs[model, precision, sync] is None
        except Exception:  # one cell that fails does not end the others; it gets no label
            traceback.print_exc()
            continue
        label = label_of(cell, pairs, graphs[model, precision, sync])
        labels.append(label)
        with open(os.path.join(arguments.folder, 'labels.json'), 'w') as out:
            out.writelines(json.dumps(each) + '\n' for each in labels)
        print(f'{name}: step {label["step_us"]:.0f} us, control {label["control_us"]:.0f} us, effect {100 * label["effect_share"]:.1f} %',
              flush=True)
        if is_broken:
            begin_anew(arguments, time.monotonic() - started)
        del program
        torch.cuda.empty_cache()


if __name__ == '__main__':
    main()

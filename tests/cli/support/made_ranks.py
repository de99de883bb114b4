"""Made-up data-parallel steps of several ranks as Kineto traces, each rank with a clock of its own."""
import random

from made_trace import MadeTrace

FORWARD, BACKWARD, TRANSFER = 200.0, 300.0, 60.0


class Job:
    """Steps of ranks that wait for one another in two all-reduces of a step: one beside backward, one behind it."""

    def __init__(self, ranks=3, steps=6, input_us=lambda rank, step: 20, host_us=lambda rank, step: 10,
                 kernel_us=lambda rank, step: FORWARD, transfer_us=TRANSFER, second_us=None, named=True,
                 kernel="AllReduce_Sum_f32", pairs=False, grid=int, device=None, mark="ProfilerStep#{0}",
                 collectives=True):
        """`pairs`: the first all-reduce of a step is of two ranks each, 0 and 1, 2 and 3. `grid`: the blocks of the forward
        kernel, from its us; the longer one has more work. `device`: its properties, where it is not the made GPU. `mark`:
        the name of a step, from its number. `collectives` False: none is recorded."""
        clocks = random.Random(5)
        self.kernel, self.pairs, self.grid, self.mark, self.collectives = kernel, pairs, grid, mark, collectives
        self.traces = [MadeTrace(steps=0) for _ in range(ranks)]
        starts, offsets = [0.0] * ranks, [clocks.uniform(0, 5e6) for _ in range(ranks)]
        for rank, trace in enumerate(self.traces):
            if device:
                trace.head["deviceProperties"] = [device]
            if named:
                trace.head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": ranks}
        for step in range(steps):
            plans = [self.plan(starts[rank], input_us(rank, step), host_us(rank, step), kernel_us(rank, step))
                     for rank in range(ranks)]
            first = max(plan["forward_end"] + BACKWARD / 2 for plan in plans) + transfer_us
            second = max(max(plan["backward_end"] for plan in plans), first) + (second_us or transfer_us)
            for rank, plan in enumerate(plans):
                starts[rank] = self.write(self.traces[rank], offsets[rank], step, plan, first, second, rank)

    @staticmethod
    def plan(start, input_us, host_us, kernel_us):
        forward = start + 20 + input_us
        forward_end = forward + 10 + kernel_us
        backward = max(forward_end, forward + 30 + host_us + 10)
        return {"start": start, "input": input_us, "host": host_us, "forward": forward, "forward_end": forward_end,
                "backward": backward, "backward_end": backward + BACKWARD, "kernel": kernel_us}

    def write(self, trace, offset, step, plan, first, second, rank):
        def collective(call, start, end, group=None):
            if not self.collectives:
                return
            trace.host("cuda_runtime", "cudaLaunchKernel", offset + call, 4.0, cbid=211, correlation=trace.number)
            trace.events.append({"ph": "X", "cat": "kernel", "name": f"ncclDevKernel_{self.kernel}_RING_LL(ncclDevKernelArgs)",
                                 "pid": 0, "tid": 20, "ts": offset + start, "dur": end - start,
                                 "args": {"device": 0, "context": 1, "stream": 20, "correlation": trace.number,
                                          "grid": [16, 1, 1], "block": [512, 1, 1], "Collective name": "allreduce",
                                          "In msg nelems": 250000, "dtype": "Float", **(group or {})}})
            trace.number += 1

        trace.host("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                   offset + plan["start"] + 5, plan["input"])
        trace.launch("aten::linear", "forward_kernel", offset + plan["forward"], offset + plan["forward"] + 10, plan["kernel"],
                     (self.grid(plan["kernel"]), 1, 1))
        launch = plan["forward"] + 30 + plan["host"]
        trace.launch("aten::mm", "backward_kernel", offset + launch, offset + plan["backward"], BACKWARD)
        half = plan["forward_end"] + BACKWARD / 2
        pair = {"Group size": 2, "Process Group Ranks": str([rank & ~1, rank | 1])} if self.pairs else None
        collective(launch + 20, half, first, pair)
        collective(launch + 26, max(plan["backward_end"], first), second)
        trace.launch("aten::_fused_adamw_", "adamw_kernel", offset + launch + 40, offset + second + 2, 30.0)
        end = second + 40
        trace.host("cuda_runtime", "cudaDeviceSynchronize", offset + launch + 60, end - launch - 60, cbid=165,
                   correlation=trace.number)
        trace.number += 1
        trace.host("user_annotation", self.mark.format(step), offset + plan["start"], end + 3 - plan["start"])
        return end + 5

/* The metrics. One row each: X(key, heading, heading on a CUDA device, unit, flags, definition, formula or
 * NULL, source). Table headings, CSV columns, JSON keys, docs/metrics.md and --explain come from here. */
#ifndef CORE_TABLES_METRICS_MAP_H
#define CORE_TABLES_METRICS_MAP_H

#include "memory_metrics_map.h"
#include "rank_metrics_map.h"
#include "series_metrics_map.h"

#define TORCH_TABLE "torch key_averages().table()"
#define PADDLE "Paddle Profiler.summary()"
#define TB_PLUGIN "torch_tb_profiler"
#define WIDE PD_METRIC_WIDE
#define DETAIL PD_METRIC_DETAIL

#define METRIC_MAP(X)                                                                                                  \
  /* names and keys of rows */                                                                                         \
  X(name, "Name", "Name", TEXT, 0, "what the row is about; events of one name share a row", NULL, TORCH_TABLE)         \
  X(kind, "Kind", "Kind", TEXT, DETAIL,                                                                                \
    "what the row is: op, user or runtime; in nested tables operator, inner or device", NULL, "pdhost")                \
  X(thread, "Thread", "Thread", TEXT, 0, "the thread the row's ranges ran on", NULL, PADDLE)                           \
  X(event_type, "Event Type", "Event Type", TEXT, 0, "type of event the row adds up", NULL, PADDLE)                    \
  X(device, "Device", "Device", TEXT, 0, "the device the row is about", NULL, PADDLE)                                  \
  X(category, "Category", "Category", TEXT, 0, "class of the step's time, in falling priority", NULL, TB_PLUGIN)       \
  X(input_shapes, "Input Shapes", "Input Shapes", TEXT, 0, "shapes of the operation's inputs", NULL, TORCH_TABLE)      \
  X(operator, "Operator", "Operator", TEXT, 0, "innermost operator around the launch of the row's kernels", NULL,      \
    TB_PLUGIN)                                                                                                         \
  X(source_location, "Source Location", "Source Location", TEXT, 0,                                                    \
    "the innermost frames of the operation's call stack, with file and line where they are known", NULL, TORCH_TABLE)  \
  X(module, "Module", "Module", TEXT, 0, "module path of the operation, such as SimpleCNN.conv1", NULL,                \
    "torch with_modules")                                                                                              \
  X(operator_module, "Module", "Module", TEXT, WIDE,                                                                   \
    "module path of the row's operations, where all of them ran in the same module", NULL, "torch with_modules")       \
  X(stack, "Stack", "Stack", TEXT, 0, "frames joined by semicolons, outermost first", NULL, "torch export_stacks()")   \
  /* operator table */                                                                                                 \
  X(count, "# of Calls", "# of Calls", COUNT, 0, "how many ranges, calls or device records the row merges", NULL,      \
    TORCH_TABLE)                                                                                                       \
  X(self_cpu_time_total, "Self CPU", "Self CPU", NS, 0, "host time in the row's ranges outside their direct children", \
    "sum over ranges (span - sum of spans of direct child ranges and runtime calls)", TORCH_TABLE)                     \
  X(self_cpu_percent, "Self CPU %", "Self CPU %", PERCENT, WIDE, "share of the sum of all self host times",            \
    "100 * self_cpu_time_total / sum over rows of self_cpu_time_total", TORCH_TABLE)                                   \
  X(cpu_time_total, "CPU total", "CPU total", NS, 0, "host time in the row's ranges, children included",               \
    "sum of spans of the ranges that no range of the same row holds", TORCH_TABLE)                                     \
  X(cpu_total_percent, "CPU total %", "CPU total %", PERCENT, WIDE,                                                    \
    "share of the sum of all self host times; nested rows count again",                                                \
    "100 * cpu_time_total / sum over rows of self_cpu_time_total", TORCH_TABLE)                                        \
  X(cpu_time, "CPU time avg", "CPU time avg", NS, WIDE, "host time per call", "cpu_time_total / count, rounded down",  \
    TORCH_TABLE)                                                                                                       \
  X(self_device_time_total, "Self Device", "Self CUDA", NS, 0,                                                         \
    "device time of what the row's ranges launched themselves; of a kernel or copy, its own",                          \
    "sum of spans of device records whose launch lies directly in the row's ranges", TORCH_TABLE)                      \
  X(self_device_percent, "Self Device %", "Self CUDA %", PERCENT, WIDE, "share of all device time",                    \
    "100 * self_device_time_total / sum of spans of all device records", TORCH_TABLE)                                  \
  X(device_time_total, "Device total", "CUDA total", NS, 0,                                                            \
    "device time of what was launched within the row's ranges, nested ranges included; a sum: overlapping streams "    \
    "count twice",                                                                                                     \
    "sum of spans of device records launched within the ranges that no range of the same row holds", TORCH_TABLE)      \
  X(device_time, "Device time avg", "CUDA time avg", NS, WIDE, "device time per call",                                 \
    "device_time_total / count, rounded down", TORCH_TABLE)                                                            \
  X(cpu_memory_usage, "CPU Mem", "CPU Mem", BYTES, WIDE, "host bytes allocated minus freed within the row's ranges",   \
    "sum of bytes of host memory events inside; frees are negative", TORCH_TABLE)                                      \
  X(self_cpu_memory_usage, "Self CPU Mem", "Self CPU Mem", BYTES, WIDE, "the same, outside child ranges", NULL,        \
    TORCH_TABLE)                                                                                                       \
  X(device_memory_usage, "Device Mem", "CUDA Mem", BYTES, WIDE,                                                        \
    "device bytes allocated minus freed within the row's ranges",                                                      \
    "sum of bytes of device memory events inside; frees are negative", TORCH_TABLE)                                    \
  X(self_device_memory_usage, "Self Device Mem", "Self CUDA Mem", BYTES, WIDE, "the same, outside child ranges", NULL, \
    TORCH_TABLE)                                                                                                       \
  X(flops, "Total FLOPs", "Total FLOPs", FLOPS, WIDE, "floating point operations of convolutions and matrix products", \
    "sum of 2 x multiply-adds, from the shapes", "torch with_flops")                                                   \
  /* Paddle's groups */                                                                                                \
  X(calls, "Calls", "Calls", COUNT, 0, "how many events the row merges", NULL, PADDLE)                                 \
  X(cpu_total, "CPU Total", "CPU Total", NS, 0, "host time of the row's events", "sum of spans", PADDLE)               \
  X(cpu_avg, "CPU Avg", "CPU Avg", NS, WIDE, "mean host time of an event", "cpu_total / calls, rounded down", PADDLE)  \
  X(cpu_max, "CPU Max", "CPU Max", NS, WIDE, "longest event on the host", NULL, PADDLE)                                \
  X(cpu_min, "CPU Min", "CPU Min", NS, WIDE, "shortest event on the host", NULL, PADDLE)                               \
  X(cpu_ratio, "CPU Ratio (%)", "CPU Ratio (%)", PERCENT, 0,                                                           \
    "share of the table's host time; of an inner row, of its parent's",                                                \
    "100 * cpu_total / the whole named in the table's note; Model Summary: ProfileStep's cpu_total", PADDLE)           \
  X(gpu_total, "Device Total", "GPU Total", NS, 0, "device time of what the row's events launched, or of the records", \
    "sum of spans of device records", PADDLE)                                                                          \
  X(gpu_avg, "Device Avg", "GPU Avg", NS, WIDE, "mean device time of an event", "gpu_total / calls, rounded down",     \
    PADDLE)                                                                                                            \
  X(gpu_max, "Device Max", "GPU Max", NS, WIDE, "most device time of an event", NULL, PADDLE)                          \
  X(gpu_min, "Device Min", "GPU Min", NS, WIDE, "least device time of an event", NULL, PADDLE)                         \
  X(gpu_ratio, "Device Ratio (%)", "GPU Ratio (%)", PERCENT, 0,                                                        \
    "share of the table's device time; of an inner row, of its parent's",                                              \
    "100 * gpu_total / the whole named in the table's note; Model Summary: ProfileStep's gpu_total", PADDLE)           \
  X(cpu_time_union, "CPU Time", "CPU Time", NS, 0, "host time with at least one event of the type",                    \
    "length of the union of the spans over all threads", PADDLE)                                                       \
  X(gpu_time_union, "Device Time", "GPU Time", NS, 0, "device time with at least one record of the type",              \
    "length of the union of the spans over all streams", PADDLE)                                                       \
  X(step_ratio, "Ratio (%)", "Ratio (%)", PERCENT, 0, "share of the time of all steps",                                \
    "100 * time / sum of the spans of the steps", PADDLE)                                                              \
  X(total_time, "Total Time", "Total Time", NS, 0, "time covered by the row's events",                                 \
    "length of the union of their spans", PADDLE)                                                                      \
  X(utilization, "Utilization (%)", "Utilization (%)", PERCENT, 0,                                                     \
    "time in use over elapsed time; of a process, CPU time as per cent of one core",                                   \
    "CPU(Process): 100 * CPU time / elapsed; CPU(System): 100 * busy / (busy + idle) over all cores; device: 100 * "   \
    "union of activity / elapsed",                                                                                     \
    PADDLE)                                                                                                            \
  X(utilization_bound, "At most (%)", "At most (%)", PERCENT, 0, "what the utilization would be with all cores busy",  \
    "CPU(Process): 100 * cores; else 100", "pdhost")                                                                   \
  /* rows of the Model Summary */                                                                                      \
  X(model_step, "ProfileStep", "ProfileStep", NS, DETAIL,                                                              \
    "row of the Model Summary: whole steps, and the whole that its ratios are of",                                     \
    "sum of the spans of the steps; device: sum of spans of the records launched in steps", PADDLE)                    \
  X(model_dataloader, "Dataloader", "Dataloader", NS, DETAIL, "row of the Model Summary: the loop's wait for a batch", \
    "length of the union of its ranges on the loop's thread, within the steps", PADDLE)                                \
  X(model_forward, "Forward", "Forward", NS, DETAIL, "row of the Model Summary: the forward pass",                     \
    "length of (union of its ranges minus the rows above), within the steps", PADDLE)                                  \
  X(model_backward, "Backward", "Backward", NS, DETAIL, "row of the Model Summary: the backward pass",                 \
    "length of (union of its ranges minus the rows above), within the steps", PADDLE)                                  \
  X(model_optimization, "Optimization", "Optimization", NS, DETAIL, "row of the Model Summary: the optimiser's step",  \
    "length of (union of its ranges minus the rows above), within the steps", PADDLE)                                  \
  X(model_others, "Others", "Others", NS, DETAIL, "row of the Model Summary: the rest of the steps",                   \
    "ProfileStep - Dataloader - Forward - Backward - Optimization", PADDLE)                                            \
  /* kernels and copies */                                                                                             \
  X(grid, "Grid", "Grid", TEXT, WIDE, "blocks per launch in x,y,z, where all launches agree", NULL, "CUPTI")           \
  X(block, "Block", "Block", TEXT, WIDE, "threads per block in x,y,z, where all launches agree", NULL, "CUPTI")        \
  X(registers, "Regs", "Regs", COUNT, WIDE, "registers per thread, where all launches agree", NULL, "CUPTI")           \
  X(shared_memory, "Shared", "Shared", BYTES, WIDE,                                                                    \
    "static and dynamic shared memory per block, where all launches agree", NULL, "CUPTI")                             \
  X(occupancy, "Est. Occ. (%)", "Est. Occ. (%)", PERCENT, WIDE, "estimated achieved occupancy, weighted by duration",  \
    "sum (span * estimated occupancy) / sum of spans, over records where it is known", TB_PLUGIN)                      \
  X(blocks_per_sm, "Blocks/SM", "Blocks/SM", RATIO, WIDE, "mean blocks per multiprocessor, weighted by duration",      \
    "sum (span * blocks / SMs) / sum of spans", TB_PLUGIN)                                                             \
  X(bytes, "Bytes", "Bytes", BYTES, 0, "bytes moved, set, allocated or freed", NULL, "pdhost")                         \
  X(bandwidth, "GB/s", "GB/s", GB_PER_S, 0, "bytes over device time, in 10^9 bytes per second", "bytes / gpu_total",   \
    "pdhost")                                                                                                          \
  /* steps */                                                                                                          \
  X(step, "Step", "Step", COUNT, 0, "number of the step in the loop", NULL, "torch ProfilerStep#N")                    \
  X(step_start, "Start", "Start", NS, DETAIL, "start of the step in the window's time", NULL, "pdhost")                \
  X(step_span, "Span", "Span", NS, 0, "whole step: from the end of the step before to the step's own end", NULL,       \
    "Paddle batch_cost")                                                                                               \
  X(step_time, "After wait", "After wait", NS, 0, "the part of the step after its wait for the batch",                 \
    "t1 - t0, or device time without "                                                                                 \
    "synchronisation",                                                                                                 \
    "profiler_demo step_time")                                                                                         \
  X(data_wait, "Data wait", "Data wait", NS, 0, "wait for the batch", "now - end of the previous step",                \
    "profiler_demo dataloader_wait")                                                                                   \
  X(launches, "Launches", "Launches", COUNT, 0, "successful launches, copies and sets; a graph launch counts once",    \
    NULL, "pdhost")                                                                                                    \
  X(matched, "Matched", "Matched", COUNT, WIDE, "launches that have their device record", NULL, "pdhost")              \
  X(device_records, "Device rows", "Device rows", COUNT, WIDE, "device records of the step's launches", NULL,          \
    "pdhost")                                                                                                          \
  X(device_busy, "Device busy", "GPU busy", NS, 0, "time in the step with at least one device record",                 \
    "length of (union of spans of device records, intersected with the step)", "pdhost")                               \
  X(loss, "Loss", "Loss", NONE, 0, "loss of the step; empty where it was not read", NULL, "pdhost")                    \
  X(step_kernel, "Kernel", "Kernel", NS, WIDE, "time with a kernel running", "union of kernels", TB_PLUGIN)            \
  X(step_memcpy, "Memcpy", "Memcpy", NS, WIDE, "time with a copy running and no kernel", NULL, TB_PLUGIN)              \
  X(step_memset, "Memset", "Memset", NS, WIDE, "time with a set running and nothing above it", NULL, TB_PLUGIN)        \
  X(step_communication, "Communication", "Communication", NS, WIDE, "time in collectives and nothing above it", NULL,  \
    TB_PLUGIN)                                                                                                         \
  X(step_runtime, "Runtime", "Runtime", NS, WIDE, "time in runtime calls and nothing above it", NULL, TB_PLUGIN)       \
  X(step_dataloader, "DataLoader", "DataLoader", NS, WIDE, "time waiting for a batch and nothing above it", NULL,      \
    TB_PLUGIN)                                                                                                         \
  X(step_cpu_exec, "CPU Exec", "CPU Exec", NS, WIDE, "time in host ranges and nothing above it", NULL, TB_PLUGIN)      \
  X(step_other, "Other", "Other", NS, WIDE, "the rest of the step", NULL, TB_PLUGIN)                                   \
  X(total, "Total", "Total", NS, 0, "time of the class over all steps that no class above it covers",                  \
    "length of (union of the class minus the classes above it), intersected with the steps", TB_PLUGIN)                \
  X(per_step, "Per step", "Per step", NS, 0, "the same per step", "total / steps, rounded down", TB_PLUGIN)            \
  X(share, "Share (%)", "Share (%)", PERCENT, 0, "share of the steps' time; the rows add up to 100",                   \
    "100 * total / sum of the spans of the steps", TB_PLUGIN)                                                          \
  X(gpu_utilization, "Device util. (%)", "GPU util. (%)", PERCENT, 0, "time with at least one kernel running",         \
    "100 * union of kernels within the window / (end of last step - start of first)", TB_PLUGIN)                       \
  X(sm_efficiency, "Est. SM eff. (%)", "Est. SM eff. (%)", PERCENT, 0,                                                 \
    "share of the multiprocessors that had a block to run",                                                            \
    "100 * integral of min(1, sum of blocks per SM of running kernels) / window; 0 where nothing runs", TB_PLUGIN)     \
  X(achieved_occupancy, "Est. occupancy (%)", "Est. occupancy (%)", PERCENT, 0,                                        \
    "estimated achieved occupancy of kernels, weighted by their time in the window",                                   \
    "sum (time * estimated occupancy) / sum of time, over kernels where it is known", TB_PLUGIN)                       \
  /* ledger, verdict */                                                                                                \
  X(cause, "Cause", "Cause", TEXT, DETAIL,                                                                             \
    "key of the cause in the ledger, as in the name of its column of ledger_steps, after ledger_", NULL, "pdhost")     \
  X(state, "State", "State", TEXT, 0, "whether the device was busy or idle in the row's time", NULL, "pdhost")         \
  X(ledger_serialised, "Kernels that another stream waits for", "Kernels that another stream waits for", NS, WIDE,     \
    "time in which the only kernels that run are some that another stream waits for",                                  \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_passes, "Cost of more passes than one", "Cost of more passes than one", NS, WIDE,                           \
    "time of kernels that one pass with all samples would not need",                                                   \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_compute, "Kernels", "Kernels", NS, WIDE, "time in which a kernel runs that no other row is for",            \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_temporaries, "Kernels on temporaries", "Kernels on temporaries", NS, WIDE,                                  \
    "time in which only kernels run that fill memory which is freed in the same step",                                 \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_tiny_kernels, "Tiny kernels", "Tiny kernels", NS, WIDE,                                                     \
    "time in which only kernels run that are as short as a kernel can be",                                             \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_copy_read, "Exposed blocking read", "Exposed blocking read", NS, WIDE,                                      \
    "time in which only a copy to the host runs, and the host waits for it",                                           \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_copy_late, "Exposed copy of a late batch", "Exposed copy of a late batch", NS, WIDE,                        \
    "time in which only copies of a batch run that came too late to be hidden",                                        \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_copy_pageable, "Exposed pageable copy", "Exposed pageable copy", NS, WIDE,                                  \
    "time in which only copies run, from or to pageable host memory",                                                  \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_copy_pinned, "Exposed pinned copy", "Exposed pinned copy", NS, WIDE,                                        \
    "time in which only copies run, from or to pinned host memory",                                                    \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_copy_device, "Exposed device copy or set", "Exposed device copy or set", NS, WIDE,                          \
    "time in which only copies within the device run, or sets of memory",                                              \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_communication, "Exposed communication", "Exposed communication", NS, WIDE,                                  \
    "time in which only collectives run: they transfer, or wait for another rank",                                     \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_profiler, "Profiler overhead", "Profiler overhead", NS, WIDE,                                               \
    "time in which the device is idle since recording holds the host up",                                              \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_launch_gap, "Device's own cost per launch", "Device's own cost per launch", NS, WIDE,                       \
    "time between two pieces of queued work, which the device itself takes to begin the next one",                     \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_device_side, "Device-side dependency", "Device-side dependency", NS, WIDE,                                  \
    "time in which launched work has not begun: it waits for other work or an event",                                  \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_input_io, "Input wait: I/O", "Input wait: I/O", NS, WIDE,                                                   \
    "time in which the device is idle and the loop waits for a batch that a worker reads",                             \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_input_cpu, "Input wait: CPU work", "Input wait: CPU work", NS, WIDE,                                        \
    "time in which the device is idle and the loop waits for a batch that a worker computes, or computes it itself",   \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_input_handover, "Input wait: hand-over", "Input wait: hand-over", NS, WIDE,                                 \
    "time in which the device is idle and the loop waits for a batch that is on its way, or of which nothing is "      \
    "known",                                                                                                           \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_allocator, "Allocator", "Allocator", NS, WIDE,                                                              \
    "time in which the device is idle and the host allocates or frees device memory",                                  \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_measurement, "Synchronisations between steps", "Synchronisations between steps", NS, WIDE,                  \
    "time in which the device is idle and the loop waits for it between two steps",                                    \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_host_compute, "Host compute", "Host compute", NS, WIDE,                                                     \
    "time in which the device is idle and the host computes without a call",                                           \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_forced_sync, "Forced synchronisation", "Forced synchronisation", NS, WIDE,                                  \
    "time in which the device is idle after the host has waited for it within the step",                               \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_transfer, "Pageable copy staged by the host", "Pageable copy staged by the host", NS, WIDE,                 \
    "time in which the device is idle and the host stages a copy from pageable memory",                                \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_launch, "Host launching", "Host launching", NS, WIDE,                                                       \
    "time in which the device is idle and the host launches, or works between launches",                               \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(ledger_unknown, "Unknown", "Unknown", NS, WIDE,                                                                    \
    "time in which the device is idle, and the records do not show why",                                               \
    "first owner in the order of core/ledger/ledger.h", "pdhost")                                                      \
  X(removed, "Without", "Without", TEXT, 0, "the cause that the replay takes away, or several together", NULL,         \
    "pdhost")                                                                                                          \
  X(removed_cause, "Cause", "Cause", TEXT, DETAIL,                                                                     \
    "key of that cause as scenarios spell it; several with spaces between", NULL, "pdhost")                            \
  X(gain, "Gain (%)", "Gain (%)", PERCENT, 0, "what the step would save without the cause; gains do not add up",       \
    "100 * (step with it - step without it) / step now, by the replay of core/ledger/replay.h", "pdhost")              \
  X(gain_low, "Low (%)", "Low (%)", PERCENT, WIDE, "lower end of the gain's 95 % interval",                            \
    "2.5 % quantile of the gains of as many steps drawn with repetition", "pdhost")                                    \
  X(gain_high, "High (%)", "High (%)", PERCENT, WIDE, "upper end of the gain's 95 % interval",                         \
    "97.5 % quantile of the gains of as many steps drawn with repetition", "pdhost")                                   \
  X(gain_step, "Step then", "Step then", NS, 0, "mean step without the cause", "step now * (1 - gain)", "pdhost")      \
  X(corrected_part, "Step", "Step", TEXT, 0, "as recorded, what recording adds, or with that taken off", NULL,         \
    "pdhost")                                                                                                          \
  X(corrected_time, "Mean", "Mean", NS, 0, "mean over the window's steps, or what is added to each",                   \
    "recorded steps' median - median of the steps without the profiler, where those are known; else estimated",        \
    "pdhost")                                                                                                          \
  X(corrected_low, "Low", "Low", NS, 0, "lower end of its 95 % interval", "order statistics of the recorded steps",    \
    "pdhost")                                                                                                          \
  X(corrected_high, "High", "High", NS, 0, "upper end of its 95 % interval", "order statistics of the recorded steps", \
    "pdhost")                                                                                                          \
  X(corrected_share, "Of step (%)", "Of step (%)", PERCENT, 0, "share of the step as recorded",                        \
    "100 * added / mean step", "pdhost")                                                                               \
  X(gain_idle, "Idle (%)", "Idle (%)", PERCENT, WIDE,                                                                  \
    "share of the steps in which the device is idle while the host is busy with the cause; of pageable copies, their " \
    "own time too",                                                                                                    \
    "100 * idle time by the owner of the host's time / span of the steps", "pdhost")                                   \
  X(gain_captured, "Graph (%)", "Graph (%)", PERCENT, DETAIL,                                                          \
    "of the gain of launching, what one CUDA graph of the same kernels saves (in a run of pdhost, of the "             \
    "training kit's kernels); of other causes, the gain",                                                              \
    "100 * (step now - step launched as a graph) / step now", "pdhost")                                                \
  X(gain_then, "Then", "Then", TEXT, WIDE, "the cause that brings most once this one is gone", NULL, "pdhost")         \
  X(gain_more, "Then (%)", "Then (%)", PERCENT, WIDE, "how much more that is",                                         \
    "100 * (step without the first - step without both) / step now", "pdhost")                                         \
  X(idle_reason, "Launching thread", "Launching thread", TEXT, 0,                                                      \
    "what the thread that launches next was at, as the system saw it, outside its calls of CUDA", NULL, "pdhost")      \
  X(idle_state, "State", "State", TEXT, DETAIL,                                                                        \
    "runs, delayed (without a processor), read, poll, futex, sleep, fault, call, blocked, unknown", NULL, "pdhost")    \
  X(idle_time, "Device idle", "Device idle", NS, 0, "time of the steps in which the device was idle meanwhile", NULL,  \
    "pdhost")                                                                                                          \
  X(idle_per_step, "Per step", "Per step", NS, 0, "the same per step", "idle_time / steps, rounded down", "pdhost")    \
  X(idle_share, "Of steps (%)", "Of steps (%)", PERCENT, 0, "as a share of the steps' time", NULL, "pdhost")           \
  X(code_place, "Line", "Line", TEXT, 0,                                                                               \
    "innermost line of the program's own Python code on the thread that launches next", NULL, "pdhost")                \
  X(code_samples, "Samples", "Samples", COUNT, 0, "how often it was there while the device was idle", NULL, "pdhost")  \
  X(code_share, "Share (%)", "Share (%)", PERCENT, 0, "share of all samples while the device was idle",                \
    "100 * code_samples / sum over rows of code_samples", "pdhost")                                                    \
  X(child, "Child", "Child", TEXT, 0, "a process that the program has started, with its number", NULL, "pdhost")       \
  X(child_processors, "Processor (%)", "Processor (%)", PERCENT, 0,                                                    \
    "its processor time in the steps; 100 is one processor that is always busy", NULL, "pdhost")                       \
  X(child_disk, "Disk (GB/s)", "Disk (GB/s)", GB_PER_S, 0, "what it read from storage in the steps", NULL, "pdhost")   \
  X(child_read, "Read (GB/s)", "Read (GB/s)", GB_PER_S, 0,                                                             \
    "what it read by calls in the steps, from memory, pipes and sockets too", NULL, "pdhost")                          \
  X(verdict, "Verdict", "Verdict", TEXT, 0, "where the time of the steps goes, in one line; or why that is not said",  \
    NULL, "pdhost")                                                                                                    \
  X(verdict_cause, "Cause", "Cause", TEXT, DETAIL,                                                                     \
    "the verdict as one word: a bottleneck as scenarios spell it, none, or withheld", NULL, "pdhost")                  \
  X(verdict_share, "Share (%)", "Share (%)", PERCENT, 0,                                                               \
    "what the step would save without the cause; with no bottleneck, how much of it the device is busy",               \
    "gain of the cause in the table gains; none: 100 * time with a device record / span of the steps", "pdhost")       \
  X(verdict_repeatable, "Repeatable (%)", "Repeatable (%)", PERCENT, 0,                                                \
    "how often as many steps, drawn with repetition, give the verdict", "100 * draws that agree / draws", "pdhost")    \
  X(verdict_evidence, "Evidence", "Evidence", TEXT, 0, "the figures that the verdict rests on", NULL, "pdhost")        \
  X(verdict_others, "Others", "Others", TEXT, 0,                                                                       \
    "the largest of the other causes, and what the step would save without each", NULL, "pdhost")                      \
  X(verdict_helps, "What helps", "What helps", TEXT, 0,                                                                \
    "what takes the cause out of a program, or what a verdict needs, in words", NULL, "pdhost")                        \
  X(verdict_next, "Try next", "Try next", TEXT, 0, "a command whose run would show the cause gone or smaller", NULL,   \
    "pdhost")                                                                                                          \
  X(verdict_after, "Afterwards", "Afterwards", TEXT, 0,                                                                \
    "of another program: what to type once it was changed; NEW stands for its new trace", NULL, "pdhost")              \
  X(verdict_overrides, "Settings", "Settings", TEXT, DETAIL,                                                           \
    "what that command sets anew: section.key=value, separated by spaces; none where it only looks closer", NULL,      \
    "pdhost")                                                                                                          \
  X(verdict_step, "Step now", "Step now", NS, 0, "mean step without what recording adds to it",                        \
    "from the replay with nothing removed", "pdhost")                                                                  \
  X(verdict_expected, "Step expected", "Step expected", NS, 0, "mean step without the cause",                          \
    "verdict_step * (1 - what the settings save; without settings the gain of the cause)", "pdhost")                   \
  RANK_METRIC_MAP(X)                                                                                                   \
  MEMORY_METRIC_MAP(X)                                                                                                 \
  SERIES_METRIC_MAP(X)                                                                                                 \
  /* floating point work, modules */                                                                                   \
  X(flops_per_step, "FLOPs/step", "FLOPs/step", FLOPS, 0, "floating point operations per step, rounded down",          \
    "flops / steps", "pdhost")                                                                                         \
  X(flops_per_s, "FLOP/s", "FLOP/s", PER_S, 0, "achieved rate on the device", "flops / device time", "pdhost")         \
  X(peak_kind, "Peak of", "Peak of", TEXT, WIDE, "arithmetic whose peak the share is of: float16, tf32 or float32",    \
    NULL, "pdhost")                                                                                                    \
  X(peak_percent, "Of peak (%)", "Of peak (%)", PERCENT, 0,                                                            \
    "share of the device's peak in that arithmetic, where it is known", "100 * flops_per_s / peak", "pdhost")          \
  X(value_us, "us", "us", COUNT, 0, "time of the stack itself in whole microseconds",                                  \
    "round(sum of self times in ns / 1000)", "torch export_stacks()")                                                  \
  /* figures of the whole run */                                                                                       \
  X(avg_step_time_s, "avg_step_time_s", "avg_step_time_s", NONE, DETAIL,                                               \
    "mean of step_time over all steps of the loop, in seconds", "sum of step_time / steps", "profiler_demo")           \
  X(avg_dataloader_wait_s, "avg_dataloader_wait_s", "avg_dataloader_wait_s", NONE, DETAIL,                             \
    "mean wait for a batch over all steps of the loop, in seconds", "sum of waits / steps", "profiler_demo")           \
  X(active_step_time_s, "after the wait", "after the wait", NONE, DETAIL,                                              \
    "step_time over the active steps, in seconds: count, mean, median, min, max, p10 and p90", NULL, "pdhost")         \
  X(active_dataloader_wait_s, "data wait", "data wait", NONE, DETAIL,                                                  \
    "wait for a batch over the active steps, in seconds: count, mean, median, min, max, p10 and p90", NULL, "pdhost")  \
  X(active_batch_cost_s, "whole step", "whole step", NONE, DETAIL,                                                     \
    "the whole step over the active steps, in seconds: count, mean, median, min, max, p10 and p90",                    \
    "of each step: end of previous step to end of step", "pdhost")                                                     \
  X(mean, "mean", "mean", NONE, DETAIL, "arithmetic mean over the active steps", "sum / count", "pdhost")              \
  X(median, "median", "median", NONE, DETAIL, "half of the active steps lie below; between neighbours linearly", NULL, \
    "pdhost")                                                                                                          \
  X(p10, "p10", "p10", NONE, DETAIL, "10 per cent of the active steps lie below; between neighbours linearly", NULL,   \
    "pdhost")                                                                                                          \
  X(p90, "p90", "p90", NONE, DETAIL, "90 per cent of the active steps lie below; between neighbours linearly", NULL,   \
    "pdhost")                                                                                                          \
  X(steps_per_s, "steps_per_s", "steps_per_s", PER_S, DETAIL, "active steps per second",                               \
    "active steps / sum of batch_cost", "pdhost")                                                                      \
  X(samples_per_s, "samples_per_s", "samples_per_s", PER_S, DETAIL, "samples of the active steps per second",          \
    "batch_size * steps_per_s", "pdhost")                                                                              \
  X(first_batch_s, "first batch", "first batch", NONE, DETAIL,                                                         \
    "wait for the first batch of the loop's iterator, in seconds", NULL, "pdhost")                                     \
  X(peak_allocated_bytes, "peak device memory", "peak device memory", BYTES, DETAIL,                                   \
    "most device bytes allocated at one time", "maximum over the run", "pdhost")                                       \
  X(peak_reserved_bytes, "peak device memory", "peak device memory", BYTES, DETAIL,                                    \
    "most device bytes reserved from the system, in use or kept for reuse", "maximum over the run", "pdhost")          \
  X(pauses, "pauses", "pauses", COUNT, DETAIL, "how often the user paused the recording", "pdhost pause", "pdhost")    \
  X(paused_s, "paused", "paused", NONE, DETAIL,                                                                        \
    "seconds in which the recording was paused; they belong to no window, and to no figure", "pdhost pause", "pdhost") \
  X(lost, "lost", "lost", COUNT, DETAIL, "records and events that were lost, by reason, over all windows", NULL,       \
    "pdhost")                                                                                                          \
  X(coverage, "coverage", "coverage", RATIO, DETAIL,                                                                   \
    "share of launches in active steps that have their device record", "matched / launches", "pdhost")                 \
  X(reader_cost, "reader_cost", "reader_cost", NS, DETAIL, "wait for data of one step", "data wait",                   \
    "Paddle step_info()")                                                                                              \
  X(batch_cost, "batch_cost", "batch_cost", NS, DETAIL, "the whole step, its wait included",                           \
    "end of previous step to end of step", "Paddle step_info()")                                                       \
  X(ips, "ips", "ips", PER_S, DETAIL, "samples per second; over several steps, total samples over total time",         \
    "samples / batch_cost", "Paddle step_info()")                                                                      \
  X(reader_ratio, "Reader Ratio", "Reader Ratio", PERCENT, DETAIL, "share of the steps that is wait for data",         \
    "100 * sum of reader_cost / sum of batch_cost", "Paddle Perf Summary")                                             \
  X(figure_unit, "Unit", "Unit", TEXT, 0, "what the row's figures are counted in", NULL, "Paddle Perf Summary")        \
  X(avg, "avg", "avg", NONE, 0,                                                                                        \
    "over all of the steps at once: of costs their mean, of ips total samples over total "                             \
    "time, of Reader Ratio total wait over total time",                                                                \
    NULL, "Paddle Perf Summary")                                                                                       \
  X(max, "max", "max", NONE, 0, "largest of one step", NULL, "Paddle Perf Summary")                                    \
  X(min, "min", "min", NONE, 0, "smallest of one step", NULL, "Paddle Perf Summary")                                   \
  X(p50, "p50", "p50", NONE, 0, "half of the steps lie below; between neighbours linearly", NULL, "pdhost")            \
  X(p95, "p95", "p95", NONE, 0, "95 per cent of the steps lie below; between neighbours linearly", NULL, "pdhost")     \
  X(step_count, "Steps", "Steps", COUNT, DETAIL, "how many steps the row's figures are over", NULL, "pdhost")          \
  X(first_step, "First", "First", COUNT, DETAIL, "number of the first of these steps in the loop", NULL, "pdhost")     \
  X(last_step, "Last", "Last", COUNT, DETAIL, "number of the last of these steps in the loop", NULL, "pdhost")

#endif

"""Holistic Trace Analysis runs on a run's traces, and where both define a figure it is pdhost's.
Usage: check_hta.py RUN_FOLDER ..."""
import os
import shutil
import sys
import tempfile

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else kernels below a microsecond have no duration

from hta.trace_analysis import TraceAnalysis  # noqa: E402

from run_folder import Checks, runs_of, union_ns  # noqa: E402


def analysis_of(path):
    """HTA takes every json of a folder for another rank's trace: this one gets a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, folder)
        return TraceAnalysis(trace_dir=folder, include_last_profiler_step=True)


def spans(rows):
    return [(int(row["start_ns"]), int(row["end_ns"])) for row in rows]


def check_temporal(checks, analysis, kernels, copies):
    theirs = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    everything = spans(kernels) + spans(copies)
    busy, compute = union_ns(everything), union_ns(spans(kernels))
    extent = max(end for _, end in everything) - min(start for start, _ in everything)
    checks.near("kernel time", extent / 1e3, theirs["kernel_time(us)"], absolute=0.01)
    checks.near("idle time", (extent - busy) / 1e3, theirs["idle_time(us)"], absolute=0.01)
    checks.near("compute time", compute / 1e3, theirs["compute_time(us)"], absolute=0.01)
    checks.near("other time", (busy - compute) / 1e3, theirs["non_compute_time(us)"], absolute=0.01)


def check_idle(checks, analysis, kernels, copies):
    """Gaps on each stream, whatever their cause: the causes are HTA's own. Kernels that overlap on one stream, as those of
    a programmatic dependent launch do, count as a negative gap there."""
    theirs = analysis.get_idle_time_breakdown(visualize=False)[0]
    for stream in sorted({row["stream"] for row in kernels + copies}):
        rows = sorted(spans([row for row in kernels + copies if row["stream"] == stream]))
        gaps = sum(after[0] - before[1] for before, after in zip(rows, rows[1:]))
        checks.near(f"idle time of stream {stream}", gaps / 1e3,
                    float(theirs[theirs["stream"] == int(stream)]["idle_time"].sum()), absolute=0.01)


def check_kernels(checks, analysis, run, window, kernels, copies):
    kinds, names = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000, duration_ratio=1.0)
    theirs = {row["name"]: float(row["sum (us)"]) for _, row in names.iterrows()}
    ours = {}
    for row in kernels + copies:
        ours[row["name"]] = ours.get(row["name"], 0) + int(row["duration_ns"])
    checks.equal("kernel names", sorted(ours), sorted(theirs))
    for name, total in ours.items():
        checks.near(f"time of {name}", total / 1e3, theirs.get(name, 0.0), absolute=0.01)
    table = run.table("kernels", window)
    checks.equal("kernels in the table", sorted({row["name"] for row in kernels}), sorted(row["name"] for row in table))
    for row in table:
        checks.near(f"table kernels, {row['name']}", row["gpu_total"] / 1e3, theirs.get(row["name"], 0.0), absolute=0.01)
    by_kind = {row["kernel_type"]: float(row["sum"]) for _, row in kinds.iterrows()}
    # This table alone counts whole microseconds, rounded per kernel.
    checks.near("compute", union_ns(spans(kernels)) / 1e3, by_kind.get("COMPUTATION", 0.0), absolute=len(kernels))


LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync")


def with_cuda_names(calls):
    """As sink.chrome_trace.cuda_names writes them; the csv file keeps the CPU device's own."""
    return [dict(row, name="cuda" + row["name"][2:]) if row["name"].startswith("pd") else row for row in calls]


def check_launches(checks, analysis, calls, kernels, copies):
    rows = {row["correlation"]: row for row in kernels + copies}
    ours = {row["correlation"]: row for row in calls if row["name"] in LAUNCHES and row["correlation"] in rows}
    theirs = analysis.get_cuda_kernel_launch_stats(visualize=False)[0]
    checks.equal("launches", len(ours), len(theirs))
    for _, stat in theirs.iterrows():
        key = str(int(stat["correlation"]))
        checks.true(key in ours, f"correlation {key} is no launch of ours")
        if key not in ours:
            continue
        call, row = ours[key], rows[key]
        checks.near(f"device time of launch {key}", int(row["duration_ns"]) / 1e3, stat["gpu_duration"], absolute=0.01)
        delay = max(0, int(row["start_ns"]) - int(call["end_ns"])) / 1e3
        checks.near(f"delay of launch {key}", delay, stat["launch_delay"], absolute=0.002)
        checks.near(f"host time of launch {key}", int(call["duration_ns"]) / 1e3, stat["cpu_duration"], absolute=0.002)


def check_queue(checks, analysis, calls, kernels, copies):
    """Launched and not begun, sampled at every change, per stream: of what has a launch of its own, as HTA has it."""
    rows = {row["correlation"]: row for row in kernels + copies}
    streams = {rows[call["correlation"]]["stream"] for call in calls
               if call["name"] in LAUNCHES and call["correlation"] in rows}
    theirs = analysis.get_queue_length_summary()
    if theirs is None:
        checks.true(not streams, "no queue length")
        return
    for stream in sorted(streams):
        changes = []
        for call in calls:
            row = rows.get(call["correlation"])
            if call["name"] in LAUNCHES and row is not None and row["stream"] == stream:
                changes += [(int(call["start_ns"]), 1), (int(row["start_ns"]), -1)]
        length, lengths = 0, []
        for _, change in sorted(changes, key=lambda change: change[0]):
            length += change
            lengths.append(length)
        stat = theirs.loc[(0, int(stream))]["queue_length"]
        checks.equal(f"changes on stream {stream}", len(lengths), int(stat["count"]))
        checks.near(f"queue length of stream {stream}", sum(lengths) / len(lengths), float(stat["mean"]), absolute=0.01)
        checks.equal(f"longest queue of stream {stream}", max(lengths), int(stat["max"]))


def main():
    checks = Checks("HTA")
    for run in runs_of(sys.argv[1:], "hta"):
        for window in range(len(run.windows)):
            kernels, copies = run.csv("events/kernels", window), run.csv("events/copies", window)
            if not kernels:
                continue
            calls = with_cuda_names(run.csv("events/calls", window))
            analysis = analysis_of(run.trace_of(window))
            check_temporal(checks, analysis, kernels, copies)
            check_idle(checks, analysis, kernels, copies)
            check_kernels(checks, analysis, run, window, kernels, copies)
            check_launches(checks, analysis, calls, kernels, copies)
            check_queue(checks, analysis, calls, kernels, copies)
            if any(int(row["graph"]) for row in kernels):  # its critical path knows no launch of several kernels
                continue
            graph, found = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=1)
            checks.true(found and len(graph.summary()) > 0, f"{run.folder}: no critical path")
    checks.end()


main()

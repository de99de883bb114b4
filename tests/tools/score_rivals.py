"""What torch-tb-profiler and HTA themselves say of the windows of a score, beside pdhost's verdict on the same.
Usage: score_rivals.py WRITE_WINDOW_RUN CHROME_TRACE_SINK SCORE_FOLDER [OUT.csv]

Each window is written as a Chrome trace. torch-tb-profiler: the recommendations of its overview, in the order in which it
gives them: data loading is input_bound, low utilization small_batch, others (mixed precision) name no cause. HTA: the
class with the largest share of the critical path of the second step: cpu_bound is host_compute, data_loading input_bound,
gpu_kernel_launch_overhead launch_bound, gpu_compute_bound none; gaps between kernels name no cause."""
import contextlib
import csv
import glob
import io
import logging
import os
import subprocess
import sys
import tempfile
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "score"))
import recompute  # noqa: E402

HTA_CAUSES = {"cpu_bound": "host_compute", "data_loading": "input_bound", "gpu_compute_bound": "none",
              "gpu_kernel_launch_overhead": "launch_bound"}


def write_trace(writer, sink, window, folder):
    subprocess.run([writer, sink, window, folder, "gzip=false", "cuda_names=true"], check=True, capture_output=True)
    return glob.glob(os.path.join(folder, "**", "*.pt.trace.json"), recursive=True)[0]


def ask_plugin(path):
    from check_profiler_plugin import load
    for text in load(path, stock=True)[0].recommendations:
        if "data loading" in text:
            return "input_bound"
        if "low utilization" in text:
            return "small_batch"
    return "none"


def ask_hta(path):
    from hta.trace_analysis import TraceAnalysis
    analysis = TraceAnalysis(trace_dir=os.path.dirname(path), include_last_profiler_step=True)
    graph, ok = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=1)
    if not ok:
        return "failed"
    return HTA_CAUSES.get(graph.summary().idxmax(), "unnamed")


def ask(tool, path):
    """A tool that fails on a trace has no verdict on it."""
    quiet = io.StringIO()
    try:
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tool(path)
    except Exception as failure:  # noqa: BLE001 - whatever it raises, it is its answer
        print(f"{path}: {type(failure).__name__}: {failure}", file=sys.stderr)
        return "failed"


def main():
    writer, sink, folder = sys.argv[1:4]
    logging.disable(logging.CRITICAL)
    cells = recompute.read_cells(os.path.join(folder, "cells.csv"))
    counted = [cell for cell in cells if cell["counted"] and not cell["off_path"] and cell["verdict"] != "failed"]
    for cell in counted:
        with tempfile.TemporaryDirectory() as place:
            path = write_trace(writer, sink, os.path.join(folder, cell["cell"], "window0.pdw"), place)
            cell["tb_tool"], cell["hta_tool"] = ask(ask_plugin, path), ask(ask_hta, path)
    for tool in ("verdict", "tb_tool", "hta_tool"):
        alarms = [cell[tool] != "none" for cell in counted if cell["truth"] == "none"]
        print(f"{tool}: macro-F1 {recompute.rival_f1(counted, tool):.3f} of {len(counted)} runs, "
              f"{sum(alarms)} false alarms of {len(alarms)}")
    same = sum(cell["tb_tool"] == cell["torch_tb_profiler"] for cell in counted)
    print(f"torch-tb-profiler says what our reading of its rule says in {same} of {len(counted)} runs")
    if len(sys.argv) > 4:
        with open(sys.argv[4], "w", encoding="utf-8", newline="") as file:
            out = csv.writer(file)
            out.writerow(("cell", "truth", "verdict", "tb_tool", "hta_tool"))
            out.writerows([cell[key] for key in ("cell", "truth", "verdict", "tb_tool", "hta_tool")]
                          for cell in counted)


if __name__ == "__main__":
    main()

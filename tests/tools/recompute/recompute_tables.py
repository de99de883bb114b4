"""Recomputes pdhost's tables from the events of the csv sink, by other means, and compares them cell by cell.

    recompute_tables.py CSV_FOLDER                    one finished run, with run.sync_timing
    recompute_tables.py --run PDHOST CONF_FOLDER      runs every scenario on the CPU device, then checks each

The C code sweeps sorted arrays; here, every nanosecond between two boundaries looks up who is open and who owns it.
Nothing is shared with the code under test but the definitions in docs/metrics.md.
"""
import csv
import os
import subprocess
import sys
import tempfile

from csv_run import Run
from recompute_device import (check_copies, check_device, check_kernel_operators, check_kernels, check_memory,
                              check_memory_blocks)
from recompute_host import (check_flops_and_modules, check_operator_summary, check_operators, check_stacks,
                            check_userdefined)
from recompute_ledger import check_ledger
from recompute_steps import (READER_RATIO, check_breakdown, check_gains, check_model, check_overview,
                             check_perf_summary, check_reader_ratio)
from table_check import Checker

RUNS = [("dataloader", []), ("sync", ["-o", "run.sync_timing=true"]), ("tiny_ops", []), ("memory_churn", []), ("control", []),
        ("dataloader", ["-o", "data.io_sleep_ms=1"]),
        ("dataloader", ["-o", "data.io_sleep_ms=1", "-o", "data.pin_memory=true", "-o", "data.prefetch_to_device=true"]),
        ("sync", ["-o", "run.sync_timing=false", "-o", "schedule.active=8"]),
        ("memory_churn", ["-o", "scenario.allocator=raw", "-o", "run.sync_timing=false", "-o", "schedule.active=8"]),
        ("serial_streams", ["-o", "scenario.streams=3"]), ("small_batch", []),
        ("memory_churn", ["-o", "profile.with_stack=true"]), ("dataloader", ["-o", "schedule.twin=2"]),
        ("memory_churn", ["-o", "schedule.twin=1"])]


def check_run(folder, quiet=False, sync_timing=True, copies_ahead=False):
    """Whether all agrees; None: all but the Reader Ratio."""
    run, check = Run(folder, sync_timing, copies_ahead), Checker()
    for part in (check_operators, check_breakdown, check_device, check_overview, check_model, check_operator_summary,
                 check_kernels, check_kernel_operators, check_copies, check_userdefined, check_memory, check_memory_blocks, check_flops_and_modules, check_stacks,
                 check_perf_summary, check_reader_ratio, check_ledger, check_gains):
        part(run, check)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".csv") and name[:-4] not in CORRUPTED and name not in ("steps.csv", "run.csv", "files.csv"):
            check.errors.append(f"{name}: this table is not recomputed")
    check.unchecked -= WORDS
    check.errors += [f"{column}: this column is not recomputed" for column in sorted(check.unchecked)]
    events = len(run.ranges) + len(run.calls) + len(run.records) + len(run.memory)
    if not events or check.cells < 100:
        check.errors.append(f"{folder}: only {events} events and {check.cells} cells: nothing was checked")
    if quiet:
        return not check.errors
    for error in check.errors[:20]:
        print(error, file=sys.stderr)
    print(f"{folder}: {events} events, {check.cells} cells, {len(check.errors)} differ")
    if check.errors and all(error.startswith(READER_RATIO) for error in check.errors):
        return None
    return not check.errors


CORRUPTED = {"gains": "gain", "operators": "count", "breakdown": "total", "device_figures": "gpu_utilization", "active_steps": "step_kernel",
             "overview": "cpu_time_union", "model": "gpu_total", "distributed": "total_time",
             "operator_summary": "cpu_max", "kernels": "gpu_min", "memcpy": "bytes", "userdefined": "cpu_total",
             "flops": "flops", "modules": "calls", "ledger": "total", "ledger_steps": "ledger_compute",
             "verdict": "verdict_share", "device_summary": "utilization", "memory": "free_size",
             "memory_peak": "held_bytes", "memory_churn": "fragmentation", "memory_blocks": "lifetime",
             "kernel_operators": "gpu_max", "perf_summary": "p95",
             "stacks": "value_us", "stacks_device": "value_us"}
# Names of rows, which are compared as keys elsewhere, and sentences whose figures stand in other cells.
WORDS = {"gains.removed", "ledger.category", "ledger.state", "flops.peak_kind", "verdict.verdict", "verdict.verdict_evidence",
         "verdict.verdict_others", "verdict.verdict_helps", "verdict.verdict_next", "verdict.verdict_after",
         "verdict.verdict_overrides"}


def check_that_it_can_fail(folder):
    """A wrong cell in any table must be found."""
    good = True
    for name, column in CORRUPTED.items():
        path = os.path.join(folder, name + ".csv")
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        kept = [list(row) for row in rows]
        rows[-1 if name == "device_summary" else 1][rows[0].index(column)] = "123456789"  # not the process's own share
        for content, expect in ((rows, False), (kept, True)):
            with open(path, "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(content)
            if not expect and check_run(folder, quiet=True):
                print(f"{name}: a wrong {column} was not found", file=sys.stderr)
                good = False
    return good


def run_scenarios(pdhost, conf):
    good = True
    with tempfile.TemporaryDirectory(prefix="pdhost tables ") as root:
        for scenario, settings in RUNS:
            # The loop may lose its core between the two clocks of the Reader Ratio: not three times in a row.
            for attempt in range(3):
                folder = os.path.join(root, " ".join([str(attempt), scenario, *settings[1::2]]))
                os.mkdir(folder)
                subprocess.run([pdhost, "-c", f"{conf}/{scenario}.ini", "--device", "cpu", "--sink", "csv",
                                "-o", "data.batch_size=4", "-o", "data.image_size=16", "-o", "schedule.active=6",
                                "-o", "data.io_sleep_ms=0", "-o", "data.cpu_work=100",
                                "-o", "profile.with_flops=true", "-o", "profile.with_modules=true", *settings],
                               cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                files = os.path.join(folder, "results", scenario, "latest", "csv")
                found = check_run(files, sync_timing="run.sync_timing=false" not in settings,
                                  copies_ahead="data.prefetch_to_device=true" in settings)
                if found is not None:
                    break
            good = bool(found) and good
            if scenario == "memory_churn" and not settings:
                good = check_that_it_can_fail(files) and good
    return good


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--run":
        good = run_scenarios(os.path.abspath(arguments[1]), os.path.abspath(arguments[2]))
    elif len(arguments) == 1:
        good = check_run(arguments[0])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

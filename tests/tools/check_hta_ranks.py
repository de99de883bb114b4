"""What Holistic Trace Analysis computes of several ranks' traces is what `pdhost analyze` says of them.
Usage: check_hta_ranks.py PDHOST FOLDER ...: the pairs NAME_rank0.json.gz and NAME_rank1.json.gz of each. Its last line has the largest
difference.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # else kernels below a microsecond have no duration

from hta.trace_analysis import TraceAnalysis  # noqa: E402

from run_folder import Checks  # noqa: E402


worst = {"compute time": 0.0, "overlap": 0.0}  # relative


def compare(checks, what, name, own, theirs, **limits):
    checks.near(f"{name}: {what}", own, theirs, **limits)
    worst[what] = max(worst[what], abs(own - theirs) / abs(theirs) if theirs else abs(own))


def ours(pdhost, files):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.json")
        done = subprocess.run([pdhost, "analyze", "--ranks", "json", "--sink", f"json:output_json={out}", *files],
                              capture_output=True, text=True, cwd=folder, check=True)
    return {row["rank"]: row["total"] for row in json.loads(done.stdout)["ranks"]}


def check_pair(checks, name, pdhost, files):
    with tempfile.TemporaryDirectory() as folder:
        theirs = TraceAnalysis(trace_files=dict(files), trace_dir=folder, include_last_profiler_step=True)
    breakdown = theirs.get_temporal_breakdown(visualize=False).set_index("rank")
    overlap = theirs.get_comm_comp_overlap(visualize=False).set_index("rank")
    for rank, parts in ours(pdhost, list(files.values())).items():
        computing = parts["computation_ns"] + parts["overlap_ns"]
        collectives = parts["communication_ns"] + parts["overlap_ns"]
        compare(checks, "compute time", f"{name}, rank {rank}", computing / 1e3, float(breakdown.loc[rank, "compute_time(us)"]),
                relative=1e-3)
        # They round to a hundredth of a percent.
        compare(checks, "overlap", f"{name}, rank {rank}", 100 * parts["overlap_ns"] / collectives,
                float(overlap.loc[rank, "comp_comm_overlap_pctg"]), relative=1e-3, absolute=0.005)


def main():
    pdhost, *folders = sys.argv[1:]
    checks = Checks("hta_ranks")
    for folder in folders:
        paths = glob.glob(os.path.join(folder, "*_rank*.json.gz"))
        names = sorted({re.sub(r"_rank\d+\.json\.gz$", "", path) for path in paths})
        if not names:
            sys.exit(f"check_hta_ranks: no pair of traces in {folder}")
        for name in names:
            check_pair(checks, os.path.basename(name), pdhost, {rank: f"{name}_rank{rank}.json.gz" for rank in (0, 1)})
    print("largest differences: " + ", ".join(f"{what} {100 * by:.2g} %" for what, by in worst.items()))
    checks.end()


main()

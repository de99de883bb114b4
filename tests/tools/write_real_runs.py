"""Runs pdhost for every scenario, with all file sinks, for the tool checks.
Usage: write_real_runs.py PDHOST CONF_FOLDER OUTPUT_FOLDER [cuda]

On the CPU device with small images; with "cuda" on the GPU with the scenarios' own sizes. The folders may be carried to
another machine: the check_*.py scripts need nothing but them.
"""
import os
import shutil
import subprocess
import sys

# Folder, scenario, further settings. Two windows, modules, compression: each somewhere.
RUNS = (
    ("dataloader", "dataloader", ["-o", "schedule.repeat=2", "-o", "schedule.active=4"]),
    ("sync", "sync", ["-o", "profile.with_modules=true"]),
    ("tiny_ops", "tiny_ops", ["-o", "sink.chrome_trace.gzip=true"]),
    ("memory_churn", "memory_churn", ["-o", "profile.with_flops=true"]),
    ("control", "control", []),
    ("pipelined", "control", ["-o", "run.sync_timing=false"]),
    ("stock", "dataloader", ["-o", "sink.chrome_trace.runtime_category=runtime"]),
)


def main():
    program, conf, output = sys.argv[1:4]
    if "cuda" in sys.argv[4:]:
        device = ["-o", "run.device=cuda"]
    else:
        device = ["-c", os.path.join(conf, "cpu.ini"), "-o", "sink.chrome_trace.cuda_names=true"]
    shutil.rmtree(output, ignore_errors=True)
    for name, scenario, settings in RUNS:
        folder = os.path.join(output, name)
        subprocess.run([program, "-c", os.path.join(conf, scenario + ".ini"), *device,
                        "-o", "run.sinks=json,csv,chrome_trace,tensorboard",
                        "-o", f"run.trace_dir={folder}/traces",
                        "-o", f"sink.json.output_json={folder}/results/metrics_{scenario}.json",
                        *settings], check=True)


main()

"""Runs pdhost for every scenario, with all file sinks, for the tool checks.
Usage: write_real_runs.py PDHOST CONF_FOLDER OUTPUT_FOLDER [cuda]

The scenarios are those that a file of CONF_FOLDER names. OUTPUT_FOLDER/runs.json says which checks each run is for.
On the CPU device with small images; with "cuda" on the GPU with the scenarios' own sizes. The folders may be carried to
another machine: the check_*.py scripts need nothing but them.
"""
import configparser
import glob
import json
import os
import shutil
import subprocess
import sys

ALL = ("files", "profiler_plugin", "profiler_plugin_stock", "hta", "tensorboard", "perfetto")

# Two windows and compression: each somewhere. A scenario that is not here has no settings beside its file's.
SETTINGS = {
    "dataloader": ["schedule.repeat=2", "schedule.active=4"],
    "tiny_ops": ["sink.chrome_trace.gzip=true"],
    "memory_churn": ["profile.with_flops=true"],
    "sync": ["profile.with_stack=true"],
}

# Folder, scenario, settings, checks. In the pipelined run the device works on after the host's step has ended.
VARIANTS = (
    ("pipelined", "control", ["run.sync_timing=false"], ALL),
    ("stock", "dataloader", ["sink.chrome_trace.runtime_category=runtime"], ("files", "profiler_plugin_stock")),
)
ON_CUDA = (("cuda_graph", "control", ["train.cuda_graph=true"], ALL),)


def scenarios(conf):
    """The files of scenarios."""
    found = []
    for path in sorted(glob.glob(os.path.join(conf, "*.ini"))):
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(path)
        if parser.has_option("run", "scenario"):
            found.append(os.path.splitext(os.path.basename(path))[0])
    return found


def main():
    program, conf, output = sys.argv[1:4]
    variants = VARIANTS
    if "cuda" in sys.argv[4:]:
        variants += ON_CUDA
        device = ["-o", "run.device=cuda"]
    else:
        device = ["--device", "cpu", "-o", "sink.chrome_trace.cuda_names=true"]
    shutil.rmtree(output, ignore_errors=True)
    runs = [(name, name, SETTINGS.get(name, []), ALL) for name in scenarios(conf)] + list(variants)
    for name, scenario, settings, _ in runs:
        folder = os.path.join(output, name)
        command = [program, "-c", os.path.join(conf, scenario + ".ini"), *device,
                   "-o", "run.mode=train",
                   "-o", "run.sinks=json,csv,chrome_trace,tensorboard", "-o", f"run.trace_dir={folder}/traces",
                   "-o", f"sink.json.output_json={folder}/results/metrics_{scenario}.json"]
        for setting in settings:
            command += ["-o", setting]
        subprocess.run(command, check=True)
    with open(os.path.join(output, "runs.json"), "w", encoding="utf-8") as file:
        json.dump({name: checks for name, _, _, checks in runs}, file, indent=1)


main()

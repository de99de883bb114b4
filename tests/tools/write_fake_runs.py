"""Writes the folders that the tool checks read, from the hand-made run.
Usage: write_fake_runs.py WRITE_FAKE_RUN SINK_FOLDER OUTPUT_FOLDER"""
import os
import shutil
import subprocess
import sys

# Name, environment, settings of chrome_trace.
RUNS = (("one", {}, []), ("two", {"WINDOWS": "2"}, []), ("packed", {}, ["gzip=true"]), ("graphs", {"GRAPHS": "1"}, []),
        ("stock", {}, ["runtime_category=runtime"]))


def main():
    program, sinks, output = sys.argv[1:]
    shutil.rmtree(output, ignore_errors=True)
    for name, variables, settings in RUNS:
        folder = os.path.join(output, name)
        os.makedirs(folder)
        environment = dict(os.environ, **variables)
        for sink, options in (("json", []), ("csv", []), ("chrome_trace", settings),
                              ("tensorboard", ["logdir=" + os.path.join(folder, "traces")])):
            subprocess.run([program, os.path.join(sinks, sink + ".so"), folder, *options], check=True, env=environment)


main()

"""Writes the folders that the tool checks read, from the hand-made run.
Usage: write_fake_runs.py WRITE_FAKE_RUN SINK_FOLDER OUTPUT_FOLDER"""
import os
import shutil
import subprocess
import sys

# Name, windows, settings of chrome_trace.
RUNS = (("one", 1, []), ("two", 2, []), ("packed", 1, ["gzip=true"]), ("stock", 1, ["runtime_category=runtime"]))


def main():
    program, sinks, output = sys.argv[1:]
    shutil.rmtree(output, ignore_errors=True)
    for name, windows, settings in RUNS:
        folder = os.path.join(output, name)
        os.makedirs(folder)
        environment = dict(os.environ, WINDOWS=str(windows))
        for sink, options in (("json", []), ("csv", []), ("chrome_trace", settings),
                              ("tensorboard", ["logdir=" + os.path.join(folder, "traces")])):
            subprocess.run([program, os.path.join(sinks, sink + ".so"), folder, *options], check=True, env=environment)


main()

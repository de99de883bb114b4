"""Runs the commands of docs/tools.md in an empty folder, as a reader would, but for these: pip's are compared with what
is installed, TensorBoard only looks at the files it is given, and pdhost runs on the CPU device with small images. The
commands in README.md's section of tools are those of the page.
Usage: check_docs.py PDHOST CONF_FOLDER DOCUMENT README"""
import glob
import importlib.metadata
import os
import re
import shlex
import socket
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from packaging.requirements import Requirement

from run_folder import Checks, load_trace

TOOLS = os.path.dirname(sys.executable)


def blocks(document):
    with open(document, encoding="utf-8") as file:
        return re.findall(r"^```sh\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


def commands(block):
    """Lines, each with the text that it reads from below it."""
    found, end = [], None
    for line in block.splitlines():
        if end:
            found[-1] += "\n" + line
            end = None if line == end else end
        else:
            found.append(line)
            here = re.search(r"<<'(\w+)'", line)
            end = here.group(1) if here else None
    return found


def check_install(checks, words):
    """What the page says to install is what the other checks run with. Returns the bounds that it names."""
    bounds = {}
    for word in words:
        wanted = Requirement(word)
        version = importlib.metadata.version(wanted.name)
        checks.true(wanted.specifier.contains(version), f"{word} is to be installed, and {version} is here")
        if wanted.specifier:
            bounds[wanted.name] = str(wanted.specifier)
    return bounds


def check_bounds(checks, bounds):
    """The page holds back what requirements.txt does, and nothing else: a reader would get other versions than these."""
    held = {}
    with open(os.path.join(os.path.dirname(__file__), "requirements.txt"), encoding="utf-8") as file:
        for line in file:
            found = re.match(r"(\S+)==\S+\s+# (<\d+): ", line)
            if found:
                held[found.group(1)] = found.group(2)
    checks.equal("versions held back", held, bounds)


def check_readme(checks, readme, known):
    """Its commands are the page's, and the plugin's needs are named where the plugin is."""
    with open(readme, encoding="utf-8") as file:
        section = file.read().split("## Opening a run in the tools you know")[1].split("\n## ")[0]
    tools = {"pip", "vizviewer", "tensorboard"}
    found = [code for code in re.findall(r"`([^`\n]+)`", section) if code.split()[0] in tools]
    checks.equal("tools in README", tools, {code.split()[0] for code in found})
    for code in found:
        checks.true(code in known, f"README says {code}, and the page does not")
    checks.true("`-o sink.chrome_trace.runtime_category=runtime`" in section, "README has the plugin without its category")


def check_vizviewer(checks, command, folder, environment):
    """It serves the newest of several traces, byte for byte."""
    extra = ["pdhost", "-c", "conf/dataloader.ini", "--sink", "chrome_trace", "-o", "schedule.repeat=3", "-o",
             "schedule.active=2"]
    subprocess.run(extra, cwd=folder, env=environment, check=True)
    traces = sorted(glob.glob(os.path.join(folder, "results/dataloader/latest/*.pt.trace.json")), key=os.path.getmtime)
    checks.true(len(traces) >= 3, f"only {len(traces)} traces to choose from")
    with open(traces[-1], "rb") as file:
        newest = file.read()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    served = None
    command = command.replace("vizviewer ", f"exec vizviewer --server_only --once --port {port} ", 1)
    with subprocess.Popen(["bash", "-euc", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL) as process:
        end = time.monotonic() + 60
        while served is None and process.poll() is None and time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/localtrace", timeout=30) as answer:
                    served = answer.read()
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        process.terminate()
    checks.true(served == newest, f"{command}: {'nothing' if served is None else 'another trace'} is served")


def runnable(command, folder):
    """The command as it can end here."""
    trace = sorted(glob.glob(os.path.join(folder, "results/dataloader/latest/*.pt.trace.json")))
    command = command.replace("results/dataloader/latest/HOST_PID.0.TIME.pt.trace.json", trace[0] if trace else "none")
    if command.startswith("tensorboard "):
        return command.replace("tensorboard ", "tensorboard --inspect ", 1)
    return command


def check_shown(checks, document, folder):
    """What the page says to look for in Perfetto is there."""
    traces = glob.glob(os.path.join(folder, "results/dataloader/latest/*.pt.trace.json"))
    names = set()
    for event in load_trace(traces[0])["traceEvents"] if traces else []:
        names.add(event["args"]["name"] if event["name"] == "thread_name" else event["name"])
    with open(document, encoding="utf-8") as file:
        section = file.read().split("## Perfetto")[1].split("## chrome")[0]
    thread = re.search(r"`thread N (\(.*?\))`", section).group(1)
    checks.true(any(name.startswith("thread ") and name.endswith(thread) for name in names), f"no thread N {thread}")
    for name in ("enumerate(DataLoader)#_pdhost.__next__", "train_step", "GPU 0 busy", "GPU 0 queue depth",
                 "GPU 0 ledger", "GPU 0 memory", "DataLoader queue", "aten::item"):
        checks.true(f"`{name}`" in section, f"{name} is not on the page")
        here = name.replace("GPU 0", "device 0")
        checks.true(here in names or name == "aten::item", f"{here} is not in the trace")  # which is of sync's


def main():
    pdhost, conf, document, readme = sys.argv[1:]
    checks = Checks("documented commands")
    with tempfile.TemporaryDirectory(prefix="pdhost doc ") as folder:
        os.symlink(os.path.abspath(conf), os.path.join(folder, "conf"))
        os.mkdir(os.path.join(folder, "bin"))
        small = os.path.join(folder, "bin", "pdhost")
        with open(small, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {shlex.quote(os.path.abspath(pdhost))} -q \"$@\" --device cpu\n")
        os.chmod(small, stat.S_IRWXU)
        environment = dict(os.environ, PATH=os.pathsep.join([os.path.dirname(small), TOOLS, os.environ["PATH"]]))
        programs, known, bounds = set(), set(), {}
        for block in blocks(document):
            for command in commands(block):
                words = shlex.split(command.split("\n")[0], comments=True)
                programs.add(words[0])
                known.add(re.sub(r"\s+#.*", "", command))
                if words[:2] == ["pip", "install"]:
                    bounds.update(check_install(checks, words[2:]))
                    continue
                if words[0] == "vizviewer":
                    check_vizviewer(checks, command, folder, environment)
                    continue
                result = subprocess.run(["bash", "-euc", runnable(command, folder)], cwd=folder, env=environment,
                                        text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False)
                checks.true(result.returncode == 0, f"{command}: exit {result.returncode}\n{result.stderr[-2000:]}")
        checks.equal("programs of the page", sorted(programs),
                     sorted(["pdhost", "pip", "vizviewer", "tensorboard", "for", "HTA_DISABLE_NS_ROUNDING=1"]))
        check_bounds(checks, bounds)
        check_readme(checks, readme, known)
        check_shown(checks, document, folder)
        runs = sorted(os.listdir(os.path.join(folder, "cmp"))) if os.path.isdir(os.path.join(folder, "cmp")) else []
        checks.equal("runs to compare", ["w0", "w2", "w8"], runs)
    checks.end()


main()

"""Runs the commands of docs/tools.md in an empty folder, as a reader would, but for these: pip's are compared with what
is installed, servers only look at the files they are given, and pdhost runs on the CPU device with small images.
Usage: check_docs.py PDHOST CONF_FOLDER DOCUMENT"""
import glob
import importlib.metadata
import os
import re
import shlex
import stat
import subprocess
import sys
import tempfile

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
    """What the page says to install is what the other checks run with."""
    for word in words:
        wanted = Requirement(word)
        version = importlib.metadata.version(wanted.name)
        checks.true(wanted.specifier.contains(version), f"{word} is to be installed, and {version} is here")


def runnable(command, folder):
    """The command as it can end here."""
    trace = sorted(glob.glob(os.path.join(folder, "results/traces/dataloader/*.pt.trace.json")))
    command = command.replace("results/traces/dataloader/HOST_PID.0.TIME.pt.trace.json", trace[0] if trace else "none")
    if command.startswith("tensorboard "):
        return command.replace("tensorboard ", "tensorboard --inspect ", 1)
    if command.startswith("vizviewer "):
        return command.replace("vizviewer ", "test -x \"$(command -v vizviewer)\" -a -s ", 1)
    return command


def check_shown(checks, document, folder):
    """What the page says to look for in Perfetto is there."""
    traces = glob.glob(os.path.join(folder, "results/traces/dataloader/*.pt.trace.json"))
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
    pdhost, conf, document = sys.argv[1:]
    checks = Checks("documented commands")
    with tempfile.TemporaryDirectory(prefix="pdhost doc ") as folder:
        os.symlink(os.path.abspath(conf), os.path.join(folder, "conf"))
        os.mkdir(os.path.join(folder, "bin"))
        small = os.path.join(folder, "bin", "pdhost")
        with open(small, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec {shlex.quote(os.path.abspath(pdhost))} -q \"$@\" -c conf/cpu.ini\n")
        os.chmod(small, stat.S_IRWXU)
        environment = dict(os.environ, PATH=os.pathsep.join([os.path.dirname(small), TOOLS, os.environ["PATH"]]))
        programs = set()
        for block in blocks(document):
            for command in commands(block):
                words = shlex.split(command.split("\n")[0], comments=True)
                programs.add(words[0])
                if words[:2] == ["pip", "install"]:
                    check_install(checks, words[2:])
                    continue
                result = subprocess.run(["bash", "-euc", runnable(command, folder)], cwd=folder, env=environment,
                                        text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False)
                checks.true(result.returncode == 0, f"{command}: exit {result.returncode}\n{result.stderr[-2000:]}")
        checks.equal("programs of the page", sorted(programs),
                     sorted(["pdhost", "pip", "vizviewer", "tensorboard", "for", "HTA_DISABLE_NS_ROUNDING=1"]))
        check_shown(checks, document, folder)
        runs = sorted(os.listdir(os.path.join(folder, "cmp"))) if os.path.isdir(os.path.join(folder, "cmp")) else []
        checks.equal("runs to compare", ["w0", "w2", "w8"], runs)
    checks.end()


main()

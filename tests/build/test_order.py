"""The order of dependence: a folder includes only what stands left of it, no two files call each other, no two files
share a name, no folder and no file holds too much, no function is there for nobody.
usage: test_order.py SOURCE BUILD NM"""
import collections
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
BUILD, NM = pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
# Each may include itself and what stands left of it. Devices, plugins, sinks and readers may include themselves and the
# public headers; sinks and readers sinks/lib too, readers readers/lib, communicators communicators/lib.
ORDER = """core/base core/page core/capture core/inject core/trace core/data core/abi core/train core/config core/facts core/ledger core/tables
core/run core/record core/measure core/check core/compare core/score core/conform core/advise core/sweep
core/cli""".split()
ALONE = {"core/base/shell_word.h"}  # needs nothing of the core: readers have it among their sources, too
MOST_SOURCES, MOST_LINES = 25, 400
LONG = "core/devices/cuda/kernels/"  # kernels of one kind


def folder_of(path):
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:3] if parts[:2] == ("core", "devices") else parts[:2])


def may_include(here, there):
    if here == "core/cli" and there.startswith("core/devices/"):
        return True  # pdhost doctor looks where the devices look
    if here == "core/inject":  # a library of its own, over the format and what the CUDA device knows of CUPTI
        return there in (here, "core/capture", "core/devices/cuda")
    if here in ORDER:
        return there in ORDER[:ORDER.index(here) + 1]
    if here.startswith("readers/") and there == "readers/lib":
        return True
    if here == "readers/capture" and there == "core/capture":
        return True  # the format is pdhost's own
    if here.startswith("communicators/") and there == "communicators/lib":
        return True
    return there == here or (there == "sinks/lib" and here.startswith(("sinks/", "readers/")))


def included(path):
    for name in re.findall(r'^[ \t]*#[ \t]*include "([^"]+)"', path.read_text(), re.M):
        found = [place for place in (path.parent / name, ROOT / "core" / name) if place.exists()]
        if found:
            yield found[0].resolve()


# What other programs call by name.
CALLED_FROM_OUTSIDE = {"main", "pd_plugin_entry", "pdhost_counted_steps", "InitializeInjection",
                       "InitializeInjectionNvtx2", "pdhost_mark_step", "pdhost_mark_input_begin", "pdhost_mark_input_end",
                       "pdhost_record_yield", "pdhost_record_code", "pdhost_mark_module_begin", "pdhost_mark_module_end",
                       "pdhost_mark_module"}


def calls():
    """By source file, the source files of its folder that define what it uses: from the object files of the build. Notes
    in `lonely` what a file defines for others and none of them uses, the tests included."""
    objects = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        place = re.search(r" -o (\S+\.o)\b", entry["command"])
        if source.is_relative_to(ROOT) and place and (BUILD / place[1]).exists():
            objects.setdefault(source, BUILD / place[1])
    defines, uses, all_uses = {}, collections.defaultdict(set), collections.Counter()
    sources = {str(place): source for source, place in objects.items()}
    for line in subprocess.run([NM, "-A", "-g", *sources], capture_output=True, text=True, check=True).stdout.splitlines():
        place, rest = line.split(":", 1)
        kind, symbol = rest.split()[-2:]
        if kind == "U":
            uses[sources[place]].add(symbol)
            all_uses[symbol] += 1
        elif sources[place] in files:
            defines[folder_of(sources[place]), symbol] = sources[place]
            # One with a point is the compiler's own, as those that choose a function for the processor.
            if kind == "T" and symbol[0] != "_" and "." not in symbol and symbol not in CALLED_FROM_OUTSIDE:
                candidates.append((sources[place], symbol))
    # A part that this machine cannot build, as what needs CUDA, may use it too.
    not_built = "\n".join(path.read_text() for path in files if path.suffix in (".c", ".cu") and path not in objects)
    words = set(re.findall(r"\w+", not_built))
    lonely.extend((source, symbol) for source, symbol in candidates if not all_uses[symbol] and symbol not in words)
    return {source: {defines.get((folder_of(source), symbol), source) for symbol in symbols} - {source}
            for source, symbols in uses.items() if source in files}


def circles(graph):
    """Sets of files that reach one another."""
    def reached(start):
        seen, left = set(), [start]
        while left:
            for to in graph.get(left.pop(), ()):
                if to not in seen:
                    seen.add(to)
                    left.append(to)
        return seen
    reach = {at: reached(at) for at in graph}
    return {frozenset(to for to in reach[at] if at in reach.get(to, ())) for at in graph if at in reach[at]}


def short(paths):
    return ", ".join(sorted(str(path.relative_to(ROOT)) for path in paths))


def scripts():
    """Those of Python and of the shell, known by their ending or by their first line."""
    for folder in (".ci", "bench", "conf", "core", "corpus", "readers", "scripts", "sinks", "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".sh"):
                yield path
            elif not path.suffix and path.is_file() and path.open("rb").readline(64).startswith(b"#!"):
                yield path


files = {path for folder in ("core", "readers", "sinks", "plugins", "communicators") for path in (ROOT / folder).rglob("*")
         if path.suffix in (".c", ".h", ".cu", ".cuh") and "templates" not in path.parts}
faults = [f"{short([path])} includes {short([target])}" for path in sorted(files) for target in included(path)
          if not may_include(folder_of(path), folder_of(target)) and folder_of(target) != "core/include"
          and not (folder_of(path).startswith("readers/") and str(target.relative_to(ROOT)) in ALONE)]
candidates, lonely = [], []
faults += [f"these call each other: {short(circle)}" for circle in circles(calls())]
faults += [f"{symbol} of {short([source])} is called by no other file: static, or deleted" for source, symbol in lonely]
names, sources = collections.defaultdict(set), collections.Counter()
others = {path for folder in ("bench", "tests") for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".h", ".cu")}
for path in files | others:
    sources[path.parent] += path.suffix in (".c", ".cu")
    names[path.stem].add(path.parent)
for path in files | others | set(scripts()):
    lines = len(path.read_text().splitlines())
    if lines > MOST_LINES and not short([path]).startswith(LONG):
        faults.append(f"{short([path])} has {lines} lines, more than {MOST_LINES}")
faults += [f"{len(found)} files are called {name}: {short(found)}" for name, found in names.items() if len(found) > 1]
faults += [f"{short([at])} has {count} sources, more than {MOST_SOURCES}" for at, count in sources.items()
           if count > MOST_SOURCES]
print("\n".join(faults) or f"{len(files)} files in order")
sys.exit(bool(faults))

"""Each of the scenarios that pdhost began with, and control, is one source of fewer than 60 lines: what they share is in
the public headers, where any plugin finds it.
usage: test_seeds.py SOURCE"""
import pathlib
import sys

MOST_LINES = 59
faults = []
for name in ("dataloader", "sync", "tiny_ops", "memory_churn", "control"):
    sources = [path for path in (pathlib.Path(sys.argv[1]) / "plugins" / name).iterdir() if path.name != "CMakeLists.txt"]
    lines = [line for path in sources for line in path.read_text().splitlines()]
    print(f"{name}: {len(lines)} lines")
    if [path.name for path in sources] != [f"{name}.c"]:
        faults.append(f"plugins/{name} has {sorted(path.name for path in sources)}, not {name}.c alone")
    if len(lines) > MOST_LINES:
        faults.append(f"plugins/{name}/{name}.c has {len(lines)} lines, more than {MOST_LINES}")
    # Not by squeezing: clang-format sees to the width of a line, and this to one statement in it.
    faults += [f"plugins/{name}/{name}.c: two statements in a line: {line.strip()}" for line in lines
               if line.count(";") > 1 and "for (" not in line and "/*" not in line and "{" not in line]
print("\n".join(faults))
sys.exit(bool(faults))

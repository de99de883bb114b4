"""The public headers may only grow: compares them with the frozen ones of a release, by abidiff and by their constants.

  check_growth.py FROZEN_INCLUDE CURRENT_INCLUDE      compare
  check_growth.py --self-test FROZEN CURRENT          break a copy in every way, and see each break found
Exit code 0: only what a minor version may do; 1: each offence on a line of its own; 77: abidiff is not installed.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# They lie in arrays without a stride, or within other structs, or come without a size: no field may be added to them.
FIXED = {"pd_preset", "pd_cure", "pd_activity", "pd_memory_event", "pd_shape", "pd_cell", "pd_table_row", "pd_parameter",
         "pd_tensor", "pd_site", "pd_scaler", "pd_array", "pd_spread", "pd_table_request"}
# Flags of debug information and nothing else: what is compared are the types.
FLAGS = ["-std=c11", "-g", "-O0", "-shared", "-fPIC", "-fvisibility=hidden"]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def texts(include):
    return "\n".join(read(path) for path in sorted(glob.glob(os.path.join(include, "pdhost", "*.h"))))


def build(include, out):
    subprocess.run(["cc", *FLAGS, f"-I{include}", os.path.join(HERE, "describe.c"), "-o", out], check=True)


def judge_struct(name, lines):
    """What of a changed struct's report is more than fields behind its old end."""
    size = re.match(r"type size changed from (\d+) to \d+ \(in bits\)$", lines[0])
    old_end = int(size.group(1)) if size else None
    bad = [] if size else [f"{name}: {lines[0]}"]
    for line in lines[1:] if size else lines:
        inserted = re.search(r", at offset (\d+) \(in bits\)", line)
        if inserted and old_end is not None and line.startswith("'"):
            if int(inserted.group(1)) < old_end:
                bad.append(f"{name}: not at the end: {line}")
        elif not re.match(r"\d+ data member insertions?:$", line):
            bad.append(f"{name}: {line}")
    if not bad and name in FIXED:
        bad.append(f"{name}: has grown, but it lies in arrays or structs that know no size of it")
    return bad


def judge_report(report):
    """The offences of an abidiff report of leaf changes, and whether anything grew."""
    bad, blocks = [], re.split(r"\n\s*\n", report.strip())
    for line in blocks[0].splitlines():
        if line.startswith("Removed/") and not re.search(r"0 Removed, 0 Changed(?: \(\d+ filtered out\))?, 0 Added", line):
            bad.append(f"functions: {line}")
    for block in blocks[1:]:
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        head = re.match(r"'struct (\w+) at [^']*' changed:$", lines[0])
        bad += judge_struct(head.group(1), lines[1:]) if head and len(lines) > 1 else [" ".join(lines)]
    return bad, len(blocks) > 1


def constants(text):
    """Every enumerator with its value as written, and every extension's id. Counts and ends may move."""
    found = {}
    for body in re.findall(r"\benum\s*\{(.*?)\}", text, re.DOTALL):
        for name, value in re.findall(r"\b(PD_\w+)\s*=\s*(-?\w+)", body):
            if not name.endswith(("_COUNT", "_END")):
                found[name] = value
    found.update(re.findall(r'#define\s+(PD_EXT_\w+)\s+("[^"]*")', text))
    return found


def preprocessed(include):
    headers = "".join(f'#include "{path}"\n' for path in sorted(glob.glob(os.path.join(include, "pdhost", "*.h"))))
    result = subprocess.run(["cc", "-std=c11", "-E", "-P", f"-I{include}", "-x", "c", "-"], input=headers, text=True,
                            capture_output=True, check=True)
    return result.stdout


def judge_constants(frozen, current):
    bad = []
    old, new = constants(preprocessed(frozen) + texts(frozen)), constants(preprocessed(current) + texts(current))
    if len(old) < 100:
        bad.append(f"only {len(old)} constants found in the frozen headers")
    for name, value in old.items():
        if new.get(name) != value:
            bad.append(f"{name}: was {value}, is {new.get(name, 'gone')}")
    return bad, len(new) > len(old)


def version(include):
    return tuple(int(re.search(rf"#define PD_ABI_{part} (\d+)", texts(include)).group(1)) for part in ("MAJOR", "MINOR"))


def compare(frozen, current):
    with tempfile.TemporaryDirectory() as folder:
        old, new = os.path.join(folder, "old.so"), os.path.join(folder, "new.so")
        build(frozen, old)
        build(current, new)
        result = subprocess.run(["abidiff", "--leaf-changes-only", old, new], capture_output=True, text=True, check=False)
    if result.returncode & 3:
        return [f"abidiff: {result.stderr.strip() or result.stdout.strip()}"]
    bad, grown = judge_report(result.stdout) if result.returncode else ([], False)
    more, new_constants = judge_constants(frozen, current)
    bad += more
    (old_major, old_minor), (major, minor) = version(frozen), version(current)
    if major != old_major:
        bad.append(f"PD_ABI_MAJOR: was {old_major}, is {major}")
    elif not bad and (grown or new_constants) and minor <= old_minor:
        bad.append(f"PD_ABI_MINOR: is {minor} as in the frozen headers, though something was added: raise it")
    return bad


# What breaks plugins, each in a header: the text that is there, what stands in its place, and a word of the report.
BREAKS = (
    ("sink.h", "  pd_status (*on_step)(void *state, const pd_step_stats *stats) PD_OR_ZERO;",
     "  pd_status (*on_step)(void *state, const pd_step *step) PD_OR_ZERO;", "pd_sink_ops"),
    ("sink.h", "typedef struct pd_sink_ops {\n  uint32_t size;", "typedef struct pd_sink_ops {\n  uint64_t first;\n  uint32_t size;",
     "pd_sink_ops"),
    ("sink.h", "  double mean, median, min, max, p10, p90;", "  double mean, median, min, max, p10, p90, p99;", "pd_spread"),
    ("trace.h", "  int64_t base_ns; ", "  double base_ns; ", "pd_trace"),
    ("trace.h", "  uint64_t losses[16]; ", "  uint64_t losses[24]; ", "pd_trace"),
    ("trace.h", "  pd_array threads; ", "  pd_array first_of_all; pd_array threads; ", "pd_trace"),
    ("record.h", "  uint64_t bytes;  /* copies and sets */", "  uint64_t bytes, more;", "pd_activity"),
    ("record.h", "  int64_t dims[4];", "  int64_t dims[4]; int64_t more;", "pd_shape"),
    ("record.h", "PD_ACTIVITY_MEMCPY = 4", "PD_ACTIVITY_MEMCPY = 40", "PD_ACTIVITY_MEMCPY"),
    ("record.h", '"pdhost.record/1"', '"pdhost.record/2"', "PD_EXT_RECORD"),
    ("train.h", "  pd_status (*zero_grad)(const pd_train *train);", "  pd_status (*zero_grad)(const pd_train *train, int x);",
     "pd_train"),
    ("plugin.h", "  const char *key, *value;", "  const char *key, *value, *more;", "pd_preset"),
    ("scenario.h", "  int64_t count;         /* N, samples */\n  int64_t channels;      /* C = 3 */",
     "  int64_t channels;\n  int64_t count;", "pd_batch"),
    ("plugin.h", "#define PD_ABI_MAJOR 1", "#define PD_ABI_MAJOR 2", "PD_ABI_MAJOR"),
)
# What a minor version may do.
GROWTH = (
    ("sink.h", "  const char *sync_note; ", "  const char *sync_note, *one_more; "),
    ("plugin.h", "enum { PD_KIND_SCENARIO = 1, PD_KIND_SINK = 2, PD_KIND_DEVICE = 3, PD_KIND_READER = 4 };",
     "enum { PD_KIND_SCENARIO = 1, PD_KIND_SINK = 2, PD_KIND_DEVICE = 3, PD_KIND_READER = 4, PD_KIND_OTHER = 5 };"),
)


def changed(current, folder, header, was, put):
    copy = os.path.join(folder, "include")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(current, copy)
    path = os.path.join(copy, "pdhost", header)
    text = read(path)
    if text.count(was) != 1:
        sys.exit(f"{header}: the self-test looks for this once and finds it {text.count(was)} times: {was}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(was, put))
    return copy


def self_test(frozen, current):
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for header, was, put, word in BREAKS:
            bad = compare(frozen, changed(current, folder, header, was, put))
            if not any(word in line for line in bad):
                failed.append(f"{header}: not seen: {put} (said: {bad})")
        for header, was, put in GROWTH:
            bad = compare(frozen, changed(current, folder, header, was, put))
            if bad:
                failed.append(f"{header}: refused, though it only adds: {put}: {bad}")
        # The same growth without a new minor version.
        same = changed(frozen, folder, *GROWTH[0])
        if not any("PD_ABI_MINOR" in line for line in compare(frozen, same)):
            failed.append("a field added to the frozen headers asks for no new minor version")
    return failed


def main(arguments):
    if not shutil.which("abidiff"):
        print("SKIPPED: abidiff is not installed (package abigail-tools): the headers were not compared", file=sys.stderr)
        return 77
    test = arguments[0] == "--self-test"
    frozen, current = arguments[1:] if test else arguments
    bad = self_test(frozen, current) if test else compare(frozen, current)
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

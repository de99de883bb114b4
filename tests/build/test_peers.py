"""docs/coverage-of-peers.md has each feature of the peers once, with a command, a key, a word, a file or a test that exists, or
with a reason why it is not there.
usage: test_peers.py SOURCE PDHOST"""
import functools
import pathlib
import re
import subprocess
import sys

ROOT, PDHOST = pathlib.Path(sys.argv[1]), sys.argv[2]
COUNTS = {"P": 42, "T": 42, "B": 14, "D": 27, "X": 13, "F": 34, "N": 24, "U": 26}
TEXT = (ROOT / "docs/coverage-of-peers.md").read_text(encoding="utf-8")
methods = {(path.stem.replace("test_", "cli.", 1), name) for path in (ROOT / "tests/cli").glob("test_*.py")
           for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))}


@functools.lru_cache(maxsize=None)
def printed(*words):
    """What pdhost prints; None: it refuses the words."""
    result = subprocess.run([PDHOST, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    return result.stdout if result.returncode == 0 else None


def is_there(reference):
    words = reference.split()
    if words[0] == "pdhost":
        page = printed(words[1], "--help") if re.search(rf"^  {words[1]} ", printed("--help"), re.MULTILINE) else None
        return page is not None and all(re.search(rf"(?<!\S){re.escape(option)}\b(?!-)", page) for option in words[2:])
    if ": " in reference:
        return tuple(reference.split(": ")) in methods
    if "/" in reference or re.search(r"\.md$", reference):
        return (ROOT / reference).exists()
    return printed("help", reference) is not None or printed("explain", reference) is not None


rows = re.findall(r"^\| ([A-Z])(\d+) \|[^|]*\|([^|]*)\|([^|]*)\|$", TEXT, re.MULTILINE)
wanted = [(group, number) for group, count in COUNTS.items() for number in range(1, count + 1)]
faults = []
if [(group, int(number)) for group, number, _, _ in rows] != wanted:
    faults.append(f"{len(wanted)} rows are wanted, each once and in order; there are {len(rows)}")
for group, number, where, reason in rows:
    references = re.findall(r"`([^`]+)`", where)
    if not references and len(reason.split()) < 3:
        faults.append(f"{group}{number}: neither what has it nor a reason")
    faults += [f"{group}{number}: there is no {reference}" for reference in references if not is_there(reference)]
print("\n".join(faults) or f"{len(rows)} features")
sys.exit(bool(faults))

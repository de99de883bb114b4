"""docs/coverage-of-peers.md has each feature of the peers once, with a command, a key, a word, a file or a test that exists, or
with a reason why it is not there. Each command, key and word has its test in peers.txt, which CI runs and which names it, and
each row has something that CI runs, or a reason.
usage: test_peers.py SOURCE PDHOST"""
import functools
import pathlib
import re
import subprocess
import sys

import peer_tests

ROOT, PDHOST = pathlib.Path(sys.argv[1]), sys.argv[2]
COUNTS = {"P": 42, "T": 42, "B": 14, "D": 27, "X": 13, "F": 34, "N": 24, "U": 26}
TEXT = (ROOT / "docs/coverage-of-peers.md").read_text(encoding="utf-8")
TESTS = peer_tests.all_tests(ROOT)
CTESTS, PAGES = peer_tests.ctest_names(ROOT), peer_tests.pages_read(ROOT)
TIES = dict(line.split(" = ") for line in (ROOT / "tests/build/peers.txt").read_text(encoding="utf-8").splitlines())
CHECKED = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in (ROOT / ".ci/run", *(ROOT / "tests").glob("*/**/*"))
                    if path.is_file() and path.parent.name != "build" and path.suffix in (".txt", ".py", ".sh", ".c", ""))


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
        return tuple(reference.split(": ")) in TESTS
    if words[0] == "ctest":
        return words[1] in CTESTS
    if "/" in reference or re.search(r"\.md$", reference):
        return (ROOT / reference).exists()
    return printed("help", reference) is not None or printed("explain", reference) is not None


def is_file(reference):
    return "/" in reference or reference.endswith(".md")


def is_test(reference):
    return ": " in reference or reference.startswith("ctest ")


def is_run(reference):
    """Whether CI runs it: it is a test, has one in peers.txt, is a page that a test reads, or another file that tests name."""
    if reference.endswith(".md"):
        return pathlib.Path(reference).name in PAGES
    name = pathlib.Path(reference).name if is_file(reference) else None
    if name and reference.startswith("tests/"):
        return re.search(rf"\b{re.escape(name)}|\b{re.escape(pathlib.Path(name).stem.removeprefix('test_'))}\b", CHECKED) is not None
    return is_test(reference) or reference in TIES or (name is not None and name in CHECKED)


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
    faults += [f"{group}{number}: {reference} has no test in tests/build/peers.txt" for reference in references
               if not is_test(reference) and not is_file(reference) and reference not in TIES]
    if len(reason.split()) < 3 and not any(map(is_run, references)):
        faults.append(f"{group}{number}: CI runs nothing of it, and there is no reason")
named = {reference for row in rows for reference in re.findall(r"`([^`]+)`", row[2])}
for reference, test in TIES.items():
    text = TESTS.get(tuple(test.split(": ")))
    if reference not in named:
        faults.append(f"peers.txt: {reference}: no row names it")
    if text is None:
        faults.append(f"peers.txt: {reference}: CI runs no test {test}")
    elif not is_file(reference) and not peer_tests.mentions(text, reference):
        faults.append(f"peers.txt: {reference}: {test} does not name it")
print("\n".join(faults) or f"{len(rows)} features")
sys.exit(bool(faults))

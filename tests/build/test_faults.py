"""docs/reliability.md names a test for each class of faults, R1 to R54, and each of these tests exists.
usage: test_faults.py SOURCE"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
CLASSES = 54
TEXT = (ROOT / "docs/reliability.md").read_text(encoding="utf-8")
# Criterion's tests by suite and name, the methods of the whole-run tests by file, and names that CMake gives to tests.
criterion = {pair for path in (ROOT / "tests").rglob("*.c")
             for pair in re.findall(r"PD_TEST(?:_WITH)?\((\w+), (\w+)", path.read_text(encoding="utf-8"))}
methods = {(path.stem.replace("test_", "cli.", 1), name) for path in (ROOT / "tests/cli").rglob("test_*.py")
           for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))}
lists = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("CMakeLists.txt"))
fuzzers = {path.stem for path in (ROOT / "tests/fuzz").glob("fuzz_*.c")}


def is_there(reference):
    if ": " in reference:
        return tuple(reference.split(": ")) in criterion | methods
    if "/" in reference:
        return (ROOT / reference).is_file()
    if reference.startswith("check_plugin."):
        return "check_plugin." in lists
    return reference in fuzzers or re.search(rf"\b{re.escape(reference)}\b", lists) is not None


rows = re.findall(r"^\| R(\d+) \|[^|]*\|([^|]*)\|$", TEXT, re.MULTILINE)
faults = []
if [int(number) for number, _ in rows] != list(range(1, CLASSES + 1)):
    faults.append(f"rows R1 to R{CLASSES} are wanted, each once and in order: {[int(number) for number, _ in rows]}")
for number, tests in rows:
    references = re.findall(r"`([^`]+)`", tests)
    if not references:
        faults.append(f"R{number}: no test is named")
    faults += [f"R{number}: there is no test {reference}" for reference in references if not is_there(reference)]
print("\n".join(faults) or f"{len(rows)} classes of faults")
sys.exit(bool(faults))

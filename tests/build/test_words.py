"""No file of the program or its documents has a word of words.txt, no code a way of doing things that code.txt refuses.
usage: test_words.py SOURCE"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
FOLDERS = ("core", "readers", "sinks", "plugins", "communicators", "conf", "docs", "corpus", "bench", "tests")
CODE = (".c", ".h", ".cu", ".cuh")
TEXT = (*CODE, ".md", ".ini", ".json", ".py", ".js", ".proto", ".cmake", ".sh", ".txt")


def rows(name):
    lines = (pathlib.Path(__file__).parent / name).read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


# What is looked for, the files that may have it, what to write, the kinds of files.
rules = [(re.compile(word, re.I), None, instead, TEXT) for word, instead in rows("words.txt")]
rules += [(re.compile(word), None if allowed == "-" else re.compile(allowed), instead, CODE)
          for word, allowed, instead in rows("code.txt")]
files = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
for folder in FOLDERS:
    files += (path for path in (ROOT / folder).rglob("*") if path.suffix in TEXT and path.name != "words.txt")
faults = []
for path in files:
    name = str(path.relative_to(ROOT))
    rules_here = [(word, instead) for word, allowed, instead, kinds in rules
                  if path.suffix in kinds and not (allowed and allowed.fullmatch(name))]
    faults += [f"{name}:{number}: {found[0]}: write {instead}"
               for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
               for word, instead in rules_here for found in [word.search(line)] if found]
print("\n".join(faults) or f"{len(files)} files")
sys.exit(bool(faults))

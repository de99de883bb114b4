"""No file of the program or its documents has a word of words.txt.
usage: test_words.py SOURCE"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
rows = [line.split("\t") for line in (pathlib.Path(__file__).parent / "words.txt").read_text().splitlines()
        if line and not line.startswith("#")]
words = [(re.compile(word, re.I), instead) for word, instead in rows]
files = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
for folder in ("core", "readers", "sinks", "plugins", "conf", "docs", "corpus"):
    files += (path for path in (ROOT / folder).rglob("*") if path.suffix in (".c", ".h", ".cu", ".cuh", ".md", ".ini", ".json"))
faults = [f"{path.relative_to(ROOT)}:{number}: {found[0]}: write {instead}" for path in files
          for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
          for word, instead in words for found in [word.search(line)] if found]
print("\n".join(faults) or f"{len(files)} files")
sys.exit(bool(faults))

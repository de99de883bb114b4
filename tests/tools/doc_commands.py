"""Runs every pdhost command of a document ("$ pdhost ..." in its console blocks), expects exit code 0, or 7 of a
measurement: it says that the machine is too noisy. Each line quoted below the command has to be one that the program
still prints: with its first word and most of the others, whatever its figures are. What a measurement, a
comparison or a verdict says depends on its figures: of a verdict the labels are checked, of the others nothing.

    doc_commands.py PDHOST CONF_FOLDER DOCUMENT...
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

CONTINUED = 12  # blanks before what goes on from the line above: a sentence, or a heading of several lines


def blocks(document):
    """Yields the words of each command and the lines quoted below it."""
    in_block, found = False, None
    with open(document, encoding="utf-8") as file:
        for line in file:
            if line.startswith("```"):
                in_block = line.startswith("```console")
                if found and not in_block:
                    yield found
                    found = None
            elif in_block and line.startswith("$ pdhost "):
                if found:
                    yield found
                found = shlex.split(line[2:]), []
            elif in_block and found:
                found[1].append(line.rstrip("\n"))


def words(line):
    """What is no figure, no unit behind one and no rule."""
    line = re.sub(r"(?<![\w:])[-+]?\d[\d.,]*\s?(?:ns|us|ms|s|B|KB|MB|GB|%)?(?![\w])", " ", line)
    return [word for word in line.split() if not re.fullmatch(r"-+|\.+|\(%\)", word)]


def is_printed(quoted, lines):
    mine = words(quoted)
    if not mine:
        return True
    if quoted.startswith(" " * CONTINUED):
        everything = {word for line in lines for word in line}
        return sum(word in everything for word in mine) * 2 >= len(mine)
    for line in lines:
        if line and line[0] == mine[0] and len(set(line) & set(mine)) * 2 >= min(len(set(line)), len(set(mine))):
            return True
    return False


def without_verdicts(lines):
    """The lines as quoted, but of a verdict its labels alone."""
    inside = False
    for line in lines:
        inside = line.startswith("Verdict") or (inside and bool(line.strip()))
        if not inside:
            yield line
        elif not line.startswith(" " * CONTINUED):
            yield line.split()[0]


def main(pdhost, conf, *documents):
    failed = ran = quoted = 0
    for document in documents:
        with tempfile.TemporaryDirectory(prefix="pdhost doc ") as folder:
            os.symlink(os.path.abspath(conf), os.path.join(folder, "conf"))
            for command, lines in blocks(document):
                result = subprocess.run([os.path.abspath(pdhost), *command[1:]], cwd=folder, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                printed = [words(line) for line in result.stdout.splitlines()]
                measures = "conf/vec_dot.ini" in command or "benchmark" in command
                checked = [] if measures or "compare" in command else list(without_verdicts(lines))
                missing = [line for line in checked if not is_printed(line, printed)]
                ran += 1
                quoted += len(checked)
                if result.returncode not in ((0, 7) if measures else (0,)) or not result.stdout or missing:
                    failed += 1
                    print(f"{document}: {shlex.join(command)}: exit {result.returncode}\n{result.stderr}",
                          file=sys.stderr)
                    for line in missing:
                        print(f"{document}: no longer printed: {line}", file=sys.stderr)
    print(f"{ran} commands, {quoted} quoted lines, {failed} failed")
    return 1 if failed or not ran or not quoted else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

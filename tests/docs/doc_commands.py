"""Runs every pdhost command of a document ("$ pdhost ..." in its console blocks), expects exit code 0, or 7 of a
measurement: it says that the machine is too noisy. The lines quoted below a command have to be what the program still
prints, in that order: each with its first word and most of the others, and with every figure that no clock has a part
in: counts, bytes, the steps of the window, coverage. Times may differ. A measurement or a comparison has to print the lines
whose text is fixed: no warning, and not what a comparison says, since times decide on these. They decide on the verdict,
too: with --verdicts only the commands whose verdict is quoted are run, and nothing else of them is compared. A translation
(NAME.zh.md) is not run: its commands and lines have to be those of the English document, which doc_pairs.py compares.
Commands that only read files run beside corpus/, and print the same each time: each quoted line has to be there with all its
words, in that order, and with all its figures where the files are those of corpus/.

    doc_commands.py [--verdicts] PDHOST CONF_FOLDER DOCUMENT...
"""
import collections
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

from doc_pairs import english_of, wrong_pair

TRIES = 3  # a verdict depends on the machine; the rest ought to be right at once
FULL = 38  # lines of a short report, which has at most 40: a table without room for two rows is left out
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
    """What is no figure, no unit behind one and no rule; of a trace's name nothing that differs from run to run."""
    line = re.sub(r"-{3,}", "--", line)
    line = re.sub(r"\b\d{8}T\d{6}\.\d+-\d+\b", "RUN", line)
    line = re.sub(r"[^/\s]+\.\d+\.\d+\.pt\.trace", "NAME.pt.trace", line)
    line = re.sub(r"(?<![\w:])[-+]?\d[\d.,]*\s?(?:ns|us|ms|s|B|KiB|MiB|GiB|%)?(?![\w])", " ", line)
    return [word for word in line.split() if not re.fullmatch(r"-+|\.+|\(%\)", word)]


def cells(line):
    return re.split(r"\s{2,}", line.strip())


def kinds(line):
    return ["count" if cell.isdigit() else "figure" if re.match(r"-?\d", cell) else "word" for cell in cells(line)]


def place_of(quoted, lines, after):
    """The number of the first printed line from `after` on that the quoted one stands for, rather one whose cells are
    of the same kind: rows of several tables may begin alike. None: there is none."""
    mine, found = words(quoted), None
    for at, line in enumerate(lines[after:], after):
        printed = words(line)
        if printed and printed[0] == mine[0] and \
                len(set(printed) & set(mine)) * 2 >= min(len(set(printed)), len(set(mine))):
            if kinds(line) == kinds(quoted):
                return at
            found = at if found is None else found
    return found


def size(number):
    """Bytes as the tables show them."""
    for unit, one in (("GiB", 1024 ** 3), ("MiB", 1024 ** 2), ("KiB", 1024)):
        if abs(number) >= one:
            return f"{number / one:.2f} {unit}"
    return f"{number:.0f} B"


def fixed_figures(document):
    """By the name of a row: its counts and bytes, as text. They are the same however busy the machine is."""
    found = collections.defaultdict(set)
    for holder in (document, *document["windows"]):
        for table in holder["tables"].values():
            name = table["columns"][0]["key"]
            for row in table["rows"]:
                for column in table["columns"]:
                    value = row[column["key"]]
                    if value is None or not isinstance(row[name], str):
                        continue
                    if column["unit"] in ("count", "bytes") or column["key"] == "allocations_per_step":
                        found[row[name]].add(size(value) if column["unit"] == "bytes" else f"{value:g}")
    return found


def wrong_figures(quoted, printed, fixed):
    """What the printed line tells that depends on no clock, and the quoted one does not."""
    mine, theirs = cells(quoted), cells(printed)
    if re.match(r"Active steps|Window \d", printed):
        numbers = lambda line: re.findall(r"\d+(?:\.\.\d+)?", line.split(", ")[0] + line.partition(":")[2].split(")")[0])
        return [] if numbers(quoted) == numbers(printed) else [printed]
    if mine[0] in ("profile", "coverage", "lost"):
        return [] if mine == theirs else [printed]
    known = {name: figures for name, figures in fixed.items()
             if name == theirs[0] or (theirs[0].endswith("...") and name.startswith(theirs[0][:-3]))}
    known = set().union(*known.values()) if known else set()
    return [figure for figure in theirs[1:] if figure in known and figure not in mine]


# How a line begins that a measurement or a comparison has or has not, as its times are.
BY_TIMES = ("WARNING:", "(!", "FASTER", "SLOWER", "SAME", "UNCLEAR")


def missing_of_measurement(quoted, result):
    """Those of its quoted lines with a fixed text that are no longer printed; of their figures, sizes ("10000 x 64") are fixed."""
    printed, at, found, decided = result.stdout.splitlines(), 0, [], False
    for line in quoted:
        mine = words(line)
        decided = bool(mine) and (mine[0] in BY_TIMES or (decided and line.startswith(" " * 9) and "->" not in line))
        if not mine or decided:
            continue
        place = place_of(line, printed, at)
        if place is None:
            found.append(f"no longer printed, or not in this order: {line}")
            continue
        at = place + 1
        if re.findall(r"\d+ x \d+", line) != re.findall(r"\d+ x \d+", printed[place]):
            found.append(f"{line}: now {printed[place]}")
    return found


def verdict_of(lines):
    """What "Verdict" says, its title alone."""
    for line in lines:
        if line.startswith("Verdict"):
            return [word for word in line.split(":")[0].split()[1:] if word != "possibly"]
    return None


def without_verdicts(lines, printed):
    """The lines as quoted, but of a verdict its labels alone: the first one where another verdict is printed. That "no bottleneck
    found" has no gain, and --verdicts judges it on a machine that does nothing else."""
    inside, is_same = False, verdict_of(lines) == verdict_of(printed)
    for line in lines:
        inside = line.startswith("Verdict") or (inside and bool(line.strip()))
        if not inside:
            yield line
        elif line.startswith("Verdict") or (is_same and not line.startswith(" " * CONTINUED)):
            yield line.split()[0]


def run(pdhost, folder, command):
    """Result of the command, and what the json sink wrote of the run, if it was one."""
    path = os.path.join(folder, "document.json")
    more = ["--sink", "json:output_json=" + path] if "--sink" in command else []
    written = os.path.join(folder, "results", "*", "latest", "metrics_*.json")
    for old in glob.glob(written) + [path]:
        if os.path.exists(old):
            os.remove(old)
    result = subprocess.run([os.path.abspath(pdhost), *command[1:], *more], cwd=folder, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for path in [path] + glob.glob(written):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return result, json.load(file)
    return result, None


def tables_of(lines):
    """The rows of the short report's tables, by the first word of the heading, and which lines they are."""
    found, name = {}, None
    for at, line in enumerate(lines):
        heading = re.match(r"(Operators|Kernels|Where the step goes)\b.*\s(ms/step|share)\b", line)
        if heading:
            name = heading[1]
            found[name] = []
        elif not line.strip():
            name = None
        elif name:
            found[name].append((at, line))
    return found


def as_times_have_it(lines, printed):
    """The quoted lines as this run may have them: the rows of a table of the short report stand in the order of their
    times, so that they are put in the printed order; and a row but the first may be missing where another has its place, or
    where the report is full (a busy machine has a note or a sentence more). Where the report says that other programs took
    the processors, the first may be missing too. So may that of the kernels: which one takes longest depends on the
    processor."""
    is_full, now, lines, left_out = len(printed) >= FULL, tables_of(printed), list(lines), set()
    is_busy = any(line.startswith("  other programs kept ") for line in printed)
    for name, rows in tables_of(lines).items():
        theirs = [cells(line)[0] for _, line in now.get(name, [])]
        mine = {cells(line)[0]: line for _, line in rows}
        missing = [line for row, line in mine.items() if row not in theirs]
        others = sum(row not in mine for row in theirs) + (len(rows) - len(theirs) if is_full else 0)
        may_miss = missing[::-1][:max(others, 0)] if theirs else missing
        if is_full and not theirs:
            left_out.add(rows[0][0] - 1)  # its heading
        elif rows[0][1] in may_miss and not (is_busy or name == "Kernels"):
            may_miss.remove(rows[0][1])
        if not is_full and not theirs:
            continue
        kept = [mine[row] for row in theirs if row in mine] + [line for line in missing if line not in may_miss]
        for (at, _), line in zip(rows, kept):
            lines[at] = line
        left_out |= {at for at, _ in rows[len(kept):]}
    return [line for at, line in enumerate(lines) if at not in left_out]


def complaints(quoted, result, document):
    """What the quoted lines say that the program does not."""
    printed, found, at = result.stdout.splitlines(), [], 0
    if document is None:
        return ["no document of the run"]
    fixed = fixed_figures(document)
    quoted = as_times_have_it(quoted, printed)
    everything = {word for line in printed for word in words(line)}
    for line in without_verdicts(quoted, printed):
        mine = words(line)
        if not mine:
            continue
        if line.startswith(" " * CONTINUED):
            if sum(word in everything for word in mine) * 2 < len(mine):
                found.append(f"no longer printed: {line}")
            continue
        place = place_of(line, printed, at)
        if place is None:
            found.append(f"no longer printed, or not in this order: {line}")
            continue
        at = place
        found += [f"{line}: now {figure}" for figure in wrong_figures(line, printed[place], fixed)]
    return found


READS_FILES = ("analyze", "diff", "score", "check", "rerun", "open")


def missing_lines(quoted, result, with_figures):
    """What the quoted lines say that a command which reads files does not print."""
    said = str.split if with_figures else words
    printed, at, found = [said(line) for line in result.stdout.splitlines()], 0, []
    for line in quoted:
        if not words(line):
            continue
        if said(line) in printed[at:]:
            at += printed[at:].index(said(line)) + 1
        else:
            found.append(f"no longer printed, or not in this order: {line}")
    return found


def wrong_verdict(quoted, result):
    """What the quoted lines have for a verdict and the program has not."""
    printed = verdict_of(result.stdout.splitlines())
    return [] if verdict_of(quoted) in (None, printed) else [f"the verdict is now {printed}, not {verdict_of(quoted)}"]


def main(*arguments):
    verdicts = arguments[0] == "--verdicts"
    pdhost, conf, *documents = arguments[1:] if verdicts else arguments
    failed = ran = lines_quoted = 0
    for document in documents:
        if english_of(document):
            found = wrong_pair(document) if english_of(document) in documents else ["its English document is not run"]
            failed += bool(found)
            for complaint in found:
                print(f"{document}: {complaint}", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory(prefix="pdhost doc ") as folder:
            os.symlink(os.path.abspath(conf), os.path.join(folder, "conf"))
            os.symlink(os.path.join(os.path.dirname(os.path.abspath(conf)), "corpus"), os.path.join(folder, "corpus"))
            for command, quoted in blocks(document):
                if verdicts and not verdict_of(quoted):
                    continue
                reads = command[1] in READS_FILES
                reads_corpus = any(word.startswith("corpus/") for word in command)
                measures = "conf/vec_dot.ini" in command or "benchmark" in command or "compare" in command
                for _ in range(1 if measures else TRIES):
                    result, written = run(pdhost, folder, command)
                    good = result.returncode in ((0, 7) if measures else (0,)) and (result.stdout or not quoted)
                    found = missing_of_measurement(quoted, result) if measures else missing_lines(quoted, result, reads_corpus) if reads else \
                        wrong_verdict(quoted, result) if verdicts else complaints(quoted, result, written)
                    if not good or not found:
                        break
                ran += 1
                lines_quoted += len(quoted)
                if not good or found:
                    failed += 1
                    print(f"{document}: {shlex.join(command)}: exit {result.returncode}\n{result.stderr}",
                          file=sys.stderr)
                    for complaint in found:
                        print(f"{document}: {complaint}", file=sys.stderr)
    print(f"{ran} commands, {lines_quoted} quoted lines, {failed} failed")
    return 1 if failed or not ran or not lines_quoted else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

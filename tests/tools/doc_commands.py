"""Runs every pdhost command of a document ("$ pdhost ..." in its console blocks) and expects exit code 0, or
7 of a measurement: it says that the machine is too noisy.

    doc_commands.py PDHOST CONF_FOLDER DOCUMENT...
"""
import os
import shlex
import subprocess
import sys
import tempfile


def commands(document):
    in_block = False
    with open(document, encoding="utf-8") as file:
        for line in file:
            if line.startswith("```"):
                in_block = line.startswith("```console")
            elif in_block and line.startswith("$ pdhost "):
                yield shlex.split(line[2:])


def main(pdhost, conf, *documents):
    failed = ran = 0
    for document in documents:
        with tempfile.TemporaryDirectory(prefix="pdhost doc ") as folder:
            os.symlink(os.path.abspath(conf), os.path.join(folder, "conf"))
            for words in commands(document):
                result = subprocess.run([os.path.abspath(pdhost), *words[1:]], cwd=folder, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                ran += 1
                measures = "conf/vec_dot.ini" in words or "benchmark" in words
                if result.returncode not in ((0, 7) if measures else (0,)) or not result.stdout:
                    failed += 1
                    print(f"{document}: {shlex.join(words)}: exit {result.returncode}\n{result.stderr}", file=sys.stderr)
    print(f"{ran} commands, {failed} failed")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

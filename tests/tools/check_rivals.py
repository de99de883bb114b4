"""The tools that score_rivals.py asks answer on traces of real runs. Usage: check_rivals.py RUNS_FOLDER"""
import glob
import logging
import os
import sys

from score_rivals import ask, ask_hta, ask_plugin

RUNS = ("control", "tiny_ops", "memory_churn")


def main():
    logging.disable(logging.CRITICAL)
    answers = {}
    for run in RUNS:
        path = sorted(glob.glob(os.path.join(sys.argv[1], run, "traces", "*.pt.trace.json*")))[0]
        answers[run] = [ask(tool, path) for tool in (ask_plugin, ask_hta)]
    print("Rivals:", ", ".join(f"{run}: {' and '.join(words)}" for run, words in answers.items()))
    return any("failed" in words for words in answers.values())


sys.exit(main())

"""Kills recorded programs at random moments, with a CUPTI that is played: each has to leave a report that lacks a second
at most."""
import json
import os
import random
import signal
import subprocess
import time

from pdhost_run import FIXTURES, PDHOST

PROGRAM = os.path.join(FIXTURES, "recorded_program")
MOST_LOST_S = 1
ENDS_S = 60


class Lost(Exception):
    pass


class Late(Lost):
    """More than a second is missing, and nothing else is wrong."""


def expect(is_so, *what):
    if not is_so:
        raise Lost(" ".join(map(str, what)))


def is_there():
    """False: built without CUPTI's headers."""
    return os.path.exists(PROGRAM)


def lost_s(folder, begun_ns, killed_ns):
    """From the end of the last step in the report, or of the program's begin, to the kill."""
    path = os.path.join(folder, "out.json")
    if not os.path.exists(path):
        return 1e-9 * (killed_ns - begun_ns)
    with open(path, encoding="utf-8") as file:
        out = json.load(file)
    os.remove(path)
    rows = out["step_rows"]
    expect(rows and out["windows"], "the report has no step")
    expect([row["index"] for row in rows] == list(range(len(rows))), "a step is missing between others")
    expect(out["coverage"] == 1, "coverage is", out["coverage"])
    return 1e-9 * (killed_ns - rows[-1]["end_realtime_ns"])


def once(folder, chance):
    """Kills one program; returns the seconds that its report lacks, and whether there was one."""
    delay = 3 * chance.random() ** 2
    process = subprocess.Popen([PDHOST, "record", "-q", "--sink", "json:output_json=out.json", "--", PROGRAM, "pid", "init",
                                "steps=1000000"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    with process:
        pid = int(process.stdout.readline())
        begun_ns = time.time_ns()
        time.sleep(delay)
        killed_ns = time.time_ns()
        os.kill(pid, signal.SIGKILL)
        out, err = process.communicate(timeout=ENDS_S)
    try:
        reported = os.path.exists(os.path.join(folder, "out.json"))
        expect(process.returncode == 137, "exit code", process.returncode)
        early = any(words in err for words in ("nothing was launched before the process ended", "reached pdhost's recorder"))
        expect(reported or early, "there is no report")
        left = [name for name in os.listdir(folder) if name.endswith((".pdcap", ".partial"))]
        expect(not left, "left behind:", left)
        seconds = lost_s(folder, begun_ns, killed_ns)
        if seconds > MOST_LOST_S:
            raise Late(f"{seconds:.3f} s of records are lost")
    except Lost as lost:
        raise type(lost)(f"recorded program, after {delay:.3f} s: {lost}\n{out}{err}") from None
    return seconds, reported


def run(folder, count, seed):
    """How many kills left a report, and the most seconds that one of all lost. Raises Lost at the first that lost more."""
    chance = random.Random(seed)
    all_of_them = [once(folder, chance) for _ in range(count)]
    return sum(reported for _, reported in all_of_them), max(seconds for seconds, _ in all_of_them)

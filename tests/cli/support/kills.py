"""Kills processes of runs at random moments, and looks at what is left: nothing that was complete may be missing, and
nothing else may be touched.

The scenario writes how many steps have begun into a mapped file, so what is complete is known from outside pdhost.
"""
import glob
import hashlib
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

import record_kills
from pdhost_run import FIXTURES, PDHOST, SMALL, children_of, named_child

SCENARIO = os.path.join(FIXTURES, "scenario", "misdeed.so")
WHOM = ("worker", "writer", "supervisor")
# Windows of two steps after two others; the last is left open for long.
WAIT, ACTIVE = 2, 2
SCHEDULE = ("-o", "schedule.wait=1", "-o", "schedule.warmup=1", "-o", f"schedule.active={ACTIVE}", "-o", "schedule.repeat=0",
            "-o", "run.epochs=0")
SINKS = ("--sink", "json:output_json=out.json", "--sink", "csv:dir=csv", "--sink", "chrome_trace", "--sink", "tensorboard",
         "--sink", "window", "-q")
ENDS_S = 60
# What the writer of such a run takes before its first step, and after its last.
WRITER_BEGINS_S, WRITER_ENDS_S = 0.25, 0.25


class Lost(Exception):
    pass


def expect(is_so, *what):
    if not is_so:
        raise Lost(" ".join(map(str, what)))


def hashes(folder):
    found = {}
    for path in glob.glob(os.path.join(folder, "**"), recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[path] = hashlib.sha256(file.read()).hexdigest()
    return found


def make_bystanders(folder):
    """A run that is complete, and files that are none of pdhost's, beside and in the folders that are written to."""
    subprocess.run([PDHOST, *SMALL, "--scenario", "control", "-o", "schedule.active=1", "--trace_dir", "before", "--sink",
                    "json:output_json=before/out.json", "--sink", "csv:dir=before/csv", "--sink", "chrome_trace", "-q"],
                   cwd=folder, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in ("notes.txt", "traces/notes.txt", "traces/other.pdcap.txt", "csv/notes.txt"):
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(os.urandom(1000))
    return hashes(folder)


def kill(pid):
    try:
        if pid:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def wait_for_child(process, name):
    """Its pid; None: the run has ended."""
    until = time.monotonic() + ENDS_S
    while process.poll() is None and time.monotonic() < until:
        if pid := named_child(process.pid, name):
            return pid
        time.sleep(0.001)
    return None


def children(process):
    try:
        return children_of(process.pid)
    except OSError:
        return []


def start(folder, *more):
    with open(os.path.join(folder, "count"), "wb") as file:
        file.write(bytes(8))
    with open(os.path.join(folder, "said"), "wb") as said:
        return subprocess.Popen([PDHOST, *SMALL, "--scenario", SCENARIO, "-o", "scenario.count=count", *SCHEDULE,
                                 "--trace_dir", "traces", *SINKS, *more], cwd=folder, stdin=subprocess.DEVNULL, stdout=said,
                                stderr=said)


def begun(folder):
    with open(os.path.join(folder, "count"), "rb") as file:
        return struct.unpack("Q", file.read(8))[0]


def wait_for_all(process, pids):
    until = time.monotonic() + ENDS_S
    while process.poll() is None or any(os.path.exists(f"/proc/{pid}/task/{pid}") for pid in pids if pid):
        expect(time.monotonic() < until, "a process does not end:", process.pid, *pids)
        time.sleep(0.002)


def check(folder, steps, may_be_missing=False):
    """The outputs hold every step that was complete, and every window of them."""
    path = os.path.join(folder, "out.json")
    if steps < 1 and not os.path.exists(path):
        return
    expect(os.path.exists(path), "there is no out.json after", steps, "steps")
    with open(path, encoding="utf-8") as file:
        out = json.load(file)
    expect(steps - 1 <= out["steps"] <= steps, "out.json has", out["steps"], "steps,", steps, "had begun")
    seen = [step["number"] for window in out["windows"] for step in window["steps"]]
    active = [step for step in range(out["steps"]) if step % (WAIT + ACTIVE) >= WAIT]
    expect(seen == active, "steps in windows:", seen[-6:], "instead of", active[-6:])
    for trace in glob.glob(os.path.join(folder, "traces", "*.json")):
        with open(trace, encoding="utf-8") as file:
            json.load(file)
    expect(os.path.exists(os.path.join(folder, "csv", "steps.csv")), "there is no steps.csv")
    expect(len(glob.glob(os.path.join(folder, "traces", "*.json"))) >= len(out["windows"]), "a trace is missing")
    with open(os.path.join(folder, "csv", "steps.csv"), encoding="utf-8") as file:
        expect(sum(1 for _ in file) == out["steps"] + 1, "steps.csv has other steps")


def clean(folder):
    for pattern in ("out.json", "traces/*", "csv/**"):
        for path in glob.glob(os.path.join(folder, pattern), recursive=True):
            if os.path.isfile(path) and not path.endswith(".txt"):
                os.remove(path)


def wait_for_steps(process, folder, count):
    until = time.monotonic() + ENDS_S
    while begun(folder) < count and process.poll() is None and time.monotonic() < until:
        time.sleep(0.001)


def kill_in_its_life(process, folder, chance, share, last):
    """Kills the writer of a run whose worker dies in step `last`, anywhere from its begin to its end: `share`, from 0 to 1,
    says where. Before the first step and after the last it has work of its own, as long as many steps."""
    writer = wait_for_child(process, "pdhost writer")
    if share < 0.25:
        time.sleep(share * 4 * WRITER_BEGINS_S)
    elif share < 0.65:
        wait_for_steps(process, folder, 1 + round((share - 0.25) / 0.4 * last))
        time.sleep(chance.random() * 0.02)
    else:
        wait_for_steps(process, folder, last + 1)
        time.sleep((share - 0.65) / 0.35 * WRITER_ENDS_S)
    return kill_now(process, folder, writer)


def kill_now(process, folder, pid):
    """The processes to wait for, and how many steps had begun."""
    all_of_them, steps = children(process), begun(folder)
    kill(pid)
    return [pid, *all_of_them], steps


def once(folder, whom, chance, share, bystanders):
    """Kills one process of one run; what was found to be wrong is raised as Lost. Returns the steps that had begun when it
    was killed, and whether they were all."""
    delay, last = chance.random() ** 2, chance.randrange(2, 40)
    process = start(folder, *(("-o", "scenario.what=kill", "-o", f"scenario.step={last}") if whom == "writer" else ()))
    if whom == "writer":
        pids, then = kill_in_its_life(process, folder, chance, share, last)
    else:
        killed = process.pid if whom == "supervisor" else wait_for_child(process, "pdhost worker")
        time.sleep(delay)
        pids, then = kill_now(process, folder, killed)
    wait_for_all(process, pids)
    steps = begun(folder)
    try:
        expect(process.returncode == {"supervisor": -9}.get(whom, 5), "exit code", process.returncode)
        check(folder, steps)
        left = glob.glob(os.path.join(folder, "**", "*.partial"), recursive=True)
        expect(not left, "left behind:", left)
        now = hashes(folder)
        for path, value in bystanders.items():
            expect(now.get(path) == value, "was changed:", path)
    except Lost as lost:
        with open(os.path.join(folder, "said"), encoding="utf-8") as file:
            raise Lost(f"{whom}, after {then} of {steps} steps, {delay:.3f} s, {share:.3f}: {lost}\n{file.read()}") from None
    clean(folder)
    return then, then == steps


def run(folder, whom, count, seed):
    """How many of `count` kills fell into a run whose steps had begun, and how many after all of its steps had. Raises Lost
    at the first that lost anything."""
    chance = random.Random(seed)
    bystanders = make_bystanders(folder)
    found = [once(folder, whom, chance, (i + chance.random()) / count, bystanders) for i in range(count)]
    return sum(then > 0 for then, _ in found), sum(then > 0 and was_last for then, was_last in found)


def recorded(count, seed):
    """Rows of figures; none where there is no such program."""
    if not record_kills.is_there():
        print("kills: none of a recorded program: built without CUPTI's headers", flush=True)
        return []
    with tempfile.TemporaryDirectory(prefix="pdhost kills ") as folder:
        reported, most_s = record_kills.run(folder, count, f"{seed} recorded")
    print(f"kills: {count} of a recorded program, {reported} of them with a report, the others before anything had left it: "
          f"at most {most_s:.2f} s of records were lost", flush=True)
    return [{"what": "recorded program", "value": count}, {"what": "recorded program, with a report", "value": reported}]


def keep(rows, out):
    """Adds a line for scripts/figures counts."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False,
                            cwd=os.path.dirname(os.path.abspath(__file__))).stdout.strip() or "unknown"
    with open(out, "a", encoding="utf-8") as file:
        print(json.dumps({"area": "SIGKILLs after which nothing complete was missing and nothing else was changed",
                          "unit": "", "command": "scripts/kills", "commit": commit,
                          "date": time.strftime("%F", time.gmtime()), "time": time.strftime("%T", time.gmtime()),
                          "rows": rows}), file=file)


def main(count, seed, only="all", out=None):
    rows = []
    try:
        for whom in [one for one in WHOM if only in ("all", one)]:
            with tempfile.TemporaryDirectory(prefix="pdhost kills ") as folder:
                begun_then, over = run(folder, whom, count, f"{seed} {whom}")
            rows += [{"what": whom, "value": count}, {"what": f"{whom}, after steps had begun", "value": begun_then}]
            after = ""
            if whom == "writer":  # a run's other processes end with its steps
                rows.append({"what": "writer, after the last step had begun", "value": over})
                after = f", {over} of these after the last had begun"
            print(f"kills: {count} of the {whom}, {begun_then} of them after steps had begun{after}: nothing complete was lost, "
                  "nothing else was changed", flush=True)
        if only in ("all", "recorded"):
            rows += recorded(count, seed)
    finally:  # of whom nothing was lost, that counts whatever became of the others
        if out and rows:
            keep(rows, out)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])

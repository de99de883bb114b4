"""Copies of traces as other writers and accidents leave them. What lost nothing has the verdict and the gains of the
original; of what lost something they are withheld in words, or still those; nothing ends by a signal, and no step is
found that was not there. In copies that tell of another program, such as one with longer waits, it is known what has
to change, and nothing else may.

    perturbed_traces.py WAYS SEED FOLDER|FILE ...

Each file is copied in WAYS ways of its own, and analysed. PDHOST is the program. Exit status 1: what failed is said.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import zlib

from trace_ways import (CHANGED, LOSSLESS, LOSSY, a_list, copying_thread, cut, cut_and_packed, fewer_steps, holes,
                        longer_waits, one_pass, without_marks, without_operations)

PDHOST = os.environ.get("PDHOST", "")
# Analysed, and what says that the figures are not to be trusted.
DONE, UNTRUSTED, UNREADABLE = 0, 7, 3
MARKS_LEAST = 5 # steps, for them to be found without marks


class Failed(Exception):
    pass


def text_of(path):
    """Without what follows the compressed data of some."""
    with open(path, "rb") as file:
        data = file.read()
    plain = b"" if data[:2] == b"\x1f\x8b" else data
    while data[:2] == b"\x1f\x8b":
        member = zlib.decompressobj(31)
        plain += member.decompress(data)
        data = member.unused_data
    return plain.decode("utf-8", "surrogateescape")


def rows(window, name):
    return window["tables"].get(name, {"rows": []})["rows"]


def analysed(data, folder, ending):
    """Exit code, what was said, and the figures: steps, verdict, cause, gains. None where there are none."""
    path, out = os.path.join(folder, "made." + ending), os.path.join(folder, "out.json")
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape"))
    if os.path.exists(out):
        os.unlink(out)
    done = subprocess.run([PDHOST, "analyze", "-q", "--sink", "json:output_json=" + out, path], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", timeout=100, check=False, cwd=folder)
    if done.returncode not in (DONE, UNTRUSTED, UNREADABLE):
        raise Failed(f"exit {done.returncode}: {done.stderr}")
    if not os.path.exists(out):
        if done.returncode != UNREADABLE or not done.stderr.strip():
            raise Failed(f"exit {done.returncode} without figures: {done.stderr}")
        return done.returncode, done.stderr, None
    with open(out, encoding="utf-8") as file:
        figures = json.load(file)
    window = figures["windows"][0]
    verdict = rows(window, "verdict")[0]
    gains = [(row["removed_cause"], row["gain"], row["gain_low"], row["gain_high"]) for row in rows(window, "gains")]
    return done.returncode, done.stderr, {
        "steps": len(figures["step_rows"]), "times": [row["batch_cost_ns"] for row in figures["step_rows"]],
        "verdict": verdict["verdict"], "cause": verdict["verdict_cause"], "gains": gains,
        "without": {row["removed_cause"]: row["gain_step"] for row in rows(window, "gains") if "gain_step" in row}}


def check(how, before, after, said, is_same):
    """is_same: the file has nothing that this way changes."""
    if how in LOSSLESS or is_same:
        if after != before:
            wrong = [key for key in before or {} if not after or before[key] != after[key]]
            raise Failed(f"{', '.join(wrong)}: {before and [before[k] for k in wrong]} became "
                         f"{after and [after[k] for k in wrong]}; {said}")
        return
    if not after or not before:
        return
    withheld = "withheld" in after["verdict"]
    if how is longer_waits:
        was, now = (of["without"].get("input_bound") for of in (before, after))
        usual = statistics.mean(after["times"])
        least = 0.005 * was + 0.0001 * usual if was else 0 # waits may be a thousand times the rest
        # Behind a wait that is longer than 0.5 ms now, 0.3 ms of launching are taken to be twice as long as without it.
        if was and now and not -least - 150000 <= now - was <= least:
            raise Failed(f"a step without waits took {was} ns and takes {now}; {said}")
        return
    if how is fewer_steps and before["steps"] >= MARKS_LEAST:
        if not (2 < after["steps"] < before["steps"]) or (after["steps"] < MARKS_LEAST and not withheld):
            raise Failed(f"{before['steps']} steps became {after['steps']}: {after['verdict']}; {said}")
        return
    if how is copying_thread and before["steps"] >= MARKS_LEAST:
        if [after[key] for key in ("cause", "gains")] != [before[key] for key in ("cause", "gains")]:
            raise Failed(f"{before['cause']}, {before['gains']} became {after['cause']}, {after['gains']}; {said}")
        return
    if how is one_pass:
        if after["verdict"] != before["verdict"] and not (after["steps"] <= 1 and withheld):
            raise Failed(f"one pass is {after['steps']} steps: {after['verdict']}; {said}")
        return
    if how is a_list:
        if [after[key] for key in ("times", "cause")] != [before[key] for key in ("times", "cause")]:
            raise Failed(f"{before} became {after}; {said}")
        return
    if how is without_operations:
        # Kernels and calls alone: what tells causes apart may be gone, which has to be said.
        sure = not any(of["verdict"].startswith(("possibly", "withheld")) for of in (before, after))
        times = [of["times"] for of in (before, after) if before["steps"] > 1]
        if times[1:] != times[:1] or (sure and after["cause"] != before["cause"]):
            raise Failed(f"{before['verdict']} became {after['verdict']}; {said}")
        return
    if how is without_marks and before["steps"] >= MARKS_LEAST and after["steps"] > 1:
        # The steps are those that were marked; the first or the last may be missing, or end elsewhere.
        both = min(before["steps"], after["steps"]) - 1
        usual, now = (statistics.median(of["times"][:both]) for of in (before, after))
        same = after["cause"] == before["cause"] or "withheld" in after["verdict"]
        if before["steps"] - after["steps"] not in (0, 1) or abs(now / usual - 1) > 0.02 or not same:
            raise Failed(f"{before} became {after}; {said}")
    # Fewer steps than there were; where the marks are gone, the last one may be whole.
    if after["steps"] > max(1, before["steps"] + (1 if how is without_marks else 0)):
        raise Failed(f"{before['steps']} steps became {after['steps']}: {said}")
    if not withheld and after["cause"] != before["cause"] and how in (cut, cut_and_packed, holes):
        raise Failed(f"the verdict {before['verdict']} became {after['verdict']}; {said}")


def ending_of(data):
    return "json.gz" if isinstance(data, bytes) and data[:2] == b"\x1f\x8b" else \
        "zip" if isinstance(data, bytes) and data[:2] == b"PK" else "json"


def run(path, ways, seed=0, kinds=LOSSLESS + LOSSY + CHANGED):
    """How many copies were analysed; Failed says which was wrong."""
    draw = random.Random(f"{os.path.basename(path)} {seed}")
    text = text_of(path)
    failures, count = [], 0
    with tempfile.TemporaryDirectory(prefix="pdhost copies ") as folder:
        before = analysed(text, folder, "json")[2]
        for how in draw.sample(kinds, min(ways, len(kinds))):
            count += 1
            try:
                data = how(text, draw)
                _, said, after = analysed(data, folder, ending_of(data))
                check(how, before, after, said, data == text)
            except Failed as failed:
                failures.append(f"{path}: {how.__name__}: {failed}")
    if failures:
        raise Failed("\n".join(failures))
    return count


def main():
    if len(sys.argv) < 4 or not PDHOST:
        raise SystemExit(__doc__)
    paths = []
    for given in sys.argv[3:]:
        names = sorted(os.listdir(given)) if os.path.isdir(given) else [""]
        paths += [os.path.join(given, name) if name else given for name in names]
    count, wrong = 0, 0
    for path in paths:
        if not path.endswith((".json", ".json.gz")) or os.path.basename(path) == "labels.json":
            continue
        try:
            count += run(path, int(sys.argv[1]), sys.argv[2])
        except Failed as failed:
            wrong += 1
            print(failed, flush=True)
    print(f"{count} copies of {len(paths)} files, {wrong} files with a wrong one")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()

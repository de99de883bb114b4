"""Copies of traces as other writers and accidents leave them. What lost nothing has the verdict and the gains of the
original; of what lost something they are withheld in words, or still those; nothing ends by a signal, and no step is
found that was not there. Of copies that tell of another program, such as one with longer waits, what has to change is
known, and nothing else may.

    perturbed_traces.py WAYS SEED FOLDER|FILE ...

Each file is copied in WAYS ways of its own, and analysed. PDHOST is the program. Exit status 1: what failed is said.
"""
import gzip
import io
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import zipfile
import zlib
from decimal import Decimal

PDHOST = os.environ.get("PDHOST", "")
# Analysed, and what says that the figures are not to be trusted.
DONE, UNTRUSTED, UNREADABLE = 0, 7, 3
MARKS_LEAST = 5 # steps, for them to be found without marks
OLD_CATEGORIES = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel", "gpu_memcpy": "Memcpy",
                  "gpu_memset": "Memset"}
HIP_NAMES = {"cudaLaunchKernel": "hipLaunchKernel", "cudaMemcpyAsync": "hipMemcpyAsync",
             "cudaMemsetAsync": "hipMemsetAsync", "cudaStreamSynchronize": "hipStreamSynchronize",
             "cudaDeviceSynchronize": "hipDeviceSynchronize", "cudaMalloc": "hipMalloc", "cudaFree": "hipFree",
             "cudaEventRecord": "hipEventRecord"}


class Number(float):
    """A number as the file has it: not a digit is lost."""

    def __new__(cls, text):
        number = super().__new__(cls, float(text))
        number.text = text
        return number


def parse(text):
    return json.loads(text, parse_float=Number, parse_int=Number, strict=False)


def written(value, indent="", draw=None):
    """JSON, with the members in another order where `draw` is given, and a line for each where `indent` is."""
    if isinstance(value, Number):
        return value.text
    inner = indent + "  " if indent else ""
    line = "\n" + indent if indent else ""
    if isinstance(value, dict):
        keys = list(value)
        if draw:
            draw.shuffle(keys)
        return "{" + ",".join(f"{line}{json.dumps(key)}:{written(value[key], inner, draw)}" for key in keys) + line + "}"
    if isinstance(value, list):
        return "[" + ",".join(line + written(item, inner, draw) for item in value) + line + "]"
    return json.dumps(value)


DEVICE = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")
ARROWS = ("ac2g", "fwdbwd", "async_cpu_to_gpu", "async")


def decimal_of(value):
    return Decimal(value.text if isinstance(value, Number) else str(value))


def events_of(trace):
    return trace.get("traceEvents", []) if isinstance(trace, dict) else trace


def with_events(trace, events):
    return written({**trace, "traceEvents": events} if isinstance(trace, dict) else events)


def kept(text, wanted):
    trace = parse(text)
    return with_events(trace, [event for event in events_of(trace) if wanted(event)])


def span(event):
    start = decimal_of(event["ts"])
    return start, start + decimal_of(event.get("dur", 0))


def ranges_of(events, word):
    """Begin and end of the ranges of the program with this in their name, in order."""
    return sorted(span(event) for event in events if event.get("ph") == "X" and word in str(event.get("name")) and
                  event.get("cat") in ("cpu_op", "user_annotation", "Operator"))


def correlation(event):
    args = event.get("args")
    return str(args.get("correlation")) if isinstance(args, dict) else "None"


def launched_in(events, start, end):
    return {correlation(event) for event in events
            if event.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime") and start <= span(event)[0] < end}


# ---- what loses nothing: text in, bytes out ----

def another_order(text, draw):
    """Of the members of each object: the list of events stays as it is."""
    return written(parse(text), draw=draw)


def pretty(text, draw):
    return written(parse(text), indent=draw.choice((" ", "    ", "\t")))


def one_line(text, draw):
    del draw
    return written(parse(text))


def packed(text, draw):
    half = draw.randrange(len(text) + 1)
    return gzip.compress(text[:half].encode(), 1) + gzip.compress(text[half:].encode(), 1)  # two members are one file


def archived(text, draw):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", draw.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as archive:
        archive.writestr("trace.json", text)
    return file.getvalue()


NUMBER = r'(-?[0-9]+(?:\.[0-9]+)?)'
TIME = re.compile(r'"(ts|dur)"(\s*:\s*)' + NUMBER)


def texts_for_numbers(text, draw):
    del draw
    return TIME.sub(r'"\1"\2"\3"', text)


def more_digits(text, draw):
    zeros = "0" * draw.randrange(1, 6)

    def longer(match):
        number = match.group(3) if "." in match.group(3) else match.group(3) + ".0"
        return f'"{match.group(1)}"{match.group(2)}{number}{zeros}'
    return TIME.sub(longer, text)


def later(text, draw):
    """All times 10^15 us later, which is 31 years."""
    del draw

    def shifted(match):
        whole, _, rest = match.group(2).partition(".")
        return f'"ts"{match.group(1)}{int(whole) + 10 ** 15}' + ("." + rest if rest else "")
    return re.sub(r'"ts"(\s*:\s*)' + NUMBER, shifted, text)


def texts_for_ids(text, draw):
    del draw
    return re.sub(r'"(pid|tid)"(\s*:\s*)([0-9]+)', r'"\1"\2"\3"', text)


def of_rocm(text, draw):
    del draw
    for cuda, hip in HIP_NAMES.items():
        text = text.replace(f'"{cuda}"', f'"{hip}"')
    return text


def of_2021(text, draw):
    del draw
    for new, old in OLD_CATEGORIES.items():
        text = re.sub(rf'"cat"(\s*:\s*)"{new}"', rf'"cat"\1"{old}"', text)
    return text


def no_numbers(text, draw):
    wrong = draw.choice(("NaN", "-nan", "Infinity", "-inf", "N/A", '"N/A"', "null"))
    return re.sub(r'("memory bandwidth \(GB/s\)"|"queued")(\s*:\s*)[-+.0-9eE]+', rf'\1\2{wrong}', text)


def control_characters(text, draw):
    odd = draw.choice(("\x01", "\x1b[31m", "\t", "\x7f", "\udcff", "é"))
    return re.sub(r'"traceName"(\s*:\s*)"', rf'"traceName"\1"{odd}', text).replace('"python"', f'"py{odd}thon"')


def twice(text, draw):
    """The head of the file and the names of threads stand there twice."""
    del draw
    begin = text.find('"traceEvents"')
    if not text.lstrip().startswith("{") or begin < 0:
        return text
    first = text.index("{") + 1
    head = text[first:begin]
    return text[:begin] + head + text[begin:] if head.strip() else text


def a_mark(text, draw):
    """Of UTF-8, as some editors put it before a text."""
    del draw
    return b"\xef\xbb\xbf" + text.encode("utf-8", "surrogateescape")


def without_arrows(text, draw):
    """Between launches and device records: the numbers that tie them say the same."""
    del draw
    return kept(text, lambda event: event.get("cat") not in ARROWS)


LOSSLESS = (a_mark, without_arrows, another_order, pretty, one_line, packed, archived, texts_for_numbers, more_digits, later, texts_for_ids, of_rocm,
            of_2021, no_numbers, control_characters, twice)


# ---- what loses something ----

def cut(text, draw):
    return text[:draw.randrange(len(text))]


def cut_and_packed(text, draw):
    whole = gzip.compress(text.encode(), 1)
    return whole[:draw.randrange(len(whole))]


def holes(text, draw):
    """Some stretches are of another file."""
    for _ in range(3):
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice(('"', "}", "{", "\0" * 99, '\\"')) + text[at + draw.randrange(300):]
    return text


def without_marks(text, draw):
    del draw
    return text.replace("ProfilerStep#", "something else ")


def a_list(text, draw):
    """Without the head: what the device is, and when it was."""
    del draw
    trace = parse(text)
    return written(trace.get("traceEvents", []) if isinstance(trace, dict) else trace)


LOSSY = (cut, cut_and_packed, holes, without_marks, a_list)


# ---- what tells of another program ----

def longer_waits(text, draw):
    """Each wait for the loader takes some times as long, and all that follows comes later."""
    trace, times = parse(text), draw.choice((2, 5, 30))
    events = events_of(trace)
    longer = [(end, (end - start) * (times - 1)) for start, end in ranges_of(events, "DataLoader")]

    def moved(at):
        return at + sum(more for end, more in longer if end <= at)
    for event in events:
        if "ts" not in event:
            continue
        start, end = span(event)
        event["ts"] = Number(str(moved(start)))
        if "dur" in event and event.get("cat") not in DEVICE:
            event["dur"] = Number(str(moved(end) - moved(start)))
    return with_events(trace, events)


def fewer_steps(text, draw):
    """The first ones that are marked, three at least."""
    trace = parse(text)
    events = events_of(trace)
    marks = ranges_of(events, "ProfilerStep#")
    if len(marks) < 4:
        return text
    start, end = marks[0][0], marks[draw.randrange(2, len(marks) - 1)][1]
    launched = launched_in(events, start, end)

    def wanted(event):
        if event.get("cat") in DEVICE:
            return correlation(event) in launched
        return event.get("ph") != "X" or (start <= span(event)[0] and span(event)[1] <= end + 1)
    return with_events(trace, [event for event in events if wanted(event)])


def one_pass(text, draw):
    """What one step launches up to its backward part, with no mark: there is no loop."""
    del draw
    trace = parse(text)
    events = events_of(trace)
    marks = ranges_of(events, "ProfilerStep#")
    start = marks[1][0] if len(marks) > 1 else None
    backward = [at for at, _ in ranges_of(events, "autograd::engine") if start is not None and at > start]
    if not backward:
        return text
    launched = launched_in(events, start, backward[0])

    def wanted(event):
        if event.get("cat") in DEVICE:
            return correlation(event) in launched
        return event.get("ph") == "X" and start <= span(event)[0] and span(event)[1] <= backward[0] and \
            "ProfilerStep#" not in event["name"]
    return with_events(trace, [event for event in events if wanted(event)])


CHANGED = (longer_waits, fewer_steps, one_pass)


# ---- what the program says ----

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
        if was and now and abs(now - was) > 0.005 * was + 0.0001 * usual: # waits may be a thousand times the rest
            raise Failed(f"a step without waits took {was} ns and takes {now}; {said}")
        return
    if how is fewer_steps and before["steps"] >= MARKS_LEAST:
        if not (2 < after["steps"] < before["steps"]) or (after["steps"] < MARKS_LEAST and not withheld):
            raise Failed(f"{before['steps']} steps became {after['steps']}: {after['verdict']}; {said}")
        return
    if how is one_pass:
        if after["verdict"] != before["verdict"] and not (after["steps"] <= 1 and withheld):
            raise Failed(f"one pass is {after['steps']} steps: {after['verdict']}; {said}")
        return
    if how is a_list:
        if [after[key] for key in ("times", "cause")] != [before[key] for key in ("times", "cause")]:
            raise Failed(f"{before} became {after}; {said}")
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

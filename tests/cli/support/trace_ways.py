"""Ways to write a trace anew: such that nothing changes (LOSSLESS), that something is lost (LOSSY), that it is of another
program (CHANGED). Each takes the text and a source of random numbers."""
import gzip
import io
import json
import re
import zipfile
from decimal import Decimal

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


def another_order(text, draw):
    """The members of each object change places: the list of events stays as it is."""
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
    """The mark of UTF-8, as some editors put it before a text."""
    del draw
    return b"\xef\xbb\xbf" + text.encode("utf-8", "surrogateescape")


def without_arrows(text, draw):
    """Between launches and device records: the numbers that tie them say the same."""
    del draw
    return kept(text, lambda event: event.get("cat") not in ARROWS)


LOSSLESS = (a_mark, without_arrows, another_order, pretty, one_line, packed, archived, texts_for_numbers, more_digits, later, texts_for_ids, of_rocm,
            of_2021, no_numbers, control_characters, twice)


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


def without_operations(text, draw):
    """Those of the framework: the profiler can leave them out."""
    del draw
    return kept(text, lambda event: event.get("cat") not in ("cpu_op", "Operator") or
                any(word in event["name"] for word in ("ProfilerStep#", "DataLoader")))


LOSSY = (cut, cut_and_packed, holes, without_marks, a_list, without_operations)


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


def copying_thread(text, draw):
    """A thread beside the loop copies batches to the device and waits for each."""
    trace = parse(text)
    events = events_of(trace)
    call = next((event for event in events if event.get("cat") in ("cuda_runtime", "Runtime")), None)
    kernel = next((event for event in events if event.get("cat") in ("kernel", "Kernel")), None)
    number, copies = 10 ** 8, draw.randrange(1, 5)
    if not call or not kernel or "args" not in kernel:
        return text
    for start, end in ranges_of(events, "ProfilerStep#"):
        part = (end - start) / copies
        for i in range(copies):
            at, number = start + part * i + part / 20, number + 2
            for name, begin, length, of in (("cudaMemcpyAsync", at, Decimal(8), number),
                                            ("cudaStreamSynchronize", at + 20, part * 3 / 4, number + 1)):
                events.append({**call, "name": name, "tid": Number("777001"), "ts": Number(f"{begin:.3f}"),
                               "dur": Number(f"{length:.3f}"), "args": {"correlation": Number(str(of))}})
            events.append({**kernel, "cat": "gpu_memcpy" if kernel["cat"] == "kernel" else "Memcpy", "tid": Number("33"),
                           "name": "Memcpy HtoD (Pinned -> Device)", "ts": Number(f"{at + 12:.3f}"),
                           "dur": Number(f"{part / 2:.3f}"),
                           "args": {**kernel["args"], "stream": Number("33"), "correlation": Number(str(number)),
                                    "bytes": Number("4096")}})
    return with_events(trace, events)


CHANGED = (longer_waits, fewer_steps, one_pass, copying_thread)

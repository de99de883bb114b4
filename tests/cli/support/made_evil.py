"""Traces whose every text is markup, quotes and escapes: whatever shows them has to show them as they are."""
from made_trace import MadeTrace

EVIL = "</script><script>window.evil=1</script><img src=x onerror=\"window.evil='2'\">&amp;\\\"'`${1}"
# What a reader knows by its name.
KNOWN = ("ProfilerStep", "enumerate(DataLoader)", "Optimizer.step", "cuda", "nccl", "[memory]")
KEPT_ARGUMENTS = ("External id",)


def spoil(trace):
    """Adds EVIL to each text of a MadeTrace that is not a reader's own word, and events of the kinds that have more."""
    for event in trace.events:
        known = event["name"].startswith(KNOWN)
        event["name"] += "" if known and not event["name"].startswith("nccl") else EVIL
        for key, value in event.get("args", {}).items():
            if isinstance(value, str) and key not in KEPT_ARGUMENTS:
                event["args"][key] = value + EVIL
    for one in trace.head["deviceProperties"]:
        one["name"] += EVIL
    first = trace.events[0]
    for number, name in enumerate((f"nn.Module: {EVIL}_0", f"{EVIL}(7): {EVIL}")):
        trace.events.append({"ph": "X", "cat": "python_function", "name": name, "pid": 7, "tid": 7, "ts": first["ts"] + 1 + number,
                             "dur": 900 - 2 * number, "args": {"Python id": number + 1, "Python parent id": number or None,
                                                               "Python module id": 0}})
    for at in range(2):
        trace.events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": 7,
                             "ts": first["ts"] + 100 + at, "args": {"Total Allocated": 4096 + at, "Total Reserved": 8192, "Bytes": 64,
                                                                    "Addr": 4096, "Device Type": 1, "Device Id": 0}})
    for kind in ("process_name", "thread_name", "process_labels"):
        trace.events.append({"ph": "M", "name": kind, "pid": 7, "tid": 7, "ts": 0, "args": {"name": kind + EVIL, "labels": EVIL}})
    return trace


def made_evil(**how):
    return spoil(MadeTrace(**how))

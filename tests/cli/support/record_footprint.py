"""What recording costs a process beside its steps: memory, and time at its end. The process prints "pid N" first and
"end NS", the monotonic clock, last. For tests, and for scripts/gpu-record."""
import os
import select
import statistics
import subprocess
import time

MOST_BYTES, MOST_GROWTH_BYTES, MOST_EXIT_S, MOST_REPORT_S = 64 << 20, 4 << 20, 0.2, 1.0
EVERY_S = 0.05


class Failed(Exception):
    pass


def resident_bytes(pid):
    """With what it shares, which the ring of a recorder is; None: it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            found = [int(line.split()[1]) for line in file if line.startswith("VmRSS:")]
    except OSError:
        return None
    return 1024 * found[0] if found else None


def watched(command, folder, code=0):
    """The process's memory over its time, the seconds from its last line to its end, and from there to the command's."""
    with subprocess.Popen(command, cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        first = process.stdout.readline().split()
        if len(first) != 2 or first[0] != "pid":
            process.kill()
            raise Failed(f"{command}: it does not say its number first: {first}, {process.communicate()[1][-500:]}")
        ended, sizes = os.pidfd_open(int(first[1])), []
        while not select.select([ended], [], [], EVERY_S)[0]:
            sizes.append(resident_bytes(int(first[1])))
        end_ns = time.monotonic_ns()
        os.close(ended)
        out, err = process.communicate(timeout=600)
        over_ns = time.monotonic_ns()
    last = [line.split()[1] for line in out.splitlines() if line.startswith("end ")]
    sizes = [size for size in sizes if size]
    if process.returncode != code or not last or len(sizes) < 10:
        raise Failed(f"{command}: exit status {process.returncode}, {len(sizes)} looks at its memory: {err[-500:]}")
    return {"sizes": sizes, "exit_s": 1e-9 * (end_ns - int(last[0])), "report_s": 1e-9 * (over_ns - end_ns)}


def growth(sizes):
    """From its middle on: until then a program takes what it needs."""
    half = len(sizes) // 2
    return statistics.median(sizes[-(len(sizes) // 5):]) - statistics.median(sizes[half:half + len(sizes) // 5])


def measure(pdhost, command, folder, options=(), rounds=3, code=0):
    """In turns alone and recorded, which both end with `code`; medians of the rounds."""
    rows = []
    for _ in range(rounds):
        alone = watched(command, folder, code)
        recorded = watched([pdhost, "record", "-q", *options, "--", *command], folder, code)
        rows.append({"added_bytes": max(recorded["sizes"]) - max(alone["sizes"]), "growth_bytes": growth(recorded["sizes"]),
                     "exit_s": recorded["exit_s"] - alone["exit_s"], "report_s": recorded["report_s"]})
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def wrong(row, reports=False):
    """What is beyond its limit. `reports`: it is a short program, for the time that the report takes, which depends on what
    is in it. Its memory grows, since until its end it writes to blocks of the ring that nobody has written to."""
    limits = {"added_bytes": MOST_BYTES, "exit_s": MOST_EXIT_S}
    limits.update({"report_s": MOST_REPORT_S} if reports else {"growth_bytes": MOST_GROWTH_BYTES})
    return [f"{name} {row[name]:.4g} of {limit:.4g}" for name, limit in limits.items() if row[name] > limit]

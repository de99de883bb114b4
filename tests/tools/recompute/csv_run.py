"""A run as the csv sink left it, and arithmetic on spans of time; for recompute_tables.py."""
import collections
import csv
import os


def number(text):
    if text == "":
        return None
    try:
        return int(text)
    except ValueError:
        return float(text)


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Event:
    def __init__(self, row, numbers):
        for key, value in row.items():
            setattr(self, key, number(value) if key in numbers else value)

    @property
    def span(self):
        return max(0, self.end_ns - self.start_ns)


EVENT_NUMBERS = set("index start_ns end_ns depth parent range step flops call bytes ts_ns total_allocated total_reserved "
                    "allocator_ns tid grid_x grid_y grid_z block_x block_y block_z registers_per_thread "
                    "static_shared_bytes dynamic_shared_bytes blocks_per_sm occupancy waves device stream".split())


class Run:
    def __init__(self, folder, sync_timing=True, copies_ahead=False):
        def events(name):
            return [Event(row, EVENT_NUMBERS) for row in read(os.path.join(folder, "events", name + ".csv"))]

        self.folder = folder
        self.sync_timing, self.copies_ahead = sync_timing, copies_ahead
        self.ranges, self.calls = events("ranges"), events("calls")
        self.kernels, self.copies, self.memory = events("kernels"), events("copies"), events("memory")
        self.others = events("others")
        for kernel in self.kernels:
            kernel.kind = "kernel"
        self.records = self.kernels + self.copies
        self.is_cuda = any(row["device"].startswith("GPU") for row in self.table("device_summary")[0])
        self.steps = [(number(row["step_start"]), number(row["step_start"]) + number(row["step_span"]),
                       number(row["step"])) for row in self.table("active_steps")[0]]
        self.steps_ns = sum(end - start for start, end, _ in self.steps)
        self.device_self = collections.Counter()
        for record in self.records:
            if record.range is not None:
                self.device_self[record.range] += record.span
        self.device_total = collections.Counter(self.device_self)
        for i in reversed(range(len(self.ranges))):
            if self.ranges[i].parent is not None:
                self.device_total[self.ranges[i].parent] += self.device_total[i]

    def table(self, name):
        """Rows and footer of a table file, or None where this run has no such table."""
        path = os.path.join(self.folder, name + ".csv")
        if not os.path.exists(path):
            return None, None
        rows = read(path)
        footer = [row for row in rows if row["row_kind"] == "footer"]
        return [row for row in rows if row["row_kind"] == "row"], footer[0] if footer else None

    def ancestors(self, i):
        parent = self.ranges[i].parent
        while parent is not None:
            yield parent
            parent = self.ranges[parent].parent


def owners(nodes):
    """Yields (node, length) for each piece of time and the innermost node open in it: the one that began last."""
    marks = []
    for i, (start, end, depth) in enumerate(nodes):
        if end > start:
            marks += [(start, 1, i), (end, 0, i)]
    marks.sort()
    open_nodes, last = set(), None
    for at, opens, i in marks:
        if open_nodes and at > last:
            yield max(open_nodes, key=lambda n: (nodes[n][0], -nodes[n][1], nodes[n][2])), at - last
        last = at
        (open_nodes.add if opens else open_nodes.remove)(i)


def union(spans):
    total, reached = 0, None
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if reached is None or start > reached:
            total += end - start
            reached = end
        elif end > reached:
            total += end - reached
            reached = end
    return total


def divide(steps, lists):
    """Per step, the time of each list in falling priority, and the rest: by cutting time at every boundary."""
    points = sorted({p for spans in lists for span in spans for p in span} | {p for s in steps for p in s[:2]})
    place = {p: i for i, p in enumerate(points)}
    owner = [len(lists)] * len(points)
    for rank in reversed(range(len(lists))):
        for start, end in lists[rank]:
            for i in range(place[start], place[end]):
                owner[i] = rank
    result = []
    for start, end, _ in steps:
        cells = [0] * (len(lists) + 1)
        for i in range(place[start], place[end]):
            cells[owner[i]] += points[i + 1] - points[i]
        result.append(cells)
    return result


def merged(spans):
    out = []
    for start, end in sorted(span for span in spans if span[1] > span[0]):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return [tuple(span) for span in out]

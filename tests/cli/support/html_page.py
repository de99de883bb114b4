"""The pages of the html sink as tests read them: elements, tables, and the events of a timeline."""
import base64
import html
import json
import zlib
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input"}


def page_text(text):
    """As the page writes what is data."""
    return html.escape(text).replace("&#x27;", "&#39;")


class Page(HTMLParser):
    """Elements in order, the tables by data-id as rows of (data-sort, text), and whether every element is closed."""
    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.tables, self.table, self.cell, self.sentence = [], [], {}, None, None, ""
        self.keys, self.records = {}, set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.elements.append((tag, given))
        if tag not in VOID:
            self.open.append((tag, given.get("class")))
        if tag == "table" and "data-id" in given:
            self.table = given["data-id"]
            self.tables.setdefault(self.table, [])
            self.keys.setdefault(self.table, [])
        if tag == "th" and self.table and "data-key" in given:
            self.keys[self.table].append(given["data-key"])
        if tag == "table" and self.table and given.get("class") == "record":
            self.records.add(self.table)
        if tag == "tr" and self.table:
            self.tables[self.table].append([])
        if tag in ("td", "th") and self.table and "data-key" not in given:
            self.cell = [given.get("data-sort"), ""]
            self.tables[self.table][-1].append(self.cell)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()
        if tag == "table":
            self.table = None
        if tag in ("td", "th"):
            self.cell = None

    def handle_data(self, data):
        if self.cell:
            self.cell[1] += data
        if self.open and self.open[-1] == ("p", "sentence"):
            self.sentence += data


def varints(data):
    value, scale = 0, 1
    for byte in data:
        value += (byte & 0x7F) * scale
        scale *= 128
        if byte < 0x80:
            yield value
            value, scale = 0, 1


def timeline_of(text):
    """The events of the first timeline as the script of the page reads them: (head, rows of dicts)."""
    packed = text.split('<script type="text/plain" class="packed">')[1].split("</script>")[0]
    data = zlib.decompress(base64.b64decode(packed, validate=True))
    size = int.from_bytes(data[:4], "little")
    head, at, columns = json.loads(data[4:4 + size]), 4 + size, []
    for length in head["columns"]:
        columns.append(data[at:at + length])
        at += length
    assert at == len(data)
    starts, durations, names, details, calls = (varints(columns[i]) for i in (0, 1, 2, 3, 5))
    rows, number, call = [], 0, 0
    for lane, shown in enumerate(head["lanes"]):
        for depth, count in enumerate(shown["rows"]):
            time, row = 0, []
            for _ in range(count):
                time += next(starts)
                event = {"lane": lane, "depth": depth, "start": time, "end": time + next(durations),
                         "name": head["texts"][next(names)], "details": head["texts"][next(details)],
                         "kind": head["kinds"][columns[4][number]]}
                if event["kind"] in ("runtime call", "kernel", "copy", "set"):
                    code = next(calls)
                    call += -(code + 1) // 2 if code % 2 else code // 2
                    event["call"] = call
                row.append(event)
                number += 1
            rows.append(row)
    assert number == head["count"] and next(starts, None) is None and next(calls, None) is None
    return head, rows

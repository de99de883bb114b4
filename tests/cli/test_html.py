"""The html sink of whole runs: the page holds the json sink's figures, asks for nothing, and takes names as data."""
import json
import os
import unittest
from html.parser import HTMLParser

from pdhost_run import Case

VOID = {"meta", "link", "br", "img", "input"}
RUN = ["--scenario", "tiny_ops", "--device", "cpu", "--batch_size", "4", "--image_size", "16", "--warmup_steps", "1",
       "--profile_steps", "3", "-q"]


class Page(HTMLParser):
    """Elements in order, the tables by data-id as rows of (data-sort, text), and whether every element is closed."""
    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.tables, self.table, self.cell, self.sentence = [], [], {}, None, None, ""
        self.keys = {}
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


class Html(Case):
    def page(self, *arguments, name="page.html"):
        path = os.path.join(self.folder, name)
        code, _, err = self.run_pdhost(*RUN, "--sink", f"html:path={path}", "--sink",
                                       f"json:output_json={self.folder}/m.json", *arguments)
        self.assertEqual(code, 0, err)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(self.folder, "m.json"), encoding="utf-8") as file:
            return text, Page(text), json.load(file)

    def test_every_table_has_the_figures_of_the_json_sink(self):
        _, page, document = self.page()
        self.assertEqual(page.open, [])
        compared = 0
        for name, table in {**document["windows"][0]["tables"], **document["tables"]}.items():
            if not table["rows"]:
                continue
            self.assertEqual(page.keys[name], [column["key"] for column in table["columns"]])
            rows = [row for row in page.tables[name] if row][:len(table["rows"])]
            self.assertEqual(len(rows), len(table["rows"]), name)
            for shown, row in zip(rows, table["rows"]):
                for cell, column in zip(shown, table["columns"]):
                    value = row[column["key"]]
                    if isinstance(value, (int, float)):
                        self.assertAlmostEqual(float(cell[0]), value, delta=1e-9 * abs(value), msg=f"{name} {column}")
                        compared += 1
                    elif value is None:
                        self.assertIsNone(cell[0])
        self.assertGreater(compared, 500)

    def test_the_verdict_is_the_first_thing_of_the_window(self):
        _, page, document = self.page()
        self.assertEqual(page.sentence, document["windows"][0]["tables"]["verdict"]["rows"][0]["verdict"])

    def test_it_asks_for_nothing(self):
        text, page, _ = self.page()
        for tag, attributes in page.elements:
            self.assertNotIn(tag, ("link", "img", "iframe", "object", "embed"))
            for attribute in ("src", "href", "action", "onclick", "onload"):
                self.assertNotIn(attribute, attributes)
        self.assertNotIn("@import", text)
        self.assertNotIn("url(", text)

    def test_a_name_is_data_and_never_markup(self):
        name = "a<img src=x onerror=alert(1)>&\"'.html"
        text, page, _ = self.page(name=name)
        self.assertEqual(page.open, [])
        self.assertNotIn("<img", text)
        self.assertIn("a&lt;img src=x onerror=alert(1)&gt;&amp;", text)

    def test_a_run_that_was_cut_short_says_so(self):
        path = os.path.join(self.folder, "page.html")
        process = self.start("--scenario", "control", "--device", "cpu", "--batch_size", "4", "--image_size", "16",
                             "-o", "schedule.active=100000", "-o", f"run.trace_dir={self.folder}", "-q",
                             "--progress=json", "--sink", f"html:path={path}")
        for line in process.stderr:
            if '"recording"' in line or '"active"' in line or "record" in line:
                break
        process.send_signal(2)
        process.communicate(timeout=60)
        with open(path, encoding="utf-8") as file:
            self.assertIn("This run was cut short: SIGINT", file.read())


if __name__ == "__main__":
    unittest.main()

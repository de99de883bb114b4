"""The html sink of whole runs: the page holds the json sink's figures, asks for nothing, and takes names as data."""
import json
import os
import unittest

from html_page import Page, page_text, timeline_of
from made_evil import EVIL, made_evil, spoil
from made_ranks import Job
from pdhost_run import Case

RUN = ["--scenario", "tiny_ops", "--device", "cpu", "--batch_size", "4", "--image_size", "16", "--warmup_steps", "1",
       "-q"]


class Html(Case):
    def page(self, *arguments, name="page.html", steps=3):
        path = os.path.join(self.folder, name)
        code, _, err = self.run_pdhost(*RUN, "--profile_steps", str(steps), "--sink", f"html:path={path}", "--sink",
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
            rows = [row for row in page.tables[name] if row]
            rows = [sum(rows, [])] if name in page.records else rows[:len(table["rows"])]
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

    def test_the_first_screen_says_what_to_do_and_what_each_cause_takes(self):
        text, page, document = self.page(steps=8)
        tables = document["windows"][0]["tables"]
        overview = text[text.index('id="overview"'):text.index('id="steps"')]
        verdict = tables["verdict"]["rows"][0]
        self.assertIn(page_text(verdict["verdict_helps"]), overview)
        self.assertIn(page_text(verdict["verdict_next"]), overview)
        if verdict["verdict_overrides"]:
            self.assertIn(f'<p>Set <code>{page_text(verdict["verdict_overrides"])}</code>. Type next:</p>', overview)
        for row in tables["ledger"]["rows"]:
            if row["share"] >= 0.1:
                self.assertIn(f'</span>{page_text(row["category"])} <b>{row["share"]:.1f} %</b>', overview)
        for row in tables["gains"]["rows"][:5]:
            self.assertIn(f'<th scope="row">{page_text(row["removed"])}</th><td>{row["gain"]:.1f} %</td>', overview)

    def test_it_links_to_parts_that_are_there_and_no_id_is_used_twice(self):
        _, page, _ = self.page("-o", "schedule.repeat=2")
        ids = [given["id"] for _, given in page.elements if "id" in given]
        self.assertEqual(len(ids), len(set(ids)))
        links = [given["href"][1:] for tag, given in page.elements if tag == "a"]
        self.assertIn("w1-steps", links)
        self.assertLessEqual(set(links), set(ids))

    def test_the_timeline_has_every_event_and_ties_work_to_its_launch(self):
        text, _, document = self.page("-o", "profile.record_shapes=true")
        counts = document["windows"][0]["counts"]
        head, rows = timeline_of(text)
        events = [event for row in rows for event in row]
        self.assertEqual(len(events), counts["ranges"] + counts["calls"] + counts["activities"] + counts["others"])
        self.assertIn(f"The whole window: {len(events)} events.", text)
        for row in rows:
            for before, event in zip(row, row[1:]):
                self.assertLessEqual(before["end"], event["start"])
        calls = {event["call"]: event for event in events if event["kind"] == "runtime call"}
        self.assertEqual(len(calls), counts["calls"])
        work = [event for event in events if event["kind"] in ("kernel", "copy", "set")]
        self.assertEqual(len(work), counts["activities"])
        for event in work:
            self.assertGreaterEqual(event["start"], calls[event["call"]]["start"] - 50000)
        self.assertEqual([number for number, _, _ in head["steps"]],
                         [step["number"] for step in document["windows"][0]["steps"]])
        self.assertTrue(any("input 4 x" in event["details"] for event in events))

    def test_the_timeline_keeps_to_its_size_and_says_what_it_has(self):
        path = os.path.join(self.folder, "page.html")
        code, _, err = self.run_pdhost(*RUN, "--profile_steps", "12", "--sink", f"html:path={path},timeline=24KiB")
        self.assertEqual(code, 0, err)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        head, rows = timeline_of(text)
        self.assertLessEqual(len(text.split('class="packed">')[1].split("<")[0]), 24 * 1024)
        self.assertGreater(len(head["steps"]), 0)
        self.assertLess(len(head["steps"]), 12)
        self.assertIn(f"The timeline has the first {len(head['steps'])} of 12 steps: {sum(map(len, rows))} events, without",
                      text)
        self.assertIn("The page has room for 24.0 KiB of it", text)

    def test_a_timeline_without_room_is_left_out_and_said_so(self):
        path = os.path.join(self.folder, "page.html")
        code, _, err = self.run_pdhost(*RUN, "--sink", f"html:path={path},timeline=0")
        self.assertEqual(code, 0, err)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("The timeline was left out", text)
        self.assertNotIn('class="packed"', text)

    def test_it_asks_for_nothing(self):
        text, page, _ = self.page()
        for tag, attributes in page.elements:
            self.assertNotIn(tag, ("link", "img", "iframe", "object", "embed"))
            for attribute in ("src", "action", "onclick", "onload"):
                self.assertNotIn(attribute, attributes)
            self.assertRegex(attributes.get("href", "#"), "^#")
        policy = [given["content"] for tag, given in page.elements if "http-equiv" in given]
        self.assertEqual(len(policy), 1)
        self.assertIn("default-src 'none'", policy[0])
        self.assertNotIn("@import", text)
        self.assertNotIn("url(", text)

    def test_a_name_is_data_and_never_markup(self):
        name = "a<img src=x onerror=alert(1)>&\"'.html"
        text, page, _ = self.page(name=name)
        self.assertEqual(page.open, [])
        self.assertNotIn("<img", text)
        self.assertIn("a&lt;img src=x onerror=alert(1)&gt;&amp;", text)

    def test_memory_and_stacks_are_drawn_with_the_figures_of_their_tables(self):
        text, page, document = self.page("-o", "profile.profile_memory=true", "-o", "profile.with_stack=true")
        tables = document["windows"][0]["tables"]
        whole = sum(row["value_us"] for row in tables["stacks"]["rows"])
        graph = text[text.index('class="flame"'):]
        widths = [float(part.split('"')[0]) for part in graph[:graph.index("</svg>")].split('data-w="')[1:]]
        self.assertEqual(widths[0], 1140)
        self.assertIn("all: ", graph[:400])
        leaf = max(tables["stacks"]["rows"], key=lambda row: row["value_us"])
        self.assertTrue(any(abs(width - 1140 * leaf["value_us"] / whole) < 0.02 for width in widths) or
                        any(width > 1140 * leaf["value_us"] / whole for width in widths[2:]))
        self.assertEqual(page.open, [])
        if tables["memory"]["rows"]:
            self.assertIn('class="memory"', text)

    def is_data(self, name):
        """The page: it is whole, and what is in it was written by the sink."""
        with open(self.path(name), encoding="utf-8") as file:
            text = file.read()
        page = Page(text)
        self.assertEqual(page.open, [], name)
        self.assertNotIn("<img", text, name)
        self.assertNotIn("<script>", text, name)
        self.assertLessEqual({given.get("type") for tag, given in page.elements if tag == "script"},
                             {"text/plain", "module"}, name)
        self.assertIn(page_text(EVIL), text, name)
        return text

    def test_names_of_a_trace_are_data(self):
        made_evil(steps=8).write(self.path("evil.json"))
        code, _, err = self.run_pdhost("analyze", "evil.json", "--sink", "html:path=evil.html", watch=False)
        self.assertEqual(code, 0, err)
        text = self.is_data("evil.html")
        self.assertIn("with the new trace for NEW:</p>\n<pre class=\"command\" tabindex=\"0\"><code>pdhost diff evil.json "
                      "NEW</code>", text)
        head, rows = timeline_of(text)
        self.assertEqual(sum(event["name"] == "gemm_kernel" + EVIL for row in rows for event in row), 8)
        self.assertTrue(any(EVIL in lane["name"] for lane in head["lanes"]))

    def test_names_of_files_and_ranks_are_data(self):
        name = "e<script>alert(1)<!--'\".json"
        for rank, trace in enumerate(Job().traces):
            spoil(trace).write(self.path(f"{rank}{name}"))
        code, _, err = self.run_pdhost("analyze", *(f"{rank}{name}" for rank in range(3)), "--sink", "html:path=evil.html",
                                       watch=False)
        self.assertEqual(code, 0, err)
        self.assertIn('id="all-ranks"', self.is_data("evil.html"))

    def test_names_in_a_difference_are_data(self):
        made_evil(steps=8).write(self.path("a<script>.json"))
        made_evil(steps=8, kernel_us=300).write(self.path("b'\".json"))
        code, _, err = self.run_pdhost("diff", "a<script>.json", "b'\".json", "--sink", "html:path=evil.html", watch=False)
        self.assertEqual(code, 0, err)
        self.is_data("evil.html")

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

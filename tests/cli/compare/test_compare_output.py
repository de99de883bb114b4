#!/usr/bin/env python3
"""pdhost compare: the table, its formats, the page; documents of runs, and files that are none of its own."""
import csv
import io
import json
import os
import unittest
from xml.etree import ElementTree

from compare_case import CompareCase
from measurement_files import measurement, write, write_run


class CompareOutput(CompareCase):
    def test_the_table_is_that_of_torch(self):
        steady = {"spread": 0, "count": 4}
        self.files(a=[measurement(12.34e-6, description="mul sum", **steady),
                      measurement(5.4321e-6, description="bmm", **steady),
                      measurement(250.4e-6, sub_label="[64, 4096]", description="mul sum", **steady),
                      measurement(30e-6, sub_label="[64, 4096]", description="bmm", threads=4,
                                  host_s=[1e-4, 2e-4, 3e-4, 4e-4, 5e-4])])
        code, out, err = self.run_pdhost("compare", "a.json")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, """\
[------------ batched dot ------------]
              |  mul sum  |     bmm    
1 threads: ----------------------------
  [64, 512]   |     12    |   5        
  [64, 4096]  |    250    |            
4 threads: ----------------------------
  [64, 4096]  |           |  30 (! 67%)

Times are in microseconds (us).
(! XX%) Measurement has high variance, where XX is the IQR / median * 100.
""")

    def test_the_page_has_the_verdict_each_time_and_the_figures(self):
        name = "<i>bmm</i> & \"x\""
        self.files(a=[measurement(10e-6, description=name, count=40)], b=[measurement(20e-6, description=name, count=40)])
        verdict = self.verdict("a.json", "b.json")[0]
        code, out, err = self.run_pdhost("compare", "--html", "page.html", "a.json", "b.json")
        self.assertEqual(code, 0, err)
        self.assertIn("pdhost: wrote page.html", err)
        self.assertIn("[---", out)
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertNotIn("<i>bmm", page)
        self.assertIn("&lt;i&gt;bmm&lt;/i&gt; &amp; &quot;x&quot;", page)
        self.assertIn(f'<p class="sentence">{verdict["verdict"]}: ', page)
        for key in ("ratio", "low", "high"):
            shown = [float(part.split('"')[0]) for part in page.split('data-sort="')[1:]]
            self.assertTrue(any(abs(value - verdict[key]) < 1e-9 * value for value in shown), key)
        self.assertEqual(page.count('class="dot"'), 80)

    def test_control_characters_of_a_file_stay_off_the_terminal(self):
        odd = {"label": "l\x1b[1m", "sub_label": "a\x1b[31mred\nnl", "description": "tab\there", "env": "e\x07"}
        write(self.path("a.json"), measurement(1e-3, **odd, options={"data.x": "1\x1b"}))
        write(self.path("b.json"), measurement(2e-3, **odd, options={"data.x": "2\x7f"}))
        for arguments in ((), ("--wide",), ("--format", "md"), ("--format", "md", "--wide")):
            code, out, err = self.run_pdhost("compare", *arguments, "a.json", "b.json")
            self.assertEqual((code, err), (0, ""))
            self.assertNotRegex(out, r"[\x00-\x09\x0b-\x1f\x7f]")
            for text in (r"l\x1b[1m", r"a\x1b[31mred\x0anl", r"tab\x09here", r"2\x7f"):
                self.assertIn(text, out)
        write(self.path("c.json"), measurement(2e-3, label="other\x1b"))
        self.assertIn(r'no verdict on "l\x1b[1m" and "other\x1b"', self.run_pdhost("compare", "a.json", "c.json")[2])
        # Others read what was there.
        self.assertIn("a\x1b[31mred\nnl", self.run_pdhost("compare", "--format", "csv", "a.json")[1])

    def test_wide_has_the_tails(self):
        times = [1e-3 * (10 + k) for k in range(101)]  # of ten runs: 1 ms to 11 ms
        self.files(a=[measurement(0, host_s=times), measurement(0, host_s=[2e-2] * 4, description="b|c", threads=2)])
        code, out, err = self.run_pdhost("compare", "--wide", "a.json")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("""
                               median      mean       MAD       IQR       p90       p99       min       max    blocks  (ms)
  [64, 512], bmm                    6         6       2.5         5        10      10.9         1        11       101
  [64, 512], b|c, 2 threads         2         2         0         0         2         2         2         2         4
""", out)
        out = self.run_pdhost("compare", "--wide", "--format", "md", "a.json")[1]
        self.assertIn("| (ms) | median | mean | MAD | IQR | p90 | p99 | min | max | blocks |\n", out)
        self.assertIn("| [64, 512], bmm | 6 | 6 | 2.5 | 5 | 10 | 10.9 | 1 | 11 | 101 |\n", out)
        self.assertIn("| [64, 512], b\\|c, 2 threads | 2 |", out)
        (row, _) = csv.DictReader(io.StringIO(self.run_pdhost("compare", "--format", "csv", "a.json")[1]))
        cell = json.loads(self.run_pdhost("compare", "--format", "json", "a.json")[1])["cells"][0]
        for key, expected in (("p25_s", 3.5e-3), ("p75_s", 8.5e-3), ("p90_s", 10e-3), ("p99_s", 10.9e-3), ("mad_s", 2.5e-3)):
            self.assertAlmostEqual(float(row[key]), expected, places=12)
            self.assertAlmostEqual(cell[key], expected, places=12)

    def test_documents_of_runs(self):
        write_run(self.path("a.json"), 30e-3, "input-bound: the device waits for data",
                  parts={"Input wait: I/O": 20e-3, "Kernels": 9.9e-3, "Allocator": 1e-6})
        write_run(self.path("b.json"), 12e-3, "no bottleneck found", count=70, workers=2, seed=1,
                  parts={"Input wait: I/O": 0, "Kernels": 10e-3, "Host launching": 2e-3})
        code, out, err = self.run_pdhost("compare", "a.json", "b.json")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"\nFASTER   iteration of a run: dataloader: b takes 0\.\d+ times as long as a ")
        self.assertIn("         data.num_workers: 1 -> 2\n\nVerdict of a: input-bound: the device waits for data\n"
                      "Verdict of b: no bottleneck found\n", out)
        self.assertNotIn("trace_dir", out)
        self.assertTrue(out.endswith("""
Where the step goes, ms                        A         B    change
  Input wait: I/O                             20         0       -20
  Host launching                               0         2        +2
  Kernels                                    9.9        10      +0.1
"""), out)
        (found,) = self.verdict("a.json", "b.json")
        self.assertAlmostEqual(found["ratio"], 0.4, delta=0.02)
        first, second = json.loads(self.run_pdhost("compare", "--format", "json", "a.json", "b.json")[1])["runs"]
        self.assertEqual((first["file"], first["verdict"]), ("a", "input-bound: the device waits for data"))
        self.assertEqual(second["parts"][1], {"category": "Kernels", "per_step_s": 0.01})
        self.assertEqual(self.run_pdhost("compare", "b.json", "a.json", "--gate")[0], 9)
        self.assertIn("| Input wait: I/O | 20 | 0 | -20 |\n", self.run_pdhost("compare", "--format", "md", "a.json", "b.json")[1])

    def test_runs_that_are_too_short_say_how_many_steps_are_needed(self):
        write_run(self.path("a.json"), 30e-3, count=8)
        write_run(self.path("b.json"), 12e-3, count=12, workers=3)
        out = self.run_pdhost("compare", "a.json", "b.json")[1]
        self.assertIn("UNCLEAR  iteration of a run", out)
        self.assertIn("record more in both: --profile_steps 96\n", out)
        write_run(self.path("none.json"), 1e-3, count=0)
        self.assert_fails(self.run_pdhost("compare", "a.json", "none.json"), 3, "none.json: fewer active steps than make a block")

    def test_the_document_that_pdhost_writes_is_one(self):
        code, _, err = self.run_small("--scenario", "control", "--profile_steps", "3", "--sink", "json:output_json=run.json")
        self.assertEqual(code, 0, err)
        code, out, _ = self.run_pdhost("compare", "run.json", "run.json")
        self.assertEqual(code, 0)
        self.assertIn("iteration of a run", out)

    def test_formats(self):
        self.files(a=[measurement(1e-3, label='a,"b"', spread=0), measurement(2e-3, label='a,"b"', spread=0,
                                                                            description="x|y")])
        out = self.run_pdhost("compare", "--format", "csv", "a.json")[1]
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([(row["label"], row["description"], float(row["median_s"]), row["blocks"]) for row in rows],
                         [('a,"b"', "bmm", 1e-3, "60"), ('a,"b"', "x|y", 2e-3, "60")])
        out = self.run_pdhost("compare", "--format", "md", "a.json")[1].splitlines()
        self.assertEqual(out[0], '| a,"b" (ms) | bmm | x\\|y |')
        self.assertEqual(out[2], "| [64, 512] | **1.000** | 2.000 |")
        self.assertIn("- **SLOWER** ", out[4])

    def test_same_names_in_two_folders_are_told_apart(self):
        for folder in ("old", "new"):
            os.mkdir(self.path(folder))
            write(self.path(folder + "/m.json"), measurement(1e-3))
        out = self.run_pdhost("compare", "old/m.json", "new/m.json")[1]
        self.assertIn("bmm (old/m.json)  |  bmm (new/m.json)", out)

    def test_a_partial_measurement_is_said(self):
        self.files(a=[measurement(1e-3, partial=True)])
        code, _, err = self.run_pdhost("compare", "a.json")
        self.assertEqual(code, 0)
        self.assertIn("a: batched dot: [64, 512], bmm was cut short", err)

    def test_colours_on_a_terminal_alone(self):
        self.files(a=[measurement(1e-3), measurement(9e-3, description="slow")])
        self.assertIn("\x1b[92m", self.on_terminal("compare", "a.json"))
        self.assertNotIn("\x1b", self.on_terminal("compare", "a.json", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.on_terminal("compare", "a.json", TERM="dumb"))
        self.assertNotIn("\x1b", self.run_pdhost("compare", "a.json")[1])
        self.assertIn("\x1b[31m", self.run_pdhost("compare", "--color", "a.json")[1])

    def test_a_single_column_is_coloured_by_column(self):
        self.files(a=[measurement(at, sub_label=name, threads=threads, spread=0)
                      for at, name, threads in ((1e-3, "best", 1), (1.05e-3, "near", 1), (9e-3, "far", 1), (4e-3, "plain", 2))],
                   alone=[measurement(1e-3, spread=0)])
        out = self.run_pdhost("compare", "--color", "a.json")[1]
        colors = {line.split()[0]: line.split("|")[1].strip().split("m")[0] for line in out.splitlines() if "|" in line}
        self.assertEqual([colors[name] for name in ("best", "near", "far")], ["\x1b[92", "\x1b[34", "\x1b[31"])
        self.assertEqual(colors["plain"], "4.000", "the only one with two threads")
        self.assertNotIn("\x1b", self.run_pdhost("compare", "--color", "alone.json")[1])

    def test_files_that_are_no_measurements(self):
        self.files(a=[measurement(1e-3)])
        for name, text, message in (("empty", "", "empty.json:1:0"), ("text", "hello", "text.json:1"),
                                    ("other", '{"format": "pdhost.score/1"}', 'format is "pdhost.score/1"'),
                                    ("later", '{"format": "pdhost.measurements/2"}', "this pdhost reads pdhost.measure"),
                                    ("none", '{"format": "pdhost.measurements/1", "measurements": []}', "at least one")):
            with open(self.path(name + ".json"), "w", encoding="utf-8") as file:
                file.write(text)
            self.assert_fails(self.run_pdhost("compare", "a.json", name + ".json"), 3, message)
        self.assert_fails(self.run_pdhost("compare", "missing.json"), 3, "missing.json: No such file")

    def test_junit_has_a_test_for_each_task(self):
        rows = {name: [measurement(value, sub_label=name, seed=seed) for name, value in values]
                for seed, (name, values) in enumerate({
                    "a": (("same", 1e-3), ("slow <&\x1b>", 1e-3), ("fast", 1e-3), ("gone", 1e-3)),
                    "b": (("same", 1e-3), ("slow <&\x1b>", 2e-3), ("fast", 5e-4))}.items())}
        self.files(**rows)
        code, _, err = self.run_pdhost("compare", "--gate", "--margin", "3", "--junit", "junit.xml", "a.json", "b.json")
        self.assertEqual(code, 9)
        self.assertIn("pdhost: wrote junit.xml", err)
        suite = ElementTree.parse(self.path("junit.xml")).getroot()[0]
        self.assertEqual(suite.attrib, {"name": "pdhost compare", "tests": "4", "failures": "1", "errors": "1", "skipped": "0"})
        cases = {case.get("name"): case for case in suite}
        self.assertEqual(list(cases), [f"batched dot: {name}, bmm" for name in
                                       ("same", "slow <&\\x1b>", "fast")] + ["batched dot: gone, bmm"])
        found = {name: [(at.tag, at.get("type")) for at in case if at.tag != "system-out"] for name, case in cases.items()}
        self.assertEqual([found[name] for name in cases], [[], [("failure", "SLOWER")], [], [("error", "UNCLEAR")]])
        slow = cases["batched dot: slow <&\\x1b>, bmm"]
        self.assertRegex(slow[0].get("message"), r"^b takes 2\.\d+ times as long as a \(95 %: ")
        self.assertEqual(slow.find("system-out").text, slow[0].get("message"))
        self.assertAlmostEqual(float(slow.get("time")), 2e-3, delta=1e-4)
        self.assertEqual(cases["batched dot: gone, bmm"][0].get("message"), "only in a")
        # It does not change the exit code, and one that cannot be written is not hidden.
        self.assertEqual(self.run_pdhost("compare", "--junit", "junit.xml", "a.json", "b.json")[0], 0)
        self.assert_fails(self.run_pdhost("compare", "--junit", "no/such/junit.xml", "a.json", "b.json"), 8, "junit.xml")
        self.assert_fails(self.run_pdhost("compare", "--junit", "junit.xml", "a.json"), 2, "--junit: needs two files")

    def test_mistakes(self):
        for arguments, message in (((), "no file given"), (("--fast", "a"), "--fast: no such option"),
                                   (("--format", "xml", "a"), "--format xml: not allowed; allowed: text, json, csv, md"),
                                   (("--margin", "much", "a"), "--margin much"), (("a", "--time"), "needs a value")):
            self.assert_fails(self.run_pdhost("compare", *arguments), 2, message)
        code, out, err = self.run_pdhost("compare", "--help")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("usage: pdhost compare", out)


if __name__ == "__main__":
    unittest.main()

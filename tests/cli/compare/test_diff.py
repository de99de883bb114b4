"""pdhost diff: what changed between two traces, with every time chosen by hand; the gate; captures."""
import json
import os
import unittest
from xml.etree import ElementTree

from made_nsys import MadeNsys
from made_trace import MadeTrace
from pdhost_run import Case


class Wobbly(MadeTrace):
    """The wait for the loader is longer in every other step."""

    def __init__(self, wobble_us=8, **how):
        self.wobble_us = wobble_us
        super().__init__(**how)

    def step(self, step, at, wait_us, *rest):
        super().step(step, at, wait_us + (self.wobble_us if step % 2 else 0), *rest)


class Diff(Case):
    def made(self, name, kind=MadeTrace, change=lambda text: text, **how):
        trace = kind(**how)
        return trace.write(self.path(name), change(trace.text()))

    def diff(self, *arguments, code=0):
        got, out, err = self.run_pdhost("diff", *arguments, watch=False)
        self.assertEqual(got, code, out + err)
        return out, err

    def figures(self, *arguments, **how):
        return json.loads(self.diff("--format", "json", *arguments, **how)[0])

    @staticmethod
    def row(figures, table, name):
        return next(row for row in figures[table]["rows"] if row["name"] == name)

    def test_a_longer_kernel(self):
        self.made("a.json", Wobbly, steps=8)
        self.made("b.json", Wobbly, steps=8, kernel_us=300)
        figures = self.figures("a.json", "b.json")
        row = self.row(figures, "kernels", "gemm_kernel")
        self.assertEqual((row["a_ns"], row["b_ns"], row["change"]["change_ns"]), (200000, 300000, 100000))
        self.assertEqual((row["shape_a"], row["a_count"], row["sure"]), ("grid [16, 1, 1], block [128, 1, 1]", 1, True))
        self.assertEqual(self.row(figures, "operators", "aten::linear")["change"]["change_ns"], 100000)
        self.assertEqual(figures["kernels"]["rows"][0]["name"], "gemm_kernel")
        ledger = sum(row["change"]["change_ns"] for row in figures["ledger"]["rows"])
        self.assertAlmostEqual(ledger, figures["step"]["mean"]["change_ns"], delta=1)

    def test_the_page_has_the_rows_of_the_json(self):
        name = "<b>gemm</b> & 'more'"
        rename = lambda text: text.replace("gemm_kernel", name)
        self.made("a.json", Wobbly, rename, steps=8)
        self.made("b.json", Wobbly, rename, steps=8, kernel_us=300)
        figures = self.figures("a.json", "b.json")
        out, err = self.diff("a.json", "b.json", "--sink", "html:path=page.html")
        self.assertEqual(out, "")
        self.assertIn("pdhost: wrote page.html", err)
        with open(self.path("page.html"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("&lt;b&gt;gemm&lt;/b&gt; &amp; &#39;more&#39;", text)
        self.assertNotIn("<b>gemm", text)
        self.assertIn("default-src 'none'", text)
        self.assertIn(f'<p class="sentence">{figures["verdict"]}: A step takes', text)
        for table in ("ledger", "kernels", "operators"):
            for row in figures[table]["rows"]:
                for value in (row["a_ns"], row["b_ns"], row["change"]["change_ns"]):
                    self.assertIn(f'data-sort="{value:.17g}"', text)
        self.assertEqual(text.count("<tr>"), text.count("</tr>"))

    def slower(self):
        """B waits 600 us more for its input, and its steps last as much longer."""
        self.made("a.json", Wobbly, steps=6)
        trace = Wobbly(steps=0)
        for step in range(6):
            trace.step(step, 1600.0 * step, 700, 200, True, True, True)
        for event in trace.events:
            if event["name"].startswith("ProfilerStep"):
                event["dur"] = 1595.0
        trace.write(self.path("b.json"))

    def test_the_sentence_and_the_gate(self):
        self.slower()
        out, err = self.diff("--gate", "a.json", "b.json", code=9)
        self.assertRegex(out, r'SLOWER +A step takes 1\.60 ms in B and 1\.00 ms in A \(\+60\.0 %\): "input-bound"\s+costs')
        self.assertRegex(out, r"Input wait: \S+ +0\.\d+ +0\.7\d+ +\+0\.600")
        self.assertEqual(err, "")
        self.assertLessEqual(max(len(line) for line in out.splitlines()), 80)
        self.assertRegex(self.diff("--gate", "b.json", "a.json")[0], r"FASTER +A step takes 1\.00 ms in B")
        self.assertEqual(self.figures("b.json", "a.json")["verdict"], "FASTER")
        self.diff("--gate", "--margin", "70", "a.json", "b.json")

    def test_too_few_steps_have_no_direction(self):
        self.made("a.json", steps=3)
        self.made("b.json", steps=3, kernel_us=300)
        out, _ = self.diff("--gate", "a.json", "b.json", code=10)
        self.assertRegex(out, r"3 steps on a side are too few for a direction; record 5 or more in\s+both\.")
        self.assertIn("The gains of A are withheld: 3 active steps are too few, 5 are needed", out)

    def test_new_gone_and_other_shapes(self):
        self.made("a.json", Wobbly, steps=6)
        self.made("b.json", Wobbly, lambda text: text.replace("gemm_kernel", "void gemm_v2").replace("[64, 1, 1]", "[32, 1, 1]"),
                  steps=6)
        figures = self.figures("a.json", "b.json")
        self.assertEqual((figures["kernels"]["new"], figures["kernels"]["gone"]), (1, 1))
        self.assertEqual(self.row(figures, "kernels", "gemm_kernel")["shape_b"], None)
        self.assertEqual(self.row(figures, "kernels", "void gemm_v2")["shape_a"], None)
        out, _ = self.diff("a.json", "b.json")
        self.assertIn("  new: gemm_v2 ", out)
        self.assertIn("  gone: gemm_kernel ", out)
        self.assertIn("By name and shape: kernels 1 new, 1 gone", out)
        self.made("c.json", Wobbly, lambda text: text.replace("[64, 1, 1]", "[32, 1, 1]").replace('"dur": 10.0', '"dur": 25.0'),
                  steps=6)
        row = self.row(self.figures("a.json", "c.json"), "kernels", "elementwise_kernel")
        self.assertEqual((row["shape_a"][:13], row["shape_b"][:13]), ("grid [64, 1, ", "grid [32, 1, "))
        self.assertIn("  other shape: elementwise_kernel ", self.diff("a.json", "c.json")[0])

    def test_operators_have_their_shapes(self):
        def write(name, dims, kernel_us):
            trace = Wobbly(steps=6, kernel_us=kernel_us)
            for event in trace.events:
                if event["name"] == "aten::linear":
                    event["args"]["Input Dims"] = dims
            trace.write(self.path(name))

        write("a.json", [[64, 32], [16, 32], []], 200)
        write("b.json", [[64, 32], [16, 32], []], 250)
        write("c.json", [[128, 32], [16, 32], []], 300)
        write("d.json", [[[8], [8]], [16, 32]], 300)  # a list of tensors
        shapes = lambda other: {(row["shape_a"], row["shape_b"]) for row in self.figures("a.json", other)["operators"]["rows"]
                                if row["name"] == "aten::linear"}
        first = "[[64, 32], [16, 32], []]"
        self.assertEqual(shapes("b.json"), {(first, first)})
        self.assertEqual(shapes("c.json"), {(first, "[[128, 32], [16, 32], []]")})
        self.assertEqual(shapes("d.json"), {(first, "")})
        self.assertIn("  other shape: aten::linear ", self.diff("a.json", "c.json")[0])

    def test_the_same_file_is_no_difference(self):
        self.made("a.json", steps=6)
        figures = self.figures("--gate", "a.json", "a.json")
        self.assertEqual((figures["verdict"], figures["step"]["mean"]["change_ns"]), ("SAME", 0))
        self.assertEqual([figures[table]["rows"] for table in ("ledger", "kernels", "operators")], [[], [], []])
        os.symlink("a.json", self.path("b.json"))
        said = "a.json and b.json are the same file, which has no difference: name two files"
        self.assertEqual([line for line in self.diff("a.json", "b.json")[1].splitlines() if "warn" in line],
                         [f"pdhost: warn: {said}"])
        self.made("c.json", steps=6)
        self.assertNotIn("same file", self.diff("a.json", "c.json")[1])

    def test_of_a_cut_file_nothing_is_said(self):
        """The end of it holds the last steps' kernels, so that they would look shorter."""
        self.slower()
        with open(self.path("b.json"), "rb+") as file:
            file.truncate(os.path.getsize(self.path("b.json")) * 9 // 10)
        for pair in (("a.json", "b.json"), ("b.json", "a.json")):
            out, _ = self.diff("--gate", *pair, code=10)
            self.assertRegex(out, r"UNCLEAR +A step takes .*: but events\s+are\s+missing")
            self.assertIn(f"A part of {'AB'[pair.index('b.json')]} could not be read", " ".join(out.split()))
            self.assertNotIn("Kernels", out)
        self.assertEqual(self.figures("a.json", "b.json")["ledger"]["rows"], [])

    def test_junit_has_the_step(self):
        self.slower()
        self.diff("--junit", "junit.xml", "a.json", "a.json")
        suite = ElementTree.parse(self.path("junit.xml")).getroot()[0]
        self.assertEqual((suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("errors")),
                         ("pdhost diff", "1", "0", "0"))
        self.assertIn("A step takes as long in B as in A", suite[0].find("system-out").text)
        self.diff("--gate", "--junit", "junit.xml", "a.json", "b.json", code=9)
        suite = ElementTree.parse(self.path("junit.xml")).getroot()[0]
        self.assertEqual((suite.get("failures"), suite[0][0].tag, suite[0][0].get("type")), ("1", "failure", "SLOWER"))
        self.assertRegex(suite[0][0].get("message"), r"^A step takes \S+ ms in B and \S+ ms in A")

    def test_a_side_without_device_records(self):
        self.made("a.json", steps=6)
        trace = MadeTrace(steps=6)
        trace.events = [event for event in trace.events if event["cat"] in ("cpu_op", "user_annotation")]
        trace.write(self.path("b.json"))
        out, _ = self.diff("a.json", "b.json")
        self.assertIn("B has no device records, so only the steps are compared.", out)
        self.assertNotIn("Kernels", out)
        figures = self.figures("b.json", "b.json")
        self.assertEqual(figures["a"]["steps"], 6)

    def words(self, *arguments, **how):
        return " ".join(self.diff(*arguments, **how)[0].split())

    def test_a_recording_without_a_loop_is_no_step(self):
        self.made("a.json", steps=2, marks=False)
        self.made("b.json", steps=2, marks=False, kernel_us=300)
        self.made("steps.json", steps=6)
        said = self.words("--gate", "a.json", "b.json", code=10)
        self.assertIn("UNCLEAR The whole recording takes", said)
        self.assertIn("No loop was found in A, and none in B: the whole recordings are compared.", said)
        self.assertIn("Milliseconds of a recording", said)
        self.assertIn("Where the time goes", said)
        self.assertNotIn(" to +", said)
        self.assertNotRegex(said, r"\d steps?\b|step takes|Whole step|too few for a direction")
        for pair, letter in ((("a.json", "steps.json"), "A"), (("steps.json", "a.json"), "B")):
            said = self.words(*pair)
            self.assertRegex(said, f"UNCLEAR A step of {'B' if letter == 'A' else 'A'} takes 1.00 ms, and the whole recording of {letter} "
                                   r"takes \S+ ms\.")
            self.assertIn(f"No loop was found in {letter}: the whole recording is compared.", said)
            self.assertNotIn(" to +", said)
        figures = self.figures("steps.json", "a.json")
        self.assertEqual([(figures[side]["has_loop"], figures[side]["steps"]) for side in "ab"], [(True, 6), (False, 0)])
        self.assertEqual((figures["step"]["ratio"], figures["step"]["mean"]["low_ns"]), (None, None))
        self.assertEqual({row["change"]["low_ns"] for row in figures["kernels"]["rows"]}, {None})
        self.diff("a.json", "b.json", "--sink", "html:path=page.html")
        with open(self.path("page.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("a.json, no loop, on Made GPU", page)
        self.assertNotIn("Whole step", page)

    def processes(self, name, *traces):
        export = MadeNsys(self.path(name))
        for number, trace in enumerate(traces):
            export.pid = 7 + number
            export.take(trace)
        export.write()

    def test_processes_without_a_loop_are_no_steps(self):
        short = {"steps": 2, "marks": False}
        self.processes("a.sqlite", *(MadeTrace(**short, kernel_us=200 + i) for i in range(6)))
        self.processes("b.sqlite", *(MadeTrace(**short, kernel_us=400 + i) for i in range(6)))
        said = self.words("--gate", "a.sqlite", "b.sqlite", code=10)
        self.assertEqual(said.count("sqlite no loop"), 2)
        self.assertNotIn(" to +", said)
        self.assertEqual(self.figures("a.sqlite", "b.sqlite")["a"]["steps"], 0)
        for first in (True, False):
            loop, none = MadeTrace(steps=6), MadeTrace(**short)
            self.processes("c.sqlite", *((none, loop) if first else (loop, none)))
            self.assertIn("No loop was found in 1 window of A, which is left out.", self.words("c.sqlite", "c.sqlite"))
            self.assertEqual(self.figures("c.sqlite", "c.sqlite")["a"]["steps"], 6)
            os.remove(self.path("c.sqlite"))

    def test_records_without_calls_are_named(self):
        self.made("a.json", steps=6)
        trace = MadeTrace(steps=6)
        count = sum(event["cat"] in ("kernel", "gpu_memcpy") for event in trace.events)
        for event in trace.events:
            event["args"].pop("correlation", None)
        trace.write(self.path("b.json"))
        trace.events = [event for event in trace.events if event["cat"] != "cuda_runtime"]
        trace.write(self.path("c.json"))
        said = self.words("a.json", "b.json")
        self.assertIn(f"B has {count} device records, but not one with the call that launched it, so only the steps are compared.",
                      said)
        self.assertNotIn("no device records", said)
        self.assertIn(f"A has {count} device records, but no calls that launched them, so only the steps", self.words("c.json", "a.json"))
        self.assertIn(f"B has {count} device records, but no calls that launched them.", self.words("c.json", "c.json"))

    def of_lengths(self, name, lengths, kernel_us=200, waits_us=(100,), lost=None):
        trace, at = MadeTrace(steps=0), 0
        for step, length in enumerate(lengths):
            trace.step(step, float(at), waits_us[step % len(waits_us)], kernel_us, True, True, True)
            at += length
        for event in trace.events:
            if event["name"].startswith("ProfilerStep#"):
                event["dur"] = lengths[int(event["name"].split("#")[1])] - 5.0
        trace.events = [event for event in trace.events if event["name"] != lost]
        trace.write(self.path(name))

    def test_the_sentence_names_what_changed_for_certain(self):
        self.made("a.json", Wobbly, steps=6)
        self.made("b.json", Wobbly, steps=6, kernel_us=300)
        said = self.words("a.json", "b.json")
        self.assertRegex(said, r'SAME A step takes as long in B as in A: 1\.00 and 1\.00 ms, equal within \d\.\d %; but "')
        self.assertNotIn("for certain", said)
        far = [1000, 1100, 900, 3000, 1000, 1050]
        self.of_lengths("a.json", far)
        self.of_lengths("b.json", far[::-1], 300)
        said = self.words("a.json", "b.json")
        self.assertRegex(said, r'UNCLEAR A step takes \S+ ms in B and \S+ ms in A \(\S+ %\): "[^"]+" (costs|takes)')
        self.assertIn("The steps of a side differ so much that chance alone may have parted the two", said)
        near = [1000, 1030, 970, 1040, 960, 1000]
        self.of_lengths("a.json", near)
        self.of_lengths("b.json", near, 300)
        said = self.words("a.json", "b.json")
        self.assertRegex(said, r'UNCLEAR A step takes 0\.997 ms in B and 0\.997 ms in A \(\+0\.0 %\), but "')
        self.assertNotIn("chance", said)
        self.assertRegex(said, r"The step is equal within [1-5]\.\d %, and the margin is 1 %: record more steps to be sure\.")
        said = self.words("a.json", "a.json")
        self.assertIn("no part of it changed for certain by 0.5 % or more", said)
        for name in ("a.json", "b.json"):
            rows = self.figures("a.json", name)["ledger"]["rows"]
            self.assertEqual(any(row["sure"] for row in rows), name == "b.json")

    def test_parts_that_are_not_sure_explain_no_step(self):
        self.of_lengths("a.json", [1000, 1001, 999, 1000, 1002, 998], lost="elementwise_kernel")
        self.of_lengths("b.json", [1100, 1101, 1099, 1100, 1102, 1098], 210, (0, 450, 10, 460, 5, 440), "elementwise_kernel")
        said = self.words("a.json", "b.json")
        self.assertRegex(said, r'SLOWER A step takes .*: no one part explains that; "Kernels" takes 0\.240 ms of it in B and 0\.230')

    def test_the_sentence_names_an_operator_where_no_part_is_known(self):
        def write(name, length):
            trace = MadeTrace(steps=6)
            trace.events = [event for event in trace.events if event["cat"] in ("cpu_op", "user_annotation")]
            for event in trace.events:
                if event["name"] == "aten::linear":
                    event.update(name="lin\x1b[2J" + 80 * "ear", dur=length)
            trace.write(self.path(name))

        write("a.json", 20.0)
        write("b.json", 30.0)
        self.assertRegex(self.words("a.json", "b.json"),
                         r'equal within 0\.\d %; but "lin\\x1b\[2J(ear)+e?a?\.\.\." takes 0\.030 ms in B and 0\.020 ms in A\.')

    def test_files_that_do_not_name_their_devices(self):
        def write(name, **how):
            trace = MadeTrace(steps=6, **how)
            del trace.head["deviceProperties"]
            trace.write(self.path(name))

        self.made("a.json", steps=6)
        write("b.json")
        write("c.json", kernel_us=210)
        trace = MadeTrace(steps=6)
        trace.head["deviceProperties"][0]["name"] = ""
        trace.write(self.path("d.json"))
        self.assertIn("A ran on Made GPU; the file of B does not name its device.", self.words("a.json", "b.json"))
        self.assertIn("B ran on Made GPU; the file of A does not name its device.", self.words("d.json", "a.json"))
        trace.events = [event for event in trace.events if event["cat"] in ("cpu_op", "user_annotation")]
        trace.write(self.path("host.json"))
        self.assertNotIn("name", self.words("a.json", "host.json").split("Milliseconds")[0])
        for pair in (("b.json", "c.json"), ("b.json", "d.json"), ("d.json", "c.json")):
            said = self.words(*pair)
            self.assertIn("The files do not name their devices.", said)
            self.assertNotIn("unknown device", said)

    def test_captures(self):
        code, out, err = self.run_pdhost("-c", os.path.join(os.environ["PDHOST_CONF"], "sync.ini"), "--device", "cpu",
                                         "-o", "run.keep_capture=true", "-o", "run.trace_dir=kept", "--profile_steps", "5", "-q")
        self.assertEqual(code, 0, out + err)
        name = next(name for name in os.listdir(self.path("kept")) if name.endswith(".pdcap"))
        figures = self.figures(f"kept/{name}", f"kept/{name}")
        self.assertEqual((figures["a"]["steps"], figures["step"]["mean"]["change_ns"]), (5, 0))

    def test_mistakes(self):
        self.made("a.json")
        self.assertIn("diff: expected two traces, got 1", self.diff("a.json", code=2)[1])
        self.assertIn("absent.json: cannot be read", self.diff("a.json", "absent.json", code=3)[1])
        self.assertIn("1 .. 10000", self.diff("--rows", "0", "a.json", "a.json", code=2)[1])


if __name__ == "__main__":
    unittest.main()

"""pdhost report: the page of a trace, a capture, or a folder, by one word."""
import os
import unittest

from made_trace import MadeTrace
from pdhost_run import Case


class Report(Case):
    def report(self, *arguments, **how):
        return self.run_pdhost("report", *arguments, watch=False, **how)

    def text(self, name="report.html"):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_of_a_trace(self):
        MadeTrace(6).write(self.path("made.json"))
        code, out, err = self.report("made.json")
        self.assertEqual((code, out), (0, ""), err)
        self.assertIn("pdhost: wrote report.html", err)
        self.assertIn("<h1>made</h1>", self.text())

    def test_of_a_capture_and_of_the_folder_that_holds_it(self):
        code, _, err = self.run_small("--scenario", "control", "-o", "run.keep_capture=true", "-o", "run.trace_dir=here", "-q")
        self.assertEqual(code, 0, err)
        capture = next(name for name in os.listdir(self.path("here")) if name.endswith(".pdcap"))
        for given, name in ((os.path.join("here", capture), "one.html"), ("here", "two, three.html")):
            code, _, err = self.report("--output", name, given)
            self.assertEqual(code, 0, err)
            self.assertIn("<h1>control</h1>", self.text(name))

    def test_other_sinks_and_settings_of_a_run_may_be_given(self):
        MadeTrace(6).write(self.path("made.json"))
        code, _, err = self.report("made.json", "-o", "sink.html.timeline=0", "--output", "small.html")
        self.assertEqual(code, 0, err)
        self.assertNotIn('class="packed"', self.text("small.html"))

    def test_mistakes(self):
        self.assertEqual(self.report()[0], 2)
        code, _, err = self.report("nothing.json")
        self.assertEqual(len(self.errors(err)), 1)
        self.assertIn("nothing.json", err)
        self.assertNotEqual(code, 0)
        self.assertFalse(os.path.exists(self.path("report.html")))


if __name__ == "__main__":
    unittest.main()

"""What the tests of pdhost record share: a program with a CUPTI that is played, and its figures."""
import json
import os

from pdhost_run import Case, FIXTURES, SANITIZER

PROGRAM = os.path.join(FIXTURES, "recorded_program")
CUPTI = os.path.join(FIXTURES, "..", "devices", "cupti", "recorded", "libcupti.so.13")
MISDEED = os.path.join(FIXTURES, "sink", "misdeed.so")


class Record(Case):
    def setUp(self):
        super().setUp()
        if not os.path.exists(PROGRAM):
            self.skip("built without CUPTI's headers")

    def record(self, *words, options=(), env=None, command=None):
        """Exit code, output, messages, and the figures, None where nothing was recorded."""
        code, out, err = self.run_pdhost("record", "--sink", "json:output_json=out.json", *options, "--",
                                         *(command or (PROGRAM,)), *words, watch=False, env=env or {})
        path = self.path("out.json")
        figures = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                figures = json.load(file)
            os.remove(path)
        return code, out, err, figures

    def recorded(self, *words, steps, code=0, **given):
        actual, out, err, figures = self.record(*words, **given)
        self.assertEqual(actual, code, err)
        self.assertIsNotNone(figures, err)
        self.assertEqual(len(figures["step_rows"]), steps, err)
        return out, err, figures

    def unrecorded(self, *words, said, code=0, **given):
        actual, out, err, figures = self.record(*words, **given)
        self.assertEqual(actual, code, err)
        self.assertIsNone(figures, err)
        warnings = self.warnings(err)
        self.assertEqual(len([line for line in warnings if said in line]), 1, err)
        return out, warnings


class PythonRecord(Record):
    """A program in Python, of these files by their names, which loads the CUPTI that is played."""
    files = {}

    def setUp(self):
        super().setUp()
        if SANITIZER:
            self.skip("Python itself is not built with the sanitizer, and cannot load what is")
        for name, text in self.files.items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

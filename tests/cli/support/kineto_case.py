"""Tests that read a trace of torch.profiler and look at its figures."""
import json

from made_trace import MadeTrace
from pdhost_run import Case


class KinetoCase(Case):
    def read(self, data, name="made.json", options=()):
        """Exit code 0, the results, and what was said."""
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        code, out, err = self.run_pdhost("analyze", "-v", "--sink", "json:output_json=out.json", *options, name, watch=False)
        self.assertEqual(code, 0, out + err)
        with open(self.path("out.json"), encoding="utf-8") as file:
            return json.load(file), err

    @staticmethod
    def steps(figures):
        return [(row["data_wait_ns"], row["batch_cost_ns"]) for row in figures["step_rows"]]


class MadeKinetoCase(KinetoCase):
    """A made trace, and what its steps are however it is written."""

    def setUp(self):
        super().setUp()
        self.made = MadeTrace()
        self.text = self.made.text()
        self.expected = self.steps(self.read(self.text)[0])

    def assert_same(self, data, said=None, name="made.json"):
        figures, err = self.read(data, name)
        self.assertEqual(self.steps(figures), self.expected)
        if said:
            self.assertIn(said, err)
        else:
            self.assertEqual(self.warnings(err), [])
        return figures

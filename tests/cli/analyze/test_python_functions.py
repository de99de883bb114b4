"""Python functions in traces of torch.profiler, which with_stack=True records: what they give, and that they can be skipped."""
import json
import unittest

from kineto_case import KinetoCase
from made_trace import MadeTrace


class PythonFunctions(KinetoCase):
    @staticmethod
    def with_stacks():
        """Three kernels a step, and a read behind each, from a function of the program's own below one of PyTorch's."""
        made = MadeTrace(steps=0)
        for step in range(8):
            at = 740.0 * step
            made.host("user_annotation", f"ProfilerStep#{step}", at, 739.0)
            made.host("python_function", "train.py(10): main", at + 1, 737.0)
            for part in range(3):
                now = at + 10 + 240 * part
                made.launch("aten::linear", "gemm_kernel", now, now + 10, 200.0)
                made.host("python_function", "train.py(41): read_loss", now + 18, 210.0)
                made.host("python_function", "torch/_tensor.py(12): item", now + 19, 208.0)
                made.host("cpu_op", "aten::item", now + 20, 205.0)
                made.host("cuda_runtime", "cudaStreamSynchronize", now + 22, 192.0, cbid=131, correlation=9000 + made.number)
        return made

    def test_python_functions_are_left_out(self):
        made = MadeTrace()
        expected = self.steps(self.read(made.text())[0])
        events = made.events + [{"ph": "X", "cat": "python_function", "name": "nn.Module: Net_0", "pid": 7, "tid": 7,
                                 "ts": 100, "dur": 50, "args": {"Python id": 1}}]
        figures, err = self.read(json.dumps({**made.head, "traceEvents": events}))
        self.assertEqual((self.steps(figures), self.warnings(err)), (expected, []))
        code, out, _ = self.run_pdhost("analyze", "--full", "-o", "reader.kineto.python=modules", "made.json", watch=False)
        self.assertEqual(code, 0)
        self.assertIn("Net_0", out)

    def test_the_line_that_reads_is_named(self):
        figures, err = self.read(self.with_stacks().text())
        row = figures["windows"][0]["tables"]["verdict"]["rows"][0]
        self.assertEqual(row["verdict_cause"], "forced_sync", row)
        self.assertIn("calls a step are made by aten::item at train.py(41): read_loss", row["verdict_evidence"])
        self.assertNotIn("skipped", err)

    def test_python_functions_are_skipped_where_that_is_asked_for(self):
        """What needs them is not there. An order of keys, or a defect, changes nothing."""
        made = self.with_stacks()
        count = sum(event["cat"] == "python_function" for event in made.events)
        whole, _ = self.read(made.text())
        odd = made.text().replace('"cat": "python_function", "name": "train.py(10): main", "pid": 7, "tid": 7, "ts"',
                                  '"name": "main \\\\", "args": {"x": "}"}, "cat": "python_function", "pid": 7, "xs"')
        self.assertNotEqual(odd, made.text())
        for text in (made.text(), odd):
            figures, err = self.read(text, options=("--no-python",))
            self.assertEqual(self.warnings(err), [])
            self.assertIn(f"{count} Python functions are skipped, as --no-python says", err)
            self.assertEqual(self.steps(figures), self.steps(whole))
            row = figures["windows"][0]["tables"]["verdict"]["rows"][0]
            self.assertEqual(row["verdict_cause"], "forced_sync", row)
            self.assertIn("calls a step are made by aten::item", row["verdict_evidence"])
            self.assertNotIn("train.py", json.dumps(figures))
            self.assertEqual(row["verdict_after"], "pdhost diff made.json NEW --no-python")

    def test_what_has_no_python_functions_needs_no_option(self):
        figures, _ = self.read(MadeTrace().text(), options=("--no-python",))
        row = figures["windows"][0]["tables"]["verdict"]["rows"][0]
        self.assertEqual(row["verdict_after"], "pdhost diff made.json NEW")

    def test_every_command_that_reads_traces_can_skip_python_functions(self):
        made = self.with_stacks()
        for event in made.events:
            if event["cat"] == "python_function":
                event["ts"] = "no time"
        made.write(self.path("made.json"))
        with open(self.path("labels.jsonl"), "w", encoding="utf-8") as file:
            file.write(json.dumps({"trace": "made.json", "cause": "forced_sync", "gains": {}}) + "\n")
        for words in (("analyze", "made.json"), ("check", "made.json"), ("report", "made.json"), ("diff", "made.json", "made.json"),
                      ("score", "--traces", "labels.jsonl", ".")):
            for options, damaged in ((("--no-python",), False), ((), True)):
                code, out, err = self.run_pdhost(*words, *options, watch=False)
                self.assertEqual("events have no time" in out + err, damaged, words)
                self.assertEqual(code, 7 if words[0] == "check" else 0, out + err) # its clock is coarse in any case
        code, out, _ = self.run_pdhost("check", "--no-python", "made.json", watch=False)
        self.assertIn("note: 56 Python functions are skipped, as --no-python says: stacks hold none", out)
        self.assert_fails(self.run_pdhost("score", "--no-python", "corpus.ini", watch=False), 2, "with --traces")
        self.assert_fails(self.run_pdhost("score", "--traces", "labels.jsonl", "--answers", "labels.jsonl", "--no-python", ".",
                                          watch=False), 2, "with --answers no trace is read")

    def test_what_is_said_of_stacks_says_that_functions_were_skipped(self):
        self.with_stacks().write(self.path("made.json"))
        for options, skipped in (((), False), (("--no-python",), True)):
            figures, _ = self.read(self.with_stacks().text(), options=(*options, "--sink", "table:group_by_stack_n=2,views=all"))
            tables = figures["windows"][0]["tables"]
            self.assertEqual("They hold no Python functions: --no-python" in (tables["stacks"]["note"] or ""), skipped)
            _, out, _ = self.run_pdhost("analyze", "--sink", "table:group_by_stack_n=2,views=all", *options, "made.json", watch=False)
            self.assertEqual("There are no stacks to group by: --no-python skipped them." in " ".join(out.split()), skipped)


if __name__ == "__main__":
    unittest.main()

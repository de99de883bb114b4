"""pdhost score --traces: labels and answers in each form, and what is printed, on traces whose truth is made up."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli/support"))
from made_trace import MadeTrace  # noqa: E402

PDHOST = sys.argv.pop(1)


class Traces(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        MadeTrace(steps=6, wait_us=700, kernel_us=70).write(self.path("input.json"))
        MadeTrace(steps=6, wait_us=1, kernel_us=200).write(self.path("host.json.gz"))
        MadeTrace(steps=2).write(self.path("short.json"))

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text if isinstance(text, str) else "".join(json.dumps(row) + "\n" for row in text))

    def score(self, *arguments, code=0):
        run = subprocess.run([PDHOST, "score", "--traces", *arguments], cwd=self.folder.name, capture_output=True, text=True)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout if code == 0 else run.stderr

    LABELS = [{"trace": "input.json", "gains": {"input_bound": 0.7, "launch_bound": 0.02}},
              {"trace": "host.json.gz", "cause": "ignored", "gains": {"host_compute": 0.6}},
              {"trace": "short.json", "gains": {"input_bound": 0.03}}]

    def test_what_is_said_of_traces(self):
        self.write("labels.json", self.LABELS)
        out = self.score("labels.json", ".", "--out", "said")
        self.assertIn("pdhost: 2 of 3 right", out)
        self.assertRegex(out, r"input_bound +1 +1 +1 +1\.00 +1\.00 +1\.00")
        self.assertRegex(out, r"host_compute +1 +1 +1 ")
        self.assertIn("short.json: withheld, and is none (0.0 %)", out)
        for rival in ("torch_tb_profiler", "XProf", "TraceML", "Nsight Systems", "Paddle"):
            self.assertRegex(out, rival + r".* +\d+ +\d+\.\d %")
        with open(self.path("said/answers.jsonl"), encoding="utf-8") as file:
            answers = [json.loads(line) for line in file]
        self.assertEqual([row["cause"] for row in answers], ["input_bound", "host_compute", "withheld"])
        # The wait is 0.7 of the step, and half of the 0.15 ms of launching behind it goes with it.
        self.assertAlmostEqual(answers[0]["gains"]["input_bound"], 0.775, delta=0.02)
        self.assertIn("too few", answers[2]["why"])
        self.assertEqual([row["sure"] for row in answers], [True, True, False])
        # Its own answers, scored as another tool's are.
        again = self.score("labels.json", ".", "--answers", "said/answers.jsonl")
        self.assertIn("said/answers.jsonl: 2 of 3 right", again)
        self.assertNotIn("torch_tb_profiler", again)

    def test_another_tool(self):
        self.write("labels.json", self.LABELS)
        self.write("answers.jsonl", [{"trace": "input.json", "cause": "input_bound", "gains": {"input_bound": 0.5}},
                                     {"trace": "host.json.gz", "cause": "kernels are slow"}])
        out = self.score("labels.json", ".", "--answers", "answers.jsonl")
        self.assertIn("answers.jsonl: 1 of 3 right", out)
        self.assertRegex(out, r"error of gains, median +20 points")
        self.assertIn("host.json.gz: kernels are slow, and is host_compute (60.0 %)", out)
        self.assertIn("short.json: no answer, and is none", out)

    def test_hedged_answers_are_counted_apart(self):
        self.write("labels.json", self.LABELS)
        rows = [{"trace": "input.json", "cause": "input_bound"},
                {"trace": "host.json.gz", "cause": "input_bound", "sure": False},
                {"trace": "short.json", "cause": "withheld"}]
        self.write("answers.jsonl", rows)
        out = self.score("labels.json", ".", "--answers", "answers.jsonl")
        self.assertRegex(out, r"sure answers +1 of 1 right\n +hedged answers +0 of 1 right")
        self.write("answers.jsonl", rows[:1])
        self.assertNotIn("hedged", self.score("labels.json", ".", "--answers", "answers.jsonl"))

    def test_labels_whose_blocks_name_another_cause_are_counted_apart(self):
        """The first one's cause saves more in most draws of its blocks, the second one's in nearly all."""
        unsure = {"trace": "input.json", "cause": "input_bound", "effect_share": 0.4, "graph_share": 0.6,
                  "effect_blocks": [0.2, 0.3, 0.4, 0.5, 0.6], "graph_blocks": [0.4, 0.5, 0.6, 0.7, 0.8]}
        sure = {**unsure, "trace": "host.json.gz", "effect_blocks": [0.38, 0.39, 0.4, 0.41, 0.42], "graph_blocks": [0.1, 0.1, 0.1],
                "graph_share": 0.1}
        self.write("answers.jsonl", [{"trace": row["trace"], "cause": "input_bound"} for row in (unsure, sure)])
        for rows, said in (((unsure, sure), "1 of 1"), ((unsure,), "0 of 0"), ((sure,), "1 of 1")):
            self.write("labels.json", rows)
            self.assertRegex(self.score("labels.json", ".", "--answers", "answers.jsonl"), rf"where the label is sure +{said} right")
        self.write("labels.json", self.LABELS)
        self.assertNotIn("label is sure", self.score("labels.json", ".", "--answers", "answers.jsonl"))

    def test_effects_as_they_are_measured(self):
        rows = [{"trace": "input.json", "cause": "input_bound", "effect_share": 0.2, "graph_share": 0.5},
                {"trace": "host.json.gz", "cause": "none", "effect_share": 0.2, "control_as_graph_share": 0.01},
                {"trace": "short.json", "cause": "launch_bound", "effect_share": 0.2, "graph_share": None}]
        self.write("labels.json", json.dumps(rows, indent=1))
        out = self.score("labels.json", ".")
        self.assertIn("input.json: input_bound, and is launch_bound (40.0 %)", out)
        self.assertIn("host.json.gz: host_compute, and is none", out)
        self.assertIn("short.json: withheld, and is launch_bound (20.0 %)", out)

    def test_launching_measured_as_a_graph_is_held_against_what_a_graph_saves(self):
        said = {"trace": "input.json", "cause": "input_bound", "gains": {"launch_bound": 0.5}, "graph_gain": 0.3}
        label = {"trace": "input.json", "gains": {"launch_bound": 0.2}}
        for more, points in (({}, 30), ({"graph_share": 0.2}, 30), ({"graph_share": 0.2, "cause": "input_bound"}, 10),
                             ({"graph_share": 0.2, "cause": "launch_bound"}, 30)):
            self.write("labels.json", [dict(label, **more)])
            self.write("answers.jsonl", [said])
            out = self.score("labels.json", ".", "--answers", "answers.jsonl")
            self.assertRegex(out, rf"error of gains, median +{points} points", more)
        self.write("labels.json", self.LABELS)
        self.score("labels.json", ".", "--out", "said")
        with open(self.path("said/answers.jsonl"), encoding="utf-8") as file:
            answers = [json.loads(line) for line in file]
        self.assertLessEqual(answers[0]["graph_gain"], answers[0]["gains"]["launch_bound"] + 1e-9)
        self.assertNotIn("graph_gain", answers[2])

    def test_mistakes(self):
        for text, said in (('{"cause": "none"}', 'object 1: it has no "trace"'), ('{"trace": "a"}', 'neither "cause" nor'),
                           ('{"trace": "a", "cause": "none"}\n' * 2, "object 2: its trace has a label already"),
                           ("", "holds no label"), ('{"trace": ', "object 1: "),
                           ('{"trace": "a", "gains": {"x": "much"}}', "causes with a number each")):
            self.write("labels.json", text)
            self.assertIn(said, self.score("labels.json", ".", code=3))
        self.assertIn("absent.json", self.score("absent.json", ".", code=3))
        run = subprocess.run([PDHOST, "score", "--answers", "x", "."], capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.write("labels.json", [{"trace": "gone.json", "gains": {"allocator": 0.5}}])
        self.assertIn("gone.json: failed, and is allocator", self.score("labels.json", "."))


if __name__ == "__main__":
    unittest.main()

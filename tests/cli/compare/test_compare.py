#!/usr/bin/env python3
"""pdhost compare: the verdict on two runs, the gate, baselines."""
import csv
import io
import json
import os
import random
import unittest

from compare_case import CompareCase
from measurement_files import measurement, write, write_run


class Compare(CompareCase):
    def test_instructions_are_compared_where_both_have_them(self):
        def counted(*counts, **functions):
            return {"tool": "callgrind-3.19.0", "steps": 10, "counts": counts, "baseline": 50, "functions": [
                {"name": name, "object": f"{name}.so", "count": count} for name, count in functions.items()]}
        self.files(a=[measurement(1e-3, instructions=counted(2_000_050, 2_000_350, 2_000_050, f=1_500_000, g=400_000, h=90_000,
                                                             gone=8_000, less=12_000))],
                   b=[measurement(1e-3, instructions=counted(3_000_050, f=1_400_000, g=1_490_000, h=109_000, new=600_000))],
                   near=[measurement(1e-3, instructions=counted(2_000_250))], none=[measurement(1e-3)])
        code, out, err = self.run_pdhost("compare", "a.json", "b.json")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("""
         instructions of a step: 200,000 -> 300,000 (+100,000), 1.5000 times as many
           +109,000 (40,000 -> 149,000)  g [g.so]
           +60,000 (0 -> 60,000)  new [new.so]
           -10,000 (150,000 -> 140,000)  f [f.so]
""", out)  # less than a hundredth: h, gone, less
        self.assertNotIn("h.so", out)
        self.assertEqual(out.count(".so]"), 3)
        change = self.verdict("a.json", "b.json")[0]["instructions"]
        self.assertEqual((change["a"], change["b"], change["ratio"], change["within"]), (200_000, 300_000, 1.5, False))
        self.assertEqual(change["functions"][1], {"name": "new", "object": "new.so", "a": 0, "b": 60_000})
        out = self.run_pdhost("compare", "a.json", "near.json")[1]
        self.assertIn("instructions of a step: 200,000 -> 200,020 (+20), no more than counts of one side differ\n", out)
        self.assertNotIn("instructions", self.run_pdhost("compare", "--wide", "none.json", "none.json")[1])
        self.assertNotIn("instructions", self.run_pdhost("compare", "a.json", "none.json")[1])
        self.assertEqual(self.verdict("a.json", "none.json")[0]["instructions"], None)
        wide = self.run_pdhost("compare", "--wide", "a.json", "none.json")[1]
        self.assertRegex(wide, r" max +instructions +blocks  \(us\)\n.*\(a\) .* 200,000 +60\n.*\(none\) .* +60\n")
        wide = self.run_pdhost("compare", "--wide", "--format", "md", "a.json", "none.json")[1]
        self.assertRegex(wide, r"\| max \| instructions \| blocks \|\n(\| -+:? ){11}\|\n.* \| 200,000 \| 60 \|\n.* \|  \| 60 \|\n")
        rows = list(csv.DictReader(io.StringIO(self.run_pdhost("compare", "--format", "csv", "b.json", "none.json")[1])))
        self.assertEqual([row["instructions"] for row in rows], ["300000", ""])

    def test_instructions_that_are_none_are_refused(self):
        whole = {"tool": "callgrind-3", "steps": 1, "counts": [5], "baseline": 1, "functions": []}
        for change, said in (({"tool": 3}, "tool has to be a text"), ({"steps": 0}, "steps has to be a whole number from 1"),
                             ({"baseline": -1}, "baseline has to be a whole number"),
                             ({"counts": []}, "counts has to be an array of at least one"),
                             ({"counts": [1, 0.5]}, "counts: element 1 has to be a whole number"),
                             ({"functions": None}, "functions has to be an array"),
                             ({"functions": [{"name": "f", "count": 1}]}, "functions: element 0 needs name, object and count")):
            self.files(a=[measurement(1e-3, instructions={**whole, **change})])
            self.assert_fails(self.run_pdhost("compare", "a.json"), 3, f"a.json: measurements[0].instructions: {said}")

    def test_each_file_against_one(self):
        self.files(base=[measurement(1e-3, seed=1)], same=[measurement(1e-3, seed=2)], slower=[measurement(1.1e-3, seed=3)])
        self.assertEqual(self.verdict("base.json", "same.json", "slower.json"), [])  # nothing said which is the baseline
        found = self.verdict("same.json", "slower.json", "--against", "base.json")
        self.assertEqual([(one["a"], one["b"], one["verdict"]) for one in found],
                         [("base", "same", "SAME"), ("base", "slower", "SLOWER")])
        self.assertEqual(self.run_pdhost("compare", "--against=base.json", "same.json", "--gate")[0], 0)
        self.assertEqual(self.run_pdhost("compare", "--against=base.json", "same.json", "slower.json", "--gate")[0], 9)
        self.assert_fails(self.run_pdhost("compare", "--against", "base.json"), 2, "--against: also name a file")

    def test_verdicts(self):
        base = [measurement(1e-3, seed=1)]
        self.files(a=base, same=[measurement(1e-3, seed=2)], slower=[measurement(1.03e-3, seed=3)],
                   faster=[measurement(0.97e-3, seed=4)], noisy=[measurement(1.03e-3, spread=0.2, seed=5)],
                   short=[measurement(2e-3, count=3)])
        for name, word in (("same", "SAME"), ("slower", "SLOWER"), ("faster", "FASTER"), ("noisy", "UNCLEAR"),
                           ("short", "UNCLEAR")):
            (found,) = self.verdict("a.json", name + ".json")
            self.assertEqual(found["verdict"], word, found)
            self.assertLessEqual(found["low"], found["ratio"])
            self.assertLessEqual(found["ratio"], found["high"])
            self.assertEqual((found["a"], found["b"], found["differences"]), ("a", name, []))
            code, out, _ = self.run_pdhost("compare", "a.json", name + ".json")
            self.assertEqual(code, 0)
            self.assertIn(f"\n{word:7}  batched dot: [64, 512], bmm: {name} takes ", out)
        self.assertIn("fewer than 32 blocks", self.run_pdhost("compare", "a.json", "short.json")[1])
        self.assertNotIn("fewer than", self.run_pdhost("compare", "a.json", "noisy.json")[1])
        self.assertEqual(self.verdict("--margin", "5%", "a.json", "slower.json")[0]["verdict"], "SAME")

    def test_so_many_blocks_tell_a_direction(self):
        for count, expected in ((20, "UNCLEAR"), (32, "SLOWER"), (40, "SLOWER")):
            self.files(a=[measurement(1e-3, count=count, seed=1)], b=[measurement(2e-3, count=count, seed=2)])
            self.assertEqual(self.verdict("a.json", "b.json")[0]["verdict"], expected, count)
            self.assertEqual("fewer than 32 blocks" in self.run_pdhost("compare", "a.json", "b.json")[1], count < 32)

    def test_gate(self):
        self.files(a=[measurement(1e-3, seed=1)], same=[measurement(1e-3, seed=2)],
                   slower=[measurement(1.03e-3, seed=3)], faster=[measurement(0.97e-3, seed=4)],
                   noisy=[measurement(1.03e-3, spread=0.2, seed=5)], other=[measurement(1e-3, sub_label="x")] * 2,
                   two=[measurement(1e-3, seed=6), measurement(1e-3, sub_label="x")])
        for name, expected in (("same", 0), ("faster", 0), ("slower", 9), ("noisy", 10), ("two", 10)):
            self.assertEqual(self.run_pdhost("compare", "--gate", "a.json", name + ".json")[0], expected, name)
        self.assertEqual(self.run_pdhost("compare", "a.json", "slower.json")[0], 0, "without --gate")
        self.assert_fails(self.run_pdhost("compare", "--gate", "two.json", "empty.json"), 3, "empty.json: No such file")
        self.files(left=[measurement(1e-3), measurement(1e-3, sub_label="l")],
                   right=[measurement(1e-3, sub_label="r"), measurement(1e-3, sub_label="s")])
        self.assert_fails(self.run_pdhost("compare", "--gate", "left.json", "right.json"), 3, "no task in common")
        self.assert_fails(self.run_pdhost("compare", "--gate", "a.json"), 2, "--gate: needs two files")

    def test_what_differs_is_named_and_the_right_tasks_meet(self):
        self.files(a=[measurement(1e-3, seed=1), measurement(2e-3, sub_label="x", seed=2)],
                   b=[measurement(2e-3, sub_label="x", seed=3, env="new", device="NVIDIA H200",
                                  options={"data.batch_size": "65", "train.amp": "true"}),
                      measurement(3e-3, sub_label="y")])
        (found,) = self.verdict("a.json", "b.json")
        self.assertEqual((found["task"], found["verdict"]), ("batched dot: x, bmm", "SAME"))
        self.assertEqual(found["differences"],
                         [{"key": "device", "a": "CPU (oneDNN 2.6.3)", "b": "NVIDIA H200"},
                          {"key": "data.batch_size", "a": "64", "b": "65"},
                          {"key": "train.amp", "a": None, "b": "true"}])
        out = self.run_pdhost("compare", "a.json", "b.json")[1]
        self.assertIn("         train.amp: (none) -> true\n", out)
        self.assertIn("only in a: batched dot: [64, 512], bmm\nonly in b: batched dot: y, bmm\n", out)
        self.assertIn("(new)", out)
        out = self.run_pdhost("compare", "--format", "md", "a.json", "b.json")[1]
        self.assertIn("\n  - device: CPU (oneDNN 2.6.3) -> NVIDIA H200\n  - data.batch_size: 64 -> 65\n"
                      "  - train.amp: (none) -> true\n\n- only in a: batched dot: [64, 512], bmm\n- only in b: ", out)

    def test_a_task_of_two_names_shows_both(self):
        self.files(a=[measurement(1e-3, sub_label="mul_sum", threads=1)],
                   b=[measurement(2e-3, sub_label="bmm", description="x", threads=4, seed=2)],
                   c=[measurement(2e-3, sub_label=None)])
        self.assertEqual(self.verdict("a.json", "b.json")[0]["task"], "batched dot: mul_sum -> bmm, bmm -> x, 1 -> 4 threads")
        self.assertEqual(self.verdict("a.json", "c.json")[0]["task"], "batched dot: mul_sum -> (none), bmm")
        self.files(both=[measurement(1e-3, sub_label="mul_sum"), measurement(2e-3, sub_label="bmm", seed=2)])
        (found,) = self.verdict("both.json")
        self.assertEqual((found["task"], found["a"]), ("batched dot: mul_sum -> bmm, bmm", "batched dot: mul_sum"))
        self.files(long=[measurement(1e-3, sub_label="m" * 600, seed=3)])
        self.assertEqual(len(self.verdict("a.json", "long.json")[0]["task"]), 511)

    def test_labels_are_not_compared_with_each_other(self):
        self.files(a=[measurement(1e-3)], b=[measurement(1e-3, label="other")], plain=[measurement(1e-3, label=None)],
                   both=[measurement(1e-3), measurement(1e-3, label="other")])
        for files, labels in ((("a.json", "b.json"), '"batched dot" and "other"'), (("both.json",), '"batched dot" and "other"'),
                              (("a.json", "plain.json"), '"batched dot" and "vec_dot"')):
            code, out, err = self.run_pdhost("compare", *files)
            self.assertEqual((code, self.warnings(err)),
                             (0, [f"pdhost: warn: compare: no verdict on {labels}: labels have tables of their own; measure "
                                  "both with the same benchmark.label to compare them"]))
            self.assertEqual([word for word in ("SAME", "FASTER", "SLOWER", "UNCLEAR") if word in out], [])
        self.assertIn("only in a: batched dot", self.run_pdhost("compare", "a.json", "b.json")[1])
        self.assert_fails(self.run_pdhost("compare", "--gate", "a.json", "b.json"), 3, "no task in common")

    def test_scenarios_under_one_label_are_told(self):
        self.files(a=[measurement(1e-3)], b=[measurement(1e-3, seed=2, scenario="control")])
        code, out, err = self.run_pdhost("compare", "a.json", "b.json")
        self.assertEqual((code, self.warnings(err)),
                         (0, ["pdhost: warn: compare: batched dot: [64, 512], bmm: A is scenario vec_dot and B is scenario "
                              "control: two different things are timed"]))
        self.assertIn("\n         scenario: vec_dot -> control\n", out)

    def test_two_measurements_of_one_file_and_replicates(self):
        self.files(a=[measurement(1e-3, seed=1), measurement(1e-3, seed=2),
                      measurement(5e-4, seed=3, description="mul sum")])
        (found,) = self.verdict("a.json")
        self.assertEqual((found["a"], found["b"], found["verdict"]), ("bmm", "mul sum", "FASTER"))
        cells = json.loads(self.run_pdhost("compare", "--format", "json", "a.json")[1])["cells"]
        self.assertEqual([cell["blocks"] for cell in cells], [120, 60], "blocks of one task are one sample")

    def test_rounds_taken_in_turns_are_compared_as_rounds(self):
        # Both sides drift by half from the first round to the last, which says nothing of their ratio.
        drift = [1 + 0.5 * i / 240 for i in range(240)]
        noise = random.Random(3)
        rows = [measurement(1e-3, description=side, host_s=[1e-2 * share * at * (1 + 0.005 * noise.gauss(0, 1)) for at in drift])
                for side, share in (("A", 1), ("B", 1.02))]
        for row in rows:
            row["pairing"] = {"id": "x", "side": row["description"], "restart_rounds": [6] * 20}
        self.files(turns=rows, apart=[dict(row, pairing=None) for row in rows])
        (found,) = self.verdict("turns.json")
        self.assertEqual((found["verdict"], found["paired"]["rounds"], found["paired"]["restarts"]), ("SLOWER", 120, 20))
        self.assertAlmostEqual(found["ratio"], 1.02, delta=0.003)
        self.assertLess(found["high"] - found["low"], 0.01)
        (found,) = self.verdict("apart.json")
        self.assertEqual((found["verdict"], found["paired"]), ("UNCLEAR", None))
        self.assertIn("taken in turns: 120 rounds in 20 restarts", self.run_pdhost("compare", "turns.json")[1])
        # Who measures two scenarios in turns wants to know.
        other = [dict(row, label=None, scenario=name) for row, name in zip(rows, ("control", "sync"))]
        self.files(two=other, one=other[:1], another=other[1:])
        for files in (("two.json",), ("one.json", "another.json")):
            code, out, err = self.run_pdhost("compare", *files)
            self.assertEqual((code, err), (0, ""))
            self.assertIn("\nSLOWER   control -> sync: [64, 512]", out)
            self.assertIn("\n         scenario: control -> sync\n", out)
        rows[1]["pairing"]["restart_rounds"] = [60] * 2
        self.files(other=rows)
        self.assertEqual(self.verdict("other.json")[0]["paired"], None)

    def test_device_times(self):
        rows = [measurement(1e-3, seed=seed, device_s=[scale * 5e-3] * 60) for seed, scale in ((1, 1), (2, 2))]
        self.files(a=rows[:1], b=rows[1:], c=[measurement(1e-3)])
        self.assertEqual(self.verdict("a.json", "b.json")[0]["verdict"], "SAME")
        (found,) = self.verdict("--time=device", "a.json", "b.json")
        self.assertEqual((found["verdict"], found["ratio"]), ("SLOWER", 2))
        self.assert_fails(self.run_pdhost("compare", "--time", "device", "a.json", "c.json"), 3,
                          "c.json: measurement 0 has no device times")

    def test_a_time_of_zero_has_no_ratio(self):
        self.files(a=[measurement(0)], b=[measurement(1e-3)])
        (found,) = self.verdict("a.json", "b.json")
        self.assertEqual((found["verdict"], found["ratio"]), ("UNCLEAR", None))
        self.assertIn("is zero: there is no ratio", self.run_pdhost("compare", "a.json", "b.json")[1])

    def test_baselines_are_kept_by_name(self):
        self.files(good=[measurement(1e-3)], slow=[measurement(2e-3, seed=1)])
        write_run(self.path("run.json"), 1e-2)
        self.assert_fails(self.run_pdhost("compare", "--baseline", "main", "good.json"), 3,
                          "baselines/main.json: no such baseline; save one with: pdhost compare --save-baseline main FILE")
        code, out, err = self.run_pdhost("compare", "--save-baseline", "main", "good.json")
        self.assertEqual((code, out, err), (0, "", "pdhost: wrote baselines/main.json\n"))
        with open(self.path("good.json"), "rb") as given, open(self.path("baselines/main.json"), "rb") as kept:
            self.assertEqual(given.read(), kept.read())
        self.assertEqual(self.run_pdhost("compare", "--baseline", "main", "--gate", "good.json")[0], 0)
        self.assertEqual(self.run_pdhost("compare", "--baseline", "main", "--gate", "good.json", "slow.json")[0], 9)
        # Another folder, by the environment or the option, which comes first; and runs are kept, too.
        there = {"PDHOST_BASELINES": self.path("kept/here")}
        self.assertEqual(self.run_pdhost("compare", "--save-baseline", "a-run", "run.json", env=there)[0], 0)
        self.assertTrue(os.path.exists(self.path("kept/here/a-run.json")))
        self.assertEqual(self.run_pdhost("compare", "--baseline", "a-run", "run.json", env=there)[0], 0)
        self.assertEqual(self.run_pdhost("compare", "--baselines", "baselines", "--baseline", "main", "good.json",
                                         env=there)[0], 0)
        self.assert_fails(self.run_pdhost("compare", "--baseline", "other", "run.json", env=there), 3,
                          "no such baseline; there are: a-run")
        # What is no measurement is not kept, nor a name that leads out of the folder.
        with open(self.path("text.json"), "w", encoding="utf-8") as file:
            file.write("hello")
        self.assert_fails(self.run_pdhost("compare", "--save-baseline", "main", "text.json"), 3, "text.json:1")
        self.assertEqual(self.run_pdhost("compare", "--baseline", "main", "--gate", "good.json")[0], 0)
        for name in ("../main", ".main", "a/b", "a b", "x" * 65):
            self.assert_fails(self.run_pdhost("compare", "--save-baseline", name, "good.json"), 2, "is not the name of a baseline")
        for arguments, message in ((("--save-baseline", "a", "good.json", "slow.json"), "expected one file, got 2"),
                                   (("--save-baseline", "a", "--gate", "good.json"), "it compares nothing"),
                                   (("--baseline", "main", "--against", "good.json", "slow.json"), "both name a baseline"),
                                   (("--baseline", "main"), "--baseline: also name a file"),
                                   (("--baselines", "there", "good.json"), "also name one")):
            self.assert_fails(self.run_pdhost("compare", *arguments), 2, message)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""pdhost compare: the table, the verdict on two runs, the gate, its formats, files that are none of its own."""
import csv
import io
import json
import os
import random
import unittest
from xml.etree import ElementTree

from measurement_files import measurement, write, write_run
from pdhost_run import PDHOST, Case


class Compare(Case):
    def files(self, **runs):
        for name, rows in runs.items():
            write(self.path(name + ".json"), *rows)

    def verdict(self, *arguments, **options):
        code, out, err = self.run_pdhost("compare", "--format", "json", *arguments, **options)
        self.assertEqual(code, 0, err)
        return json.loads(out)["verdicts"]

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

    def test_documents_of_runs(self):
        write_run(self.path("a.json"), 30e-3, "input-bound: the device waits for data",
                  parts={"Input wait: I/O": 20e-3, "Kernels": 9.9e-3, "Allocator": 1e-6})
        write_run(self.path("b.json"), 12e-3, "no bottleneck found", count=70, workers=2, seed=1,
                  parts={"Input wait: I/O": 0, "Kernels": 10e-3, "Launch-bound host": 2e-3})
        code, out, err = self.run_pdhost("compare", "a.json", "b.json")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"\nFASTER   iteration of a run: dataloader: b takes 0\.\d+ times as long as a ")
        self.assertIn("         data.num_workers: 1 -> 2\n\nVerdict of a: input-bound: the device waits for data\n"
                      "Verdict of b: no bottleneck found\n", out)
        self.assertNotIn("trace_dir", out)
        self.assertTrue(out.endswith("""
Where the step goes, ms                        A         B    change
  Input wait: I/O                             20         0       -20
  Launch-bound host                            0         2        +2
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

"""What the tests of pdhost score share: its command, and its files checked by other means."""
import csv
import json
import math
import os
import subprocess
import sys
import unittest

import recompute

PDHOST, CORPUS = sys.argv[1:3]
# A corpus of a few short runs.
SMALL = """[corpus]
set = run.device=cpu device.threads=1 run.warmup_steps=1 data.image_size=8 data.batch_size=2 schedule.active=5
[control]
scenario = control
expect = none
repeat = 3
[host_compute]
scenario = host_compute
expect = host_compute
dial = scenario.inject_us
values = 2000, 20000
"""


def score(folder, *arguments):
    return subprocess.run([PDHOST, "score", *arguments], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=400, check=False)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class ScoreCase(unittest.TestCase):
    def same(self, got, want, what):
        if got is None or got == "":
            self.assertTrue(math.isnan(want), f"{what}: none, not {want}")
        else:
            self.assertAlmostEqual(float(got), want, 5, what)

    def same_interval(self, got, part_and_whole, what):
        for key, want in zip(("low", "high"), recompute.rate_interval(*part_and_whole)):
            self.same(got[key], want, f"{what} {key}")

    def check_files(self, folder):
        """score.json and every CSV say the same, and what cells.csv makes of it by other means."""
        got = read_json(os.path.join(folder, "score.json"))
        cells = recompute.read_cells(os.path.join(folder, "cells.csv"))
        tables = {name: rows_of(os.path.join(folder, name + ".csv"))
                  for name in ("figures", "score", "confusion", "calibration", "rivals")}
        self.assertEqual(got["format"], "pdhost.score/2")
        with open(os.path.join(folder, "score.html"), encoding="utf-8") as file:
            page = file.read()
        matrix = page[page.index("Confusion matrix"):]
        matrix = matrix[:matrix.index("</table>")]
        whole = [row for row in tables["confusion"] if row["part"] == tables["confusion"][0]["part"]]
        self.assertEqual(sum(int(part.split("<")[0]) for part in matrix.split('transparent)">')[1:] if part[0] != "<"),
                         sum(int(row["runs"]) for row in whole))
        self.assertEqual(got["runs"], len(cells))
        for name, part in got["parts"].items():
            mine = cells if name == "all" else [c for c in cells if c["part"] == name]
            want = recompute.figures(mine)
            self.assertEqual({row["figure"] for row in tables["figures"]}, set(want))
            for key, value in want.items():
                self.same(part[key]["value"], value, f"{name} {key}")
                row = next(r for r in tables["figures"] if r["part"] == name and r["figure"] == key)
                for column in ("value", "low", "high"):
                    self.same(row[column], math.nan if part[key][column] is None else part[key][column], key)
                if part[key]["value"] is not None:
                    self.assertLessEqual(part[key]["low"], part[key]["high"])
            for key, of in recompute.rates(mine).items():
                self.same_interval(part[key], of, f"{name} {key}")
            self.assertEqual(part["own_fixes_tried"], sum(c["fix_error"] >= 0 and recompute.is_own(c) for c in mine))
            self.assertEqual(part["fixes_without_step"], sum(c["fix"] != "" and c["fixed_ns"] == "0" for c in mine))
            self.assertEqual(part["fixes_slower"], sum(c["fix"] != "" and float(c["fixed_ns"]) > 1.01 * float(c["without_fix_ns"])
                                                       for c in mine))
            for cause, of in part["causes"].items():
                self.same_interval(of["precision"], (of["right"], of["named"]), f"{name} {cause} precision")
                self.same_interval(of["recall"], (of["right"], of["runs"]), f"{name} {cause} recall")
                if cause != "none":
                    for key, limit in zip(("limit50", "limit95"), recompute.limits(mine, cause)):
                        self.same(of[key]["value"], limit, f"{name} {cause} {key}")
                row = next(r for r in tables["score"] if r["part"] == name and r["cause"] == cause)
                self.assertEqual([int(row[k]) for k in ("runs", "named", "right")],
                                 [of["runs"], of["named"], of["right"]])
                self.same(row["f1"], math.nan if of["f1"]["value"] is None else of["f1"]["value"], cause)
                self.assertEqual({r["verdict"]: int(r["runs"]) for r in tables["confusion"]
                                  if r["part"] == name and r["truth"] == cause}, of["verdicts"])
            for tool, of in part["rivals"].items():
                self.same(of["macro_f1"]["value"], recompute.rival_f1(mine, tool), f"{name} {tool}")
                row = next(r for r in tables["rivals"] if r["part"] == name and r["tool"] == tool)
                self.same(row["macro_f1"], of["macro_f1"]["value"], tool)
                theirs = [{**cell, "verdict": cell[tool]} for cell in mine]
                self.same_interval(of["false_alarms"], recompute.rates(theirs)["false_alarms"], f"{name} {tool}")
            self.assertEqual(sum(b["runs"] for b in part["bins"]), part["counted"])
            self.assertEqual(sum(int(r["runs"]) for r in tables["calibration"] if r["part"] == name), part["counted"])
        return got, cells

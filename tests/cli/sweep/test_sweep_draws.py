"""pdhost sweep with keys that are drawn at random."""
import csv
import math
import os
import re
import shlex
import shutil
import unittest

from pdhost_run import CONF, SMALL
from sweep_case import FAULT, BASE, SweepCase


class SweepDraws(SweepCase):
    def test_draws_are_cells_and_the_same_ones_again(self):
        benchmark = [*SMALL, "--scenario", "control", "-o", "benchmark.min_run_time=1ms", "-o", "run.mode=benchmark"]
        drawn = [*(word for word in benchmark if word not in ("--batch_size", "4")), "--sample", "data.batch_size=uniform(1,6)",
                 "--sample", "train.lr=loguniform(1e-4,1e-1)", "--sample", "train.channels_last=choice(true:3,false:1)",
                 "--require", "data.batch_size*train.lr<=0.1", "--draw-seed", "7", "--out", "s"]

        def sweep(draws, *more):
            code, out, err = self.run_pdhost("sweep", *drawn, "--draws", str(draws), *more)
            self.assertIn(code, (0, 7), err)
            rows = self.json("s/sweep.json")["measurements"]
            return out, err, rows, [row["sub_label"] for row in rows]

        out, err, rows, first = sweep(3)
        self.assertEqual(err.count("pdhost: sweep "), 3)
        self.assertIn("sweep.md, sweep.html, draws.csv\n", err)
        self.assertEqual(len(set(first)), 3)
        for row in rows:
            size, rate = int(row["options"]["data.batch_size"]), float(row["options"]["train.lr"])
            self.assertTrue(1 <= size <= 6 and 1e-4 <= rate <= 1e-1 and size * rate <= 0.1, row["options"])
            self.assertIn(row["options"]["train.channels_last"], ("true", "false"))
            self.assertEqual(row["sub_label"], f"data.batch_size={size}, train.lr={row['options']['train.lr']}, "
                             f"train.channels_last={row['options']['train.channels_last']}")
            self.assertEqual(row["description"], "step")
            self.assertEqual(row["conditions"]["drawn train.lr"], "loguniform(1e-4,1e-1)")
            self.assertEqual(row["conditions"]["required 1"], "data.batch_size*train.lr<=0.1")
        self.assertEqual([row["conditions"]["draw"] for row in rows], [f"{i} of 3, seed 7" for i in (1, 2, 3)])
        self.assertRegex(out, r"\nRank correlation .*\n +data.batch_size +train.lr\n  step( +([+-][01]\.\d\d \(p = [\d.]+\)|n/a)){2}\n"
                              r"train.channels_last: its values are not numbers, so they have no rank\n\nNo curves: ")
        with open(self.path("s/draws.csv"), encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual([", ".join(f"{key}={line[key]}" for key in ("data.batch_size", "train.lr", "train.channels_last"))
                          for line in table], first)
        for line, row in zip(table, rows):
            self.assertEqual(int(line["blocks"]), len(row["host_s"]))
            self.assertTrue(0 < float(line["p25_s"]) <= float(line["median_s"]) <= float(line["p75_s"]))
        # More draws begin with the same ones, which are there; another seed draws others.
        out, err, rows, more = sweep(5)
        self.assertEqual((more[:3], err.count("(was there)")), (first, 3))
        self.assertEqual(sweep(5)[0], out)
        self.assertNotEqual(sweep(3, "--draw-seed", "8")[3], first)

    def save_drawn(self, base, values, times_ms):
        """The cells of these values of data.io_sleep_ms and data.num_workers, as a sweep finds them."""
        for sleep in values:
            for workers in ("0", "1"):
                self.save_cell(base, [("data.io_sleep_ms", sleep), ("data.num_workers", workers)], times_ms(int(sleep), int(workers)))

    def test_the_report_of_known_draws(self):
        drawn = ["--sample", "data.io_sleep_ms=loguniform(1,200)", "--draws", "12", "--vary", "data.num_workers=0,1", "--out", "s"]
        base = [*BASE, "-o", "run.seed=3"]
        # Which they are is asked of a sweep whose cells end at once, since their scenario fails.
        err = self.run_pdhost("sweep", *base, *drawn, "--scenario", FAULT, "-o", "scenario.fail_init=true")[2]
        sleeps = re.findall(r"sweep \d+/24 data.io_sleep_ms=(\d+), data.num_workers=0: ", err)
        self.assertEqual(len(set(sleeps)), 12)
        shutil.rmtree(self.path("s"))
        # A time that grows with the sleep, and is shared by a worker where it is long.
        self.save_drawn(base, sleeps, lambda sleep, workers: [10 + sleep / (1 + workers) + (2 * workers)] * 40)
        code, out, err = self.run_pdhost("sweep", *base, *drawn)
        self.assertEqual((code, err.count("(was there)")), (0, 24), err)
        ordered = sorted(sleeps, key=int)
        self.assertRegex(out, r"(?s)\(Spearman; 12 draws, seed 0\)\n +data.io_sleep_ms\n"
                              r"  data.num_workers=0 +\+1.00 \(p = 0.001\)\n  data.num_workers=1 +\+1.00 \(p = 0.001\)\n")
        ratio = {sleep: (12 + int(sleep) / 2) / (10 + int(sleep)) for sleep in sleeps}
        faster = sum(value < 1 / 1.01 for value in ratio.values())
        slower = sum(value > 1.01 for value in ratio.values())
        self.assertIn(f"\ndata.num_workers=1 against data.num_workers=0: FASTER in {faster} of 12 draws, SLOWER in {slower}, SAME in "
                      f"{12 - faster - slower}, UNCLEAR in 0\n", out)
        # The five at either end, by their ratio; the curves have every draw, by its value.
        shown = re.findall(r"^ +([\d.]+) +[\d.]+ to +[\d.]+  (?:FASTER|SLOWER|SAME) +(\d+)$", out, re.MULTILINE)
        by_ratio = sorted(sleeps, key=lambda sleep: ratio[sleep])
        self.assertEqual(shown, [(f"{ratio[sleep]:.4f}", sleep) for sleep in (*by_ratio[:5], *by_ratio[-5:])])
        self.assertIn("\n  ... 2 more in draws.csv ...\n", out)
        with open(self.path("s/draws.csv"), encoding="utf-8", newline="") as file:
            table = list(csv.DictReader(file))
        self.assertEqual([(line["draw"], line["data.io_sleep_ms"], line["data.num_workers"]) for line in table],
                         [(str(i + 1), sleep, workers) for i, sleep in enumerate(sleeps) for workers in ("0", "1")])
        for line in table:
            sleep, first = line["data.io_sleep_ms"], line["data.num_workers"] == "0"
            self.assertEqual(line["ratio"], "" if first else f"{ratio[sleep]:.9g}")
            self.assertEqual(line["verdict"], "" if first else "FASTER" if ratio[sleep] < 1 / 1.01 else "SLOWER" if ratio[sleep] > 1.01
                             else "SAME")
        for workers in (0, 1):
            bars = out.split(f"data.io_sleep_ms with data.num_workers={workers}\n")[1].split("\n\n")[0]
            self.assertEqual(re.findall(r"^ +(\d+)  #+ [\d.]+ ms$", bars, re.MULTILINE), ordered)
        self.check_curves("s/curves.svg", points=24, series=2)
        with open(self.path("s/curves.svg"), encoding="utf-8") as file:
            svg = file.read()
        self.assertIn(">data.io_sleep_ms, logarithmic<", svg)
        places = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', svg)][:12]
        # By logarithms, as they were drawn.
        logs = [math.log(int(sleep)) for sleep in ordered]
        for place, value in zip(places, logs):
            self.assertAlmostEqual((place - places[0]) / (places[-1] - places[0]), (value - logs[0]) / (logs[-1] - logs[0]), delta=0.01)
        # Curves of an earlier sweep stay, and are not called this one's.
        code, out, err = self.run_pdhost("sweep", *BASE, "--sample", "data.num_workers=choice(0,1)", "--sample",
                                         "data.pin_memory=choice(true,false)", "--draws", "2", "--out", "s")
        self.assertEqual(code, 0, err)
        self.assertIn("pdhost: wrote s/sweep.json, sweep.csv, sweep.md, sweep.html, draws.csv\n"
                      "pdhost: s/curves.svg was there before and is not of this sweep; it stays as it is\n", err)
        with open(self.path("s/curves.svg"), encoding="utf-8") as file:
            self.assertEqual(file.read(), svg)
        self.check_hparams("s/cells", 2)

    def test_mistakes_of_draws(self):
        workers = ("--sample", "data.num_workers=uniform(0,3)")
        for arguments, code, message in (
                (("--draws", "3", "--vary", "data.num_workers=1"), 2, "nothing is drawn; --draws, --draw-seed and --require go with --sample"),
                (("--sample", "data.num_workers=normal(1,2)"), 2, "write uniform(LOW,HIGH), loguniform(LOW,HIGH)"),
                (("--sample", "data.num_workers=uniform(0.5,3)"), 3, "num_workers = 0.5: not a whole number"),
                (("--sample", "data.num_workers=uniform(0,8,step=0.5)"), 2, "whole numbers alone are drawn for this key"),
                # 0.5 could be given, but not 1e-05.
                (("--mode", "benchmark", "--scenario", "control", "--sample", "benchmark.min_run_time=uniform(0.5,1)"), 2,
                 "whole numbers alone are drawn for this key"),
                (("--sample", "data.num_workers=uniform(-1,8)"), 3, "num_workers = -1: out of range; allowed: 0 .. "),
                (("--sample", "data.num_workers=uniform(0,99999)"), 3, "num_workers = 99999: out of range; allowed: 0 .. "),
                (("--sample", "data.num_workers=choice(1,many)"), 3, "num_workers = many"),
                (("--sample", "data.pin_memory=uniform(0,1)"), 2, "the key is not a number but a bool: write choice(VALUE,VALUE)"),
                (("--sample", "data.workers=uniform(0,1)"), 3, "[data] workers"),
                ((*workers, "--sample", "data.num_workers=uniform(0,1)"), 2, "data.num_workers is drawn already"),
                ((*workers, "--vary", "data.num_workers=0,1"), 2, "data.num_workers is drawn and varied too"),
                ((*workers, "--num_workers", "1"), 2, "data.num_workers is drawn and given too"),
                ((*workers, "--draws", "5"), 2, "--draws: after 4 there was none in 1000 tries that is new: ask for fewer"),
                ((*workers, "--draws", "0"), 2, "--draws 0: not allowed; allowed: 1 .. 4096"),
                ((*workers, "--draw-seed", "-1"), 2, "--draw-seed -1: not allowed"),
                ((*workers, "--require", "data.num_workers"), 2, "nothing is compared"),
                ((*workers, "--require", "data.prefetch_factor<3"), 2, "data.prefetch_factor is not drawn"),
                ((*workers, "--draws", "4000", "--vary", "run.seed=1,2"), 2, "8000 cells are more than"),
                (("--sample", "profile.with_stack=choice(true,false)", "--draws", "2"), 2, "sweep: profile.with_stack: cells record nothing")):
            self.assert_fails(self.run_pdhost("sweep", *BASE, *arguments, "--out", "s"), code, message)
        self.assertFalse(os.path.exists(self.path("s")), "nothing ran")

    def test_the_draws_of_the_guide(self):
        """The guide's command with short blocks: the inputs that the guide shows are drawn."""
        with open(os.path.join(CONF, "..", "docs", "benchmarking.md"), encoding="utf-8") as file:
            (block,) = re.findall(r"```\n\$ (pdhost sweep -c conf/vec_dot.ini .*?)```", file.read(), re.DOTALL)
        command = re.match(r"(?:.*\\\n)*.*\n", block).group()
        words = shlex.split(command.replace("\\\n", " "))
        for full, small in (("benchmark.min_run_time=0.5", "benchmark.min_run_time=1ms"), ("12", "2")):
            words[words.index(full)] = small
        os.symlink(CONF, self.path("conf"))
        code, out, err = self.run_pdhost(*words[1:])
        self.assertIn(code, (0, 7), err)
        found = [re.findall(r"^  (scenario.batch=\d+, scenario.dim=\d+) +\|", text, re.MULTILINE) for text in (block, out)]
        self.assertEqual([len(rows) for rows in found], [12, 2])
        self.assertEqual(found[0][:2], found[1])
        for text in (block, out):
            self.assertRegex(text, r"\nscenario.implementation=bmm against scenario.implementation=mul_sum: FASTER in \d+ of ")


if __name__ == "__main__":
    unittest.main()

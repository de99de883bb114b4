#!/usr/bin/env python3
"""The recipes of docs/gating-in-ci.md: their shell lines are taken from the page and run in its order, from an empty folder, as CI
would. Which action keeps a file, and how a job is named, is the service's own."""
import json
import os
import random
import re
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree

from pdhost_run import PDHOST, ROOT, Case

PAGE = os.path.join(ROOT, "docs", "gating-in-ci.md")
INI = "[run]\nscenario = control\ndevice = cpu\nwarmup_steps = 2\n[train]\nmodel = mlp\n[data]\nbatch_size = 2\nimage_size = 32\n" \
      "resident = device\n[schedule]\nwait = 0\nwarmup = 1\nactive = 40\n"
FAST, SLOW = lambda step: 10 + 0.01 * (step % 5), lambda step: 15 + 0.01 * (step % 5)


def unclear():
    """Times of which nothing can be told."""
    chance = random.Random(1)
    return lambda step: 10.4 * chance.lognormvariate(0, 0.6)


def recipe(service):
    """The shell of each step of the YAML block below the heading, in its order, whether it is of `main` alone, and the block."""
    with open(PAGE, encoding="utf-8") as file:
        section = file.read().split(f"\n## {service}\n", 1)[1].split("\n## ", 1)[0]
    block = re.search(r"```yaml\n(.*?)```", section, re.S).group(1)
    steps = []
    for step in re.split(r"^ *- ", block, flags=re.M)[1:]:
        found = re.search(r"^ *run: \|\n((?: +.*\n)+)|^ *run: (.*)$", step, re.M) or re.match(r"()((?:pdhost|if) .*)$", step, re.M)
        if found:
            steps.append((found[1] or found[2], "if: github.ref == 'refs/heads/main'" in step))
    # A line with the program's name that is in no step would not be run here.
    assert sum(shell.count("pdhost ") for shell, _ in steps) == block.count("pdhost "), block
    return steps, block


class Recipe(Case):
    def setUp(self):
        super().setUp()
        with open(self.path("train.ini"), "w", encoding="utf-8") as file:
            file.write(INI)

    def set_times(self, milliseconds):
        """How long each step took, in the document: the same wherever the test runs."""
        with open(self.path("now.json"), encoding="utf-8") as file:
            figures = json.load(file)
        for number, row in enumerate(figures["step_rows"]):
            row["step_time_ns"] = row["batch_cost_ns"] = int(1e6 * milliseconds(number))
        with open(self.path("now.json"), "w", encoding="utf-8") as file:
            json.dump(figures, file)

    def job(self, service, branch, milliseconds):
        """The recipe on a branch whose steps take so long: the exit code of the step that ends it, or 0."""
        for left in ("now.json", "junit.xml"):  # what CI removes between jobs
            if os.path.exists(self.path(left)):
                os.remove(self.path(left))
        env = {**os.environ, "CI_COMMIT_BRANCH": branch, "NO_COLOR": "1",
               "PATH": os.path.dirname(PDHOST) + os.pathsep + os.environ["PATH"]}
        for shell, of_main in recipe(service)[0]:
            if of_main and branch != "main":
                continue
            done = subprocess.run(["bash", "-e", "-c", shell], cwd=self.folder, env=env, stdin=subprocess.DEVNULL, check=False,
                                  capture_output=True, text=True)
            if done.returncode:
                return done.returncode
            if "pdhost run" in shell:
                self.set_times(milliseconds)
        return 0

    def failures(self):
        """How many tests of the file that CI shows failed; None: there is no file."""
        if not os.path.exists(self.path("junit.xml")):
            return None
        root = ElementTree.parse(self.path("junit.xml")).getroot()
        self.assertGreater(len(root.findall(".//testcase")), 0)
        return len(root.findall(".//failure"))

    def baseline(self):
        with open(self.path("baselines/main.json"), encoding="utf-8") as file:
            return file.read()

    def gate(self, service, slower, unsure):
        """A branch has nothing to compare with; the first job of main leaves a baseline, the same again passes and leaves its
        own, a slower one ends with `slower`, one of which nothing can be told with `unsure`, and neither leaves anything."""
        _, block = recipe(service)
        self.assertNotIn("--junit junit.xml", re.sub(r".*pdhost.*", "", block))
        self.assertIn("junit.xml", re.sub(r".*pdhost.*", "", block), "the service takes the file that the gate writes")
        self.assertRegex(block, r"(?m)^ *(path: baselines|paths: \[baselines\])$", "the service keeps the folder of baselines")
        self.assertEqual((self.job(service, "topic", FAST), self.failures()), (0, None))
        self.assertFalse(os.path.exists(self.path("baselines")))
        self.assertEqual((self.job(service, "main", FAST), self.failures()), (0, None))
        first = self.baseline()
        self.assertEqual((self.job(service, "main", FAST), self.failures()), (0, 0))
        second = self.baseline()
        self.assertNotEqual(first, second)
        for branch in ("topic", "main"):
            self.assertEqual((self.job(service, branch, SLOW), self.failures()), (slower, 1))
        self.assertEqual((self.job(service, "topic", unclear()), self.failures()), (unsure, 0))
        self.assertEqual(self.baseline(), second)
        return block

    def test_github(self):
        """What passes is a step's exit code 0: pdhost compare --baseline main ends with 10 where it cannot tell."""
        self.gate("GitHub Actions", slower=1, unsure=0)

    def test_gitlab(self):
        """It lets pass what the page says it lets pass: the exit code of UNCLEAR."""
        with open(PAGE, encoding="utf-8") as file:
            (unsure,) = re.findall(r"^\| UNCLEAR[^|]*\| (\d+) \|", file.read(), re.M)
        block = self.gate("GitLab", slower=9, unsure=int(unsure))
        self.assertEqual(re.findall(r"exit_codes: (\d+)", block), [unsure])


if __name__ == "__main__":
    unittest.main()

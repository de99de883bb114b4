#!/usr/bin/env python3
"""The recipes of docs/gating-in-ci.md: their shell lines are taken from the page and run as CI would. Which action keeps a
file, and how a job is named, is the service's own."""
import json
import os
import random
import re
import shlex
import unittest
import xml.etree.ElementTree as ElementTree

from pdhost_run import Case

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "gating-in-ci.md")
INI = "[run]\nscenario = control\ndevice = cpu\nwarmup_steps = 2\n[train]\nmodel = mlp\n[data]\nbatch_size = 2\nimage_size = 32\n" \
      "resident = device\n[schedule]\nwait = 0\nwarmup = 1\nactive = 40\n"


def recipe(service):
    """The commands of the YAML block below the heading, and the whole block."""
    with open(PAGE, encoding="utf-8") as file:
        section = file.read().split(f"\n## {service}\n", 1)[1].split("\n## ", 1)[0]
    block = re.search(r"```yaml\n(.*?)```", section, re.S).group(1)
    commands = re.findall(r"^ *(?:- )?(?:run: )?(pdhost .*)$", block, re.M)
    # A line with the program's name that is none of these would not be run here.
    assert len(commands) == block.count("pdhost"), block
    return [shlex.split(line)[1:] for line in commands], block


class Recipe(Case):
    def setUp(self):
        super().setUp()
        with open(self.path("train.ini"), "w", encoding="utf-8") as file:
            file.write(INI)

    def by_first_word(self, service):
        commands, block = recipe(service)
        found = {}
        for words in commands:
            found["save" if "--save-baseline" in words else words[0]] = words
        return found, block

    def run_line(self, words, code=0):
        actual, out, err = self.run_pdhost(*words, watch=False)
        self.assertEqual(actual, code, (words, out, err))

    def set_times(self, milliseconds):
        """How long each step took, in the document: the same wherever the test runs."""
        with open(self.path("now.json"), encoding="utf-8") as file:
            figures = json.load(file)
        for number, row in enumerate(figures["step_rows"]):
            row["step_time_ns"] = row["batch_cost_ns"] = int(1e6 * milliseconds(number))
        with open(self.path("now.json"), "w", encoding="utf-8") as file:
            json.dump(figures, file)

    def junit(self):
        return ElementTree.parse(self.path("junit.xml")).getroot()

    def gate(self, service, save):
        """As CI goes: a first run leaves the baseline, the same again passes, a slower one does not."""
        found, block = self.by_first_word(service)
        self.assertNotIn("--junit junit.xml", re.sub(r".*pdhost.*", "", block))
        self.assertIn("junit.xml", re.sub(r".*pdhost.*", "", block), "the service takes the file that the gate writes")
        self.run_line(found["run"])
        self.set_times(lambda number: 10 + 0.01 * (number % 5))
        self.run_line(save)
        self.run_line(found["compare"])
        self.assertEqual(len(self.junit().findall(".//failure")), 0)
        self.assertGreater(len(self.junit().findall(".//testcase")), 0)
        self.set_times(lambda number: 15 + 0.01 * (number % 5))
        self.run_line(found["compare"], 9)
        self.assertEqual(len(self.junit().findall(".//failure")), 1)
        return found, block

    def test_github(self):
        found, _ = self.by_first_word("GitHub Actions")
        self.gate("GitHub Actions", found["save"])

    def test_gitlab(self):
        """It lets pass what the page says it lets pass: the exit code of UNCLEAR."""
        found, _ = self.by_first_word("GitHub Actions")
        _, block = self.gate("GitLab", found["save"])
        (allowed,) = re.findall(r"exit_codes: (\d+)", block)
        with open(PAGE, encoding="utf-8") as file:
            (unclear,) = re.findall(r"^\| UNCLEAR[^|]*\| (\d+) \|", file.read(), re.M)
        self.assertEqual(allowed, unclear)
        chance = random.Random(1)
        self.set_times(lambda number: 10.4 * chance.lognormvariate(0, 0.6))  # of which nothing can be told
        self.run_line(found["compare"], int(allowed))


if __name__ == "__main__":
    unittest.main()

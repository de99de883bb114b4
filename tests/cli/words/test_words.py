"""pdhost explain: every key of every file that a run writes, and every word of what it prints.

The files are real ones, of runs with every sink; whatever key is found in them is asked for.
"""
import csv
import glob
import json
import os
import re
import struct
import unittest

from pdhost_run import CONF, Case, SMALL

SINKS = ("table", "csv:dir=out", "json", "chrome_trace", "tensorboard", "window")
WHOLE = (*SMALL, "--scenario", "dataloader", "-o", "profile.profile_memory=true", "-o", "profile.record_shapes=true",
         "-o", "profile.with_stack=true", "-o", "profile.with_flops=true", "-o", "profile.with_modules=true",
         "-o", "data.num_workers=0", "-o", "truth.interleave=2", "-o", "truth.block=2")


def keys_of(node, below=lambda key: True):
    """Keys of a JSON document, at any depth; `below` false: not those under that key."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            if below(key):
                yield from keys_of(value, below)
    elif isinstance(node, list):
        for value in node:
            yield from keys_of(value, below)


def fields(message):
    """(number, bytes) of a protobuf message's fields that have a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 2:
            length = varint()
            yield key >> 3, message[at:at + length]
            at += length
        elif key & 7 == 0:
            varint()
        else:
            at += 8 if key & 7 == 1 else 4


def tags_of(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        for number, summary in fields(data[at + 12:at + 12 + length]):
            for _, value in fields(summary) if number == 5 else ():
                yield from (text.decode() for tag, text in fields(value) if tag == 1)
        at += 16 + length


class Words(Case):
    def one(self, pattern):
        (path,) = glob.glob(self.path(pattern), recursive=True)
        return path

    def load(self, pattern):
        with open(self.one(pattern), encoding="utf-8") as file:
            return json.load(file)

    def assert_known(self, words, where):
        words = set(words)
        self.assertTrue(words, where)
        unknown = [word for word in sorted(words) if self.run_pdhost("--explain", word)[0] != 0]
        self.assertEqual(unknown, [], where)

    def test_every_key_of_every_file(self):
        sinks = [word for sink in SINKS for word in ("--sink", sink)]
        code, _, err = self.run_pdhost(*WHOLE, *sinks)
        self.assertEqual(code, 0, err)
        tables = self.path("out")
        headers = set()
        for path in glob.glob(os.path.join(glob.escape(tables), "**", "*.csv"), recursive=True):
            with open(path, encoding="utf-8", newline="") as file:
                headers.update(next(csv.reader(file)))
            headers.add(os.path.splitext(os.path.basename(path))[0])
        self.assertGreater(len(headers), 150)
        self.assert_known(headers, "csv")
        root = glob.escape(self.folder)
        self.assertTrue(glob.glob(os.path.join(root, "out", "events", "*.csv")))
        self.assert_known(keys_of(self.load(os.path.join("results", "*", "latest", "metrics_*.json"))), "metrics")
        self.assert_known(keys_of(self.load(os.path.join("results", "*", "latest", "**", "truth.json"))), "truth")
        self.assert_known(keys_of(self.load(os.path.join("results", "*", "latest", "**", "manifest.json")),
                                  lambda key: key not in ("plugins", "libraries", "environment", "names")), "manifest")
        self.assert_known(keys_of(self.load(os.path.join("results", "*", "latest", "**", "*.pt.trace.json"))), "trace")
        self.assert_known(tags_of(self.one(os.path.join("results", "*", "latest", "**", "events.out.tfevents.*"))), "TensorBoard")

    def test_every_key_of_a_measurement(self):
        code, _, err = self.run_pdhost(*SMALL, "--scenario", "control", "--mode", "benchmark", "-o", "benchmark.output=m.json",
                                       "-o", "benchmark.min_run_time=0.05", watch=False)
        self.assertIn(code, (0, 7), err)  # 7: the machine is too noisy for the figure, which is not looked at
        self.assert_known(keys_of(self.load("m.json")), "measurement")

    def test_keys_that_only_a_gpu_has(self):
        found = set()
        for path in glob.glob(os.path.join(CONF, "..", "sinks", "chrome_trace", "*.c")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            found.update(re.findall(r'\\"([A-Za-z][\w .%()/]*)\\":', text))
            found.update(re.findall(r'number\(json, "(\w+)"', text))
        self.assertIn("cuda_sync_kind", found)
        self.assertIn("numSms", found)
        self.assert_known(found, "sinks/chrome_trace")

    def test_every_word_that_is_printed(self):
        code, out, err = self.run_pdhost(*SMALL, "--scenario", "dataloader")
        self.assertEqual(code, 0, err)
        words = {"repeatable", "hand-over", "withheld", "possibly", "FASTER", "SLOWER", "SAME", "UNCLEAR"}
        sections = re.split(r"\n\n", out)
        for section in sections:
            lines = section.splitlines()
            if lines[0].startswith("Files"):
                words.add("Files")
                continue
            title = re.split("  +", lines[0])
            words.update(re.sub(r",? (?:ms|us|s)$", "", word.rstrip(",")) if word.startswith("Steps") else word
                         for word in (title if not title[0].startswith("Verdict") else title[:1]))
            if lines[0].startswith(("Operators", "Kernels")):
                continue # their rows are names of operations and of kernels
            # A label of a line: behind two blanks, and two blanks behind it.
            words.update(re.findall(r"(?m)^  (\S+(?: \S+)*)  ", "\n".join(lines[1:])))
        words = {word for word in words if not re.search(r"\d|[\u2580-\u259f]", word)}
        for word in ("Verdict", "Others", "Try next", "Where the step goes", "share", "whole step", "after the wait"):
            self.assertIn(word, words)
        self.assertTrue(words & {"Gain", "Busy"})  # one for a cause, the other without one
        self.assert_known(words | {"Gain", "Busy"}, "report")
        code, out, _ = self.run_pdhost("list", "causes")
        self.assert_known(re.findall(r"(?m)^  (\w+) ", out), "causes")

    def test_a_word_of_several_places_has_all_of_them(self):
        code, out, _ = self.run_pdhost("explain", "step_us")
        self.assertEqual((code, re.findall(r"(?m)^step_us   in (.*)$", out)), (0, ["truth.json"]))
        self.assertIn('ledger_compute   "Kernels"', self.run_pdhost("explain", "ledger/compute_us")[1])
        self.assertIn("[data] batch_size", self.run_pdhost("explain", "data.batch_size")[1])
        self.assertIn("[sink.csv] dir", self.run_pdhost("explain", "sink.csv.dir")[1])
        self.assert_fails(self.run_pdhost("explain", "step_uss"), 2, "did you mean step_us?")


if __name__ == "__main__":
    unittest.main()

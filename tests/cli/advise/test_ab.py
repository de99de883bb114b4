#!/usr/bin/env python3
"""pdhost ab: two configurations in one process, its verdict, its outputs, signals and mistakes."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from xml.etree import ElementTree

from measurement_files import write
from pdhost_run import CONF, FIXTURES, PDHOST, SANITIZER, SMALL, Case

STALL = [*SMALL, "--scenario", "host_compute", "--image_size", "8", "--batch_size", "1"]

FAULT = os.path.join(FIXTURES, "scenario", "fault.so")


class Ab(Case):
    def test_fused_kernels_cost_the_cpu_device_nothing(self):
        code, _, err = self.run_pdhost("ab", "--scenario", "tiny_ops", "--device", "cpu", "train.fused=false", "train.fused=true",
                                       "--max-time", "6", "--output", "ab.json")
        self.assertEqual(code, 0, err)
        plain, fused = (sorted(row["host_s"]) for row in self.json("ab.json")["measurements"])
        ratio = fused[len(fused) // 2] / plain[len(plain) // 2]
        self.assertLess(ratio, 10 if SANITIZER else 1.25)  # scalar tanh and exp made it 1.57

    def test_twice_the_work_is_slower(self):
        code, out, err = self.run_pdhost("ab", *STALL, "scenario.inject_us=1000", "scenario.inject_us=40000",
                                         "--max-time", "2", "--output", "ab.json")
        self.assertEqual(code, 0, err)
        self.assertIn("ab of host_compute: A (scenario.inject_us=1000), B (scenario.inject_us=40000)", err)
        self.assertIn("A (scenario.inject_us=1000)  |  B (scenario.inject_us=40000)", out)
        self.assertRegex(out, r"\n(SLOWER |UNCLEAR)  B takes \d+\.\d{4} times as long as A \(95 %: ")
        self.assertRegex(out, r"\n +\d+ restarts?, \d+ rounds? A B B A, B A A B; \d+ runs? a block; ")
        if "UNCLEAR" in out:  # a machine so busy that even this may be its doing says so
            self.assertRegex(out, "the rounds disagree by|3 restarts are needed")
        document = self.json("ab.json")
        a, b = document["measurements"]
        self.assertEqual((a["method"], a["partial"], len(a["host_s"])), ("ab", False, len(b["host_s"])))
        self.assertEqual((a["options"]["scenario.inject_us"], b["options"]["scenario.inject_us"]), ("1000", "40000"))
        self.assertEqual((a["pairing"]["side"], b["pairing"]["side"]), ("A", "B"))
        self.assertEqual((a["pairing"]["id"], 2 * sum(a["pairing"]["restart_rounds"])), (b["pairing"]["id"], len(a["host_s"])))
        for row in (a, b):
            self.assertEqual(len(row["device_s"]), len(row["host_s"]))
            self.assertTrue(all(device > 0 for device in row["device_s"]))
        # compare says of the file what ab said of the run: the rounds are kept, whatever the margin.
        said = re.search(r"\n(\w+) +(B takes [^\n]*)\n +(\d+) restarts?, (\d+) rounds?", out)
        _, text, _ = self.run_pdhost("compare", "ab.json")
        self.assertIn(f"\n{said[1]:7}  host_compute: {said[2].replace('B takes', 'B (scenario.inject_us=40000) takes')}".replace(
            "as long as A", "as long as A (scenario.inject_us=1000)"), text)
        self.assertRegex(text, f"taken in turns: {said[4]} rounds? in {said[3]} restarts?; the rounds disagree by")
        (device,) = json.loads(self.run_pdhost("compare", "--time", "device", "--format", "json", "ab.json")[1])["verdicts"]
        self.assertEqual(str(device["paired"]["rounds"]), said[4])
        # The sides by themselves are paired too, in either order; what is merged with others is not.
        write(self.path("a.json"), a)
        write(self.path("b.json"), b)
        write(self.path("more.json"), b, b)
        for files, paired in ((("a.json", "b.json"), True), (("b.json", "a.json"), True), (("a.json", "more.json"), False),
                              (("a.json", "a.json"), False)):
            (found,) = json.loads(self.run_pdhost("compare", "--format", "json", *files)[1])["verdicts"]
            self.assertEqual(found["paired"] is not None, paired, files)
            if files == ("b.json", "a.json"):
                self.assertAlmostEqual(found["ratio"] * float(said[2].split()[2]), 1, places=3)

    def test_whole_iterations_wait_for_the_loader(self):
        base = [*SMALL, "--scenario", "control", "-o", "data.resident=none", "-o", "truth.block=2", "--loop", "--max-time", "1",
                "--format", "json"]
        code, out, err = self.run_pdhost("ab", *base, "--html", "ab.html", "data.io_sleep_ms=0", "data.io_sleep_ms=5")
        with open(self.path("ab.html"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn("data.io_sleep_ms=5", page)
        self.assertIn('<p class="sentence">', page)
        self.assertEqual(code, 0, err)
        got = json.loads(out)
        # Two steps of four samples, one worker; where a step is slow the loader gets ahead, but not for long.
        self.assertGreater(sum(got["b"]["host_s"]) / len(got["b"]["host_s"]), 2 * 4 * 5e-3 * 0.8)
        self.assertGreater(got["ratio"], 1)
        self.assertEqual((got["number_per_run"], got["a"]["device_s"]), (2, None))
        self.assert_fails(self.run_pdhost("ab", *base, "schedule.active=3", ""), 2, "ab: A: schedule.active: ")
        self.assert_fails(self.run_pdhost("ab", *base, "-o", "data.dataset_size=8", "data.cpu_work=1", ""), 5,
                          "[data] dataset_size: the data of an epoch end within a block of ")

    def test_json_and_gate(self):
        code, out, err = self.run_pdhost("ab", *STALL, "--format", "json", "--max-time", "1", "--gate", "-q",
                                         "scenario.inject_us=500", "scenario.inject_us=20000")
        got = json.loads(out)
        self.assertEqual(code, {"SLOWER": 9, "UNCLEAR": 10}[got["verdict"]], out)
        self.assertEqual(err, "")
        self.assertGreater(got["low"], 0 if SANITIZER else 1.2)
        self.assertLessEqual(got["low"], got["ratio"])
        self.assertLessEqual(got["ratio"], got["high"])
        self.assertEqual(len(got["a"]["host_s"]), 2 * got["rounds"])
        self.assertEqual(len(got["b"]["device_s"]), 2 * got["rounds"])
        self.assertEqual(got["b"]["set"], "scenario.inject_us=20000")
        self.assertEqual((got["margin"], got["partial"]), (0.01, False))

    def test_a_wide_margin_takes_anything_for_the_same_and_ends_at_once(self):
        code, out, _ = self.run_pdhost("ab", *STALL, "--format", "csv", "--max-time", "0.1", "", "")
        self.assertEqual((code, [line.split(",")[0] for line in out.splitlines()]), (0, ["label", "host_compute", "host_compute"]))
        code, out, _ = self.run_pdhost("ab", *STALL, "--format", "json", "--margin", "100%", "--gate", "--junit", "junit.xml", "", "")
        suite = ElementTree.parse(self.path("junit.xml")).getroot()[0]
        self.assertEqual((suite.get("name"), suite.get("failures"), len(suite)), ("pdhost ab", "0", 1))
        got = json.loads(out)
        if got["verdict"] == "UNCLEAR":
            self.assertGreaterEqual(got["spread"], 0 if SANITIZER else 0.25)  # twice that leaves no margin
            self.skip("the rounds disagree: the machine is too busy")
        self.assertEqual((code, got["verdict"], got["narrow"], got["restarts"]), (0, "SAME", True, 10))

    def test_two_devices_and_two_scenarios_in_one_process(self):
        for a, b in (("run.scenario=control", "run.scenario=tiny_ops"), ("device.threads=1", "device.threads=2"),
                     ("train.fused=true data.batch_size=1", "train.fused=false data.batch_size=2")):
            code, out, err = self.run_pdhost("ab", *SMALL, *(() if "run" in a else ("--scenario", "control")), "--max-time",
                                             "0.2", a, b)
            self.assertEqual(code, 0, err)
            self.assertIn("times as long as A", out)

    def test_cold_cache_is_a_run_a_block(self):
        witness = os.path.join(FIXTURES, "scenario", "witness.so")
        code, out, err = self.run_pdhost("ab", *SMALL, "--scenario", witness, "--max-time", "0.5", "--width", "0.000001", "-o",
                                         "benchmark.cold_cache=true", "--format", "json", "", "")
        self.assertEqual(code, 0, err)
        got = json.loads(out)
        self.assertEqual(got["number_per_run"], 1)
        # The flushes are a part of its time, or it would take some ten thousand rounds of them.
        self.assertLess(sum(got["a"]["host_s"] + got["b"]["host_s"]), 0.25)
        self.assertGreaterEqual(got["spent_s"], 0.5)

    def test_the_machine_is_watched(self):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(1 + os.cpu_count() // 8)]
        try:
            code, out, err = self.run_pdhost("ab", *SMALL, "--scenario", FAULT, "-o", "scenario.drift_us=10", "--max-time", "1",
                                             "--width", "0.000001", "--output", "ab.json", "", "")
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertEqual(code, 0, err)
        rows = self.json("ab.json")["measurements"]
        for row in rows:
            self.assertIn("load_average", row["conditions"])
            # Each step takes 10 us more than the one before, which a sanitizer may hide.
            wide = row["host_run"]["iqr_s"] / row["host_run"]["median_s"] >= 0.1
            self.assertEqual(sum("Interquartile range is" in text for text in row["warnings"]), wide)
            self.assertTrue(wide or SANITIZER)
            # What was seen is what is said, on both sides alike.
            others = float(re.search(r"process, ([\d.]+) with others", row["conditions"]["busy_cores"])[1])
            said = [text for text in row["warnings"] if text.startswith("Other programs kept")]
            if abs(others - 0.1 * int(row["conditions"]["cores"])) > 0.006:  # two digits of it are written
                self.assertEqual(bool(said), others > 0.1 * int(row["conditions"]["cores"]), row["conditions"])
            self.assertEqual(out.count("WARNING: Other programs kept"), len(said), out)
        self.assertEqual(rows[0]["conditions"]["busy_cores"], rows[1]["conditions"]["busy_cores"])

    def test_one_restart_is_no_restarts(self):
        _, out, _ = self.run_pdhost("ab", *STALL, "--max-time", "0.000001", "--output", "ab.json", "", "")
        self.assertRegex(out, r"\n +1 restart, 1 round A B B A")
        self.assertIn("1 round in 1 restart;", self.run_pdhost("compare", "ab.json")[1])

    def test_output_to_standard_output_is_json_alone(self):
        code, out, err = self.run_pdhost("ab", *STALL, "--max-time", "0.05", "--output", "-", "benchmark.cold_cache=true",
                                         "benchmark.label=warm")
        self.assertEqual(code, 0, err)
        a, b = json.loads(out)["measurements"]
        self.assertEqual((a["cold_cache"], b["cold_cache"], b["label"]), (True, False, "warm"), "keys that are a side's own")
        self.assertIn("times as long as A", err)

    def test_the_trials_of_the_bench_run(self):
        script = os.path.join(CONF, "..", "bench", "ab_trials.py")
        run = subprocess.run([sys.executable, "-B", script, PDHOST, "1", "--max-time", "0.1"], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=120)
        self.assertIn(run.returncode, (0, 1), run.stderr)  # one trial of no budget may be wrong
        self.assertRegex(run.stdout, r"^A/A after 1: \{'[A-Z]+': 1\}; of 1 intervals [01] hold")
        self.assertRegex(run.stdout, r"\nplanted 3 % after 1: .*\nfalse alarms [01] of 1; found [01] of 1\n$")

    def test_a_signal_tells_what_there_is(self):
        process = self.start("ab", *STALL, "--max-time", "600", "--width", "0.000001", "scenario.inject_us=500",
                             "scenario.inject_us=600", "--output", "ab.json")
        process.stderr.readline()  # it has begun
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        if out:  # a machine that did not get through a round in this time has nothing to tell
            self.assertIn("ended early", out)
            self.assertTrue(self.json("ab.json")["measurements"][0]["partial"])

    def test_a_failing_step_is_said(self):
        self.assert_fails(self.run_pdhost("ab", *SMALL, "--scenario", FAULT, "", "scenario.fail_step=3"), 5,
                          "scenario fault: step 3: ")
        self.assert_fails(self.run_pdhost("ab", *SMALL, "--scenario", FAULT, "", "scenario.fail_init=true"), 5,
                          "scenario fault: init: asked to fail")

    def test_a_key_that_cannot_change_the_step_is_refused(self):
        base = [*SMALL, "--scenario", "control"]
        sides = ["schedule.profile_steps=9", "sink.table.wide=true", "run.mode=train", "run.sinks=json", "run.trace_dir=x",
                 "run.max_steps=9", "run.epochs=2", "run.sync_timing=false", "run.require_cupti=true", "data.cpu_us=5",
                 "data.resident_batches=2", "data.dataset_size=99", "benchmark.min_blocks=3", "benchmark.callgrind=9"]
        for section in ("profile", "schedule", "truth"):  # every key that there is
            rows = json.loads(self.run_pdhost("--help-section", section, "--format", "json")[1])["options"]
            sides += [f"{section}.{row['key']}=1" for row in rows]
        for i, side in enumerate(sides):
            a, b, which = ((side, "", "A"), (f"train.amp=false {side}", side, "A"), ("", f"train.amp=true {side}", "B"))[i % 3]
            self.assert_fails(self.run_pdhost("ab", *base, a, b, watch=False), 2, f"ab: {which}: {side.split('=')[0]}: ")
        # For both: only what ab itself takes the effect from.
        for words, key in ((["--mode", "train"], "run.mode"), (["-o", "run.sinks=json"], "run.sinks"),
                           (["--trace_dir", "x"], "run.trace_dir"), (["--wide"], "sink.table.wide"),
                           (["-o", "benchmark.min_run_time=1"], "benchmark.min_run_time")):
            self.assert_fails(self.run_pdhost("ab", *base, *words, "", ""), 2, f"ab: {key}: ")
        code, _, err = self.run_pdhost("ab", *base, "--mode", "benchmark", "--with_stack", "-o", "benchmark.number=1",
                                       "--max-time", "0.000001", "", "")
        self.assertEqual(code, 0, err)

    def test_what_both_sides_are_warned_of_is_said_once(self):
        with open(self.path("cpu.ini"), "w", encoding="utf-8") as file:
            file.write("[run]\ndevice = cpu\n[device]\nthreads = 1\n")
        code, _, err = self.run_pdhost("ab", "-c", "cpu.ini", "--scenario", "control", "--device",
                                       os.path.join(FIXTURES, "device", "driverless.so"), "train.fused=false", "", watch=False)
        self.assertEqual(code, 6, err)
        self.assertEqual((len(self.warnings(err)), err.count("cpu.ini:4: [device] threads: left out")), (1, 1), err)

    def test_mistakes(self):
        base = [*SMALL, "--scenario", "control"]
        for arguments, code, message in (
                ((*base,), 2, "expected two configurations, got 0"),
                ((*base, "a.b=1"), 2, "expected two configurations, got 1"),
                ((*base, "", "", ""), 2, "unexpected argument ''"),
                ((*base, "", "batch_size=4"), 2, "B: batch_size=4: write section.key=value"),
                ((*base, "", "data.batch=4"), 3, "[data] batch"),
                ((*base, "", "data.batch_size=many"), 3, "batch_size = many"),
                ((*base, "train.amp=false", "train.fused=true"), 3, "are the same configuration"),
                ((*base, "train.fused=1", "train.fused=true"), 3,
                 "A (train.fused=1) and B (train.fused=true) are the same configuration"),
                ((*base, "train.lr=0.1", "train.lr=1e-1"), 3, "are the same configuration"),
                ((*base, "data.num_workers=2 data.batch_size=1", "data.num_workers=4"), 2, "pdhost sweep"),
                ((*base, "data.num_workers=0", "data.num_workers=2"), 2, "pdhost sweep"),
                ((*base, "benchmark.number=3", "benchmark.number=7"), 2, "A: benchmark.number: does not belong to one side"),
                ((*base, "", "train.amp=true benchmark.description=x"), 2, "B: benchmark.description: ab sees to that itself"),
                ((*base, "", "benchmark.numbr=7"), 3, "did you mean number?"),
                ((*base, "", "profile.with_stck=true"), 3, "did you mean with_stack?"),
                ((*base, "", "benchmark.label=b"), 3, "A (as configured) and B (benchmark.label=b) are the same configuration"),
                ((*base, "--output", "-", "--format", "json", "", ""), 2, "standard output has what --format prints"),
                ((*base, "--width", "0", "", ""), 2, "--width 0: not allowed"),
                ((*base, "--margin", "0", "", ""), 2, "also needs --width"),
                ((*base, "--max-time", "-1", "", ""), 2, "--max-time -1: not allowed"),
                ((*base, "--list", "", ""), 2, "only options of a run"),
                ((*base, "--output", "/dev/null/x", "--max-time", "600", "", ""), 8, "/dev/null")):
            self.assert_fails(self.run_pdhost("ab", *arguments), code, message)
        code, out, err = self.run_pdhost("ab", "--help")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("usage: pdhost ab", out)


if __name__ == "__main__":
    unittest.main()

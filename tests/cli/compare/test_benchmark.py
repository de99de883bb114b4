"""[run] mode = benchmark: whole measurements on the CPU device, their text and file, and what ends them early."""
import os
import re
import signal
import statistics
import subprocess
import sys
import time
import unittest

from pdhost_run import CONF, FIXTURES, SANITIZER, SMALL, Case

WITNESS = os.path.join(FIXTURES, "scenario", "witness.so")
FAULT = os.path.join(FIXTURES, "scenario", "fault.so")
SCHEMA = os.path.join(CONF, "..", "docs", "schema", "measurements.schema.json")
TOOLS = os.path.join(CONF, "..", ".venv", "tools", "bin", "python")
# 7: measured, and too noisy to trust, which is the machine's doing.
MEASURED = (0, 7)


class Benchmark(Case):
    def bench(self, *arguments, scenario="control", **options):
        return self.run_small("--scenario", scenario, "--mode", "benchmark", "-o", "benchmark.output=out.json",
                              "-o", "benchmark.min_run_time=0.02", "-o", "benchmark.max_warmup_time=0.3", *arguments,
                              watch=False, **options)

    def only(self, name="out.json"):
        document = self.json(name)
        self.assertEqual(document["format"], "pdhost.measurements/1")
        self.assertEqual(len(document["measurements"]), 1)
        return document["measurements"][0]

    def assert_sound(self, row):
        """What holds of every measurement."""
        self.assertGreaterEqual(len(row["host_s"]), 1)
        self.assertEqual(len(row["host_s"]), len(row["device_s"]))
        for host, device in zip(row["host_s"], row["device_s"]):
            self.assertGreater(host, 0)
            # The device begins before the host's clock does, and ends before it.
            self.assertGreater(device, 0)
        self.assertEqual(row["options"]["run.mode"], "benchmark")
        self.assertEqual(row["options"]["data.batch_size"], "4")
        self.assertEqual([key for key in row["options"] if key.startswith("sink.")], [])
        self.assertTrue({"pdhost", "scenario", "device", "libraries", "system"} <= row["versions"].keys())
        self.assertTrue({"host_name", "command_line", "cores", "load_average"} <= row["conditions"].keys())
        for blocks, figures in ((row["host_s"], row["host_run"]), (row["device_s"], row["device_run"])):
            runs = sorted(block / row["number_per_run"] for block in blocks)
            self.assertAlmostEqual(figures["median_s"] / statistics.median(runs), 1, places=9)
            self.assertAlmostEqual(figures["mean_s"] / statistics.mean(runs), 1, places=9)
            self.assertEqual((figures["min_s"], figures["max_s"]), (runs[0], runs[-1]))
            self.assertAlmostEqual(figures["iqr_s"], figures["p75_s"] - figures["p25_s"], places=15)
        self.assertGreater(row["timer_overhead_s"], 0)
        self.assertEqual(row["threads"], 1)

    def assert_shown(self, out, row):
        """The text is of the file's blocks."""
        times = sorted(block / row["number_per_run"] for block in row["host_s"])
        median = (times[(len(times) - 1) // 2] + times[len(times) // 2]) / 2
        found = re.search(r"^  (?:Median: )?([0-9.]+) (ns|us|ms|s)$", out, re.M)
        scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[found[2]]
        self.assertAlmostEqual(float(found[1]), median / scale, delta=0.0051)
        self.assertIn(f"{row['number_per_run']} runs ", out)
        self.assertIn(f"  {len(times)} measurement", out)

    def test_every_method_measures(self):
        for method, more in (("timeit", ["-o", "benchmark.number=3"]), ("blocked_autorange", []),
                             ("adaptive_autorange", ["-o", "benchmark.max_run_time=0.3"])):
            with self.subTest(method=method):
                code, out, err = self.bench("-o", f"benchmark.method={method}", *more)
                self.assertIn(code, MEASURED, err)
                self.assertRegex(err, rf"{method} of control on CPU \(oneDNN [\d.]+, \d+ cores?\)\n")
                row = self.only()
                self.assert_sound(row)
                self.assert_shown(out, row)
                self.assertEqual((row["method"], row["scenario"], row["partial"]), (method, "control", False))
                if method == "timeit":
                    self.assertEqual((len(row["host_s"]), row["number_per_run"]), (1, 3))
                else:
                    self.assertGreaterEqual(sum(row["host_s"]), 0.02)
                self.assertTrue(out.startswith("<pdhost measurement of control on CPU (oneDNN"), out)

    def test_one_block_is_one_run_with_a_cold_cache(self):
        code, out, err = self.bench("-o", "benchmark.cold_cache=true", "-o", "benchmark.max_run_time=0.3", "-o",
                                    "benchmark.min_run_time=0.3", "-o", "benchmark.max_warmup_time=0", scenario=WITNESS)
        self.assertIn(code, MEASURED, err)
        row = self.only()
        self.assertEqual((row["number_per_run"], row["cold_cache"]), (1, True))
        self.assertIn("; cold cache", out)
        self.assertRegex(out, r"WARNING: The time is up after \d+\.\d s: \d+ blocks? took ")  # some ten thousand flushes else
        self.assertLess(sum(row["host_s"]), 0.3)

    def test_nothing_runs_beside_a_step(self):
        code, _, err = self.bench("-o", "benchmark.number=300", "-o", "benchmark.min_run_time=1ms", "--warmup_steps", "7",
                                  "-o", "data.num_workers=2", scenario=WITNESS)
        self.assertIn(code, MEASURED, err)
        with open(self.path("witness.txt"), encoding="utf-8") as file:
            warmup, steps, out_of_order, batches, recorded, truth = map(int, file.read().split())
        row = self.only()
        blocks, waited = len(row["host_s"]), row["warm_up"]["runs"]
        # A hundredth of a block warms it up; every run is given the one batch; nobody records or keeps the truth.
        self.assertEqual((warmup, steps), (7, waited + 3 + 300 * blocks))
        self.assertGreater(waited, 0)
        self.assertEqual((out_of_order, batches, recorded, truth), (0, 1, 0, 0))

    def test_the_warm_up_says_how_it_ended(self):
        code, out, err = self.bench("-o", "benchmark.max_warmup_time=2")
        self.assertIn(code, MEASURED, err)
        row = self.only()
        waited = row["warm_up"]
        self.assertIn(waited["decided"], ("steady", "trend"))
        self.assertGreaterEqual(waited["blocks"], 8)
        self.assertGreaterEqual(waited["runs"], waited["blocks"])
        self.assertEqual(any("never settled" in text for text in row["warnings"]), waited["decided"] == "trend")
        self.assertRegex(out, rf"\n  Warmed: (not )?steady after {waited['blocks']} blocks, ")
        code, out, err = self.bench("-o", "benchmark.max_warmup_time=1ms", "-o", "scenario.inject_us=2000",
                                    scenario="host_compute")
        self.assertIn(code, MEASURED, err)
        self.assertEqual((self.only()["warm_up"]["decided"], self.only()["warm_up"]["blocks"]), ("too few blocks", 1))
        self.assertIn("  Warmed: not judged, its time holds too few blocks; after 1 block, ", out)
        code, out, err = self.bench("-o", "benchmark.max_warmup_time=0")
        self.assertIn(code, MEASURED, err)
        self.assertEqual((self.only()["warm_up"], "Warmed" in out), (None, False))

    def test_a_drift_is_seen(self):
        code, out, err = self.bench("-o", "scenario.drift_us=1000", "-o", "benchmark.max_warmup_time=0.8", scenario=FAULT)
        self.assertIn(code, MEASURED, err)
        self.assertEqual(self.only()["warm_up"]["decided"], "trend")
        self.assertGreater(self.only()["warm_up"]["change"], 0.01)
        self.assertEqual(out.count("never settled"), 1, out)

    def test_names_and_threads(self):
        code, out, err = self.bench("-o", "benchmark.label=train", "-o", "benchmark.sub_label=plain", "-o",
                                    "benchmark.description=4 images", "-o", "benchmark.env=gcc", "-o",
                                    "benchmark.threads=2", "-o", "benchmark.device_time=false", "-o", "data.num_workers=0")
        self.assertIn(code, MEASURED, err)
        row = self.only()
        self.assertEqual([key for key in row["conditions"] if key.startswith("given ")], [], "nothing was given in vain")
        self.assertEqual([row[key] for key in ("label", "sub_label", "description", "env", "threads")],
                         ["train", "plain", "4 images", "gcc", 2])
        self.assertEqual(row["options"]["device.threads"], "2")
        self.assertEqual((row["device_s"], row["device_run"]), (None, None))
        self.assertNotIn("Device:", out)
        self.assertIn("train: plain\n4 images\n", out)
        self.assertIn("2 threads", out)

    def test_the_file_is_compared(self):
        for name in ("a.json", "b.json"):
            code, _, err = self.bench("-o", f"benchmark.output={name}", "-o", f"benchmark.description={name}")
            self.assertIn(code, MEASURED, err)
        code, out, err = self.run_pdhost("compare", "a.json", "b.json", watch=False)
        self.assertEqual(code, 0, err)
        self.assertIn("a.json", out)

    def test_the_worked_example_has_blocks_enough_for_a_verdict(self):
        base = ["-c", os.path.join(CONF, "vec_dot.ini"), "--device", "cpu", "-o", "benchmark.min_run_time=0.2",
                "-o", "benchmark.max_warmup_time=0.1"]
        bmm = ["-o", "scenario.implementation=bmm", "-o", "benchmark.output=results/bmm.json"]
        for more in ([], bmm):
            code, _, err = self.run_pdhost(*base, *more, watch=False)
            self.assertIn(code, MEASURED, err)
        self.assertGreaterEqual(len(self.only("results/vec_dot_mul_sum.json")["host_s"]), 40)
        _, out, _ = self.run_pdhost("compare", "results/vec_dot_mul_sum.json", "results/bmm.json", watch=False)
        self.assertRegex(out, r"\n(SLOWER|FASTER|SAME) " if not SANITIZER else r"\n[A-Z]+ ")
        self.assertNotIn("fewer than", out)

    def test_the_worked_examples_names_follow_from_what_runs(self):
        code, out, err = self.run_pdhost("-c", os.path.join(CONF, "vec_dot.ini"), "--device", "cpu", "-o", "benchmark.min_run_time=0.05",
                                         "-o", "benchmark.max_warmup_time=0", "-o", "benchmark.min_blocks=2",
                                         "-o", "scenario.implementation=bmm", "-o", "scenario.dim=1_28", watch=False)
        self.assertIn(code, MEASURED, err)
        self.assertIn("batched dot: bmm\n10000 x 128\n", out)
        row = self.only("results/vec_dot_bmm.json")
        self.assertEqual((row["label"], row["sub_label"], row["description"]), ("batched dot", "bmm", "10000 x 128"))

    def test_a_label_names_a_key_that_is_there(self):
        code, out, err = self.bench("-o", "benchmark.label=a<b> <data.batch_size>", "-o", "benchmark.output=out.json")
        self.assertIn(code, MEASURED, err)
        self.assertEqual(self.only()["label"], f"a<b> {self.only()['options']['data.batch_size']}")
        self.assert_fails(self.bench("-o", "benchmark.label=<data.batch_sizes>"), 3,
                          "[benchmark] label = <data.batch_sizes>: <data.batch_sizes>: there is no such key in this run")

    def test_output_to_standard_output_is_json_alone(self):
        code, out, err = self.bench("-o", "benchmark.output=-")
        self.assertIn(code, MEASURED, err)
        with open(self.path("out.json"), "w", encoding="utf-8") as file:
            file.write(out)
        self.assert_sound(self.only())
        self.assertIn("measurement of control", err)

    def test_no_file_where_none_is_wanted(self):
        code, out, err = self.bench("-q", "-o", "benchmark.output=")
        self.assertIn(code, MEASURED, err)
        self.assertEqual((out, os.listdir(self.folder)), ("", []))

    def test_files_fit_the_schema(self):
        if not os.path.exists(TOOLS):
            self.skip("no .venv/tools; scripts/tools-venv makes it")
        base = [*SMALL, "--scenario", "control"]
        measure = [*base, "--mode", "benchmark", "-o", "benchmark.min_run_time=0.02", "-o", "benchmark.output=out.json"]
        sweep = [*base[2:], "--vary", "data.num_workers=0", "-o", "data.resident=none", "--format", "none"]
        check = ("import json, sys, jsonschema; schema = json.load(open(sys.argv[1])); "
                 "jsonschema.Draft202012Validator.check_schema(schema); "
                 "[jsonschema.validate(json.load(open(path)), schema, jsonschema.Draft202012Validator) for path in sys.argv[2:]]")
        kept = []
        plain = ["-o", "benchmark.device_time=false", "-o", "benchmark.max_warmup_time=0", "-o", "benchmark.label=a"]
        for command, written in ((measure, "out.json"), ([*measure, *plain], "out.json"),
                                 (["ab", *base, "--max-time", "0.05", "--output", "ab.json", "", ""], "ab.json"),
                                 (["sweep", *sweep, "--time", "wait"], "results/sweep/sweep.json")):
            code, _, err = self.run_pdhost(*command, watch=False)
            self.assertIn(code, MEASURED, err)
            kept.append(self.path(f"{len(kept)}.json"))
            os.rename(self.path(written), kept[-1])
        subprocess.run([TOOLS, "-c", check, SCHEMA, *kept], check=True, stdout=sys.stderr)

    def test_keys_that_cannot_be(self):
        for keys, said in ((["method=timeit"], "needs number"), (["method=best"], "allowed: timeit, blocked_autorange"),
                           (["cold_cache=true", "number=5"], "each run is a block"),
                           (["method=timeit", "number=5", "min_blocks=2"], "min_blocks = 2: method = timeit takes one block"),
                           (["method=adaptive_autorange", "min_run_time=2", "max_run_time=1"], "below min_run_time = 2"),
                           (["numbr=5"], "did you mean number?"), (["number=-1"], "out of range"),
                           (["min_run_time=fast"], "min_run_time"), (["threshold=0"], "out of range")):
            with self.subTest(keys=keys):
                arguments = [part for key in keys for part in ("-o", f"benchmark.{key}")]
                self.assert_fails(self.run_small("--scenario", "control", "--mode", "benchmark", *arguments), 3, said)
        self.assert_fails(self.run_small("--scenario", "control", "--mode", "bench"), 3, "did you mean benchmark?")

    def test_threads_of_a_device_without_any(self):
        null = os.path.join(FIXTURES, "device", "null.so")
        arguments = ["--scenario", "control", "--device", null, "--mode", "benchmark", "-o", "benchmark.threads=2"]
        self.assert_fails(self.run_pdhost(*arguments, "--check"), 3, "device null has no `threads` option; remove it")

    def test_keys_are_not_checked_against_each_other_in_another_mode(self):
        code, _, err = self.run_small("--scenario", "control", "-o", "benchmark.method=timeit", "--check")
        self.assertEqual(code, 0, err)

    def test_a_sink_asked_for_in_vain_is_told(self):
        code, _, err = self.bench("--sink", "json")
        self.assertIn(code, MEASURED, err)
        self.assertEqual(self.warnings(err), ["pdhost: warn: --sink has no meaning with [run] mode = benchmark: the "
                                              "measurement goes to [benchmark] output = out.json"])

    def test_a_failing_step_is_told(self):
        result = self.bench("-o", "scenario.fail_step=0", scenario=FAULT)
        self.assert_fails(result, 5, "scenario fault: step 0: asked to fail")
        self.assertFalse(os.path.exists(self.path("out.json")))

    def test_a_scenario_that_stops_leaves_what_there_is(self):
        code, _, err = self.bench("-o", "benchmark.number=1", "-o", "benchmark.min_run_time=100", "-o",
                                  "scenario.stop_step=5", "-o", "benchmark.max_warmup_time=0", scenario=FAULT)
        self.assertIn(code, MEASURED, err)
        self.assertEqual((self.errors(err), self.warnings(err)),
                         ([], ["pdhost: warn: scenario fault: step 5: it asked for the end of the run: the measurement is "
                               "partial, with 4 blocks"]), err)
        row = self.only()
        self.assertEqual((row["partial"], len(row["host_s"])), (True, 4))  # the first run warms the block up
        os.remove(self.path("out.json"))
        for key, said in (("stop_step", "step 0"), ("stop_warmup", "warm-up step 0")):
            with self.subTest(key=key):
                self.assert_fails(self.bench("-o", f"scenario.{key}=0", scenario=FAULT), 5, f"scenario fault: {said}: it "
                                  "asked for the end of the run, before a block was measured")
                self.assertFalse(os.path.exists(self.path("out.json")))

    def test_an_output_that_cannot_be_written_is_told_before_anything_runs(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        # A step of it would end the run with 5, and its own message.
        for path in ("file/out.json", "."):
            self.assert_fails(self.bench("-o", "scenario.fail_init=true", "-o", f"benchmark.output={path}", scenario=FAULT), 8,
                              path[0])
        os.mkfifo(self.path("pipe"))
        self.assert_fails(self.bench("-o", "scenario.fail_init=true", "-o", "benchmark.output=pipe", scenario=FAULT), 5,
                          "asked to fail")

    def test_the_options_are_those_that_were_used(self):
        code, _, err = self.bench("-o", "data.num_workers=2", "-o", "data.pin_memory=true", "-o",
                                  "data.prefetch_to_device=true")
        self.assertIn(code, MEASURED, err)
        row = self.only()
        self.assertEqual((row["options"]["data.num_workers"], row["options"]["data.prefetch_to_device"]), ("0", "false"))
        self.assertEqual((row["conditions"]["given data.num_workers"], row["conditions"]["given data.prefetch_to_device"]),
                         ("2", "true"))


    def test_an_interrupt_leaves_a_partial_file_or_none(self):
        for number, wait_for in (("1", 0.6), ("1000000000", 0.2)):
            with self.subTest(number=number):
                process = self.start("--device", "cpu", "--scenario", "control", "--mode", "benchmark",
                                     "-o", "benchmark.output=cut.json", "-o", "benchmark.min_run_time=1000",
                                     "-o", f"benchmark.number={number}", "--batch_size", "4", "--image_size", "16",
                                     "-o", "device.threads=1", "--warmup_steps", "1", watch=False)
                line = process.stderr.readline()
                self.assertIn("blocked_autorange of control", line)
                time.sleep(wait_for)
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=100)
                self.assertEqual(process.returncode, 130, err)
                self.assertIn("pdhost: SIGINT: the measurement is partial, with ", err)
                self.assertFalse(os.path.exists(self.path("cut.json.partial")))
                if number != "1":
                    self.assertFalse(os.path.exists(self.path("cut.json")), "no block was whole")
                elif os.path.exists(self.path("cut.json")):
                    row = self.only("cut.json")
                    self.assertTrue(row["partial"])
                    os.remove(self.path("cut.json"))

    def test_the_dry_run_says_how_it_will_time(self):
        code, out, err = self.bench("--dry-run", "-o", "benchmark.method=adaptive_autorange", "-o",
                                    "benchmark.max_warmup_time=2")
        self.assertEqual(code, 0, err)
        self.assertIn(" to warm up, then until they are steady, at most 2 s; then adaptive_autorange\n", out)
        self.assertIn("out.json", out)


if __name__ == "__main__":
    unittest.main()

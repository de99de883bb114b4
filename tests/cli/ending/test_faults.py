"""Faults of a whole run: one clear line, the stated exit code, and no output lost."""
import csv
import glob
import json
import os
import re
import resource
import signal
import subprocess
import unittest

from pdhost_run import CONF, FIXTURES, PDHOST, SANITIZER, SMALL, Case

FAULT_SCENARIO = os.path.join(FIXTURES, "scenario", "fault.so")
FAULT_SINK = os.path.join(FIXTURES, "sink", "fault.so")
BROKEN = os.path.join(FIXTURES, "..", "abi", "broken")
JSON = "json:output_json=metrics.json"
ENDLESS = ["-o", "schedule.repeat=0", "-o", "schedule.wait=0", "-o", "schedule.warmup=1", "-o", "schedule.active=2"]


class Faults(Case):
    def test_a_plain_run_is_done(self):
        code, out, err = self.run_small("--scenario", "control", "--sink", JSON)
        self.assertEqual(code, 0, err)
        self.assertEqual(out, "")
        self.assertEqual(self.json("metrics.json")["scenario"], "control")
        self.assertEqual(glob.glob(self.path("**/*.partial"), recursive=True), [])

    def test_a_test_that_fails_leaves_no_run_behind(self):
        processes = []

        class Failing(Case):
            def runTest(self):
                processes.append(self.start(*SMALL, "--scenario", "control", *ENDLESS, "--sink", "table"))
                self.fail("half-way")

        Failing().run(unittest.TestResult())
        self.assertEqual([process.poll() for process in processes], [-signal.SIGKILL])

    def test_missing_scenario_file(self):
        self.assert_fails(self.run_small("--scenario", "./none.so"), 4, "./none.so")

    def test_scenario_that_is_no_elf_file(self):
        with open(self.path("text.so"), "w", encoding="utf-8") as file:
            file.write("not a shared object\n")
        self.assert_fails(self.run_small("--scenario", "./text.so"), 4, "./text.so")

    def test_a_plugin_that_is_cut_short_is_told_of(self):
        if SANITIZER:
            self.skip("a sanitizer takes the signal for itself")
        os.makedirs(self.path("cut/scenario"))
        with open(FAULT_SCENARIO, "rb") as file, open(self.path("cut/scenario/short.so"), "wb") as to:
            to.write(file.read(9000))
        # It is loaded in a child process first, where the linker reads beyond the end of the file.
        said = "short.so: crashes when it is loaded (signal 7): build or copy it again"
        for command in (("--scenario", "cut/scenario/short.so"), ("--scenario", "short", "--plugin-path", "cut"),
                        ("--scenario", "cut/scenario/short.so", "--check"), ("--help-plugin", "cut/scenario/short.so"),
                        ("--scenario", "short", "--plugin-path", "cut", "--check"), ("--check-plugin", "cut/scenario/short.so")):
            with self.subTest(command=command):
                code, out, err = self.run_pdhost(*command)
                self.assertEqual(code, 4, err)
                self.assertIn(said, out if command[0] == "--check-plugin" else err)
        code, out, err = self.run_pdhost("--list", "scenarios", "--plugin-path", "cut")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"short +rejected: crashes when it is loaded \(signal 7\): build")

    def test_scenario_of_another_kind(self):
        self.assert_fails(self.run_small("--scenario", FAULT_SINK), 4, "sink")

    def test_plugins_that_do_not_fit(self):
        for name, said in (("no_entry", "pd_plugin_entry"), ("major", "rebuild the plugin"), ("null_entry", "NULL"),
                           ("undefined", "undefined symbol"), ("size_0", "size_0.so"), ("kind_99", "kind_99.so")):
            with self.subTest(plugin=name):
                self.assert_fails(self.run_small("--scenario", os.path.join(BROKEN, f"{name}.so")), 4, said)

    def test_plugins_of_a_later_minor_version_run(self):
        # It trains nothing, so there is no launch to look for.
        code, _, err = self.run_small("--scenario", os.path.join(BROKEN, "grown.so"), "--sink", JSON, watch=False)
        self.assertEqual((code, self.errors(err)), (0, []), err)
        self.assertEqual((self.json("metrics.json")["scenario"], self.json("metrics.json")["steps"]), ("grown", 10))

    def test_a_scenario_from_elsewhere_trains(self):
        source = os.path.join(CONF, "..", "tests", "fixtures", "host_stall.c")
        with open(source, encoding="utf-8") as file:
            self.assertLess(len(file.readlines()), 60)
        include = os.path.join(CONF, "..", "core", "include")
        subprocess.run(["cc", "-shared", "-fPIC", f"-I{include}", source, "-o", self.path("mine.so")], check=True)
        code, _, err = self.run_small("--scenario", "./mine.so", "-o", "scenario.stall_ms=0", "--sink", JSON)
        self.assertEqual(code, 0, err)
        metrics = self.json("metrics.json")
        self.assertEqual((metrics["scenario"], metrics["coverage"], len(metrics["losses"])), ("host_stall", 1.0, 10))

    def test_init_fails(self):
        result = self.run_small("--scenario", FAULT_SCENARIO, "-o", "scenario.fail_init=true", "--sink", JSON)
        self.assert_fails(result, 5, "scenario fault: init: asked to fail")

    def test_step_fails_and_earlier_windows_are_on_disk(self):
        log = self.path("sink.log")
        result = self.run_small("--scenario", FAULT_SCENARIO, "-o", "scenario.fail_step=7", "-o",
                                f"scenario.witness={self.path('torn')}", "-o", "schedule.wait=1", "-o",
                                "schedule.warmup=0", "-o", "schedule.active=2", "-o", "schedule.repeat=5", "--sink",
                                JSON, "--sink", "chrome_trace", "--sink", f"{FAULT_SINK}:log={log}", "--trace_dir",
                                "traces")
        self.assert_fails(result, 5, "scenario fault: step 7: asked to fail here")
        self.assertTrue(os.path.exists(self.path("torn")), "teardown did not run")
        traces = sorted(glob.glob(self.path("traces/*.pt.trace.json")))
        self.assertEqual([self.json(path)["pdhost"].get("partial", 0) for path in traces], [0, 0, 1])
        self.assertEqual(self.json("metrics.json")["outcome"], "failed")
        with open(log, encoding="utf-8") as file:
            self.assertEqual(file.read(), "steps 7 traces 3 summary yes outcome 2\n")

    def test_a_fault_that_stays_ends_the_window_in_order(self):
        """A device that makes no more events in the third step of a window that is timed by events."""
        result = self.run_pdhost("--device", os.path.join(FIXTURES, "device", "faulted.so"), "--scenario", "control",
                                 "--batch_size", "4", "--image_size", "16", "-o", "run.sync_timing=false", "-o",
                                 "run.warmup_steps=0", "-o", "schedule.wait=0", "-o", "schedule.warmup=0", "--sink", JSON)
        self.assert_fails(result, 5, "device: null: no event can be made any more")
        metrics = self.json("metrics.json")
        self.assertEqual((metrics["outcome"], metrics["steps"]), ("failed", 2))

    def test_scenario_may_stop_the_run(self):
        code, _, err = self.run_small("--scenario", FAULT_SCENARIO, "-o", "scenario.stop_step=5", "--sink", JSON)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(self.json("metrics.json")["losses"]), 5)

    def test_scenario_may_stop_the_run_before_its_first_scheduled_step(self):
        for more in ((), ("-o", "truth.interleave=2", "--warmup_steps", "0")):
            with self.subTest(more=more):
                code, _, err = self.run_small("--scenario", FAULT_SCENARIO, "-o", "scenario.stop_warmup=0", *more, "--sink",
                                              JSON, "--sink", "chrome_trace", "--trace_dir", "traces")
                self.assertEqual((code, self.errors(err), self.warnings(err)), (0, [], []), err)
                metrics = self.json("metrics.json")
                self.assertEqual((metrics["outcome"], metrics["losses"], metrics["windows"]), ("complete", [], []))
                self.assertEqual(os.listdir(self.path("traces")), [])

    def test_data_that_ends_in_the_warm_up_ends_the_warm_up_alone(self):
        code, _, err = self.run_small("--scenario", "control", "--warmup_steps", "50", "-o", "data.dataset_size=40",
                                      "--sink", JSON)
        self.assertEqual((code, self.warnings(err)), (0, []), err)
        self.assertEqual(len(self.json("metrics.json")["losses"]), 10)

    def test_data_that_ends_early_is_said(self):
        windows = ("-o", "schedule.wait=1", "-o", "schedule.warmup=0", "-o", "schedule.active=2", "-o", "schedule.repeat=3")
        # The data ends inside the second window; at its first step, which is no window; before any window.
        for batches, steps in ((5, [2, 1]), (4, [2]), (1, [])):
            with self.subTest(batches=batches):
                log = self.path(f"sink{batches}.log")
                code, _, err = self.run_small("--scenario", "control", "-o", f"data.dataset_size={4 * batches}", *windows,
                                              "--sink", JSON, "--sink", f"{FAULT_SINK}:log={log}")
                self.assertEqual((code, self.errors(err)), (0, []), err)
                warned = self.warnings(err)
                self.assertEqual(len(warned), 1, err)
                self.assertIn(f"after {batches} of 9 planned steps: set [data] dataset_size = 36 (now {4 * batches})",
                              warned[0])
                metrics = self.json("metrics.json")
                self.assertEqual(len(metrics["losses"]), batches)
                self.assertEqual([len(window["steps"]) for window in metrics["windows"]], steps)
                with open(log, encoding="utf-8") as file:
                    self.assertIn(f"steps {batches} traces {len(steps)} summary yes outcome 0", file.read())
        for more in (("data.dataset_size=36",), ("data.dataset_size=8", "run.epochs=0"), ("data.dataset_size=8", "run.epochs=5")):
            keys = [part for key in more for part in ("-o", key)]
            code, _, err = self.run_small("--scenario", "control", *keys, *windows, "--sink", JSON)
            self.assertEqual((code, self.warnings(err)), (0, []), err)
            self.assertEqual(len(self.json("metrics.json")["losses"]), 9)

    def test_epochs_follow_each_other(self):
        plan = ("--scenario", "control", "-o", "data.resident=none", "-o", "data.dataset_size=12", "-o", "schedule.wait=0",
                "-o", "schedule.warmup=0", "-o", "schedule.active=9", "--sink", JSON)
        code, _, err = self.run_small(*plan, "-o", "run.epochs=2")
        self.assertEqual(code, 0, err)
        (warned,) = self.warnings(err)
        self.assertIn("after 6 of 9 planned steps: set [data] dataset_size = 20 (now 12) or more, let more epochs follow with "
                      "[run] epochs", warned)
        # Workers that wait for the next epoch; none; a copy of the next batch ahead; no end of the plan but the epochs'.
        losses = []
        for more in (("data.num_workers=2", "data.persistent_workers=true"), ("data.num_workers=0",),
                     ("data.num_workers=2", "data.pin_memory=true", "data.prefetch_to_device=true"), ("schedule.active=all",)):
            keys = [part for key in more for part in ("-o", key)]
            code, _, err = self.run_small(*plan, "-o", "run.epochs=3", *keys)
            self.assertEqual((code, self.warnings(err)), (0, []), err)
            losses.append(self.json("metrics.json")["losses"])
            self.assertEqual((len(losses[-1]), losses[-1]), (9, losses[0]), more)
        self.assertEqual(len(set(losses[0])), 9, "each epoch has samples of its own")

    def test_records_of_an_unknown_stream_and_sizes_beyond_all_bounds(self):
        code, _, err = self.run_small("--scenario", FAULT_SCENARIO, "-o", "scenario.odd_records=true", "-o", "profile.profile_memory=true", "--sink", "csv:dir=csv",
                                      "--sink", "chrome_trace", "--sink", "table:views=all", "--sink", "tensorboard", "--sink",
                                      "window", "--sink", JSON, "--trace_dir", "traces", watch=False)
        self.assertEqual((code, self.errors(err)), (0, []), err)
        window = self.json("metrics.json")["windows"][0]
        steps = len(window["steps"])
        self.assertEqual(window["lost"]["IMPLAUSIBLE"], 3 * steps)
        with open(self.path("csv/events/kernels.csv"), encoding="utf-8") as file:
            odd = [row for row in csv.DictReader(file) if row["name"] == "odd_work"]
        self.assertEqual([row["stream"] for row in odd], 2 * steps * [""])
        with open(self.path("csv/events/streams.csv"), encoding="utf-8") as file:
            self.assertIn("unknown stream", file.read())
        with open(glob.glob(self.path("traces/*.pt.trace.json"))[0], encoding="utf-8") as file:
            tracks = {event["tid"] for event in json.load(file)["traceEvents"] if event.get("name") == "odd_work"
                      and event.get("cat") == "kernel"}
        self.assertTrue(tracks and all(track % 1000000 == 999998 for track in tracks), tracks)

    def test_a_disk_that_has_no_room_for_the_capture(self):
        """It ends there; the sinks have every window all the same, through memory."""
        limit = 8 << 20
        code, _, err = self.run_small("--scenario", "control", "-o", "schedule.active=40", "-o", "schedule.repeat=40", "-o",
                                      "run.epochs=0", "-o", "profile.record_shapes=true", "-o", "profile.max_memory=8MiB",
                                      "--sink", JSON, "--trace_dir", "traces", "-q", watch=False,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual((code, self.errors(err)), (0, []), err)
        self.assertRegex(err, r"unfinished\.pdcap: cannot be written: File too large; it ends here, the run goes on")
        self.assertNotIn("cannot be read", err)
        metrics = self.json("metrics.json")
        self.assertEqual((metrics["outcome"], metrics["steps"]), ("complete", 40 * 42))
        self.assertEqual([len(window["steps"]) for window in metrics["windows"]], 40 * [40])
        self.assertEqual(glob.glob(self.path("traces/*.pdcap")), [])

    def test_memory_that_is_not_there_is_told_with_its_bytes_and_its_key(self):
        result = self.run_small("--scenario", "vec_dot", "-o", "scenario.batch=100000000", "-o", "scenario.dim=100000000",
                                watch=False)
        self.assert_fails(result, 5, "scenario vec_dot: init: no memory for 40000000000000000 bytes of vectors: lower "
                          "scenario.batch or scenario.dim")

    def test_a_recorder_that_gets_no_memory_tells_its_bytes_and_its_key(self):
        if SANITIZER:
            self.skip("a sanitizer maps more than any limit")
        few = {"watch": False, "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))}
        run = ("--scenario", "control", "--profile_steps", "1", "--sink", JSON, "-o")
        self.assert_fails(self.run_small(*run, "profile.max_memory=4GiB", **few), 1,
                          "recorder: no memory for 4294967296 bytes of records: lower [profile] max_memory")
        code, _, err = self.run_small(*run, "profile.max_memory=64MiB", **few)
        self.assertEqual((code, self.errors(err)), (0, []), err)

    def test_no_cuda_device(self):
        result = self.run_pdhost("--scenario", "control", "--device", "cuda", "--sink", JSON,
                                 env={"CUDA_VISIBLE_DEVICES": ""})
        self.assert_fails(result, 6, "--device cpu")

    def test_a_device_whose_driver_is_missing(self):
        driverless = os.path.join(FIXTURES, "device", "driverless.so")
        self.assert_fails(self.run_pdhost("--scenario", "control", "--device", driverless, "--sink", JSON), 6,
                          "device driverless: no driver (libnull.so.1 could not be used)")
        cuda = os.path.join(os.path.dirname(PDHOST), "..", "lib", "pdhost", "device", "cuda.so")
        if os.path.exists(cuda):
            result = self.run_pdhost("--scenario", "control", "--device", cuda, "--sink", JSON, env={"CUDA_VISIBLE_DEVICES": ""})
            self.assert_fails(result, 6, "run on the CPU with --device cpu")

    def test_a_device_that_cannot_be_had_is_told_with_its_line(self):
        name = self.path("my.ini")
        with open(name, "w", encoding="utf-8") as file:
            file.write(f"[run]\nscenario = control\ndevice = {os.path.join(FIXTURES, 'device', 'driverless.so')}\n")
        self.assert_fails(self.run_pdhost("-c", name), 6, ": device driverless: no driver")
        with open(name, "w", encoding="utf-8") as file:
            file.write("[run]\nscenario = control\n\ndevice = auto\n")
        os.mkdir(self.path("device"))
        for device in ("cuda", "cpu"):
            with open(self.path(f"device/{device}.so"), "w", encoding="utf-8") as file:
                file.write("not a shared object\n")
        for more in ((), ("-o", "device.threads=1")):
            with self.subTest(more=more):
                result = self.run_pdhost("-c", name, "--plugin-path", ".", *more)
                self.assertEqual(result[0], 4, result[2])
                self.assertRegex(self.errors(result[2])[0], f"^pdhost: error: {re.escape(name)}:4(:10)?: ./device/")

    def test_auto_says_that_it_took_the_cpu(self):
        code, _, err = self.run_small("--scenario", "control", "--device", "auto", "--sink", JSON,
                                      env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count("; using the CPU device\n"), 1, err)
        self.assertTrue(self.json("metrics.json")["device"])


if __name__ == "__main__":
    unittest.main()

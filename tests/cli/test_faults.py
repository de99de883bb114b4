"""Faults of a whole run: one clear line, the stated exit code, and no output lost."""
import csv
import glob
import json
import os
import re
import resource
import signal
import subprocess
import time
import unittest

from pdhost_run import CONF, FIXTURES, PDHOST, SANITIZER, SMALL, Case, worker_of

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

    def test_each_run_has_a_folder_and_latest_leads_to_the_newest(self):
        arguments = (*SMALL, "--scenario", "control", "-o", "schedule.active=1", "--sink", "json", "--sink", "csv", "--sink",
                     "window", "--sink", "chrome_trace")
        kept = {}
        for runs in (1, 2, 3):
            code, _, err = self.run_pdhost(*arguments, watch=False)
            self.assertEqual(code, 0, err)
            folders = sorted(name for name in os.listdir(self.path("results/control")) if name != "latest")
            self.assertEqual(len(folders), runs)
            self.assertRegex(folders[-1], r"^\d{8}T\d{6}\.\d{3}-\d+$")
            self.assertEqual(os.readlink(self.path("results/control/latest")), folders[-1])
            for folder, files in kept.items():
                self.assertEqual(self.contents(f"results/control/{folder}"), files)
            kept[folders[-1]] = self.contents(f"results/control/{folders[-1]}")
            for name in ("metrics_control.json", "csv/steps.csv", "window0.pdw"):
                self.assertIn(name, kept[folders[-1]])
        self.assertEqual(os.listdir(self.path("results")), ["control"])

    def test_a_folder_that_the_user_names_is_used_as_it_is(self):
        os.makedirs(self.path("mine/latest"))
        code, _, err = self.run_pdhost(*SMALL, "--scenario", "control", "-o", "schedule.active=1", "--sink", "json",
                                       "--trace_dir", "mine", watch=False)
        self.assertEqual(code, 0, err)
        self.assertEqual(sorted(os.listdir(self.path("mine"))), ["latest", "manifest", "metrics_control.json", "truth"])
        code, _, err = self.run_pdhost(*SMALL, "--scenario", "control", "-o", "schedule.active=1", "--sink", "json",
                                       "--trace_dir", "mine/<time>-<pid>", watch=False)
        self.assertEqual(code, 0, err)
        self.assertTrue(os.path.isdir(self.path("mine/latest")), "a folder of that name is the user's")
        self.assertFalse(os.path.islink(self.path("mine/latest")))

    def contents(self, folder):
        found = {}
        for root, _, names in os.walk(self.path(folder)):
            for name in names:
                path = os.path.join(root, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.path(folder))] = file.read()
        return found

    def test_two_runs_at_once_that_write_one_file_leave_it_whole(self):
        lasting = self.start(*SMALL, "--scenario", "control", *ENDLESS, "--seed", "1", "--sink", JSON, watch=False)
        until = time.monotonic() + 60
        while not glob.glob(self.path("metrics.json.*partial")):
            self.assertIsNone(lasting.poll(), "the first run ended by itself")
            self.assertLess(time.monotonic(), until, "the first run has begun no file")
            time.sleep(0.01)
        code, _, err = self.run_small("--scenario", "control", "--seed", "2", "--sink", JSON, watch=False)
        self.assertEqual((code, self.json("metrics.json")["seed"]), (0, 2), err)
        lasting.send_signal(signal.SIGINT)
        code, _, err = self.ended(lasting)
        self.assertEqual((code, self.errors(err)), (130, []), err)
        self.assertEqual(self.json("metrics.json")["seed"], 1)
        self.assertEqual(glob.glob(self.path("*.partial")), [])

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

    def test_a_failing_sink_is_dropped_and_the_others_finish(self):
        for place, steps in (("open", None), ("step", 1), ("trace", 0), ("close", 10)):
            with self.subTest(place=place):
                log = self.path(f"{place}.log")
                code, _, err = self.run_small("--scenario", "control", "--sink",
                                              f"{FAULT_SINK}:fail_at={place},log={log}", "--sink", JSON)
                self.assertEqual(code, 8, err)
                self.assertEqual(len(self.errors(err)), 1, err)
                self.assertIn("sink fault:", self.errors(err)[0])
                self.assertIn("asked to fail", self.errors(err)[0])
                self.assertEqual(self.json("metrics.json")["outcome"], "complete")
                if steps is None:
                    self.assertFalse(os.path.exists(log), "close was called after an open that failed")
                else:
                    with open(log, encoding="utf-8") as file:
                        self.assertIn("summary yes" if place == "close" else "summary no", file.read())

    def test_output_folder_that_cannot_be_made(self):
        with open(self.path("in_the_way"), "w", encoding="utf-8"):
            pass
        fault = ("command line: [run] trace_dir = in_the_way/traces: in_the_way: folder cannot be made: a file of that name is "
                 "in the way")
        bad = ("--scenario", "control", "--trace_dir", "in_the_way/traces", "--sink", JSON)
        code, out, err = self.run_small(*bad, "--sink", "chrome_trace", "--sink", "csv", "--sink", "table", watch=False)
        self.assertEqual((code, self.errors(err)),
                         (8, [f"pdhost: error: {fault}; the run goes on without sink chrome_trace"]), err)
        self.assertIn("without sink csv, too", err)
        self.assertIn("truth.json: " + fault, err)
        self.assertIn("Where the step goes", out)
        self.assertEqual((self.json("metrics.json")["outcome"], len(self.json("metrics.json")["losses"])), ("complete", 10))
        # No sink wants the folder: only what is written beside them is said to be missing.
        code, _, err = self.run_small(*bad, watch=False)
        self.assertEqual((code, self.errors(err)), (0, []), err)
        self.assertEqual(len(self.warnings(err)), 1, err)
        self.assertIn(f"truth.json: {fault}; it is left out", self.warnings(err)[0])
        code, _, err = self.run_small(*bad, "-o", "truth.interleave=1", "-o", "truth.block=1", watch=False)
        self.assertEqual((code, len(self.errors(err))), (8, 1), err)

    def test_standard_output_twice(self):
        for sinks, said in ((("--sink", "table", "--sink", "json:output_json=-"),
                             "[sink.json] output_json = -: standard output goes to [sink.table] path already (default)"),
                            (("--sink", "json:output_json=-", "--sink", "table"), "command line: [sink.json] output_json")):
            with self.subTest(sinks=sinks):
                self.assert_fails(self.run_small("--scenario", "control", *sinks, "--sink", "csv:dir=csv"), 3, said)
                self.assertFalse(os.path.exists(self.path("csv")), "a run began")
        with open(self.path("my.ini"), "w", encoding="utf-8") as file:
            file.write("[run]\nscenario = control\nsinks = json, table\n[sink.json]\noutput_json = -\n")
        self.assert_fails(self.run_small("-c", "my.ini"), 3, "my.ini:5:15: [sink.json] output_json = -")

    def test_one_file_for_two_sinks(self):
        self.assert_fails(self.run_small("--scenario", "control", "--sink", "json:output_json=same.json", "--sink",
                                         "chrome_trace:path=same.json", "--sink", "csv:dir=csv"), 3,
                          "command line: [sink.chrome_trace] path = same.json: that file is of [sink.json] output_json "
                          "already (command line); give one of the two another")
        self.assertFalse(os.path.exists(self.path("csv")), "a run began")
        code, _, err = self.run_small("--scenario", "control", "--sink", "csv:dir=out", "--sink", "tensorboard:logdir=out",
                                      "--sink", "chrome_trace:path=out")
        self.assertEqual((code, self.errors(err)), (0, []), err)
        # A file of several windows has its name only when the run makes it.
        code, out, err = self.run_small("--scenario", "control", "-o", "schedule.repeat=2", "--sink",
                                        "table:path=two.1.json", "--sink", "chrome_trace:path=two.json")
        self.assertEqual((code, len(self.errors(err))), (8, 1), err)
        self.assertIn("two.1.json: this run writes that file already: give this sink another path", err)
        self.assertEqual(self.json("two.0.json")["pdhost"]["window"], 0)

    def test_csv_files_that_are_removed_while_the_run_lasts(self):
        process = self.start(*SMALL, "--scenario", "control", "-o", "schedule.repeat=2", "-o", "schedule.wait=40", "-o",
                             "data.resident=none", "-o", "data.io_sleep_ms=50", "--num_workers", "0", "--sink", "csv:dir=csv",
                             watch=False)
        pattern, until = self.path(f"csv/events/kernels.0.csv.{worker_of(process.pid)}-*[0-9].partial"), time.monotonic() + 60
        while not (staged := [path for path in glob.glob(pattern) if path.count(".partial") == 1]) and time.monotonic() < until and process.poll() is None:
            time.sleep(0.01)
        self.assertEqual(len(staged), 1, "no window was written under the process and a number")
        os.unlink(staged[0])
        result = self.ended(process)
        self.assert_fails(result, 8, f"{os.path.relpath(staged[0], self.folder)}: was removed since it was written; none of "
                          "this run's files gets its name")
        self.assertEqual([name for name in glob.glob(self.path("csv/**"), recursive=True) if os.path.isfile(name)], [])

    def test_output_folder_that_cannot_be_written(self):
        bound = () # root may write anywhere, unless it gives that up
        if os.geteuid() == 0:
            bound = ("setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override")
            if subprocess.run([*bound, "true"], check=False, capture_output=True).returncode != 0:
                self.skip("root may write anywhere, and setpriv cannot take that away here")
        os.mkdir(self.path("closed"), 0o555)
        for folder, why in (("closed/traces", "made"), ("closed", "written")):
            result = self.run_small("--scenario", "control", "--sink", JSON, "--sink", "chrome_trace", "--trace_dir", folder,
                                    watch=False, under=bound)
            self.assert_fails(result, 8, f"[run] trace_dir = {folder}: {folder}: folder cannot be {why}: Permission denied; "
                                         "the run goes on without sink chrome_trace")
            self.assertEqual(self.json("metrics.json")["outcome"], "complete")
        code, _, err = self.run_small("--scenario", "control", "--sink", "json:output_json=closed/metrics.json", "--sink",
                                      "chrome_trace", "--trace_dir", "traces", under=bound)
        self.assertEqual(code, 8, err)
        self.assertEqual(len(self.errors(err)), 1, err)
        self.assertIn("closed/metrics.json", self.errors(err)[0])
        self.assertIn("Permission denied", self.errors(err)[0])
        self.assertEqual(len(glob.glob(self.path("traces/*.pt.trace.json"))), 1)

    def test_reader_of_standard_output_goes_away(self):
        process = self.start("--device", "cpu", "--batch_size", "4", "--image_size", "16", "--scenario", "control",
                             "-o", "device.threads=1", "--sink", "table", "--sink", JSON)
        process.stdout.close()
        with process.stderr:
            err = process.stderr.read()
        self.assertEqual(process.wait(timeout=60), 0, err)
        self.assertEqual(self.errors(err), [], err)
        self.assertEqual(self.json("metrics.json")["outcome"], "complete")

    def test_a_file_that_can_grow_no_further(self):
        code, _, err = self.run_small("--scenario", "control", "--sink", "chrome_trace", "--sink",
                                      "table:path=table.txt,views=operators", "--trace_dir", "traces", watch=False,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (32768, 32768)))
        self.assertEqual(code, 8, err)
        self.assertEqual(len(self.errors(err)), 1, err)
        self.assertIn("sink chrome_trace: ", self.errors(err)[0])
        self.assertIn("File too large", self.errors(err)[0])
        with open(self.path("table.txt"), encoding="utf-8") as file:
            self.assertIn("Self CPU time total", file.read())
        self.assertEqual(glob.glob(self.path("traces/*.trace.json*")), [])

    def test_the_files_of_the_csv_sink_are_of_one_run(self):
        def files():
            found = {}
            for path in glob.glob(self.path("csv/**/*.*"), recursive=True):
                with open(path, encoding="utf-8") as file:
                    found[os.path.relpath(path, self.folder)] = file.read()
            return found

        def run(limit=resource.RLIM_INFINITY, *arguments):
            return self.run_small("--scenario", "control", "--sink", "csv:dir=csv", "--trace_dir", "traces", *arguments,
                                  watch=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))

        first = run()
        self.assertEqual(first[0], 0, first[2])
        before = files()
        self.assertIn("csv/events/kernels.csv", before)
        for more in ((), ("-o", "schedule.repeat=2")):
            code, _, err = run(6000, "--batch_size", "2", *more) # the small tables are written, the events are not
            self.assertEqual((code, len(self.errors(err))), (8, 1), err)
            self.assertRegex(self.errors(err)[0], r"sink csv: writing a window: csv/events/\w+\.(0\.)?csv\S*: cannot be written: File too large")
            self.assertEqual(files(), before)
        # A run that comes to its end leaves the files of others, and says so; its list names its own, with their sizes.
        code, _, err = run(resource.RLIM_INFINITY, "-o", "schedule.repeat=2")
        self.assertEqual(code, 0, err)
        after = files()
        listed = dict(line.split(",") for line in after["csv/files.csv"].splitlines()[1:])
        self.assertEqual({name: int(size) for name, size in listed.items()},
                         {name: os.path.getsize(self.path("csv/" + name)) for name in listed})
        self.assertNotIn("events/kernels.csv", listed)
        self.assertIn("events/kernels.1.csv", listed)
        others = [name for name in before if name[4:] not in (*listed, "files.csv")]
        self.assertIn("csv/events/kernels.csv", others)
        self.assertEqual({name: after[name] for name in others}, {name: before[name] for name in others})
        self.assertIn(f"csv holds {len(others)} csv files that this run did not write; files.csv lists those of this run", err)

    def test_no_sink_removes_or_changes_a_file_of_others(self):
        names = ("partial.csv", "mine.csv", "operators.3.csv", "events/kernels.7.csv", "window7.pdw", "window0.pdw.partial",
                 "events.out.tfevents.0000000001.host.1.0", "host_1.0.1.pt.trace.json", "host_1.0.1.pt.trace.json.gz",
                 "metrics.json.1-0.partial", "self_cpu_time_total.7.stacks", "table.7.txt", "truth.json.1-0.partial")
        os.makedirs(self.path("out/events"))
        for name in names:
            with open(self.path("out/" + name), "w", encoding="utf-8") as file:
                file.write("name,level,row_kind\r\n")
        sinks = ("--sink", "csv:dir=out", "--sink", "tensorboard:logdir=out", "--sink", "chrome_trace:path=out", "--sink",
                 "window", "--sink", "json:output_json=out/metrics.json", "--sink", "table:path=out/table.txt")
        for more in ((), ("-o", "schedule.repeat=2"), ("-o", "profile.with_stack=true")):
            code, _, err = self.run_small("--scenario", "control", *sinks, "--trace_dir", "out", *more)
            self.assertEqual((code, self.errors(err)), (0, []), err)
            for name in names:
                with open(self.path("out/" + name), newline="", encoding="utf-8") as file:
                    self.assertEqual(file.read(), "name,level,row_kind\r\n", name)

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

    def test_full_disk(self):
        code, _, err = self.run_small("--scenario", "control", "--sink", "json:output_json=/dev/full", "--sink",
                                      "chrome_trace", "--trace_dir", "traces")
        self.assertEqual(code, 8, err)
        self.assertEqual(self.errors(err), ["pdhost: error: sink json: closing: /dev/full: cannot be written: No space "
                                            "left on device; the run goes on without it"])
        self.assertEqual(len(glob.glob(self.path("traces/*.pt.trace.json"))), 1)

    def closed(self, which, *arguments):
        """Runs with that one of the standard streams closed."""
        return self.run_pdhost(*arguments, under=("sh", "-c", f'exec "$@" {which}', "sh"), watch=False)

    def test_closed_standard_streams_are_no_file_of_a_run(self):
        run = (*SMALL, "--scenario", "control", "--sink", "table", "--sink", JSON)
        for which, expected in (("<&-", 0), ("2>&-", 0), (">&-", 8)):
            with self.subTest(closed=which):
                code, out, err = self.closed(which, *run)
                self.assertEqual(code, expected, err)
                self.assertEqual(self.json("metrics.json")["scenario"], "control")
                self.assertEqual("Where the step goes" in out, expected == 0)
        self.assertEqual(self.errors(err), ["pdhost: error: sink table: closing: standard output: cannot be written: Bad "
                                            "file descriptor; the run goes on without it"])

    def test_what_has_to_be_printed_is_missed_where_standard_output_is_closed(self):
        commands = [("--help",), ("--version",), ("--list",), ("ab", "--help"), ("compare", "--help"), ("sweep", "--help"),
                    ("score", "--help")]
        for command in commands:
            with self.subTest(command=command):
                code, _, err = self.closed(">&-", *command)
                self.assertEqual((code, err), (8, "pdhost: error: standard output: Bad file descriptor [PDH-0800]\n"))

    def test_standard_output_is_called_by_its_name(self):
        run = (*SMALL, "--scenario", "control", "--sink")
        code, _, err = self.closed(">/dev/full", *run, "table")
        self.assertEqual((code, self.errors(err)),
                         (8, ["pdhost: error: sink table: closing: standard output: cannot be written: No space left on "
                              "device; the run goes on without it"]))
        code, _, err = self.run_pdhost(*run, "chrome_trace:path=-", watch=False)
        self.assertEqual(code, 0, err)
        self.assertIn("pdhost: wrote standard output\n", err)

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

    def test_a_sink_without_a_path(self):
        code, _, err = self.run_small("--scenario", "control", "--sink", "table:path=", "--sink", JSON)
        self.assertEqual((code, self.errors(err)),
                         (8, ["pdhost: error: sink table: cannot be opened: the path is empty: name a file, or - for "
                              "standard output; the run goes on without it"]), err)
        self.assertEqual(self.json("metrics.json")["outcome"], "complete")
        code, _, err = self.run_small("--scenario", "control", "--output_json", "", "--sink", "json", "--profile_steps", "1")
        self.assertEqual(code, 0, err) # as --help-plugin json.output_json says
        self.assertEqual(self.json("results/control/latest/metrics_control.json")["outcome"], "complete")

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

"""Faults of what a run writes: folders, files and standard output. One clear line each, and no other output lost."""
import glob
import os
import resource
import signal
import subprocess
import time
import unittest

from pdhost_run import FIXTURES, SMALL, Case, writer_of

FAULT_SINK = os.path.join(FIXTURES, "sink", "fault.so")
JSON = "json:output_json=metrics.json"
ENDLESS = ["-o", "schedule.repeat=0", "-o", "schedule.wait=0", "-o", "schedule.warmup=1", "-o", "schedule.active=2"]


class OutputFaults(Case):
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
        pattern, until = self.path(f"csv/events/kernels.0.csv.{writer_of(process.pid)}-*[0-9].partial"), time.monotonic() + 60
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

    def test_full_disk(self):
        code, _, err = self.run_small("--scenario", "control", "--sink", "json:output_json=/dev/full", "--sink",
                                      "chrome_trace", "--trace_dir", "traces")
        self.assertEqual(code, 8, err)
        self.assertEqual(self.errors(err), ["pdhost: error: sink json: closing: /dev/full: cannot be written: No space "
                                            "left on device; the other outputs are written"])
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
                                            "file descriptor; the other outputs are written"])

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
                              "device; the other outputs are written"]))
        code, _, err = self.run_pdhost(*run, "chrome_trace:path=-", watch=False)
        self.assertEqual(code, 0, err)
        self.assertIn("pdhost: wrote standard output\n", err)

    def test_a_sink_without_a_path(self):
        code, _, err = self.run_small("--scenario", "control", "--sink", "table:path=", "--sink", JSON)
        self.assertEqual((code, self.errors(err)),
                         (8, ["pdhost: error: sink table: cannot be opened: the path is empty: name a file, or - for "
                              "standard output; the other outputs are written"]), err)
        self.assertEqual(self.json("metrics.json")["outcome"], "complete")
        code, _, err = self.run_small("--scenario", "control", "--output_json", "", "--sink", "json", "--profile_steps", "1")
        self.assertEqual(code, 0, err) # as --help-plugin json.output_json says
        self.assertEqual(self.json("results/control/latest/metrics_control.json")["outcome"], "complete")


if __name__ == "__main__":
    unittest.main()

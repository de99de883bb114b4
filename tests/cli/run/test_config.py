"""Configuration and help at the command line: messages, exit codes, what goes to which stream."""
import glob
import os
import re
import subprocess
import unittest

from pdhost_run import CONF, FIXTURES, PDHOST, SANITIZER, SMALL, Case

SCENARIO = os.path.join(FIXTURES, "scenario", "host_stall.so")


class Config(Case):
    def write(self, text):
        with open(self.path("my.ini"), "w", encoding="utf-8") as file:
            file.write(text)
        return "my.ini"

    def test_mistakes_are_shown_together_once_and_nothing_runs(self):
        name = self.write("[run]\nscenario = dataloader\ndevice = cpu\n[data]\nbatch_size = 64k\nnum_worker = 2\n")
        code, out, err = self.run_pdhost("-c", name, "-o", "train.lr=x")
        self.assertEqual(code, 3)
        self.assertEqual(out, "")
        self.assertEqual(err.splitlines(), [
            'pdhost: error: my.ini:5:14: [data] batch_size = 64k: "k" is not a unit of a count; write 64 or 64000 [PDH-0303]',
            "  5 | batch_size = 64k", "    |              ^~~",
            "pdhost: error: my.ini:6:1: [data] num_worker: no such key; did you mean num_workers? [PDH-0301]",
            "  6 | num_worker = 2", "    | ^~~~~~~~~~",
            "pdhost: error: command line: [train] lr = x: not a number; allowed: 0 .. 1000 [PDH-0303]"])
        self.assertEqual(os.listdir(self.folder), ["my.ini"])

    def test_twenty_mistakes_and_a_count(self):
        name = self.write("[run]\nscenario = dataloader\ndevice = cpu\n[data]\n" +
                          "".join(f"bogus_{i} = 1\n" for i in range(23)))
        code, _, err = self.run_pdhost("-c", name, "--check")
        self.assertEqual(code, 3)
        self.assertEqual(len(self.errors(err)), 21)
        self.assertEqual(err.splitlines()[-1], "pdhost: error: and 3 more")

    def test_usage(self):
        self.assert_fails(self.run_pdhost("--num_worker", "3"), 2, "--num_worker: no such option; did you mean --num_workers?")
        self.assert_fails(self.run_pdhost(), 2, "nothing to run")

    def test_all_faults_of_a_file_are_reported_in_its_order(self):
        name = self.write("[run]\nscenario = dataloder\nsinks = tabel,jsn\n[data\nbatch_size = x\nseed = 1\n"
                          "[train]\nlr = x\n[dta]\n[data]\nbatch = 1\n")
        code, _, err = self.run_pdhost("-c", name, "--device", "cpu", "-o", "data.seed=1")
        self.assertEqual(code, 4, err)
        self.assertEqual(re.findall(r"(?m)^pdhost: error: (my.ini:\d+:\d+|command line): .*?\[(PDH-\d{4})\]$", err),
                         [("my.ini:2:12", "PDH-0401"), ("my.ini:3:9", "PDH-0401"), ("my.ini:3:9", "PDH-0401"),
                          ("my.ini:4:1", "PDH-0306"), ("my.ini:8:6", "PDH-0303"), ("my.ini:9:1", "PDH-0302"),
                          ("my.ini:11:1", "PDH-0301"), ("command line", "PDH-0301")], err)
        self.assertIn("my.ini:4:1: [data: missing ']' [PDH-0306]\n  4 | [data\n    | ^~~~~\n", err)

    def test_a_pipe_without_another_end_does_not_hang(self):
        os.mkfifo(self.path("pipe"))
        self.assert_fails(self.run_pdhost("-c", "pipe"), 3, "pipe: is a pipe that no program writes to")
        self.assert_fails(self.run_pdhost("compare", "pipe", "pipe"), 3, "pipe")
        code, _, err = self.run_small("--scenario", "control", "--sink", "json:output_json=pipe")
        self.assertEqual(code, 8, err)
        self.assertIn("pipe: cannot be opened for writing: No such device or address", self.errors(err)[0])

    def test_a_file_without_a_scenario_is_named(self):
        name = self.write("[data]\nbatch_size = 4\n")
        self.assert_fails(self.run_pdhost("-c", name, "--device", "cpu"), 3,
                          "[run] scenario: must be given, and my.ini does not set it; add --scenario NAME")

    def test_a_scenario_that_a_later_file_replaces_is_told(self):
        files = [arguments for name in ("dataloader", "sync") for arguments in ("-c", os.path.join(CONF, name + ".ini"))]
        code, _, err = self.run_pdhost(*files, "--device", "cpu", "--check")
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"warn: .*sync.ini:\d+: \[run\] scenario = sync replaces dataloader of .*dataloader.ini:\d+\n$")

    def test_plugin_of_a_misspelt_name(self):
        self.assert_fails(self.run_pdhost("--scenario", "dataloder", "--device", "cpu"), 4,
                          'error: command line: scenario "dataloder": not found; did you mean dataloader? looked in: ')
        self.assertEqual(len(self.errors(self.run_pdhost("--scenario", "dataloder", "--batch_size", "x")[2])), 2)
        name = self.write("[run]\nscenario = contrl\ndevice = cpu\n")
        self.assert_fails(self.run_pdhost("-c", name), 4,
                          'error: my.ini:2:12: scenario "contrl": not found; did you mean control? looked in: ')

    def test_a_plugin_that_crashes_when_it_is_loaded_is_named(self):
        path = os.path.join(FIXTURES, "scenario", "bad_loads.so")
        for arguments in (("--help-scenario", path), ("help", "plugin", path), ("--scenario", path, "--check"),
                          ("--scenario", path),
                          ("--scenario", path, "--show-config"), ("--scenario", path, "--dry-run")):
            with self.subTest(arguments=arguments):
                self.assert_fails(self.run_pdhost(*arguments, "--device", "cpu") if "--scenario" in arguments
                                  else self.run_pdhost(*arguments), 4, f"{path}: crashes when it is loaded (signal 6)")

    def test_plugins_are_found_without_proc(self):
        if SANITIZER:
            self.skip(f"the {SANITIZER} sanitizer itself needs /proc")
        under = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*under, "true"], capture_output=True, check=False).returncode != 0:
            self.skip("this machine lets nobody mount in a namespace of their own")
        arguments = ("--device", "cpu", "--check")
        code, out, err = self.run_pdhost("--scenario", "control", *arguments, under=under)
        self.assertEqual((code, out), (0, "configuration OK\n"), err)
        folder = os.path.realpath(os.path.join(os.path.dirname(PDHOST), "..", "lib", "pdhost", "scenario"))
        self.assert_fails(self.run_pdhost("--scenario", "contrl", *arguments, under=under), 4,
                          f'"contrl": not found; did you mean control? looked in: {folder}')

    def test_device_of_a_misspelt_name(self):
        for name, said in (("aut", "did you mean auto? looked in: "), ("cdua", "did you mean cuda? looked in: "),
                           ("gpu", "did you mean cuda? looked in: "),
                           ("tpu_v5", "there are auto, cuda, cpu; looked in: ")):
            with self.subTest(name=name):
                self.assert_fails(self.run_pdhost("--scenario", "control", "--device", name), 4,
                                  f'error: command line: device "{name}": not found; {said}')

    def overlaid(self, *arguments):
        with open(self.path("cpu.ini"), "w", encoding="utf-8") as file:
            file.write("[run]\ndevice = cpu\n\n[device]\nthreads = 1\n")
        return self.run_pdhost("-c", os.path.join(CONF, "control.ini"), "-c", "cpu.ini", *arguments,
                               "--warmup_steps", "0", "--profile_steps", "1", watch=False)

    def test_an_overlay_of_one_device_serves_another_that_the_command_line_chose(self):
        null, driverless = (os.path.join(FIXTURES, "device", name) for name in ("null.so", "driverless.so"))
        code, _, err = self.overlaid("--device", null, "--sink", "json:output_json=metrics.json")
        self.assertEqual((code, self.errors(err)), (0, []), err)
        self.assertEqual(len(self.warnings(err)), 1, err)
        self.assertIn("cpu.ini:5: [device] threads: left out: it is a key of device cpu, and command line chose device",
                      self.warnings(err)[0])
        self.assert_fails(self.overlaid("--device", driverless), 6, "no driver")
        self.assert_fails(self.overlaid("--device", "cuda"), 6, "--device cpu")
        # Given beside the device that lacks it, the key is a mistake.
        self.assert_fails(self.run_pdhost("--scenario", "control", "--device", null, "-o", "device.threads=1"), 3,
                          "command line: [device] threads: no such key of device null; it is a key of device cpu")
        name = self.write(f"[run]\nscenario = control\ndevice = {null}\n[device]\nthreads = 1\n")
        self.assert_fails(self.run_pdhost("-c", name), 3, "my.ini:5:1: [device] threads: no such key of device null")
        name = self.write("[run]\nscenario = control\ndevice = cpu\n[device]\nthread = 1\n")
        self.assert_fails(self.run_pdhost("-c", name, "--device", null), 3, "my.ini:5:1: [device] thread: no such key")

    def test_loader_keys_without_an_effect_are_warned_of(self):
        for where, more, origin in (("host", ["-o", "data.resident=host"], "command line"),
                                    ("device", [], "preset of control")):
            with self.subTest(where=where):
                code, out, err = self.run_small("--scenario", "control", *more, "--profile_steps", "1", "--num_workers", "8",
                                                "--persistent_workers", "--sink", "table:views=run", "--sink",
                                                "json:output_json=metrics.json")
                self.assertEqual(code, 0, err)
                self.assertEqual(self.warnings(err), [
                    "pdhost: warn: command line: [data] num_workers, persistent_workers: no effect on the steps: "
                    f"resident = {where} ({origin}) makes 4 batches before the loop and serves them in turn; "
                    "to load while training add -o data.resident=none"])
                self.assertIn(f"  resident data           on the {where}: made before the loop, by no worker\n", out)
                self.assertEqual(self.json("metrics.json")["resident"], where)
        name = self.write("[run]\nscenario = sync\n[data]\nprefetch_factor = 4\n")
        self.assertIn("my.ini:4: [data] prefetch_factor: no effect", self.run_small("-c", name, "--profile_steps", "1")[2])
        # What loads has use for them; an overlay, as run_small's, is for any scenario.
        for more in (("--num_workers", "2", "-o", "data.resident=none"), ()):
            code, out, err = self.run_small("--scenario", "sync", "--profile_steps", "1", *more, "--sink", "table:views=run")
            self.assertEqual((code, self.warnings(err), "resident data" in out), (0, [], not more), err)
        self.assertIn("stay on the device: num_workers and its like have no effect",
                      self.run_pdhost("--help-plugin", "sync")[1].replace("\n", " "))
        self.assertIn("4 made once and resident on the device", self.run_small("--scenario", "sync", "--dry-run")[1])

    def test_benchmark_keys_without_their_mode_are_warned_of(self):
        code, out, err = self.run_small("--scenario", "control", "--profile_steps", "1", "-o", "benchmark.callgrind=5", "-o",
                                        "benchmark.label=x", "--sink", "table")
        self.assertEqual((code, self.warnings(err)), (0, [
            "pdhost: warn: command line: [benchmark] callgrind, label: no effect on a run that trains; add --mode benchmark"]), err)
        name = self.write("[run]\nscenario = control\n[benchmark]\nlabel = x\n")
        self.assertEqual(self.warnings(self.run_small("-c", name, "--profile_steps", "1", "--sink", "table")[2]), [])

    def test_a_setting_that_the_device_lacks(self):
        for key, said in (("amp", "does not train in half precision"), ("channels_last", "has no NHWC layout"),
                          ("cuda_graph", "captures no graphs")):
            with self.subTest(key=key):
                name = self.write(f"[run]\nscenario = control\n[train]\n{key} = true\n")
                null = os.path.join(FIXTURES, "device", "null.so")
                result = self.run_pdhost("-c", name, "--device", null, "--batch_size", "4", "--image_size", "16")
                self.assert_fails(result, 3, f"error: my.ini:4: [train] {key} = true: ")
                self.assertIn(f"{said}; set {key} = false or use --device cuda", result[2])

    def test_the_checks_of_a_plugin_find_plugins_in_relative_folders(self):
        os.makedirs(self.path("mine/device"))
        os.symlink(os.path.join(FIXTURES, "device", "null.so"), self.path("mine/device/mydev.so"))
        check = ("--check-plugin", SCENARIO, "--device", "mydev")
        for words, env in (((*check, "--plugin-path", "none:mine"), {}), (check, {"PDHOST_PLUGIN_PATH": "none:mine"})):
            with self.subTest(env=env):
                code, out, err = self.run_pdhost(*words, env=env)
                missing = "pdhost: warn: command line: [run] plugin_path: none: No such file or directory; no plugin is " \
                    "looked for there\n"
                self.assertEqual((code, err), (0, "" if env else missing), out)
                self.assertIn("ok   three steps of a real run\n", out)

    def test_a_folder_of_plugins_that_is_none_is_told_of(self):
        check = ("--scenario", "control", "--device", "cpu", "--check")
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        ini = self.write("[run]\nplugin_path = /nope\n")
        said = "pdhost: warn: {}: [run] plugin_path: {}; no plugin is looked for there"
        nope, file = "/nope: No such file or directory", "file: is not a folder"
        for words, expected in (((*check, "--plugin-path", f".:/nope:file:{CONF}"),
                                 [said.format("command line", nope), said.format("command line", file)]),
                                (("-c", ini, *check), [said.format(f"{ini}:2", nope)]),
                                (("--list", "devices", "--plugin-path", "/nope"), [said.format("command line", nope)])):
            with self.subTest(words=words):
                code, _, err = self.run_pdhost(*words, env={"PDHOST_PLUGIN_PATH": "/neither"})
                self.assertEqual((code, err.splitlines()), (0, expected))

    def test_an_empty_trace_folder_is_refused(self):
        name = self.write("[run]\nscenario = control\ndevice = cpu\ntrace_dir =\n")
        self.assert_fails(self.run_pdhost("-c", name, "--check"), 3, f"{name}:4:12: [run] trace_dir is empty")

    def test_a_line_that_is_too_long_has_a_way_out(self):
        folder = "/".join(["f" * 100] * 3)
        name = self.write(f"[run]\nscenario = control\ndevice = cpu\ntrace_dir = {folder}\n")
        self.assert_fails(self.run_pdhost("-c", name, "--check"), 3, f"{name}:4: line of 314 bytes; at most 190 are read: "
                          "shorten it, or give the key by -o section.key=value")
        name = self.write("[run]\nscenario = control\ndevice = cpu\n")
        code, out, err = self.run_pdhost("-c", name, "-o", f"run.trace_dir={folder}", "--show-config")
        self.assertEqual(code, 0, err)
        self.assertIn(f"trace_dir = {folder}\n", out)

    def test_a_bare_name_is_a_configuration_or_a_scenario(self):
        for words in (("dataloader",), ("run", "dataloader"), ("-c", "dataloader"), ("-cdataloader",)):
            code, out, err = self.run_pdhost(*words, "--device", "cpu", "--show-config", watch=False)
            self.assertEqual((code, err), (0, ""), words)
            self.assertRegex(out, r"# .*conf/dataloader\.ini:\d+\nscenario = dataloader\n")
        os.makedirs(self.path("conf"))
        for name, batch in (("dataloader", 5), ("mine", 6)):
            with open(self.path(f"conf/{name}.ini"), "w", encoding="utf-8") as file:
                file.write(f"[run]\nscenario = dataloader\n[data]\nbatch_size = {batch}\n")
            code, out, err = self.run_pdhost(name, "--show-config", watch=False)
            self.assertIn(f"# conf/{name}.ini:4\nbatch_size = {batch}\n", out, err)
        code, out, err = self.run_pdhost(SCENARIO, "--show-config", "--device", "cpu", watch=False)
        self.assertIn(f"# command line\nscenario = {SCENARIO}\n", out, err)
        self.assert_fails(self.run_pdhost("mien"), 2, "unexpected argument 'mien'; did you mean mine?")
        self.assert_fails(self.run_pdhost("dataloader", "doctr"), 2, "unexpected argument 'doctr'")

    def test_near_names_of_files(self):
        os.makedirs(self.path("conf"))
        for name in ("mine.ini", "conf/dataloader.ini"):
            with open(self.path(name), "w", encoding="utf-8"):
                pass
        for typed, near in (("mien.ini", "mine.ini"), ("conf/dataloadr.ini", "conf/dataloader.ini"),
                            ("dataloadr", "dataloader"), ("dataloadr.ini", "dataloader")):
            self.assert_fails(self.run_pdhost("-c", typed), 3,
                              f"{typed}: cannot be read: No such file or directory; did you mean {near}?")

    def test_missing_file(self):
        self.assert_fails(self.run_pdhost("-c", "no.ini"), 3, "no.ini: cannot be read: No such file or directory")

    def test_every_shipped_file_is_sound(self):
        found = sorted(glob.glob(os.path.join(CONF, "**", "*.ini"), recursive=True))
        self.assertGreater(len(found), 12)
        for name in found:
            code, out, err = self.run_pdhost("-c", name, "--check")
            self.assertEqual((code, out, err), (0, "configuration OK\n", ""), name)

    def test_dump_loads_again_as_the_same(self):
        files = ["-c", os.path.join(CONF, "dataloader.ini"), "--device", "cpu"]
        code, first, err = self.run_pdhost(*files, "--sink", "table:row_limit=5", "--dump-config")
        self.assertEqual(code, 0, err)
        self.assertIn("# command line\nrow_limit = 5\n", first)
        code, wide, err = self.run_pdhost(*files, "--wide", "--dump-config")
        self.assertEqual(code, 0, err)
        self.assertIn("# command line\nwide = true\n", wide)
        self.assertIn("# preset of dataloader\ncpu_work = 4000\n", first)
        self.write(first)
        code, second, err = self.run_pdhost("-c", "my.ini", "--show-config")
        self.assertEqual(code, 0, err)

        def keys(text):
            return [line for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(keys(first), keys(second))

    def test_more_threads_than_cores_are_warned_of(self):
        cores = len(os.sched_getaffinity(0))
        code, _, err = self.run_small("--scenario", "control", "--profile_steps", "1", "-o", f"device.threads={cores + 1}",
                                      "--sink", "table")
        self.assertEqual(code, 0, err)
        self.assertIn(f"[device] threads = {cores + 1}: there are {cores} cores", err)

    def test_cores_are_those_that_it_may_use(self):
        process = self.start(*SMALL, "--scenario", "control", "--profile_steps", "1", "-o", "device.threads=2",
                             "--sink", "table:views=device_summary", under=("taskset", "-c", str(min(os.sched_getaffinity(0)))))
        out, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("[device] threads = 2: there is 1 core, and", err)
        self.assertRegex(out, r"CPU\(Process\) +[0-9.]+ +100\.0")

    def test_a_text_of_control_characters_is_refused(self):
        self.assert_fails(self.run_pdhost(*SMALL, "--scenario", "control", "-o", "benchmark.label=a\x1b[31mb", "--check"), 3,
                          r"[benchmark] label = a\x1b[31mb: holds a control character; leave it out")

    def test_color_of_the_command_line_reaches_the_table(self):
        run = (*SMALL, "--scenario", "control", "--profile_steps", "1", "-q")
        table = ("--sink", "table:views=verdict")
        self.assertIn("\x1b", self.on_terminal(*run, *table))
        self.assertNotIn("\x1b", self.on_terminal(*run, *table, TERM="dumb"))
        self.assertNotIn("\x1b", self.on_terminal(*run, *table, "--color=never"))
        name = self.write("[sink.table]\ncolor = never\n")
        for words, coloured in (((), False), (("--color",), True), (("--color=always", "-c", name), True),
                                (("--color=always", "-o", "sink.table.color=never"), False)):
            with self.subTest(words=words):
                code, out, err = self.run_pdhost(*run, *table, *words, watch=False)
                self.assertEqual((code, "\x1b" in out), (0, coloured), err)
        for words, coloured in ((("--color=always",), False), (("-o", "sink.table.color=always"), True),
                                (("--color=never", "-o", "sink.table.color=always"), True)):
            for table in (("--sink", "table:views=verdict,path=out.txt"), ("-c", self.write("[sink.table]\npath = out.txt\n"))):
                with self.subTest(file=words, table=table):
                    code, out, err = self.run_pdhost(*run, *table, *words, watch=False)
                    self.assertEqual(code, 0, err)
                    with open(self.path("out.txt"), encoding="utf-8") as file:
                        self.assertEqual("\x1b" in file.read(), coloured)
                    os.unlink(self.path("out.txt"))
        code, out, err = self.run_pdhost(*run, "--sink", "json:output_json=x.json", "--color=never", "--show-config")
        self.assertEqual(code, 0, err)

    def test_a_scenario_from_outside_the_tree_runs_by_path(self):
        code, _, err = self.run_small("--scenario", SCENARIO, "-o", "scenario.stall_ms=100us", "--profile_steps", "2")
        self.assertEqual(code, 0, err)
        settings = self.json("results/host_stall/latest/metrics_host_stall.json")
        self.assertEqual(settings["scenario"], "host_stall")


if __name__ == "__main__":
    unittest.main()

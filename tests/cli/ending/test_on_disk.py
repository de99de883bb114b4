"""What has its name when pdhost has ended is on the disk: a power cut takes none of it."""
import glob
import os
import shutil
import unittest

from pdhost_run import FIXTURES, SANITIZER, SMALL, Case


class OnDisk(Case):
    def setUp(self):
        super().setUp()
        if SANITIZER:
            self.skip("its library has to be the first that is loaded")

    def forced(self, *arguments, codes=(0,), fails=""):
        """The paths that were forced to the disk, and standard error."""
        log = self.path("forced.log")
        env = {"LD_PRELOAD": os.path.join(FIXTURES, "synced.so"), "SYNC_LOG": log, "SYNC_FAILS": fails}
        actual, _, err = self.run_pdhost(*arguments, env=env, watch=False)
        self.assertIn(actual, codes, err)
        with open(log, encoding="utf-8") as file:
            paths = {line.rstrip("\n") for line in file}
        os.remove(log)
        return paths, err

    def files(self, *patterns):
        found = {os.path.realpath(path) for pattern in patterns for path in glob.glob(self.path(pattern), recursive=True)
                 if os.path.isfile(path)}
        self.assertTrue(found)
        return found

    def test_outputs_of_a_run_and_their_folders(self):
        sinks = ("--sink", "json:output_json=out.json", "--sink", "csv:dir=csv", "--sink", "chrome_trace", "--sink", "tensorboard",
                 "--sink", "html", "--sink", "window")
        for isolate in ("true", "false"):
            with self.subTest(isolate=isolate):
                paths, _ = self.forced(*SMALL, "--scenario", "control", "--trace_dir", "traces", "-o", f"run.isolate={isolate}", *sinks)
                written = self.files("out.json", "csv/**", "traces/**")
                self.assertEqual(written - paths, set())
                self.assertEqual({os.path.dirname(path) for path in written} - paths, set())
                for name in ("csv", "traces"):
                    shutil.rmtree(self.path(name))

    def test_outputs_of_analyze(self):
        _ = self.forced(*SMALL, "--scenario", "control", "--trace_dir", "traces", "--sink", "chrome_trace")
        trace, = self.files("traces/*.trace.json")
        paths, _ = self.forced("analyze", trace, "--sink", "json:output_json=again.json")
        self.assertEqual(self.files("again.json") - paths, set())

    def test_measurements_and_baselines(self):
        paths, _ = self.forced(*SMALL, "--scenario", "control", "--mode", "benchmark", "-o", "benchmark.output=out.json", "-o",
                               "benchmark.min_run_time=0.01", codes=(0, 7)) # 7: measured, on a machine with other work
        self.assertEqual(self.files("out.json") - paths, set())
        paths, _ = self.forced("compare", "--save-baseline", "before", "out.json")
        path, = paths # before it gets its name
        self.assertRegex(path, r"/before\.json\.\d+-\d+\.partial$")

    def test_what_fails_is_told(self):
        _, err = self.forced(*SMALL, "--scenario", "control", "--trace_dir", "traces", "--sink", "json:output_json=out.json",
                             fails="out.json")
        self.assertIn("out.json: cannot be forced to the disk: Input/output error", err)


if __name__ == "__main__":
    unittest.main()

"""What is left of a run whose process is changed, limited or ended by something around it."""
import glob
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import unittest

from pdhost_run import FIXTURES, PDHOST, SANITIZER, SMALL, Case, worker_of, writer_of

SCENARIOS = os.path.join(FIXTURES, "scenario")
MISDEED = os.path.join(SCENARIOS, "misdeed.so")
SINK = os.path.join(FIXTURES, "sink", "misdeed.so")
# Windows are steps 2 and 3, 6 and 7, 10 and 11.
WINDOWS = (*SMALL, "-o", "schedule.active=2", "-o", "schedule.repeat=3")
OUTPUTS = ("--sink", "json:output_json=out.json", "--sink", "csv:dir=csv")
BASE = (*WINDOWS, "--trace_dir", "traces", *OUTPUTS)
UNENDED = ("-o", "schedule.repeat=0", "-o", "run.epochs=0", "-o", "run.max_steps=1000000")


class Limits(Case):
    TOLD = "a file may not be as long as [profile] max_memory (ulimit -f): the sinks are in the process that trains"

    def limited(self, *more, most=20 << 20):
        """Files may be as long as a test's own, and shorter than a window may be."""
        return self.run_pdhost(*BASE, *more, watch=False, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (most, most)))

    def test_outputs_after_a_crash_where_files_may_not_be_long(self):
        code, plain, err = self.limited("--sink", "table", "--scenario", "control")
        self.assertEqual((code, self.errors(err), err.count(self.TOLD)), (0, [], 1), err)
        for what, end in (("segv", "" if SANITIZER else "crashed with signal 11"), ("exit_now", "ended the process with exit code 0")):
            code, out, err = self.limited("--sink", "table", "--scenario", MISDEED, "-o", f"scenario.what={what}", "-o",
                                          "scenario.step=8")
            self.assertEqual((code, len(self.errors(err)), err.count(self.TOLD)), (5, 1, 1), err)
            self.assertIn(f"scenario misdeed: step 8: {end}", self.errors(err)[0])
            written = self.json("out.json")
            self.assertEqual((written["outcome"], written["steps"]), ("failed", 8), err)
            self.assertEqual([[step["number"] for step in window["steps"]] for window in written["windows"]], [[2, 3], [6, 7]])
            self.assertEqual(len(self.rows(self.path("csv/steps.csv"))), 8)
            self.assertEqual(glob.glob(self.path("traces/*.pdcap")) + glob.glob(self.path("**/*.partial"), recursive=True), [])
            # What that process had printed is not printed again.
            for line in ("Device Summary", "Operator Summary"):
                self.assertEqual(out.count(line), 2 * plain.count(line) // 3, out)

    def test_a_file_that_can_grow_no_further_after_a_crash(self):
        code, _, err = self.limited("--scenario", MISDEED, "-o", "scenario.what=exit_now", "-o", "scenario.step=8", most=65536)
        self.assertEqual((code, len(self.errors(err))), (5, 2), err)
        self.assertIn("sink json: closing: out.json: cannot be written: File too large", self.errors(err)[1])
        self.assertTrue(os.path.exists(self.path("csv/steps.csv")))
        self.assertEqual(glob.glob(self.path("**/*.partial"), recursive=True), [])
        left, = glob.glob(self.path("traces/*.pdcap"))
        self.assertIn(f"the capture stays: pdhost recover traces/{os.path.basename(left)}", err)

    def test_a_sink_that_ends_that_process_is_left_out(self):
        code, _, err = self.limited("--scenario", "control", "--sink", f"{SINK}:what=exit_now,at=close", "--trace_dir", "my traces")
        self.assertEqual((code, len(self.errors(err))), (8, 1), err)
        self.assertIn("sink misdeed: closing: ", self.errors(err)[0])
        self.assertEqual(self.json("out.json")["steps"], 12)
        left, = glob.glob(self.path("my traces/*.pdcap"))
        self.assertIn(f"the capture stays: pdhost recover 'my traces/{os.path.basename(left)}'\n", err)


class Changes(Case):
    def outputs(self, scenario):
        """The rights of every file of a run, by its name, and the steps of its windows."""
        folder = self.path(os.path.basename(scenario))
        os.mkdir(folder)
        begun = subprocess.run([PDHOST, *WINDOWS, "--scenario", scenario, *OUTPUTS, "--sink", "chrome_trace"], cwd=folder,
                               capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual((begun.returncode, self.errors(begun.stderr)), (0, []), begun.stderr)
        found = {}
        for at, folders, files in os.walk(folder):
            for name in folders + files:
                path = os.path.join(at, name)
                named = re.sub(r"^results/\w+", "results/SCENARIO", os.path.relpath(path, folder))
                named = re.sub(r"/2\d{7}T[^/]*", "/RUN", named)
                named = re.sub(r"/\w+\.(\d)\.\d+\.pt\.trace", r"/\1.pt.trace", named)
                found[named] = stat.filemode(os.lstat(path).st_mode)
        return found, self.steps(folder)

    def steps(self, folder):
        with open(os.path.join(folder, "out.json"), encoding="utf-8") as file:
            out = json.load(file)
        return out["outcome"], out["steps"], [[step["number"] for step in window["steps"]] for window in out["windows"]]

    def test_a_plugin_that_changes_its_process_changes_no_output(self):
        before = set(os.listdir("/"))
        files, steps = self.outputs("control")
        for name in ("results/SCENARIO/RUN/manifest/manifest.json", "results/SCENARIO/latest", "out.json", "csv/steps.csv"):
            self.assertIn(name, files)
        self.assertEqual(steps, ("complete", 12, [[2, 3], [6, 7], [10, 11]]))
        for what in ("folder", "umask", "locale", "handler"):
            with self.subTest(what=what):
                changed, steps_then = self.outputs(os.path.join(SCENARIOS, f"bad_{what}.so"))
                self.assertEqual(changed, files)
                self.assertEqual(steps_then, steps)
        self.assertEqual(set(os.listdir("/")), before)

    def test_a_folder_that_is_changed_in_a_step_or_by_a_sink(self):
        before = set(os.listdir("/"))
        changes = {"step": ("--scenario", MISDEED, "-o", "scenario.what=folder")}
        for at in ("open", "trace", "close"):
            changes[at] = ("--scenario", "control", "--sink", f"{SINK}:what=folder,at={at}")
        for at, more in changes.items():
            # Where the sinks are in a process of their own, and where they are in the worker.
            for limit in (resource.RLIM_INFINITY, 20 << 20):
                with self.subTest(at=at, limit=limit):
                    os.mkdir(self.path("run"))
                    began = subprocess.run([PDHOST, *WINDOWS, *more, *OUTPUTS], cwd=self.path("run"), capture_output=True,
                                           text=True, check=False, stdin=subprocess.DEVNULL, preexec_fn=lambda:
                                           resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                    self.assertEqual((began.returncode, self.errors(began.stderr)), (0, []), began.stderr)
                    self.assertEqual(self.steps(self.path("run")), ("complete", 12, [[2, 3], [6, 7], [10, 11]]))
                    self.assertEqual(len(glob.glob(self.path("run/results/*/2*/manifest/manifest.json"))), 1)
                    self.assertEqual(glob.glob(self.path("run/results/*/2*/*.pdcap")), [])
                    shutil.rmtree(self.path("run"))
        self.assertEqual(set(os.listdir("/")), before)


class WithoutProc(Case):
    def test_a_run(self):
        if SANITIZER:
            self.skip(f"the {SANITIZER} sanitizer itself needs /proc")
        under = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*under, "true"], capture_output=True, check=False).returncode != 0:
            self.skip("this machine lets nobody mount in a namespace of their own")
        code, out, err = self.run_pdhost(*BASE, "--sink", "table:views=device_summary", "--scenario", "control", watch=False, under=under)
        self.assertEqual((code, self.errors(err)), (0, []), err)
        written = self.json("out.json")
        self.assertEqual((written["outcome"], written["steps"], len(written["windows"])), ("complete", 12, 3))
        self.assertIn("Device Summary", out)
        self.assertNotRegex(out, r"(?m)^CPU\((Process|System)\) +\d") # not known


class Hangs(Case):
    def hang(self, at, *more):
        code, _, err = self.run_pdhost(*BASE, "--scenario", MISDEED, "-o", "scenario.what=loop", "-o", f"scenario.at={at}",
                                       "-o", "run.step_timeout=3s", *more, watch=False)
        self.assertEqual((code, len(self.errors(err))), (5, 1), err)
        return self.errors(err)[0], err

    def test_in_init(self):
        error, _ = self.hang("init")
        self.assertIn("scenario misdeed: init: took longer than [run] step_timeout = 3 s and was ended", error)

    def test_in_a_step_before_the_scheduled_ones(self):
        for more in ((), ("-o", "run.sync_timing=false", "-o", "run.warmup_steps=20")):
            error, _ = self.hang("warm_up", *more)
            self.assertIn("scenario misdeed: a step before the scheduled ones: took longer than [run] step_timeout = 3 s",
                          error)

    def test_steps_before_the_scheduled_ones_may_take_longer_together(self):
        code, _, err = self.run_pdhost(*BASE, "--scenario", "control", "-o", "run.step_timeout=1s", "-o",
                                       "run.warmup_steps=3000", watch=False)
        self.assertEqual((code, self.errors(err)), (0, []), err)

    def test_in_teardown(self):
        error, err = self.hang("teardown")
        self.assertIn("scenario misdeed: teardown: took longer than [run] step_timeout = 3 s and was ended", error)
        self.assertEqual(self.json("out.json")["outcome"], "complete", err)


class Leftovers(Case):
    def leave(self, scenario):
        """A run in the default folder, all of whose processes are killed; its capture."""
        process = self.start(*WINDOWS, "--scenario", scenario, *UNENDED, "--sink", "json", watch=False)
        for line in process.stderr:
            if line.startswith("pdhost 1"):
                break
        pids = (worker_of(process.pid), writer_of(process.pid))
        until = 500
        while until and not (found := self.big_enough()):
            until -= 1
            signal.sigtimedwait([], 0.02)
        self.assertTrue(found)
        os.kill(process.pid, signal.SIGSTOP)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate(timeout=60)
        left, = self.unfinished(scenario)[-1:]
        return left

    def unfinished(self, scenario="*"):
        found = glob.glob(self.path(f"results/{scenario}/2*/*.unfinished.pdcap"))
        return [os.path.relpath(path, self.folder) for path in sorted(found, key=os.path.getmtime)]

    def big_enough(self):
        """A window of the run that began last is in its capture."""
        found = self.unfinished()
        return bool(found) and os.path.getsize(self.path(found[-1])) > 200000

    def after(self, scenario="control"):
        code, _, err = self.run_pdhost(*SMALL, "--scenario", scenario, "--profile_steps", "1", "--sink", "json", "-q", watch=False)
        self.assertEqual(code, 0, err)
        return [line for line in err.splitlines() if "killed before" in line]

    def test_the_command_that_the_next_run_prints_does_what_it_says(self):
        left = self.leave("control")
        for _ in range(2): # not only the very next one, whose own folder `latest` leads to by then
            told = self.after()
            self.assertEqual(told, [f"pdhost: warn: an earlier run was killed before its results were written: pdhost recover {left}"])
        code, _, err = self.run_pdhost(*told[0].split("pdhost ")[-1].split(), watch=False)
        self.assertEqual(code, 0, err)
        with open(glob.glob(self.path(f"{os.path.dirname(left)}/*.json"))[0], encoding="utf-8") as file:
            json.load(file)
        self.assertEqual((self.after(), self.unfinished()), ([], []))

    def test_a_folder_of_runs_is_recovered_as_a_whole(self):
        lefts = [self.leave("control"), self.leave("control"), self.leave("sync")]
        told, = self.after()
        self.assertIn("earlier runs were killed before their results were written, and left 2 captures: pdhost recover results/control",
                      told)
        code, _, err = self.run_pdhost("recover", "results/control/", watch=False)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.unfinished(), lefts[2:], err)
        self.assertLess(err.index(lefts[1]), err.index(lefts[0]), err)
        code, _, err = self.run_pdhost("recover", "results", "-q", watch=False)
        self.assertEqual((code, self.unfinished()), (0, []), err)
        for left in lefts:
            names = os.listdir(self.path(os.path.dirname(left)))
            self.assertTrue([name for name in names if name.endswith(".json") and name != "manifest.json"], names)
        self.assert_fails(self.run_pdhost("recover", "results", watch=False), 2, "recover: results: holds no .pdcap file")


if __name__ == "__main__":
    unittest.main()

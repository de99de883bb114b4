"""Plugins that end or block their process, wherever they are called: one line says which, and nothing recorded is lost."""
import glob
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from pdhost_run import FIXTURES, PDHOST, SANITIZER, SMALL, Case, named_child, worker_of, writer_of

SCENARIO = os.path.join(FIXTURES, "scenario", "misdeed.so")
SINK = os.path.join(FIXTURES, "sink", "misdeed.so")
FAULT_SINK = os.path.join(FIXTURES, "sink", "fault.so")
SINK_CALLS = {"open": "opening", "step": "step", "trace": "writing a window", "close": "closing"}
JSON = "json:output_json=out.json"
# Windows are steps 2 and 3, 6 and 7, 10 and 11.
BASE = (*SMALL, "-o", "schedule.active=2", "-o", "schedule.repeat=3", "--trace_dir", "traces", "--sink", JSON, "--sink",
        "csv:dir=csv")
ENDS = {"segv": "crashed with signal 11", "fpe": "crashed with signal 8", "abort": "crashed with signal 6",
        "exit": "ended the process with exit code 0", "exit_now": "ended the process with exit code 0",
        "quit": "ended the process with exit code 3", "stack": "crashed with signal 11",
        "kill": "was killed by signal 9"}
if SANITIZER: # it ends the process in its own way
    for word in ("segv", "fpe", "abort", "stack", "exit"):
        ENDS[word] = ""


class Misdeeds(Case):
    def misdo(self, *more):
        code, _, err = self.run_pdhost(*BASE, *more, watch=False)
        self.assertEqual(glob.glob(self.path("**/*.partial"), recursive=True), [], err)
        return code, err

    def scenario(self, what, at="step", step=8, *more):
        return self.misdo("--scenario", SCENARIO, "-o", f"scenario.what={what}", "-o", f"scenario.at={at}", "-o",
                          f"scenario.step={step}", *more)

    def errors(self, err):
        return [line for line in err.splitlines() if line.startswith("pdhost: error:")]

    def test_a_scenario_that_ends_its_process_in_a_step(self):
        for what, end in ENDS.items():
            code, err = self.scenario(what)
            self.assertEqual(code, 5, err)
            self.assertEqual(len(self.errors(err)), 1, err)
            self.assertIn(f"scenario misdeed: step 8: {end}", self.errors(err)[0])
            out = self.json("out.json")
            self.assertEqual((out["outcome"], out["steps"], len(out["windows"])), ("failed", 8, 2), what)
            self.assertIn("scenario misdeed: step 8", out["reason"])
            self.assertEqual(glob.glob(self.path("traces/*.pdcap")), [])

    def test_the_window_that_was_open(self):
        # Step 7 is the second of the second window: its first step was complete. Step 6 had none before it.
        for step, complete in ((7, 1), (6, 0)):
            for what in ENDS:
                code, err = self.scenario(what, "step", step)
                self.assertEqual(code, 5, err)
                out = self.json("out.json")
                self.assertEqual((out["steps"], len(out["windows"])), (step, 2), what)
                whole, last = out["windows"]
                self.assertEqual((whole["partial"], last["partial"]), (False, True))
                self.assertEqual(([at["number"] for at in last["steps"]], last["profile"]), ([6][:complete], "full"))
                if not complete: continue
                self.assertEqual(last["coverage"], 1, what)
                for kind in ("calls", "activities"):
                    self.assertEqual(2 * last["counts"][kind], whole["counts"][kind], what)
                self.assertGreater(last["counts"]["ranges"], 20, what) # the loader's threads have some at any time

    def test_in_init(self):
        for what in ("segv", "exit", "kill"):
            code, err = self.scenario(what, "init")
            self.assertEqual(code, 5, err)
            self.assertEqual(len(self.errors(err)), 1, err)
            self.assertIn(f"scenario misdeed: init: {ENDS[what]}", err)

    def test_in_teardown_after_all_is_written(self):
        for what in ("segv", "exit_now"):
            code, err = self.scenario(what, "teardown")
            self.assertEqual(code, 5, err)
            self.assertIn(f"scenario misdeed: teardown: {ENDS[what]}", err)
            self.assertEqual(self.json("out.json")["outcome"], "complete")

    def test_a_step_that_does_not_end(self):
        code, err = self.scenario("loop", "step", 8, "-o", "run.step_timeout=3s")
        self.assertEqual(code, 5, err)
        self.assertIn("scenario misdeed: step 8: took longer than [run] step_timeout = 3 s and was ended", err)
        self.assertEqual(self.json("out.json")["steps"], 8)

    def test_the_time_in_which_all_was_stopped_is_no_steps(self):
        """As by Ctrl-Z; the supervisor goes on first, and sees a step that is older than the limit."""
        process = subprocess.Popen([PDHOST, *BASE, "--scenario", "control", "-q", "-o", "schedule.repeat=1", "-o",
                                    "schedule.active=1000000", "-o", "profile.timer_only=true", "-o", "run.step_timeout=2s", "-o",
                                    "data.dataset_size=4000000"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        worker = worker_of(process.pid)
        until = time.monotonic() + 30
        while "Device memory" not in self.run_pdhost("top", "--once", str(worker), watch=False)[1]:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        for pid in (worker, process.pid):
            os.kill(pid, signal.SIGSTOP)
        time.sleep(4)
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.6)
        os.kill(worker, signal.SIGCONT)
        time.sleep(0.6)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertNotIn("and was ended", err)
        self.assertEqual(process.returncode, 128 + signal.SIGINT, err)

    def test_a_process_that_is_left_behind(self):
        code, err = self.scenario("child")
        self.assertEqual(code, 0, err)
        self.assertIn("the run left 1 process behind; it was ended", err)

    def test_the_capture_stays_where_it_is_wanted(self):
        code, err = self.scenario("abort", "step", 8, "-o", "run.keep_capture=true")
        self.assertEqual(code, 5, err)
        captures = glob.glob(self.path("traces/*.pdcap"))
        self.assertEqual(len(captures), 1)
        again, _, said = self.run_pdhost("recover", captures[0], "--sink", "json:output_json=again.json", watch=False)
        self.assertEqual(again, 0, said)
        self.assertEqual(self.json("again.json")["steps"], 8)

    def whole_after(self, code, err, end, at):
        """The run came to its last step, and every other sink's files are those of the capture, which stays."""
        self.assertEqual(code, 8, err)
        self.assertEqual(len(self.errors(err)), 1, err)
        self.assertIn(f"sink misdeed: {SINK_CALLS[at]}: {end}", self.errors(err)[0])
        self.assertIn("the others are written without it", self.errors(err)[0])
        out = self.json("out.json")
        self.assertEqual((out["outcome"], out["steps"], len(out["windows"])), ("complete", 12, 3), err)
        left, = glob.glob(self.path("traces/*.pdcap"))
        self.assertIn(f"the capture stays: pdhost recover {os.path.relpath(left, self.folder)}", err)
        again, _, said = self.run_pdhost("recover", left, "--sink", "json:output_json=again.json", "--sink", "csv:dir=again",
                                         watch=False)
        self.assertEqual(again, 0, said)
        for name, other in (("out.json", "again.json"), ("csv", "again")):
            self.assertEqual(self.outputs(name), self.outputs(other), err)
        os.remove(left)

    def outputs(self, name):
        """The files there, without what two sets of sinks may have that differs: the settings, and notes."""
        found, top = {}, self.path(name)
        files = glob.glob(f"{top}/**/*.csv", recursive=True) if os.path.isdir(top) else [top]
        for path in files:
            with open(path, encoding="utf-8") as file:
                found[os.path.relpath(path, top)] = file.read()
        if "." in found:
            out = json.loads(found["."])
            found["."] = {key: value for key, value in out.items() if key not in ("notes", "written_realtime_ns")}
        self.assertTrue(found)
        return found

    def test_a_sink_that_ends_its_process_ends_no_training(self):
        """Wherever it is called: the others begin again, and the steps go on."""
        for at in SINK_CALLS:
            for what in ("segv", "exit", "exit_now", "abort"):
                with self.subTest(at=at, what=what):
                    code, err = self.misdo("--scenario", "control", "--sink", f"{SINK}:what={what},at={at}")
                    self.whole_after(code, err, ENDS[what], at)

    def test_what_was_printed_is_not_printed_again(self):
        code, out, err = self.run_pdhost(*SMALL, "--scenario", "control", "-o", "profile.timer_only=true", "-o",
                                         "profile.step_info_every=1", "--sink", "table", "--sink", f"{SINK}:what=segv,at=close",
                                         watch=False)
        self.assertEqual(code, 8, err)
        self.assertEqual([int(line.split()[1]) for line in out.splitlines() if line.startswith("step ")], list(range(10)), out)
        self.assertEqual(out.count("Perf Summary"), 1, out)

    def test_a_sink_that_fails_fails_once_although_the_others_begin_again(self):
        code, err = self.misdo("--scenario", "control", "--sink", f"{FAULT_SINK}:fail_at=step", "--sink",
                               f"{SINK}:what=segv,at=close")
        self.assertEqual(code, 8, err)
        self.assertEqual(len(self.errors(err)), 2, err)
        self.assertEqual(sum("sink fault: step: asked to fail" in line for line in self.errors(err)), 1, err)
        self.assertEqual(self.json("out.json")["outcome"], "complete")

    def test_the_last_of_many_sinks(self):
        """There is none that cannot be left out."""
        names = [f"misdeed{i:02}" for i in range(70)]
        with open(SINK, "rb") as file:
            plugin = file.read()
        self.assertGreater(plugin.count(b"misdeed\0"), 0)
        sinks = []
        for name in names: # another plugin each, by its name
            path = self.path(f"{name}.so")
            with open(path, "wb") as file:
                file.write(plugin.replace(b"misdeed\0", b"mis" + name[-2:].encode() + b"ed\0"))
            sinks += ["--sink", path]
        sinks[-1] += ":what=segv,at=trace"
        code, _, err = self.run_pdhost(*SMALL, "--scenario", "control", "--trace_dir", "traces", "--sink", JSON, *sinks,
                                       watch=False)
        self.assertEqual((code, len(self.errors(err))), (8, 1), err)
        self.assertIn("sink mis69ed: writing a window: ", self.errors(err)[0])
        self.assertEqual(self.json("out.json")["outcome"], "complete")

    def test_a_process_that_a_sink_leaves_behind(self):
        code, err = self.misdo("--scenario", "control", "--sink", f"{SINK}:what=child,at=open")
        self.assertEqual(code, 0, err)
        self.assertIn("the run left 1 process behind; it was ended", err)

    def test_a_sink_that_wants_more_memory_than_there_is(self):
        """Its process is killed each time; those behind it are written all the same."""
        for at in SINK_CALLS:
            with self.subTest(at=at):
                code, err = self.misdo("--scenario", "control", "--sink", f"{SINK}:what=kill,at={at}")
                self.assertEqual(err.count("they are written anew"), 1, err)
                self.whole_after(code, err, "was killed by signal 9 twice, as the system does where memory runs out", at)

    def test_a_sink_that_does_not_end(self):
        for at in SINK_CALLS:
            with self.subTest(at=at):
                code, err = self.misdo("--scenario", "control", "-o", "run.step_timeout=3s", "--sink",
                                       f"{SINK}:what=loop,at={at}")
                self.whole_after(code, err, "took longer than [run] step_timeout = 3 s and was ended", at)

    def test_without_isolation_it_is_one_process(self):
        code, _, err = self.run_pdhost(*BASE, "--scenario", SCENARIO, "-o", "run.isolate=false", watch=False)
        self.assertEqual(code, 0, err)
        code, _, err = self.run_pdhost(*BASE, "--scenario", SCENARIO, "-o", "run.isolate=false", "-o",
                                       "scenario.what=quit", watch=False)
        self.assertEqual(code, 3, err)


class Signals(Case):
    def begin(self, *more, **options):
        """A run that has two windows behind it."""
        with open(self.path("count"), "wb") as file:
            file.write(bytes(8))
        process = self.start(*BASE, "--scenario", SCENARIO, "-o", "scenario.count=count", "-o", "schedule.repeat=0", "-o",
                             "run.epochs=0", "-o", "run.max_steps=1000000", *more, watch=False, **options)
        until = time.monotonic() + 60
        while self.begun() < 12 and process.poll() is None:
            self.assertLess(time.monotonic(), until, "the run does not begin")
            time.sleep(0.01)
        return process

    def begun(self):
        with open(self.path("count"), "rb") as file:
            return int.from_bytes(file.read(), sys.byteorder)

    def end(self, process, seconds=60):
        out, err = process.communicate(timeout=seconds)
        return process.returncode, out, err

    def test_timeout_signals_twice_and_the_run_ends_in_order(self):
        run = self.start(*BASE, "--scenario", "control", "-o", "schedule.repeat=0", "-o", "run.epochs=0", "-o",
                         "run.max_steps=1000000", watch=False, under=("timeout", "3"))
        code, _, err = self.end(run)
        self.assertEqual(code, 124, err)
        self.assertNotIn("at once", err)
        self.assertEqual(self.json("out.json")["reason"], "SIGTERM")

    def test_a_process_that_does_not_end_is_ended(self):
        """What is busy at its end, as a search for leaks is, has as long as a step; what does nothing has not."""
        runs = [self.start(*BASE[:-6], "--scenario", SCENARIO, "-o", f"scenario.what={what}", "--trace_dir", what,
                           "--sink", f"json:output_json={what}.json", watch=False) for what in ("idle_end", "busy_end")]
        idle, busy = [self.end(run) for run in runs]
        self.assertEqual(idle[0], 5, idle[2])
        self.assertIn("after the results were written the process did not end and was ended", idle[2])
        self.assertEqual(self.json("idle_end.json")["outcome"], "complete")
        self.assertEqual(busy[0], 0, busy[2])

    def test_a_killed_worker(self):
        process = self.begin()
        worker = worker_of(process.pid)
        os.kill(worker, signal.SIGKILL)
        code, _, err = self.end(process)
        self.assertEqual(code, 5, err)
        self.assertIn("was killed by signal 9", err)
        out = self.json("out.json")
        self.assertEqual(out["outcome"], "failed")
        self.assertGreater(out["steps"], 0)

    def test_a_killed_writer_is_followed_by_another(self):
        process = self.begin()
        os.kill(writer_of(process.pid), signal.SIGKILL)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        code, _, err = self.end(process)
        self.assertEqual((code, self.errors(err)), (143, []), err)
        self.assertEqual(err.count("they are written anew"), 1, err)
        out = self.json("out.json")
        self.assertEqual(out["outcome"], "interrupted")
        self.assertEqual([step["number"] for window in out["windows"] for step in window["steps"]][:4], [2, 3, 6, 7])
        self.assertEqual(glob.glob(self.path("**/*.partial"), recursive=True), [])

    def test_a_writer_that_is_stopped_is_followed_by_another(self):
        """The run waits for it, and somebody stopped it: training goes on all the same. A short stop does no harm."""
        process = self.begin()
        writer = writer_of(process.pid)
        os.kill(writer, signal.SIGSTOP)
        time.sleep(1)
        os.kill(writer, signal.SIGCONT)
        time.sleep(0.5)
        os.kill(writer, signal.SIGSTOP)
        line = next(line for line in process.stderr if "written anew" in line)
        self.assertIn("the process that writes the outputs was stopped for 5 s, while the run waited for it, and was ended; they "
                      "are written anew", line)
        self.assertNotEqual(writer_of(process.pid), writer)
        capture, = glob.glob(self.path("traces/*.unfinished.pdcap"))
        size, until = os.path.getsize(capture), time.monotonic() + 60
        while os.path.getsize(capture) == size:
            self.assertLess(time.monotonic(), until, "the training does not go on")
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        code, _, err = self.end(process)
        self.assertEqual((code, self.errors(err), err.count("written anew")), (143, [], 0), err)
        numbers = [step["number"] for window in self.json("out.json")["windows"] for step in window["steps"]]
        self.assertEqual(numbers, [step for step in range(numbers[-1] + 1) if step % 4 >= 2])
        self.assertEqual(glob.glob(self.path("**/*.partial"), recursive=True), [])

    def test_writers_that_are_killed_again_and_again(self):
        """The capture is all there is; the steps go on."""
        process = self.begin()
        killed, until = set(), time.monotonic() + 2
        while len(killed) < 20 and time.monotonic() < until:  # two in one sink take that sink away alone
            writer = named_child(process.pid, "pdhost writer")
            if writer and writer not in killed:
                os.kill(writer, signal.SIGKILL)
                killed.add(writer)
                until = time.monotonic() + 2
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        code, _, err = self.end(process)
        self.assertEqual(code, 143, err)
        self.assertIn("the outputs are not complete", err)
        left, = glob.glob(self.path("traces/*.pdcap"))
        self.assertIn("the capture stays: pdhost recover ", err)
        code, _, err = self.run_pdhost("recover", left, watch=False)
        self.assertEqual((code, self.json("out.json")["outcome"]), (0, "interrupted"), err)

    def test_a_killed_supervisor_takes_the_worker_along_in_order(self):
        process = self.begin()
        worker = worker_of(process.pid)
        process.kill()
        process.communicate(timeout=60)
        deadline = time.monotonic() + 60
        while os.path.exists(f"/proc/{worker}/task") and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.json("out.json")["reason"], "SIGTERM")
        self.assertEqual(glob.glob(self.path("**/*.partial"), recursive=True), [])

    def test_quit_from_the_keyboard_loses_nothing(self):
        process = self.begin()
        process.send_signal(signal.SIGQUIT)
        code, _, err = self.end(process)
        self.assertEqual(code, 131, err)
        self.assertEqual(self.json("out.json")["outcome"], "failed")

    def test_a_signal_before_the_first_step(self):
        for wait in (0.0, 0.01, 0.03, 0.06):
            process = self.start(*BASE, "--scenario", "control", watch=False)
            time.sleep(wait)
            process.send_signal(signal.SIGTERM)
            code, _, err = self.end(process)
            self.assertIn(code, (143, -15), err)
            self.assertEqual(self.errors(err), [], err)

    def errors(self, err):
        return [line for line in err.splitlines() if line.startswith("pdhost: error:")]

    def test_both_killed_leave_a_capture_that_the_folder_is_recovered_from(self):
        process = self.begin()
        worker, writer = worker_of(process.pid), writer_of(process.pid)
        os.kill(process.pid, signal.SIGSTOP)
        os.kill(worker, signal.SIGKILL)
        os.kill(writer, signal.SIGKILL)
        process.kill()
        process.communicate(timeout=60)
        left, = glob.glob(self.path("traces/*.unfinished.pdcap"))
        told = f"an earlier run was killed before its results were written: pdhost recover traces/{os.path.basename(left)}"
        again = (*BASE[:-4], "--scenario", "control", "--sink", "csv:dir=other", "-q")
        code, _, err = self.run_pdhost(*again, watch=False)
        self.assertEqual(code, 0, err)
        self.assertEqual(err.count(told), 1, err)
        code, _, err = self.run_pdhost("recover", "traces", watch=False)
        self.assertEqual(code, 0, err)
        out = self.json("out.json")
        self.assertEqual(out["outcome"], "failed")
        self.assertGreater(len(out["windows"]), 0)
        self.assertEqual(glob.glob(self.path("**/*.partial"), recursive=True), [])
        self.assertEqual(glob.glob(self.path("traces/*.pdcap")), [left.replace(".unfinished", "")])
        code, _, err = self.run_pdhost(*again, watch=False)
        self.assertEqual((code, told in err), (0, False), err)


if __name__ == "__main__":
    unittest.main()

"""pdhost record: a program with a CUPTI that is played is recorded, whatever it does, and is not changed by it."""
import glob
import gzip
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import unittest

from pdhost_run import Case, FIXTURES, PDHOST, SANITIZER, named_child

PROGRAM = os.path.join(FIXTURES, "recorded_program")
MISDEED = os.path.join(FIXTURES, "sink", "misdeed.so")


class Record(Case):
    def setUp(self):
        super().setUp()
        if not os.path.exists(PROGRAM):
            self.skip("built without CUPTI's headers")

    def record(self, *words, options=(), env=None, command=None):
        """Exit code, output, messages, and the figures, None where nothing was recorded."""
        code, out, err = self.run_pdhost("record", "--sink", "json:output_json=out.json", *options, "--",
                                         *(command or (PROGRAM,)), *words, watch=False, env=env or {})
        path = self.path("out.json")
        figures = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                figures = json.load(file)
            os.remove(path)
        return code, out, err, figures

    def recorded(self, *words, steps, code=0, **given):
        actual, out, err, figures = self.record(*words, **given)
        self.assertEqual(actual, code, err)
        self.assertIsNotNone(figures, err)
        self.assertEqual(len(figures["step_rows"]), steps, err)
        return out, err, figures

    def unrecorded(self, *words, said, code=0, **given):
        actual, out, err, figures = self.record(*words, **given)
        self.assertEqual(actual, code, err)
        self.assertIsNone(figures, err)
        warnings = self.warnings(err)
        self.assertEqual(len([line for line in warnings if said in line]), 1, err)
        return out, warnings


class Whole(Record):
    def test_nothing_stays_in_shared_memory(self):
        code, out, err = self.run_pdhost("record", "-q", "--", "sh", "-c", "echo $PDHOST_RECORD", watch=False)
        self.assertEqual(code, 0, err)
        folder = out.splitlines()[0]
        self.assertIn("pdhost-record-", folder)
        self.assertFalse(os.path.exists(folder))

    def test_every_step_and_every_launch(self):
        """What CUPTI still holds at the end is brought out: the other tests wait for that themselves."""
        _, err, figures = self.recorded("init", "steps=60", steps=60)
        self.assertEqual(figures["coverage"], 1.0)
        self.assertEqual(sum(figures["lost"].values()), 0)
        self.assertEqual(self.warnings(err), [])

    def test_output_environment_and_exit_code_are_the_programs(self):
        out, _, _ = self.recorded("init", "steps=40", "settle", "say=hello", "exit=7", steps=40, code=7)
        self.assertEqual(out, "hello\n")
        out = subprocess.run([PDHOST, "record", "-q", "--", "sh", "-c", "env; read line; echo $line"], cwd=self.folder,
                             input="typed\n", capture_output=True, text=True, check=True)
        self.assertIn("typed", out.stdout)
        said = dict(line.split("=", 1) for line in out.stdout.splitlines() if "=" in line)
        changed = {name for name, value in said.items() if os.environ.get(name) != value} - {"_", "PWD", "OLDPWD", "SHLVL"}
        self.assertEqual(changed, {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "PDHOST_RECORD"})

    def test_the_capture_is_kept_and_read_again(self):
        self.recorded("init", "steps=50", "settle", steps=50, options=("-o", "run.keep_capture=true"))
        captures = glob.glob(self.path("results/record/latest/*.pdcap"))
        self.assertEqual(len(captures), 1)
        code, out, err = self.run_pdhost("analyze", captures[0], watch=False)
        self.assertEqual(code, 0, err)
        self.assertIn("steps 0 to 49 (50)", out)

    def test_what_to_type_once_the_program_was_changed(self):
        _, _, figures = self.recorded("init", "steps=50", "settle", "say=it's so", steps=50)
        words = shlex.split(figures["windows"][0]["tables"]["verdict"]["rows"][0]["verdict_after"])
        self.assertEqual(words[:2], ["pdhost", "record"])
        self.assertEqual(words[words.index("--"):], ["--", PROGRAM, "init", "steps=50", "settle", "say=it's so"])

    def test_without_it_no_file_but_the_sinks_stays(self):
        self.recorded("init", "steps=50", "settle", steps=50)
        self.assertEqual(glob.glob(self.path("results/record/latest/*.pdcap")), [])

    def test_a_folder_of_ones_own(self):
        code, _, err = self.run_pdhost("record", "--out", "mine", "--sink", "csv", "--", PROGRAM, "init", "steps=50", "settle",
                                       watch=False)
        self.assertEqual(code, 0, err)
        self.assertTrue(os.listdir(self.path("mine")))

    def test_threads(self):
        _, _, figures = self.record("init", "threads=8", "settle")[1:]
        self.assertEqual(figures["coverage"], 1.0)

    def test_what_is_captured_is_no_loss_and_graphs_are_matched(self):
        _, _, figures = self.recorded("init", "capture", "settle", steps=1)
        self.assertEqual(figures["coverage"], 1.0)
        self.assertEqual(sum(figures["lost"].values()), 0)


    def test_a_capture_of_what_another_thread_launches(self):
        for end in ("settle", "_exit=0"):
            _, _, err, figures = self.record("init", "elsewhere", "settle", end)
            self.assertIsNotNone(figures, err)
            self.assertEqual(figures["coverage"], 1.0, err)
            self.assertEqual(sum(figures["lost"].values()), 0)

    def test_a_cupti_that_wants_whole_kinds(self):
        """Kernels come without their calls at first; then the lists are given in the other way."""
        code, _, err, figures = self.record("kinds", "init", "steps=60", "settle", "settle", "settle", "steps=60", "settle")
        self.assertIsNotNone(figures, err)
        self.assertGreater(len(figures["step_rows"]), 50)


class Ends(Record):
    """However a program ends, what it had done is in the report, and its end is what the shell sees."""

    def test_exit_without_handlers(self):
        self.recorded("init", "steps=50", "settle", "_exit=3", steps=50, code=3)

    def test_killed(self):
        self.recorded("init", "steps=50", "settle", "kill=9", steps=50, code=137)

    def test_terminated_aborted_crashed(self):
        self.recorded("init", "steps=50", "settle", "kill=15", steps=50, code=143)
        self.recorded("init", "steps=50", "settle", "abort", steps=50, code=134)
        # AddressSanitizer makes an exit of a crash.
        self.recorded("init", "steps=50", "settle", "crash", steps=50, code=1 if SANITIZER == "address" else 139)

    def test_the_last_moment_is_lost_at_most(self):
        _, _, figures = self.record("init", "steps=2000", "kill=9")[1:]
        self.assertIsNotNone(figures)

    def test_a_context_that_ends(self):
        self.recorded("init", "steps=50", "context", "settle", "_exit=0", steps=50)

    def test_a_program_that_closes_every_file(self):
        self.recorded("init", "steps=30", "settle", "closes", "steps=30", "settle", "_exit=0", steps=60)

    def test_not_there(self):
        code, _, err = self.run_pdhost("record", "--", "./nothing", watch=False)
        self.assertEqual(code, 127)
        self.assertIn("./nothing: cannot be started: No such file", err)
        with open(self.path("text"), "w", encoding="ascii") as file:
            file.write("no program")
        code, _, err = self.run_pdhost("record", "--", "./text", watch=False)
        self.assertEqual(code, 126)

    def test_signals_go_to_the_program(self):
        process = self.start("record", "--", PROGRAM, "init", "steps=50", "settle", "pid", "sleep=20000", watch=False)
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 143, err)
        self.assertIn("steps 0 to 49 (50)", out)


    def test_kills_at_any_moment(self):
        """The report is written each time, but for a program that was killed before anything had left CUPTI's hands."""
        for wait in (0.02, 0.3, 0.36, 0.45, 0.51, 0.6):
            process = self.start("record", "-q", "--", PROGRAM, "pid", "init", "steps=100000", watch=False)
            pid = int(process.stdout.readline())
            time.sleep(wait)
            os.kill(pid, signal.SIGKILL)
            out, err = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 137, err)
            self.assertTrue("Verdict" in out or "nothing was launched before the process ended" in err, out + err)
            self.assertNotIn("overwrote", err)
            self.assertEqual(glob.glob(self.path("results/record/latest/*.pdcap")), [])


class ReportEnds(Record):
    """What ends the report leaves the recording, no half of a file, and a line with the words that make the report."""

    def wait_for(self, what, found):
        until = time.monotonic() + 60
        while not found():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.01)

    def hanging(self, *words, sinks=("--sink", "csv", "--sink", f"{MISDEED}:what=loop,at=trace"), options=()):
        """pdhost, whose report has begun its files and does not end."""
        process = self.start("record", *options, *sinks, "--", PROGRAM, *words, watch=False, start_new_session=True)
        self.wait_for("the report is not begun", lambda: named_child(process.pid, "pdhost writer") and self.partial())
        return process

    def partial(self):
        return glob.glob(self.path("**/*.partial"), recursive=True)

    def signal_until_it_ends(self, process, number):
        """What comes right behind the program's end was meant for the program, and is not heard."""
        def ended():
            if process.poll() is None:
                process.send_signal(number)
                time.sleep(0.1)
            return process.poll() is not None
        self.wait_for("a signal does not end the report", ended)
        return process.communicate(timeout=20)

    def make_later(self, err, steps):
        """`steps` None: as many as there were by then."""
        said = [line for line in self.warnings(err) if "the recording is kept; for its report: " in line]
        self.assertEqual(len(said), 1, err)
        self.assertEqual(self.partial(), [], err)
        command = said[0].split("its report: ")[1].replace("pdhost", f"'{PDHOST}'", 1)
        later = subprocess.run(["sh", "-c", command], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(later.returncode, 0, later.stderr)
        self.assertIn(f"steps 0 to {steps - 1} ({steps})" if steps else "steps 0 to ", later.stdout)
        return said[0]

    def test_a_signal(self):
        for number, name in ((signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
            process = self.hanging("init", "steps=50", "settle", "exit=7",
                                   sinks=("--sink", "csv:dir=elsewhere", "--sink", "json:output_json=out.json", "--sink",
                                          f"{MISDEED}:what=loop,at=trace"))
            _, err = self.signal_until_it_ends(process, number)
            self.assertEqual(process.returncode, 7, err)
            self.assertIn(f"{name} ended the report", self.make_later(err, 50))

    def test_with_named_steps_and_several_processes(self):
        process = self.hanging("init", "marked=12", "settle", "exec", "init", "marked=12", "settle",
                               options=("--step", "my work"))
        _, err = self.signal_until_it_ends(process, signal.SIGINT)
        self.assertIn("--step 'my work' ", self.make_later(err, 24))

    def test_what_ends_the_program_does_not_end_the_report(self):
        process = self.start("record", "--", PROGRAM, "init", "steps=50", "settle", "pid", "sleep=20000", watch=False,
                             start_new_session=True)
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("steps 0 to 49 (50)", out)
        self.assertEqual(glob.glob(self.path("results/record/latest/*.pdcap")), [])

    def test_while_the_program_runs_on_a_signal_is_the_programs(self):
        process = self.hanging("init", "marked=25", "stopped", "sleep=60000", options=("--steps", "8"))
        process.send_signal(signal.SIGTERM)
        _, err = self.signal_until_it_ends(process, signal.SIGTERM)
        self.assertEqual(process.returncode, 143, err)
        self.make_later(err, None)

    def test_a_sink_that_crashes_or_exits(self):
        ends = [("exit_now", "a plugin ended the report with exit code 0")]
        if not SANITIZER:
            ends.append(("segv", "the report crashed (signal 11"))
        for what, said in ends:
            code, _, err = self.run_pdhost("record", "--sink", f"{MISDEED}:what={what},at=trace", "--", PROGRAM, "init",
                                           "steps=50", "settle", "exit=3", watch=False)
            self.assertEqual(code, 3, err)
            self.assertIn(said, self.make_later(err, 50))


class Trees(Record):
    def test_threads_have_their_names(self):
        self.recorded("init", "steps=40", "settle", "settle", "steps=40", steps=80, options=("--sink", "chrome_trace"))
        traces = glob.glob(self.path("results/record/latest/*.json*"))
        self.assertEqual(len(traces), 1)
        with gzip.open(traces[0], "rt") if traces[0].endswith("gz") else open(traces[0], encoding="utf-8") as file:
            self.assertIn("recorded_progra", file.read())

    def test_a_shell_and_its_programs(self):
        command = ("sh", "-c", f"'{PROGRAM}' init steps=40 settle; '{PROGRAM}' init steps=50 settle")
        code, _, err, figures = self.record(command=command)
        self.assertEqual(code, 0, err)
        self.assertIsNotNone(figures)
        self.assertEqual(len(figures["step_rows"]), 90)

    def test_a_forked_child_writes_nothing_and_ends(self):
        _, err, figures = self.recorded("init", "steps=40", "fork", "steps=20", "settle", steps=60)
        self.assertEqual(figures["coverage"], 1.0)

    def test_another_image_of_the_process_is_recorded_by_itself(self):
        code, _, err, figures = self.record("init", "steps=40", "settle", "exec", "init", "steps=30", "settle")
        self.assertEqual(code, 0, err)
        self.assertEqual(len(figures["step_rows"]), 70, err)

    def test_a_process_that_launches_nothing_leaves_nothing(self):
        _, err, figures = self.recorded("init", "steps=40", "settle", "fork", "exec", steps=40)
        self.assertEqual(self.warnings(err), [])
        command = ("sh", "-c", f"'{PROGRAM}' init; '{PROGRAM}'; '{PROGRAM}' init steps=40 settle")
        code, _, err, figures = self.record(command=command)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(figures["step_rows"]), 40)
        self.assertEqual(self.warnings(err), [])


class Clear(Record):
    """What stands in the way is said in one line, and the program runs on."""

    def test_no_gpu_program(self):
        self.unrecorded(command=("sh", "-c", "exit 4"), said="never initialised CUDA", code=4)

    def test_nothing_launched(self):
        self.unrecorded("init", "exit=5", said="nothing was launched", code=5)

    def test_memory_alone_is_no_work(self):
        self.unrecorded("init", "allocate", "settle", said="nothing was launched")
        self.assertEqual(glob.glob(self.path("results/record/latest/*.pdcap")), [])

    def test_another_profiler(self):
        out, warnings = self.unrecorded("tool=torch", "init", "steps=30", "say=on", "exit=6", code=6,
                                        said='not recorded: CUPTI is in use by "torch" (39)')
        self.assertEqual(out, "on\n")
        self.assertEqual(len(warnings), 1)

    def test_an_old_cupti(self):
        self.unrecorded("version=20", "init", "steps=30", said="CUPTI version 20 is too old")

    def test_another_tool_is_set(self):
        self.unrecorded("say=on", said="CUDA_INJECTION64_PATH is set to /opt/other.so",
                        env={"CUDA_INJECTION64_PATH": "/opt/other.so"})

    def test_nothing_recorded_can_be_a_failure(self):
        self.unrecorded("init", options=("--require",), said="nothing was launched", code=6)
        self.unrecorded("init", "exit=5", options=("--require",), said="nothing was launched", code=5)

    def test_the_command_line(self):
        code, _, err = self.run_pdhost("record", watch=False)
        self.assertEqual(code, 2)
        self.assertIn("give the command to run behind --", err)
        code, _, err = self.run_pdhost("record", "python", "--", "x", watch=False)
        self.assertEqual(code, 2)
        self.assertIn("write -- before the command", err)


class Marks(Record):
    def test_steps_and_waits_that_the_program_marks(self):
        _, err, figures = self.recorded("init", "marked=12", "settle", steps=12)
        self.assertEqual(self.warnings(err), [])
        for row in figures["step_rows"]:
            self.assertGreater(row["data_wait_ns"], 2e6)
        self.assertIn("my work", json.dumps(figures))

    def test_ranges_that_another_thread_ends(self):
        """They overlap: each begins a step, and a table has them all, with no time of a processor."""
        _, err, figures = self.recorded("init", "spans=14", "settle", steps=14, options=("--step", "my span"))
        self.assertEqual(self.warnings(err), [])
        self.assertEqual(sum(figures["lost"].values()), 0)
        self.assertEqual(figures["coverage"], 1.0)
        for row in figures["step_rows"]:
            self.assertGreater(row["step_time_ns"], 2e5)
        self.assertIn("all of it", json.dumps(figures))

    def test_so_many_ranges_that_another_thread_ends_end_the_recording(self):
        self.recorded("init", "spans=25", "stopped", "say=done", steps=6, options=("--steps", "6", "--step", "my span"))

    def test_ranges_of_any_thread_have_rows_of_their_own(self):
        self.record("init", "spans=14", "settle", options=("--sink", "chrome_trace"))
        traces = glob.glob(self.path("results/record/latest/*.json*"))
        self.assertEqual(len(traces), 1)
        with gzip.open(traces[0], "rt") if traces[0].endswith("gz") else open(traces[0], encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        spans = [event for event in events if event.get("name") == "my span" and event.get("ph") == "X"]
        rows = {event["tid"] for event in spans}
        self.assertEqual((len(spans), len(rows)), (14, 2))
        names = {event["tid"]: event["args"]["name"] for event in events if event.get("name") == "thread_name"}
        for row in rows:
            self.assertIn("ranges of any thread", names[row])

    def test_another_tool_for_nvtx_stays(self):
        out, _ = self.unrecorded(command=("sh", "-c", "echo $NVTX_INJECTION64_PATH"), said="never initialised CUDA",
                                 env={"NVTX_INJECTION64_PATH": "/opt/other.so"})
        self.assertEqual(out, "/opt/other.so\n")


# A package torch with the two places that the hook of --torch marks, as PyTorch 2 has them.
TORCH = {
    "torch/__init__.py": "from .utils.data import DataLoader\nfrom .optim import SGD\n",
    "torch/utils/__init__.py": "",
    "torch/utils/data/__init__.py": "from .dataloader import DataLoader\n",
    "torch/utils/data/dataloader.py": """
import time
class _BaseDataLoaderIter:
    def __init__(self, count): self.left = count
    def __iter__(self): return self
    def __next__(self):
        if not self.left: raise StopIteration
        self.left -= 1
        time.sleep(0.002)
        return self.left
class _SingleProcessDataLoaderIter(_BaseDataLoaderIter): pass
class DataLoader:
    def __init__(self, count): self.count = count
    def __iter__(self): return _SingleProcessDataLoaderIter(self.count)
""",
    "torch/optim/__init__.py": "from .optimizer import SGD\n",
    "torch/optim/optimizer.py": """
hooks = []
def register_optimizer_step_post_hook(hook): hooks.append(hook)
class SGD:
    def step(self):
        for hook in hooks: hook(self, (), {})
""",
    "sitecustomize.py": "import sys\nsys.dont_write_bytecode = True\nsys.own_start = 'was read'\n",
    # What CUDA and PyTorch's kernels do of it: the CUPTI that is played is called by hand.
    "train.py": """
import ctypes, os, sys, time
cupti = ctypes.CDLL(sys.argv[1])
import torch
if "CUDA_INJECTION64_PATH" in os.environ: ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
def launch():
    cupti.fake_driver_launch(b"_Z4workv")
    cupti.fake_finish(0)
launch()
time.sleep(1)
first, second = torch.SGD(), torch.SGD()
first.step()
for batch in torch.DataLoader(30):
    launch()
    second.step()
    first.step()
time.sleep(1)
print(sys.own_start, os.environ["PYTHONPATH"].count(":"))
""",
}


class Torch(Record):
    def setUp(self):
        super().setUp()
        if SANITIZER:
            self.skip("Python itself is not built with the sanitizer, and cannot load what is")
        for name, text in TORCH.items():
            path = self.path(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        cupti = os.path.join(FIXTURES, "..", "devices", "cupti", "recorded", "libcupti.so.13")
        self.command = (sys.executable, self.path("train.py"), cupti)
        self.env = {"PYTHONPATH": self.path(".")}

    def test_steps_and_waits_are_marked_in_an_unchanged_program(self):
        code, out, err, figures = self.record(command=self.command, options=("--torch",), env=self.env)
        self.assertEqual((code, out), (0, "was read 1\n"), err)
        self.assertEqual(self.warnings(err), [])
        self.assertEqual(len(figures["step_rows"]), 30, "the second optimizer's steps are none")
        for row in figures["step_rows"]:
            self.assertGreater(row["data_wait_ns"], 2e6)

    def test_a_program_that_imports_no_torch_is_told_of(self):
        code, _, err, figures = self.record("init", "steps=50", "settle", options=("--torch",))
        self.assertEqual((code, len(figures["step_rows"])), (0, 50), err)
        self.assertEqual(len([line for line in self.warnings(err) if "--torch: no step was marked" in line]), 1, err)


class Outside(Record):
    """What is not the program itself."""

    def test_a_parent_that_ignores_its_children(self):
        code, out, err = self.run_pdhost("record", "-q", "--", "sh", "-c", "echo ran", watch=False,
                                         under=("sh", "-c", "trap '' CHLD; exec \"$0\" \"$@\""))
        self.assertEqual((code, out), (0, "ran\n"), err)

    def test_a_signal_that_pdhost_has_no_use_for_is_the_programs(self):
        process = self.start("record", "-q", "--", "sh", "-c", "trap 'echo got it; exit 4' USR2; echo here; while :; do sleep 0.1; done",
                             watch=False)
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        out, err = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out), (4, "got it\n"), err)

    def test_a_process_that_outlives_the_command_is_named(self):
        command = ("sh", "-c", f"'{PROGRAM}' init steps=60 settle sleep=4000 & sleep 2")
        code, _, err, figures = self.record(command=command)
        self.assertEqual((code, len(figures["step_rows"])), (0, 60), err)
        self.assertEqual(len([line for line in self.warnings(err) if "still runs; its records until now" in line]), 1, err)

    def test_a_search_path_of_any_length(self):
        places = ":".join(["/nowhere/" + "x" * 200] * 60)
        code, out, err = self.run_pdhost("record", "-q", "--torch", "--", "sh", "-c", "echo ${#PYTHONPATH}", watch=False,
                                         env={"PYTHONPATH": places})
        self.assertEqual(code, 0, err)
        self.assertGreater(int(out), len(places))


class Span(Record):
    def test_a_duration_ends_the_recording_and_not_the_program(self):
        words = ("init", "steps=200", "settle", "stopped", "steps=200", "say=done")
        code, out, err, figures = self.record(*words, options=("--duration", "1s"))
        self.assertEqual(code, 0, err)
        self.assertEqual(out, "done\n")
        self.assertEqual(len(figures["step_rows"]), 200)

    def test_a_duration_that_ends_within_steps(self):
        """What was launched and not done by then is left out, and so is nothing else."""
        words = ("init", "steps=300", "until_stopped", "say=done")
        code, out, err, figures = self.record(*words, options=("--duration", "1s"))
        self.assertEqual((code, out), (0, "done\n"), err)
        self.assertEqual(figures["coverage"], 1.0, err)
        self.assertGreater(len(figures["step_rows"]), 100)

    def test_so_many_marked_steps_end_the_recording(self):
        words = ("init", "marked=25", "stopped", "say=done")
        out, err, figures = self.recorded(*words, steps=8, options=("--steps", "8"))
        self.assertEqual(out, "done\n")
        self.assertEqual(self.warnings(err), [])
        self.assertEqual(figures["coverage"], 1.0)

    def test_so_many_ranges_end_the_recording(self):
        words = ("init", "marked=25", "stopped", "say=done")
        self.recorded(*words, steps=6, options=("--steps", "6", "--step", "my work"))

    def test_of_found_steps_the_first_are_reported(self):
        _, err, figures = self.recorded("init", "steps=60", "settle", steps=10, options=("--steps", "10"))
        self.assertIn("the first 10 of the 60 steps that were found", err)
        self.assertEqual(figures["coverage"], 1.0)
        _, err, _ = self.recorded("init", "steps=60", "settle", steps=60, options=("--steps", "100"))
        self.assertIn("it has 60 of the 100 steps", err)

    def test_a_number_of_steps(self):
        for wrong in ("0", "-1", "ten", "5s", ""):
            code, _, err = self.run_pdhost("record", "--steps", wrong, "--", "true", watch=False)
            self.assertEqual(code, 2, err)

    def test_a_later_start(self):
        words = ("init", "steps=100", "started", "sleep=300", "steps=60", "settle")
        _, err, figures = self.recorded(*words, steps=60, options=("--start-after", "1s"))
        self.assertEqual(figures["coverage"], 1.0)

    def test_a_process_that_does_not_answer_does_not_hold_the_report(self):
        """It becomes another program, which knows nothing of a recorder, and keeps its ring open."""
        begun = time.monotonic()
        process = self.start("record", "--duration", "1s", "--", PROGRAM, "init", "steps=90", "settle", "exec", "sleep=15000",
                             watch=False)
        said = process.stdout.readline()
        self.assertLess(time.monotonic() - begun, 12, said)
        self.assertIn("Verdict", said)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)

    def test_an_end_before_the_start(self):
        self.unrecorded("init", "steps=10", options=("--start-after", "100s"), said="ended before the recording was to begin")

    def test_a_signal_begins_and_ends_it(self):
        process = self.start("record", "--start-on-signal", "--", PROGRAM, "init", "steps=50", "pid", "started", "sleep=300",
                             "steps=70", "settle", "pid", "stopped", "steps=50", watch=False)
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        out, err = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn("steps 0 to 69 (70)", out)


class Last(Record):
    """The flight recorder: the last seconds alone, at the end and whenever they are asked for."""
    LONG = ("--last", "60s", "--sink", "csv", "--sink", "table")

    def read_until(self, process, words):
        out = ""
        while words not in out:
            line = process.stdout.readline()
            self.assertTrue(line, out)
            out += line
        return out

    def running(self, *words):
        process = self.start("record", *self.LONG, "--", PROGRAM, *words, "pid", "sleep=40000", watch=False)
        return process, int(process.stdout.readline())

    def snapshots(self):
        return sorted(os.path.relpath(path, self.path("")) for path in glob.glob(self.path("results/record/*/snapshot-*"))
                      if "latest" not in path)

    def test_at_the_end(self):
        _, err, figures = self.recorded("init", "steps=100", "settle", "sleep=7000", "steps=40", "settle", steps=40,
                                        options=("--last", "6s"))
        self.assertEqual(figures["coverage"], 1.0)
        self.assertEqual(sum(figures["lost"].values()), 0)
        self.assertEqual(self.warnings(err), [])
        self.assertEqual(glob.glob(self.path("results/record/latest/*.pdcap")), [])

    def test_of_a_process_that_ended_before_nothing_is_kept(self):
        self.recorded("init", "steps=100", "settle", "exec", "init", "sleep=7000", "steps=40", "settle", steps=40,
                      options=("--last", "6s"))

    def test_marks_and_ranges(self):
        _, _, figures = self.recorded("init", "marked=12", "settle", steps=12, options=("--last", "60s"))
        self.assertIn("my work", json.dumps(figures))
        self.recorded("init", "marked=12", "settle", "spans=14", "settle", steps=14,
                      options=("--last", "60s", "--step", "my span"))

    def test_snapshots_while_the_program_runs(self):
        process, pid = self.running("init", "steps=60", "settle")
        for number, asked in enumerate((pid, process.pid), 1): # the program's number does as well as pdhost's
            code, out, err = self.run_pdhost("snapshot", str(asked), watch=False)
            self.assertEqual((code, out, err), (0, "", ""))
            self.read_until(process, "steps 0 to 59 (60)")
            self.read_until(process, "Verdict")
            self.assertEqual(len(self.snapshots()), number)
        process.send_signal(signal.SIGUSR2)
        self.read_until(process, "steps 0 to 59 (60)")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, err)
        self.assertIn("steps 0 to 59 (60)", out)
        folders = self.snapshots()
        self.assertEqual([os.path.basename(folder) for folder in folders], ["snapshot-1", "snapshot-2", "snapshot-3"])
        for folder in folders:
            self.assertTrue(os.path.exists(self.path(os.path.join(folder, "csv", "steps.csv"))), err)
        self.assertEqual(glob.glob(self.path("**/*.pdcap"), recursive=True), [])

    def test_nothing_in_the_last_seconds(self):
        _, _, err, figures = self.record("init", "steps=50", "settle", "sleep=3000", options=("--last", "1s"))
        self.assertIsNone(figures)
        self.assertIn("nothing was launched in the last 1 s", err)

    def test_who_does_not_expect_to_be_asked_is_left_alone(self):
        other = subprocess.Popen(["sleep", "60"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        plain = self.start("record", "--", PROGRAM, "pid", "sleep=60000", watch=False)
        plain.stdout.readline()
        for pid in (other.pid, plain.pid, 999999999, "x", ""):
            code, _, err = self.run_pdhost("snapshot", str(pid), watch=False)
            self.assertEqual(code, 2, err)
        self.assertIsNone(other.poll())
        self.assertIsNone(plain.poll())
        plain.send_signal(signal.SIGTERM)
        plain.communicate(timeout=60)

    def test_with_a_signal_that_begins_it(self):
        """SIGUSR2 is then what begins and ends the recording; a snapshot is asked for by its command."""
        process = self.start("record", "--last", "60s", "--start-on-signal", "--", PROGRAM, "init", "steps=50", "pid",
                             "started", "sleep=300", "steps=70", "settle", "pid", "sleep=40000", watch=False)
        process.stdout.readline()
        process.send_signal(signal.SIGUSR2)
        process.stdout.readline()
        self.assertEqual(self.run_pdhost("snapshot", str(process.pid), watch=False)[0], 0)
        self.read_until(process, "steps 0 to 69 (70)")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    def test_the_command_line(self):
        for words in (("--last", "0"), ("--last", "2000"), ("--last", "x"), ("--last", "10s", "--steps", "5")):
            code, _, err = self.run_pdhost("record", *words, "--", "true", watch=False)
            self.assertEqual(code, 2, err)


if __name__ == "__main__":
    unittest.main()

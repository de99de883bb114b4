"""The scripts for a GPU machine, as far as a machine without one can tell: options, what bench/peer/run.py and
gpu-fallbacks make of a pdhost and a PyTorch that are played here, and what gpu-scenarios makes of traces."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest.mock

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
RUN = os.path.join(ROOT, "bench", "peer", "run.py")

# Plays pdhost: figures of its own making, of the run's length; modes by its file's name.
PDHOST = r'''#!{python}
import json, os, sys, time
words, keys = sys.argv[1:], dict(w.split("=", 1) for w in sys.argv[1:] if "=" in w)
steps = int(keys.get("schedule.active", 3))
events, strict = "device.cupti_library" in keys, keys.get("run.require_cupti") == "true"
if "CUDA_INJECTION64_PATH" in os.environ:
    print("bare CUPTI: 7 device records")
# A step of 1 ms that a profiler makes longer by 1 ms, and bare CUPTI by 0.8.
slow = 800000 if "CUDA_INJECTION64_PATH" in os.environ else 1000000 if keys.get("profile.timer_only") == "false" else 0
rows = [{{"phase": "active", "step_time_ns": 1000000 + slow + i, "data_wait_ns": 1, "end_realtime_ns": time.time_ns()}}
        for i in range(steps)]
window = {{"counts": {{"calls": 8 * steps, "activities": (9 if "tiny_ops" in words else 4) * steps}},
          "steps": [0] * steps, "coverage": 1, "recording_cost": {{"twin_rounds": 4 if "schedule.twin" in keys else None}}}}
os.makedirs(keys["run.trace_dir"], exist_ok=True)
with open(os.path.join(keys["run.trace_dir"], "w.pt.trace.json"), "w") as file:
    json.dump({{"traceEvents": [{{"ph": "X"}}]}}, file)
note = "CUPTI cannot be loaded: " + keys.get("device.cupti_library", "")
json.dump({{"coverage": None if events else 1.0, "profile": "events" if events else "full", "profile_note": note,
           "step_rows": rows, "windows": [window], "batch_size": 64,
           "device": {{"is_cuda": {is_cuda}, "name": "played"}}}}, open(keys["sink.json.output_json"], "w"))
if events:
    print(note, file=sys.stderr)
if "-c" in words:
    print("threads: left out", file=sys.stderr)
if strict:
    print("require_cupti", file=sys.stderr)
    sys.exit(6)
'''
# Plays pdhost record: runs the command, and writes figures as PLAYED says.
RECORD = f"#!{sys.executable}" + r'''
import json, os, subprocess, sys
words, how = sys.argv[1:], json.loads(os.environ["PLAYED"])
done = subprocess.run(words[words.index("--") + 1:], capture_output=True, text=True)
print(how.get("says", done.stdout), end="")
if "steps" in how:
    verdict = {"tables": {"verdict": {"rows": [{"verdict_cause": "none"}]}}}
    json.dump({"coverage": how.get("coverage", 1), "lost": {"ring": how.get("lost", 0)}, "notes": [],
               "step_rows": [0] * how["steps"], "windows": [verdict] * how.get("windows", 1)},
              open(next(word for word in words if word.startswith("json:")).split("=")[1], "w"))
sys.exit(how.get("code", done.returncode))
'''
IDLE = "#!/bin/sh\necho 'added per launch: pdhost 900 ns, bare CUPTI 1000 ns (0.90x)'\n"
# Plays bench/peer/profiler_peer.py, and notes each of its commands.
PEER = r'''
import json, os, sys
with open(os.path.join(os.path.dirname(__file__), "commands"), "a") as log:
    for line in sys.stdin.read().splitlines():
        log.write(line + "\n")
        print(json.dumps({"median_ms": 4.0, "start_to_first_step_s": 9.0, "samples_per_s": 10.0,
                          "cost_per_kernel_us": 5.0, "trace_bytes": 10, "trace_events": 2,
                          "last_step_to_closed_s": 20.0} if "--workers 8" not in line else {"error": "no workers"}))
    log.write("end\n")
'''


class GpuScripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pdhost gpu scripts ")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file("bench/bench_cupti_idle", IDLE)
        self.file("peer.py", PEER)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def pdhost(self, is_cuda=True):
        return self.file("bin/pdhost", PDHOST.format(python=sys.executable, is_cuda=is_cuda))

    def run_it(self, *command, **rest):
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=self.folder, **rest)

    def peer(self, *words):
        done = self.run_it(sys.executable, "-B", RUN, "--pdhost", self.pdhost(), "--out", self.folder,
                           "--peer", os.path.join(self.folder, "peer.py"), "--steps", "3", *words)
        return done, {line[:40].rstrip(): line[40:] for line in done.stdout.splitlines()}

    def test_an_option_without_its_value_is_told(self):
        for script in ("gpu-check", "gpu-pack"):
            for option in ("--out", "--build"):
                done = self.run_it(os.path.join(ROOT, "scripts", script), option)
                self.assertEqual((done.returncode, done.stderr), (2, f"{script}: {option} needs a value\n"))

    def test_peer_rows_that_do_not_exist_are_refused(self):
        done, _ = self.peer("--only", "tiny_ops,profilling")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--only profilling: there is no such row", done.stderr)

    def test_peer_one_round_has_no_spread(self):
        done, rows = self.peer("--rounds", "1", "--only", "plain amp$,launches")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 round ", rows["plain amp"])
        self.assertEqual(set(rows) - {""}, {"plain amp", "launches recorded"})

    def test_peer_every_row_is_in_every_round_and_pytorch_one_process_a_round(self):
        done, rows = self.peer("--rounds", "2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED loader, 8 workers: Failed: no workers", done.stdout)
        with open(os.path.join(self.folder, "commands"), encoding="utf-8") as file:
            processes = file.read().split("end\n")[:-1]
        self.assertEqual(len(processes), 2)
        self.assertEqual(processes[0].splitlines()[:-1], processes[1].splitlines()[:-1])
        self.assertTrue(processes[0].startswith("steps --scenario plain --steps 1 --warmup 0\n"))
        self.assertEqual([process.splitlines()[-1] for process in processes],
                         ["profile --scenario tiny_ops --steps 60", "profile --scenario tiny_ops --steps 3 --no-table"])
        with open(os.path.join(self.folder, "peer.json"), encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual({row["name"]: row["rounds"] for row in found["rows"]}, dict.fromkeys(
            [row["name"] for row in found["rows"]], 2))
        self.assertGreaterEqual(len(found["rows"]), 14 + 6)
        for name in ("plain fp32", "launches recorded", "graph, each further kernel", "loader, 2 workers",
                     "profiling, per kernel", "last of 60 steps to files closed", "start to first step done"):
            self.assertRegex(rows[name], r"\d-\d", name)
        self.assertEqual(rows["plain fp32"].split(),
                         ["1.000", "4.000", "4.000", "ms", "0.250", "0.250-0.250", "0.500", "met"])
        self.assertIn("20.000", rows["last of 60 steps to files closed"])
        self.assertEqual(rows["profiling, per kernel"].split()[:5], ["125.004", "5.000", "100.000", "us", "25.001"])
        self.assertEqual(rows["profiling, per kernel: to bare CUPTI"].split(),
                         ["125.004", "100.000", "us", "1.250", "1.250-1.250", "1.250", "missed"])

    def test_fallbacks(self):
        script = os.path.join(ROOT, "scripts", "gpu-fallbacks")
        done = self.run_it(sys.executable, "-B", script, "--pdhost", self.pdhost(), "--out", self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.run_it(sys.executable, "-B", script, "--pdhost", self.pdhost(is_cuda=False), "--out", self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED a CPU file under --device cuda: ran on played", done.stdout)

    def test_sanitize_keeps_two_tools_from_programs_of_the_libraries(self):
        self.file("bin/compute-sanitizer", '#!/bin/sh\necho "$@" >>"$PLAYED"\n')
        log = os.path.join(self.folder, "sanitized")
        self.run_it(os.path.join(ROOT, "scripts", "gpu-check"), "--sanitize", "--build", self.folder, "--out",
                    self.folder, env={**os.environ, "PLAYED": log,
                                      "PATH": os.path.join(self.folder, "bin") + ":" + os.environ["PATH"]})
        with open(log, encoding="utf-8") as file:
            suites = [line for line in file if "device_ops/" in line]
        filters = {tool: "batched_matmul" in line for line in suites
                   for tool in ("memcheck", "initcheck", "racecheck") if f"--tool {tool} " in line}
        self.assertEqual(filters, {"memcheck": False, "initcheck": True, "racecheck": True}, suites)

    def test_a_check_cut_off_shows_what_it_has_seen(self):
        for name in ("lib/pdhost/device/cuda.so", "tests/test_goldens", "tests/test_models", "tests/test_cuda_fused",
                     "tests/test_vec_dot", "tests/gpu_cupti", "bench/bench_device_ops", "bench/libpdhost_cupti_bare.so"):
            self.file(name, "#!/bin/sh\n")
        self.file("tests/test_cpu_ops", "#!/bin/sh\nexit 0\n")
        started = os.path.join(self.folder, "started")
        self.file("tests/test_goldens", f"#!/bin/sh\ntouch '{started}'\nexec sleep 60\n")
        self.pdhost()
        running = subprocess.Popen([os.path.join(ROOT, "scripts", "gpu-check"), "--build", self.folder, "--out",
                                    os.path.join(self.folder, "out")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not os.path.exists(started) and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        said, rows = running.communicate(timeout=30)
        self.assertEqual(running.returncode, 128 + signal.SIGTERM, said)
        self.assertRegex(rows, r"(?m)^test_cpu_ops +ok ") # as soon as it ended
        self.assertRegex(said, r"(?m)^test_cpu_ops +ok ")
        self.assertRegex(said, r"(?m)^test_goldens +CUT OFF .* were not run$")
        self.assertNotIn("test_cuda_fused", said)

    @staticmethod
    def load(script):
        loader = importlib.machinery.SourceFileLoader(script.replace("-", "_"), os.path.join(ROOT, "scripts", script))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(module)
        return module

    def scenarios(self):
        return self.load("gpu-scenarios")

    def test_a_job_of_two_ranks_needs_two_gpus(self):
        record = self.load("gpu-record")
        for count in (0, 1, 2): # 0: there is no nvidia-smi
            path = os.path.dirname(self.file("played/nvidia-smi" if count else "played/other", "#!/bin/sh\n" + "echo GPU 0: NVIDIA\n" * count))
            with unittest.mock.patch.dict(os.environ, {"PATH": path}):
                names = [name for name, _, _ in record.jobs(argparse.Namespace(out=self.folder))]
            self.assertEqual("ddp" in names, count > 1, names)

    def test_a_recorded_job_is_held_to_the_same_job_alone(self):
        record = self.load("gpu-record")
        args = argparse.Namespace(pdhost=self.file("bin/pdhost", RECORD), out=self.folder)

        def wrong(how, steps, job="echo 5 ms; exit 3"):
            os.environ["PLAYED"] = json.dumps(how)
            return record.compare(args, "job", ["sh", "-c", job], steps)[1]
        self.assertEqual(wrong({"steps": 98}, 100), [])
        self.assertEqual(wrong({"steps": 1}, 100), [])  # no loop found
        self.assertEqual(wrong({"steps": 200, "windows": 2}, 100), [])
        self.assertEqual(wrong({"steps": 50}, 100), ["50 steps of 100"])
        self.assertEqual(wrong({"steps": 98, "code": 0}, 100), ["exit code 0, alone 3"])
        self.assertEqual(wrong({"steps": 98, "coverage": 0.5, "lost": 7}, 100), ["coverage 0.5", "lost: 7 ring"])
        self.assertEqual(len(wrong({"steps": 98, "says": "other"}, 100)), 1)
        self.assertEqual(wrong({}, 100), ["not recorded: "])
        self.assertEqual(wrong({"steps": 98}, 100, "echo no >&2; exit 1"), ["it ends with 1 by itself: no"])

    def failures_of(self, kernels):
        """What gpu-scenarios says of a trace with a launch and a kernel of each (name, microseconds after it)."""
        scenarios, events = self.scenarios(), []
        for i, (name, later) in enumerate(kernels):
            args = {"correlation": i}
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 10 * i, "args": args},
                       {"ph": "X", "cat": "kernel", "name": name, "ts": 10 * i + later, "args": args}]
        path = self.file("w.pt.trace.json", json.dumps({"traceEvents": events}))
        with contextlib.redirect_stdout(io.StringIO()):
            calls, records = scenarios.check_trace("played", path)
        self.assertEqual((calls, records), ({"cudaLaunchKernel": len(kernels)}, len(kernels)))
        return scenarios.failures

    def test_scenarios_want_the_losses_of_the_plain_run(self):
        scenarios, asked = self.scenarios(), []

        def run(_args, _folder, _name, _scenario, keys):
            asked.append(keys)
            return {"losses": [7.0] * 11 + [7.0007 if "other" in keys else 7.0]}
        scenarios.run = run
        with contextlib.redirect_stdout(io.StringIO()):
            scenarios.same_losses(None, "", "close", "sync", [], ["other"], 1e-3)
            scenarios.same_losses(None, "", "apart", "sync", [], ["other"], 1e-5)
        self.assertEqual(scenarios.failures, ["apart: losses differ by 1.0e-04, wanted 1e-05"])
        self.assertEqual(["other" in keys for keys in asked], [False, True, True])
        scenarios.run = lambda *_: None
        with contextlib.redirect_stdout(io.StringIO()):
            scenarios.same_losses(None, "", "ended", "tiny_ops", [], ["other"], 1e-3)
        self.assertEqual(scenarios.failures[1:], ["ended: 0 losses of 12"])

    def test_scenarios_want_demangled_names_and_kernels_behind_their_launch(self):
        good, library = ("void add<float>(float*)", 2), ("sm80_xmma_fprop_implicit_gemm_kernel__5x_cudnn", 3)
        self.assertEqual(self.failures_of([good, library]), [])
        self.assertEqual(self.failures_of([good, ("_Z3addPf", 2)]),
                         ["played: 1 kernels with a mangled name, as ['_Z3addPf']"])
        self.assertEqual(self.failures_of([library]), ["played: no kernel with a demangled name"])
        self.assertEqual(self.failures_of([good, ("empty()", -1)]),
                         ["played: 1 of 2 records begin before their call, or have none"])

    def test_a_dial_is_wrong_by_the_median_of_its_runs(self):
        """Plays a pdhost whose second dial is 9 % off in two of three runs; so is the third, whose intervals are wide."""
        pdhost = self.file("bin/pdhost", f"#!{sys.executable}" + r"""
import json, os, sys
keys = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
if sys.argv[1] == "list":
    sys.exit(print(json.dumps({"scenarios": [{"name": "control"}, {"name": "slow_clock"}]})))
path = os.path.join(os.path.dirname(__file__), "runs")
with open(path, "a", encoding="utf-8") as file:
    file.write("x")
dial = keys.get("scenario.inject_us", keys.get("scenario.inject_share"))
error = 9 if dial in ("10000", "0.2") and os.path.getsize(path) % 3 else -1
wide = 20 if dial == "0.2" else 2
os.makedirs(os.path.join(keys["run.trace_dir"], "truth"))
with open(os.path.join(keys["run.trace_dir"], "truth", "truth.json"), "w", encoding="utf-8") as file:
    json.dump({"dial_error_percent": error, "dial_error_low_percent": error - wide,
               "dial_error_high_percent": error + wide}, file)
""")
        done = self.run_it(sys.executable, "-B", os.path.join(ROOT, "scripts/check-dials"), "--pdhost", pdhost, "--runs", "3",
                           "--out", os.path.join(self.folder, "dials.json"))
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual([re.sub(r".*%", "", line).strip() for line in lines[1:5]], ["", "WRONG", "not known", ""], done.stdout)
        self.assertEqual(lines[-1], "2 of 4 dials are within 5 %, 1 are not known")
        with open(os.path.join(self.folder, "dials.json"), encoding="utf-8") as file:
            self.assertEqual([row["median_percent"] for row in json.load(file)["rows"]], [-1, 9, 9, -1])

    def figures(self):
        """What scripts/figures makes of the folder out, by name."""
        done = self.run_it(sys.executable, "-B", os.path.join(ROOT, "scripts/figures"), "gpu", os.path.join(self.folder, "out"),
                           os.path.join(self.folder, "figures.json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.folder, "figures.json"), encoding="utf-8") as file:
            return {row["what"]: (row["value"], row["goal"]) for row in json.load(file)["figures"]}

    def test_figures_of_several_ranks(self):
        self.file("out/ranks.txt", "bus bandwidth, 83.7 MB             ok      276.1 GB/s, plain loop 272.3 (307 us), +1.4 %\n"
                                   "runs of known cause                FAILED  21 of 28 runs are right\n")
        self.file("out/series.log", "ok     GPU NVLink sent 43.4 GB/s, all-reduces 43.2 GB/s\n")
        rows = self.figures()
        self.assertEqual(rows["runs of known cause right, 28"], (75, "100 %"))
        self.assertAlmostEqual(rows["NVLink, sent in the series to the bytes of the all-reduces"][0], 43.4 / 43.2)

    def test_figures_of_dials_count_those_that_failed(self):
        """One of three is too far off, and one has no median, since a run failed: one is right."""
        said = [{"scenario": name, "median_percent": median, "right": right} for name, median, right in
                (("sync", 1.5, True), ("sync", -5.5, False), ("slow_clock", None, False))]
        what = "dials within 5 % of what was asked for, of 3 of 2 scenarios"
        self.file("out/dials.json", json.dumps({"rows": said}))
        self.assertEqual(self.figures(), {what: (1, "all 3"), what + ", largest median error": (5.5, None)})
        figures = self.load("figures")
        ((_, line),) = figures.page_rows(figures.dials_figures({"rows": said}), False)
        self.assertEqual(line, f"| {what} | 1; 5.5 % off at most |  | all 3 | `scripts/check-dials` |")
        self.file("out/dials.json", json.dumps({"rows": said[2:]}))
        self.assertEqual(self.figures(), {what.replace("of 3 of 2", "of 1 of 1"): (0, "all 1")})

    def energy(self, joules, counted=2000.0, step=None, sample=None):
        """What gpu-fallbacks says of a run of 4 steps in 20 s that used so much, and whether it is content."""
        fallbacks, begun_ns = self.load("gpu-fallbacks"), 10 ** 18

        class Counter(fallbacks.Counter):
            def __init__(self):
                super().__init__()
                self.times_ns, self.joules = [begun_ns, begun_ns + 20 * 10 ** 9], [500.0, 500.0 + counted]

            def read(self):
                return not self.is_alive()
        batch = fallbacks.ENERGY_BATCH
        rows = [{"end_realtime_ns": begun_ns + 5 * 10 ** 9 * (i + 1), "batch_cost_ns": 5 * 10 ** 9} for i in range(4)]
        fallbacks.Counter = Counter
        fallbacks.run = lambda *_: (0, "", {"step_rows": rows, "energy_j": joules,
                                            "energy_j_per_step": joules / 4 if step is None else step,
                                            "energy_j_per_sample": joules / 4 / batch if sample is None else sample})
        with contextlib.redirect_stdout(io.StringIO()) as said:
            fallbacks.check_energy(None, "")
        return said.getvalue(), not fallbacks.failures

    def test_energy_is_held_to_the_counter_and_to_its_steps(self):
        self.assertTrue(self.energy(2020.0)[1])
        self.assertFalse(self.energy(2200.0)[1], "10 % more than the counter")
        self.assertFalse(self.energy(2020.0, step=2020.0)[1])
        self.assertFalse(self.energy(2020.0, sample=2020.0 / 4)[1])
        self.assertIn("FAILED energy of a step: 505 J, of a sample: 505 J", self.energy(2020.0, sample=2020.0 / 4)[0])

    def test_figures_of_energy(self):
        self.file("out/fallbacks.log", self.energy(2020.0)[0] + "0 failures\n")
        self.assertEqual(self.figures(), {"energy of 20.0 s of steps, to what NVML counts beside them": (1.01, "0.98 to 1.02")})

    def test_dials_leave_their_figures(self):
        """gpu-check --dials with a scenario that is right and one of which each run fails."""
        self.file("bin/pdhost", f"#!{sys.executable}" + r"""
import json, os, sys
keys = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
if sys.argv[1] == "list":
    sys.exit(print(json.dumps({"scenarios": [{"name": "host_compute"}, {"name": "sync"}]})))
if "sync" in sys.argv or sys.argv[sys.argv.index("--device") + 1] != "cuda":
    sys.exit(5)
os.makedirs(os.path.join(keys["run.trace_dir"], "truth"))
with open(os.path.join(keys["run.trace_dir"], "truth", "truth.json"), "w", encoding="utf-8") as file:
    json.dump({"dial_error_percent": -2, "dial_error_low_percent": None, "dial_error_high_percent": None}, file)
""")
        done = self.run_it(os.path.join(ROOT, "scripts/gpu-check"), "--dials", "--build", self.folder, "--out",
                           os.path.join(self.folder, "out"))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^dials +FAILED ")
        what = "dials within 5 % of what was asked for, of 7 of 2 scenarios"  # a time is asked for twice, an effect once
        self.assertEqual(self.figures(), {what: (4, "all 7"), what + ", largest median error": (2, None)})

    def test_scripts_compile_and_say_what_they_do(self):
        for script in ("scripts/gpu-scenarios", "scripts/gpu-fallbacks", "scripts/gpu-record", "scripts/gpu-series",
                       "scripts/check-dials", "bench/peer/run.py"):
            done = self.run_it(sys.executable, "-B", os.path.join(ROOT, script), "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(ROOT, "bench", "peer", "profiler_peer.py"), encoding="utf-8") as file:
            compile(file.read(), "profiler_peer.py", "exec")


if __name__ == "__main__":
    unittest.main()

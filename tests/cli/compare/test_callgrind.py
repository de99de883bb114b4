"""[benchmark] callgrind: what Callgrind itself counts, and by a script in its place what may go wrong."""
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

from pdhost_run import CONF, PDHOST, SANITIZER, SMALL, Case

SCHEMA = os.path.join(CONF, "..", "docs", "schema", "measurements.schema.json")
TOOLS = os.path.join(CONF, "..", ".venv", "tools", "bin", "python")
# 7: measured, and too noisy to trust, which is the machine's doing.
MEASURED = (0, 7)
VALGRIND = shutil.which("valgrind")
# Finds out where to write.
PLAYED = """#!/bin/sh
set -e
for word in "$@"; do case $word in --callgrind-out-file=*) out=${word#*=} ;; esac; done
"""
EMPTY = "creator: callgrind-9\nevents: Ir\nob=/b/x\nfn=loop\n1 40\ntotals: 40\n"
STEPS = "creator: callgrind-9\nevents: Ir\nob=/b/x\nfn=loop\n1 140\nob=/b/y.so\nfn=step|one\n1 {}\ntotals: {}\n"
COUNTS = f"printf '{EMPTY}' >$out.1\n" + "".join(
    f"printf '{STEPS.format(count, count + 140)}' >$out.{i}\n" for i, count in ((2, 3000), (3, 5000), (4, 4000)))


class Callgrind(Case):
    def count(self, *arguments, played=None, name="out.json", scenario="control", begin=None, env=None, command=()):
        """Counts with the script `played` in valgrind's place."""
        os.makedirs(self.path("tmp"), exist_ok=True)
        env = {"TMPDIR": self.path("tmp"), **(env or {})}
        if played is not None:
            os.makedirs(self.path("bin"), exist_ok=True)
            with open(self.path("bin/valgrind"), "w", encoding="utf-8") as file:
                file.write(PLAYED + played)
            os.chmod(self.path("bin/valgrind"), stat.S_IRWXU)
            env["PATH"] = self.path("bin") + os.pathsep + os.environ["PATH"]
        output = [] if command else ["-o", f"benchmark.output={name}"]
        return (begin or self.run_pdhost)(*command, *SMALL, "--scenario", scenario, "--mode", "benchmark", *output, "-o",
                     "benchmark.min_run_time=0.02", "-o", "benchmark.max_warmup_time=0", "-o", "benchmark.callgrind=10",
                     *arguments, watch=False, env=env)

    def counted(self, name="out.json"):
        return self.json(name)["measurements"][0]["instructions"]

    def assert_times_alone(self, result, said, code=8):
        """One error line, the times are there, nothing was counted, nothing is left behind."""
        actual, out, err = result
        self.assertEqual(actual, code, err)
        if said is not None:
            self.assertEqual(len(self.errors(err)), 1, err)
            self.assertRegex(self.errors(err)[0], rf"^pdhost: error: benchmark\.callgrind: {said}; no instructions are "
                             "counted, the times stand$")
        self.assertIn("measurement of control", out)
        self.assertNotIn("Instructions:", out)
        self.assertNotIn("counts instructions", err)
        row = self.json("out.json")["measurements"][0]
        self.assertEqual((row["instructions"], row["partial"]), (None, False))
        self.assertEqual(os.listdir(self.path("tmp")), [])

    # ---- played ----

    def test_the_counts_are_those_of_the_files(self):
        played = COUNTS + "printf '%s\\n' \"$@\" >$TMPDIR/../words; env >$TMPDIR/../env\n"
        code, out, err = self.count("-o", "scenario.inject_us=5", "--seed", "7", played=played, scenario="host_compute")
        self.assertIn(code, MEASURED, err)
        self.assertEqual(self.counted(), {
            "tool": "callgrind-9", "steps": 10, "counts": [3140, 5140, 4140], "baseline": 40,
            "step": {"median": 410, "min": 310, "max": 510},
            "functions": [{"name": "step|one", "object": "y.so", "count": 4000}, {"name": "loop", "object": "x", "count": 100}]})
        self.assertIn("\n  Instructions: 410 a step (310 to 510 in 3 counts), 10 steps a count, callgrind-9\n"
                      "             400  97.6 %  step|one [y.so]\n"
                      "              10   2.4 %  loop [x]\n", out)
        self.assertEqual(os.listdir(self.path("tmp")), [])
        with open(self.path("words"), encoding="utf-8") as file:
            words = file.read().splitlines()
        # The program that is counted has the same keys, and no files to read once more.
        for word in ("scenario.inject_us=5", "run.seed=7", "benchmark.callgrind=10", "run.device=cpu", "device.threads=1"):
            self.assertEqual(words[words.index(word) - 1], "-o", words)
        self.assertNotIn("-c", words)
        with open(self.path("env"), encoding="utf-8") as file:
            env = file.read().splitlines()
        self.assertIn("OMP_WAIT_POLICY=PASSIVE", env)

    def test_the_file_fits_the_schema(self):
        if not os.path.exists(TOOLS):
            self.skip("no .venv/tools; scripts/tools-venv makes it")
        code, _, err = self.count(played=COUNTS)
        self.assertIn(code, MEASURED, err)
        check = "import json, sys, jsonschema; jsonschema.validate(*(json.load(open(path)) for path in sys.argv[1:]))"
        subprocess.run([TOOLS, "-c", check, self.path("out.json"), SCHEMA], check=True, stdout=sys.stderr)

    def test_what_goes_wrong_leaves_the_times(self):
        os.makedirs(self.path("none"))
        self.assert_times_alone(self.count(env={"PATH": self.path("none")}),
                                "valgrind was not found; install it, or leave benchmark.callgrind out")
        one = f"printf '{EMPTY}' >$out.1\n"
        for played, said in (
                ("echo 'valgrind: no such tool' >&2; echo >&2; exit 3",
                 "the step under Callgrind ended with code 3: valgrind: no such tool"),
                ("exit 1", "the step under Callgrind ended with code 1: it said nothing; is there room in .*/pdhost-callgrind-.*"),
                ("kill -SEGV $$", r"the step under Callgrind was ended by signal 11 \(Segmentation fault\): it said nothing; is there .*"),
                ("exit 0", r"Callgrind's count cannot be read: .*/out\.1: No such file or directory"),
                (one + "exit 0", r"Callgrind's count cannot be read: .*/out\.2: No such file or directory"),
                ("echo nonsense >$out.1", r"Callgrind's count cannot be read: .*/out\.1:1: \"nonsense\" is not a line of Callgrind"),
                ("echo events: Ir >$out.1",
                 r"Callgrind's count cannot be read: .*/out\.1:1: ends without a line \"totals:\": it was cut short; is the disk full\?")):
            with self.subTest(played=played):
                self.assert_times_alone(self.count(played=played), said)

    def test_the_time_limit_ends_it(self):
        result = self.count("-o", "benchmark.callgrind_max_time=0.2", played="exec sleep 100")
        self.assert_times_alone(result, r"not done after 0\.2 s; give it fewer steps, or a longer benchmark\.callgrind_max_time")

    def test_an_interrupt_ends_what_counts(self):
        process = self.count(played='echo $$ >"$TMPDIR/../new"; mv "$TMPDIR/../new" "$TMPDIR/../pid"; exec sleep 100', begin=self.start)
        self.await_file("pid")
        process.send_signal(signal.SIGINT)
        result = self.ended(process)
        self.assert_times_alone(result, None, code=130)
        self.assertIn("pdhost: SIGINT: no instructions are counted, the times stand\n", result[2])
        with open(self.path("pid"), encoding="utf-8") as file:
            self.assertRaises(ProcessLookupError, os.kill, int(file.read()), 0)

    def test_nobody_counts_for_one_that_was_killed(self):
        # The program itself, begun by a script that waits for the end of what began that one.
        played = 'while case $1 in -*) true ;; *) false ;; esac; do shift; done\n' \
            'echo $PDHOST_CALLGRIND_CHILD >"$TMPDIR/../new"; mv "$TMPDIR/../new" "$TMPDIR/../pid"\n' \
            'while kill -0 $PDHOST_CALLGRIND_CHILD 2>"$TMPDIR/../said"; do sleep 0.02; done\n' \
            'code=0; "$@" || code=$?; echo $code >"$TMPDIR/../new"; mv "$TMPDIR/../new" "$TMPDIR/../code"\n'
        process = self.count(played=played, begin=self.start)
        with open(self.await_file("pid"), encoding="utf-8") as file:
            self.assertEqual(int(file.read()), process.pid)
        process.kill()
        self.ended(process)
        with open(self.await_file("code"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "1\n")

    def await_file(self, name):
        """The path of a file, once it is there."""
        for _ in range(400):
            if os.path.exists(self.path(name)):
                break
            time.sleep(0.05)
        return self.path(name)

    def test_a_terminal_shows_that_it_counts(self):
        terminal, end = pty.openpty()

        def begin(*arguments, env, **_):
            return subprocess.Popen([PDHOST, *arguments], cwd=self.folder, env=dict(os.environ, NO_COLOR="1", **env),
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=end)

        process = self.count(played="sleep 1; exit 1", begin=begin)
        os.close(end)
        self.assertEqual(process.wait(timeout=100), 8)
        shown = b""
        while chunk := self.read_end(terminal):
            shown += chunk
        os.close(terminal)
        self.assertIn(b"\r\033[Kcontrol: Callgrind counts instructions, at most 10 min 0 s left", shown)
        self.assertRegex(shown, rb"left\r\033\[Kpdhost: error: benchmark.callgrind: the step under Callgrind ended with code 1")

    def read_end(self, terminal):
        """What is left to read; nothing where the other end is closed."""
        try:
            return os.read(terminal, 65536)
        except OSError:
            return b""

    def test_a_sweep_counts_each_cell(self):
        played = f"printf '{EMPTY}' >$out.1\nfor word in \"$@\"; do case $word in run.seed=*) seed=${{word#*=}} ;; esac; done\n" \
            f"for i in 2 3 4; do printf '{STEPS.format('%s0', '%s140')}' $seed $seed >$out.$i; done\n"
        code, out, err = self.count("--vary", "run.seed=5,7", "--format", "none", played=played, command=["sweep"])
        self.assertIn(code, MEASURED, out + err)
        self.assertEqual([row["instructions"] for row in self.rows(self.path("results/sweep/sweep.csv"))], ["510", "710"])

    def test_a_sweep_says_once_what_keeps_every_cell_from_counting(self):
        os.makedirs(self.path("none"))
        code, _, err = self.count("--vary", "run.seed=5,7", "--format", "none", env={"PATH": self.path("none")}, command=["sweep"])
        self.assertEqual((code, len(self.errors(err)), err.count("valgrind was not found")), (8, 1, 1), err)
        self.assertEqual(len(self.rows(self.path("results/sweep/sweep.csv"))), 2)

    def test_a_sweep_keeps_the_times_of_what_was_not_counted(self):
        code, out, err = self.count("--vary", "run.seed=5,7", played="exit 1", command=["sweep"])
        self.assertEqual(code, 8, out + err)
        self.assertEqual(len(self.errors(err)), 2, err)
        self.assertIn("run.seed=5/log: pdhost: error: benchmark.callgrind: the step under Callgrind ended with code 1", err)
        rows = self.rows(self.path("results/sweep/sweep.csv"))
        self.assertEqual([(row["instructions"], float(row["median_s"]) > 0) for row in rows], [("", True)] * 2)
        # Where valgrind works at last, they are not there already.
        code, out, err = self.count("--vary", "run.seed=5,7", played=COUNTS, command=["sweep"])
        self.assertIn(code, MEASURED, out + err)
        self.assertEqual([row["instructions"] for row in self.rows(self.path("results/sweep/sweep.csv"))], ["410"] * 2)

    def test_keys_that_cannot_be(self):
        for keys, said in ((["callgrind=-1"], "out of range"), (["callgrind=1000001"], "out of range"),
                           (["callgrind_repeats=0"], "out of range"), (["callgrind_max_time=0"], "out of range")):
            arguments = [part for key in keys for part in ("-o", f"benchmark.{key}")]
            self.assert_fails(self.count(*arguments), 3, said)
        # Without the CPU device's own keys.
        cuda = ("--scenario", "control", "--device", "cuda", "--mode", "benchmark", "-o", "benchmark.callgrind=10")
        self.assert_fails(self.run_pdhost(*cuda), 3, "[benchmark] callgrind = 10: CUDA's driver does not run "
                          "under Callgrind; give --device cpu, or leave it out")

    def test_the_dry_run_says_it(self):
        code, out, err = self.count("--dry-run")
        self.assertEqual(code, 0, err)
        self.assertIn("; then Callgrind counts 10 steps, 3 times\n", out)

    # ---- Callgrind itself ----

    def vec_dot(self, name, batch, env=None):
        """Counts by the real one, whose files are kept."""
        kept = self.path(name)
        os.makedirs(kept)
        code, out, err = self.count("-o", f"scenario.batch={batch}", scenario="vec_dot", name=name + ".json", env=env,
                                    played=f'{VALGRIND} "$@"; code=$?; cp "$TMPDIR"/*/out.* "{kept}"; exit $code\n')
        self.assertIn(code, MEASURED, err)
        self.assertEqual(os.listdir((env or {}).get("TMPDIR", self.path("tmp"))), [])
        return self.counted(name + ".json"), out

    def assert_as_in_files(self, name, counted):
        """Each count and function as a reading of its own has it: costs of lines that are no call's."""
        totals = []
        for i in range(1, 5):
            with open(self.path(f"{name}/out.{i}"), encoding="utf-8") as file:
                text = file.read()
            self.assertIn("desc: Trigger: --dump-after=pdhost_counted_steps", text)
            totals.append(int(re.search(r"^totals: (\d+)$", text, re.M)[1]))
        self.assertEqual((counted["baseline"], counted["counts"]), (totals[0], totals[1:]))
        self.assertAlmostEqual(counted["step"]["median"], (sorted(totals[1:])[1] - totals[0]) / 10)
        # The functions' own make up the whole, but for a few instructions around the call.
        whole = sum(function["count"] for function in counted["functions"])
        self.assertAlmostEqual(whole / 10, counted["step"]["median"], delta=100)

    def test_real_counts(self):
        first, out = self.vec_dot("first", 1000)
        self.assert_as_in_files("first", first)
        self.assertRegex(first["tool"], r"^callgrind-3\.")
        # A step does its work in the device's own thread: it counts too.
        self.assertEqual([function["object"] for function in first["functions"][:2]], ["cpu.so", "cpu.so"])
        self.assertEqual({function["name"] for function in first["functions"][:2]}, {"run_mul", "run_sum_rows"})
        self.assertIn("a step (", out)
        spread = first["step"]["max"] - first["step"]["min"]
        self.assertLess(spread, 0.01 * first["step"]["median"])
        # What Valgrind is told elsewhere does not count, and %p in a path is no process for it.
        os.makedirs(self.path("100 %p"))
        again, _ = self.vec_dot("again", 1000, env={"VALGRIND_OPTS": "--instr-atstart=no", "TMPDIR": self.path("100 %p")})
        self.assertAlmostEqual(again["step"]["median"] / first["step"]["median"], 1, delta=0.01)
        twice, _ = self.vec_dot("twice", 2000)
        self.assertAlmostEqual(twice["step"]["median"] / first["step"]["median"], 2, delta=0.05)
        # Empty loops have no vectors.
        self.assertAlmostEqual(twice["baseline"] / first["baseline"], 1, delta=0.2)

    def test_the_real_one_leaves_nothing_when_it_is_ended(self):
        result = self.count("-o", "benchmark.callgrind=1000000", "-o", "benchmark.callgrind_max_time=1.5")
        self.assert_times_alone(result, r"not done after 1\.5 s; .*")

    def test_a_build_with_a_sanitizer_says_so(self):
        result = self.count(played=None if VALGRIND and SANITIZER == "address" else "exit 1")
        self.assert_times_alone(result, "the step under Callgrind .*")
        self.assertRegex("\n".join(self.warnings(result[2])), "benchmark.callgrind: this build has a sanitizer, which may ")


if __name__ == "__main__":
    # Each kind of build has one of them, and the played ones.
    if not VALGRIND or SANITIZER:
        del Callgrind.test_real_counts, Callgrind.test_the_real_one_leaves_nothing_when_it_is_ended
    if not SANITIZER:
        del Callgrind.test_a_build_with_a_sanitizer_says_so
    if not VALGRIND:
        print("SKIPPED: cli.callgrind: valgrind is not installed: only a script in its place was run", file=sys.stderr)
    unittest.main()

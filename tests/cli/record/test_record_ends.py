"""pdhost record: however the program or its report ends, what was recorded is reported or kept."""
import glob
import os
import signal
import subprocess
import sys
import time
import unittest

from pdhost_run import PDHOST, SANITIZER, SMALL, named_child, wait_for
from record_case import MISDEED, PROGRAM, Record


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

    def test_without_shared_memory(self):
        """Nothing can be made in /dev/shm, as in a container without it: runs and recordings go on elsewhere."""
        inside = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o ro none /dev/shm && exec "$@"', "sh"]
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            self.skip("this user may not mount")
        for words in ([PDHOST, "record", "--sink", "json:output_json=out.json", "--", PROGRAM, "init", "steps=50", "settle"],
                      [PDHOST, *SMALL, "--scenario", "control", "--sink", "json:output_json=out.json"]):
            done = subprocess.run([*inside, *words], cwd=self.folder, capture_output=True, text=True, timeout=100, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual([line for line in self.warnings(done.stderr) if "memory" in line], [])
            self.assertEqual(sum(self.json("out.json")["lost"].values()), 0)
            os.remove(self.path("out.json"))

    def test_the_last_moment_is_lost_at_most(self):
        _, _, figures = self.record("init", "steps=2000", "kill=9")[1:]
        self.assertIsNotNone(figures)

    def test_a_context_that_ends(self):
        self.recorded("init", "steps=50", "context", "settle", "_exit=0", steps=50)

    def test_contexts_that_end_while_the_recorder_flushes(self):
        """CUPTI does not say that two flushes may run at a time."""
        words = ["context", "sleep=3"] * 60
        out, _, _ = self.recorded("init", "steps=50", "settle", "slow_flush=40", *words, "at_a_time", "slow_flush=0", "settle",
                                  "_exit=0", steps=50)
        self.assertEqual(out, "0\n")

    def test_a_flush_that_does_not_return_holds_neither_a_context_nor_the_end_up(self):
        """Nor does a clock that is set meanwhile."""
        begun = time.monotonic()
        self.recorded("init", "steps=50", "settle", "slow_flush=60000", "sleep=600", "clock=3600", "context", "exit=3",
                      steps=50, code=3)
        self.assertLess(time.monotonic() - begun, 30)

    def test_a_flush_of_the_programs_that_does_not_return_does_not_hold_the_recorder_up(self):
        """It still takes what is recorded, and stops when it is to."""
        begun = time.monotonic()
        _, _, figures = self.recorded("init", "steps=50", "settle", "slow_flush=60000", "beside", "until_stopped", "exit=3",
                                      steps=50, code=3, options=("--duration", "3s"))
        self.assertLess(time.monotonic() - begun, 30)
        self.assertEqual(sum(figures["lost"].values()), 0)

    def test_contexts_that_end_without_their_flush_are_told_of(self):
        """The first of them has waited in vain; the others do not wait."""
        out, err, figures = self.recorded("init", "steps=50", "settle", "slow_flush=2000", "beside", "slow_flush=0", "end",
                                          *["context"] * 8, "end", "sleep=2500", "settle", "_exit=0", steps=50)
        before, behind = (int(line.split()[1]) for line in out.splitlines())
        self.assertGreater(behind - before, 90e6)
        self.assertLess(behind - before, 500e6)
        self.assertEqual(figures["lost"]["RECORDS_DROPPED"], 8, err)

    def test_a_clock_that_is_set_back_does_not_hold_records_up(self):
        self.recorded("init", "clock=3600", "steps=50", "sleep=1000", "steps=50", "sleep=1500", "_exit=0", steps=100,
                      options=("--host-samples", "none"))

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


    COUNTS = """
import signal, time
wanted = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print("here", flush=True)
until, got = time.monotonic() + 2, 0
while (left := until - time.monotonic()) > 0: got += signal.sigtimedwait(wanted, left) is not None
print(got)
"""

    def counted(self, send):
        """How many signals the program has got."""
        process = self.start("record", "-q", "--", sys.executable, "-c", self.COUNTS, watch=False, start_new_session=True)
        process.stdout.readline()
        send(process.pid)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        return int(out)

    def test_each_signal_reaches_the_program_once(self):
        def to_the_group(pid):
            for _ in range(10):
                os.killpg(pid, signal.SIGINT)
                time.sleep(0.1)
        self.assertEqual(self.counted(to_the_group), 10)
        self.assertEqual(self.counted(lambda pid: os.kill(pid, signal.SIGTERM)), 1)

        def one_after_the_other(pid):
            os.killpg(pid, signal.SIGINT)
            time.sleep(0.7)
            os.kill(pid, signal.SIGINT)
        self.assertEqual(self.counted(one_after_the_other), 2)

        def as_timeout_does(pid):
            os.kill(pid, signal.SIGTERM)
            os.killpg(pid, signal.SIGTERM)
        self.assertEqual(self.counted(as_timeout_does), 1)

    def test_a_signal_reaches_the_program_once_on_a_busy_machine(self):
        """The process that waits for the group's signals gets no processor for a while."""
        def with_a_late_witness(pid):
            with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
                children = file.read().split()
            names = {}
            for child in children:
                with open(f"/proc/{child}/comm", encoding="utf-8") as file:
                    names[file.read().strip()] = int(child)
            witness = names["pdhost signals"]
            os.kill(witness, signal.SIGSTOP)
            os.killpg(pid, signal.SIGINT)
            time.sleep(0.4)
            os.kill(witness, signal.SIGCONT)
        self.assertEqual(self.counted(with_a_late_witness), 1)

    def test_a_program_of_another_group_gets_what_pdhosts_group_got(self):
        command = ("setsid", sys.executable, "-c", self.COUNTS)
        process = self.start("record", "-q", "--", *command, watch=False, start_new_session=True)
        process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.communicate(timeout=60)[0], "1\n")

    def test_kills_at_any_moment(self):
        """The report is written each time, but for a program that was killed before anything had left CUPTI's hands."""
        for wait in (0.02, 0.3, 0.36, 0.45, 0.51, 0.6):
            process = self.start("record", "-q", "--", PROGRAM, "pid", "init", "steps=100000", watch=False)
            pid = int(process.stdout.readline())
            time.sleep(wait)
            os.kill(pid, signal.SIGKILL)
            out, err = process.communicate(timeout=20)
            self.assertEqual(process.returncode, 137, err)
            # On a busy machine the first one has not even initialised CUDA.
            early = "nothing was recorded: " if wait < 0.1 else "nothing was launched before the process ended"
            self.assertTrue("Verdict" in out or early in err, out + err)
            self.assertNotIn("overwrote", err)
            self.assertEqual(glob.glob(self.path("results/record/latest/*.pdcap")), [])


class Killed(Record):
    """pdhost itself is killed."""

    def test_the_program_stops_recording_and_the_next_start_cleans_up(self):
        """The next start of anybody, in the place that all share: it may come before the one of this test, and still be
        removing the folder."""
        process = self.start("record", "-q", "--", PROGRAM, "init", "steps=20", "settle", "pid", "stopped", "say=free",
                             "sleep=60000", watch=False)
        program = int(process.stdout.readline())
        self.addCleanup(os.kill, program, signal.SIGKILL)
        with open(f"/proc/{program}/environ", encoding="utf-8") as file:
            folder = dict(pair.split("=", 1) for pair in file.read().split("\0") if "=" in pair)["PDHOST_RECORD"]
        other = self.start("record", "-q", "--", "sh", "-c", "echo $PDHOST_RECORD; exec sleep 60", watch=False)
        alive = other.stdout.readline().strip()
        self.assertTrue(os.path.isdir(folder), "its pdhost lives")
        process.kill()
        begun = time.monotonic()
        self.assertEqual(process.stdout.readline(), "free\n")
        self.assertLess(time.monotonic() - begun, 25, "the program has waited for 30 s in vain")
        self.assertEqual(self.run_pdhost("record", "-q", "--", "true", watch=False)[0], 0)
        wait_for(lambda: not os.path.exists(folder), f"{folder} is still there")
        self.assertTrue(os.path.isdir(alive), "its pdhost lives")
        other.send_signal(signal.SIGTERM)
        other.communicate(timeout=20)
        process.stdout.close()
        process.stderr.close()


class ReportEnds(Record):
    """What ends the report leaves the recording, no half of a file, and a line with the words that make the report."""

    def hanging(self, *words, sinks=("--sink", "csv", "--sink", f"{MISDEED}:what=loop,at=trace"), options=()):
        """pdhost, whose report has begun its files and does not end."""
        process = self.start("record", *options, *sinks, "--", PROGRAM, *words, watch=False, start_new_session=True)
        wait_for(lambda: named_child(process.pid, "pdhost writer") and self.partial(), "the report is not begun")
        return process

    def partial(self):
        return glob.glob(self.path("**/*.partial"), recursive=True)

    def signal_until_it_ends(self, process, number):
        """What comes right behind the program's end was meant for the program, and is not heard."""
        def ended():
            if process.poll() is None:
                process.send_signal(number)  # the last ones come while it exits
                time.sleep(0.005)
            return process.poll() is not None
        wait_for(ended, "a signal does not end the report")
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

    def test_ranks_say_how_one_of_them_is_read_in_full(self):
        """A recording that is not kept cannot be read."""
        ranks = f"for i in 0 1; do RANK=$i WORLD_SIZE=2 '{PROGRAM}' init reduced=12 settle & done; wait"
        for options, said in (([], "record again with --sink html"), (["-o", "run.keep_capture=true"], "pdhost analyze FILE")):
            code, out, err = self.run_pdhost("record", *options, "--", "sh", "-c", ranks, watch=False)
            self.assertEqual(code, 0, err)
            self.assertIn(f"\nTo read one rank in full: {said}\n", out)
            self.assertRegex(out, r"\n  rank 0     input-bound.*\n  rank 1     input-bound")
        kept = glob.glob(self.path("results/record/latest/*.pdcap"))
        self.assertEqual(len(kept), 2)
        self.assertIn("input-bound", self.run_pdhost("analyze", kept[0], watch=False)[1])

    def test_with_named_steps_and_several_processes(self):
        process = self.hanging("init", "marked=12", "settle", "exec", "init", "marked=12", "settle",
                               options=("--step", "my work", "--out", "my results"))
        _, err = self.signal_until_it_ends(process, signal.SIGINT)
        self.assertIn("--step 'my work' 'my results", self.make_later(err, 24))

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


if __name__ == "__main__":
    unittest.main()

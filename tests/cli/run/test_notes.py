"""What a reader has to know beside the figures is said on the screen, in the JSON document and beside the verdict."""
import os
import signal
import subprocess
import sys
import time
import unittest

from pdhost_run import Case, worker_of

JSON = ("--sink", "table", "--sink", "json:output_json=metrics.json")


class NotesCase(Case):
    def notes(self, result, what):
        """Those that hold `what`, each of which is one warning on the screen."""
        exit_code, _, err = result
        self.assertEqual(exit_code, 0, err)
        texts = [text for text in self.json("metrics.json")["notes"] if what in text]
        for text in texts:
            said = [line for line in err.splitlines() if line.startswith("pdhost: warn: ")]
            self.assertEqual(said.count(f"pdhost: warn: {text}"), 1, err)
        return texts

    def verdict_note(self):
        return self.json("metrics.json")["windows"][0]["tables"]["verdict"]["note"] or ""


class Notes(NotesCase):
    def test_an_injection_that_is_not_the_one_asked_for(self):
        """A sleep of 2 us takes some 60, whatever the machine."""
        result = self.run_small("--scenario", "dataloader", "-o", "data.io_sleep_ms=0.002", "-o", "data.cpu_work=0", *JSON)
        (text,) = self.notes(result, "was to inject")
        self.assertRegex(text, r"^dataloader was to inject 8 us a step and injected \d+ us, \d+ % more: ")

    def test_keys_that_show_what_is_not_recorded(self):
        for asked, needed in (("group_by_input_shape=true", "record_shapes"), ("group_by_stack_n=3", "with_stack"),
                              ("sort_by=self_cpu_memory_usage", "profile_memory")):
            with self.subTest(asked=asked):
                result = self.run_small("--scenario", "control", "-o", "sink.table." + asked, "-o", f"profile.{needed}=false", *JSON)
                (text,) = self.notes(result, "no effect")
                self.assertEqual(text, f"command line: [sink.table] {asked.replace('=', ' = ')}: no effect without [profile] "
                                       f"{needed}; add -o profile.{needed}=true")
                result = self.run_small("--scenario", "control", "-o", "sink.table." + asked, "-o", f"profile.{needed}=true", *JSON)
                self.assertEqual(self.notes(result, "no effect"), [])

    def test_a_log_file_holds_what_the_terminal_does_not_show(self):
        with open(self.path("run.log"), "w", encoding="utf-8") as file:
            file.write("of before\n")
        code, _, err = self.run_small("--scenario", "control", "-q", "--log", "run.log", "-o", "profile.timer_only=true", "-o",
                                      "profile.with_stack=true", *JSON)
        self.assertEqual(code, 0, err)
        with open(self.path("run.log"), encoding="utf-8") as file:
            first, *lines = file.read().splitlines()
        self.assertEqual(first, "of before")
        for line in lines:
            self.assertRegex(line, r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ")
        said = [line.split(" ", 1)[1] for line in lines]
        self.assertIn("--log run.log", said[0])
        self.assertTrue(any(line.startswith("pdhost 1.0.0: control on ") for line in said), said)
        self.assertTrue(any(line.startswith("warn: ") and "no effect with timer_only" in line for line in said), said)
        self.assertIn("pdhost: wrote metrics.json", said)
        self.assertNotIn("control on", err)
        self.assert_fails(self.run_small("--scenario", "control", "--log", "no/such/run.log"), 8, "--log no/such/run.log: No such")

    def test_twice_verbose_says_when(self):
        _, _, err = self.run_small("--scenario", "control", "-vv", *JSON)
        self.assertRegex(err, r"(?m)^\[\d+\.\d{3} s\] pdhost 1\.0\.0: control on ")
        _, _, err = self.run_small("--scenario", "control", "-v", *JSON)
        self.assertRegex(err, r"(?m)^pdhost 1\.0\.0: control on ")

    def test_what_is_recorded_in_vain(self):
        result = self.run_small("--scenario", "control", "-o", "profile.timer_only=true", "-o", "profile.with_stack=true", *JSON)
        (text,) = self.notes(result, "no effect")
        self.assertIn("[profile] with_stack = true: no effect with timer_only = true", text)


class Timing(NotesCase):
    """What the machine's other work changes: not on a machine that does something else."""

    def test_a_process_that_was_stopped(self):
        process = self.start("--device", "cpu", "--scenario", "dataloader", "--batch_size", "4", "--image_size", "16",
                             "--warmup_steps", "0", "-o", "device.threads=1", "-o", "data.io_sleep_ms=10", "-o", "data.cpu_work=10",
                             "-o", "data.num_workers=1", "-o", "schedule.wait=0", "-o", "schedule.warmup=0",
                             "--profile_steps", "80", *JSON)
        time.sleep(1.5)
        whole = (process.pid, worker_of(process.pid)) # as the terminal's key does
        for pid in whole:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(3)
        for pid in whole:
            os.kill(pid, signal.SIGCONT)
        (text,) = self.notes(self.ended(process), "stood still")
        self.assertRegex(text, r"^the process stood still for [23]\.\d s ")
        self.assertRegex(self.verdict_note(), r"Less sure than the resamples say: .*stood still for [23]\.\d s")

    def test_a_machine_whose_cores_are_taken(self):
        """Both have one core together: the other program gets half of it."""
        core = str(min(os.sched_getaffinity(0)))
        hog = subprocess.Popen(["taskset", "-c", core, sys.executable, "-c", "while True: pass"])
        self.addCleanup(hog.wait)
        self.addCleanup(hog.kill)
        result = self.run_small("--scenario", "control", "--image_size", "32", "--profile_steps", "60", *JSON,
                                under=("taskset", "-c", core))
        (text,) = self.notes(result, "other programs")
        self.assertRegex(text, r"^other programs kept [01]\.\d of 1 core busy while the steps ran")
        self.assertIn("other programs kept", self.verdict_note())


if __name__ == "__main__":
    unittest.main()

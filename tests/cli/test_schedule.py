"""Schedules of whole runs: which steps are recorded, in how many windows, by counting rows and files."""
import glob
import unittest

from pdhost_run import Case

JSON = "json:output_json=metrics.json"


class Schedules(Case):
    def record(self, *settings, flags=()):
        keys = [part for setting in settings for part in ("-o", setting)]
        code, _, err = self.run_small("--scenario", "control", *flags, *keys, "--sink", JSON, "--sink", "chrome_trace",
                                      "--trace_dir", "traces")
        self.assertEqual(code, 0, err)
        metrics = self.json("metrics.json")
        self.assertEqual(len(glob.glob(self.path("traces/*.pt.trace.json"))), len(metrics["windows"]))
        recorded = [[step["number"] for step in window["steps"]] for window in metrics["windows"]]
        return metrics["steps"], recorded

    def test_the_default_is_one_window_of_eight(self):
        self.assertEqual(self.record(), (10, [list(range(2, 10))]))

    def test_repeat_gives_windows_of_their_own(self):
        self.assertEqual(self.record("schedule.skip_first=1", "schedule.active=2", "schedule.repeat=2"),
                         (9, [[3, 4], [7, 8]]))

    def test_without_warmup(self):
        self.assertEqual(self.record("schedule.warmup=0", "schedule.active=1"), (2, [[1]]))

    def test_torchs_other_name(self):
        self.assertEqual(self.record(flags=("--profile_steps", "3")), (5, [[2, 3, 4]]))

    def test_a_plain_range(self):
        self.assertEqual(self.record("schedule.range=2:5"), (5, [[2, 3, 4]]))

    def test_for_ever_ends_at_max_steps_within_a_window(self):
        self.assertEqual(self.record("schedule.repeat=0", "schedule.active=2", "run.max_steps=7"), (7, [[2, 3], [6]]))

    def test_record_everything(self):
        self.assertEqual(self.record("schedule.wait=0", "schedule.warmup=0", "schedule.active=all", "run.max_steps=4"),
                         (4, [[0, 1, 2, 3]]))

    def test_no_step_is_recorded(self):
        self.assertEqual(self.record("run.max_steps=1"), (1, []))

    def test_timer_only_records_nothing_and_times_every_step(self):
        code, out, err = self.run_small("--scenario", "control", "-o", "profile.timer_only=true", "--sink", JSON,
                                        "--sink", "table", "-o", "profile.step_info_every=5")
        self.assertEqual(code, 0, err)
        metrics = self.json("metrics.json")
        self.assertEqual((metrics["steps"], metrics["windows"], metrics["coverage"]), (10, [], None))
        self.assertEqual((metrics["profile"], metrics["profile_note"]),
                         ("none", "profile.timer_only = true: only steps were timed"))
        self.assertIn("reader_cost", out)
        self.assertIn("Reader Ratio", out)


if __name__ == "__main__":
    unittest.main()

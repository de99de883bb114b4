"""Sweeps and scores whose runs are dealt to ranks, or to the tasks of a Slurm array: no MPI is needed."""
import glob
import json
import os
import unittest

from pdhost_run import Case

SWEEP = ["sweep", "control", "--device", "cpu", "-o", "schedule.active=2", "--warmup_steps", "1", "--image_size", "8", "--vary",
         "data.batch_size=2,3,4,5"]
CORPUS = """[corpus]
seeds = 4
set = run.device=cpu run.warmup_steps=1 device.threads=1 schedule.active=6 data.image_size=8 data.batch_size=2
[control]
scenario = control
expect = none
"""


class Dealt(Case):
    def ranks(self, count, *words, name="1"):
        each = [self.start(*words, watch=False, env={"RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_PORT": name})
                for rank in range(count)]
        return [self.ended(one) for one in each]

    def test_each_cell_is_run_once_and_rank_0_gathers(self):
        (code, out, err), (other, said, made) = self.ranks(2, *SWEEP)
        self.assertEqual((code, other, said), (0, 0, ""), err + made)
        self.assertIn("Best: ", out)
        for cell in range(4):
            line = f"pdhost: sweep {cell + 1}/4 data.batch_size={cell + 2}: "
            own = [text for text in (err if cell % 2 == 0 else made).splitlines()
                   if text.startswith(line) and "was there" not in text]
            self.assertEqual(len(own), 1, err + made)
        self.assertEqual(err.count("(was there)"), 4)
        with open(self.path("results/sweep/sweep.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["measurements"]), 4)
        self.assertEqual(glob.glob(self.path("results/sweep/dealt/*")), [])

    def test_the_runs_are_no_ranks(self):
        self.ranks(2, *SWEEP)
        for path in glob.glob(self.path("results/sweep/cells/*/log")):
            with open(path, encoding="utf-8") as file:
                self.assertNotIn("rank", file.read(), path)

    def test_tasks_of_an_array_leave_the_table_to_one_more_run(self):
        for task in (3, 4):
            code, out, err = self.run_pdhost(*SWEEP, watch=False,
                                             env={"SLURM_ARRAY_TASK_ID": str(task), "SLURM_ARRAY_TASK_COUNT": "2",
                                                  "SLURM_ARRAY_TASK_MIN": "3"})
            self.assertEqual((code, out), (0, ""), err)
            self.assertIn(f"the runs of task {task - 2} of 2 are in results/sweep; the same command, run once after all "
                          "tasks, gathers", err)
        code, out, err = self.run_pdhost(*SWEEP, watch=False)
        self.assertEqual((code, err.count("(was there)")), (0, 4), err)
        self.assertIn("Best: ", out)

    def test_a_score(self):
        with open(self.path("corpus.ini"), "w", encoding="utf-8") as file:
            file.write(CORPUS)
        (code, out, err), (other, said, made) = self.ranks(2, "score", "corpus.ini", name="2")
        self.assertEqual((code, other, said), (0, 0, ""), err + made)
        self.assertEqual(err.count("(was there)"), 4, err)
        self.assertTrue(os.path.exists(self.path("results/score/score.json")), out)


if __name__ == "__main__":
    unittest.main()

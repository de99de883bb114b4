"""Data-parallel training under mpirun: the same parameters on all ranks, the losses of one rank with the whole batch."""
import csv
import glob
import json
import os
import socket
import unittest

from pdhost_run import CONF, Case
from rank_run import RankCase

SHORT = ["-o", "schedule.active=5", "--warmup_steps", "1", "-q"]


class Ddp(RankCase):
    def losses(self, count):
        code, _, err = self.run_ranks(count, *SHORT, "--batch_size", str(16 // count), "-o", "scenario.verify=step")
        self.assertEqual((code, err), (0, ""))
        if count == 1:
            return self.metrics()["losses"]
        each = [self.metrics(rank)["losses"] for rank in range(count)]
        return [sum(step) / count for step in zip(*each)]

    def test_ranks_train_as_one_does(self):
        alone = self.losses(1)
        self.assertEqual(len(alone), 7)
        for count in (2, 4):
            for together, one in zip(self.losses(count), alone, strict=True):
                self.assertAlmostEqual(together / one, 1, delta=1e-5)

    def test_each_rank_has_files_of_its_own(self):
        code, out, err = self.run_ranks(2, *SHORT, "-o", "run.sinks=table,json,chrome_trace,csv")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out.count("Verdict"), 1)
        for rank, path in enumerate(self.traces()):
            with open(path, encoding="utf-8") as file:
                trace = json.load(file)
            self.assertEqual(trace["distributedInfo"], {"backend": "mpi", "rank": rank, "world_size": 2})
            kernels = [event["args"] for event in trace["traceEvents"] if event.get("name") == "mpi:all_reduce"]
            self.assertEqual([args["Seq"] for args in kernels], list(range(1, 16)))
            self.assertEqual({args["Group size"] for args in kernels}, {2})
            self.assertGreaterEqual(sum(args["In msg nelems"] for args in kernels[:3]), 626344)
            self.assertEqual((self.metrics(rank)["rank"], self.metrics(rank)["ranks"]), (rank, 2))
        self.assertNotIn("ranks_parts", self.metrics(1)["tables"])
        tables = self.metrics(0)["tables"]
        with open(self.path("results/ddp/latest/ranks/rank0_summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        for row, figures in zip(tables["ranks_parts"]["rows"], summary["ranks"], strict=True):
            parts = [row[f"ranks_{key}"] for key in ("computation", "overlap", "communication", "other")]
            self.assertEqual(sum(parts), row["ranks_time"])
            self.assertEqual(row["ranks_wait"] + row["ranks_transfer"], row["ranks_common"])
            self.assertEqual((row["ranks_rank"], parts[0]), (figures["rank"], figures["total"]["computation_ns"]))
        folder = self.path("results/ddp/latest/csv")
        self.assertFalse(glob.glob(f"{folder}/**/*.partial", recursive=True))
        for rank in (0, 1):
            with open(f"{folder}/rank{rank}_files.csv", encoding="utf-8") as file:
                listed = {row["file"] for row in csv.DictReader(file)}
            found = {os.path.relpath(path, folder) for path in glob.glob(f"{folder}/**/rank{rank}_*.csv", recursive=True)}
            self.assertEqual(listed, found - {f"rank{rank}_files.csv"})
            self.assertIn(f"events/rank{rank}_kernels.csv", listed)
            self.assertEqual(f"rank{rank}_ranks_ledger.csv" in listed, rank == 0)
        for row in tables["collectives"]["rows"]:
            self.assertEqual((row["name"], row["count"], row["collective_common"]), ("mpi:all_reduce", 15, 15))
            self.assertEqual(row["collective_wait"] + row["collective_transfer"], row["collective_latency"])
            self.assertGreaterEqual(row["collective_bytes"], 5 * 4 * 626344)

    def test_what_its_cures_save_is_measured(self):
        """With more kernels on one rank: what all ranks say names the cure, and what it saves is measured on both alike. Overlap
        is as it should be already, and the host has no extra work: their cures are not tried."""
        code, out, err = self.run_ranks(2, "-o", "scenario.straggler_kernels=40", "-o", "truth.cures=auto", env={"NO_COLOR": ""})
        self.assertEqual(code, 0, err)
        self.assertNotIn("\x1b", out)  # mpirun writes to a pipe
        for rank in (0, 1):
            with open(self.path(f"results/ddp/latest/truth/rank{rank}_truth.json"), encoding="utf-8") as file:
                cures = {cure["cause"]: cure for cure in json.load(file)["cures"]}
            self.assertEqual(set(cures), {"uneven_work"})
            cure = cures["uneven_work"]
            self.assertEqual((cure["settings"], cure["predicted"]), ("scenario.straggler_kernels=0 scenario.uneven_batch=1", False))
            self.assertGreaterEqual(len(cure["effect"]["rounds"]), 6)
            self.assertGreater(cure["effect"]["us_per_step"], 10000)  # 40 kernels of 500 us
        with open(self.path("results/ddp/latest/ranks/rank0_summary.json"), encoding="utf-8") as file:
            if json.load(file)["verdict"] == "uneven_work":  # a busy machine may hide it
                self.assertRegex(out, r"  Try next +this command and -o scenario.straggler_kernels=0 -o\s+scenario.uneven_batch=1\n")
            self.assertLessEqual(out.count("Try next"), 1)  # one rank's own command would start one rank


class Torchrun(Case):
    """Ranks by RANK and WORLD_SIZE, as torchrun sets them: no MPI is needed."""

    def ranks(self, count, *settings):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1] % 30000 + 20000
        each = [self.start("-c", os.path.join(CONF, "ddp.ini"), "--device", "cpu", *SHORT, *settings, watch=False,
                           env={"RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank),
                                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}) for rank in range(count)]
        return [self.ended(one) for one in each]

    def test_three_ranks_have_the_same_parameters(self):
        for rank, (code, out, err) in enumerate(self.ranks(3, "-o", "scenario.verify=step")):
            self.assertEqual(code, 0, err)
            self.assertEqual("Ranks " in out, rank == 0)
        with open(self.path("results/ddp/latest/ranks/rank0_summary.json"), encoding="utf-8") as file:
            self.assertEqual([row["rank"] for row in json.load(file)["ranks"]], [0, 1, 2])

    def test_a_rank_that_is_not_there(self):
        (code, _, err), = [self.ended(self.start(
            "-c", os.path.join(CONF, "ddp.ini"), "--device", "cpu", "-o", "run.rank_timeout=1s", watch=False,
            env={"RANK": "1", "WORLD_SIZE": "2", "MASTER_PORT": "1"}))]
        self.assertEqual(code, 6, err)
        self.assertRegex(err, r"rank 1: ranks: tcp: rank 0: no answer within [\d.]+ s")

    def test_a_rank_beyond_the_last(self):
        code, _, err = self.run_pdhost("-c", os.path.join(CONF, "ddp.ini"), "--device", "cpu", watch=False,
                                       env={"RANK": "2", "WORLD_SIZE": "2"})
        self.assertEqual(code, 3, err)
        self.assertIn("RANK = 2: is not a rank of WORLD_SIZE = 2", err)


class Timing(RankCase):
    """Verdicts, which need a machine that does nothing else."""

    def test_a_late_rank_is_found(self):
        self.assertEqual(self.run_ranks(2, *SHORT, "-o", "scenario.straggler_us=40000", "-o",
                                        "scenario.straggler_rank=0")[0], 0)
        found = self.analyzed()
        self.assertEqual((found["verdict"], found["straggler"], found["cause"]), ("straggler", 0, "host_compute"), found)
        for row in found["ranks"]:
            self.assertAlmostEqual(row["wait_ns"] + row["transfer_ns"], row["communication_ns"], delta=1)

    def test_the_summary_of_a_run_is_that_of_its_traces(self):
        code, out, _ = self.run_ranks(2, *SHORT[:-1], "-o", "scenario.straggler_kernels=80")
        self.assertEqual(code, 0)
        with open(self.path("results/ddp/latest/ranks/rank0_summary.json"), encoding="utf-8") as file:
            live = json.load(file)
        found = self.analyzed()
        self.assertEqual((live["verdict"], live["straggler"], live["cause"]), ("uneven_work", 1, "uneven_work"), live)
        self.assertEqual(found["verdict"], live["verdict"])
        self.assertEqual([at["bytes"] for at in live["messages"]], [at["bytes"] for at in found["messages"]])
        self.assertIn("uneven work: the others wait", out)
        for row in live["ranks"]:
            self.assertAlmostEqual(row["wait_ns"] + row["transfer_ns"], row["communication_ns"], delta=1e-3)
        for at in live["messages"]:
            self.assertAlmostEqual(at["algorithm_gb_per_s"] * at["transfer_ns"] / at["bytes"], 1, places=6)


if __name__ == "__main__":
    unittest.main()

"""pdhost analyze of several ranks: made-up data-parallel steps, each rank with a clock of its own, whose truth is known."""
import csv
import json
import os
import random
import unittest

from made_ranks import BACKWARD, FORWARD, TRANSFER, Job
from pdhost_run import CONF, ROOT
from rank_case import MadeRanks
from html_page import Page, page_text

# A step of the balanced ranks of corpus/pytorch/ranks, in ms, measured without a profiler.
BALANCED = 2.088


class Ranks(MadeRanks):
    def figures(self, **how):
        return json.loads(self.ranks("--ranks", "json", "--sink", "json:output_json=out.json", **how))

    def assert_straggler(self, figures, rank, cause, more_ns, verdict="straggler"):
        self.assertEqual((figures["verdict"], figures["straggler"], figures["cause"]), (verdict, rank, cause), figures)
        self.assertAlmostEqual(figures["cause_ns"] / more_ns, 1, delta=0.15)

    def test_balanced_ranks_raise_no_alarm(self):
        noise = random.Random(3)
        figures = self.figures(steps=12, transfer_us=10, host_us=lambda rank, step: noise.uniform(5, 60))
        self.assertEqual((figures["verdict"], figures["straggler"], figures["cause"]), ("none", None, None))
        self.assertEqual((figures["steps"], figures["collectives"], figures["collectives_not_on_all"]), (12, 24, 0))

    def test_one_rank_waits_for_its_input(self):
        figures = self.figures(input_us=lambda rank, step: 520 if rank == 1 else 20)
        self.assert_straggler(figures, 1, "input_bound", 500e3)
        late, early = figures["ranks"][1], figures["ranks"][0]
        self.assertAlmostEqual(late["wait_ns"], 0)
        # 500 us in the first collective; the second one then follows at once, 90 us before the late rank's backward ends.
        self.assertAlmostEqual(early["wait_ns"], 590e3, delta=5e3)
        self.assertAlmostEqual(late["caused_wait_ns"], 590e3, delta=5e3)
        # Both ranks transfer for as long, though one of them is in its collectives for ten times as long.
        self.assertAlmostEqual(late["transfer_ns"], early["transfer_ns"])
        self.assertGreater(early["communication_ns"], 3 * late["communication_ns"])

    def test_one_host_computes(self):
        figures = self.figures(host_us=lambda rank, step: 1500 if rank == 2 else 10)
        self.assert_straggler(figures, 2, "host_compute", 1300e3)

    def test_one_rank_has_more_work(self):
        figures = self.figures(kernel_us=lambda rank, step: 600 if rank == 0 else FORWARD)
        self.assert_straggler(figures, 0, "uneven_work", 400e3, verdict="uneven_work")

    def test_a_device_that_is_slower_at_the_same_work(self):
        """All ranks launch the same kernels with the same grids."""
        figures = self.figures(kernel_us=lambda rank, step: 600 if rank == 0 else FORWARD, grid=lambda us: 64)
        self.assert_straggler(figures, 0, "slow_device", 400e3, verdict="slow_device")
        self.assertIn("its device computes 400 us longer in kernels of the same sizes", figures["sentence"])
        self.assertIn("clocks", figures["helps"])

    CORES = {"id": 0, "name": "CPU (oneDNN 3.4)"}

    def test_a_device_of_shared_cores_is_slower_by_chance(self):
        how = {"kernel_us": lambda rank, step: 600 if rank == 0 else FORWARD, "device": self.CORES}
        figures = self.figures(grid=lambda us: 64, **how)
        self.assertEqual((figures["verdict"], figures["straggler"], figures["cause"]), ("none", None, None))
        self.assert_straggler(self.figures(**how), 0, "uneven_work", 400e3, verdict="uneven_work")

    def test_a_late_rank_of_shared_cores_is_named_by_what_it_does_itself(self):
        """One other rank needs almost as long, for another reason: the step would be shorter by a tenth alone."""
        figures = self.figures(input_us=lambda rank, step: 520 if rank == 2 else 20, device=self.CORES,
                               host_us=lambda rank, step: 570 if rank == 0 else 10)
        self.assert_straggler(figures, 2, "input_bound", 500e3)
        self.assertLess(figures["share"], 0.15)
        self.assertGreater(figures["share"], 0.05)

    def test_a_straggler_now_and_then_is_not_one_rank(self):
        figures = self.figures(input_us=lambda rank, step: 520 if step % 3 == rank else 20)
        self.assertNotEqual(figures["verdict"], "straggler")

    def test_transfers_that_nothing_hides(self):
        figures = self.figures(transfer_us=400)
        self.assertEqual(figures["verdict"], "comm_not_overlapped")
        row = figures["ranks"][0]
        self.assertAlmostEqual(row["transfer_ns"], 800e3, delta=20e3)
        self.assertAlmostEqual(row["overlap_ns"], BACKWARD / 2 * 1e3, delta=10e3)

    def test_transfers_that_are_long_though_most_of_them_is_hidden(self):
        figures = self.figures(transfer_us=150, second_us=60)
        self.assertEqual((figures["verdict"], figures["straggler"]), ("comm_bound", None))
        row = figures["ranks"][0]
        self.assertAlmostEqual(row["transfer_ns"], 210e3, delta=10e3)
        self.assertAlmostEqual(row["overlap_ns"], 150e3, delta=10e3)

    def test_transfers_that_cost_more_than_a_rank_that_is_a_little_late(self):
        figures = self.figures(transfer_us=400, input_us=lambda rank, step: 300 if rank == 1 else 20)
        self.assertEqual((figures["verdict"], figures["straggler"]), ("comm_not_overlapped", None))
        self.assertIn(". Besides, the others wait for rank 1: without that a step would take 130 us less", figures["sentence"])
        figures = self.figures(transfer_us=400, input_us=lambda rank, step: 1500 if rank == 1 else 20)
        self.assertEqual((figures["verdict"], figures["straggler"]), ("straggler", 1))

    def test_what_a_straggler_costs_is_what_the_step_would_save(self):
        """The others' own step is 500 us shorter; that they wait for longer in their collectives saves no more."""
        figures = self.figures(input_us=lambda rank, step: 520 if rank == 1 else 20)
        self.assertAlmostEqual(figures["share"] * figures["step_ns"], 500e3, delta=70e3)
        self.assertAlmostEqual(figures["ranks"][0]["need_ns"], figures["step_ns"] - 500e3, delta=70e3)

    def real(self, name):
        """Two ranks of a PyTorch program on two H200; see corpus/pytorch/README.md."""
        files = [os.path.join(ROOT, "corpus", "pytorch", "ranks", f"{name}_rank{rank}.json.gz") for rank in (0, 1)]
        code, out, err = self.run_pdhost("analyze", "--ranks", "json", "--sink", "json:output_json=out.json", *files, watch=False)
        self.assertEqual(code, 0, out + err)
        return json.loads(out)

    def test_balanced_ranks_of_pytorch_raise_no_alarm(self):
        """One rank launches 0.4 ms later than the other under torch.profiler alone, which waits 2.3 ms in its collectives."""
        for name in ("balanced", "balanced_later"):
            self.assertEqual(self.real(name)["verdict"], "none", name)

    def test_what_the_profiler_may_hide_is_withheld(self):
        figures = self.real("untold_batch")
        self.assertEqual((figures["verdict"], figures["straggler"], figures["cause"], figures["share"], figures["possible"]),
                         ("withheld", None, None, 0, False))
        self.assertIn("the device of rank 1 computes 1.4", figures["sentence"])
        self.assertIn("cannot be said", figures["sentence"])

    def test_stragglers_of_pytorch_cost_no_more_than_was_measured(self):
        """A step of theirs and one of the balanced ranks were measured without a profiler."""
        for name, verdict, cause, step_ms in (("spin", "straggler", "host_compute", 14.4),
                                              ("batch", "uneven_work", "uneven_work", 4.35)):
            figures = self.real(name)
            self.assertEqual((figures["verdict"], figures["straggler"], figures["cause"]), (verdict, 1, cause))
            measured = 1 - BALANCED / step_ms
            self.assertLess(figures["share"], measured + 0.02, name)  # less: the profiler slows the other rank down
            self.assertGreater(figures["share"], measured / 2, name)

    def test_what_the_profiler_hides_is_possible(self):
        """As recorded the late rank's host is no later than the others, which the profiler slows down; steps with and without
        what holds them up were measured without it."""
        for name, found, with_ms, without_ms in (("hidden_batch", ("uneven_work", 1, "uneven_work"), 3.444, 2.522),
                                                 ("hidden_transfer", ("comm_not_overlapped", None, None), 3.153, 2.465),
                                                 ("untold_transfer", ("comm_not_overlapped", None, None), 2.357, 1.940)):
            figures = self.real(name)
            self.assertEqual((figures["verdict"], figures["straggler"], figures["cause"]), found, name)
            self.assertTrue(figures["possible"], name)
            self.assertIn("possibly", figures["sentence"])
            self.assertAlmostEqual(figures["share"], 1 - without_ms / with_ms, delta=0.1, msg=name)
        self.assertFalse(self.real("spin")["possible"])
        figures = self.real("no_overlap")
        self.assertEqual((figures["verdict"], figures["possible"]), ("comm_not_overlapped", False))

    def test_the_bandwidth_of_messages(self):
        figures = self.figures(transfer_us=100)
        message = figures["messages"][0]
        self.assertEqual((message["bytes"], message["count"]), (1000000, 12))
        self.assertAlmostEqual(message["algorithm_gb_per_s"], 10, delta=0.5)
        self.assertAlmostEqual(message["bus_gb_per_s"] / message["algorithm_gb_per_s"], 4 / 3, places=6)

    def test_the_bandwidth_of_other_collectives(self):
        """As nccl-tests have it: of an all-gather of three ranks all three parts count, of a reduce-scatter its whole input."""
        for kernel, algorithm, factor in (("AllGather", 30, 2 / 3), ("ReduceScatter_Sum_f32", 10, 2 / 3)):
            message = self.figures(transfer_us=100, kernel=kernel)["messages"][0]
            self.assertEqual(message["bytes"], 1000000)
            self.assertAlmostEqual(message["algorithm_gb_per_s"], algorithm, delta=0.05 * algorithm)
            self.assertAlmostEqual(message["bus_gb_per_s"] / message["algorithm_gb_per_s"], factor, places=6)

    def assert_exact(self, figures):
        """To the nanosecond: the parts of the steps, and what is in the collectives."""
        for row in figures["ranks"]:
            parts = row["total"]
            self.assertEqual(parts["computation_ns"] + parts["overlap_ns"] + parts["communication_ns"] + parts["other_ns"],
                             parts["steps_ns"])
            for one in row["operations"]:
                self.assertEqual(one["wait_ns"] + one["transfer_ns"], one["on_all_latency_ns"])

    def test_the_parts_of_the_steps_are_those_that_were_made(self):
        figures = self.figures()
        self.assert_exact(figures)
        for row in figures["ranks"]:
            parts = row["total"]
            # In each of 6 steps 200 + 300 + 30 us of kernels; of two collectives of 60 us one runs beside them.
            for key, made_us in (("computation", 470), ("overlap", 60), ("communication", 60)):
                self.assertAlmostEqual(parts[f"{key}_ns"], 6e3 * made_us, delta=100)
            self.assertAlmostEqual(parts["steps_ns"], 6 * row["step_ns"], delta=100)

    def test_collectives_by_name(self):
        figures = self.figures(input_us=lambda rank, step: 520 if rank == 1 else 20)
        self.assert_exact(figures)
        for row in figures["ranks"]:
            one, = row["operations"]
            self.assertEqual((one["calls"], one["on_all"], one["bytes"]), (12, 12, 12 * 1000000))
            self.assertEqual(one["latency_ns"], one["on_all_latency_ns"])
            self.assertAlmostEqual(one["transfer_ns"], 12e3 * TRANSFER, delta=100)
            self.assertAlmostEqual(one["wait_ns"], 6 * row["wait_ns"], delta=1)

    def test_a_collective_that_one_rank_lacks(self):
        """Its latency counts; what of it is a wait is not known."""
        job = Job(ranks=2)
        whole = job.traces[0].events
        last = max(at for at, event in enumerate(whole) if event.get("args", {}).get("Collective name"))
        lost = whole.pop(last)
        for rank, trace in enumerate(job.traces):
            trace.write(self.path(f"rank{rank}.json"))
        code, out, err = self.run_pdhost("analyze", "--ranks", "json", "--sink", "json:output_json=out.json", "rank0.json",
                                         "rank1.json", watch=False)
        self.assertEqual(code, 7, err)  # a launch without its record
        figures = json.loads(out)
        self.assert_exact(figures)
        one, = figures["ranks"][1]["operations"]
        self.assertEqual((one["calls"], one["on_all"]), (12, 11))
        self.assertAlmostEqual(one["latency_ns"] - one["on_all_latency_ns"], 1e3 * lost["dur"], delta=10)

    def test_runs_of_ddp_on_two_gpus(self):
        """Traces of scripts/gpu-ranks on two H100, whose injection is known."""
        for name, verdict, late, cause in (("late_host", "straggler", 1, "host_compute"),
                                           ("uneven_batch", "uneven_work", 1, "uneven_work"),
                                           ("no_overlap_wide", "comm_not_overlapped", None, None)):
            files = [os.path.join(CONF, "..", "corpus", "recorded", f"ddp_{name}_rank{rank}.json.gz") for rank in (0, 1)]
            code, out, err = self.run_pdhost("analyze", "--ranks", "json", "--sink", "json:output_json=out.json", *files, watch=False)
            self.assertEqual(code, 0, err)
            figures = json.loads(out)
            self.assertEqual((figures["verdict"], figures["straggler"], figures["cause"]), (verdict, late, cause), name)
            helps = {"late_host": "host's work out of the step", "uneven_batch": "as much work", "no_overlap_wide": "in buckets"}[name]
            self.assertIn(helps, figures["helps"])
            code, out, _ = self.run_pdhost("analyze", *files, watch=False)
            self.assertIn(f"  What helps   {figures['helps'].split()[0]} ", out)
            self.assertTrue(out.startswith("Ranks "), out)

    def test_process_groups_are_matched_among_their_own_ranks(self):
        """Ranks 2 and 3 come late, by 400 and 500 us: 0 and 1 do not wait for each other, and 2 waits for 3 alone."""
        kernel_us = lambda rank, step: FORWARD + {2: 400, 3: 500}.get(rank, 0)
        waits = []
        for pairs in (False, True):
            figures = self.figures(ranks=4, pairs=pairs, kernel_us=kernel_us)
            self.assertEqual((figures["collectives"], figures["collectives_not_on_all"]), (18 if pairs else 12, 0))
            waits.append([rank["wait_ns"] for rank in figures["ranks"]])
            self.assertEqual({message["name"].partition(" on ")[2] for message in figures["messages"]},
                             {"", "2 of 4 ranks [0, 1]", "2 of 4 ranks [2, 3]"} if pairs else {""})
        for of_all, of_pairs, less in zip(*waits, (500e3, 500e3, 0, 0), strict=True):
            self.assertAlmostEqual(of_all - of_pairs, less, delta=1e3)

    def test_every_output_has_the_tables(self):
        out = self.ranks("--full", "--sink", "table", "--sink", "json:output_json=out.json", "--sink", "csv:dir=rows", "--sink",
                         "html:path=out.html", input_us=lambda rank, step: 520 if rank == 1 else 20)
        with open(self.path("out.json"), encoding="utf-8") as file:
            tables = json.load(file)["tables"]
        self.assertEqual(tables["ranks_verdict"]["rows"][0]["ranks_verdict_cause"], "straggler")
        with open(self.path("out.html"), encoding="utf-8") as file:
            page = file.read()
        for name, title, count in (("ranks_parts", "Ranks", 3), ("ranks_ledger", "Ledger of each rank", None), ("collectives", "Collectives", 3), ("messages", "Messages", 1)):
            rows = tables[name]["rows"]
            self.assertEqual(len(rows), count or len(rows))
            self.assertIn(f"\n{title}   (time unit: ms)\n", out)
            self.assertIn(f'data-id="{name}"', page)
            with open(self.path(f"rows/{name}.csv"), encoding="utf-8", newline="") as file:
                for row, cells in zip(rows, csv.DictReader(file), strict=True):
                    for key, value in row.items():
                        self.assertEqual(cells[key], str(value) if isinstance(value, (int, str)) else cells[key])
                        if isinstance(value, float):
                            self.assertAlmostEqual(float(cells[key]), value, places=6)
        shown = Page(page)
        self.assertEqual(shown.open, [])
        ids = [given["id"] for _, given in shown.elements if "id" in given]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertIn(page_text(tables["ranks_verdict"]["rows"][0]["ranks_verdict"]), page)
        for row, cells in zip(tables["ranks_parts"]["rows"], shown.tables["ranks_parts"][1:], strict=True):
            self.assertEqual([float(cell[0]) for cell in cells],
                             [float(row[column["key"]]) for column in tables["ranks_parts"]["columns"]])
        for row in tables["ranks_parts"]["rows"]:
            self.assertEqual(sum(row[f"ranks_{key}"] for key in ("computation", "overlap", "communication", "other")),
                             row["ranks_time"])
            self.assertEqual(row["ranks_wait"] + row["ranks_transfer"], row["ranks_common"])
        self.assertEqual([row["ranks_last"] for row in tables["ranks_parts"]["rows"]], [0, 100, 0])
        # Each file is a window of its own, and no file takes the place of another's.
        self.assertTrue(all(os.path.exists(self.path(f"rows/verdict{number}.csv")) for number in ("", ".1", ".2")))

    def test_the_ledger_of_each_rank_has_waits_and_transfers(self):
        """What one rank's ledger calls communication, divided; the owners of a rank add up to its steps."""
        self.ranks("--sink", "json:output_json=out.json", input_us=lambda rank, step: 520 if rank == 1 else 20)
        with open(self.path("out.json"), encoding="utf-8") as file:
            document = json.load(file)
        for rank, window in enumerate(document["windows"]):
            alone = {row["cause"]: row["total"] for row in window["tables"]["ledger"]["rows"] if row["total"]}
            owners = {row["cause"]: row["total"] for row in document["tables"]["ranks_ledger"]["rows"]
                      if row["ranks_rank"] == rank}
            self.assertEqual(sum(owners.values()), window["tables"]["ledger"]["footer"]["total"])
            self.assertEqual(owners.pop("comm_wait", 0) + owners.pop("comm_transfer", 0), alone.pop("communication"))
            self.assertEqual(owners, alone)
        owners = {(row["ranks_rank"], row["cause"]): row["total"] for row in document["tables"]["ranks_ledger"]["rows"]}
        for rank in (0, 2):
            # 500 us in the first collective, whose first half 150 us of backward hide, and 90 us in the second.
            self.assertAlmostEqual(owners[rank, "comm_wait"], 6e3 * (350 + 90), delta=50e3)
        self.assertNotIn((1, "comm_wait"), owners)
        self.assertIn("ranks_ledger", document["windows"][0]["tables"]["ledger"]["note"])

    def test_a_loop_that_runs_ahead_of_its_device_has_the_devices_time(self):
        """The host of rank 0 is done after 20 ms; its device waits 100 ms more for rank 1."""
        figures = self.real("spin")
        self.assert_exact(figures)
        first, second = (row["total"] for row in figures["ranks"])
        self.assertAlmostEqual(first["steps_ns"] / second["steps_ns"], 1, delta=0.01)
        self.assertGreater(first["communication_ns"], 0.9 * first["steps_ns"])
        self.assertGreater(second["other_ns"], 0.9 * second["steps_ns"])

    def test_what_ranks_that_are_not_there_leave_unsaid(self):
        self.assertIn("no rank of these 2 holds up the others; of 3 ranks",
                      self.ranks("-q", order=lambda names: names[:2], transfer_us=400).replace("\n         ", " "))
        self.assertIn("withheld: 2 steps that all files have are too few, 3 are needed", self.ranks("-q", steps=2))

    def windows(self, named, second=10, **how):
        """Files of three ranks, each with two windows: steps 0 to 5, and later 10 to 15, or from another `second` on."""
        names = []
        for window, job in enumerate(Job(named=named, **how) for _ in range(2)):
            for rank, trace in enumerate(job.traces):
                for event in trace.events:
                    event["ts"] += 1e7 * window
                    if event["name"].startswith("ProfilerStep#"):
                        event["name"] = f"ProfilerStep#{int(event['name'][13:]) + second * window}"
                names.append(f"rank{rank}_window{window}.json")
                trace.write(self.path(names[-1]))
        return sorted(names)

    def test_windows_of_one_rank_are_no_ranks(self):
        for named in (True, False):
            names = self.windows(named, input_us=lambda rank, step: 520 if rank == 1 else 20)
            code, out, err = self.run_pdhost("analyze", "-q", *names[:2], watch=False)
            self.assertEqual((code, "Ranks " in out), (0, False), out + err)
            code, out, err = self.run_pdhost("analyze", "--ranks", "json", "--sink", "json:output_json=out.json", *names,
                                             watch=False)
            self.assertEqual(code, 0, out + err)
            figures = json.loads(out)
            self.assertEqual((len(figures["ranks"]), figures["steps"]), (3, 12), named)
            self.assert_straggler(figures, 1, "input_bound", 500e3)

    def test_windows_that_count_their_steps_from_the_beginning_again(self):
        names = self.windows(True, second=0, input_us=lambda rank, step: 520 if rank == 1 else 20)
        options = ("analyze", "--ranks", "json", "--sink", "json:output_json=out.json")
        for files in (names, names[1::-1] + names[2:]):  # the later window of rank 0 first
            code, out, err = self.run_pdhost(*options, *files, watch=False)
            self.assertEqual(code, 0, out + err)
            figures = json.loads(out)
            self.assert_straggler(figures, 1, "input_bound", 500e3)
            self.assertEqual((figures["steps"], figures["collectives"], figures["collectives_not_on_all"]), (12, 24, 0))
            self.assertEqual([(rank["last"], rank["steps_last"]) for rank in figures["ranks"]], [(0, 0), (24, 12), (0, 0)])
        code, out, err = self.run_pdhost(*options, *names[:3], names[4], watch=False)
        self.assertEqual(code, 0, out + err)
        figures = json.loads(out)  # which window of rank 0 is the one that the others have, the numbers do not say
        self.assertEqual((figures["verdict"], figures["steps"], figures["collectives"]), ("withheld", 0, 0))

    def jobs(self, hours, *ranks):
        """The names of the files of each of several jobs, which come `hours` after one another."""
        names = []
        for number, count in enumerate(ranks):
            job = Job(ranks=count, input_us=lambda rank, step: 520 if rank == 1 else 20)
            for trace in job.traces:
                trace.head["baseTimeNanoseconds"] += round(3600e9 * hours * number)
            names.append([f"job{number}_rank{rank}.json" for rank in range(count)])
            for name, trace in zip(names[-1], job.traces, strict=True):
                trace.write(self.path(name))
        return names

    def assert_withheld(self, why, files):
        code, out, err = self.run_pdhost("analyze", "--ranks", "json", "--sink", "html:path=out.html", *files, watch=False)
        self.assertEqual(code, 0, out + err)
        figures = json.loads(out)
        self.assertEqual((figures["verdict"], figures["sentence"]), ("withheld", f"withheld: {why}"))
        self.assertEqual((figures["ranks"], figures["collectives"], figures["step_ns"]), ([], 0, None))
        with open(self.path("out.html"), encoding="utf-8") as file:
            self.assertIn(page_text(why), file.read())

    def test_files_of_different_jobs_are_not_compared(self):
        small, large = self.jobs(0, 2, 3)
        self.assert_withheld("these files are of different jobs (2 and 3 ranks)", small + large)
        self.assert_withheld("these files are of different jobs (2 and 3 ranks)", [small[0], large[0]])
        first, second = self.jobs(0, 2, 2)
        self.assert_withheld("job0_rank0.json and job1_rank0.json are both of rank 0 at the same time. Give the files of one "
                             "job, each of them once", first + second)

    def test_files_of_another_day_are_not_compared(self):
        first, second = self.jobs(24, 2, 2)
        code, out, err = self.run_pdhost("analyze", "-q", *first, *second, watch=False)  # each has its counterpart
        self.assertEqual((code, out.startswith("Ranks    straggler: ")), (0, True), out + err)
        for files in ([*first, second[0]], [second[0], first[0], first[1]]):
            self.assert_withheld("job1_rank0.json is 86399 s apart from job0_rank1.json, the nearest file of rank 1. Give the "
                                 "files of one job, recorded at the same time", files)

    def test_one_rank_alone_has_no_summary(self):
        self.assertNotIn("Ranks ", self.ranks(order=lambda names: names[:1]))


if __name__ == "__main__":
    unittest.main()

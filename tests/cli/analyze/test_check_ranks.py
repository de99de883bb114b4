"""pdhost check of several files: it has no finding for ranks and windows that belong together, and one for others."""
import json
import os
import unittest

from made_trace import BASE_NS, MadeTrace
from pdhost_run import Case


class CheckRanks(Case):
    def check(self, *names):
        code, out, _ = self.run_pdhost("check", "--format", "json", *names, watch=False)
        return code, json.loads(out)

    def ranks(self, count=2, shift_us=0.0, **head):
        names = []
        for rank in range(count):
            made = MadeTrace(kernel_us=200.123)
            for event in made.events:
                if event["name"] == "elementwise_kernel":
                    event["name"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
            made.head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": count, **head}
            made.head["baseTimeNanoseconds"] = BASE_NS + round(1000 * shift_us * rank)
            names.append(os.path.basename(made.write(self.path(f"rank{rank}.json"))))
        return self.check(*names)

    def kinds_together(self, answer):
        self.assertEqual([file["findings"] for file in answer["files"]], [[]] * len(answer["files"]))
        return {row["kind"]: row for row in answer["findings"]}

    def test_ranks_in_line(self):
        code, answer = self.ranks(3, shift_us=20)
        self.assertEqual((code, answer["clean"], answer["findings"]), (0, True, []))

    def test_ranks_out_of_line(self):
        for kind, said, wrong in (("rank_clock", "rank1.json is 2.50 ms ahead of rank0.json", {"shift_us": 2500}),
                                  ("rank_apart", "rank1.json begins 3600 s after rank0.json ends", {"shift_us": 3.6e9}),
                                  ("rank_twice", "rank0.json and rank1.json are both of rank 0", {"rank": 0})):
            code, answer = self.ranks(**wrong)
            found = self.kinds_together(answer)
            self.assertEqual((code, set(found)), (7, {kind}))
            self.assertIn(said, found[kind]["worst"])

    def windows(self, *starts_s):
        """Files of two ranks, each with a window that begins at each of these seconds."""
        names = []
        for rank in range(2):
            for number, start in enumerate(starts_s):
                made = MadeTrace(kernel_us=200.123)
                made.head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
                made.head["baseTimeNanoseconds"] = BASE_NS + round(1e9 * start)
                names.append(f"rank{rank}_{number}.json")
                made.write(self.path(names[-1]))
        return names

    def test_windows_of_a_rank(self):
        names = self.windows(0, 60, 3600)
        for files in (names, names[:1] + names[3:], names[:3] + names[4:]):  # some ranks lack a window
            code, answer = self.check(*files)
            self.assertEqual((code, answer["clean"], answer["findings"]), (0, True, []))
        code, answer = self.check(names[0], *names[4:])
        found = self.kinds_together(answer)
        self.assertEqual((code, set(found), found["rank_apart"]["count"]), (7, {"rank_apart"}, 2))
        self.assertIn("rank1_2.json begins 3600 s after rank0_0.json ends", found["rank_apart"]["worst"])
        names = self.windows(0, 60, 0)
        code, answer = self.check(*names)
        found = self.kinds_together(answer)
        self.assertEqual((code, set(found), found["rank_twice"]["count"]), (7, {"rank_twice"}, 2))
        self.assertEqual("rank0_0.json and rank0_2.json are both of rank 0", found["rank_twice"]["worst"])

    def test_the_last_line_of_files_that_are_wrong_together(self):
        names = self.windows(0, 0)
        code, out, _ = self.run_pdhost("check", *names, watch=False)
        self.assertEqual((code, out.splitlines()[-1]),
                         (7, "0 of 4 files have findings of their own, and the files together have 1 kind of findings"))
        code, out, _ = self.run_pdhost("check", names[0], names[2], watch=False)
        self.assertEqual((code, out.splitlines()[-1]), (0, "0 of 2 files have findings"))

    def test_ranks_of_other_programs(self):
        self.ranks()
        made = MadeTrace(kernel_us=200.123)
        made.head["distributedInfo"] = {"rank": 1, "world_size": 8}
        made.write(self.path("rank1.json"))
        code, answer = self.check("rank0.json", "rank1.json")
        self.assertEqual((code, set(self.kinds_together(answer))), (7, {"rank_count"}))

    # ---- what is not a trace


if __name__ == "__main__":
    unittest.main()

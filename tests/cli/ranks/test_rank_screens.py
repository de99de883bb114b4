"""What pdhost analyze of several ranks prints: what they did together, then the verdict on each of them."""
import unittest

from made_ranks import Job
from pdhost_run import ROOT
from rank_case import MadeRanks


class Screens(MadeRanks):
    def test_the_text_and_the_order_of_files(self):
        out = self.ranks(order=reversed, input_us=lambda rank, step: 520 if rank == 1 else 20)
        self.assertIn("Ranks    straggler: the others wait 590 us a step", out)
        self.assertRegex(out, r"for rank 1:\s+input-bound, \d+\s+us more than on the others")
        tail = out[out.index("Ranks "):].splitlines()
        self.assertLessEqual(max(map(len, tail)), 80)
        self.assertEqual([line.split()[0] for line in tail if line[:5].strip().isdigit()], ["0", "1", "2"])
        unnamed = self.ranks("-q", named=False, input_us=lambda rank, step: 520 if rank == 1 else 20)
        self.assertRegex(unnamed, r"for rank 1:\s+input-bound")

    def test_the_first_screen_names_the_late_rank_and_what_to_type(self):
        """Then the verdict on each rank, in place of a report on the last file."""
        out = self.ranks(input_us=lambda rank, step: 520 if rank == 1 else 20)
        lines = out.splitlines()
        self.assertTrue(lines[0].startswith("Ranks    straggler: "), out)
        self.assertLessEqual(len(lines), 40)
        self.assertIn("  Try next     pdhost analyze rank1.json", lines[:8])
        alone = self.alone(out)
        self.assertEqual([line.split()[1] for line in alone if line.startswith("  rank ")], ["0", "1", "2"])
        self.assertIn("  rank 1     input-bound: the device waits for data", alone)
        self.assertIn("To read one rank in full: pdhost analyze FILE", lines)
        for last in ("Where the step goes", "Kernels", "Steps, ", "Afterwards"):
            self.assertNotIn(last, out)
        self.assertNotIn("Try next", self.ranks(steps=12, transfer_us=10))
        unnamed = self.ranks(named=False, input_us=lambda rank, step: 520 if rank == 1 else 20)
        self.assertIn("  file 1     input-bound", unnamed)

    @staticmethod
    def alone(out):
        lines = out.splitlines()
        return lines[lines.index("Verdict on each rank alone") + 1:]

    def test_the_first_screen_says_why_the_verdict_on_a_rank_is_withheld(self):
        code, out, err = self.run_pdhost("analyze", *(f"{ROOT}/corpus/pytorch/ranks/batch_rank{rank}.json.gz" for rank in (0, 1)),
                                         watch=False)
        self.assertEqual(code, 0, out + err)
        rank0 = " ".join(" ".join(self.alone(out)).split("  rank 1 ")[0].split())
        self.assertRegex(rank0, r"^rank 0 withheld: collectives take \d+ % of the step with nothing beside them; "
                                r"one rank's records do not tell whether they transfer or wait for another rank$")

    def test_of_many_ranks_the_first_and_the_late_one_are_shown(self):
        out = self.ranks(ranks=20, order=reversed, input_us=lambda rank, step: 520 if rank == 18 else 20)
        shown = [int(line.split()[1]) for line in self.alone(out) if line.startswith("  rank ")]
        self.assertEqual(shown, [*range(16), 18])
        self.assertEqual(self.alone(out)[-1], "  and 3 more")

    def test_a_quiet_screen_has_what_the_ranks_did_together_alone(self):
        for named in (True, False):
            out = self.ranks("-q", named=named, input_us=lambda rank, step: 520 if rank == 1 else 20)
            self.assertTrue(out.startswith("Ranks    straggler: "), out)
            self.assertNotIn("Verdict", out)

    def test_what_to_type_keeps_the_options(self):
        out = self.ranks("--step", "ProfilerStep", input_us=lambda rank, step: 520 if rank == 1 else 20)
        self.assertIn("  Try next     pdhost analyze rank1.json --step ProfilerStep\n", out)
        self.assertIn("To read one rank in full: pdhost analyze FILE --step ProfilerStep\n", out)

    def test_each_part_of_a_full_report_says_of_which_rank_it_is(self):
        out = self.ranks("--full", "--sink", "table:views=all", order=reversed,
                         input_us=lambda rank, step: 520 if rank == 1 else 20)
        self.assertRegex(out, r"(?s)\nRank 1, window 1\nVerdict  input-bound.*\nRank 1, window 1: steps 0\.\.5 \(6\), ")
        for rank in range(3):
            self.assertEqual(out.count(f"\nRank {rank}, window {2 - rank}"), 2)

    def test_the_same_rank_of_two_jobs_has_a_verdict_for_each(self):
        names = []
        for ranks in (2, 3):
            Job(ranks=ranks).traces[0].write(self.path(f"rank0_of_{ranks}.json"))
            names.append(f"rank0_of_{ranks}.json")
        code, out, err = self.run_pdhost("analyze", *names, watch=False)
        self.assertEqual(code, 0, out + err)
        self.assertTrue(out.startswith("Ranks    withheld: these files are of different jobs (2 and 3 ranks)\n"), out)
        self.assertEqual([line.split()[1] for line in self.alone(out) if line.startswith("  rank ")], ["0", "0"])
        self.assertNotIn("Milliseconds", out)

    def test_ranks_whose_files_hold_no_collective(self):
        """Rank 0 computes for longer, which holds up no other rank as far as the files say."""
        how = {"collectives": False, "kernel_us": lambda rank, step: 900 if rank == 0 else 200}
        out = self.ranks(**how)
        self.assertTrue(out.startswith("Ranks    withheld: the files hold no collective, so they do not tell which rank\n"
                                       "         waits for another\n"), out)
        self.assertIn("(6 steps on all ranks, 0 collectives)", out)
        self.assertEqual([line.split()[0] for line in out.splitlines() if line[:5].strip().isdigit()], ["0", "1", "2"])
        self.assertEqual([line.split()[1] for line in self.alone(out) if line.startswith("  rank ")], ["0", "1", "2"])
        self.assertNotIn("Windows", out)
        self.assertNotIn("Ranks ", self.ranks(named=False, **how))  # files that name no rank

    def test_a_server_gets_a_servers_words(self):
        out = self.ranks(mark="execute_context_0(0)_generation_{0}({0})", host_us=lambda rank, step: 1500 if rank == 2 else 10)
        words = " ".join(out.split())
        self.assertIn("for rank 2: host compute", words)
        self.assertIn("What helps If requests were there all the time, take scheduling, tokenizing and sampling off", words)
        self.assertNotIn("loader", words)


if __name__ == "__main__":
    unittest.main()

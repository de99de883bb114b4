"""What the tests of pdhost analyze of several ranks share."""
from made_ranks import Job
from pdhost_run import Case


class MadeRanks(Case):
    def ranks(self, *options, order=None, **how):
        job = Job(**how)
        names = [trace.write(self.path(f"rank{rank}.json")) and f"rank{rank}.json" for rank, trace in enumerate(job.traces)]
        code, out, err = self.run_pdhost("analyze", *options, *(order(names) if order else names), watch=False)
        self.assertEqual(code, 0, out + err)
        return out

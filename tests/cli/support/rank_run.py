"""Runs of several ranks under mpirun, for tests: on the CPU device, each rank with one thread."""
import glob
import json
import os
import re
import shutil
import subprocess

from pdhost_run import CONF, PDHOST, SANITIZER, Case

BUILT = os.path.exists(os.path.join(os.path.dirname(PDHOST), "..", "lib", "pdhost", "communicator", "mpi.so"))
# More ranks than cores, and in a container, where everybody is root.
ALLOWED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "OMP_WAIT_POLICY": "passive"}
# MPI keeps what it allocated: leaks are looked for where ranks reach one another by tcp.
if SANITIZER == "address":
    ALLOWED["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
MISSING = "there is no MPI: scripts/setup --test installs libopenmpi-dev and openmpi-bin"


class RankCase(Case):
    def setUp(self):
        if not BUILT or not shutil.which("mpirun"):
            self.skip(MISSING)
        super().setUp()

    def start_ranks(self, count, *arguments, env=None, program=(PDHOST,)):
        """ddp on `count` ranks; 1 is a run without mpirun."""
        launcher = ["mpirun", "--oversubscribe", "-n", str(count)] if count > 1 else []
        process = subprocess.Popen([*launcher, *program, "-c", os.path.join(CONF, "ddp.ini"), "--device", "cpu", "-o",
                                    "device.threads=1", *arguments], cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, **ALLOWED, "NO_COLOR": "1", **(env or {})})
        self.addCleanup(self.leave_none, process)
        return process

    def run_command(self, words):
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, **ALLOWED, "NO_COLOR": "1"})
        return done.returncode, done.stdout, [line for line in done.stderr.splitlines() if line.startswith("pdhost: error:")]

    def run_ranks(self, count, *arguments, **options):
        """(exit code, standard output, pdhost's errors)."""
        process = self.start_ranks(count, *arguments, **options)
        out, err = process.communicate(timeout=110)
        return process.returncode, out, "\n".join(line for line in err.splitlines() if line.startswith("pdhost: error:"))

    def metrics(self, rank=None):
        name = "metrics_ddp.json" if rank is None else f"rank{rank}_metrics_ddp.json"
        with open(self.path(f"results/ddp/latest/{name}"), encoding="utf-8") as file:
            return json.load(file)

    def traces(self):
        paths = glob.glob(self.path("results/ddp/latest/rank*.pt.trace.json*"))
        return sorted(paths, key=lambda path: int(re.search(r"/rank(\d+)_", path).group(1)))

    def analyzed(self):
        """The summary that `pdhost analyze` makes of the ranks' traces."""
        code, out, err = self.run_pdhost("analyze", "--ranks", "json", "--sink", "json:output_json=analyzed.json",
                                         *self.traces(), watch=False)
        self.assertEqual(code, 0, err)
        return json.loads(out)

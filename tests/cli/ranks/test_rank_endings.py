"""What ends a run of several ranks: one line says which rank it was, and the others do not wait for it."""
import contextlib
import glob
import json
import os
import re
import shlex
import shutil
import signal
import time
import unittest

from pdhost_run import CONF, FIXTURES, PDHOST, children_of, named_child
from rank_run import RankCase


def rank_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as file:
        return int(re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", file.read())[1])


def descendants(pid):
    return [pid, *(each for child in children_of(pid) for each in descendants(child))]


class Endings(RankCase):
    """What one rank does wrong ends all of them, soon, with one line that names it."""

    def worker(self, process, rank):
        """The process that rank `rank`'s supervisor has for its run, once every rank has made a step."""
        until = time.monotonic() + 60
        found = []
        while time.monotonic() < until:
            with contextlib.suppress(OSError): # a process that looked at something, and ended
                found = [worker for rank in sorted(children_of(process.pid)) if (worker := named_child(rank, "pdhost worker"))]
            if len(found) == 2 and all("Device memory" in self.run_pdhost("top", "--once", str(each), watch=False)[1]
                                       for each in found):
                return found[rank]
            time.sleep(0.05)
        raise AssertionError("the ranks did not begin")

    def ended_by(self, number, rank):
        """The errors that are printed."""
        process = self.start_ranks(2, "-q", "-o", "schedule.active=50000", "-o", "run.rank_timeout=2s")
        worker = self.worker(process, rank)
        os.kill(worker, number)
        begun = time.monotonic()
        out, err = process.communicate(timeout=60)
        if number == signal.SIGSTOP:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        self.assertLess(time.monotonic() - begun, 25)
        self.assertEqual(process.returncode, 5, out + err)
        self.assertNotIn("before its first step", err)
        self.assertLessEqual(out.count("Verdict"), 1, out)
        return [line for line in err.splitlines() if line.startswith("pdhost: error:")]

    def test_a_rank_that_is_killed(self):
        first, second = sorted(self.ended_by(signal.SIGKILL, 1))
        self.assertEqual(first, "pdhost: error: rank 0: rank 1: its process ended; the run ends on all ranks [PDH-0500]")
        self.assertIn("pdhost: error: rank 1: ", second)
        self.assertIn("was killed by signal 9", second)
        for rank in (0, 1):
            self.assertTrue(self.metrics(rank)["losses"])
            self.assertEqual(self.metrics(rank)["outcome"], "failed")

    def test_a_rank_that_hangs(self):
        lines = self.ended_by(signal.SIGSTOP, 1)
        self.assertRegex(lines[0], r"rank 0: rank 1: it (did not come to collective \d+ within|has said nothing for) 2 s; the run ends on "
                                   r"all ranks")
        self.assertEqual(len(lines), 1)
        self.assertEqual(self.metrics(0)["outcome"], "failed")

    def test_a_rank_whose_supervisor_is_killed(self):
        process = self.start_ranks(2, "-q", "-o", "schedule.active=50000", "-o", "run.rank_timeout=20s")
        self.worker(process, 1)
        supervisor = next(pid for pid in children_of(process.pid) if rank_of(pid) == 1)
        os.kill(supervisor, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0, out + err)
        self.assertIn("pdhost: error: rank 0: rank 1: its supervisor was killed; the run ends on all ranks [PDH-0500]", err)

    def test_all_processes_are_stopped_for_longer_than_the_limit(self):
        """As by Ctrl-Z, or by Slurm's suspend: they go on."""
        process = self.start_ranks(2, "-q", "-o", "schedule.active=400", "--batch_size", "4", "--image_size", "16", "-o", "run.rank_timeout=2s")
        self.worker(process, 1)
        everything = descendants(process.pid)
        for number, pause in ((signal.SIGSTOP, 5), (signal.SIGCONT, 0)):
            for pid in everything:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(pause)
        out, err = process.communicate(timeout=100)
        self.assertEqual((process.returncode, [line for line in err.splitlines() if "error:" in line]), (0, []), out + err)

    def test_a_rank_that_begins_late(self):
        """MPI_Init waits for all ranks without a limit."""
        own = shlex.join([PDHOST, "-c", os.path.join(CONF, "ddp.ini"), "--device", "cpu", "-q", "-o", "run.rank_timeout=1s"])
        begun = time.monotonic()
        code, _, lines = self.run_command(["mpirun", "--oversubscribe", "-n", "2", "sh", "-c",
                                           f"[ $OMPI_COMM_WORLD_RANK = 0 ] || sleep 45; exec {own}"])
        self.assertLess(time.monotonic() - begun, 30)
        self.assertEqual((code, lines), (6, ["pdhost: error: rank 0: ranks: mpi: the other ranks did not begin within 6.5 s [PDH-0600]"]))

    def test_a_signal_to_the_launcher(self):
        """mpirun hands it on, and by itself gives the ranks one second."""
        process = self.start_ranks(2, "-q", "-o", "schedule.active=50000",
                                   env={"OMPI_MCA_odls_base_sigkill_timeout": "5"})
        self.worker(process, 1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=100)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual([line for line in err.splitlines() if line.startswith("pdhost: error:")], [], out + err)
        for rank in (0, 1):
            self.assertTrue(self.metrics(rank)["losses"])
            self.assertEqual(self.metrics(rank)["outcome"], "interrupted")

    def test_a_rank_that_fails(self):
        """In the middle of its training, with an error of its own: both ranks write what there was."""
        scenario = os.path.join(FIXTURES, "scenario", "fault.so")
        code, out, lines = self.run_command(["mpirun", "--oversubscribe", "-n", "2", PDHOST, "--scenario", scenario, "--device", "cpu",
                                             "--batch_size", "4", "--image_size", "16", "-q", "-o", "schedule.active=1000000", "-o",
                                             "scenario.fail_step=50", "-o", "scenario.fail_rank=1", "-o", "run.rank_timeout=2s",
                                             "-o", "data.dataset_size=4000000"])
        self.assertEqual(code, 5, out)
        why = "rank 1: scenario fault: step 50: asked to fail here"
        self.assertEqual(sorted(lines), [f"pdhost: error: rank 0: {why}; the run ends on all ranks [PDH-0500]",
                                         f"pdhost: error: {why} [PDH-0500]"])
        for rank in (0, 1):
            with open(self.path(f"results/fault/latest/rank{rank}_metrics_fault.json"), encoding="utf-8") as file:
                figures = json.load(file)
            self.assertEqual(figures["outcome"], "failed")
            if rank:  # the other one may have been slow
                self.assertGreaterEqual(len(figures["losses"]), 50)

    def test_without_mpi(self):
        """What mpirun starts where pdhost was built without it: a copy of the installed tree lacks the plugin alone."""
        built = os.path.join(os.path.dirname(PDHOST), "..", "lib", "pdhost")
        os.makedirs(self.path("bin"))
        os.makedirs(self.path("lib/pdhost/communicator"))
        shutil.copy(PDHOST, self.path("bin/pdhost"))
        for name in set(os.listdir(built)) - {"communicator"}:
            os.symlink(os.path.join(built, name), self.path(f"lib/pdhost/{name}"))
        os.symlink(os.path.join(built, "communicator", "tcp.so"), self.path("lib/pdhost/communicator/tcp.so"))
        code, _, lines = self.run_command(["mpirun", "--oversubscribe", "-n", "2", "bin/pdhost", "-c",
                                           os.path.join(CONF, "ddp.ini"), "--device", "cpu", "-q"])
        self.assertEqual((code, len(lines)), (4, 1), lines)
        self.assertIn("communicator \"mpi\": ", lines[0])
        self.assertIn("libopenmpi-dev", lines[0])

    def test_where_the_library_of_mpi_is_gone(self):
        os.mkdir(self.path("communicator"))
        shutil.copy(os.path.join(FIXTURES, "communicator", "orphan.so"), self.path("communicator/mpi.so"))
        code, out, lines = self.run_command(["mpirun", "--oversubscribe", "-n", "2", PDHOST, "-c",
                                             os.path.join(CONF, "ddp.ini"), "--device", "cpu", "-q", "-o", f"run.plugin_path={self.folder}"])
        self.assertEqual((code, out, len(lines)), (4, "", 1), lines)
        self.assertRegex(lines[0], r"^pdhost: error: rank 0: .*/communicator/mpi\.so: cannot be loaded: libmpi_gone\.so\.40: .*; install "
                                   r"the package that has it, or put its folder into LD_LIBRARY_PATH \[PDH-0402\]$")

    def test_ranks_of_two_configurations(self):
        """By a shell for each rank: mpirun of Debian 13 ends with signal 11 where ranks have two commands."""
        own = shlex.join([PDHOST, "-c", os.path.join(CONF, "ddp.ini"), "--device", "cpu", "-q", "-o"])
        code, _, lines = self.run_command(["mpirun", "--oversubscribe", "-n", "2", "sh", "-c",
                                           f"exec {own} train.lr=0.${{OMPI_COMM_WORLD_RANK}}1"])
        self.assertEqual((code, lines), (3, ["pdhost: error: rank 0: the configuration of rank 1 is not that of rank 0: start "
                                             "all ranks with the same one [PDH-0300]"]))

    def test_ranks_of_two_versions(self):
        """Rank 1 runs a copy whose id of the sources is another."""
        code, out, _ = self.run_pdhost("--version", watch=False)
        self.assertEqual(code, 0)
        ours = re.search(r"^sources (\S+)$", out, re.M)[1]
        theirs = "x" * len(ours)
        os.mkdir(self.path("bin"))
        os.symlink(os.path.join(os.path.dirname(PDHOST), "..", "lib"), self.path("lib"))
        with open(PDHOST, "rb") as file:
            program = file.read()
        self.assertEqual(program.count(ours.encode() + b"\0"), 1)
        with open(self.path("bin/pdhost"), "wb") as file:
            file.write(program.replace(ours.encode() + b"\0", theirs.encode() + b"\0"))
        os.chmod(self.path("bin/pdhost"), 0o755)
        own = shlex.join(["-c", os.path.join(CONF, "ddp.ini"), "--device", "cpu", "-q"])
        code, out, lines = self.run_command(["mpirun", "--oversubscribe", "-n", "2", "sh", "-c",
                                             f"[ $OMPI_COMM_WORLD_RANK = 0 ] && exec {shlex.quote(PDHOST)} {own}; exec bin/pdhost {own}"])
        self.assertEqual((code, out, len(lines)), (3, "", 1), lines)
        self.assertRegex(lines[0], rf"^pdhost: error: rank 0: rank 1 runs pdhost \S+ \({theirs}\), rank 0 pdhost \S+ \({ours}\): "
                                   r"start the same one everywhere \[PDH-0300\]$")

    def test_a_rank_that_finds_no_gpu(self):
        if not os.path.exists(os.path.join(os.path.dirname(PDHOST), "..", "lib", "pdhost", "device", "cuda.so")):
            self.skip("this build has no CUDA device")
        code, _, lines = self.run_command(["mpirun", "--oversubscribe", "-n", "2", "sh", "-c",
                                           "[ $OMPI_COMM_WORLD_RANK = 0 ] && kind=cpu || kind=cuda; CUDA_VISIBLE_DEVICES= exec "
                                           + shlex.join([PDHOST, "-c", os.path.join(CONF, "ddp.ini"), "-q", "--device"]) + " $kind"])
        self.assertEqual((code, len(lines)), (6, 1), lines)
        self.assertIn("pdhost: error: rank 1: command line: device cuda: ", lines[0])

    def test_commands_of_one_process(self):
        for command in ("whatif", "tune", "causal", "ab"):
            code, out, lines = self.run_command(["mpirun", "--oversubscribe", "-n", "2", PDHOST, command, "-c",
                                                 os.path.join(CONF, "ddp.ini"), *(["", "train.fused=true"] if command == "ab" else [])])
            self.assertEqual((code, out, len(lines)), (2, "", 1), lines)
            self.assertIn(f"pdhost: error: {command}: OMPI_COMM_WORLD_SIZE = 2 says that this is one of several ranks", lines[0])

    def test_a_benchmark_is_of_one_process(self):
        code, out, lines = self.run_command(["mpirun", "--oversubscribe", "-n", "2", PDHOST, "-c", os.path.join(CONF, "ddp.ini"),
                                             "--device", "cpu", "-o", "run.mode=benchmark"])
        self.assertEqual((code, out, len(lines)), (2, "", 1), lines)
        self.assertIn("--mode benchmark: OMPI_COMM_WORLD_SIZE = 2 says", lines[0])
        self.assertEqual(glob.glob(self.path("results/*")), [])

    def test_a_rank_that_is_not_a_number(self):
        code, _, err = self.run_pdhost("--scenario", "control", "-q", watch=False, env={"RANK": "first", "WORLD_SIZE": "2"})
        self.assertEqual(code, 3)
        self.assertIn("pdhost: error: RANK = first: is not a number", err)

    def test_a_rank_whose_scenario_refuses(self):
        code, _, lines = self.run_ranks(2, "-q", "-o", "scenario.straggler_rank=2")
        self.assertNotEqual(code, 0)
        self.assertIn("[scenario] straggler_rank = 2: there are 2 ranks", lines)


if __name__ == "__main__":
    unittest.main()

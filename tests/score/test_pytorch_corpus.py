"""The generator of labelled PyTorch traces: its cells, without PyTorch."""
import contextlib
import fcntl
import importlib.util
import io
import itertools
import json
import os
import pathlib
import signal
import sys
import tempfile
import types
import unittest
from unittest.mock import MagicMock, patch

PATH = os.path.join(os.path.dirname(__file__), "../../corpus/pytorch/generate.py")


def load():
    torch = MagicMock()
    torch.nn = types.SimpleNamespace(Module=object)
    torch.utils.data.Dataset = object
    for name in ("torch", "torch.nn", "torch.profiler"):
        sys.modules[name] = torch
    if os.path.dirname(PATH) not in sys.path:
        sys.path.insert(0, os.path.dirname(PATH))
    spec = importlib.util.spec_from_file_location("generate", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Corpus(unittest.TestCase):
    def setUp(self):
        self.module = load()
        self.gains = sys.modules["cells"].gains

    def cells(self, seed):
        given = types.SimpleNamespace(models="encoder,perceptron", precisions="fp32,bf16", seed=seed)
        return self.module.cells(given)

    def test_every_cause_and_dial_of_every_model_is_there_once(self):
        cells = self.cells(0)
        dials = sum(len(dials) for _, dials in self.module.CAUSES.values())
        self.assertEqual(len(cells), 2 * 2 * 2 * dials)
        self.assertEqual(len(set(cells)), len(cells))
        self.assertEqual({cell[3] for cell in cells}, set(self.module.CAUSES))

    def test_a_seed_names_an_order(self):
        self.assertEqual(self.cells(1), self.cells(1))
        self.assertNotEqual(self.cells(1), self.cells(2))
        self.assertEqual(sorted(self.cells(1)), sorted(self.cells(2)))

    def test_gains_are_what_was_measured(self):
        self.assertEqual(self.gains("none", 0.02, 0.5), {"launch_bound": 0.5})
        self.assertEqual(self.gains("input_bound", 0.4, 0.5), {"input_bound": 0.4, "launch_bound": 0.3})
        self.assertEqual(self.gains("launch_bound", 0.4, 0.5), {"launch_bound": 0.7})
        self.assertEqual(self.gains("allocator", 0.4, None), {"allocator": 0.4})

    def test_pairs_are_measured_until_there_are_enough_or_time_is_up(self):
        for seconds, pairs in ((0, 9), (5, 5)):
            with patch.object(self.module.time, "monotonic", side_effect=itertools.count(0, seconds)):
                self.assertEqual(len(self.module.repeated(lambda: 0)), pairs)

    def run_cell(self, name, **given):
        given = {"steps": None, "profile": False, "trace": None, "label": None, "signal": False, "turn": None, "blocks": False,
                 **given}
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.module.run_cell(name, types.SimpleNamespace(**given))
        return out.getvalue()

    def test_a_cell_runs_as_a_job_with_and_without_profilers(self):
        self.module.Program = MagicMock()
        self.module.Program.return_value.run.side_effect = [50, 100, 130, 110, 90, 120] * 2
        for profiles in (False, True):
            self.module.profile.reset_mock()
            with tempfile.TemporaryDirectory() as folder:
                pathlib.Path(folder, "turn").touch()
                out = self.run_cell("encoder_fp32_sync_forced_sync_16", steps=10, profile=profiles, trace="a.json" if profiles else None,
                                    turn=os.path.join(folder, "turn") if profiles else None)
            self.assertEqual(out, "encoder_fp32_sync_forced_sync_16: step 110 us\n")
            self.assertEqual(self.module.profile.called, profiles)
            traced = [call.args for call in self.module.Program.return_value.record.call_args_list]
            self.assertEqual(traced, [("a.json", True)] if profiles else [])
        with self.assertRaisesRegex(SystemExit, "encoder_fp32_sync_nothing_1 is no cell"):
            self.run_cell("encoder_fp32_sync_nothing_1")

    def test_a_job_makes_as_many_steps_as_take_ten_seconds(self):
        for step_us, block in ((1e3, 40), (100e3, 20), (5e6, 2)):
            self.module.Program = MagicMock()
            run = self.module.Program.return_value.run
            run.return_value = step_us
            self.run_cell("encoder_fp32_sync_none_0")
            self.assertEqual([call.args for call in run.call_args_list], [(20, True)] + 5 * [(block, True)])

    def test_a_job_makes_blocks_when_it_is_told_to(self):
        self.module.Program = MagicMock()
        run = self.module.Program.return_value.run
        run.return_value = 1234.5
        with patch.object(sys, "stdin", io.StringIO("block\nblock\n")):
            self.assertEqual(self.run_cell("encoder_fp32_sync_none_0", steps=35, blocks=True), "ready\n1234.5\n1234.5\n")
        self.assertEqual([call.args for call in run.call_args_list], [(20, True)] + 2 * [(7, True)])

    def test_a_job_measures_its_label_before_anything_records_it(self):
        """Its parent is told when it may, and when the steps are over."""
        self.module.Program = MagicMock()
        program = self.module.Program.return_value
        program.run.return_value = 100
        program.effect.return_value = [(60, 100), (50, 100), (65, 110)]
        with tempfile.TemporaryDirectory() as folder, patch.object(self.module.os, "kill", program.kill), \
                patch.object(self.module.time, "sleep"):
            path = os.path.join(folder, "label.json")
            for shares, graph, gains in (([0.5, 0.25, 0.3], 0.3, {"forced_sync": 0.4091, "launch_bound": 0.1773}),
                                         (RuntimeError("no\ngraph"), None, {"forced_sync": 0.4091})):
                program.mock_calls.clear()
                program.graph_shares.side_effect = [shares]
                with contextlib.redirect_stderr(io.StringIO()) as said, \
                        self.assertRaisesRegex(SystemExit, "without graph_share") if graph is None else contextlib.nullcontext():
                    self.run_cell("encoder_fp32_sync_forced_sync_16", trace="a.json", label=path, signal=True)
                self.assertEqual([call[0] for call in program.mock_calls], ["effect", "graph_shares"] +
                                 (["run", "kill", *5 * ["run"], "kill", *3 * ["run"], "record"] if graph else []))
                with open(path, encoding="utf-8") as file:
                    label = json.load(file)
                self.assertEqual((label["trace"], label["step_us"], label["control_us"], label["graph_share"], label["gains"]),
                                 ("encoder_fp32_sync_forced_sync_16.pt.trace.json.gz", 100, 60, graph, gains))
                self.assertEqual("not captured as a graph: no\n" in said.getvalue(), graph is None)
        self.assertEqual(program.kill.call_args_list, 2 * [unittest.mock.call(os.getppid(), self.module.signal.SIGUSR2)])

    def test_a_turn_is_over_when_its_process_has_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "turn")
            with self.assertRaisesRegex(SystemExit, "its turn came too late"):
                self.module.take_turn(path)
            pathlib.Path(path).touch()
            told, tell = os.pipe()
            child = os.fork()
            if child == 0:
                self.module.take_turn(path)
                os.write(tell, b"1")
                signal.pause()
            os.read(told, 1)
            with open(path, encoding="utf-8") as file:
                with self.assertRaises(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.assertEqual(file.read(), ".")
            with patch.object(self.module.os, "fstat", side_effect=lambda _: os.remove(path) or os.stat_result([0] * 10)):
                with self.assertRaisesRegex(SystemExit, "its turn came too late"):
                    self.module.take_turn(path)
            os.close(told)
            os.close(tell)

    def test_cells_are_listed_in_the_order_of_the_seed(self):
        with patch.object(sys, "argv", ["generate.py", "--list", "--models", "encoder", "--seed", "3"]):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.module.main()
        given = types.SimpleNamespace(models="encoder", precisions="fp32,bf16", seed=3)
        self.assertEqual(out.getvalue().split(), [self.module.name_of(*cell) for cell in self.module.cells(given)])

    def test_the_help_names_every_key_of_a_label(self):
        keys = self.module.label_of(("encoder", "fp32", True, "none", 0), [(60, 100)], [0.5])
        self.assertEqual(len(keys), 14)
        for key in keys:
            self.assertIn(key, self.module.__doc__, key)


if __name__ == "__main__":
    unittest.main()

"""pdhost record: its hook in Python. What fails in it is never the program's."""
import ast
import gc
import importlib.util
import os
import sys
import threading
import types
import unittest
import warnings
import weakref
from unittest import mock

HOOK = os.path.join(os.path.dirname(os.environ["PDHOST"]), os.pardir, "lib", "pdhost", "torch", "sitecustomize.py")


class Hook(unittest.TestCase):
    def setUp(self):
        spec = importlib.util.spec_from_file_location("hook", HOOK)
        self.hook = importlib.util.module_from_spec(spec)
        with mock.patch.dict(os.environ):
            os.environ.pop("PDHOST_RECORD", None)
            spec.loader.exec_module(self.hook)
        self.library = mock.Mock(pdhost_record_code=mock.Mock(return_value=0))

    def behind_step(self, session):
        hooks = []
        module = types.SimpleNamespace(register_optimizer_step_post_hook=hooks.append)
        self.hook.mark_steps(module, self.library, session)
        return hooks[0]

    def test_a_session_that_has_ended_is_no_error_of_the_program(self):
        class Optimizer:
            pass
        optimizer = Optimizer()
        step = self.behind_step("/nonexistent/session")
        for _ in range(3):
            step(optimizer, (), {})
        self.assertEqual(self.library.pdhost_mark_step.call_count, 3)

    def test_without_a_thread_there_are_no_samples(self):
        self.hook.SAMPLER = self.hook.Sampler(self.library, "/")
        with mock.patch.object(self.hook._thread, "start_new_thread", side_effect=RuntimeError("can't start new thread")):
            self.hook.note_thread()
        self.assertIsNone(self.hook.SAMPLER)
        self.hook.note_thread()

    def test_a_thread_that_gets_the_name_of_an_ended_one_is_another(self):
        sampler = self.hook.Sampler(self.library, "/")
        with mock.patch.object(self.hook._thread, "start_new_thread") as start:
            for number in (11, 11, 12):
                with mock.patch.object(self.hook._thread, "get_native_id", return_value=number):
                    sampler.watch()
        self.assertEqual((list(sampler.threads.values()), start.call_count), ([12], 1))

    def test_a_look_keeps_nothing_of_the_program_alive(self):
        class Batch:
            pass

        def step():
            batch = Batch()
            look = threading.Thread(target=sampler.look)
            look.start()
            look.join()
            return weakref.ref(batch)
        sampler = self.hook.Sampler(self.library, os.path.dirname(__file__))
        sampler.threads = {threading.get_ident(): threading.get_native_id()}
        gc.disable()
        self.addCleanup(gc.enable)
        self.assertIsNone(step()())
        self.assertRegex(self.library.pdhost_record_code.call_args[0][1], rb"^test_record_hook.py:\d+ \(step\)$")

    def test_the_collector_of_python_does_not_run_in_a_look(self):
        sampler, seen = self.hook.Sampler(self.library, "/"), []
        self.addCleanup(gc.enable)
        with mock.patch.object(self.hook.sys, "_current_frames", side_effect=lambda: seen.append(gc.isenabled()) or {}):
            sampler.look()
            seen.append(gc.isenabled())
            gc.disable()  # as the program may
            sampler.look()
            seen.append(gc.isenabled())
        self.assertEqual(seen, [False, True, False, False])

    def test_a_forked_child_has_a_sampler_of_its_own(self):
        sampler = self.hook.Sampler(self.library, "/")
        sampler.watch()
        child = os.fork()
        if child == 0:
            with mock.patch.object(self.hook._thread, "start_new_thread") as start:
                sampler.watch()
            os._exit(0 if start.called else 1)
        _, status = os.waitpid(child, 0)
        sampler.stop()
        self.assertEqual(status, 0)

    def wanted_modules(self, **faults):
        """What is marked when the first and the second wanted module are imported, where `faults` of os and of Sampler fail."""
        marked = []
        wants = {"marks": {name: lambda module, *_: marked.append(module.__name__) for name in ("wave", "colorsys")}}
        with mock.patch.dict(os.environ, PDHOST_RECORD_HOOK="marks,code"), mock.patch.object(self.hook, "DOES", wants), \
                mock.patch("ctypes.PyDLL", return_value=self.library), \
                mock.patch.object(self.hook.os, "getcwd", **faults.get("getcwd", {"return_value": "/work"})), \
                mock.patch.object(self.hook, "Sampler", **faults.get("sampler", {"wraps": self.hook.Sampler})):
            watch = self.hook.Watch("library", "session")
            for name in ("wave", "colorsys"):
                spec = watch.find_spec(name, None)
                spec.loader.exec_module(importlib.util.module_from_spec(spec))
        return marked

    def test_a_sampler_that_cannot_be_made_takes_no_marks_away(self):
        self.assertEqual(self.wanted_modules(sampler={"side_effect": RuntimeError("no")}), ["wave", "colorsys"])
        self.assertIsNone(self.hook.SAMPLER)

    def test_a_working_folder_that_was_removed(self):
        self.assertEqual(self.wanted_modules(getcwd={"side_effect": FileNotFoundError("gone")}), ["wave", "colorsys"])
        self.assertEqual(self.hook.SAMPLER.folder, "")
        self.hook.SAMPLER = None

    def test_python_2_can_read_it(self):
        """A Python 2 that the program starts tells of a sitecustomize.py that it cannot read."""
        with open(HOOK, encoding="utf-8") as source:
            found = list(ast.walk(ast.parse(source.read())))
        shown = [part for node in found if isinstance(node, (ast.Set, ast.List, ast.Tuple)) for part in node.elts]
        newer = (ast.JoinedStr, ast.NamedExpr, ast.AnnAssign, ast.Nonlocal, ast.YieldFrom)
        self.assertEqual([node.lineno for node in found if isinstance(node, newer)], [])
        self.assertEqual([part.lineno for part in shown if isinstance(part, ast.Starred)], [])

    def hooked_modules(self):
        """What torch.nn.modules.module is to the hook. The hooks of all modules are there."""
        def registers(hooks):
            def register(hook):
                hooks[id(hook)] = hook
                return types.SimpleNamespace(remove=lambda: hooks.pop(id(hook)))
            return register
        self.compiles, before, behind = False, {}, {}
        tensor = type("Tensor", (), {"grad_fn": types.SimpleNamespace(register_prehook=mock.Mock(), metadata={})})
        torch = types.SimpleNamespace(Tensor=tensor, compiler=types.SimpleNamespace(is_compiling=lambda: self.compiles))
        patch = mock.patch.dict(sys.modules, torch=torch)
        patch.start()
        self.addCleanup(patch.stop)
        module = types.SimpleNamespace(
            _global_forward_pre_hooks=before, register_module_forward_pre_hook=registers(before),
            _global_forward_hooks=behind, register_module_forward_hook=registers(behind), _global_backward_hooks={})
        self.hook.mark_modules(module, self.library, "session")
        return module, torch

    def test_a_strict_export_sees_no_hooks(self):
        module, _ = self.hooked_modules()

        def there():
            return len(module._global_forward_pre_hooks), len(module._global_forward_hooks)
        trace = types.SimpleNamespace(_export_to_torch_ir=mock.Mock(side_effect=lambda model, strict: there()))
        plain = trace._export_to_torch_ir
        plain.__name__ = "_export_to_torch_ir"
        self.hook.export_without(trace, self.library, "session")
        self.assertEqual(there(), (1, 1))
        self.assertEqual(trace._export_to_torch_ir("model", strict=True), (0, 0))
        self.assertEqual(there(), (1, 1))
        plain.side_effect = ValueError
        self.assertRaises(ValueError, trace._export_to_torch_ir, "model", strict=True)
        self.assertEqual(there(), (1, 1))

    def test_a_compiled_module_warns_of_the_hooks_of_the_program_alone(self):
        filters = list(warnings.filters)
        module, _ = self.hooked_modules()
        self.assertEqual(warnings.filters, filters)
        self.assertFalse(module._has_any_global_hook())
        module.register_module_forward_hook(print)
        self.assertTrue(module._has_any_global_hook())

    @staticmethod
    def call(module, model, made):
        for hook in module._global_forward_pre_hooks.values():
            hook(model, ())
        for hook in module._global_forward_hooks.values():
            hook(model, (), made)

    def test_what_is_given_again_has_one_hook(self):
        module, torch = self.hooked_modules()
        cached, made = torch.Tensor(), torch.Tensor()
        made.grad_fn = types.SimpleNamespace(register_prehook=mock.Mock(), metadata={})
        models = [type("Model", (), {"named_modules": lambda self: [("", self)]})() for _ in range(2)]
        for _ in range(3):
            self.call(module, models[0], cached)
            self.call(module, models[1], made)
        self.assertEqual((cached.grad_fn.register_prehook.call_count, made.grad_fn.register_prehook.call_count), (1, 1))

    def test_a_backward_that_is_compiled_is_not_marked(self):
        module, torch = self.hooked_modules()
        model, made = type("Model", (), {"named_modules": lambda self: [("", self)]})(), torch.Tensor()
        self.call(module, model, made)
        self.library.pdhost_mark_module.return_value = None
        (arrives,), _ = made.grad_fn.register_prehook.call_args
        self.compiles = True
        self.assertIsNone(arrives(()))
        self.library.pdhost_mark_module.assert_not_called()
        self.compiles = False
        self.assertIsNone(arrives(()))
        self.library.pdhost_mark_module.assert_called_once_with(b"backward of Model")


if __name__ == "__main__":
    unittest.main()

"""What `pdhost record` does in a PyTorch program, without a change to the program.

Python imports this file when it starts, since pdhost puts its folder first on PYTHONPATH. With --torch, when the program
imports torch, a step is marked behind each step of the first optimizer that steps, and the wait for each batch of a
DataLoader; with --modules, the forward and the backward of modules, too. With --yield, CUPTI is given to torch.profiler before that asks for it. Both are told to the recorder's library
in this process. Beside the marks a thread of its own looks a hundred times a second where the thread that trains is in the
program's own code. The program never sees an exception of this file.
"""
import atexit
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import weakref

import _thread  # threading would list the sampler among the program's threads

HERE = os.path.dirname(os.path.abspath(__file__))


class Sampler:
    """Where a thread is in code that is the program's own: the innermost frame that is of no library. Names of files below
    `folder` are told without it."""

    EVERY_S, IDLE_S = 0.01, 0.1

    def __init__(self, library, folder):
        import sysconfig
        self.tell = library.pdhost_record_code
        places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} - {None}
        self.foreign = tuple(os.path.join(place, "") for place in places) + (os.path.join(HERE, ""), "<")
        self.folder = os.path.join(folder, "")
        self.is_own = {}
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self):
        """No thread of its own runs, as in a forked child."""
        atexit.unregister(self.stop)
        self.end, self.ended = _thread.allocate_lock(), _thread.allocate_lock()
        self.end.acquire()
        self.threads = {}  # the system's numbers by Python's, which a later thread may get again

    def watch(self):
        """The calling thread trains."""
        if not hasattr(_thread, "get_native_id"):
            return
        ident, number, is_first = _thread.get_ident(), _thread.get_native_id(), not self.threads
        if self.threads.get(ident) == number:
            return
        self.threads[ident] = number
        if is_first and self.ended.acquire(blocking=False):  # of two threads that come at once, one starts it
            _thread.start_new_thread(self.run, ())
            atexit.register(self.stop)

    def owns(self, code):
        name = code.co_filename
        if name not in self.is_own:
            path = name if name.startswith("<") else os.path.normpath(os.path.join(self.folder, name))
            foreign = path.startswith(self.foreign) or "/site-packages/" in path or "/dist-packages/" in path
            self.is_own[name] = None if foreign else path[len(self.folder):] if path.startswith(self.folder) else path
        return self.is_own[name]

    def look(self):
        """The program's objects must not end on this thread: their destructors may count on the program's own. So Python's
        collector does not run here."""
        collects = gc.isenabled()
        gc.disable()
        try:
            return self.tell_places(sys._current_frames())
        finally:
            if collects:
                gc.enable()

    def tell_places(self, frames):
        """A frame holds variables of the program, so none is kept. Those of this thread hold `frames`, and would keep all."""
        frames.pop(_thread.get_ident(), None)
        recorded = 0
        for ident, number in list(self.threads.items()):
            frame = frames.get(ident)
            while frame is not None and not self.owns(frame.f_code):
                frame = frame.f_back
            if frame is not None:
                place = "%s:%d (%s)" % (self.owns(frame.f_code), frame.f_lineno, frame.f_code.co_name)
                recorded |= self.tell(number, place.encode("utf-8", "replace"))
        return recorded

    def run(self):
        try:
            while not self.end.acquire(timeout=self.EVERY_S if self.look() else self.IDLE_S):
                pass
        except BaseException:  # what it cannot see is not the program's fault
            pass
        self.ended.release()

    def stop(self):
        """Before the interpreter ends. It would end this thread wherever it is, in a destructor of C++ for one, and that aborts
        the program."""
        self.end.release()
        self.ended.acquire(timeout=1)


SAMPLER = None


def note_thread():
    """Where no thread can be made there are no samples."""
    global SAMPLER
    try:
        if SAMPLER:
            SAMPLER.watch()
    except Exception:
        SAMPLER = None


def tell_of_marks(session):
    """pdhost sees by this file that steps are marked. The session may have ended, and its folder with it."""
    try:
        with open(os.path.join(session, "mark_steps"), "ab"):
            pass
    except OSError:
        pass


def mark_waits(module, library, _session):
    """torch.utils.data.dataloader: its iterators' __next__ is where a loop waits for its batch."""
    iterator = module._BaseDataLoaderIter
    plain, begin, end = iterator.__next__, library.pdhost_mark_input_begin, library.pdhost_mark_input_end

    @functools.wraps(plain)
    def marked(self):
        note_thread()
        begin()
        try:
            return plain(self)
        finally:
            end()

    iterator.__next__ = marked


def is_compiling():
    compiler = getattr(sys.modules.get("torch"), "compiler", None)
    return bool(compiler and getattr(compiler, "is_compiling", bool)())


def mark_steps(module, library, session):
    """torch.optim.optimizer: a hook of its own behind each step. A loop of two optimizers has one step by the first."""
    mark, chosen = library.pdhost_mark_step, []

    def behind_step(optimizer, _args, _keywords):
        if is_compiling():
            return
        if not chosen:
            tell_of_marks(session)
        if not chosen or chosen[0]() is None:
            chosen[:] = [weakref.ref(optimizer)]
        if chosen[0]() is optimizer:
            note_thread()
            mark()

    module.register_optimizer_step_post_hook(behind_step)


class Modules:
    """Forward and backward of the modules of a model: of its root and of those nearest to it, as many as are allowed.

    Backward is marked where the gradient of a module's output arrives, by a hook on the operation that made the output.
    PyTorch's own hooks for a module's backward would put operations of their own around each module, which makes views of
    outputs: a program that then changes one in place would fail.
    """

    MOST, MOST_KNOWN = 100, 4096

    def __init__(self, library, torch):
        self.torch = torch
        self.begin, self.end, self.tell = (getattr(library, "pdhost_mark_module" + end) for end in ("_begin", "_end", ""))
        for function in (self.begin, self.end, self.tell):
            function.restype = None
        self.known = {}  # by id: who it is, and the names of its forward and its backward
        self.mine, self.hooks, self.handles = _thread._local(), (), []

    def hook(self):
        self.handles = self.handles or [register(hook) for register, hook in self.hooks]

    def unhook(self):
        while self.handles:
            self.handles.pop().remove()

    def learn(self, root):
        """A compiled model is one module: its own are not called one by one any more."""
        inner = getattr(root, "_orig_mod", None)
        found = [("", root)] if inner is not None else list(root.named_modules())
        depths = [name.count(".") + 1 if name else 0 for name, _ in found]
        deepest = max(depth for depth in {0}.union(depths) if not depth or sum(other <= depth for other in depths) <= self.MOST)
        if len(self.known) > self.MOST_KNOWN:
            self.known.clear()
        for (name, module), depth in zip(found, depths):
            if depth <= deepest:
                path = ".".join(part for part in (type(inner or root).__name__, name) if part).encode("utf-8", "replace")
                self.known[id(module)] = weakref.ref(module), b"forward of " + path, b"backward of " + path

    def names(self, module):
        found = self.known.get(id(module))
        return found if found and found[0]() is module else None

    def stack(self):
        """Those that are open on this thread; by number, since one that an exception has left stays until the next step."""
        if not hasattr(self.mine, "open"):
            self.mine.open = []
        return self.mine.open

    def close(self, stack, number):
        while stack:
            self.end()
            if stack.pop() == number:
                return

    def enter(self, module):
        stack, names = self.stack(), self.names(module)
        if not names and not stack:
            self.learn(module)
            names = self.names(module)
        if not names:
            return
        if stack and stack[0] == id(module):
            self.close(stack, None)
        stack.append(id(module))
        self.begin(names[1])

    def leave(self, module, output):
        stack = self.stack()
        if id(module) not in stack:
            return
        self.close(stack, id(module))
        made, names = self.made(output), self.names(module)
        if made is None or not names or "pdhost" in made.grad_fn.metadata:
            return  # one whose last module is marked gives what that has given, as one does that gives it at each call
        made.grad_fn.metadata["pdhost"] = True
        made.grad_fn.register_prehook(lambda _gradients: None if is_compiling() else self.tell(names[2]))

    def made(self, output):
        """The first tensor whose gradient will come."""
        if isinstance(output, self.torch.Tensor):
            return output if output.grad_fn is not None else None
        parts = output.values() if isinstance(output, dict) else output if isinstance(output, (tuple, list)) else ()
        return next(filter(lambda part: part is not None, map(self.made, parts)), None)

    def stop(self):
        """The optimizer steps: no backward goes on, and no forward."""
        self.close(self.stack(), None)
        self.tell(b"")


MODULES = None


def mark_modules(module, library, _session):
    """torch.nn.modules.module: hooks of all modules. Within what is compiled they are left out."""
    global MODULES
    MODULES = Modules(library, sys.modules["torch"])

    def before(called, _arguments):
        try:
            if not is_compiling():
                MODULES.enter(called)
        except Exception:  # as all that fails here
            pass

    def behind(called, _arguments, output):
        try:
            if not is_compiling():
                MODULES.leave(called, output)
        except Exception:
            pass

    MODULES.hooks = (module.register_module_forward_pre_hook, before), (module.register_module_forward_hook, behind)
    MODULES.hook()
    # PyTorch warns at each call of a compiled module where this is true. Only the program's own hooks are its matter.
    counted = [hooks for name, hooks in vars(module).items() if name.startswith(("_global_forward", "_global_backward"))]
    module._has_any_global_hook = lambda: sum(map(len, counted)) > len(MODULES.handles)


def export_without(module, _library, _session):
    """torch.export._trace: a strict export fails where there are hooks of all modules."""
    plain, modules = module._export_to_torch_ir, MODULES

    @functools.wraps(plain)
    def export(*arguments, **named):
        modules.unhook()
        try:
            return plain(*arguments, **named)
        finally:
            modules.hook()

    if modules:
        module._export_to_torch_ir = export


def mark_optimizer(module, library, session):
    """torch.optim.optimizer, with modules: where it begins to step."""
    mark_steps(module, library, session)

    def before_step(_optimizer, _arguments, _keywords):
        try:
            if MODULES and not is_compiling():
                MODULES.stop()
        except Exception:
            pass

    module.register_optimizer_step_pre_hook(before_step)


def give_way(module, library, _session):
    """torch.autograd.profiler: all profilers of PyTorch prepare here, and only then subscribe to CUPTI."""
    plain = module._prepare_profiler

    @functools.wraps(plain)
    def after_pdhost(config, activities, *rest, **named):
        if any(getattr(activity, "name", "") == "CUDA" for activity in activities):
            library.pdhost_record_yield()
        return plain(config, activities, *rest, **named)

    module._prepare_profiler = after_pdhost


DOES = {
    "marks": {"torch.utils.data.dataloader": mark_waits, "torch.optim.optimizer": mark_steps},
    "modules": {"torch.nn.modules.module": mark_modules, "torch.optim.optimizer": mark_optimizer,
                "torch.export._trace": export_without},
    "yield": {"torch.autograd.profiler": give_way},
}


class Watch(importlib.abc.MetaPathFinder):
    """Calls what marks a module when it has been imported."""

    def __init__(self, path, session):
        self.path, self.session, self.library = path, session, None
        try:
            self.folder = os.getcwd()  # the program may leave it before it imports torch
        except OSError:  # it was removed
            self.folder = ""
        self.wanted, self.wishes = {}, os.environ.get("PDHOST_RECORD_HOOK", "").split(",")
        for what in self.wishes:
            self.wanted.update(DOES.get(what, {}))

    def load(self):
        """The recorder's library, once it is needed: most programs in Python import no torch."""
        global SAMPLER
        if self.library is None:
            import ctypes
            self.library = ctypes.PyDLL(self.path)
            try:
                if "code" in self.wishes:
                    SAMPLER = Sampler(self.library, self.folder)
            except Exception:  # the marks do not need it
                pass
        return self.library

    def find_spec(self, name, path, target=None):
        mark = self.wanted.pop(name, None)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if mark else None
        if spec is None or spec.loader is None:
            return None
        plain = spec.loader.exec_module

        def run_and_mark(module):
            plain(module)
            try:
                mark(module, self.load(), self.session)
            except Exception:  # another version of PyTorch: pdhost says that the marks are missing
                pass

        spec.loader.exec_module = run_and_mark
        return spec


def run_next():
    """The sitecustomize that this one hides."""
    places = [place for place in sys.path if os.path.abspath(place or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", places)
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    if os.environ.get("PDHOST_RECORD") and os.environ.get("CUDA_INJECTION64_PATH"):
        sys.meta_path.insert(0, Watch(os.environ["CUDA_INJECTION64_PATH"], os.environ["PDHOST_RECORD"]))
except Exception:  # no recorder in this process: the program runs as without it
    pass
run_next()

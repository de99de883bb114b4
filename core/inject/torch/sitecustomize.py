"""What `pdhost record` does in a PyTorch program, without a change to the program.

Python imports this file when it starts, since pdhost puts its folder first on PYTHONPATH. With --torch, when the program
imports torch, a step is marked behind each step of the first optimizer that steps, and the wait for each batch of a
DataLoader. With --yield, CUPTI is given to torch.profiler before that asks for it. Both are told to the recorder's library
in this process. Beside the marks a thread of its own looks a hundred times a second where the thread that trains is in the
program's own code. Whatever fails here is the program's to never see.
"""
import atexit
import ctypes
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import weakref

import _thread  # threading would list the sampler among the program's threads

HERE = os.path.dirname(os.path.abspath(__file__))


class Sampler:
    """Where a thread is in code that is the program's own: the innermost frame that is of no library."""

    EVERY_S, IDLE_S = 0.01, 0.1

    def __init__(self, library):
        import sysconfig
        self.tell = library.pdhost_record_code
        self.end, self.ended = _thread.allocate_lock(), _thread.allocate_lock()
        self.end.acquire()
        places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} - {None}
        self.foreign = tuple(os.path.join(place, "") for place in places) + (os.path.join(HERE, ""), "<")
        self.folder = os.path.join(os.getcwd(), "")
        self.is_own = {}
        self.threads = {}  # the system's numbers by Python's

    def watch(self):
        """The calling thread trains."""
        ident = _thread.get_ident()
        if ident in self.threads or not hasattr(_thread, "get_native_id"):
            return
        self.threads[ident] = _thread.get_native_id()
        if len(self.threads) == 1:
            self.ended.acquire()
            _thread.start_new_thread(self.run, ())
            atexit.register(self.stop)
            os.register_at_fork(after_in_child=self.forget)

    def owns(self, code):
        name = code.co_filename
        if name not in self.is_own:
            path = name if name.startswith("<") else os.path.abspath(name)
            foreign = path.startswith(self.foreign) or "/site-packages/" in path or "/dist-packages/" in path
            self.is_own[name] = None if foreign else path[len(self.folder):] if path.startswith(self.folder) else path
        return self.is_own[name]

    def look(self):
        recorded, frames = 0, sys._current_frames()
        for ident, number in list(self.threads.items()):
            frame = frames.get(ident)
            while frame is not None and not self.owns(frame.f_code):
                frame = frame.f_back
            if frame is not None:
                place = f"{self.owns(frame.f_code)}:{frame.f_lineno} ({frame.f_code.co_name})"
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

    def forget(self):
        """A child has no such thread."""
        atexit.unregister(self.stop)


SAMPLER = None


def note_thread():
    if SAMPLER:
        SAMPLER.watch()


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


def mark_steps(module, library, session):
    """torch.optim.optimizer: a hook of its own behind each step. A loop of two optimizers has one step by the first."""
    mark, chosen = library.pdhost_mark_step, []

    def behind_step(optimizer, _args, _keywords):
        compiler = getattr(sys.modules.get("torch"), "compiler", None)
        if compiler and getattr(compiler, "is_compiling", bool)():
            return
        if not chosen:
            with open(os.path.join(session, "mark_steps"), "ab"):
                pass  # pdhost sees by this file that steps are marked
        if not chosen or chosen[0]() is None:
            chosen[:] = [weakref.ref(optimizer)]
        if chosen[0]() is optimizer:
            note_thread()
            mark()

    module.register_optimizer_step_post_hook(behind_step)


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
    "yield": {"torch.autograd.profiler": give_way},
}


def wishes():
    return os.environ.get("PDHOST_RECORD_HOOK", "").split(",")


class Watch(importlib.abc.MetaPathFinder):
    """Calls what marks a module when it has been imported."""

    def __init__(self, library, session):
        self.library, self.session = library, session
        self.wanted = {}
        for what in wishes():
            self.wanted.update(DOES.get(what, {}))

    def find_spec(self, name, path, target=None):
        mark = self.wanted.pop(name, None)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if mark else None
        if spec is None or spec.loader is None:
            return None
        plain = spec.loader.exec_module

        def run_and_mark(module):
            plain(module)
            try:
                mark(module, self.library, self.session)
            except Exception:  # another version of PyTorch: pdhost says that the marks are missing
                pass

        spec.loader.exec_module = run_and_mark
        return spec


def watch():
    global SAMPLER
    session, path = os.environ.get("PDHOST_RECORD"), os.environ.get("CUDA_INJECTION64_PATH")
    if session and path:
        library = ctypes.PyDLL(path)
        sys.meta_path.insert(0, Watch(library, session))
        if "code" in wishes():
            SAMPLER = Sampler(library)


def run_next():
    """The sitecustomize that this one hides."""
    places = [place for place in sys.path if os.path.abspath(place or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", places)
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


try:
    watch()
except Exception:  # no recorder in this process: the program runs as without it
    pass
run_next()

"""A whole run under valgrind, with every sink: nothing leaks, and no access is bad."""
import shutil
import sys
import unittest

from pdhost_run import SANITIZER, Case

# The code that oneDNN generates for newer processors reads a little past its own buffers.
PLAIN_CODE = {"ONEDNN_MAX_CPU_ISA": "SSE41", "DNNL_MAX_CPU_ISA": "SSE41"}

# At the very end valgrind has glibc free its own memory. That closes the library that backtrace() has loaded, and others
# with it: what one of these still holds looks lost.
CLOSED = """{
  libgomp holds it until the process ends
  Memcheck:Leak
  fun:malloc
  obj:*/libgomp.so.*
}
"""


class Valgrind(Case):
    def assert_clean(self, *arguments):
        sinks = [word for name in ("table", "json", "csv", "chrome_trace", "tensorboard") for word in ("--sink", name)]
        kinds = "definite,indirect,possible"
        with open(self.path("suppressed"), "w", encoding="ascii") as file:
            file.write(CLOSED)
        valgrind = ["valgrind", "--quiet", "--keep-debuginfo=yes", "--suppressions=suppressed", "--leak-check=full",
                    f"--show-leak-kinds={kinds}", f"--errors-for-leak-kinds={kinds}", "--error-exitcode=1"]
        code, out, err = self.run_small(*arguments, "--full", *sinks, "--trace_dir", "traces", under=valgrind, env=PLAIN_CODE)
        self.assertEqual(code, 0, err)
        self.assertNotIn("==", err)
        self.assertIn("steps_per_s", out)

    def test_control_leaks_nothing(self):
        self.assert_clean("--scenario", "control", "--profile_steps", "3")

    def test_dataloader_leaks_nothing(self):
        self.assert_clean("--scenario", "dataloader", "--num_workers", "2", "--profile_steps", "3")


if __name__ == "__main__":
    missing = "valgrind is not installed" if not shutil.which("valgrind") else \
        f"the build has a sanitizer ({SANITIZER})" if SANITIZER else ""
    if missing:
        print(f"SKIPPED: cli.valgrind: {missing}", file=sys.stderr)
        sys.exit(77)
    unittest.main()

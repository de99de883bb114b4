"""Nothing of CUDA is loaded, or looked for, unless the CUDA device is chosen."""
import glob
import re
import signal
import unittest

from pdhost_run import SMALL, Case

CUDA = re.compile(r"/cuda\.so|lib(cuda|cudart|cupti|cudnn|cublas|cublasLt|nvrtc|nvperf)[._]")


class Libraries(Case):
    def loaded(self, *arguments, code=0):
        """What the run asked the dynamic loader for, found or not."""
        log = self.path("loader")
        ended, _, err = self.run_pdhost(*arguments, env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": log}, watch=False)
        self.assertEqual(ended, code, err)
        lines = []
        for path in glob.glob(glob.escape(log) + ".*"):
            with open(path, encoding="utf-8", errors="replace") as file:
                lines += re.findall(r"file=(\S+)", file.read())
        self.assertTrue(any(line.startswith("libc.so") for line in lines), "the loader said nothing")
        return lines

    def test_none_is_looked_for_on_the_cpu_device(self):
        asked = self.loaded(*SMALL, "--scenario", "tiny_ops", "-o", "run.sinks=table,json,chrome_trace")
        self.assertTrue([line for line in asked if "/cpu.so" in line])
        self.assertEqual([line for line in asked if CUDA.search(line)], [])

    def test_none_is_looked_for_by_help(self):
        for arguments in (["--help"], ["--help-section", "data"], ["--version"]):
            self.assertEqual([line for line in self.loaded(*arguments) if CUDA.search(line)], [], arguments)

    def test_none_is_mapped_while_the_cpu_device_runs(self):
        process = self.start(*SMALL, "--scenario", "control", "-o", "schedule.repeat=0", "-o", "run.max_steps=100000000",
                             watch=False)
        first = process.stderr.readline()  # written when the device is open and the loop about to start
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as file:
            maps = file.read()
        process.send_signal(signal.SIGINT)
        code, _, err = self.ended(process)
        self.assertIn("libdnnl", maps, first + err)
        self.assertEqual(code, 130, first + err)
        self.assertEqual([line for line in maps.splitlines() if CUDA.search(line)], [])


if __name__ == "__main__":
    unittest.main()

"""pdhost record --cupti: the CUPTI for a program that has loaded none."""
import sys
import unittest

from record_case import CUPTI, PythonRecord

PROGRAM = """
import ctypes, os, sys, time
ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
cupti = ctypes.CDLL(sys.argv[1])
for _ in range(40): cupti.fake_driver_launch(b"_Z4workv")
cupti.fake_finish(0)
time.sleep(0.6)
"""


class Cupti(PythonRecord):
    def setUp(self):
        super().setUp()
        self.command = (sys.executable, "-c", PROGRAM, CUPTI)

    def test_the_file_that_is_given(self):
        code, _, err, figures = self.record(command=self.command, options=("--cupti", CUPTI))
        self.assertEqual(code, 0, err)
        self.assertIsNotNone(figures, err)
        self.assertEqual(figures["windows"][0]["counts"]["activities"], 40)

    def test_a_file_that_is_not_there(self):
        _, warnings = self.unrecorded(command=self.command, options=("--cupti", "/nowhere/libcupti.so.13"),
                                      said="/nowhere/libcupti.so.13: cannot open")
        self.assertIn("install CUPTI of CUDA 13.0 Update 1 or newer, or give its file with --cupti", warnings[0])


if __name__ == "__main__":
    unittest.main()

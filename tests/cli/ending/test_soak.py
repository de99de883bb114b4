"""The memory of a run does not grow with its steps."""
import os
import subprocess
import unittest

from pdhost_run import ROOT, Case



class Soak(Case):
    def soak(self, *options):
        if os.environ.get("PDHOST_TEST_SANITIZER"):
            self.skipTest("a sanitizer keeps memory that was freed")
        ended = subprocess.run([os.path.join(ROOT, "scripts/soak"), *options], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
        self.assertEqual(ended.returncode, 0, ended.stdout)
        self.assertIn("bytes a step", ended.stdout)

    def test_many_windows(self):
        self.soak("--steps", "20000")

    def test_many_windows_for_a_writer(self):
        """The memory of supervisor, worker and writer together."""
        self.soak("--steps", "20000", "--writer")


if __name__ == "__main__":
    unittest.main()

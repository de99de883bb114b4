"""What is left of a run whose process is changed, limited or ended by something around it."""
import glob
import json
import os
import re
import resource
import signal
import stat
import subprocess
import unittest

from pdhost_run import FIXTURES, PDHOST, SANITIZER, SMALL, Case, worker_of, writer_of

SCENARIOS = os.path.join(FIXTURES, "scenario")
MISDEED = os.path.join(SCENARIOS, "misdeed.so")
SINK = os.path.join(FIXTURES, "sink", "misdeed.so")
# Windows are steps 2 and 3, 6 and 7, 10 and 11.
WINDOWS = (*SMALL, "-o", "schedule.active=2", "-o", "schedule.repeat=3")
OUTPUTS = ("--sink", "json:output_json=out.json", "--sink", "csv:dir=csv")
BASE = (*WINDOWS, "--trace_dir", "traces", *OUTPUTS)
UNENDED = ("-o", "schedule.repeat=0", "-o", "run.epochs=0", "-o", "run.max_steps=1000000")


class WithoutProc(Case):
    def test_a_run(self):
        if SANITIZER:
            self.skip(f"the {SANITIZER} sanitizer itself needs /proc")
        under = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if subprocess.run([*under, "true"], capture_output=True, check=False).returncode != 0:
            self.skip("this machine lets nobody mount in a namespace of their own")
        code, out, err = self.run_pdhost(*BASE, "--sink", "table:views=device_summary", "--scenario", "control", watch=False, under=under)
        self.assertEqual((code, self.errors(err)), (0, []), err)
        written = self.json("out.json")
        self.assertEqual((written["outcome"], written["steps"], len(written["windows"])), ("complete", 12, 3))
        self.assertIn("Device Summary", out)
        self.assertNotRegex(out, r"(?m)^CPU\((Process|System)\) +\d") # not known


if __name__ == "__main__":
    unittest.main()

"""What lies at the bounds of a recording: the start of the program, and work that runs after the end."""
import json
import unittest

from made_trace import MadeTrace
from pdhost_run import Case


class RecordingBounds(Case):
    def analyze(self, *words):
        return self.run_pdhost("analyze", *words, watch=False)

    def test_the_start_of_the_program_is_no_launching(self):
        made = MadeTrace(steps=2, marks=False)
        for event in made.events:
            event["ts"] += 50000
        made.host("cuda_runtime", "cudaDeviceGetStreamPriorityRange", 100, 40000.0, cbid=205)
        made.write(self.path("made.json"))
        code, out, err = self.analyze("made.json", "--sink", "json:output_json=out.json")
        self.assertEqual(code, 0, out + err)
        self.assertIn("made.json: one call of cudaDeviceGetStreamPriorityRange took 40.0 ms: the recording includes the "
                      "program's start-up\n", err)
        with open(self.path("out.json"), encoding="utf-8") as file:
            rows = json.load(file)["windows"][0]["tables"]["ledger"]["rows"]
        owned = {row["cause"]: row["total"] for row in rows}
        self.assertGreaterEqual(owned["host_compute"], 40000000)
        self.assertLess(owned["launch"], 15000000)
        made.events[-1]["name"] = ""
        made.write(self.path("made.json"))
        self.assertIn("made.json: one call took 40.0 ms: the recording", self.analyze("made.json")[2])

    def test_a_long_launch_is_no_start_of_the_program(self):
        """It waits for room in a full queue, and its kernel runs after the recording. An allocation in between is none, too."""
        for call in ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMalloc"):
            for start in (-5000.0, 3000.0):
                if call == "cudaMalloc" and start < 0:
                    continue
                made = MadeTrace(steps=2, marks=False)
                made.host("cuda_runtime", call, start, 4000.0, cbid=211, correlation=made.number)
                made.write(self.path("made.json"))
                self.assertNotIn("one call", self.analyze("made.json")[2], (call, start))

    def test_work_after_the_recording_is_not_lost(self):
        made = MadeTrace(steps=8)
        kernels = [event for event in made.events if event["cat"] == "kernel"]
        for late in kernels[-3:]:
            made.events.remove(late)
        made.write(self.path("made.json"))
        code, out, err = self.analyze("made.json", "--sink", "table", "--sink", "json:output_json=out.json")
        out = " ".join(out.split())
        self.assertEqual(code, 0, out + err)
        self.assertIn("withheld: launches at the end of the recording, whose work may have run after it: 3 of 32 What helps "
                      "Synchronise with the device before the recording ends", out)
        self.assertIn("made.json: launches at its end without a device record: 3 of 32; their work may have run after", err)
        self.assertNotIn("drops", out)
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["lost"]["UNMATCHED_LAUNCH"], 0)
        made.events.remove(kernels[4]) # one that was dropped, too
        made.write(self.path("made.json"))
        code, out, err = self.analyze("made.json")
        self.assertEqual(code, 7, out + err)
        self.assertIn("withheld: only 87.50 % of the launches have their device record What helps Record fewer steps",
                      " ".join(out.split()))
        self.assertNotIn("at its end", err)
        self.assertIn("pdhost: warn: only 87.50 % of the launches have their device record: the figures", err)


if __name__ == "__main__":
    unittest.main()

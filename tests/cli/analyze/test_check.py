"""pdhost check: each kind of fault, put into a clean trace, is found by its name, its count and its place; and what is
legal is not. PDHOST_SAMPLES may name folders of traces that are known to be clean."""
import copy
import glob
import json
import os
import random
import re
import unittest

from made_trace import MadeTrace
from pdhost_run import ROOT, Case

SEED = 20261123


class Check(Case):
    def setUp(self):
        super().setUp()
        self.made = MadeTrace(kernel_us=200.123)
        self.random = random.Random(SEED)

    def check(self, *names, options=()):
        code, out, err = self.run_pdhost("check", "--format", "json", *options, *names, watch=False)
        return code, json.loads(out), err

    def found(self, made=None, text=None, name="made.json"):
        """The findings of one file by their kinds, and the file's part of the answer."""
        made = made or self.made
        self.text = text or made.text()
        made.write(self.path(name), self.text)
        code, answer, err = self.check(name)
        file = answer["files"][0]
        kinds = {row["kind"]: row for row in file["findings"]}
        self.assertEqual((code, answer["clean"]), (7, False) if kinds else (0, True), err)
        self.assertEqual(self.warnings(err), [])
        return kinds, file

    def some(self, count, category, name=None):
        """Events of that category from the middle of the trace, no two the same, and each with another behind it."""
        rows = [event for event in self.made.events if event["cat"] == category and (not name or event["name"] == name)]
        return self.random.sample(rows[1:-1], count)

    def call_of(self, work):
        return next(event for event in self.made.events if event["cat"] == "cuda_runtime"
                    and event["args"]["correlation"] == work["args"]["correlation"])

    def assert_only(self, kind, count, worst=None):
        """That kind alone was found, so often, and it names the event `worst`, where it stands."""
        kinds, _ = self.found()
        self.assertEqual({name: row["count"] for name, row in kinds.items()}, {kind: count})
        if worst:
            self.assertIn(worst["name"], kinds[kind]["worst"])
            at, _ = json.JSONDecoder().raw_decode(self.text[kinds[kind]["byte"]:])
            self.assertEqual(at, worst)
        return kinds[kind]["worst"]

    def test_a_clean_trace(self):
        kinds, file = self.found()
        self.assertEqual((kinds, file["notes"]), ({}, []))
        self.assertEqual((file["device_records"], file["calls"], file["reader"]), (20, 25, "kineto"))
        code, out, _ = self.run_pdhost("check", "made.json", watch=False)
        self.assertEqual(code, 0)
        self.assertEqual(out, "made.json: no findings in 20 device records, 25 calls and 35 ranges (kineto)\n")

    def test_work_before_its_launch(self):
        works = self.some(2, "kernel", "gemm_kernel")
        for early, work in zip((3.25, 4.5), works):
            work["ts"] = self.call_of(work)["ts"] - early
            work["dur"] -= 20
        self.assertIn("begins 4.50 us before cudaLaunchKernel", self.assert_only("work_before_launch", 2, works[1]))

    def test_overlap_on_a_stream(self):
        works = self.some(2, "kernel", "elementwise_kernel")
        for early, work in zip((2.5, 5.75), works):
            work["ts"] -= early
            work["dur"] += early
        said = self.assert_only("stream_overlap", 2, works[1])
        self.assertIn('"elementwise_kernel" begins 4.75 us before "gemm_kernel" ends, on stream 7', said)

    def overlap_with(self, call, major):
        for work in self.some(2, "kernel", "elementwise_kernel"):
            work["ts"] -= 5
            work["dur"] += 5
            self.call_of(work)["name"] = call
        self.made.head["deviceProperties"][0]["computeMajor"] = major
        return self.found()

    def test_programmatic_dependent_launch_is_legal(self):
        for call in ("cudaLaunchKernelExC", "cuLaunchKernelEx"):
            kinds, file = self.overlap_with(call, 9)
            self.assertEqual(kinds, {})
            self.assertEqual(len(file["notes"]), 1, file["notes"])
        self.assertEqual(set(self.overlap_with("cudaLaunchKernelExC", 8)[0]), {"stream_overlap"})
        self.made = MadeTrace(kernel_us=200.123)
        self.assertEqual(set(self.overlap_with("cudaLaunchKernel", 9)[0]), {"stream_overlap"})

    def test_kernels_of_one_graph_run_side_by_side(self):
        for work in self.some(2, "kernel", "gemm_kernel"):
            self.call_of(work)["name"] = "cudaGraphLaunch"
            twin = copy.deepcopy(work)
            twin["name"], twin["ts"] = "other_branch", work["ts"] + 1.5
            twin["dur"] -= 3
            self.made.events.append(twin)
        self.assertEqual(self.found()[0], {})

    def test_a_child_that_outlasts_its_parent(self):
        call, = self.some(1, "cuda_runtime", "cudaLaunchKernel")
        call["dur"] = 17.25 # its operation began 5 us earlier, and takes 20
        self.assertIn("ends 2.25 us after", self.assert_only("child_outside_parent", 1, call))

    def test_negative_times(self):
        work, = self.some(1, "kernel", "elementwise_kernel")
        call, = self.some(1, "cuda_runtime", "cudaDeviceSynchronize")
        work["dur"], call["dur"] = -1.5, -4.25
        self.assert_only("negative_time", 2, call)

    def test_no_length(self):
        works = self.some(3, "kernel")
        for work in works:
            work["dur"] = 0
        self.assert_only("zero_time", 3)

    def test_times_that_were_lost(self):
        for event in self.made.events:
            event["ts"] += 5e6
        calls = self.some(2, "cuda_runtime", "cudaDeviceSynchronize")
        for call in calls:
            call["ts"] = 0
        self.assertIn("begins at time 0, and the next event 5.00 s later", self.assert_only("implausible_time", 2))
        for call in calls:
            call["ts"] = 9.2e15
        self.assertIn("2 events have no time and are left out", self.assert_only("file_damaged", 2))

    def test_copies_faster_than_the_link(self):
        self.made.head["deviceProperties"][0]["name"] = "NVIDIA Made GPU"
        for size, work in zip((1 << 22, 1 << 24), copies := self.some(2, "gpu_memcpy")):
            work["args"]["bytes"] = size # 20 us: 210 and 839 GB/s
        self.assertIn("839 GB/s", self.assert_only("copy_too_fast", 2, copies[1]))
        for work in copies:
            work["args"]["bytes"] = 1 << 20 # 52 GB/s: PCIe 5 carries it
        self.assertEqual(self.found()[0], {})

    def test_occupancy_of_nothing(self):
        works = self.some(2, "kernel", "gemm_kernel")
        for work in works:
            work["args"]["est. achieved occupancy %"] = 0
        self.assert_only("occupancy_zero", 2)
        for work in works:
            work["args"]["shared memory"] = 100 << 10 # Kineto cannot compute that
        kinds, file = self.found()
        self.assertEqual((kinds, len(file["notes"])), ({}, 1))
        for work in works:
            work["args"].update({"shared memory": 0, "warps per SM": 0.25}) # rounds to 0
        self.assertEqual(self.found()[0], {})

    def test_device_records_without_a_launch(self):
        works = self.some(2, "kernel", "gemm_kernel")
        for work in works:
            self.made.events.remove(self.call_of(work))
        self.assert_only("work_without_launch", 2)

    def test_device_records_without_a_number(self):
        kernels = [event for event in self.made.events if event["cat"] == "kernel"]
        for number, work in enumerate(kernels):
            del work["args"]["correlation"]
            work["args"]["External id"] = number + 1 # of its operation
        kinds, file = self.found()
        self.assertEqual(kinds["work_without_launch"]["count"], 15)
        self.assertIn('"gemm_kernel" (200 us, no number) has no call', kinds["work_without_launch"]["worst"])
        self.assertIn("15 device records carry no correlation, so their launches are not known", file["notes"])
        self.assertNotIn("before the recording began", " ".join(file["notes"]))
        self.assertNotIn("number 0", json.dumps(file))

    def test_one_of_no_length_without_a_number(self):
        work, = self.some(1, "kernel")
        work["dur"] = 0
        del work["args"]["correlation"]
        kinds, file = self.found()
        self.assertIn("(no number)", kinds["zero_time"]["worst"])
        self.assertIn("1 device record carries no correlation, so its launch is not known", file["notes"])

    def test_work_launched_before_the_recording(self):
        first = [event for event in self.made.events if event["cat"] == "gpu_memcpy"][0]
        self.made.events.remove(self.call_of(first))
        kinds, file = self.found()
        self.assertEqual(kinds, {})
        self.assertEqual(file["notes"], ["device records without a call, launched before the recording began: 1 of 20"])

    def test_launches_without_a_device_record(self):
        works = self.some(2, "kernel", "gemm_kernel")
        calls = [self.call_of(work) for work in works]
        for work in works:
            self.made.events.remove(work)
        self.assertIn("cudaLaunchKernel", self.assert_only("launch_without_work", 2))
        for call in calls: # a stream that is captured into a graph runs nothing
            self.made.host("cuda_runtime", "cudaStreamBeginCapture_v10000", call["ts"] - 2, 1.0, correlation=0)
            self.made.host("cuda_runtime", "cudaStreamEndCapture", call["ts"] + 6, 1.0, correlation=0)
        self.assertEqual(self.found()[0], {})

    def test_work_after_the_recording(self):
        last = [event for event in self.made.events if event["cat"] == "kernel"][-1]
        self.made.events.remove(last)
        kinds, file = self.found()
        self.assertEqual((kinds, len(file["notes"])), ({}, 1))

    def test_records_that_stand_twice(self):
        work, = self.some(1, "kernel")
        self.made.events.append(copy.deepcopy(work))
        self.assert_only("recorded_twice", 1, work)

    def test_a_coarse_clock(self):
        for event in self.made.events:
            event["ts"], event["dur"] = round(event["ts"]), round(event["dur"])
        kinds, file = self.found()
        self.assertEqual({name: row["count"] for name, row in kinds.items()}, {"clock_quantum": 2})
        self.assertEqual(file["device_quantum_ns"], 1000)

    def test_damage(self):
        text = self.made.text()
        cut = text.rindex('{"ph"') + 20
        kinds, _ = self.found(text=text[:cut])
        self.assertIn(f"at byte {cut}", kinds["file_damaged"]["worst"])
        self.assertEqual((kinds["file_damaged"]["count"], kinds["file_damaged"]["byte"]), (1, cut))
        broken = text.replace('{"ph"', '{"ph": "X", "cat" 7}, {"ph"', 1)
        kinds, _ = self.found(text=broken)
        first = text.index('{"ph"')
        self.assertIn(f"the first at byte {first}", kinds["file_damaged"]["worst"])
        self.assertEqual((kinds["file_damaged"]["count"], kinds["file_damaged"]["byte"]), (1, first))
        # One that ends in the middle, too, after three without a time: most of the damage is the worst, the rest are notes.
        for call in self.some(3, "cuda_runtime", "cudaDeviceSynchronize"):
            call["ts"] = None
        text = self.made.text()
        text = text[:text.rindex('{"ph"') + 20].replace('{"ph"', '{"ph": "X", "cat" 7}, {"ph"', 1)
        kinds, file = self.found(text=text)
        row = kinds["file_damaged"]
        self.assertEqual((row["count"], row["byte"]), (5, text[:text.index('"ts": null')].rindex('{"ph"')))
        self.assertIn("3 events have no time and are left out", row["worst"])
        self.assertEqual([note.split(",")[0] for note in file["notes"] if "byte" in note],
                         ["1 event is not JSON and is left out", "the file ends in the middle"])

    def test_all_at_once_are_told_apart(self):
        works = self.some(3, "kernel", "elementwise_kernel")
        works[0]["dur"], works[1]["ts"] = -2, works[1]["ts"] - 4
        self.made.events.remove(self.call_of(works[2]))
        kinds, _ = self.found()
        self.assertEqual(set(kinds), {"negative_time", "stream_overlap", "work_without_launch"})

    def test_the_text(self):
        work, = self.some(1, "kernel")
        work["dur"], work["name"] = 0, "bad\u001b[31mname"
        self.made.write(self.path("made.json"))
        code, out, _ = self.run_pdhost("check", "made.json", watch=False)
        self.assertEqual(code, 7)
        self.assertIn("made.json: 1 kind of findings in", out)
        self.assertRegex(out, r"zero_time +1  device records without a length\n +worst: \"bad\\x1b\[31mname\"")

    def test_one_of_each_is_no_plural(self):
        made = MadeTrace(steps=0)
        made.launch("aten::linear", "gemm_kernel", 10.0, 20.125, 100.375)
        made.write(self.path("made.json"))
        code, out, _ = self.run_pdhost("check", "made.json", watch=False)
        self.assertEqual((code, out), (0, "made.json: no findings in 1 device record, 1 call and 1 range (kineto)\n"))

    def test_files_that_cannot_be_read(self):
        self.made.write(self.path("made.json"))
        with open(self.path("no.txt"), "w", encoding="utf-8") as file:
            file.write("no trace")
        code, answer, err = self.check("no.txt", "made.json")
        self.assertEqual((code, [file["checked"] for file in answer["files"]]), (3, [False, True]))
        self.assertEqual(len(self.errors(err)), 1, err)
        self.assert_fails(self.run_pdhost("check", watch=False), 2, "check: give the trace to check")

    def test_a_folder_holds_other_files_too(self):
        os.mkdir(self.path("runs"))
        for name, text in (("settings.json", '{"lr": 0.1}'), ("notes.json", "no trace")):
            with open(self.path("runs/" + name), "w", encoding="utf-8") as file:
                file.write(text)
        self.assert_fails(self.run_pdhost("check", "runs", watch=False), 3, "none of the files in the folder is a trace (2 files)")
        self.made.write(self.path("runs/made.json"))
        code, out, err = self.run_pdhost("check", "runs", watch=False)
        self.assertEqual((code, self.errors(err)), (0, []))
        self.assertEqual(out, "runs/made.json: no findings in 20 device records, 25 calls and 35 ranges (kineto)\n"
                              "2 files skipped: they are not traces\n")
        code, answer, _ = self.check("runs")
        self.assertEqual((code, answer["clean"], answer["skipped"], len(answer["files"])), (0, True, 2, 1))

    def test_a_file_that_is_named_is_not_skipped(self):
        os.mkdir(self.path("runs"))
        self.made.write(self.path("runs/made.json"))
        with open(self.path("runs/notes.json"), "w", encoding="utf-8") as file:
            file.write("no trace")
        with open(self.path("runs/empty.json"), "w", encoding="utf-8"):
            pass
        for names, options in ((("runs/notes.json", "runs/made.json"), ()), (("runs",), ("--reader", "kineto")), (("runs",), ())):
            code, answer, err = self.check(*names, options=options)
            self.assertEqual(code, 3, err)
            unread = {os.path.basename(file["path"]) for file in answer["files"] if not file["checked"]}
            self.assertEqual(answer["skipped"], "notes.json" not in unread)
            self.assertEqual("empty.json" in unread, names == ("runs",))
            self.assertEqual("notes.json" in unread, names != ("runs",) or bool(options))

    def test_captures_of_runs(self):
        code, _, err = self.run_small("--scenario", "control", "--sink", "json", "-o", "run.keep_capture=true")
        self.assertEqual(code, 0, err)
        capture, = glob.glob(self.path("results/*/latest/*.pdcap"))
        code, answer, err = self.check(capture)
        self.assertEqual((code, answer["clean"], answer["files"][0]["reader"]), (0, True, "capture"), answer)
        self.assertGreater(answer["files"][0]["device_records"], 0)
        with open(capture, "r+b") as file:
            at = file.seek(os.path.getsize(capture) // 2)
            file.write(b"\xa5" * 300)
        code, answer, _ = self.check(capture)
        self.assertEqual(code, 7)
        found = {row["kind"]: row for row in answer["files"][0]["findings"]}["file_damaged"]
        missing = int(re.search(r"(\d+) [\w ]+ are missing", found["worst"])[1])
        self.assertGreater(found["count"], missing)
        self.assertIn("bytes at 1 places cannot be read; what lies between is used", " ".join(answer["files"][0]["notes"]))
        # The records that are missing have no place; the bytes that cannot be read have one.
        self.assertNotIn("byte", found)
        self.assertTrue(0 <= at - found["other_byte"] < 1 << 20, found)
        self.assertIn(f"the file is damaged there; other damage is at byte {found['other_byte']}",
                      self.run_pdhost("check", capture, watch=False)[1])

    def test_every_kind_is_described(self):
        with open(os.path.join(ROOT, "core/check/finding.h"), encoding="utf-8") as file:
            kinds = re.findall(r'^  X\(\w+, "(\w+)"', file.read(), re.MULTILINE)
        with open(os.path.join(ROOT, "docs/checking-a-trace.md"), encoding="utf-8") as file:
            page = file.read()
        self.assertGreater(len(kinds), 10)
        self.assertEqual([kind for kind in kinds if f"`{kind}`" not in page], [])
        for kind in kinds:
            code, out, err = self.run_pdhost("explain", kind, watch=False)
            self.assertEqual((code, f"{kind}   in findings of pdhost check" in out), (0, True), out + err)

    def test_samples(self):
        """Clean traces of others, where this machine has them."""
        files = glob.glob(os.path.join(os.environ.get("PDHOST_SAMPLES", ""), "*.pt.trace.json.gz"))
        if not os.environ.get("PDHOST_SAMPLES"):
            self.skip("PDHOST_SAMPLES does not name a folder of clean traces")
        code, answer, _ = self.check(*files)
        self.assertEqual((code, [file for file in answer["files"] if file["findings"]]), (0, []))


if __name__ == "__main__":
    unittest.main()

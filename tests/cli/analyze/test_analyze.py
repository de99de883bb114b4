"""pdhost analyze: traces of other profilers get what a run gets. Files with defects are test_kineto's."""
import glob
import json
import os
import re
import resource
import shlex
import sys
import unittest

from made_trace import MadeServer, MadeTrace
from pdhost_run import FIXTURES, SANITIZER, Case


class Analyze(Case):
    def made(self, name="made.json", text=None, **how):
        return MadeTrace(**how).write(self.path(name), text)

    def analyze(self, *arguments, **how):
        return self.run_pdhost("analyze", *arguments, watch=False, **how)

    def figures(self, *arguments):
        """The results as JSON, and what was said on the way."""
        code, out, err = self.analyze("--sink", "json:output_json=out.json", *arguments)
        self.assertEqual(code, 0, out + err)
        with open(self.path("out.json"), encoding="utf-8") as file:
            return json.load(file), err

    def test_the_report(self):
        self.made()
        code, out, err = self.analyze("made.json")
        self.assertEqual((code, err), (0, ""), out)
        self.assertRegex(out, r"whole step +1\.0")
        self.assertRegex(out, r"gemm_kernel +200 ")
        self.assertRegex(out, r"aten::linear +200 ")

    def test_a_folder_is_made_for_a_file_alone(self):
        self.made()
        self.analyze("made.json")
        self.figures("made.json")
        self.assertFalse(os.path.exists(self.path("results")), "no sink wrote a file there")
        self.analyze("made.json", "--sink", "html")
        self.assertEqual(len(glob.glob(self.path("results/analyze/latest/*.html"))), 1)

    def test_compressed_and_standard_input_say_the_same(self):
        self.made()
        self.made("made.json.gz")
        expected = self.analyze("made.json")[1]
        self.assertEqual(self.analyze("made.json.gz")[1].replace("made.json.gz NEW", "made.json NEW"), expected)
        code, out, err = self.analyze("-", under=("sh", "-c", 'exec "$0" "$@" < made.json'))
        self.assertEqual((code, out), (0, re.sub("  Afterwards .*\n", "", expected)), err)

    def test_figures(self):
        self.made()
        figures, _ = self.figures("made.json")
        self.assertEqual((figures["steps"], figures["windows_finished"], figures["coverage"]), (5, 1, 1))
        rows = figures["step_rows"]
        self.assertEqual([row["batch_cost_ns"] for row in rows], [1000000] * 4 + [995000])
        self.assertAlmostEqual(figures["active_batch_cost_s"]["median"], 1e-3)
        for key in ("batch_size", "num_workers", "pin_memory", "amp", "image_size", "channels_last"):
            self.assertIsNone(figures[key], "no trace says it")
        self.assertNotIn("batch_size", self.analyze("made.json", "--full")[1])
        self.assertAlmostEqual(figures["active_dataloader_wait_s"]["median"], 1e-4)

    def bounds(self, *arguments):
        figures, err = self.figures(*arguments, "-v")
        return [row["batch_cost_ns"] for row in figures["step_rows"]], err

    def test_steps_without_marks_are_the_same(self):
        self.made("marks.json", steps=6)
        self.made("none.json", steps=6, marks=False)
        marked, _ = self.bounds("marks.json")
        found, err = self.bounds("none.json")
        self.assertIn("steps found by what repeats: 3 kernels, 6 times", err)
        self.assertEqual(len(found), len(marked))
        for one, other in zip(found[1:], marked[1:-1]):
            self.assertEqual(one, other)

    def test_the_report_says_that_steps_were_found(self):
        """How many, and how sure that is; in each output, without -v."""
        said = "steps found by what repeats: 3 kernels, 6 times, 100.0 % of them alike"
        self.made("marks.json", steps=6)
        self.made("none.json", steps=6, marks=False)
        out, err = self.analyze("none.json", "--sink", "table", "--sink", "html")[1:]
        self.assertIn(f"  {said}\n", out)
        self.assertNotIn("repeats", err)
        page, = glob.glob(self.path("results/analyze/latest/*.html"))
        with open(page, encoding="utf-8") as file:
            self.assertIn(f"<b>Steps</b>: {said}", file.read())
        self.assertEqual(self.figures("none.json")[0]["windows"][0]["steps_found"], said)
        self.assertIsNone(self.figures("marks.json")[0]["windows"][0]["steps_found"])
        self.assertNotIn("steps found", self.analyze("marks.json")[1])
        self.assertNotIn("steps found", self.analyze("none.json", "--step", "Optimizer.step")[1])

    SERVED = "steps are the iterations that the inference server marks"

    def test_iterations_of_an_inference_server(self):
        """By the ranges of vLLM and SGLang. What helps is not what helps training."""
        for name in ("execute_context_0(0)_generation_{0}({0})", "execute_{0}_context_0(sq0sk0)_generation_{0}(sq1sk9)",
                     "execute_new_0_cached_{0}", "step[DECODE bs={0}]"):
            MadeServer(name, steps=12, marks=False).write(self.path("server.json"))
            figures, _ = self.figures("server.json")
            self.assertEqual((figures["steps"], figures["windows"][0]["steps_found"]), (12, self.SERVED), name)
            self.assertAlmostEqual(figures["active_batch_cost_s"]["median"], 1e-3)
        out = self.analyze("server.json")[1]
        self.assertIn("Verdict  host compute", out)
        self.assertIn(f"  {self.SERVED}\n", out)
        self.assertIn("take scheduling, tokenizing and sampling off the thread", " ".join(out.split()))
        self.assertNotIn("loader", out)

    def test_a_server_whose_profiler_marks_steps_or_that_is_named(self):
        MadeServer(steps=12).write(self.path("marks.json"))
        MadeServer(steps=12, marks=False).write(self.path("none.json"))
        for words in (("marks.json",), ("none.json", "--step", "execute_*")):
            out = self.analyze(*words)[1]
            self.assertIn("steps 0 to 11 (12)", out)
            self.assertIn("tokenizing", out)
            self.assertNotIn(self.SERVED, out)

    def test_a_server_copies_lists_of_tensors(self):
        """torch._foreach_copy_ of SGLang launches the kernel that optimizers launch."""
        MadeServer(steps=12, marks=False, foreach=True).write(self.path("server.json"))
        self.assertIn(self.SERVED, self.analyze("server.json")[1])

    def test_two_iterations_are_no_loop(self):
        """The figures are then of the whole file: the device works on behind the last mark."""
        MadeServer(steps=2, marks=False).write(self.path("server.json"))
        self.assertIn("Whole file  no steps were found", self.analyze("server.json")[1])

    def test_a_program_that_trains_is_no_server(self):
        """Nor are ranges that only begin like a server's."""
        MadeServer(steps=12, marks=False, trains=True).write(self.path("trains.json"))
        figures, _ = self.figures("trains.json")
        self.assertIn("what repeats", figures["windows"][0]["steps_found"])
        for name in ("execute_model", "step[{0}]", "execute_context_{0}"):
            MadeServer(name, steps=12, marks=False).write(self.path("other.json"))
            self.assertNotEqual(self.figures("other.json")[0]["windows"][0]["steps_found"], self.SERVED, name)

    def test_steps_by_name(self):
        self.made(steps=4)
        found, _ = self.bounds("--step", "Optimizer.step", "made.json")
        self.assertEqual(found, [1000000] * 3 + [60000])
        trace = MadeTrace(steps=5)
        for event in trace.events:
            event["name"] = event["name"].replace("ProfilerStep#", "execute_2")
        trace.write(self.path("served.json"))
        found, _ = self.bounds("--step", "execute_*", "served.json")
        self.assertEqual(found, [1000000] * 4 + [995000])

    def test_steps_that_warm_up_are_left_out(self):
        for steps, left in ((30, 29), (19, 19)):
            trace = MadeTrace(steps=steps, marks=False)
            for event in trace.events:  # the first step's wait for its work takes 90 ms
                if event["ts"] >= 1000 and event["ph"] == "X":
                    event["ts"] += 90000
            next(e for e in trace.events if e["name"] == "cudaDeviceSynchronize")["dur"] += 90000
            trace.write(self.path("made.json"))
            found, err = self.bounds("made.json")
            self.assertEqual(len(found), left, err)
            self.assertEqual("left out before these, which warm up: 1; the first took 90.7 ms" in err, left < steps, err)

    def test_no_loop_is_an_answer(self):
        self.made(steps=2, marks=False)
        code, out, err = self.analyze("made.json")
        self.assertEqual(code, 0, out)
        said = "no sequence of kernels repeats three times with 95 % of them alike"
        self.assertIn("withheld: the program's loop was not found, so that its steps are not known: " + said,
                      " ".join(out.split()))
        self.assertEqual(" ".join((out + err).split()).count(said), 1, out + err)

    def test_every_sink_takes_it(self):
        self.made()
        sinks = [word for name in ("table", "json", "csv", "chrome_trace", "tensorboard", "window")
                 for word in ("--sink", name)]
        code, out, err = self.analyze(*sinks, "made.json")
        self.assertEqual(code, 0, out + err)

    def test_what_cannot_be_read(self):
        self.made("empty.json", " ")
        self.made("other.txt", "no JSON at all")
        self.made("none.json", "[]")
        for arguments, code, said in ((("absent.json",), 3, "absent.json: cannot be read: No such file"),
                                      (("other.txt",), 3, "other.txt: none of the readers (capture, kineto"),
                                      (("none.json",), 3, " knows this kind of file; pdhost list readers says what each of them reads"),
                                      ((".",), 3, "none of the files in the folder is a trace (2 files)"),
                                      (("--reader", "absent", "other.txt"), 4, 'reader "absent": not found; there are capture, kineto'),
                                      (("--reader", "kineto", "none.json"), 3, "none.json: cannot be read: it has no events"),
                                      (("--reader", "kineto", "other.txt"), 3, "is not JSON"),
                                      ((), 2, "analyze: give the trace to read")):
            got, out, err = self.analyze(*arguments)
            self.assertEqual(got, code, err)
            self.assertIn(said, err)

    def test_a_folder(self):
        os.makedirs(self.path("ranks/below"))
        for name in ("ranks/rank10.json", "ranks/rank9.json.gz", "ranks/.hidden.json", "ranks/notes.txt", "ranks/below/x.json"):
            self.made(name)
        for folder in ("ranks", "ranks/"):
            figures, _ = self.figures(folder)
            self.assertEqual((len(figures["windows"]), figures["scenario"]), (2, "rank9"))
        code, out, _ = self.run_pdhost("check", "ranks", watch=False)
        self.assertEqual(code, 7)
        self.assertIn("2 of 2 files have findings", out)
        for command in ("analyze", "check"):
            self.assert_fails(self.run_pdhost(command, "ranks/below", "ranks/absent", watch=False), 3, "absent")

    def test_a_folder_without_a_trace(self):
        for folder in ("empty", "above/rank2", "above/rank10", "above/.hidden", "other/.hidden"):
            os.makedirs(self.path(folder))
        for name in ("above/notes.txt", "other/report.nsys-rep"):
            self.made(name)
        for command in ("analyze", "check", "report"):
            for folder, line in (("empty", "the folder is empty; give a trace, or a folder of traces"),
                                 ("above", "the folder holds no trace, and the folders in it are not searched; give one of them, "
                                           "such as above/rank2"),
                                 ("other", "the folder holds no trace: no file in it ends in .json, .json.gz, .zip or .sqlite; "
                                           "give a file by its name to see why it is none")):
                self.assert_fails(self.run_pdhost(command, folder, watch=False), 3, f"{folder}: {line}")

    def test_what_is_not_known_is_not_shown(self):
        self.made()
        for how in ((), ("--full",)):
            code, out, err = self.analyze(*how, "made.json")
            self.assertEqual(code, 0, err)
            self.assertNotRegex(out, r"0\.00 samples/s|samples_per_s +0")
        self.assertRegex(self.analyze("made.json")[1], r"steps 0 to 4 \(5\)\n")
        figures, _ = self.figures("made.json")
        self.assertIsNone(figures["samples_per_s"])

    def test_too_few_steps(self):
        self.made(steps=3)
        self.assertIn("withheld: 3 active steps are too few, 5 are needed: record more of them",
                      " ".join(self.analyze("made.json")[1].split()))
        self.made(steps=1)
        self.assertIn("withheld: the program's loop was not found", " ".join(self.analyze("made.json")[1].split()))

    def verdict(self, *arguments):
        return self.figures(*arguments)[0]["windows"][0]["tables"]["verdict"]["rows"][0]

    def test_what_to_type_next(self):
        name = "it's made.json"
        self.made(name)
        row = self.verdict(name)
        self.assertEqual(row["verdict_after"], "pdhost diff 'it'\\''s made.json' NEW")
        self.assertIsNone(row["verdict_next"])
        words = shlex.split(row["verdict_after"])[1:]
        code, out, err = self.run_pdhost(*(name if word == "NEW" else word for word in words), watch=False)
        self.assertEqual(code, 0, err)
        self.assertIn("SAME", out)
        self.made(steps=6, marks=False)
        self.assertEqual(self.verdict("--reader", "kineto", "--step", "aten::linear", "made.json")["verdict_after"],
                         "pdhost diff made.json NEW --step aten::linear --reader kineto")
        self.assertRegex(self.analyze("made.json")[1], r"\n  What helps   .*(\n   .*)*\n  Afterwards   pdhost diff made.json NEW\n")
        code, out, _ = self.analyze("-", under=("sh", "-c", 'exec "$0" "$@" < made.json'))
        self.assertNotIn("Afterwards", out)

    def test_unknown_steps_are_to_be_named(self):
        self.made(steps=1, marks=False)
        row = self.verdict("made.json")
        self.assertEqual(row["verdict_next"], "pdhost analyze made.json --step NAME")
        self.assertIsNone(row["verdict_after"])
        self.assertIn("Name the range that is one step, or record at least 5", row["verdict_helps"])
        self.assertIsNone(self.verdict("--step", "aten::linear", "made.json")["verdict_next"])

    def test_figures_of_a_whole_file_are_no_steps(self):
        self.made(steps=1, marks=False)
        out = self.analyze("made.json")[1]
        self.assertRegex(out, r"Whole file  no steps were found: the figures are of \d{3} us\n", "one space before three digits")
        self.assertRegex(out, r"Where the time goes +us +share\n")
        self.assertNotIn("/step", out)
        self.made(steps=12, marks=False)
        self.assertRegex(self.analyze("made.json")[1], r"Where the step goes +us/step +share\n")

    def test_a_file_that_ends_in_the_middle_has_no_verdict(self):
        made = MadeTrace(steps=12)
        text = made.text()
        self.made(text=text[:text.rindex('"ph"') + 9])
        code, out, err = self.analyze("made.json")
        self.assertEqual(code, 0, err)
        self.assertIn("withheld: a part of the file could not be read, so that events are missing", " ".join(out.split()))
        self.assertIn("the file ends in the middle", err)

    def test_a_folder_holds_more_than_traces(self):
        os.mkdir(self.path("job"))
        self.made("job/rank0.json")
        self.made("job/settings.json", text='{"lr": 0.1}')
        self.made("job/none.json", text='{"traceEvents": []}')
        code, out, err = self.analyze("job")
        self.assertEqual(code, 0, err)
        self.assertIn("whole step", out)
        self.assertIn("1 file of the folder skipped: it is not a trace", err)
        self.assertIn("job/none.json: skipped, since it cannot be read", err)
        os.remove(self.path("job/rank0.json"))
        self.assert_fails(self.analyze("job"), 3, "it has no events")
        os.remove(self.path("job/none.json"))
        self.assert_fails(self.analyze("job"), 3, "none of the files in the folder is a trace (1 files)")

    def test_several_devices_are_told(self):
        made = MadeTrace()
        for event in made.events[::2]:
            if "device" in event["args"]:
                event["args"]["device"] = 1
        made.write(self.path("made.json"))
        figures, err = self.figures("made.json")
        self.assertIn("made.json: it holds the work of 2 devices, which the figures count as one", err)
        tables = figures["windows"][0]["tables"]
        self.assertIn("CUDA columns add up over 2 devices.", tables["operators"]["note"])
        self.assertEqual([row["device"] for row in tables["device_summary"]["rows"]], ["GPU0", "GPU1"])

    def test_a_device_that_is_only_waited_for(self):
        made = MadeTrace()
        made.device("cuda_sync", "Stream Synchronize", 500.0, 10.0, correlation=9999)
        made.events[-1]["args"]["device"] = 1
        made.write(self.path("made.json"))
        figures, err = self.figures("made.json")
        self.assertNotIn("devices", err)
        tables = figures["windows"][0]["tables"]
        self.assertNotIn("devices", tables["operators"]["note"])
        self.assertEqual([row["device"] for row in tables["device_summary"]["rows"]], ["GPU0"])

    def test_memory_of_a_big_trace(self):
        """What is read, sorted and analysed is not all held at once, and what was freed is the system's again."""
        if SANITIZER:
            self.skip("a sanitizer holds memory of its own")
        # A process begins with what the one that starts it held: this one is too large to start it.
        small = ("import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]);"
                 "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)")
        made = MadeTrace(steps=8000)
        made.write(self.path("made.json"))
        code, out, err = self.analyze("-q", "made.json", under=(sys.executable, "-S", "-E", "-c", small))
        self.assertEqual(code, 0, err)
        self.assertLess((int(out.split()[-1]) * 1024 - (5 << 20)) / len(made.events), 280, "bytes an event")

    def test_a_reader_by_its_path(self):
        """What pdhost init writes, which is the example of docs/writing-a-reader.md."""
        lines = ["# new_reader 1"]
        for step in range(6):
            at = 100000 * step
            lines += [f"step 1 {at} {at + 90000} train {step}", f"call 1 {at + 1000} {at + 3000} launch {step + 1}",
                      f"kernel 5 {at + 6000} {at + 80000} gemm {step + 1}"]
        reader = os.path.join(FIXTURES, "..", "templates", "reader", "new_reader.so")
        with open(self.path("made.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines + ["no event", ""]))
        figures, err = self.figures("--reader", reader, "made.txt")
        self.assertIn("made.txt: 1 lines are not events and are left out", err)
        self.assertEqual((len(figures["step_rows"]), figures["coverage"]), (6, 1))
        self.assertEqual([row["name"] for row in figures["windows"][0]["tables"]["kernels"]["rows"]], ["gemm"])
        code, out, _ = self.run_pdhost("--help-reader", reader, watch=False)
        self.assertEqual(code, 0)
        self.assertIn("new_reader", out)
        self.assert_fails(self.analyze("--reader", "./absent.so", "made.txt"), 4, "./absent.so")
        self.assert_fails(self.analyze("--reader", "absent", "made.txt"), 4, "not found")

    def test_more_than_the_memory_holds(self):
        """It says so before the system ends it, and after it has counted what there is."""
        if SANITIZER:
            self.skip("a sanitizer has the address space for itself")
        event = '{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":%d,"dur":1}'
        with open(self.path("many.json"), "w", encoding="utf-8") as file:
            file.write('{"traceEvents":[' + ",".join(event % (2 * i) for i in range(500000)) + "]}")
        for command, limit, needed in (("analyze", 60000, "85.8"), ("check", 40000, "38.1")):
            result = self.run_pdhost(command, "many.json", watch=False, preexec_fn=lambda most=limit << 10:
                                     resource.setrlimit(resource.RLIMIT_AS, (most, most)))
            self.assert_fails(result, 1, "many.json: its 500000 events need about ")
            self.assertRegex(result[2], rf"need about {needed} MiB of memory, and \d+(\.\d+)? [KM]iB were left: record "
                             rf"fewer steps, or {command} it on")

    def test_help_and_list(self):
        self.assertIn("--step NAME", self.analyze("--help")[1])
        self.assertIn("kineto", self.run_pdhost("list", "readers", watch=False)[1])


if __name__ == "__main__":
    unittest.main()

"""The kineto reader: files with each defect that real ones have are read as far as they can be, and what is odd is told."""
import json
import random
import unittest

from kineto_case import MadeKinetoCase
from made_trace import MadeTrace


class Kineto(MadeKinetoCase):
    def test_a_group_is_of_its_own_collective_alone(self):
        """Both are of two ranks of four, and only one of them says which."""
        self.made.head["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": 4}
        for number, ranks in ((9001, {"Process Group Ranks": "[0, 1]"}), (9002, {})):
            at = 1000.0 + number % 10 * 50
            self.made.host("cuda_runtime", "cudaLaunchKernel", at, 5.5, cbid=211, correlation=number)
            self.made.device("kernel", "ncclDevKernel_AllReduce", at + 10, 20.0, correlation=number, grid=[1, 1, 1],
                             block=[32, 1, 1], **{"Group size": 2, **ranks})
        behind = {"traceEvents": self.made.events, **self.made.head}
        for text in (self.made.text(), json.dumps(behind)):
            figures, _ = self.read(text)
            names = {row["name"]: row["calls"] for row in figures["windows"][0]["tables"]["kernels"]["rows"]}
            self.assertEqual({name: calls for name, calls in names.items() if name.startswith("nccl")},
                             {"ncclDevKernel_AllReduce on 2 of 4 ranks [0, 1]": 1, "ncclDevKernel_AllReduce": 1})

    def test_tables_of_a_file_with_work_outside_its_steps(self):
        made = MadeTrace(steps=10)
        made.write(self.path("whole.json"))
        late = [f"ProfilerStep#{step}" for step in range(6, 10)]
        made.events = [event for event in made.events if event["name"] not in late]
        made.write(self.path("part.json"))
        for name, heading, kernels in (("whole.json", "Kernels", r"gemm_kernel +200 .* 1\n"),
                                       ("part.json", "Kernels, whole file", r"gemm_kernel +2\.000? .* 10\n")):
            _, out, _ = self.run_pdhost("analyze", name, watch=False)
            line = next(line for line in out.splitlines() if line.startswith("Kernels"))
            self.assertEqual(line.split("  ")[0], heading)
            self.assertEqual("calls/step" in line, name == "whole.json")
            self.assertRegex(out, kernels)

    def test_numbers_as_text(self):
        events = [{key: str(value) if key in ("ts", "dur", "pid", "tid") else value for key, value in event.items()}
                  for event in self.made.events]
        self.assert_same(json.dumps({"traceEvents": events}))

    def test_memory_of_host_and_device(self):
        def event(at, number, size, device, total):
            return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100, "tid": 100, "ts": at,
                    "args": {"Total Reserved": 4096, "Total Allocated": total, "Bytes": size, "Addr": number,
                             "Device Id": device, "Device Type": int(device >= 0)}}
        first = min(one["ts"] for one in self.made.events if one["ph"] == "X")
        events = self.made.events + [event(first + 10, 0x10, 300, -1, 300), event(first + 20, 0x10, 700, 0, 1700),
                                     event(first + 50, 0x10, -300, -1, 0), event(first + 60, 0, 50, -1, 0)]
        figures, _ = self.read(json.dumps({"traceEvents": events}))
        tables = figures["windows"][0]["tables"]
        churn = {row["memory_type"]: row for row in tables["memory_churn"]["rows"]}
        self.assertEqual(sorted(churn), ["GPU", "Host"])
        self.assertEqual((churn["GPU"]["peak_allocated"], churn["Host"]["peak_allocated"]), (1700, 300))
        self.assertEqual(churn["Host"]["median_lifetime"], 40000)
        blocks = [(row["memory_type"], row["block_size"], row["lifetime"]) for row in tables["memory_blocks"]["rows"]]
        self.assertEqual(blocks, [("GPU", 700, None), ("Host", 300, 40000)])
        self.assertEqual(sum(row["self_cpu_memory_usage"] or 0 for row in tables["operators"]["rows"]) +
                         sum(row["increased_size"] for row in tables["memory"]["rows"] if row["name"].startswith("(")), 50 + 700)

    def test_any_order_of_keys(self):
        events = [dict(reversed(event.items())) for event in self.made.events]
        self.assert_same(json.dumps({"traceName": "x", "traceEvents": events, **self.made.head}))

    def test_no_two_events_alike(self):
        """What stands between two values is not what stood there before; nested values and escapes at any place."""
        draw = random.Random(7)

        def shuffled(value):
            members = list(value.items())
            draw.shuffle(members)
            return {key: shuffled(inner) if isinstance(inner, dict) else inner for key, inner in members}

        texts = []
        for number, event in enumerate(self.made.events):
            odd = {"x" * draw.randrange(70): ["}" * draw.randrange(3), {"y": '"\\' * draw.randrange(40)}, number]}
            event = shuffled({**event, "args": {**event["args"], **odd}, **odd})
            blank = " " * draw.randrange(70)
            texts.append(json.dumps(event, separators=("," + blank, ":" + blank), indent=draw.choice((None, 1, 9))))
            texts.append('{"ph": "%s", "id": %d, "name": "%s"%s}' % (
                draw.choice("sf"), number, "x" * draw.randrange(130), draw.choice(("", ', "a": {"b": "}"}', ', "c": "\\"}"'))))
        self.assert_same('{"traceEvents": [' + ",".join(texts) + "]}")

    def test_a_list_without_an_object(self):
        self.assert_same(json.dumps(self.made.events))

    def test_old_categories(self):
        text = self.text
        for new, old in (("cpu_op", "Operator"), ("cuda_runtime", "Runtime"), ("kernel", "Kernel"), ("gpu_memcpy", "Memcpy")):
            text = text.replace(f'"cat": "{new}"', f'"cat": "{old}"')
        self.assert_same(text)

    def test_names_of_rocm(self):
        self.assert_same(self.text.replace("cudaLaunchKernel", "hipLaunchKernel").replace("cudaMemcpyAsync", "hipMemcpyAsync"))

    def test_calls_of_other_devices(self):
        """XPU's as Intel's profiler names them; MTIA's and private ones' by their category alone."""
        before = self.read(self.text)[0]["windows"][0]["tables"]["verdict"]["rows"]
        xpu = self.text
        for cuda, name in (("cuda_runtime", "xpu_runtime"), ("cudaLaunchKernel", "urEnqueueKernelLaunch"),
                           ("cudaMemcpyAsync", "urEnqueueUSMMemcpy"), ("cudaDeviceSynchronize", "urQueueFinish"),
                           ("Memcpy HtoD (Pageable -> Device)", "Memcpy M2D")):
            self.assertIn(cuda, xpu)
            xpu = xpu.replace(f'"{cuda}"', f'"{name}"')
        for text in (xpu, self.text.replace('"cuda_runtime"', '"mtia_runtime"'),
                     self.text.replace('"cuda_runtime"', '"privateuse1_runtime"'),
                     self.text.replace('"cuda_runtime"', '"privateuse1_driver"').replace('"gpu_memcpy"', '"gcu_memcpy"')):
            figures = self.assert_same(text)
            self.assertEqual(figures["windows"][0]["tables"]["verdict"]["rows"], before)

    def test_records_of_a_device_that_are_not_read_are_told(self):
        figures, err = self.read(self.text.replace('"cuda_runtime"', '"hpu_op"'))
        self.assertIn("records of a device (hpu_op, mtia_ccp_events or mtia_insight) are not read", err)
        row = figures["windows"][0]["tables"]["verdict"]["rows"][0]
        self.assertEqual(row["verdict_cause"], "withheld")
        self.assertIn("The notes say if the file has records of a device that are not read", row["verdict_helps"])

    def test_no_number_and_control_characters(self):
        self.assert_same(self.text.replace('"bytes": 4096', '"bytes": NaN, "x": Infinity, "y": N/A')
                         .replace("gemm_kernel", "gemm\x01\x02 \xff"))

    def test_trailing_commas(self):
        self.assert_same(self.text.replace("}}, {", "},}, ,{"))

    def test_ranges_that_stick_out(self):
        made = MadeTrace()
        made.host("cpu_op", "aten::outer", 10.0, 50.0)
        made.host("cpu_op", "aten::inner", 20.0, 60.0)
        _, err = self.read(json.dumps({**made.head, "traceEvents": made.events}))
        self.assertIn("1 host range ends after the range around it and is cut to it", err)
        made.host("cpu_op", "aten::outer", 1010.0, 50.0)
        made.host("cpu_op", "aten::inner", 1020.0, 60.0)
        _, err = self.read(json.dumps({**made.head, "traceEvents": made.events}))
        self.assertIn("2 host ranges end after the range around them and are cut to it", err)

    def test_device_records_before_their_launch(self):
        made = MadeTrace()
        works = [event for event in made.events if event["cat"] == "kernel"]
        for work, said in ((works[0], "1 device record begins before the call that launched it"),
                           (works[3], "2 device records begin before the call that launched them")):
            work["ts"], work["dur"] = work["ts"] - 20, 5.0
            _, err = self.read(json.dumps({**made.head, "traceEvents": made.events}))
            self.assertIn(said, err)

    def test_work_launched_before_the_file_is_no_loss(self):
        made = MadeTrace()
        made.device("kernel", "earlier", 1.0, 5.0, correlation=99999)
        figures, _ = self.read(json.dumps({**made.head, "traceEvents": made.events}))
        self.assertEqual(figures["coverage"], 1)
        self.assertEqual(sum(figures["lost"].values()), 0)

    def test_device_records_without_a_number_are_no_drops(self):
        made = MadeTrace(steps=8)
        for event in made.events:
            if event["cat"] == "kernel":
                event["args"]["External id"] = event["args"].pop("correlation") # of its operation
        made.write(self.path("made.json"))
        code, out, err = self.run_pdhost("analyze", "made.json", watch=False)
        self.assertEqual(code, 7, out + err)
        said = "24 device records carry no correlation, so their launches are not known"
        self.assertIn(f"withheld: {said} What helps Analyse the file as the profiler wrote it", " ".join(out.split()))
        self.assertIn(f"made.json: {said}", err)

    def test_a_set_of_no_bytes_is_no_loss(self):
        made = MadeTrace()
        made.host("cuda_runtime", "cudaMemsetAsync", 2500.0, 1.0, cbid=51, correlation=99999)
        figures, err = self.read(json.dumps({**made.head, "traceEvents": made.events}))
        self.assertEqual((figures["coverage"], sum(figures["lost"].values())), (1, 0))
        self.assertIn("copies or sets without a device record: 1; those of no bytes have none", err)
        self.assertEqual(self.warnings(err), [])

    def test_a_device_record_without_a_launch_is_told(self):
        made = MadeTrace()
        made.device("kernel", "unknown", 2500.0, 5.0, correlation=99999)
        figures, _ = self.read(json.dumps({**made.head, "traceEvents": made.events}))
        self.assertEqual(sum(figures["lost"].values()), 1)

    def test_a_mark_of_utf_8_before_it(self):
        self.assert_same(b"\xef\xbb\xbf" + self.text.encode())

    def test_files_of_others_say_what_they_are(self):
        def event(phase, category, at):
            return {"ph": phase, "cat": category, "name": "x", "pid": 1, "tid": 1, "ts": at, "dur": 5}
        pairs = [event("BE"[i % 2], "cpu_op", i) for i in range(20)]
        for events, said in (([], "it has no events, as if nothing was recorded"),
                             ([event("X", "python_function", i) for i in range(9)],
                              "its 9 events are Python functions alone; record the activities CPU and CUDA, too"),
                             (pairs, "its events are pairs of begin and end"),
                             ([event("X", "toplevel", i) for i in range(7)],
                              "none of its 7 events has a category of torch.profiler")):
            with open(self.path("other.json"), "w", encoding="utf-8") as file:
                json.dump({"traceEvents": events}, file)
            for command in ("analyze", "check"):
                code, _, err = self.run_pdhost(command, "other.json", watch=False)
                self.assertEqual(code, 3, err)
                self.assertIn("other.json: cannot be read: " + said, err)

    def test_what_stands_in_place_of_a_trace_says_what_it_is(self):
        for data, said in (("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "is a pointer of Git LFS"),
                           ("<!DOCTYPE html><p>Not Found", "is a web page (HTML) and not a trace"),
                           ("<html>404</html>", "is a web page (HTML) and not a trace")):
            with open(self.path("other.json"), "w", encoding="utf-8") as file:
                file.write(data)
            for command in ("analyze", "check"):
                self.assert_fails(self.run_pdhost(command, "other.json", watch=False), 3, "other.json: " + said)

    def test_nothing_is_said_to_be_nothing(self):
        with open(self.path("empty.json"), "w", encoding="utf-8"):
            pass
        for command in ("analyze", "check"):
            run = self.run_pdhost(command, "-", under=("sh", "-c", 'exec "$0" "$@" < /dev/null'), watch=False)
            self.assert_fails(run, 3, "-: cannot be read: it is empty; send a trace to it, as in pdhost analyze - < trace.json")
            self.assert_fails(self.run_pdhost(command, "--reader", "kineto", "empty.json", watch=False), 3, "cannot be read: it is empty")

    def test_communication_that_nothing_hides_is_said(self):
        made = MadeTrace(steps=8, wait_us=1, kernel_us=60)
        for event in made.events:
            if event["name"] == "elementwise_kernel":
                event["name"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                event["dur"] = 750.0
            elif event["name"].startswith("multi_tensor"):
                event["ts"] += 740.0
            elif event["name"] == "cudaDeviceSynchronize":
                event["dur"] = 800.0
        figures, _ = self.read(json.dumps({**made.head, "traceEvents": made.events}))
        verdict = figures["windows"][0]["tables"]["verdict"]["rows"][0]
        self.assertEqual(verdict["verdict_cause"], "withheld", verdict)
        self.assertRegex(verdict["verdict"], r"^withheld: collectives take 7\d % of the step with nothing beside them; one rank's "
                                             r"records do not tell whether they transfer or wait for another rank$")
        self.assertIn("all ranks", verdict["verdict_helps"])

    def test_who_launches_graphs_is_not_told_to(self):
        made = MadeTrace(steps=0)
        for step in range(8):
            at = 1000.0 * step
            made.host("user_annotation", f"ProfilerStep#{step}", at, 995.0)
            for part in range(4):
                made.host("cpu_op", "aten::prepare", at + 240 * part, 235.0)
                made.host("cuda_runtime", "cudaGraphLaunch", at + 240 * part + 100, 20.0, correlation=made.number)
                for kernel in range(20):
                    made.device("kernel", f"k{kernel}", at + 240 * part + 130 + 6 * kernel, 5.0, correlation=made.number,
                                grid=[64, 1, 1], block=[128, 1, 1], **{"graph id": 3, "graph node id": kernel + 1})
                made.number += 1
        helps = []
        for name in ("cudaGraphLaunch", "cudaLaunchKernel"):
            text = json.dumps({**made.head, "traceEvents": made.events}).replace("cudaGraphLaunch", name)
            verdict = self.read(text)[0]["windows"][0]["tables"]["verdict"]["rows"][0]
            self.assertEqual(verdict["verdict_cause"], "launch_bound", verdict)
            helps.append(verdict["verdict_helps"])
        self.assertIn("run in CUDA graphs already", helps[0])
        self.assertIn("a CUDA graph, a compiled model", helps[1])

    def test_a_cause_smaller_than_the_communication_beside_it_says_so(self):
        made = MadeTrace(steps=8, wait_us=300, kernel_us=60)
        for event in made.events:
            if event["name"] == "elementwise_kernel":
                event["name"] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                event["dur"] = 420.0
            elif event["name"].startswith("multi_tensor"):
                event["ts"] += 410.0
            elif event["name"] == "cudaDeviceSynchronize":
                event["dur"] = 480.0
        figures, _ = self.read(json.dumps({**made.head, "traceEvents": made.events}))
        verdict = figures["windows"][0]["tables"]["verdict"]["rows"][0]
        self.assertEqual(verdict["verdict_cause"], "input_bound", verdict)
        self.assertRegex(verdict["verdict"], r"^input-bound: .*; communication alone takes 4\d % of the step$")

    def test_a_place_with_few_of_the_calls_is_not_named(self):
        made = MadeTrace(steps=0)
        for step in range(6):
            at = 1000.0 * step
            made.host("user_annotation", f"ProfilerStep#{step}", at, 999.0)
            for i in range(40):  # of eight operations
                made.launch(f"aten::operation_{i % 8}", "kernel", at + 10 + 24 * i, at + 18 + 24 * i, 5.0)
        evidence = []
        for share in (8, 2):
            text = json.dumps({**made.head, "traceEvents": made.events})
            for i in range(share, 8):
                text = text.replace(f"aten::operation_{i}", "aten::operation_0")
            row = self.read(text)[0]["windows"][0]["tables"]["verdict"]["rows"][0]
            self.assertEqual(row["verdict_cause"], "launch_bound", row)
            evidence.append(row["verdict_evidence"])
        self.assertIn("; the 40 calls a step are made in 8 places, none of which makes a third", evidence[0])
        self.assertIn("; 35 of the 40 calls a step are made by aten::operation_0", evidence[1])


if __name__ == "__main__":
    unittest.main()

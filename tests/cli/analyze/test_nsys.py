"""The nsys reader: an export gives what the same program's torch.profiler trace gives, with any table missing, and a
file that is damaged or something else ends in one line."""
import os
import sqlite3
import unittest

from made_nsys import GLOBAL, MadeNsys, TABLES
from made_trace import MadeTrace
from pdhost_run import Case

# What an old or a trimmed export has at least.
POOR = {"CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId streamId correlationId shortName".split(),
        "CUPTI_ACTIVITY_KIND_RUNTIME": "start end globalTid correlationId nameId".split(), "StringIds": ["id", "value"]}
# Figures of a multiprocessor, and versions: an export has no occupancy, and the made trace invents its own.
UNLIKE = ("est_achieved_occupancy", "blocks_per_sm", "occupancy", "verdict_after")


class Nsys(Case):
    def analyze(self, name, *options, code=0):
        """The figures, and what was said."""
        actual, out, err = self.run_pdhost("analyze", "-v", "--sink", "json:output_json=out.json", *options, name, watch=False)
        self.assertEqual(actual, code, out + err)
        return self.json("out.json"), err

    def write(self, made=None, name="made.sqlite", **options):
        return MadeNsys(self.path(name), **options).take(made or MadeTrace()).write()

    def rows(self, figures, table):
        """The rows of a table of the first window, by the keys of its columns. Commands name the file."""
        rows = figures["windows"][0]["tables"][table]["rows"]
        return [{key: cell for key, cell in row.items() if not any(word in key for word in UNLIKE)} for row in rows]

    def test_the_same_program_by_two_profilers(self):
        for made in (MadeTrace(steps=8, wait_us=400), MadeTrace(steps=8, kernel_us=100, wait_us=20)):
            made.write(self.path("made.json"))
            self.write(made)
            expected, _ = self.analyze("made.json")
            found, err = self.analyze("made.sqlite")
            self.assertEqual(self.warnings(err), [])
            self.assertEqual(found["step_rows"], expected["step_rows"])
            tables = set(expected["windows"][0]["tables"]) - {"device_figures"}
            self.assertLessEqual({"verdict", "kernels", "ledger", "operators", "gains"}, tables)
            for table in tables:
                self.assertEqual(self.rows(found, table), self.rows(expected, table), table)

    def test_any_table_may_be_missing(self):
        for missing in TABLES:
            self.write(tables=set(TABLES) - {missing})
            code, out, err = self.run_pdhost("analyze", "made.sqlite", watch=False)
            self.assertIn(code, (0, 7), f"without {missing}: {out}{err}")
            self.assertEqual(self.errors(err), [], missing)
            self.assertNotIn("damaged", err, missing)

    def test_few_columns(self):
        self.write(MadeTrace(steps=8), tables=set(POOR), columns=POOR)
        figures, err = self.analyze("made.sqlite", code=0)
        self.assertNotIn("damaged", err)
        self.assertEqual([row["name"] for row in self.rows(figures, "kernels")],
                         ["gemm_kernel", "multi_tensor_apply_kernel<AdamW>", "elementwise_kernel"])

    def test_a_table_that_has_no_times_or_no_kernels(self):
        """Nothing was dropped: what is missing is said by name, once for all processes."""
        kernels = "CUPTI_ACTIVITY_KIND_KERNEL"
        every = [part.split()[0] for part in TABLES[kernels].split(", ")]
        for missing in ("start", "end", None):
            columns = {kernels: [name for name in every if name != missing]}
            tables = None if missing else set(TABLES) - {kernels}
            self.write(MadeTrace(steps=8), tables=tables, columns=columns)
            said = f"the table {kernels} has no column {missing}: export the report again" if missing else \
                f"the file has no table {kernels}, though it has launches of kernels: export the report again"
            code, out, err = self.run_pdhost("analyze", "made.sqlite", watch=False)
            self.assertEqual(code, 7, out + err)
            self.assertIn(f"made.sqlite: {said}", err)
            self.assertEqual(err.count(said), 1, err)
            self.assertIn("withheld: a part of the file could not be read, so that events are missing", " ".join(out.split()))
            self.assertNotIn("drops", out)
            code, out, err = self.run_pdhost("check", "made.sqlite", watch=False)
            self.assertEqual(code, 7, out + err)
            self.assertIn(f"worst: {said}", out)

    def test_calls_without_a_name_or_a_number(self):
        runtime = "CUPTI_ACTIVITY_KIND_RUNTIME"
        for missing in ("correlationId", "nameId"):
            self.write(columns={runtime: [part.split()[0] for part in TABLES[runtime].split(", ") if part.split()[0] != missing]})
            _, _, err = self.run_pdhost("analyze", "made.sqlite", watch=False)
            self.assertIn(f"the table {runtime} has no column {missing}: export the report again", err)

    def blocked(self, *waits, **options):
        """Steps whose wait for the loader no range marks; `waits`: name, start and length within a step, thread."""
        made = MadeTrace(steps=8, wait_us=400, loader=False)
        export = MadeNsys(self.path("made.sqlite"), **options).take(made)
        for step in range(8):
            for name, start, length, thread in waits:
                export.wait(name, 1000 * step + start, length, thread)
        export.write()
        figures, err = self.analyze("made.sqlite")
        self.assertEqual(self.warnings(err), [])
        return [row["data_wait_ns"] for row in figures["step_rows"]]

    def test_a_thread_that_is_blocked_waits_for_input(self):
        self.assertEqual(self.blocked(("poll", 10, 390, None)), [390000] * 8)
        self.assertEqual(self.blocked(("sem_clockwait", 10, 200, None), ("read", 300, 50, None)), [250000] * 8)

    def test_what_is_no_wait_for_input(self):
        for wait in (("poll", 10, 390, 99), # of another thread
                     ("nanosleep", 10, 390, None), ("ioctl", 10, 390, None), # of another kind
                     ("pthread_mutex_lock", 10, 390, None), ("poll", 10, 5, None), # a lock
                     ("poll", 600, 100, None), # inside cudaDeviceSynchronize
                     ("pthread_cond_wait", 440, 60, None)): # launches meanwhile
            self.assertEqual(self.blocked(wait), [0] * 8, wait)

    def test_steps_by_their_names(self):
        for text, steps in (("step {}", 8), ("Iteration #{}", 8), ("train_step_{}", 8), ("batch of {}", 1)):
            made = MadeTrace(steps=8, marks=False, optimizer=False)
            for kernel in (event for event in made.events if event["cat"] == "kernel"): # nothing repeats
                kernel["name"] += str(kernel["ts"])
            for step in range(8):
                made.host("user_annotation", text.format(step), 1000.0 * step, 995.0)
            self.write(made)
            code, _, err = self.run_pdhost("analyze", "--sink", "json:output_json=out.json", "made.sqlite", watch=False)
            self.assertEqual(code, 0, err)
            self.assertEqual(len(self.json("out.json")["step_rows"]), steps, text)

    def test_ranges_that_start_and_end_on_any_thread(self):
        """They overlap one another and the ranges of the threads, of which none is cut for it."""
        made = MadeTrace(steps=8)
        self.write(made)
        alone, _ = self.analyze("made.sqlite")
        export = MadeNsys(self.path("made.sqlite")).take(made)
        for step in range(8):
            export.add("NVTX_EVENTS", start=1000000 * step + 1000, end=1000000 * step + 1401000, eventType=60, text=f"batch {step}",
                       globalTid=export.thread(), endGlobalTid=export.thread(9))
        export.add("NVTX_EVENTS", start=20, eventType=60, text="never ended", globalTid=export.thread())
        export.write()
        figures, err = self.analyze("made.sqlite")
        self.assertIn("1 NVTX ranges were open when the recording ended", err)
        self.assertEqual(self.warnings(err), [])
        self.assertEqual(figures["step_rows"], alone["step_rows"])
        self.assertEqual(self.rows(figures, "ledger"), self.rows(alone, "ledger"))
        self.run_pdhost("analyze", "--sink", "chrome_trace:path=shown.json", "made.sqlite", watch=False)
        shown = {event["name"]: event for event in self.json("shown.json")["traceEvents"]
                 if event["ph"] == "X" and event["name"].startswith("batch ")}
        self.assertEqual({name: round(event["dur"]) for name, event in shown.items()}, {f"batch {step}": 1400 for step in range(8)})
        figures, err = self.analyze("made.sqlite", "--step", "batch*")
        self.assertEqual(self.warnings(err), [])
        self.assertEqual([row["batch_cost_ns"] for row in figures["step_rows"]], [1000000] * 7 + [1400000])
        code, out, _ = self.run_pdhost("check", "made.sqlite", watch=False)
        self.assertNotIn("child_outside_parent", out)

    def test_each_process_has_a_window(self):
        export = MadeNsys(self.path("made.sqlite")).take(MadeTrace())
        export.pid = 8
        export.take(MadeTrace())
        export.write()
        figures, err = self.analyze("made.sqlite")
        self.assertEqual(self.warnings(err), [])
        self.assertEqual((len(figures["windows"]), figures["coverage"]), (2, 1))

    def test_graphs(self):
        made = MadeTrace(steps=8)
        export = MadeNsys(self.path("made.sqlite")).take(made)
        export.file.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId "
                            "INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER)")
        export.file.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE SELECT start, end, deviceId, contextId, streamId, "
                            "correlationId, globalPid, 5 FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE gridX = 64")
        export.file.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE gridX = 64")
        export.file.execute(f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = {9 << 32 | 3}")
        export.write()
        figures, err = self.analyze("made.sqlite")
        self.assertIn("8 launches of graphs are one record each", err)
        self.assertIn("CUDA graph 5", [row["name"] for row in self.rows(figures, "kernels")])
        self.assertEqual(figures["coverage"], 1)

    def of_graphs(self, whole, columns, marks=True, steps=8):
        """Steps of one captured graph: its kernels are rows of their own, or the launch is one row."""
        made = MadeTrace(steps=0)
        export = MadeNsys(self.path("made.sqlite"))
        for step in range(steps):
            at, number = 1000.0 * step, step + 1
            if marks:
                made.host("user_annotation", f"ProfilerStep#{step}", at, 995.0)
            made.host("cuda_runtime", "cudaMemcpyAsync", at + 10, 5.0, cbid=41, correlation=100 + number)
            made.device("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 18, 20.0, correlation=100 + number, bytes=4096)
            made.host("cuda_runtime", "cudaGraphLaunch", at + 20, 10.0, cbid=311, correlation=number)
            for node in range(3 if not whole else 0):
                made.device("kernel", f"kernel_{node}", at + 40 + 300 * node, 300.0, correlation=number, grid=[16, 1, 1],
                            block=[128, 1, 1], **{"registers per thread": 32, "shared memory": 0})
        export.take(made)
        if whole:
            export.file.execute("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
            export.file.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE ({', '.join(name + ' INTEGER' for name in columns)})")
            for step in range(steps):
                start = 1000000 * step + 40000
                row = {"start": start, "end": start + 900000, "deviceId": 0, "contextId": 1, "streamId": 7,
                       "correlationId": step + 1, "globalPid": GLOBAL | 7 << 24, "graphId": 5, "graphExecId": 6}
                export.file.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES ({', '.join('?' * len(columns))})",
                                    [row[name] for name in columns])
        else:
            export.file.execute(f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET graphNodeId = {5 << 32} + rowid")
        export.write()
        return self.analyze("made.sqlite")

    def test_a_graph_as_a_whole_is_as_long_as_its_kernels(self):
        columns = ["start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphId", "graphExecId"]
        for marks in (True, False):
            nodes, _ = self.of_graphs(False, columns, marks)
            # An older export has fewer columns.
            for some in (columns, columns[:4] + columns[5:6]):
                whole, err = self.of_graphs(True, some, marks)
                self.assertIn("8 launches of graphs are one record each", err)
                self.assertEqual([row["batch_cost_ns"] for row in whole["step_rows"]],
                                 [row["batch_cost_ns"] for row in nodes["step_rows"]], (marks, some))
                self.assertEqual((whole["coverage"], nodes["coverage"]), (1, 1))
                self.assertEqual([row["verdict_cause"] for row in self.rows(whole, "verdict")],
                                 [row["verdict_cause"] for row in self.rows(nodes, "verdict")])

    def test_launches_while_a_stream_is_captured_run_nothing(self):
        made = MadeTrace(steps=8)
        at, number = made.steps * 1000.0 - 300, 9999
        made.host("cuda_runtime", "cudaStreamBeginCapture", at, 2.0, correlation=number)
        made.host("cuda_runtime", "cudaLaunchKernel", at + 5, 2.0, correlation=number + 1)
        made.host("cuda_runtime", "cudaStreamEndCapture", at + 9, 2.0, correlation=number + 2)
        self.write(made)
        figures, _ = self.analyze("made.sqlite")
        self.assertEqual((figures["coverage"], sum(figures["lost"].values())), (1, 0))

    def test_what_the_profiler_lost(self):
        export = MadeNsys(self.path("made.sqlite")).take(MadeTrace())
        export.add("DIAGNOSTIC_EVENT", severity=2, text="Dropped 12 CUDA events: the buffer was full")
        export.add("DIAGNOSTIC_EVENT", severity=1, text="Number of dropped frames: unknown")
        export.add("NVTX_EVENTS", start=20, eventType=59, text="open", globalTid=export.thread())
        export.write()
        _, err = self.analyze("made.sqlite")
        self.assertEqual(len(self.warnings(err)), 1, err)
        self.assertIn("the profiler says: Dropped 12 CUDA events", err)
        self.assertIn("1 NVTX ranges were open when the recording ended", err)
        code, out, _ = self.run_pdhost("check", "made.sqlite", watch=False)
        self.assertEqual(code, 7)
        self.assertIn("Dropped 12 CUDA events", out)

    # ---- what is no export

    def test_other_files(self):
        with sqlite3.connect(self.path("other.sqlite")) as file:
            file.execute("CREATE TABLE people (name TEXT)")
        file.close()
        with open(self.path("a report.nsys-rep"), "wb") as file:
            file.write(b"\x01\x02 closed format")
        with sqlite3.connect(self.path("view.sqlite")) as file:
            file.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) "
                         "SELECT i AS start FROM n")
        file.close()
        with sqlite3.connect(self.path("generated.sqlite")) as file:
            file.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (end INTEGER, start INTEGER AS (length(hex(zeroblob(1000)))))")
            file.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (end) VALUES (1)")
        file.close()
        for name, line in (("other.sqlite", "is an SQLite file, and no export of Nsight Systems"),
                           ("generated.sqlite", "is an SQLite file, and no export of Nsight Systems"),
                           ("view.sqlite", "is an SQLite file, and no export of Nsight Systems"),
                           ("a report.nsys-rep", "export it with nsys export --type sqlite 'a report.nsys-rep'")):
            self.assert_fails(self.run_pdhost("analyze", name, watch=False), 3, line)

    def test_damage(self):
        path = self.write(MadeTrace(steps=200))
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            whole = file.read()
        broken = {"head": whole[:100] + b"\xff" * 400 + whole[500:], "short": whole[:size // 2], "tiny": whole[:60],
                  "middle": whole[:size // 2] + b"\xa5" * 8192 + whole[size // 2 + 8192:]}
        for name, data in broken.items():
            with open(self.path(name + ".sqlite"), "wb") as file:
                file.write(data)
            code, out, err = self.run_pdhost("analyze", name + ".sqlite", watch=False)
            self.assertIn(code, (0, 3, 7), out + err)
            self.assertIn("damaged" if code != 3 else "cannot be read", err, name)
            self.assertLessEqual(len(self.errors(err)), 1, err)


if __name__ == "__main__":
    unittest.main()

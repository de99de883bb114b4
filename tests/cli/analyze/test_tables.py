"""The printed tables of whole runs: every key of the table sink acts, and the text is sound. By columns, not by eye."""
import ctypes.util
import glob
import os
import re
import subprocess
import unicodedata
import unittest

from pdhost_run import CONF, FIXTURES, Case

ALL = ["verdict", "operators", "breakdown", "gains", "ledger", "ledger_steps", "device_figures", "active_steps",
       "device_summary",
       "overview", "model", "distributed", "operator_summary", "kernels", "kernel_operators", "memcpy", "userdefined", "memory",
       "memory_peak", "memory_churn", "memory_blocks", "flops", "modules", "stacks", "stacks_device"]
OF_RECORDED = ["idle_reasons", "idle_code", "children"]  # of recorded programs alone
OF_SERIES = ["series"]  # of profile.series_every alone
OF_RANKS = ["ranks_parts", "ranks_ledger", "collectives", "messages"]  # of several ranks alone
CHINESE = """
#include <pdhost/record.h>
#include <pdhost/scenario.h>
#include <pdhost/train.h>
static const pd_train *kit;
static const pd_record *record;
static pd_status init(const pd_host *host, const void *options, void **state) {
  static int none;
  (void)options;
  kit = host->extension(host, PD_EXT_TRAIN);
  record = host->extension(host, PD_EXT_RECORD);
  *state = &none;
  return kit && record ? PD_OK : PD_UNSUPPORTED;
}
static pd_status step(void *state, const pd_step *at) {
  static pd_site chinese = PD_SITE("数据预处理", PD_RANGE_USER), japanese = PD_SITE("データ読込み ab", PD_RANGE_USER);
  const bool outer = pd_range_begin(record, &chinese, NULL), inner = pd_range_begin(record, &japanese, NULL);
  (void)state;
  pd_range_end(record, inner);
  pd_range_end(record, outer);
  return kit->step(kit, at);
}
static void teardown(void *state) { (void)state; }
typedef struct { bool unused; } options;
static const pd_option rows[] = {PD_OPTION(options, unused, .def = "false", .help = "nothing")};
PD_SCENARIO("chinese", "1.0", "names of two columns a character", options, rows, .bottleneck = "none", .init = init,
            .step = step, .teardown = teardown)
"""


def width(text):
    """Columns on a terminal, by Unicode's own tables."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Table:
    """A printed table: its title, its headings and its rows, cut at the columns of its rule."""
    def __init__(self, out, title):
        lines = out[re.search(rf"(?m)^{title}(   \(|$)", out).start():].splitlines()
        rules = [i for i, line in enumerate(lines) if re.fullmatch(r"-+(  -+)*", line)][:3]
        self.title, self.after = lines[0], lines[rules[2] + 1:]
        self.rule = lines[rules[0]]
        edges = [found.span() for found in re.finditer(r"-+", self.rule)]
        headings = [self.cut(line, edges) for line in lines[rules[0] + 1:rules[1]]]
        self.headings = [" ".join(word for word in words if word) for words in zip(*headings)]
        self.lines = lines[rules[1] + 1:rules[2]]
        self.rows = [dict(zip(self.headings, self.cut(line, edges))) for line in self.lines]
        self.levels = [(len(line) - len(line.lstrip())) // 2 for line in self.lines]

    @staticmethod
    def cut(line, edges):
        return [line[start:end].strip() for start, end in edges]

    def column(self, heading):
        return [row[heading] for row in self.rows]


def figures(cells):
    return [float(cell) for cell in cells]


class Tables(Case):
    lossy = False  # a run that is meant to lose records

    def assert_windows_whole(self, folder, timer_only=False):
        if not self.lossy:
            super().assert_windows_whole(folder, timer_only)

    def show(self, *settings, scenario="control", more=(), code=0):
        options = ",".join(("row_limit=-1", *settings))
        actual, out, err = self.run_small("--scenario", scenario, "--sink", f"table:{options}", *more)
        self.assertEqual(actual, code, err)
        return out

    def test_the_operator_table_sorts_by_every_key(self):
        columns = {"cpu_time": "CPU time avg", "cpu_time_total": "CPU total", "self_cpu_time_total": "Self CPU",
                   "cuda_time": "Device time avg", "cuda_time_total": "Device total",
                   "self_cuda_time_total": "Self Device", "cpu_memory_usage": "CPU Mem",
                   "cuda_memory_usage": "Device Mem", "self_cpu_memory_usage": "Self CPU Mem",
                   "self_cuda_memory_usage": "Self Device Mem", "count": "# of Calls"}
        scale = {"B": 1, "KiB": 1024, "MiB": 1024 ** 2}
        for key, heading in columns.items():
            with self.subTest(sort_by=key):
                out = self.show("views=operators", "time_unit=ns", "wide=true", f"sort_by={key}",
                                scenario="memory_churn")
                values = []
                for cell in Table(out, "Operator table").column(heading):
                    number, _, unit = (cell or "0").partition(" ")
                    values.append(float(number) * scale[unit or "B"])
                self.assertGreater(len(set(values)), 1 if "memory" not in key or "cuda" in key else 0)
                for before, after in zip(values, values[1:]):
                    # Averages and bytes are rounded for print, the order is of what they were before.
                    self.assertGreaterEqual(before + abs(before) / 100 + 1, after)

    def test_what_the_rows_are_sorted_by_is_shown_in_80_columns(self):
        for view, setting, heading in (
                ("operators", "sort_by=cuda_memory_usage", "Device Mem"), ("operators", "sort_by=cuda_time",
                                                                          "Device time avg"),
                ("operators", "sort_by=cpu_time_total,group_by_input_shape=true", "CPU total"),
                ("operator_summary", "sorted_by=GPUAvg", "Device Avg"), ("kernels", "sorted_by=GPUMin", "Device Min")):
            with self.subTest(view=view, setting=setting):
                out = self.show(f"views={view}", setting, scenario="memory_churn")
                title = {"operators": "Operator table", "operator_summary": "Operator Summary"}.get(view,
                                                                                                  "Kernel Summary")
                self.assertIn(heading, Table(out, title).headings)
                self.assertLessEqual(max(map(width, out.splitlines())), 80)

    def test_room_that_is_left_goes_to_the_largest_columns(self):
        out = self.show("views=ledger_steps", scenario="memory_churn", more=["--sink", "json:output_json=m.json"])
        rows = self.json("m.json")["windows"][0]["tables"]["ledger_steps"]
        sums = {column["heading"]: sum(row[column["key"]] for row in rows["rows"]) for column in rows["columns"]
                if column["key"].startswith("ledger_")}
        shown = Table(out, "Ledger of each step").headings
        self.assertEqual(shown[:2], ["Step", "Span"])
        self.assertGreater(len(shown), 4)
        self.assertIn(max(sums, key=sums.get), shown)
        self.assertEqual([heading for heading in shown[2:] if not sums[heading]], [])

    def test_the_breakdown_tells_of_the_edge_of_a_window_without_synchronisation(self):
        edge = "at work of the steps before when the window begins"
        for sync_timing in (True, False):
            out = self.show("views=breakdown", scenario="sync", more=["-o", f"run.sync_timing={sync_timing}".lower()])
            self.assertEqual(edge in " ".join(out.split()), not sync_timing, out)

    def test_the_corrected_step_is_printed_for_who_asks(self):
        arguments = ("--scenario", "control", "--device", "cpu", "--profile_steps", "5")
        code, out, err = self.run_pdhost(*arguments)
        self.assertEqual(code, 0, err)
        self.assertNotIn("Corrected for recording", out)
        code, out, err = self.run_pdhost(*arguments, "--corrected", "--warmup_steps", "6")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"(?s)Corrected for recording.*\nstep as recorded .*\nwhat recording adds .*\nstep, corrected ")
        self.assertRegex(out.replace("\n", " "), "Measured: .*steps of this run before the profiler was attached")
        code, out, err = self.run_pdhost(*arguments, "--corrected", "--warmup_steps", "0", "-o", "schedule.wait=0",
                                         "-o", "schedule.skip_first=0")
        self.assertEqual(code, 0, err)
        self.assertRegex(out.replace("\n", " "), "Nothing is corrected: this window has no steps without the profiler")

    def test_the_evidence_names_the_line_that_makes_most_calls(self):
        code, _, err = self.run_small("--scenario", "sync", "-o", "data.resident=device", "-o", "scenario.reads_per_step=300",
                                      "-o", "profile.with_stack=true", "--sink", "json:output_json=m.json")
        self.assertEqual(code, 0, err)
        verdict = self.json("m.json")["windows"][0]["tables"]["verdict"]["rows"][0]
        self.assertEqual(verdict["verdict_cause"], "forced_sync", verdict)
        self.assertRegex(verdict["verdict_evidence"],
                         r"; [\d.]+ of the [\d.]+ calls a step are made by aten::item at \w+ \(sync\.c:\d+\)")

    def test_every_time_of_paddles_tables_says_something(self):
        titles = {"operator_summary": "Operator Summary", "kernels": "Kernel Summary", "memcpy": "Memory Manipulation",
                  "userdefined": "UserDefined Summary"}
        out = self.show(f"views={' '.join(titles)}", "wide=true", scenario="memory_churn",
                        more=["--sink", "json:output_json=m.json"])
        tables = self.json("m.json")["windows"][0]["tables"]
        short = 0
        for view, title in titles.items():
            shown = Table(out, f"{title}.*?")
            times = [column for column in tables[view]["columns"] if column["unit"] == "ns"]
            for column in times:
                cells = [cell for cell in shown.column(column["heading"]) if cell]
                self.assertLessEqual(len({len(cell.partition(".")[2]) for cell in cells}), 1, column)
                least = min((row[column["key"]] for row in tables[view]["rows"] if row[column["key"]]), default=0)
                if not least:
                    continue
                printed = min(float(cell) for cell in cells if float(cell))
                self.assertLessEqual(abs(printed - least / 1e6), 0.05 * least / 1e6 + 1e-9, (view, column["heading"]))
                short += least < 5000
        self.assertGreater(short, 0)  # there are such that three decimals of a millisecond do not show

    def test_rows_are_limited_grouped_and_hidden(self):
        whole = Table(self.show("views=operators", "wide=true"), "Operator table")
        names = whole.column("Name")
        code, out, err = self.run_small("--scenario", "control", "--sink", "table:views=operators,row_limit=3")
        self.assertEqual(code, 0, err)
        self.assertEqual(len(Table(out, "Operator table").rows), 3)
        self.assertIn(f"{len(names) - 3} more rows: row_limit = -1 shows all", out)
        top = Table(self.show("views=operators", "top_level_events_only=true", "wide=true"), "Operator table")
        self.assertIn("ProfilerStep*", top.column("Name"))
        self.assertEqual([name for name in top.column("Name") if name.startswith("aten::")], [])
        self.assertIn("aten::conv2d", names)
        self.assertLess(len(top.rows), len(names))
        shapes = Table(self.show("views=operators", "group_by_input_shape=true", "wide=true"), "Operator table")
        convolutions = [row for row in shapes.rows if row["Name"] == "aten::conv2d"]
        self.assertEqual([row["# of Calls"] for row in convolutions], ["8"] * 3)
        self.assertEqual(len({row["Input Shapes"] for row in convolutions}), 3)
        self.assertIn("[[4, 3, 16, 16], [64, 3, 3, 3], [64]]", [row["Input Shapes"] for row in convolutions])
        stacks = Table(self.show("views=operators", "group_by_stack_n=2", "wide=true", "max_name_column_width=500",
                                 more=["-o", "profile.with_stack=true"]), "Operator table")
        narrow = Table(self.show("views=operators", "group_by_stack_n=2", more=["-o", "profile.with_stack=true"]),
                       "Operator table")
        if ctypes.util.find_library("dw"):  # the line is there in 80 columns too, whatever of the function is
            for row in narrow.rows:
                if row["Name"].startswith("aten::conv"):
                    self.assertRegex(row["Source Location"], r"^conv2d.*\.\.\. \(conv\.c:\d+\)$")
        products = [row["Source Location"] for row in stacks.rows if row["Name"] == "aten::mm"]
        self.assertEqual(len(products), 2)  # of the input's and of the weight's gradient, on lines of their own
        for place in products:
            self.assertRegex(place, r"^linear_backward \(.*\); \w+ \(.*\)$")

    def test_views_are_all_tables_and_fit_80_columns_unless_wide(self):
        everything = ["-o", "profile.with_flops=true", "-o", "profile.with_modules=true",
                      "-o", "profile.with_stack=true"]
        out = self.show("views=all", scenario="memory_churn", more=everything)
        wide = self.show("views=all", "wide=true", scenario="memory_churn",
                         more=[*everything, "--sink", "csv:dir=rows", "--sink", "json:output_json=m.json"])
        self.assertLessEqual(max(map(width, out.splitlines())), 80)
        self.assertGreater(max(map(width, wide.splitlines())), 80)
        self.assertRegex(out, r"(?m)^\d+ more columns: wide = true shows all$")
        self.assertRegex(out, r"(?m)^1 more column: wide = true shows all$") # of memory churn
        self.assertNotRegex(out, r"(?m)^1 more columns")
        self.assertNotIn("more column", wide)
        for text in (out, wide):
            self.assertNotRegex(text, r"(?i)\b-?(inf|nan)\b")
        with open(self.path("m.json"), encoding="utf-8") as file:
            self.assertNotRegex(file.read(), r"(?i)[:,\[]\s*-?(inf|nan)")
        for name, table in self.json("m.json")["windows"][0]["tables"].items():
            if name != "verdict":  # which is no table in print
                headings = {column["heading"] for column in table["columns"]}
                self.assertLessEqual(set(Table(wide, re.escape(table["title"])).headings), headings, name)
        files = glob.glob(self.path("rows/**/*.csv"), recursive=True)
        self.assertLessEqual({f"{name}.csv" for name in ALL}, {os.path.basename(path) for path in files})
        for path in files:
            with open(path, encoding="utf-8") as file:
                self.assertNotRegex(file.read(), r"(?im)(^|,)-?(inf|nan)(,|$)", path)
        _, _, err = self.run_small("--scenario", "control", "--sink", "table:views=none_such")
        listed = re.search(r"allowed: ([\w, ]+\w)", err).group(1)
        self.assertEqual(set(listed.split(", ")), {*ALL, *OF_RECORDED, *OF_SERIES, *OF_RANKS, "all", "summary", "run", "perf_summary"})

    def test_a_view_that_is_not_there_is_told_of(self):
        self.assert_fails(self.run_small("--scenario", "control", "--sink", "table:views=operators kernals"), 3,
                          "did you mean kernels?")
        for view, key in (("memory", "profile_memory"), ("flops", "with_flops"), ("modules", "with_modules")):
            out = self.show(f"views={view}", more=["-o", f"profile.{key}=false"])
            self.assertIn(f"this run has no table {view}: profile.{key} = true", out)
        self.assertIn("views: this run has no table collectives: there are not several ranks with collectives",
                      " ".join(self.show("views=collectives").split()))
        out = self.show("views=operators breakdown", more=["-o", "profile.timer_only=true"])
        self.assertEqual(" ".join(out.split()).count("profile.timer_only = true records no trace"), 2)
        self.assertNotIn("no table", self.show(more=["-o", "profile.timer_only=true"]))

    def test_a_grouping_by_what_was_not_recorded_is_told_of(self):
        out = self.show("views=operators", "group_by_stack_n=2", "group_by_input_shape=true",
                        more=["-o", "profile.record_shapes=false"])
        for key in ("with_stack", "record_shapes"):
            self.assertIn(f"profile.{key} = true", " ".join(out.split()))
        out = self.show("views=operators", "group_by_stack_n=2", "group_by_input_shape=true",
                        more=["-o", "profile.with_stack=true"])
        self.assertNotIn("profile.", out.split("Operator table")[1])

    def test_the_guide_lists_every_table(self):
        with open(os.path.join(CONF, "..", "docs", "reading-results.md"), encoding="utf-8") as file:
            listed = file.read().split("\n## The tables\n")[1]
        named = {name for line in listed.splitlines() if line.startswith("| `")
                 for name in re.findall(r"`(\w+)`", line.split("|")[1])}
        self.assertEqual(named, {*ALL, *OF_RECORDED, *OF_SERIES, *OF_RANKS, "ranks_verdict", "perf_summary"})

    def test_paddles_tables_in_every_unit_and_order(self):
        for unit, per_ms in (("s", 1e-3), ("ms", 1), ("us", 1e3), ("ns", 1e6)):
            table = Table(self.show("views=model", f"time_unit={unit}", "wide=true"), "Model Summary")
            self.assertIn(f"(time unit: {unit})", table.title)
            step = table.rows[0]
            total, average, calls = float(step["CPU Total"]), float(step["CPU Avg"]), int(step["Calls"])
            # Three digits at least: each figure is rounded by half a per cent at most.
            rounding = 0 if unit == "ns" else 0.005
            self.assertAlmostEqual(total, average * calls, delta=calls * 1.001e-6 * per_ms + 2 * rounding * total)
            self.assertLess(total / per_ms, 1e5)  # eight steps in milliseconds
            parts = [sum(figures(row[column] for row in table.rows[1:])) for column in ("CPU Total", "CPU Ratio (%)")]
            self.assertAlmostEqual(parts[0], total, delta=2 * rounding * total + 1e-5 * per_ms)
            self.assertAlmostEqual(parts[1], 100, delta=100 * 0.005 + 0.05)
        for side, prefix in (("CPU", "CPU"), ("GPU", "Device")):
            for figure in ("Total", "Avg", "Max", "Min"):
                table = Table(self.show("views=operator_summary", f"sorted_by={side}{figure}", "time_unit=ns",
                                        "wide=true", "op_detail=false"), "Operator Summary")
                values = figures(cell or 0 for cell in table.column(f"{prefix} {figure}"))
                self.assertEqual(values, sorted(values, reverse=True), (side, figure))
                for row in table.rows:
                    low, mean, high = (float(row[f"CPU {key}"]) for key in ("Min", "Avg", "Max"))
                    self.assertTrue(low <= mean <= high, row)

    def test_operations_inside_others_are_inner_ones(self):
        out = self.show("views=overview operator_summary", "wide=true", scenario="sync")
        types = {row["Event Type"]: row for row in Table(out, "Overview Summary").rows}
        summary = Table(out, "Operator Summary")
        calls = [int(row["Calls"]) for row, level in zip(summary.rows, summary.levels) if not level]
        self.assertEqual(int(types["Operator"]["Calls"]), sum(calls))
        self.assertGreater(int(types["OperatorInner"]["Calls"]), 0)
        self.assertGreater(float(types["OperatorInner"]["CPU Time"]), 0)

    def test_details_and_threads_of_the_operator_summary(self):
        whole = Table(self.show("views=operator_summary", "wide=true"), "Operator Summary")
        self.assertLessEqual({0, 1}, set(whole.levels))
        plain = Table(self.show("views=operator_summary", "wide=true", "op_detail=false"), "Operator Summary")
        self.assertEqual(set(plain.levels), {0})
        operators = {row["Name"] for row, level in zip(whole.rows, whole.levels) if not level}
        self.assertEqual(set(plain.column("Name")), operators)
        apart = Table(self.show("views=operator_summary", "wide=true", "thread_sep=true"), "Operator Summary")
        self.assertIn("Thread", apart.headings)
        self.assertNotIn("", [row["Thread"] for row, level in zip(apart.rows, apart.levels) if not level])

    def test_utilisation_is_bounded_and_of_this_run(self):
        rows = {row["Device"]: row for row in Table(self.show("views=device_summary"), "Device Summary").rows}
        self.assertEqual(set(rows), {"CPU(Process)", "CPU(System)", "Device 0"})
        for row in rows.values():
            self.assertLessEqual(0, float(row["Utilization (%)"]))
            self.assertLessEqual(float(row["Utilization (%)"]), float(row["At most (%)"]))
        self.assertEqual(float(rows["CPU(Process)"]["At most (%)"]), 100.0 * len(os.sched_getaffinity(0)))
        self.assertGreater(float(rows["CPU(Process)"]["Utilization (%)"]), 0)
        self.assertGreater(float(rows["Device 0"]["Utilization (%)"]), 0)

    def test_chinese_and_japanese_names_align(self):
        with open(self.path("chinese.c"), "w", encoding="utf-8") as file:
            file.write(CHINESE)
        include = os.path.join(CONF, "..", "core", "include")
        subprocess.run(["cc", "-shared", "-fPIC", f"-I{include}", "chinese.c", "-o", "chinese.so"], check=True,
                       cwd=self.folder)
        for settings in ([], ["wide=true"], ["max_name_column_width=9"]):
            out = self.show("views=operators userdefined", *settings, scenario="./chinese.so")
            for title in ("Operator table", "UserDefined Summary"):
                table = Table(out, title)
                rows = [line for line in table.lines if "数据" in line or "データ" in line]
                self.assertEqual(len(rows), 2, out)
                for line in table.lines:
                    self.assertEqual(width(line), len(table.rule), line)

    def test_memory_peak_and_its_holders(self):
        out = self.show("views=memory memory_peak memory_churn", "wide=true", scenario="memory_churn",
                        more=["-o", "scenario.allocator=raw", "-o", "scenario.temporaries=7",
                              "--sink", "json:output_json=m.json"])
        for title in ("Memory Summary", "Memory at the peak", "Memory churn"):
            self.assertTrue(Table(out, title).rows)
        tables = self.json("m.json")["windows"][0]["tables"]
        churn = {row["memory_type"]: row for row in tables["memory_churn"]["rows"]}
        for kind, row in churn.items():
            held = [one for one in tables["memory_peak"]["rows"] if one["memory_type"] == kind]
            self.assertEqual(sum(one["held_bytes"] for one in held), row["peak_allocated"])
            self.assertAlmostEqual(sum(one["held_percent"] for one in held), 100, places=6)
            self.assertLessEqual(row["peak_allocated"], row["peak_reserved"])
        batch = 4 * 3 * 16 * 16 * 4
        self.assertGreaterEqual(churn["Device"]["allocations_per_step"], 7)
        self.assertGreaterEqual(churn["Device"]["bytes_per_step"], 7 * batch)

    def test_a_step_that_is_larger_than_the_memory_stays_in_it(self):
        window = ["-o", "schedule.wait=0", "-o", "schedule.warmup=0", "-o", "schedule.active=all",
                  "--sink", "json:output_json=m.json"]
        self.lossy = True
        flood = [*window, "-o", "run.max_steps=3", "-o", "scenario.what=flood", "-o", "profile.max_memory=1MiB"]
        out = self.show("views=run", scenario=os.path.join(FIXTURES, "scenario", "misdeed.so"), more=flood, code=7)
        self.lossy = False
        self.assertIn("active all,", out)
        self.assertIn("host ranges lost to a full buffer", out)
        metrics = self.json("m.json")
        self.assertEqual((metrics["steps"], len(metrics["windows"]), metrics["schedule"]["active"]), (3, 3, None))
        self.assertGreater(metrics["lost"]["RANGES_FULL"], 0)
        counts = metrics["windows"][0]["counts"]
        kept = counts["ranges"] * 32 + (counts["calls"] + counts["activities"]) * 64  # each takes more than that
        self.assertLess(kept, 4 << 20)
        self.show(scenario="tiny_ops", more=[*window, "-o", "run.max_steps=5"])
        self.assertEqual(sum(self.json("m.json")["lost"].values()), 0)


if __name__ == "__main__":
    unittest.main()

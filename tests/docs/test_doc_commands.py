"""That doc_commands.py sees each kind of thing that a document may say and the program does not, and doc_pairs.py what
a translation may say and the English document does not."""
import os
import tempfile
import types
import unittest

from doc_commands import FULL, complaints, missing_lines, missing_of_measurement, wrong_verdict
from doc_pairs import wrong_pair

PRINTED = """Verdict  input-bound: the device waits for data
  Share (%)           70.17

Active steps, in ms: 8 of steps 2..9, 1 window
  after the wait          9.86      10.0

Operator table
Name              CPU     total  Calls
pdLaunchKernel  22us   22.5us      160
Free:Device     41ms              2.11 MiB
"""
COLUMNS = [{"key": "name", "unit": "text"}, {"key": "cpu_time_total", "unit": "ns"}, {"key": "count", "unit": "count"},
           {"key": "bytes", "unit": "bytes"}]
ROWS = [{"name": "pdLaunchKernel", "cpu_time_total": 22500, "count": 160, "bytes": None},
        {"name": "Free:Device", "cpu_time_total": 41000000, "count": None, "bytes": 2212496}]
DOCUMENT = {"tables": {}, "windows": [{"tables": {"operators": {"columns": COLUMNS, "rows": ROWS}}}]}


def judge(*changes):
    """What is found in the print-out as quoted with these changes."""
    quoted = PRINTED
    for old, new in changes:
        assert old in quoted
        quoted = quoted.replace(old, new)
    return complaints(quoted.splitlines(), types.SimpleNamespace(stdout=PRINTED), DOCUMENT)


class DocCommands(unittest.TestCase):
    def test_what_is_printed_is_right_and_times_may_differ(self):
        self.assertEqual(judge(), [])
        self.assertEqual(judge(("22.5us", "31.9us"), ("9.86", "7.01"), ("70.17", "55.10")), [])

    def test_another_verdict_has_other_labels(self):
        share, gain = "Share (%)           70.17\n", "Gain                70.17\n"
        self.assertEqual(len(judge((share, gain))), 1)
        self.assertEqual(judge((share, gain), ("input-bound", "launch-bound")), [])
        self.assertEqual(len(judge(("Verdict  input-bound", "Judged  input-bound"))), 1)

    def test_what_reads_files_prints_every_quoted_word(self):
        result = types.SimpleNamespace(stdout=PRINTED)
        self.assertEqual(missing_lines(PRINTED.splitlines()[::2], result, True), [])
        self.assertEqual(missing_lines(["pdLaunchKernel  3us   2us   5"], result, False), [])
        self.assertEqual(len(missing_lines(["pdLaunchKernel  3us   2us   5"], result, True)), 1, "other figures")
        self.assertEqual(len(missing_lines(["pdLaunchKernels  3us   2us   5", "Free:Device  1 MiB"], result, False)), 1)
        self.assertEqual(len(missing_lines(["Operator table", "Share (%)  70.17"], result, False)), 1, "not in this order")

    def test_of_a_measurement_what_no_time_decides_is_compared(self):
        printed = ("<pdhost measurement of vec_dot on CPU (oneDNN 3.1), blocked_autorange>\n10000 x 64\n  Median: 3.2 ms\n"
                   "  WARNING: Other programs kept 1.0 of 2 cores busy\n           Run it on a quiet machine.\n  Mean:   3.4 ms\n"
                   "[----- batched dot -----]\n  mul_sum  |   570 (! 19%)\n\nTimes are in microseconds (us).\n"
                   "SLOWER   dot: mul_sum -> bmm: b takes 5.5 times as long as a\n         scenario.implementation: mul_sum -> bmm\n")
        for old, new, errors in (
                ("", "", 0), ("3.2 ms", "567.1 us", 0), ("microseconds (us)", "milliseconds (ms)", 0), ("----- b", "-- b", 0),
                ("Other programs kept 1.0 of 2 cores busy", "Interquartile range is 19.2% of the median", 0),
                ("           Run it on a quiet machine.", "           This could indicate a fluctuation.", 0),
                ("SLOWER   dot: mul_sum -> bmm: b takes 5.5 times as long as a", "SAME     dot", 0), (" (! 19%)", "", 0),
                ("10000 x 64", "10000 x 65", 1), ("Median:", "Middle:", 1), ("Mean:", "Average:", 1),
                ("<pdhost measurement of", "pdhost measured", 1), ("mul_sum  |", "sum_mul  |", 1),
                ("scenario.implementation:", "scenario.dim:", 1)):
            with self.subTest(old=old, new=new):
                found = missing_of_measurement(printed.replace(old, new).splitlines(), types.SimpleNamespace(stdout=printed))
                self.assertEqual(len(found), errors, found)
        lines = printed.splitlines()
        self.assertEqual(len(missing_of_measurement([lines[5], lines[2]], types.SimpleNamespace(stdout=printed))), 1, "the order")

    def test_every_fixed_figure_is_compared(self):
        for change in (("160", "161"), ("2.11 MiB", "2.12 MiB"), ("8 of steps", "7 of steps"), ("2..9", "3..9")):
            self.assertEqual(len(judge(change)), 1, change)

    def test_rows_headings_and_their_order(self):
        self.assertEqual(len(judge(("pdLaunchKernel", "pdLaunchOther"))), 1)
        self.assertEqual(len(judge(("CPU     total  Calls", "Lines of words"))), 1)
        rows = PRINTED.splitlines()[-2:]
        self.assertEqual(len(judge(("\n".join(rows), "\n".join(reversed(rows))))), 1)

    def test_rows_of_two_tables_that_begin_alike(self):
        table = {"columns": COLUMNS, "rows": [{"name": "Runtime", "cpu_time_total": 9, "count": 4624, "bytes": None}]}
        printed = "Runtime  18.2  2.27  13.2\nRuntime  4624  150.1  99\n"
        for count, errors in (("4624", 0), ("4625", 1)):
            found = complaints([f"Runtime  {count}  133.0  98"], types.SimpleNamespace(stdout=printed),
                               {"tables": {"overview": table}, "windows": []})
            self.assertEqual(len(found), errors, found)

    def test_a_full_report_has_no_room_for_some_rows(self):
        quoted = "Operators, on the device  ms/step  share\n  aten::mul  2.1  9.0 %\n\nFiles\n  a/vm_7.0.91.pt.trace.json"
        full = "\n" * FULL
        for printed, errors in ((quoted, 0), ("Files\n  a/host_9.1.2.pt.trace.json", 2),
                                (full + "Files\n  a/host_9.1.2.pt.trace.json", 0), (full + "Files\n  b.pt.trace.json", 1)):
            found = complaints(quoted.splitlines(), types.SimpleNamespace(stdout=printed), DOCUMENT)
            self.assertEqual(len(found), errors, found)

    def test_times_order_the_rows_of_a_table(self):
        heading = "Where the step goes  ms/step  share"
        rows = ["  Kernels  11.7  33.3 %", "  Input wait: I/O  3.1  9.0 %", "  Driver time  2.9  7.0 %"]
        quoted = [heading, *rows]
        for now, errors in ((rows, 0), ([rows[0], rows[2], rows[1]], 0), ([rows[2], rows[1], rows[0]], 0),
                            (rows[:2], 1), ([*rows[:2], "  Unknown  0.4  0.9 %"], 0), ([*rows[1:], "  Unknown  4  9 %"], 1),
                            ([rows[0], "  Unknown  4  9 %"], 1)):
            found = complaints(quoted, types.SimpleNamespace(stdout="\n".join([heading, *now])), DOCUMENT)
            self.assertEqual(len(found), errors, (now, found))

    def test_another_processor_has_another_longest_kernel(self):
        heading, rows = "Kernels  ms/step  share  calls/step", ["  adamw  1.64  24.8 %  1", "  relu  1.4  21.5 %  3"]
        for now, errors in ((["  conv  3.4  25.0 %  3", rows[1]], 0), ([rows[1]], 1)):
            found = complaints([heading, *rows], types.SimpleNamespace(stdout="\n".join([heading, *now])), DOCUMENT)
            self.assertEqual(len(found), errors, (now, found))

    def test_the_verdict(self):
        printed = types.SimpleNamespace(stdout=PRINTED)
        self.assertEqual(wrong_verdict(PRINTED.splitlines(), printed), [])
        self.assertEqual(wrong_verdict(PRINTED.splitlines()[3:], printed), [])
        self.assertEqual(len(wrong_verdict(PRINTED.replace("input-bound", "launch-bound").splitlines(), printed)), 1)


ENGLISH = """# Title

[中文](page.zh.md)

## Rows of a table

Type `pdhost sync` or `pdhost
control`; see [rows](#rows-of-a-table) and [more](docs/more.md#here).

```console
$ pdhost sync
Verdict  forced synchronisation
```

```
scripts/demo     # builds it
```
"""
CHINESE = """# 标题

[English](page.md)

## 表格的行

见[更多](docs/more.md#这里)和[行](#表格的行)；输入 `pdhost control` 或 `pdhost sync`。

```console
$ pdhost sync
Verdict  forced synchronisation
```

```
scripts/demo     # 构建
```
"""


class DocPairs(unittest.TestCase):
    def judge(self, old="", new=""):
        """What is found in the translation with this change."""
        self.assertIn(old, CHINESE)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("page.md", ENGLISH), ("page.zh.md", CHINESE.replace(old, new) if old else CHINESE)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            return wrong_pair(os.path.join(folder, "page.zh.md"))

    def test_words_their_order_and_comments_may_differ(self):
        self.assertEqual(self.judge(), [])

    def test_every_other_change_is_seen(self):
        for old, new in (("$ pdhost sync", "$ pdhost sync -q"), ("Verdict  forced", "Verdict  no"), ("```console", "```"),
                         ("scripts/demo     #", "scripts/test     #"), ("或 `pdhost sync`", "或 sync"),
                         ("## 表格", "### 表格"), ("docs/more.md", "docs/less.md"), ("(#表格的行)", "(#行)"),
                         ("[English](page.md)", ""), ("\n## 表格的行\n", "\n"),
                         ("```\nscripts/demo     # 构建\n```\n", "")):
            self.assertEqual(len(self.judge(old, new)), 1, (old, self.judge(old, new)))


if __name__ == "__main__":
    unittest.main()

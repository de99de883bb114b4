"""bench/RESULTS.md is what scripts/figures makes of the JSON files beside it, and every program of scripts/bench is read.
usage: test_results.py SOURCE"""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1])
SCRIPT = str(ROOT / "scripts" / "figures")
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("figures", SCRIPT)
figures = importlib.util.module_from_spec(importlib.util.spec_from_loader("figures", loader))
loader.exec_module(figures)

SAMPLE = """commit abc, 2026-01-01, 2 cores, load 0.1 0.2 0.3

== bench_recorder
                                 median      least       most   (ns, 15 rounds)
range, on                         46.82      23.97     194.89

== bench_chrome_trace
  one thread                             8.92 million events/s (6.51 to 12.51); 15.18 per processor second

== bench_loader
       2       200       1260 (1144 .. 1577)         3241    38.9%

== profile_cost
A step, us                                         12.500   11.000 .. 13.250

== html_viewers
26808 events, size, KiB, pdhost                                363.4       363.4 .. 363.4
26808 events, size, KiB, viztracer                           14259.4     14259.4 .. 14259.4
"""
got = [(row["what"], row["value"], row["low"], row["high"], row["unit"]) for row in figures.bench_figures(SAMPLE)]
assert got == [("range, on", 46.82, 23.97, 194.89, "ns"), ("one thread", 8.92, 6.51, 12.51, "million events/s"),
               ("workers, cpu_work: 2 200", 1260, 1144, 1577, "samples/s"), ("A step, us", 12.5, 11, 13.25, ""),
               ("26808 events, size, KiB, pdhost", 363.4, 363.4, 363.4, ""),
               ("26808 events, size, KiB, viztracer", 14259.4, 14259.4, 14259.4, "")], got
rows = [line for _, line in figures.page_rows(figures.bench_figures(SAMPLE)[-3:], False)]
assert [row.split(" | ")[:2] for row in rows] == [["| A step, us", "12.5"],
                                                  ["| 26808 events, size, KiB", "363.4; viztracer 14259"]], rows
ratio = figures.peer_figures([{"name": "steps", "ours": 2, "ours_min": 1, "ours_max": 3, "unit": "ms", "goal": 0.5,
                               "limit": None, "ratio": 0.6, "ratio_min": 0.5, "ratio_max": 0.7}])
assert [(row["what"], row["value"], row["goal"]) for row in ratio] == \
    [("steps", 2, None), ("steps, ratio to the better", 0.6, "ratio 0.5")], ratio
rows = [line for _, line in figures.page_rows(ratio + ratio, False)]
assert rows == ["| steps | 2 ms; ratio 0.6 to the better | 1 to 3 | ratio 0.5 | `bench/peer/run.py` |"] * 2, rows
with tempfile.TemporaryDirectory() as folder:
    cost = [{"cell": "a", "variant": "alone", "step_us": 1000, "ratio": 1, "low": 1, "high": 1},
            {"cell": "a", "variant": "record", "step_us": 1100, "ratio": 1.1, "low": 1.0, "high": 1.2},
            {"cell": "a", "variant": "record --torch", "step_us": 1200, "ratio": 1.2, "low": 1.1, "high": 1.3},
            {"cell": "a", "variant": "torch.profiler", "step_us": 1600, "ratio": 1.6, "low": 1.5, "high": 1.7}]
    pathlib.Path(folder, "record_cost.json").write_text(json.dumps({"rows": cost}), encoding="utf-8")
    got = [(row["what"], row["value"], row["low"], row["high"], row["goal"]) for row in figures.gpu_figures(pathlib.Path(folder))]
    assert got == [("a, pdhost", 1.1, 1.0, 1.2, "at most 1.05"), ("a, with --torch", 1.2, 1.1, 1.3, None),
                   ("a, torch.profiler", 1.6, 1.5, 1.7, None)], got
    folded = [line for _, line in figures.page_rows(figures.gpu_figures(pathlib.Path(folder)), False)]
    assert folded == ["| a | 1.1; with --torch 1.2; torch.profiler 1.6 | 1 to 1.2 | at most 1.05 | `bench/peer/record_cost.py` |"], folded
with tempfile.TemporaryDirectory() as folder:
    said = [{"job": "eager", "code": 0},
            {"job": "footprint", "kernels": 1000000, "added_bytes": 52e6, "growth_bytes": 4096, "exit_s": 0.028, "report_s": 0.34},
            {"job": "report", "kernels": 52500, "added_bytes": 47e6, "growth_bytes": 1e7, "exit_s": 0.001, "report_s": 0.46}]
    pathlib.Path(folder, "record.json").write_text(json.dumps(said), encoding="utf-8")
    got = [(row["what"], row["value"], row["unit"]) for row in figures.gpu_figures(pathlib.Path(folder))]
    assert got == [("memory added in 1,000,000 kernels", 52, "MB"), ("of it, growth from half of them on", 0.004096, "MB"),
                   ("its end is later by", 0.028, "s"), ("its end to the report of 52,500 kernels", 0.46, "s")], got
    assert not figures.record_figures([{"job": "footprint"}, {"job": "report"}])  # they failed
with tempfile.TemporaryDirectory() as folder:
    pathlib.Path(folder, "ranks.txt").write_text(
        "overlap saves                      ok      control 198 us (193 to 204) of 2383; two runs 204 us\n"
        "bus bandwidth, 83.7 MB             FAILED  250.0 GB/s, plain loop 200.0 (306 us), +25.0 %\n", encoding="utf-8")
    pathlib.Path(folder, "traces.txt").write_text(
        "pdhost: 40 of 40 right\n  accuracy                       97.5 % (95 %: 91.2 to 99)\n"
        "  error of gains, median         3.11 points (95 %: 2.1 to 4.44)\n"
        "  where the label is sure        19 of 20 right\n", encoding="utf-8")
    got = [(row["what"], row["value"], row["low"], row["high"]) for row in figures.gpu_figures(pathlib.Path(folder))]
    assert got == [("bus bandwidth, 83.7 MB", 250, None, None),
                   ("bus bandwidth, 83.7 MB, to a plain loop of ncclAllReduce", 1.25, None, None),
                   ("accuracy", 97.5, 91.2, 99),
                   ("error of gains, median", 3.11, 2.1, 4.44), ("accuracy where the label is sure, 20 traces", 95, None, None)], got
lines = (ROOT / "bench" / "RESULTS.md").read_text(encoding="utf-8").splitlines()
assert len(lines) <= 150, f"bench/RESULTS.md has {len(lines)} lines, more than 150"
sys.exit(subprocess.run([sys.executable, "-B", SCRIPT, "check"], check=False).returncode)

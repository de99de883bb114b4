"""Files of measurements as [run] mode = benchmark writes them, and documents of runs, with times made here."""
import json
import random


def measurement(median, count=60, spread=0.01, seed=0, **fields):
    """Blocks of ten runs around `median` seconds, with a normal spread of that share."""
    noise = random.Random(seed)
    row = dict(label="batched dot", sub_label="[64, 512]", description="bmm", env=None, scenario="vec_dot",
               device="CPU (oneDNN 2.6.3)", method="blocked_autorange", threads=1, number_per_run=10, cold_cache=False,
               partial=False, start_realtime_ns=1790000000123456789, timer_overhead_s=1e-7, warnings=[],
               options={"data.batch_size": "64"}, versions={"pdhost": "1.0.0"}, conditions={}, device_s=None)
    row["host_s"] = [10 * median * (1 + spread * noise.gauss(0, 1)) for _ in range(count)]
    row.update(fields)
    return row


def write(path, *rows):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format": "pdhost.measurements/1", "measurements": list(rows)}, file)


def write_run(path, median_s, verdict="none", count=40, seed=0, workers=1, parts=None, **fields):
    """What the json sink writes of a run, as far as pdhost compare reads it. `parts`: seconds of a step by category."""
    noise = random.Random(seed)
    steps = [{"phase": "active", "batch_cost_ns": int(1e9 * median_s * (1 + 0.01 * noise.gauss(0, 1))),
              "step_time_ns": 1, "data_wait_ns": 1} for _ in range(count)]
    tables = {"verdict": {"rows": [{"verdict": verdict}]},
              "ledger": {"rows": [{"category": name, "total": int(1e9 * s * count)} for name, s in (parts or {}).items()]}}
    options = {"run.trace_dir": path, "sink.json.output_json": path, "data.num_workers": str(workers)}
    document = {"schema_version": 1, "scenario": "dataloader", "pdhost_version": "1.0.0", "outcome": "complete",
                "device": {"name": "CPU (oneDNN 2.6.3)", "versions": "oneDNN 2.6.3"}, "step_rows": steps,
                "configuration": [dict(zip(("section", "key"), key.rsplit(".", 1)), value=value)
                                  for key, value in options.items()],
                "windows": [{"steps": [{}] * count, "tables": tables}]}
    document.update(fields)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)

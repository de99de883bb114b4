"""Files of measurements as [run] mode = benchmark writes them, with times made here."""
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

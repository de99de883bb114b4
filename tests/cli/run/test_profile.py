"""What each key of [profile] adds to a run on the CPU device, against sums done by hand here."""
import contextlib
import csv
import ctypes.util
import glob
import json
import os
import re
import struct
import threading
import time
import unittest
from collections import Counter, defaultdict

from pdhost_run import CONF, SANITIZER, FIXTURES, Case

ACTIVE = 4
BATCH, CLASSES, CHANNELS = 16, 1000, [3, 64, 128, 256]
SIDES = [24, 12, 6, 3]  # every convolution is 3 x 3 with stride 2
SHAPED = ["--device", "cpu", "--batch_size", str(BATCH), "--image_size", str(SIDES[0]), "--warmup_steps", "1",
          "--num_workers", "1", "--profile_steps", str(ACTIVE), "-o", "device.threads=1", "-o", "data.cpu_work=10",
          "-o", "data.io_sleep_ms=0", "-o", "run.trace_dir=trace"]
SOURCES = os.path.join(CONF, "..")
STALL = os.path.join(FIXTURES, "scenario", "host_stall.so")


def conv_flops(i):
    """Twice the multiply-adds of convolution i: each output element takes 3 * 3 * its input channels."""
    return 2 * BATCH * CHANNELS[i + 1] * SIDES[i + 1] ** 2 * CHANNELS[i] * 9


class ProfileCase(Case):
    def run_csv(self, scenario, *arguments):
        code, out, err = self.run_pdhost("--scenario", scenario, *SHAPED, "--sink", "csv", *arguments)
        self.assertEqual(code, 0, err)
        return out

    def table(self, name):
        with open(self.path(os.path.join("trace", "csv", name)), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def ranges_named(self, name):
        return [row for row in self.table("events/ranges.csv") if row["name"] == name]


class Profile(ProfileCase):
    def test_flops_of_each_operation(self):
        self.run_csv("control", "-o", "profile.with_flops=true")
        forward = Counter(int(row["flops"]) for row in self.ranges_named("aten::conv2d"))
        self.assertEqual(forward, Counter([conv_flops(i) for i in range(3)] * ACTIVE))
        # A backward pass has as many for the weights, and again for the data, which the first layer leaves out.
        backward = Counter(int(row["flops"]) for row in self.ranges_named("aten::convolution_backward"))
        self.assertEqual(backward, Counter([conv_flops(i) * (2 if i else 1) for i in range(3)] * ACTIVE))
        linear = 2 * BATCH * CHANNELS[3] * CLASSES
        total = 3 * sum(map(conv_flops, range(3))) - conv_flops(0) + 3 * linear
        footer = [row for row in self.table("flops.csv") if row["name"] == "Total"]
        self.assertEqual([int(row["flops_per_step"]) for row in footer], [total])

    def test_series_of_the_process_are_counters(self):
        """Memory as the system has it, and processors: what no GPU is there to tell has no counter."""
        self.run_csv("control", "--profile_steps", "300", "-o", "profile.series_every=0.02s")
        series = defaultdict(list)
        for row in self.table("events/counters.csv"):
            series[row["name"]].append(float(row["value"]))
        self.assertEqual({name for name in series if "GPU" in name}, set())
        self.assertGreater(len(series["process memory, bytes"]), 3)
        for value in series["process memory, bytes"]:
            self.assertTrue(1e6 < value < 1e11, value)
        self.assertGreater(max(series["process, cores busy"]), 0)
        self.assertLess(max(series["process, cores busy"]), 1.5 * os.cpu_count())
        self.run_csv("control", "--profile_steps", "30")
        self.assertNotIn("process memory, bytes", {row["name"] for row in self.table("events/counters.csv")})

    def test_series_are_the_same_in_every_output(self):
        """The counters of the csv are what there is; all other outputs have these values and what follows from them."""
        with self.processors_that_use(30):
            out = self.run_csv("dataloader", "--profile_steps", "100", "-o", "profile.series_every=0.02s", "-o",
                               "data.io_sleep_ms=10", "-o", "profile.powercap_dir=powercap", "--sink",
                               "json:output_json=out.json", "--sink", "html:path=out.html", "--sink", "tensorboard",
                               "--sink", "chrome_trace:path=drawn.json", "--sink", "table:views=run series")
        values = defaultdict(list)
        for row in self.table("events/counters.csv"):
            if ", " in row["name"]:
                values[row["name"]].append(float(row["value"]))
        self.assertLessEqual({"loader batches, bytes", "thread main, cores busy", "thread loader 0, cores busy",
                              "processors power, W"}, set(values))
        self.assertAlmostEqual(sum(values["processors power, W"]) / len(values["processors power, W"]), 30, delta=6)
        table = {f"{row['series_name']}, {row['series_unit']}": row for row in self.table("series.csv")}
        self.assertEqual(set(table), set(values))
        for name, row in table.items():
            self.assertEqual(int(row["series_looks"]), len(values[name]))
            self.assertAlmostEqual(float(row["series_mean"]), sum(values[name]) / len(values[name]),
                                   delta=1e-9 * max(values[name]) + 1e-12)
            self.assertEqual((float(row["series_min"]), float(row["series_max"])), (min(values[name]), max(values[name])))
            self.assertTrue(row["series_resolution"], name)
        memory = table["process memory, bytes"]
        low, mean, high = (f"{float(memory[key]) / 2 ** 20:.2f} MiB" for key in ("series_min", "series_mean", "series_max"))
        self.assertRegex(out, rf"\nprocess memory +bytes +{memory['series_looks']} +{low} +{mean} +{high}")
        self.assertRegex(out, r"\nprocess +cores busy +\d+( +\d\.\d{2,3}){3}")
        with open(self.path("out.json"), encoding="utf-8") as file:
            document = json.load(file)
        window = document["windows"][0]
        self.assertEqual({f"{one['name']}, {one['unit']}": one["values"] for one in window["series"]}, values)
        self.assertTrue(all(len(one["ts_ns"]) == len(one["values"]) for one in window["series"]))
        with open(self.path("drawn.json"), encoding="utf-8") as file:
            drawn = defaultdict(list)
            for event in json.load(file)["traceEvents"]:
                if event["ph"] == "C" and ", " in event["name"]:
                    drawn[event["name"]].append(event["args"]["value"])
        self.assertEqual(drawn, values)
        with open(glob.glob(self.path("trace/events.out.tfevents*"))[0], "rb") as file:
            board = file.read()
        memory = values["process memory, bytes"]
        self.assertEqual(board.count(b"series/process_memory_bytes"), len(memory))
        self.assertIn(struct.pack("<f", memory[-1]), board.partition(b"series/process_memory_bytes")[2])
        with open(self.path("out.html"), encoding="utf-8") as file:
            page = file.read()
        figures = re.findall(r'<figure class="series">.*?<b>(.*?)</b> (.*?)</figcaption>.*?<path d="(.*?)"', page)
        self.assertEqual([name for name, _, _ in figures], [name.rpartition(", ")[0] for name in table])
        cores = table["process, cores busy"]
        self.assertEqual([words for name, words, _ in figures if name == "process"],
                         [f"{float(cores['series_min']):.4g} to {float(cores['series_max']):.4g}, "
                          f"mean {float(cores['series_mean']):.4g} cores busy"])
        self.assertEqual([path.count("L") + 1 for _, _, path in figures], [len(values[name]) for name in table])
        (run,) = self.table("run.csv")
        for key in ("processor_energy_j", "processor_energy_j_per_step", "processor_energy_j_per_sample"):
            self.assertGreater(document[key], 0)
            self.assertEqual(float(run[key]), document[key])
            self.assertIn(struct.pack("<f", document[key]), board.partition(f"summary/{key}".encode())[2][:64])
            self.assertIn(f'<tr><th scope="row">{key}</th><td>{document[key]:.6g} J</td></tr>', page)
        self.assertEqual((document["energy_j"], run["energy_j"]), (None, ""))
        self.assertNotIn(b"summary/energy_j", board)

    @contextlib.contextmanager
    def processors_that_use(self, watts):
        """The counters of one package, in the folder powercap, which move every 5 ms."""
        folder = self.path("powercap/intel-rapl:0")
        os.makedirs(folder)
        for name, text in (("name", "package-0"), ("max_energy_range_uj", "262143328850"), ("energy_uj", "0")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(f"{text}\n")
        ends, begun = threading.Event(), time.monotonic()

        def count():
            while not ends.wait(0.005):
                with open(os.path.join(folder, "next"), "w", encoding="utf-8") as file:
                    file.write(f"{int(1e6 * watts * (time.monotonic() - begun))}\n")
                os.replace(os.path.join(folder, "next"), os.path.join(folder, "energy_uj"))

        thread = threading.Thread(target=count)
        thread.start()
        try:
            yield
        finally:
            ends.set()
            thread.join()

    def test_what_keeps_the_processors_energy_from_being_known(self):
        folder = self.path("powercap/intel-rapl:0")
        os.makedirs(os.path.join(folder, "energy_uj"))  # a folder, since root may read every file
        with open(os.path.join(folder, "name"), "w", encoding="utf-8") as file:
            file.write("package-0\n")
        words = ("control", "-o", "profile.powercap_dir=powercap", "--sink", "table:views=run")
        code, out, err = self.run_small("--scenario", *words)
        self.assertEqual(code, 0, err)
        self.assertRegex(re.sub(r"\s+", " ", out), r"processors' energy not known: powercap/intel-rapl:0/energy_uj: Is a directory; "
                         "run as root, or have root give this user the right to read that file")
        code, out, err = self.run_small("--scenario", "control", "-o", "profile.powercap_dir=nothing", "--sink", "table:views=run")
        self.assertEqual(code, 0, err)
        self.assertNotIn("processors' energy", out)

    def test_modules_name_the_path(self):
        self.run_csv("control", "-o", "profile.with_modules=true")
        modules = Counter(row["module"] for row in self.ranges_named("aten::conv2d"))
        self.assertEqual(modules, Counter({f"SimpleCNN.conv{i}": ACTIVE for i in (1, 2, 3)}))
        self.assertLessEqual({"SimpleCNN", "SimpleCNN.conv1", "SimpleCNN.head"},
                             {row["module"] for row in self.table("modules.csv")})

    def test_shapes_of_the_inputs(self):
        self.run_csv("control", "-o", "profile.record_shapes=true")
        shapes = Counter(row["input_shapes"] for row in self.ranges_named("aten::conv2d"))
        self.assertEqual(shapes, Counter({
            f"[{BATCH} {CHANNELS[i]} {SIDES[i]} {SIDES[i]}]"
            f"[{CHANNELS[i + 1]} {CHANNELS[i]} 3 3][{CHANNELS[i + 1]}]": ACTIVE for i in range(3)}))

    def test_every_allocation_is_an_event(self):
        self.run_csv("memory_churn", "-o", "profile.profile_memory=true", "-o", "scenario.allocator=raw",
                     "-o", "scenario.temporaries=7")
        raw = [row for row in self.table("events/memory.csv") if row["allocator"] == "raw"]
        size = BATCH * 3 * SIDES[0] ** 2 * 4
        self.assertEqual(Counter(int(row["bytes"]) for row in raw), Counter({size: 7 * ACTIVE, -size: 7 * ACTIVE}))
        held = {}
        for row in raw:
            if int(row["bytes"]) > 0:
                self.assertNotIn(row["address"], held)
                held[row["address"]] = row
            else:
                del held[row["address"]]
        self.assertEqual(held, {})

    def test_nothing_of_it_unless_asked_for(self):
        self.run_csv("memory_churn", "-o", "scenario.allocator=raw", "-o", "profile.record_shapes=false",
                     "-o", "profile.profile_memory=false", "-o", "profile.with_modules=false")
        rows = self.table("events/ranges.csv")
        self.assertEqual({(row["flops"], row["module"], row["input_shapes"]) for row in rows}, {("0", "", "")})
        self.assertEqual(self.table("events/memory.csv"), [])

    def test_stacks_end_in_the_operation(self):
        """As flamegraph.pl reads them (its pattern, its semicolons), and speedscope (a whole number last)."""
        self.run_csv("control", "-o", "profile.with_stack=true", "--sink", "table:stacks=always")
        with open(self.path("trace/stacks_self_cpu_time_total.txt"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        called = []
        for line in lines:
            found = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
            self.assertIsNotNone(found, line)
            self.assertRegex(line, r"^[^\s]+ [1-9][0-9]*$")
            frames = found.group(1).split(";")
            self.assertNotIn("", frames)
            if any(frame.startswith("main_(") for frame in frames):
                called.append(frames)
        self.assertEqual(len({line.rsplit(" ", 1)[0] for line in lines}), len(lines), "a stack has two lines")
        self.assertGreater(len(called), 0)
        inner = [frames[-2] for frames in called if frames[-1].startswith("aten::")]
        self.assertTrue(inner)
        for frame in inner:
            self.assertNotRegex(frame, r"^(op_begin|train_module_begin|pd_range_begin|record_begin)")
        self.assert_lines_are_calls(called)

    def calls(self, line, callee, sources):
        """Whether the line calls it, or a function that ends in a call of it, which has no frame then."""
        named = re.findall(r"\b(\w+)\(", line)
        text = "\n".join("\n".join(lines) for files in sources.values() for lines in files)
        bodies = [re.search(rf"^\w[^\n;]*\b{name}\([^;{{]*{{(.*?)^}}", text, re.M | re.S) for name in named]
        return callee in named or any(body and re.search(rf"\breturn [^;]*\b{callee}\(", body[1]) for body in bodies)

    def assert_lines_are_calls(self, stacks):
        """Where lines are known, that of main() holds the call, and every line of our sources is one of its file's."""
        if ctypes.util.find_library("dw") is None:
            self.skip("no libdw: frames name their module, not their line")
        sources = defaultdict(list)
        for path in glob.glob(os.path.join(SOURCES, "core", "**", "*.c"), recursive=True):
            with open(path, encoding="utf-8") as file:
                sources[os.path.basename(path)].append(file.read().splitlines())
        checked = 0
        for stack in stacks:
            for frame, callee in zip(stack, stack[1:]):
                found = re.fullmatch(r"(\w+)[.\w]*_\((\w+\.c):(\d+)\)", frame)
                if not found or found.group(2) not in sources:
                    continue
                at = int(found.group(3)) - 1
                self.assertTrue(any(at < len(lines) for lines in sources[found.group(2)]), frame)
                if found.group(1) == "main":
                    line = sources["main.c"][0][at]
                    self.assertTrue(self.calls(line, callee.split("_(")[0], sources), f"{callee} by {line}")
                    checked += 1
        self.assertGreater(checked, 0)


class Timing(ProfileCase):
    def test_reader_ratio_is_the_traced_runs(self):
        """A batch sleeps for 80 ms, the step takes 20 ms: most is waiting. A busy machine may stretch steps: six tries."""
        if SANITIZER:
            self.skip(f"two runs under the {SANITIZER} sanitizer differ by more than the ratio may")
        fixed = ["-o", "schedule.skip_first=4", "-o", "data.io_sleep_ms=5", "-o", "data.cpu_work=0",
                 "-o", "scenario.stall_ms=10", "-o", "data.resident=none", "--profile_steps", "10"]
        tries = []
        while len(tries) < 6 and (not tries or abs(tries[-1][0] - tries[-1][1]) > 1 or tries[-1][0] <= 25):
            self.run_csv(STALL, *fixed, "-o", "profile.timer_only=true")
            timed = {row["name"]: float(row["avg"]) for row in self.table("perf_summary.csv")}
            self.run_csv(STALL, *fixed)
            model = {row["name"]: float(row["cpu_ratio"]) for row in self.table("model.csv")}
            tries.append((timed["Reader Ratio"], model["Dataloader"]))
        self.assertLessEqual(abs(tries[-1][0] - tries[-1][1]), 1, tries)
        self.assertGreater(tries[-1][0], 25, tries)


if __name__ == "__main__":
    unittest.main()

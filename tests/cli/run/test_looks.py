"""What prints and runs nothing: lists, help, explain, doctor, the plan of a dry run."""
import json
import os
import re
import shutil
import subprocess
import unittest

from pdhost_run import CONF, FIXTURES, PDHOST, Case


class Looks(Case):
    def test_readme_names_the_program_that_the_demo_builds(self):
        found = []
        for name in ("README.md", "README.zh.md", "scripts/demo"):
            with open(os.path.join(CONF, "..", name), encoding="utf-8") as file:
                found.append(set(re.findall(r"build/\w+/bin/pdhost", file.read())))
        self.assertTrue(found[0])
        self.assertEqual(found, [found[0]] * 3)

    def test_list_and_help_of_what_is_shipped(self):
        code, out, _ = self.run_pdhost("--list", "scenarios")
        self.assertEqual(code, 0)
        for name in ["control", "dataloader", "memory_churn", "sync", "tiny_ops"]:
            self.assertRegex(out, rf"(?m)^  {name} ")
            self.assertEqual(self.run_pdhost("--help-scenario", name)[0], 0)
        self.assertNotIn("rejected", out)

    def test_a_list_for_programs_and_a_device_that_is_of_no_use(self):
        paths = ("--plugin-path", FIXTURES)
        code, out, err = self.run_pdhost("list", "devices", *paths)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"(?m)^  driverless .*\n(?: {17,}.*\n)* +not usable here: no driver")
        self.assertRegex(out, r"(?m)^ {17}\S*driverless\.so, by A\. Maker <maker@example\.org>$")
        code, out, err = self.run_pdhost("list", "--format", "json", *paths)
        self.assertEqual(code, 0, err)
        lists = json.loads(out)
        self.assertEqual(list(lists), ["scenarios", "sinks", "devices", "readers", "communicators", "causes", "metrics"])
        sync = next(row for row in lists["scenarios"] if row["name"] == "sync")
        self.assertEqual((sync["bottleneck"], sync["rejected"]), ("forced_sync", None))
        self.assertTrue(os.path.isfile(sync["path"]) and sync["version"] and sync["abi"] and sync["summary"])
        devices = {row["name"]: row for row in lists["devices"]}
        self.assertEqual((devices["cpu"]["usable"], devices["cpu"]["reason"]), (True, None))
        self.assertEqual((devices["cpu"]["author"], devices["driverless"]["author"]),
                         (None, "A. Maker <maker@example.org>"))
        self.assertFalse(devices["driverless"]["usable"])
        self.assertIn("no driver", devices["driverless"]["reason"])
        self.assertIn("forced_sync", [row["name"] for row in lists["causes"]])
        self.assertIn("data_wait", [row["key"] for row in lists["metrics"]])
        self.assertEqual(list(json.loads(self.run_pdhost("--list", "sinks", "--format", "json")[1])), ["sinks"])

    def test_the_doctor_names_the_version_of_each_library_of_cuda(self):
        """A copy of one fake library under each name; where one is taken away, what to do is said."""
        files = {"CUDA driver": "libcuda.so.1", "cuDNN": "libcudnn.so.9", "cuBLASLt": "libcublasLt.so.13",
                 "CUPTI": "libcupti.so.13"}
        os.mkdir(self.path("fake"))
        for name in files.values():
            shutil.copy(os.path.join(FIXTURES, "versions.so"), self.path(os.path.join("fake", name)))

        def checks():
            code, out, err = self.run_pdhost("doctor", "--format", "json", env={"LD_LIBRARY_PATH": self.path("fake")})
            self.assertEqual(code, 0, err)
            return {row["check"]: row for row in json.loads(out)}
        rows = checks()
        self.assertEqual({name: (rows[name]["result"], rows[name]["found"]) for name in files}, {
            "CUDA driver": ("ok", "CUDA 13.2, libcuda.so.1"), "cuDNN": ("ok", "9.10.2, libcudnn.so.9"),
            "cuBLASLt": ("ok", "13.1.5, libcublasLt.so.13"), "CUPTI": ("ok", "API version 130201, libcupti.so.13")})
        self.assertRegex(rows["CUPTI folders"]["found"], r"(^|, )the loader's path, .*/usr/local/cuda/extras/CUPTI/lib64, ")
        self.assertRegex(rows["CUDA runtime"]["found"], r"^(\d+\.\d+, built into the CUDA device|this build has no CUDA device)$")
        os.remove(self.path("fake/libcupti.so.13"))
        os.mkdir(self.path("home"))
        os.mkdir(self.path("home/lib64"))
        shutil.copy(os.path.join(FIXTURES, "versions.so"), self.path("home/lib64/libcupti.so.13"))
        os.environ["CUDA_HOME"] = self.path("home")  # where the profiler looks, too
        self.addCleanup(os.environ.pop, "CUDA_HOME")
        self.assertTrue(any(self.path("home/lib64") in text for text in (checks()["CUPTI"]["found"], checks()["CUPTI folders"]["found"])))
        shutil.copy(os.path.join(FIXTURES, "old_versions.so"), self.path("fake/libcudnn.so.9"))
        found = checks()["cuDNN"]
        if found["result"] == "warn":
            self.assertEqual(found["found"], "8.9.7, libcudnn.so.9: too old, 9.0 or newer is needed")
            self.assertIn("install cuDNN 9", found["remedy"])
        else:  # a newer one of this machine was found behind it
            self.assertNotIn("8.9.7", found["found"])
        with open(self.path("fake/libcudnn.so.9"), "w", encoding="utf-8") as file:
            file.write("no library\n")
        found = checks()["cuDNN"]
        if found["result"] == "warn":  # where another one is installed, that is found
            self.assertEqual(found["found"], "not found")
            self.assertIn("install cuDNN 9", found["remedy"])

    def test_the_dry_run_resolves_the_device_and_its_sizes(self):
        code, out, err = self.run_pdhost("dataloader", "--dry-run", env={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"(?m)^device     cpu .*\n +no GPU found \([^();]+\)\nsized      .*batch_size 16")
        self.assertIn("3 x 16 x 16, 1 worker\n", out)
        # 16 images of 3 x 16 x 16 floats and as many labels; 1 worker holds 2, and one more is being used.
        self.assertIn("0.047 MiB per batch, 3 batches on the host: 0.141 MiB;", out)

    def test_explain_knows_what_is_typed_and_what_is_printed(self):
        # The words of sort_by and of sorted_by, what the README shows, headings with their unit and in any case.
        for name, keys in (("self_cuda_time_total", ["self_device_time_total"]), ("cuda_time", ["device_time"]),
                           ("self_cuda_memory_usage", ["self_device_memory_usage"]), ("CPUTotal", ["cpu_total"]),
                           ("GPUAvg", ["gpu_avg"]), ("count", ["count"]), ("Step now (ms)", ["verdict_step"]),
                           ("Step expected (ms)", ["verdict_expected"]), ("Share", ["share", "code_share", "verdict_share"]),
                           ("share", ["share"]), ("Utilization", ["utilization"]), ("self cpu", ["self_cpu_time_total"])):
            code, out, err = self.run_pdhost("--explain", name)
            self.assertEqual((code, re.findall(r'^(\w+)   "', out, re.MULTILINE)), (0, keys), f"{name}: {out}{err}")
        self.assert_fails(self.run_pdhost("--explain", "cuda_tim"), 2, "--explain cuda_tim: no such word")
        for readme in ("README.md", "README.zh.md"):
            with open(os.path.join(CONF, "..", readme), encoding="utf-8") as file:
                (name,) = re.findall(r"`pdhost --explain (\w+)`", file.read())
            self.assertEqual(self.run_pdhost("--explain", name)[0], 0)

    def test_explain(self):
        code, out, err = self.run_pdhost("--explain", "Self CPU")
        self.assertEqual(code, 0, err)
        self.assertIn("unit     ", out)

    def test_explain_knows_every_metric_of_the_glossary(self):
        with open(os.path.join(CONF, "..", "docs", "metrics.md"), encoding="utf-8") as file:
            keys = re.findall(r"(?m)^\| `([a-z0-9_]+)` \|", file.read())
        self.assertGreater(len(keys), 100)
        for key in keys:
            code, out, err = self.run_pdhost("--explain", key)
            self.assertEqual((code, err), (0, ""), key)
            self.assertIn(key, out)
            self.assertRegex(out, r"(?m)^  unit     \S")
        self.assert_fails(self.run_pdhost("--explain", keys[-1] + "x"), 2, f"did you mean {keys[-1]}?")

    def test_explain_knows_every_heading_that_is_printed(self):
        with open(os.path.join(CONF, "..", "docs", "metrics.md"), encoding="utf-8") as file:
            on_cuda = re.findall(r"(?m)^\| `(\w+)` \| .* \(CUDA: (.*?)\) \| [^|]* \|", file.read())
        self.assertGreater(len(on_cuda), 10)
        for key, heading in on_cuda:
            code, out, err = self.run_pdhost("--explain", heading)
            self.assertEqual((code, err), (0, ""), heading)
            self.assertIn(f'on a CUDA device "{heading}"', out)
            self.assertIn(f"{key} ", out)
        code, out, err = self.run_small("--scenario", "control", "--sink", "table:views=run")
        self.assertEqual(code, 0, err)
        quick = out.split("\nActive steps")[1].split("\nHow it was measured")[0].splitlines()
        names = quick[1].split() + [re.split("  +", line.strip())[0] for line in quick[2:] if line.strip()]
        self.assertGreaterEqual(len(names), 13)
        for name in names:
            self.assertEqual(self.run_pdhost("--explain", name)[0], 0, name)

    def test_full_standard_output(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PDHOST, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 8)
        self.assertEqual(done.stderr, "pdhost: error: standard output: No space left on device [PDH-0800]\n")

    def test_a_dry_run_says_what_the_run_takes(self):
        plan = ("--scenario", "tiny_ops", "--profile_steps", "40", "--sink", "csv", "--sink", "json:output_json=" + self.path("x.json"))
        code, out, err = self.run_small(*plan, "--dry-run")
        self.assertEqual((code, os.listdir(self.folder)), (0, []), err)
        self.assertRegex(out, r"\ntime       about [\d.]+ m?s; a step takes ([\d.]+ [mu]?s|too little to tell)\n")
        self.assertRegex(out, r"\npeak       [\d.]+ [MG]iB of the host's memory in the trial\nhow sure   from two trials, of 2 and 6 steps")
        amount, unit = re.search(r"\ndisk       about ([\d.]+) ([KM]iB); a recorded step takes ", out).groups()
        code, _, err = self.run_small(*plan)
        self.assertEqual(code, 0, err)
        taken = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(self.folder) for name in names)
        self.assertAlmostEqual(float(amount) * {"KiB": 2**10, "MiB": 2**20}[unit] / taken, 1, delta=0.5)
        code, out, _ = self.run_small("--scenario", "control", "--dry-run", "-o", "schedule.repeat=0", "-o", "run.epochs=0")
        self.assertRegex(out, r"\ntime       about ([\d.]+ [mu]?s|too little to tell) a step\ndisk       about ")

    def test_a_dry_run_that_cannot_be_tried_says_so(self):
        code, out, _ = self.run_small("--scenario", os.path.join(FIXTURES, "scenario", "fault.so"), "-o", "scenario.fail_step=1",
                                      "--dry-run")
        self.assertEqual(code, 0)
        self.assertIn("\ntime, disk not estimated: a trial of ", out)


if __name__ == "__main__":
    unittest.main()

"""pdhost rerun: a run's manifest, the same run again, and what differs."""
import hashlib
import json
import os
import re
import subprocess
import unittest

from pdhost_run import FIXTURES, PDHOST, Case
from rank_run import RankCase

CONTROL = ("--scenario", "control", "-o", "schedule.active=3", "--sink", "json", "--trace_dir", "first")
FAULT = os.path.join(FIXTURES, "scenario", "fault.so")


def identity(path):
    """The build id that the linker put into the file; without one its hash."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]+)", notes)
    if found:
        return f"build-id:{found[1]}"
    with open(path, "rb") as file:
        return "sha256:" + hashlib.sha256(file.read()).hexdigest()


class Rerun(Case):
    def run_once(self, *more):
        code, _, err = self.run_small(*CONTROL, *more, watch=False)
        self.assertEqual(code, 0, err)

    def manifest(self, folder="first"):
        return self.json(f"{folder}/manifest/manifest.json")

    def change(self, name, change):
        document = self.manifest()
        change(document)
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(document, file)

    def rerun(self, *arguments, env=None):
        return self.run_pdhost("rerun", *arguments, watch=False, env=env)

    def found(self, *arguments, env=None):
        """Exit code, and what differs by part: name to (then, now)."""
        code, out, err = self.rerun("--format", "json", *arguments, env=env)
        self.assertIn(code, (0, 11), err)
        document = json.loads(out)
        self.assertEqual(document["format"], "pdhost.rerun/1")
        self.assertEqual(document["same"], code == 0)
        changes = {key: {row["name"]: (row["then"], row["now"]) for row in part["changes"]}
                   for key, part in document.items() if isinstance(part, dict) and part.get("changes")}
        return code, changes, document

    def test_the_manifest_holds_what_decides(self):
        self.run_once("-o", "run.seed=7")
        got = self.manifest()
        self.assertEqual(got["program"]["file"], identity(PDHOST))
        self.assertTrue(got["plugins"]["scenario control"].endswith(
            ", " + identity(os.path.join(os.path.dirname(PDHOST), "../lib/pdhost/scenario/control.so"))), got["plugins"])
        self.assertEqual(got["seeds"], {"run.seed": "7"})
        self.assertEqual(got["configuration"]["data.batch_size"], "4")
        self.assertIn("data.batch_size", got["given"])
        self.assertNotIn("data.dataset_size", got["given"])
        self.assertLessEqual({"scenario control", "device cpu", "sink json"}, set(got["plugins"]))
        self.assertTrue(any(name.startswith("libc.so") for name in got["libraries"]), got["libraries"])
        self.assertFalse([value for value in got["libraries"].values() if "not readable" in value])
        self.assertEqual((got["device"]["plugin"], got["outcome"]), ("cpu", "complete"))
        self.assertEqual(len(got["losses"]), len(self.json("first/metrics_control.json")["losses"]))
        (window,) = got["windows"]
        self.assertEqual((window["steps"], len(got["step_time_ns"])), (3, 3))
        self.assertEqual(window["launches"] + window["operations"], sum(window["names"].values()))

    def test_the_same_run_is_the_same(self):
        self.run_once()
        before = sorted(os.listdir(self.folder))
        code, out, err = self.rerun("first")
        self.assertEqual(code, 0, out + err)
        lines = out.splitlines()
        self.assertEqual(lines[0], "The same: nothing that should be equal differs.")
        self.assertLessEqual(len(lines), 24)
        self.assertRegex(out, r"\nLaunches +the same \d+, in the same order\nLosses +the same to the last digit in \d+ steps\n")
        self.assertRegex(out, r"\nStep time +[\d.]+ [mun]?s \([\d.]+\.\.[\d.]+\) -> .*\n +(UNCLEAR|SAME|FASTER|SLOWER): .*does not count")
        self.assertEqual(sorted(os.listdir(self.folder)), before, "what was run again is gone")
        self.assertEqual(self.found("first/manifest/manifest.json")[:2], (0, {}))

    def test_seed_and_keys_that_differ_are_named(self):
        self.run_once()
        for more, key, change in ((("-o", "run.seed=1"), "seeds", {"run.seed": ("0", "1")}),
                                  (("-o", "train.lr=0.5"), "configuration", {"train.lr": ("1e-3", "0.5")})):
            with self.subTest(key=key):
                code, _, err = self.run_small(*CONTROL[:-1], "second", *more, watch=False)
                self.assertEqual(code, 0, err)
                code, changes, document = self.found("--against", "second", "first")
                self.assertEqual((code, changes), (11, {key: change}))
                self.assertFalse(document["losses"]["same"])
                code, out, _ = self.rerun("--against", "second", "first")
                self.assertEqual((code, out.splitlines()[0]), (11, f"Different: {key}, losses"))

    def test_another_model_launches_other_things(self):
        self.run_once()
        self.assertEqual(self.run_small(*CONTROL[:-1], "second", "-o", "train.model=mlp", watch=False)[0], 0)
        code, changes, _ = self.found("--against", "second", "first")
        self.assertEqual((code, set(changes)), (11, {"configuration", "windows"}))
        self.assertTrue(all(name.startswith("window 0: ") for name in changes["windows"]), changes["windows"])

    def test_library_environment_and_program_that_differ_are_named(self):
        self.run_once()
        name = next(name for name in self.manifest()["libraries"] if name.startswith("libc.so"))

        def older(document):
            document["libraries"][name] = "build-id:0123"
            document["program"]["sources"] = "0123456789ab"
            document["machine"]["host_name"] = "elsewhere"
        self.change("older.json", older)
        now = self.manifest()
        code, changes, _ = self.found("older.json", env={"OMP_DYNAMIC": "false"})
        self.assertEqual(code, 11)
        self.assertEqual(changes, {"libraries": {name: ("build-id:0123", now["libraries"][name])},
                                   "program": {"sources": ("0123456789ab", now["program"]["sources"])},
                                   "environment": {"OMP_DYNAMIC": (None, "false")},
                                   "machine": {"host_name": ("elsewhere", now["machine"]["host_name"])}})

    def test_of_a_long_hash_the_beginning_is_shown(self):
        self.run_once()
        now = self.manifest()
        hashed = {"program": ("file", "build-id:" + 10 * "0123"), "plugins": ("device cpu", "1.0, build-id:" + 10 * "4567"),
                  "libraries": (next(iter(now["libraries"])), "sha256:" + 16 * "89ab")}
        self.change("older.json", lambda document: [document[part].update([change]) for part, change in hashed.items()])
        code, out, _ = self.rerun("--against", "first", "older.json")
        self.assertEqual(code, 11)
        for part, (name, value) in hashed.items():
            shown = re.search(rf"(?m)^ +{re.escape(name)}: (\S+(?: \S+)?) -> ", out)
            self.assertTrue(shown, (part, out))
            self.assertTrue(shown[1].endswith("...") and value.startswith(shown[1][:-3]) and len(shown[1]) < len(value), shown[0])

    def test_another_machine_does_not_count(self):
        self.run_once()
        self.change("moved.json", lambda document: document["machine"].update(host_name="elsewhere"))
        code, out, _ = self.rerun("--against", "first", "moved.json")
        self.assertEqual(code, 0)
        self.assertIn("\nMachine        1 difference; does not count\n      host_name: elsewhere -> ", out)

    def test_files_that_are_no_manifest(self):
        self.run_once()
        with open(self.path("first/manifest/manifest.json"), encoding="utf-8") as file:
            text = file.read()
        for name, content in (("cut.json", text[:700]), ("other.json", '{"format": "other"}'), ("empty.json", ""),
                              ("broken.json", text.replace('"losses"', '"loss"'))):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(content)
            self.assert_fails(self.rerun(name), 3, f"rerun: {name}")
            self.assert_fails(self.rerun("--against", name, "first"), 3, f"rerun: {name}")
        self.assert_fails(self.rerun("missing.json"), 3, "missing.json: No such file")
        self.assert_fails(self.rerun("first/truth"), 3, "first/truth/manifest/manifest.json: No such file")

    def test_mistakes(self):
        self.run_once()
        self.assert_fails(self.rerun(), 2, "rerun: give a manifest")
        self.assert_fails(self.rerun("first", "first"), 2, "expected one manifest")
        self.change("ranks.json", lambda document: document.update(ranks=2))
        self.assert_fails(self.rerun("ranks.json"), 2, "several ranks")

        def faulty(document):
            document["configuration"]["run.scenario"] = FAULT
            document["configuration"]["scenario.fail_step"] = "1"
            document["given"].append("scenario.fail_step")
        self.change("faulty.json", faulty)
        self.assert_fails(self.rerun("faulty.json"), 5, "rerun: the run failed: ")

    def test_a_run_without_a_step_has_none(self):
        code, _, err = self.run_small("--scenario", FAULT, "-o", "scenario.stop_warmup=0", "--sink",
                                      "json:output_json=m.json", "--trace_dir", "none", watch=False)
        self.assertEqual((code, os.listdir(self.path("none"))), (0, []), err)


class Ranks(RankCase):
    def test_each_rank_has_a_manifest_and_none_is_run_alone(self):
        code, _, err = self.run_ranks(2, "-o", "schedule.active=2")
        self.assertEqual(code, 0, err)
        folder = "results/ddp/latest/manifest"
        paths = [f"{folder}/rank{rank}_manifest.json" for rank in range(2)]
        self.assertEqual([(self.json(path)["rank"], self.json(path)["ranks"]) for path in paths], [(0, 2), (1, 2)])
        self.assert_fails(self.run_pdhost("rerun", paths[0], watch=False), 2, "several ranks")
        code, out, _ = self.run_pdhost("rerun", "--against", paths[1], paths[0], watch=False)
        self.assertEqual((code, out.splitlines()[0]), (11, "Different: losses"), "each has its part of the data")


if __name__ == "__main__":
    unittest.main()

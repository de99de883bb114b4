"""What scripts/fuzz, kills and soak count is neither lost nor added twice.
usage: test_counts.py SOURCE"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())


class Counts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pdhost counts ")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path

    def add(self, *runs):
        """The runs of one file of lines, added to counts.json; what that has then, by area and name."""
        lines = self.write("lines", "".join(json.dumps(run) + "\n" for run in runs))
        out = self.folder / "counts.json"
        subprocess.run([sys.executable, "-B", str(ROOT / "scripts/figures"), "counts", str(lines), str(out)], check=True)
        return {(row["area"], row["what"]): row["value"] for row in json.loads(out.read_text(encoding="utf-8"))["figures"]}

    def test_new_kills_are_added_to_those_of_earlier_files(self):
        def kills(commit, time, **rows):
            return {"area": "kills", "command": "scripts/kills", "commit": commit, "date": "2026-01-02", "time": time,
                    "rows": [{"what": what, "value": value} for what, value in rows.items()]}

        first, second = kills("abc", "10:00:00", worker=5, writer=6), kills("def", "11:00:00", worker=7)
        self.assertEqual(self.add(first), {("kills (abc, 2026-01-02)", "worker"): 5, ("kills (abc, 2026-01-02)", "writer"): 6})
        both = {("kills (abc, 2026-01-02; def, 2026-01-02)", "worker"): 12,
                ("kills (abc, 2026-01-02; def, 2026-01-02)", "writer"): 6}
        self.assertEqual(self.add(second), both, "the file of lines is another one")
        self.assertEqual(self.add(first, second), both, "each run counts once")
        soak = {"area": "memory", "command": "scripts/soak", "commit": "abc", "date": "2026-01-02", "time": "1:00:00",
                "rows": [{"what": "KiB", "value": 100}]}
        self.add(soak)
        self.assertEqual(self.add({**soak, "time": "2:00:00", "rows": [{"what": "KiB", "value": 90}]}),
                         {**both, ("memory (abc, 2026-01-02)", "KiB"): 90}, "of the memory the last run counts")

    def test_a_file_that_cannot_be_added_to_is_left_as_it_is(self):
        lines = self.write("lines", "")
        old = self.write("counts.json", '{"figures": []}')
        ended = subprocess.run([sys.executable, "-B", str(ROOT / "scripts/figures"), "counts", str(lines), str(old)],
                               stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("has no runs that could be added to", ended.stderr)
        self.assertEqual(old.read_text(encoding="utf-8"), '{"figures": []}')

    def fuzz(self, *names, **targets):
        """scripts/fuzz with these targets: what each prints and its exit status. `names`: those asked for, none: all. Its
        exit status, and the line that it adds."""
        (self.folder / "scripts").mkdir(exist_ok=True)
        shutil.copy(ROOT / "scripts/fuzz", self.folder / "scripts/fuzz")
        self.write("bin/cmake", "#!/bin/sh\n", 0o755)
        for name, (prints, status) in targets.items():
            self.write(f"build/asan/tests/fuzz_{name}", f"#!/bin/sh\nprintf '{prints}' >&2\nexit {status}\n", 0o755)
        ended = subprocess.run([str(self.folder / "scripts/fuzz"), "1", "--json", str(self.folder / "lines"), *names], check=False,
                               env={**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = self.folder / "lines"
        said = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()] if lines.exists() else []
        return ended, said

    def test_a_target_that_fails_takes_no_other_ones_count_along(self):
        right, wrong = ("stat::number_of_executed_units: 12\\n", 0), ("stat::number_of_executed_units: 7\\n", 77)
        ended, said = self.fuzz(aa=wrong, bb=right, cc=("stat::number_of_executed_units: 30\\n", 0))
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertIn("fuzz: fuzz_aa failed", ended.stdout)
        self.assertEqual([line["rows"] for line in said], [[{"what": "bb", "value": 12}, {"what": "cc", "value": 30}]])
        # Now it is the other way round: nothing is left of the earlier run.
        ended, said = self.fuzz(aa=right, bb=wrong, cc=wrong)
        self.assertEqual((ended.returncode, said[1]["rows"]), (1, [{"what": "aa", "value": 12}]), ended.stdout)
        ended, said = self.fuzz(aa=right, bb=right, cc=right)
        self.assertEqual((ended.returncode, len(said[2]["rows"])), (0, 3), ended.stdout)

    def test_no_target_that_passed_is_no_line(self):
        ended, said = self.fuzz(aa=("", 1))
        self.assertEqual((ended.returncode, said), (1, []), ended.stdout)

    def test_targets_that_are_named_run_alone(self):
        right = ("stat::number_of_executed_units: 12\\n", 0)
        ended, said = self.fuzz("bb", "cc", aa=("", 1), bb=right, cc=right)
        self.assertEqual((ended.returncode, [row["what"] for row in said[0]["rows"]]), (0, ["bb", "cc"]), ended.stdout)
        ended, said = self.fuzz("nowhere", aa=right)
        self.assertEqual((ended.returncode, len(said)), (1, 1), ended.stdout)
        self.assertIn("fuzz_nowhere was not built", ended.stdout)


if __name__ == "__main__":
    unittest.main()

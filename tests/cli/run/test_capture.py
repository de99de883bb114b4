"""Captures of whole runs: the outputs made from one are the run's own, and a damaged one still gives what it holds."""
import glob
import json
import os
import re
import shutil
import struct
import unittest

from pdhost_run import CONF, Case

RUN = ("--scenario", "control", "--trace_dir", "traces", "-o", "run.keep_capture=true", "-o", "schedule.active=3", "-o",
       "schedule.repeat=2", "-o", "profile.profile_memory=true", "-o", "profile.record_shapes=true", "-o",
       "profile.with_stack=true", "--sink", "json:output_json=out.json", "--sink", "csv:dir=csv", "--sink", "window",
       "--sink", "chrome_trace")


def contents(folder):
    """Every file below it by its path, with its bytes."""
    files = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                files[os.path.relpath(os.path.join(path, name), folder)] = file.read()
    return files


def records(data):
    """(kind, window, place of the payload, its bytes) of each record, in the file's order."""
    at = 64
    while at < len(data):
        mark, kind, window, _, _, _, _, size = struct.unpack_from("<IIIIQIII", data, at)
        assert mark == 0x43524450
        yield kind, window, at + 48, size
        at += 48 + (size + 7) // 8 * 8


def board_events(data):
    """The events of TensorBoard's file, each without its time, which comes first, and without that of the session's end."""
    events, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        event = data[at + 12:at + 12 + length]
        assert event[:1] == b"\x09"
        events.append(re.sub(rb'(hparams\x12\r"\x0b\x08\x01\x11).{8}', rb"\1", event[9:], flags=re.S))
        at += 16 + length
    return events


class Captures(Case):
    def record(self, *more):
        code, out, err = self.run_small(*RUN, *more)
        self.assertEqual(code, 0, err)
        captures = glob.glob(self.path("traces/*.pdcap"))
        self.assertEqual(len(captures), 1, err)
        shutil.move(captures[0], self.path("run.pdcap"))
        for name in ("truth", "manifest"):
            shutil.rmtree(self.path("traces/" + name))
        return out, err

    def recover(self, *more):
        return self.run_pdhost("recover", *more, watch=False)

    def test_outputs_from_a_capture_are_the_runs_own(self):
        self.record()
        for name in ("traces", "csv", "out.json"):
            shutil.move(self.path(name), self.path(f"own {name}"))
        code, _, err = self.recover("run.pdcap")
        self.assertEqual(code, 0, err)
        self.assertIn("pdhost: wrote", err)
        for name in ("traces", "csv"):
            own, again = contents(self.path(f"own {name}")), contents(self.path(name))
            self.assertEqual(sorted(own), sorted(again))
            for path, data in own.items():
                self.assertEqual(data, again[path], path)
        with open(self.path("own out.json"), "rb") as own, open(self.path("out.json"), "rb") as again:
            self.assertEqual(own.read(), again.read())

    def test_pages_tables_and_boards_are_the_runs_own(self):
        """Byte for byte, but for the time at which TensorBoard's events were written."""
        self.record("--sink", "html:path=page.html", "--sink", "table:path=table.txt", "--sink", "tensorboard", "--full", "-q")
        os.mkdir(self.path("own"))
        for name in ("page.html", "table.txt", "traces"):
            shutil.move(self.path(name), self.path(f"own/{name}"))
        code, _, err = self.recover("run.pdcap", "--full", "-q")
        self.assertEqual(code, 0, err)
        for name in ("page.html", "table.txt"):
            with open(self.path(f"own/{name}"), "rb") as own, open(self.path(name), "rb") as again:
                self.assertEqual(own.read(), again.read(), name)
        own, again = contents(self.path("own/traces")), contents(self.path("traces"))
        self.assertEqual(sorted(own), sorted(again))
        boards = [name for name in own if "tfevents" in name]
        self.assertEqual(len(boards), 1)
        for name, data in own.items():
            same = (board_events(data), board_events(again[name])) if name in boards else (data, again[name])
            self.assertEqual(*same, name)
        self.assertGreater(len(board_events(own[boards[0]])), 10)

    def test_other_sinks_into_another_folder(self):
        self.record()
        code, out, err = self.recover("run.pdcap", "--sink", "table", "--sink", "csv:dir=other/csv", "--trace_dir", "other",
                                      "--full")
        self.assertEqual(code, 0, err)
        self.assertIn("control", out)
        self.assertTrue(os.path.exists(self.path("other/csv/steps.csv")), os.listdir(self.path("other/csv")))

    def test_analyze_prints_what_the_run_did(self):
        own, _ = self.record("--sink", "table")
        own = own[:own.index("\nwrote")] if "\nwrote" in own else own
        code, out, err = self.run_pdhost("analyze", "run.pdcap", watch=False)
        self.assertEqual(code, 0, err)
        self.assertEqual(out.splitlines()[:8], own.splitlines()[:8])
        before = os.stat(self.path("out.json")).st_mtime_ns
        self.assertEqual(self.run_pdhost("analyze", "run.pdcap", "--sink", "json:output_json=new.json", watch=False)[0], 0)
        with open(self.path("out.json"), "rb") as own_file, open(self.path("new.json"), "rb") as again:
            self.assertEqual(again.read(), own_file.read())
        self.assertEqual(os.stat(self.path("out.json")).st_mtime_ns, before)

    def test_of_a_folder_the_newest_is_read(self):
        self.record()
        os.mkdir(self.path("kept"))
        with open(self.path("kept/old.pdcap"), "wb") as file:
            file.write(b"not this one")
        os.utime(self.path("kept/old.pdcap"), (1, 1))
        shutil.move(self.path("run.pdcap"), self.path("kept/new.pdcap"))
        code, _, err = self.recover("kept", "--sink", "json:output_json=again.json")
        self.assertEqual(code, 0, err)
        self.assertEqual(self.json("again.json")["steps"], self.json("out.json")["steps"])

    def test_a_file_cut_short_gives_what_it_holds(self):
        self.record()
        with open(self.path("run.pdcap"), "rb") as file:
            data = file.read()
        whole = self.json("out.json")
        for part in (0.2, 0.5, 0.9):
            with open(self.path("cut.pdcap"), "wb") as file:
                file.write(data[:int(len(data) * part)])
            code, _, err = self.recover("cut.pdcap", "--sink", "json:output_json=cut.json", "--trace_dir", "cut")
            self.assertEqual(code, 0, err)
            cut = self.json("cut.json")
            self.assertEqual(cut["outcome"], "failed")
            self.assertIn("before its results were written", cut["reason"])
            self.assertLessEqual(cut["steps"], whole["steps"])
            self.assertLessEqual(len(cut["windows"]), len(whole["windows"]))

    def test_damage_is_told_and_the_rest_is_used(self):
        self.record()
        with open(self.path("run.pdcap"), "rb") as file:
            data = bytearray(file.read())
        at = data.rindex(b"PDRC", 0, len(data) * 9 // 10)
        data[at + 60] ^= 0xFF
        with open(self.path("torn.pdcap"), "wb") as file:
            file.write(data)
        code, _, err = self.recover("torn.pdcap", "--sink", "json:output_json=torn.json", "--trace_dir", "torn")
        self.assertEqual(code, 0, err)
        self.assertIn("cannot be read; what lies between is used", err)
        self.assertEqual(self.json("torn.json")["steps"], self.json("out.json")["steps"])

    def test_a_window_whose_end_is_damaged_is_kept(self):
        self.record()
        with open(self.path("run.pdcap"), "rb") as file:
            data = bytearray(file.read())
        ends = [at for kind, _, at, _ in records(data) if kind == 25]
        self.assertEqual(len(ends), 2)
        data[ends[0]] ^= 0xFF
        with open(self.path("torn.pdcap"), "wb") as file:
            file.write(data)
        code, _, err = self.recover("torn.pdcap", "--sink", "json:output_json=torn.json", "--trace_dir", "torn")
        self.assertEqual(code, 0, err)
        windows = self.json("torn.json")["windows"]
        self.assertEqual(len(windows), 2)
        self.assertEqual([window["partial"] for window in windows], [True, False])

    def test_its_reader_is_one_as_the_others_are(self):
        self.record()
        listed = self.run_pdhost("--list", "readers", watch=False)[1]
        self.assertRegex(listed, r"(?m)^ *capture\b")
        plain = self.run_pdhost("analyze", "run.pdcap", watch=False)
        named = self.run_pdhost("analyze", "--reader", "capture", "run.pdcap", watch=False)
        self.assertEqual(plain[0], 0, plain[2])
        self.assertEqual(named[:2], plain[:2], named[2])
        code, _, err = self.run_pdhost("analyze", "--reader", "kineto", "run.pdcap", watch=False)
        self.assertEqual(code, 3, err)
        self.assertIn("run.pdcap", err)

    def test_captures_of_several_runs_are_analysed_together(self):
        self.record()
        shutil.copy(self.path("run.pdcap"), self.path("again.pdcap"))
        code, _, err = self.run_pdhost("analyze", "run.pdcap", "again.pdcap", "--sink", "json:output_json=both.json",
                                       watch=False)
        self.assertEqual(code, 0, err)
        both, own = self.json("both.json"), self.json("out.json")
        self.assertEqual(len(both["windows"]), 2 * len(own["windows"]))
        self.assertEqual([window["window"] for window in both["windows"]], [0, 1, 2, 3])

    def test_what_is_no_capture(self):
        for word, said in (("nowhere.pdcap", "No such file"), ("out.json", "not a capture of this version"),
                           (".", "holds no .pdcap file")):
            with open(self.path("out.json"), "w", encoding="utf-8") as file:
                file.write("{}")
            code, _, err = self.recover(word)
            self.assertIn(code, (2, 3), err)
            self.assertIn(said, err)
            self.assertEqual(len(err.splitlines()), 1, err)
        code, _, err = self.recover()
        self.assertEqual(code, 2, err)


SOURCES = os.path.join(CONF, "..")
SEEDS = os.path.join(SOURCES, "tests", "fuzz", "corpus")


class Seeds(Case):
    """What the fuzz targets of the reader begin with."""

    def test_every_kind_of_record_is_in_one(self):
        with open(os.path.join(SOURCES, "core", "capture", "format.h"), encoding="utf-8") as file:
            kinds = {int(number): name for name, number in re.findall(r'X\((\w+), (\d+), "', file.read())}
        self.assertGreaterEqual(len(kinds), 40)
        for path in glob.glob(os.path.join(SEEDS, "captur*", "*")):
            with open(path, "rb") as file:
                data = file.read()
            try:
                for kind, *_ in records(data):
                    kinds.pop(kind, None)
            except (AssertionError, struct.error):
                pass  # a damaged one, on purpose
        self.assertEqual(kinds, {})

    def test_a_rank_of_several_is_read_again(self):
        """Beside its settings, which are read first and for which no file is written."""
        shutil.copy(os.path.join(SEEDS, "captured", "run_of_ranks"), self.path("rank.pdcap"))
        code, _, err = self.run_pdhost("analyze", "rank.pdcap", "--sink", "json:output_json=out.json", "--trace_dir", "again",
                                       watch=False)
        self.assertEqual(code, 0, err)
        (path,) = glob.glob(self.path("*out.json"))
        self.assertTrue(path.endswith("/rank0_out.json"), path)
        with open(path, encoding="utf-8") as file:
            figures = json.load(file)
        self.assertEqual((figures["rank"], figures["ranks"], figures["steps"]), (0, 2, 2))

    def test_a_program_has_what_its_host_did(self):
        shutil.copy(os.path.join(SEEDS, "captured", "program_with_its_host"), self.path("program.pdcap"))
        code, _, err = self.run_pdhost("analyze", "program.pdcap", "--sink", "json:output_json=out.json", watch=False)
        self.assertEqual(code, 0, err)
        tables = self.json("out.json")["windows"][0]["tables"]
        self.assertTrue(tables["idle_reasons"]["rows"] and tables["children"]["rows"])
        self.assertIn("idle_code", tables)


if __name__ == "__main__":
    unittest.main()

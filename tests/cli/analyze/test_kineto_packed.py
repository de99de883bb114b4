"""The kineto reader: traces in gzip, zip and other wrappings are read, or a line says how to unpack them."""
import bz2
import gzip
import io
import json
import lzma
import re
import subprocess
import tarfile
import unittest
import zipfile

from kineto_case import MadeKinetoCase


class Stream(io.BytesIO):
    """What cannot go back."""

    def seekable(self):
        return False

    def tell(self):
        raise OSError


class Packed(MadeKinetoCase):
    def test_gzip_with_bytes_behind_it(self):
        self.assert_same(gzip.compress(self.text.encode()) + b"older bytes", "11 bytes follow the compressed data", "x.gz")

    def test_gzip_of_several_members(self):
        data = self.text.encode()
        members = b"".join(gzip.compress(data[at:at + 1000]) for at in range(0, len(data), 1000))
        self.assert_same(members, None, "x.gz")

    def test_zip(self):
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            with zipfile.ZipFile(self.path("x.zip"), "w", method) as file:
                file.writestr("run/", "")
                file.writestr("__MACOSX/._made.json", "no trace")
                file.writestr("run/made.json", self.text)
            with open(self.path("x.zip"), "rb") as file:
                data = file.read()
            self.assert_same(data, None, "x.zip")
            with open(self.path("cut.zip"), "wb") as file:
                file.write(data[:len(data) // 2])
            code, _, err = self.run_pdhost("analyze", "cut.zip", watch=False)
            self.assertIn(code, (0, 7))
            self.assertRegex(err, r"(archive|compressed data) is cut short")

    def zipped(self, files, streamed=False):
        """An archive; what is written without going back has the size of each file behind it."""
        out = Stream() if streamed else io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files:
                archive.writestr(name, data)
        return out.getvalue()

    def test_the_trace_in_a_zip_is_found_by_its_name(self):
        other, trace = ("README.md", "{ read me }" * 9000), ("run/rank0.json", self.text)
        for streamed in (False, True):
            for files in ((other, trace), (trace, other), (("only", self.text),)):
                self.assert_same(self.zipped(files, streamed), None, "x.zip")
            with open(self.path("x.zip"), "wb") as file:
                file.write(self.zipped((other, trace), streamed))
            code, out, err = self.run_pdhost("analyze", "-", under=("sh", "-c", 'cat x.zip | exec "$0" "$@"'), watch=False)
            self.assertEqual((code, err), (0, ""), out)

    def test_a_trace_in_a_zip_that_is_left_out_is_a_warning(self):
        for streamed in (False, True):
            data = self.zipped((("rank0.json", self.text), ("note.txt", "x"), ("rank1.json", self.text)), streamed)
            _, err = self.read(data, "x.zip")
            self.assertEqual(len(self.warnings(err)), 1, err)
            self.assertIn("only rank0.json in the archive is read, and rank1.json behind it is left out; unpack the archive",
                          self.warnings(err)[0])
        for behind in (("note.txt", "x"), ("__MACOSX/._rank0.json", "x")):
            _, err = self.read(self.zipped((("rank0.json", self.text), behind)), "x.zip")
            self.assertEqual(self.warnings(err), [])
            self.assertEqual("the archive holds more files, which are left out" in err, behind[0] == "note.txt", err)

    def test_a_zip_without_a_trace_says_what_is_in_it(self):
        for name, data in (("rank0.json.gz", gzip.compress(self.text.encode())), ("notes.txt", "x"), ("rank0.json", "")):
            with open(self.path("x.zip"), "wb") as file:
                file.write(self.zipped(((name, data),)))
            self.assert_fails(self.run_pdhost("analyze", "x.zip", watch=False), 3,
                              f"x.zip: cannot be read: {name} in the archive is not JSON; unpack the archive")
            if name.endswith(".json"):
                continue
            self.assert_fails(self.run_pdhost("analyze", "-", under=("sh", "-c", 'cat x.zip | exec "$0" "$@"'), watch=False), 3,
                              "-: cannot be read: the archive that comes in holds no file whose name ends in .json; unpack it")

    def test_gzip_cut_short(self):
        data = gzip.compress(self.text.encode())
        _, err = self.read(data[:len(data) * 3 // 4], "x.gz")
        self.assertIn("the compressed data is cut short", err)

    def test_files_that_are_compressed_otherwise_say_how_to_unpack_them(self):
        data = self.text.encode()
        for name, packed, tool, typed in (("made.json.xz", lzma.compress(data), "xz", "xz -dk"),
                                          ("made.json.bz2", bz2.compress(data), "bzip2", "bzip2 -dk"),
                                          ("made.json.zst", b"\x28\xb5\x2f\xfd" + data, "zstd", "zstd -d"),
                                          ("made.json.lz4", b"\x04\x22\x4d\x18" + data, "lz4", "lz4 -d"),
                                          ("named.json", lzma.compress(data), "xz", "xz -dk")):
            with open(self.path(name), "wb") as file:
                file.write(packed)
            line = f"{name}: is compressed with {tool}, and only plain, gzip and zip files are read; unpack it with {typed} {name}"
            for command in (("analyze", name), ("check", name), ("report", name), ("diff", name, name),
                            ("analyze", "--reader", "kineto", name)):
                self.assert_fails(self.run_pdhost(*command, watch=False), 3, line)
            run = self.run_pdhost("analyze", "-", under=("sh", "-c", f'exec "$0" "$@" < {name}'), watch=False)
            self.assert_fails(run, 3, f"-: is compressed with {tool}")
            self.assertIn(f"as in {tool} -dc TRACE | pdhost analyze -", run[2])

    def test_files_that_are_no_trace_yet_say_what_to_do(self):
        """What the message says to type makes a trace of the file, and of standard input."""
        tarred = io.BytesIO()
        with tarfile.open(fileobj=tarred, mode="w:gz") as archive:
            member = tarfile.TarInfo("inner.json")
            member.size = len(self.text)
            archive.addfile(member, io.BytesIO(self.text.encode()))
        lines = "\n".join(json.dumps(event) for event in self.made.events)
        for data, said in ((tarred.getvalue(), "is a tar archive, and only plain, gzip and zip files are read"),
                           (self.text.encode("utf-16"), "is text in UTF-16, and only UTF-8 is read"),
                           (lines.encode(), "cannot be read: it has one event a line, without a list around them"),
                           (gzip.compress(lines.encode()), "cannot be read: it has one event a line")):
            for name in ("other.json", "it's another.json"):
                with open(self.path(name), "wb") as file:
                    file.write(data)
                run = self.run_pdhost("analyze", name, watch=False)
                self.assert_fails(run, 3, f"{name}: {said}")
            typed = re.search(r" with (.*) \[PDH", run[2]).group(1)
            subprocess.run(["sh", "-c", typed], cwd=self.path(""), check=True)
            with open(self.path("inner.json" if "tar" in typed else "NEW.json"), "rb") as file:
                self.assert_same(file.read())
            run = self.run_pdhost("analyze", "-", under=("sh", "-c", 'exec "$0" "$@" < other.json'), watch=False)
            self.assert_fails(run, 3, "-: " + said)
            typed = re.search(r" as in (.*) TRACE \| pdhost analyze - \[PDH", run[2]).group(1)
            if data[:2] != b"\x1f\x8b" or typed.startswith("tar"):
                run = self.run_pdhost("analyze", "-", under=("sh", "-c", typed + ' other.json | exec "$0" "$@"'), watch=False)
                self.assertEqual((run[0], self.warnings(run[2])), (0, []), run[1] + run[2])


if __name__ == "__main__":
    unittest.main()

"""The manual pages, and what the shells complete."""
import os
import re
import shutil
import subprocess
import unittest

from pdhost_run import CONF, PDHOST, Case


class Pdhost(Case):
    def said(self, *arguments):
        code, out, err = self.run_pdhost(*arguments, watch=False)
        self.assertEqual((code, err), (0, ""), arguments)
        return out

    def commands(self):
        """Every command, as the program's own page has them."""
        page = self.said("man")
        section = page.split(".SH COMMANDS\n")[1].split(".SH ")[0]
        return [name.replace("\\-", "-") for name in re.findall(r"^\.TP\n\\fB(.+)\\fR$", section, re.MULTILINE)]


class Man(Pdhost):
    def test_every_page_is_sound(self):
        self.said("man", "--write", "man")
        names = {"man1/pdhost.1", "man5/pdhost.ini.5", "man3/pdhost-plugin.3"} | {
            f"man1/pdhost-{command}.1" for command in self.commands()}
        found = {os.path.relpath(os.path.join(folder, name), self.path("man"))
                 for folder, _, files in os.walk(self.path("man")) for name in files}
        self.assertEqual(found, names)
        tools = [tool for tool in (["groff", "-man", "-Tutf8", "-ww", "-z"], ["mandoc", "-Tlint", "-Wwarning"]) if shutil.which(tool[0])]
        for tool in tools:
            for name in sorted(found):
                done = subprocess.run([*tool, self.path(f"man/{name}")], capture_output=True, text=True, check=False)
                self.assertEqual(done.stdout + done.stderr, "", name)
        if not tools:
            self.skip("neither groff nor mandoc is here")

    def test_a_page_has_every_option_of_its_command(self):
        for command in self.commands():
            page = self.said("man", command).replace("\\-", "-")
            for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", self.said(command, "--help"), re.MULTILINE):
                self.assertRegex(page, rf"\\fB(?:-\w, )?{option}\b", command)
            self.assertEqual(page, self.said("man", f"pdhost-{command}").replace("\\-", "-"))

    def test_the_page_of_files_has_every_key(self):
        page = self.said("man", "pdhost.ini").replace("\\-", "-")
        for section in ("run", "schedule", "data", "train", "profile", "benchmark", "truth"):
            keys = re.findall(r"^  (\w+) ", self.said("--help-section", section), re.MULTILINE)
            self.assertGreater(len(keys), 1)
            for key in keys:
                self.assertIn(f".TP\n\\fB{key}\\fR\n", page)

    def test_mistakes(self):
        self.assert_fails(self.run_pdhost("man", "nothing", watch=False), 2, "'nothing': no such page")
        self.assert_fails(self.run_pdhost("completion", "tcsh", watch=False), 2, "there are bash, zsh and fish")
        self.assert_fails(self.run_pdhost("completion", watch=False), 2, "no shell given")
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        self.assert_fails(self.run_pdhost("man", "--write", "file", watch=False), 8, "file")


class Completion(Pdhost):
    def setUp(self):
        super().setUp()
        with open(self.path("pdhost.bash"), "w", encoding="utf-8") as file:
            file.write(self.said("completion", "bash"))

    def bash(self, *words):
        """What bash completes, where it has split the words as it does at = and :."""
        pieces = [piece for word in words for piece in re.split(r"([=:])", word) if piece]
        if words[-1] == "":
            pieces.append("")
        script = 'source ./pdhost.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pdhost; printf "%s\\n" "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script, "bash", PDHOST, *pieces], cwd=self.folder, capture_output=True, text=True,
                              check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands_and_scenarios(self):
        first = self.bash("")
        for word in [*self.commands(), "dataloader", "vec_dot"]:
            self.assertIn(word, first)
        self.assertEqual(self.bash("swe"), ["sweep"])

    def test_options_of_a_command(self):
        self.assertEqual(self.bash("compare", "--mar"), ["--margin"])
        for command in ("analyze", "report", "check", "diff", "score"):
            self.assertEqual(self.bash(command, "--no-"), ["--no-python"])
        self.assertIn("--vary", self.bash("sweep", "--"))
        self.assertIn("--batch_size", self.bash("sweep", "--ba"))
        self.assertNotIn("--vary", self.bash("--"))

    def test_values(self):
        self.assertEqual(self.bash("--color="), ["auto", "always", "never"])
        self.assertEqual(self.bash("--color=al"), ["always"])
        self.assertEqual(self.bash("--scenario", "tiny"), ["tiny_ops"])
        self.assertEqual(self.bash("--sink", "chr"), ["chrome_trace"])
        self.assertEqual(self.bash("--help-section", "sched"), ["schedule"])
        self.assertEqual(self.bash("completion", "z"), ["zsh"])
        self.assertIn("scenarios", self.bash("--list", ""))

    def test_keys(self):
        self.assertEqual(self.bash("-o", "data.num_w"), ["data.num_workers="])
        self.assertEqual(self.bash("-o", "train.amp="), ["true", "false"])
        self.assertEqual(self.bash("-o", "run.mode=b"), ["benchmark"])
        self.assertEqual(self.bash("-o", "sink.tab"), ["sink.table."])
        self.assertIn("sink.table.row_limit=", self.bash("-o", "sink.table.row"))
        self.assertIn("scenario.inject_us=", self.bash("--scenario", "host_compute", "-o", "scenario."))
        self.assertIn("device.threads=", self.bash("-o", "device."))

    def test_files(self):
        os.makedirs(self.path("folder"))
        for name in ("mine.ini", "with blank.ini"):
            shutil.copy(os.path.join(CONF, "control.ini"), self.path(name))
        self.assertIn("mine.ini", self.bash("-c", "mi"))
        self.assertEqual(self.bash("--plugin-path", "fo"), ["folder"])
        self.assertEqual(" ".join(self.bash("-c", "with")), "with blank.ini")

    def test_every_script_is_read_by_its_shell(self):
        for shell in ("bash", "zsh", "fish"):
            with open(self.path("script"), "w", encoding="utf-8") as file:
                file.write(self.said("completion", shell))
            if shutil.which(shell):
                subprocess.run([shell, "-n", "script"], cwd=self.folder, check=True)

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skip("zsh is not here")
        with open(self.path("_pdhost"), "w", encoding="utf-8") as file:
            file.write(self.said("completion", "zsh"))
        script = ('compdef() {}; compadd() { local -a a; for last; do :; done; print -l -- ${(P)last}; }; _files() { print :file; }; '
                  'source ./_pdhost; words=("$@"); CURRENT=$#; _pdhost')
        done = subprocess.run(["zsh", "-fc", script, "zsh", PDHOST, "compare", "--mar"], cwd=self.folder, capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stdout.split(), ["--margin"])


if __name__ == "__main__":
    unittest.main()

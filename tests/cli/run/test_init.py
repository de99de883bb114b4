"""pdhost init: a configuration file that changes nothing, and plugins that work as they are written."""
import os
import re
import subprocess
import unittest

from pdhost_run import FIXTURES, ROOT, Case

TEMPLATES = os.path.join(FIXTURES, "..", "templates")


class Init(Case):
    def init(self, *arguments):
        return self.run_pdhost("init", *arguments, watch=False)

    def shown(self, *arguments):
        """Every key's value, with its section, and where it is from."""
        code, out, err = self.run_pdhost(*arguments, "--show-config")
        self.assertEqual(code, 0, err)
        section, origin, found = "", "", {}
        for line in out.splitlines():
            if line.startswith("["):
                section = line
            elif line.startswith("# "):
                origin = line[2:]
            elif " = " in line:
                key, _, value = line.partition(" = ")
                found[section, key] = value, origin
        return found

    def test_the_file_changes_nothing(self):
        for scenario in ("dataloader", "sync", "vec_dot"):
            with self.subTest(scenario=scenario):
                name = f"{scenario}.ini"
                self.assertEqual(self.init("--for", scenario, name), (0, f"{name}\n", ""))
                self.assertEqual(self.run_pdhost("-c", name, "--check")[0], 0)
                without = self.shown("--scenario", scenario)
                with_it = self.shown("-c", name)
                self.assertEqual({key: value for key, (value, _) in with_it.items()},
                                 {key: value for key, (value, _) in without.items()})
                self.assertEqual({key: origin for key, (_, origin) in with_it.items() if key != ("[run]", "scenario")},
                                 {key: origin for key, (_, origin) in without.items() if key != ("[run]", "scenario")})

    def test_the_values_in_it_are_the_defaults(self):
        """With every ';' taken away the values are what they were, and there is a line for every key."""
        self.assertEqual(self.init()[0], 0)
        with open(self.path("pdhost.ini"), encoding="utf-8") as file:
            text = file.read()
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 80)
        with open(self.path("live.ini"), "w", encoding="utf-8") as file:
            file.write(re.sub(r"(?m)^;", "", text))
        before, after = self.shown("--scenario", "dataloader"), self.shown("-c", "live.ini")
        core = lambda shown: {key: value for key, (value, _) in shown.items() if key[0] != "[device]"}
        self.assertEqual(core(after), core(before))
        self.assertEqual([key for key, (_, origin) in after.items() if not origin.startswith("live.ini")], [])
        devices = {key for section, key in after if section == "[device]"}
        for device in ("cpu", "cuda"):
            page = self.run_pdhost("--help-device", device)[1].split("Keys of [device]:\n")
            if len(page) == 2:
                self.assertLessEqual(set(re.findall(r"(?m)^  (\w+) ", page[1])), devices)

    def test_nothing_is_overwritten(self):
        for name, arguments in (("pdhost.ini", ()), ("my.ini", ("my.ini",)), ("stall/Makefile", ("--scenario", "stall")),
                                ("there/feed.c", ("--sink", "feed", "there"))):
            with self.subTest(file=name):
                os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
                with open(self.path(name), "w", encoding="utf-8") as file:
                    file.write("mine\n")
                result = self.init(*arguments)
                self.assert_fails(result, 8, f"{name} exists already; nothing was written")
                with open(self.path(name), encoding="utf-8") as file:
                    self.assertEqual(file.read(), "mine\n")
                self.assertLessEqual(os.listdir(os.path.dirname(self.path(name))) if "/" in name else [], [os.path.basename(name)])

    def test_mistakes(self):
        for arguments, said in ((("--lang", "c++"), "--lang belongs to a plugin"),
                                (("--device", "toy", "--lang", "c++"), "a device is written in C"),
                                (("--scenario", "a", "--sink", "b"), "one plugin is written at a time"),
                                (("--scenario", "a", "--for", "sync"), "--for belongs to a configuration file"),
                                (("--sink", "no-name"), "use lower-case letters, digits and _"),
                                (("--sink", "9th"), "a letter first"), (("stall",), "'stall' does not end in .ini"),
                                (("a.ini", "b.ini"), "unexpected argument 'b.ini'"), (("--lang", "d"), "c, c++")):
            with self.subTest(arguments=arguments):
                self.assert_fails(self.init(*arguments), 2, said)
                self.assertEqual(os.listdir(self.folder), [])
        self.assert_fails(self.init("--for", "synk"), 4, "did you mean sync?")

    def test_a_plugin_gets_its_name_everywhere(self):
        for kind in ("scenario", "sink", "device", "reader"):
            code, out, err = self.init(f"--{kind}", f"my_{kind}")
            self.assertEqual(code, 0, err)
            for path in out.split():
                with open(self.path(path), encoding="utf-8") as file:
                    text = file.read()
                self.assertNotRegex(text, r"(?i)new_(scenario|sink|device|reader)|@\w+@", path)
                self.assertIn(f"my_{kind}", text)

    def test_the_written_scenario_is_found_as_its_own_cause(self):
        code, out, err = self.run_small("--scenario", os.path.join(TEMPLATES, "scenario", "new_scenario.so"), "-o",
                                        "scenario.work_ms=60", "--sink", "table", watch=False)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"^Verdict  (possibly )?host compute")

    def test_the_written_device_trains_as_the_cpu_device_does(self):
        losses = []
        for device in ("cpu", os.path.join(TEMPLATES, "device", "new_device.so")):
            code, _, err = self.run_pdhost("--scenario", "tiny_ops", "--device", device, "--batch_size", "4", "--image_size", "16",
                                           "--warmup_steps", "0", "--sink", "json:output_json=m.json")
            self.assertEqual(code, 0, err)
            losses.append(self.json("m.json")["losses"])
        self.assertEqual(len(losses[0]), 10)
        for cpu, written in zip(*losses):
            self.assertAlmostEqual(cpu, written, delta=1e-3 * abs(cpu))

    def test_what_is_written_compiles(self):
        """Without an installed pdhost, from the headers of the tree alone; tests/consumer builds it as a user does."""
        include = os.path.join(ROOT, "core", "include")
        self.assertEqual(self.init("--sink", "feed")[0], 0)
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{include}", "feed.c", "-o", "feed.so"],
                       cwd=self.path("feed"), check=True)
        code, _, err = self.run_small("--scenario", "control", "--sink", "./feed/feed.so")
        self.assertEqual(code, 0, err)
        with open(self.path("results/control/latest/feed_0.tsv"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 8)


if __name__ == "__main__":
    unittest.main()

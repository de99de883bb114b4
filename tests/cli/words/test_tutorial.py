"""The scenario of docs/writing-a-scenario.md, built and run by the commands of that page: the verdict is its own cause."""
import os
import re
import shlex
import subprocess
import unittest

from pdhost_run import CONF, PDHOST, SANITIZER, Case

ROOT = os.path.join(CONF, "..")
PAGE = os.path.join(ROOT, "docs", "writing-a-scenario.md")
TRIES = 3  # other programs of the machine may spoil a run, but not all


class Tutorial(Case):
    def build(self):
        with open(PAGE, encoding="utf-8") as file:
            source = re.search(r"```c\n(.*?)```", file.read(), re.DOTALL).group(1)
        with open(self.path("host_stall.c"), "w", encoding="utf-8") as file:
            file.write(source)
        subprocess.run(["cc", "-shared", "-fPIC", f"-I{ROOT}/core/include", "host_stall.c", "-o", "host_stall.so"],
                       cwd=self.folder, check=True)

    def commands(self):
        """The page's own runs of the plugin, as arguments."""
        with open(PAGE, encoding="utf-8") as file:
            return [shlex.split(line)[1:] for line in file if line.startswith("pdhost --scenario ./host_stall.so")]

    def test_the_commands_of_the_page_find_its_own_cause(self):
        if SANITIZER:
            self.skip(f"the {SANITIZER} sanitizer slows the host's own work")
        self.build()
        commands = self.commands()
        self.assertTrue(commands)
        for command in commands:
            with self.subTest(command=command):
                for _ in range(TRIES):
                    code, out, err = self.run_pdhost(*command, watch=False)
                    self.assertEqual(code, 0, err)
                    if out.startswith("Verdict  host compute"):
                        break
                self.assertRegex(out, r"^Verdict  host compute", err)
                share = float(re.search(r"Gain +([\d.]+) %", out).group(1))
                self.assertGreater(share, 15, out[:800])

    def test_nothing_is_injected_into_a_control_step(self):
        self.build()
        code, _, err = self.run_small("--scenario", "./host_stall.so", "-o", "scenario.stall_ms=40", "-o",
                                      "truth.interleave=2", "-o", "truth.block=2", watch=False)
        self.assertEqual(code, 0, err)
        effect = self.json("results/host_stall/latest/truth/truth.json")["effect"]
        self.assertGreater(effect["us_per_step"], 35e3, effect)


if __name__ == "__main__":
    unittest.main()

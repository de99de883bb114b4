#!/usr/bin/env python3
"""docs/migrating.md: every option, key, file and command that it names on pdhost's side is one."""
import os
import re
import unittest

from pdhost_run import CONF, Case

PAGE = os.path.join(os.path.dirname(CONF.rstrip("/")), "docs", "migrating.md")


class Migrating(Case):
    def names(self):
        """Those in the middle column of the page's tables."""
        with open(PAGE, encoding="utf-8") as file:
            rows = [line.split(" | ") for line in file if line.startswith("| ") and not line.startswith("| ---")]
        self.assertGreater(len(rows), 60)
        return sorted({name for row in rows for name in re.findall(r"`([^`]+)`", row[1])})

    def asked(self, *arguments):
        code, out, err = self.run_pdhost(*arguments)
        self.assertEqual(code, 0, f"{arguments}: {err}")
        return out

    def test_every_name_is_known(self):
        options = self.asked("run", "--help")
        keys = {}
        for name in self.names():
            with self.subTest(name=name):
                if name.startswith("--"):
                    self.assertRegex(options, rf"(?m)^ +{re.escape(name)}\b")
                elif name.startswith("pdhost "):
                    self.asked(name.split()[1], "--help")
                elif name.startswith("conf/"):
                    self.assertTrue(os.path.exists(os.path.join(CONF, name[len("conf/"):])))
                elif "." in name:
                    section, key = name.rsplit(".", 1)
                    if section not in keys:
                        keys[section] = self.asked("--help-sink", section[5:]) if section.startswith("sink.") else \
                            self.asked("--help-device", "cpu") if section == "device" else self.asked("--help-section", section)
                    self.assertRegex(keys[section], rf"(?m)^  {re.escape(key)} ")
                else:
                    self.asked("--explain", name)


if __name__ == "__main__":
    unittest.main()

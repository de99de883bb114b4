"""pdhost analyze --step with a name that no range has."""
import unittest

from made_trace import MadeTrace
from pdhost_run import Case


class StepNames(Case):
    def assert_absent(self, made, said):
        made.write(self.path("made.json"))
        run = self.run_pdhost("analyze", "--step", "absent", "made.json", watch=False)
        self.assert_fails(run, 2, f"made.json: --step absent: no range has this name; {said}")
        self.assertNotIn("once", run[2])

    def test_the_ranges_of_the_file_are_named(self):
        self.assert_absent(MadeTrace(), "use a name of the program's own ranges, such as "
                                        '"Optimizer.step", "ProfilerStep", "enumerate(DataLoader)"')

    def test_the_most_frequent_ones_come_first(self):
        made = MadeTrace(marks=False, loader=False, optimizer=False)
        self.assert_absent(made, "leave --step out, since no range of the file is the program's own")
        for many, name in enumerate(("once", "two", "three", "four", "five", "seven#")):
            for i in range(many + 1):
                made.host("user_annotation", f"{name}{i}" if "#" in name else name, 10.0 * i, 1.0)
        made.host("user_annotation", "x" * 99, 1.0, 1.0)
        self.assert_absent(made, "use a name of the program's own ranges, such as "
                                 '"seven", "five", "four", "three", "two"')


if __name__ == "__main__":
    unittest.main()

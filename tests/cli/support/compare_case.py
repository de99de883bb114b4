"""What the tests of pdhost compare share."""
import json

from measurement_files import write
from pdhost_run import Case


class CompareCase(Case):
    def files(self, **runs):
        for name, rows in runs.items():
            write(self.path(name + ".json"), *rows)

    def verdict(self, *arguments, **options):
        code, out, err = self.run_pdhost("compare", "--format", "json", *arguments, **options)
        self.assertEqual(code, 0, err)
        return json.loads(out)["verdicts"]

"""The first screen, 1280 x 800, of each kind of report: what is wrong and what to type, without scrolling.

usage: check_first_screen.py PDHOST CONF FIXTURES SAMPLES OUT
CONF has the shipped scenarios, FIXTURES a program that can be recorded, SAMPLES traces of torch.profiler. Then one page of
each kind and those of ab and score by axe-core, and pages of traces whose every text is markup: nothing of it may be run.
Pictures stay in OUT/screenshots.
"""
import glob
import os
import subprocess
import sys

import browser
from check_html import AXE, AXE_PANE, OPENED, axe_script

HIGH = 800
# These have no page of their own: the one is timed, the other needs several ranks.
NO_PAGE = {"vec_dot", "ddp"}
CORPUS = """[corpus]
seeds = 1
set = run.device=cpu run.warmup_steps=2 device.threads=1 schedule.active=8 data.image_size=16 data.batch_size=4
[control]
scenario = control
expect = none
[sync]
scenario = sync
expect = forced_sync
dial = scenario.reads_per_step
values = 400
"""
SEEN = """
  const bottom = (one) => Math.round(one.getBoundingClientRect().bottom);
  const overview = document.querySelector(".pane.shown"), commands = Array.from(overview.querySelectorAll("pre.command"));
  return {
    verdict: overview.querySelector(".verdict .sentence")?.textContent ?? "",
    verdictEnds: bottom(overview.querySelector(".verdict .sentence")),
    advice: overview.querySelector(".next p")?.textContent ?? "",
    commands: commands.map((one) => one.textContent.trim()),
    hidden: commands.filter((one) => one.scrollHeight > one.clientHeight).length,
    ends: Math.max(...Array.from(overview.querySelectorAll(".card"), bottom)),
    commandsEnd: Math.max(0, ...commands.map(bottom)),
    tooWide: document.documentElement.scrollWidth - innerWidth,
  };"""


def run(*words, folder, code=0):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")


def write_reports(pdhost, conf, fixtures, samples, out):
    """The names of the pages."""
    names = []
    for path in sorted(glob.glob(os.path.join(conf, "*.ini"))):
        name = os.path.splitext(os.path.basename(path))[0]
        if name in NO_PAGE:
            continue
        run(pdhost, "-c", path, "--device", "cpu", "-q", "--sink", f"html:path={name}.html", folder=out)
        names.append(name)
    program = os.path.join(fixtures, "recorded_program")
    if os.path.exists(program):
        run(pdhost, "record", "-q", "--sink", "html:path=recorded.html", "--", program, "init", "steps=60", "settle", folder=out)
        names.append("recorded")
    else:
        print("left out: a recorded program: built without CUPTI's headers")
    for path in sorted(glob.glob(os.path.join(samples, "*.gz"))):
        name = os.path.basename(path).split(".")[0]
        run(pdhost, "report", "-q", "--output", f"trace_{name}.html", path, folder=out)
        names.append(f"trace_{name}")
    return names


def write_others(pdhost, out):
    run(pdhost, "ab", "sync", "--device", "cpu", "--batch_size", "4", "-o", "data.image_size=16", "scenario.reads_per_step=0",
        "scenario.reads_per_step=100", "--max-time", "1", "--html", "ab.html", folder=out)
    with open(os.path.join(out, "corpus.ini"), "w", encoding="ascii") as file:
        file.write(CORPUS)
    run(pdhost, "score", "corpus.ini", "--out", "score", "--progress", "never", folder=out)
    return ["ab", "score/score"]


def write_evil(pdhost, out):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "support"))
    from made_evil import made_evil, spoil
    from made_ranks import Job
    made_evil(steps=8).write(os.path.join(out, "evil_a.json"))
    made_evil(steps=8, kernel_us=300).write(os.path.join(out, "evil_b<script>window.evil=3<!--'\".json"))
    for rank, trace in enumerate(Job().traces):
        spoil(trace).write(os.path.join(out, f"evil_{rank}.json"))
    run(pdhost, "analyze", "-q", "evil_a.json", "--sink", "html:path=evil.html", folder=out)
    run(pdhost, "diff", "evil_a.json", "evil_b<script>window.evil=3<!--'\".json", "--sink", "html:path=evil_diff.html", folder=out)
    run(pdhost, "analyze", "-q", "evil_0.json", "evil_1.json", "evil_2.json", "--sink", "html:path=evil_ranks.html", folder=out)
    return ["evil", "evil_diff", "evil_ranks"]


class Check:
    def __init__(self, engine, out, axe):
        self.engine, self.out, self.axe, self.faults = engine, out, axe, []

    def that(self, holds, what):
        if not holds:
            self.faults.append(what)

    def open(self, name, pane=""):
        self.engine.open(f"file://{self.out}/{name}.html#{pane}")
        self.engine.screenshot(os.path.join(self.out, "screenshots", f"{os.path.basename(name)}.png"))

    def clean(self, name):
        self.that(not self.engine.errors, f"{name}: console errors: {self.engine.errors}")
        self.that(not self.engine.requests, f"{name}: requests: {self.engine.requests}")

    def first_screen(self, name):
        self.open(name)
        seen = self.engine.run(SEEN)
        print(f"{name}: {seen['verdict']}; ends at {seen['ends']}, the command at {seen['commandsEnd']}")
        withheld = seen["verdict"].startswith("withheld")
        self.that(seen["verdict"] and 0 < seen["verdictEnds"] <= HIGH, f"{name}: the verdict ends at {seen['verdictEnds']}")
        self.that(seen["advice"], f"{name}: it does not say what to do")
        self.that(seen["commands"] or withheld, f"{name}: no command to type")
        self.that(seen["commandsEnd"] <= HIGH and not seen["hidden"], f"{name}: the command ends at {seen['commandsEnd']}")
        self.that(all(one.split()[0].endswith("pdhost") for one in seen["commands"]), f"{name}: commands {seen['commands']}")
        self.that(seen["ends"] <= HIGH, f"{name}: the first screen ends at {seen['ends']}")
        self.that(seen["tooWide"] <= 0, f"{name}: the page is {seen['tooWide']} pixels too wide")
        self.clean(name)

    def accessible(self, name, looks):
        self.clean(name)
        self.engine.run(self.axe)
        self.that(not (found := self.engine.run(looks)), f"{name}: axe-core: {found}")

    def data(self, name):
        """What the trace holds is shown, and is not run: neither by the browser nor by the page's own script."""
        self.open(name)
        panes = self.engine.run("return Array.from(document.querySelectorAll('.pane'), (one) => one.id);") or [""]
        for pane in panes:
            self.engine.open(f"file://{self.out}/{name}.html#{pane}")
            if pane.endswith("timeline"):
                self.engine.run(OPENED + """
                    timeline.input.value = "<img";
                    timeline.search();
                    timeline.jump(1);
                    timeline.tellSums(0, data.last, "all");""")
            found = self.engine.run("""return [window.evil ?? 0, document.images.length,
              document.documentElement.textContent.includes("<img src=x onerror=")];""")
            self.that(found == [0, 0, True], f"{name}, {pane}: markup of the trace: {found}")
            self.clean(f"{name}, {pane}")


def main(arguments):
    pdhost, conf, fixtures, samples, out = map(os.path.abspath, arguments)
    program = browser.program_of(browser.Chromium)
    if not program:
        print("SKIPPED: tools_first_screen: Chromium is not installed; scripts/setup --lint installs it")
        return 0
    os.makedirs(os.path.join(out, "screenshots"), exist_ok=True)
    reports, others, evil = write_reports(pdhost, conf, fixtures, samples, out), write_others(pdhost, out), write_evil(pdhost, out)
    engine = browser.Chromium(program)
    try:
        check = Check(engine, out, axe_script())
        for name in reports:
            check.first_screen(name)
            if name == "recorded" or name in (reports[0], reports[-1]):  # the others are made of the same parts
                check.accessible(name, AXE_PANE)
        for name in others:
            check.open(name)
            check.accessible(name, AXE)
        for name in evil:
            check.data(name)
    finally:
        engine.close()
    print("\n".join(check.faults) or f"{len(reports)} first screens are as they should be")
    return bool(check.faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

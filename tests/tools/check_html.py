"""The html sink's pages in Chromium and Firefox: no console error, no request, panes, tables, timeline, accessibility.

usage: check_html.py PDHOST OUT
Pages, and a picture of each pane in OUT/screenshots, stay for a reader. A browser that is not installed is left out and
named.
"""
import json
import os
import subprocess
import sys

import browser

PANES = ["overview", "timeline", "steps", "operators", "kernels", "modules", "memory", "stacks", "ranks", "tables", "run"]
OTHER_PAGES = ["diff", "compare", "sweep/sweep"]
# In the dark, colours alone may differ.
DARK_PANES = ["overview", "timeline", "steps", "operators", "stacks"]
# What reaches beyond the window is cut there, and whole in the tables.
CUT = 0.01
# What axe-core looks for: in a page, in the pane that is shown, and in its colours alone.
RULES = 'runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]'
AXE_TELLS = """
  if (!found.passes.length) return ["axe-core looked at nothing"];
  return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);"""
AXE = f"const found = await axe.run(document, {{{RULES}}});" + AXE_TELLS
AXE_PANE = f'const found = await axe.run(".pane.shown", {{{RULES}}});' + AXE_TELLS
AXE_COLOURS = 'const found = await axe.run({}, {{runOnly: ["color-contrast"]}});' + AXE_TELLS.replace("{", "{{").replace("}", "}}")
OPENED = """
  const box = document.querySelector(".pane.shown .timeline");
  for (let i = 0; !box.timeline && i < 600; i++) await new Promise((next) => setTimeout(next, 20));
  const timeline = box.timeline, view = timeline.view, data = timeline.data;"""


def axe_script():
    import axe_core_python
    with open(os.path.join(os.path.dirname(axe_core_python.__file__), "axe.min.js"), encoding="utf-8") as file:
        return file.read()


def run(*words, folder):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: exit {done.returncode}\n{done.stderr}")


def write_ranks(pdhost, out):
    """Three ranks, of which one is late."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "support"))
    from made_ranks import Job
    job = Job(input_us=lambda rank, step: 520 if rank == 1 else 20)
    for rank, trace in enumerate(job.traces):
        trace.write(os.path.join(out, f"rank{rank}.json"))
    run(pdhost, "analyze", "rank0.json", "rank1.json", "rank2.json", "--sink", "html:path=ranks.html", "-q", folder=out)


def write_pages(pdhost, out):
    run(pdhost, "--scenario", "memory_churn", "--device", "cpu", "--batch_size", "4", "--image_size", "16",
        "--warmup_steps", "1", "--profile_steps", "6", "-o", "profile.profile_memory=true", "-o", "profile.with_stack=true",
        "-o", "profile.with_modules=true", "-o", "profile.record_shapes=true", "--sink", "html:path=run.html", "--sink",
        "json:output_json=run.json", "-q", folder=out)
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "support"))
    from made_trace import MadeTrace
    MadeTrace(8).write(os.path.join(out, "a.json"))
    MadeTrace(8, kernel_us=300).write(os.path.join(out, "b.json"))
    run(pdhost, "diff", "a.json", "b.json", "--sink", "html:path=diff.html", folder=out)
    run(pdhost, "sweep", "--scenario", "dataloader", "--device", "cpu", "--batch_size", "4", "--image_size", "16",
        "--warmup_steps", "1", "-o", "schedule.active=4", "--vary", "data.io_sleep_ms=0,5", "--vary", "data.num_workers=1,2",
        "--out", "sweep", "-q", folder=out)
    run(pdhost, "compare", "--html", "compare.html", "sweep/sweep.json", "sweep/sweep.json", folder=out)
    write_ranks(pdhost, out)


class Check:
    def __init__(self, engine, out):
        self.engine, self.out, self.faults = engine, out, []

    def that(self, holds, what):
        if not holds:
            self.faults.append(f"{self.engine.name}: {what}")

    def open(self, name, pane):
        self.engine.open(f"file://{self.out}/{name}.html#{pane}")

    def clean(self, where):
        self.that(not self.engine.errors, f"{where}: console errors: {self.engine.errors}")
        self.that(not self.engine.requests, f"{where}: requests: {self.engine.requests}")

    def panes(self, shade):
        for pane in PANES:
            self.open("run", pane)
            if pane == "timeline":
                self.engine.run(OPENED)
            shown = self.engine.run("return Array.from(document.querySelectorAll('.pane'))"
                                    ".filter((one) => one.offsetParent).map((one) => one.id);")
            self.that(shown == [pane], f"{pane}: panes that are seen: {shown}")
            wide = self.engine.run("return document.documentElement.scrollWidth - innerWidth;")
            self.that(wide <= 0, f"{pane}: the page is {wide} pixels too wide")
            folder = os.path.join(self.out, "screenshots")
            os.makedirs(folder, exist_ok=True)
            self.engine.screenshot(os.path.join(folder, f"{self.engine.name.lower()}_{pane}_{shade}.png"))
            self.clean(pane)

    def first_screen(self):
        self.open("run", "overview")
        low = self.engine.run("return Math.max(...Array.from(document.querySelectorAll('#overview .card'))"
                              ".map((one) => one.getBoundingClientRect().bottom));")
        self.that(0 < low <= 800, f"the first screen ends at pixel {low}, not within 800")

    def figures(self, document):
        """What the panes show is what the json sink wrote."""
        tables = document["windows"][0]["tables"]
        self.open("run", "operators")
        shown = self.engine.run("""
            const table = document.querySelector('table[data-id=operators]');
            const head = Array.from(table.tHead.rows[0].cells);
            const column = head.findIndex((one) => one.dataset.key === 'self_cpu_time_total');
            head[column].querySelector('button').click();
            const rows = Array.from(table.tBodies[0].rows, (row) => Number(row.cells[column].dataset.sort));
            const input = table.closest('details').querySelector('input[type=search]');
            input.value = 'conv2d';
            input.dispatchEvent(new Event('input'));
            return [rows, Array.from(table.tBodies[0].rows).filter((row) => !row.hidden).length];""")
        wanted = sorted((row["self_cpu_time_total"] for row in tables["operators"]["rows"]), reverse=True)
        self.that(shown[0] == wanted, f"operators sorted by host time: {shown[0]}, not {wanted}")
        count = sum("conv2d" in row["name"].lower() for row in tables["operators"]["rows"])
        self.that(shown[1] == count, f"operators filtered: {shown[1]} rows, not {count}")

    def timeline(self, document):
        window = document["windows"][0]
        kernels = window["tables"]["kernels"]["rows"]
        name = max(kernels, key=lambda row: len(row["name"]))["name"]
        count = sum(row["calls"] for row in kernels if name in row["name"])
        total = sum(row["gpu_total"] for row in kernels if name in row["name"])
        self.open("run", "timeline")
        told = self.engine.run(OPENED + f"""
            timeline.input.value = {json.dumps(name)};
            timeline.search();
            const found = [view.found.count, view.found.total];
            timeline.jump(1);
            const selected = data.texts[data.name[view.selected]];
            const launch = view.links.length === 1 ? data.kinds[data.kind[view.links[0]]] : "";
            const before = view.to - view.from;
            const area = timeline.area.getBoundingClientRect();
            const wheel = (deltaY) => timeline.area.dispatchEvent(new WheelEvent("wheel",
              {{deltaY, clientX: area.left + 100, clientY: area.top + 60, cancelable: true}}));
            wheel(-200);
            const near = view.to - view.from;
            timeline.all();
            timeline.tellSums(0, data.last, "all");
            const sums = data.sums(0, data.last + 1).filter((one) => data.texts[one.name] === {json.dumps(name)});
            timeline.area.dispatchEvent(new KeyboardEvent("keydown", {{key: "]"}}));
            return [data.count, found, selected, launch, near < before, sums.reduce((sum, one) => sum + one.time, 0),
              timeline.step, data.steps.map((step) => step.number)];""")
        counts = window["counts"]
        whole = counts["ranges"] + counts["calls"] + counts["activities"] + counts["others"]
        self.that(told[0] == whole, f"timeline: {told[0]} events, not {whole}")
        self.that(told[1][0] >= count and told[1][1] >= (1 - CUT) * total, f"search for {name}: {told[1]}, below {[count, total]}")
        self.that(name in told[2], f"the match is {told[2]}, not {name}")
        self.that(told[3] in ("runtime call", "kernel", "copy", "set", ""), f"the link leads to {told[3]}")
        self.that(told[4], "the wheel does not zoom")
        self.that((1 - CUT) * total <= told[5] <= total + 1, f"sums of {name}: {told[5]} ns, not {total}")
        self.that(told[6] >= 0, "the key ] shows no step")
        self.that(told[7] == [step["number"] for step in window["steps"]], f"steps of the timeline: {told[7]}")
        self.open("run", "steps")
        step = self.engine.run("""
            const chart = document.querySelector("svg.steps"), box = chart.getBoundingClientRect();
            const width = Number(chart.dataset.stepWidth);
            chart.dispatchEvent(new MouseEvent("click", {clientX: box.left + 2.5 * width, clientY: box.top + 80}));
            for (let i = 0; i < 200; i++) {
              const timeline = document.querySelector(".timeline").timeline;
              if (timeline && timeline.step >= 0) return [timeline.step, location.hash, timeline.panel.textContent];
              await new Promise((next) => setTimeout(next, 20));
            }
            return [-1, location.hash, ""];""")
        number = window["steps"][2]["number"]
        self.that(step[:2] == [2, "#timeline"] and f"Step {number}:" in step[2], f"a click on the third step shows {step}")
        self.clean("timeline")

    def others(self, script):
        """The pages of the commands that compare."""
        for name in OTHER_PAGES:
            self.open(name, "")
            seen = self.engine.run("return document.querySelectorAll('main table').length;")
            self.that(seen > 0, f"{name}: no table")
            wide = self.engine.run("return document.documentElement.scrollWidth - innerWidth;")
            self.that(wide <= 0, f"{name}: the page is {wide} pixels too wide")
            self.engine.screenshot(os.path.join(self.out, "screenshots", f"{self.engine.name.lower()}_{os.path.basename(name)}.png"))
            self.clean(name)
            if script:
                self.engine.run(script)
                self.that(not (found := self.engine.run(AXE)), f"{name}: axe-core: {found}")

    def ranks(self, script):
        """All ranks have a pane, and the first screen of each window says what is wrong with them."""
        for pane, name in (("w1-overview", "ranks_first_screen"), ("all-ranks", "ranks")):
            self.open("ranks", pane)
            seen = self.engine.run("""return [
                Array.from(document.querySelectorAll(".pane")).filter((one) => one.offsetParent).map((one) => one.id),
                Array.from(document.querySelectorAll('nav a[href="#all-ranks"]')).filter((one) => one.offsetParent).length,
                document.querySelector(".pane.shown .card").textContent,
                Array.from(document.querySelectorAll(".pane.shown .card.ranks .bar"), (one) => one.offsetWidth),
                document.documentElement.scrollWidth - innerWidth];""")
            self.that(seen[0] == [pane], f"{pane}: panes that are seen: {seen[0]}")
            self.that("straggler: the others wait" in seen[2], f"{pane}: it begins with {seen[2]}")
            self.that(seen[4] <= 0, f"{pane}: the page is {seen[4]} pixels too wide")
            if pane == "all-ranks":
                self.that(len(seen[3]) == 6 and max(seen[3][:3]) < 1.01 * min(seen[3][:3]), f"bars of steps: {seen[3]}")
                self.that(len(seen[3]) == 6 and 3 * seen[3][4] < min(seen[3][3], seen[3][5]), f"bars of collectives: {seen[3]}")
            else:
                self.that(seen[1] == 1, f"{pane}: {seen[1]} links to all ranks")
            self.engine.screenshot(os.path.join(self.out, "screenshots", f"{self.engine.name.lower()}_{name}.png"))
            self.clean(pane)
            if script:
                self.engine.run(script)
                self.that(not (found := self.engine.run(AXE)), f"{pane}: axe-core: {found}")

    def accessible(self, script, panes, looks):
        for pane in panes:
            self.open("run", pane)
            if pane == "timeline":
                self.engine.run(OPENED)
            self.engine.run(script)
            self.that(not (found := self.engine.run(looks)), f"{pane}: axe-core: {found}")


def check(kind, program, out, document, axe):
    faults = []
    for shade in ("light", "dark") if kind is browser.Chromium else ("light",):
        engine = kind(program, dark=shade == "dark")
        try:
            checks = Check(engine, out)
            checks.panes(shade)
            if kind is browser.Chromium:
                if shade == "light":
                    checks.accessible(axe, PANES[:1], AXE)
                    checks.accessible(axe, PANES[1:], AXE_PANE)
                else:
                    checks.accessible(axe, DARK_PANES[:1], AXE_COLOURS.format("document"))
                    checks.accessible(axe, DARK_PANES[1:], AXE_COLOURS.format('".pane.shown"'))
            if shade == "light":
                checks.first_screen()
                checks.figures(document)
                checks.timeline(document)
                checks.others(axe if kind is browser.Chromium else "")
                checks.ranks(axe if kind is browser.Chromium else "")
            faults += checks.faults
        finally:
            engine.close()
    return faults


def main(arguments):
    pdhost, out = os.path.abspath(arguments[0]), os.path.abspath(arguments[1])
    os.makedirs(out, exist_ok=True)
    found = browser.installed("tools_html")
    if not found:
        return 0
    axe = axe_script()
    write_pages(pdhost, out)
    with open(os.path.join(out, "run.json"), encoding="utf-8") as file:
        document = json.load(file)
    faults = []
    for kind, program in found:
        faults += check(kind, program, out, document, axe)
    print("\n".join(faults) or "the pages are as they should be")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""The html sink's page beside the single-file viewer of viztracer, on the same events: size, and time to open.

    html_viewers.py PDHOST [--steps N ...] [--rounds N] [--polyfill FILE]

Both files are opened in headless Chromium, in turns, from the disk. The time is from the navigation to the second frame
behind the moment when the timeline has its events. Each line is a median over the rounds, with the least and the most.

viztracer's page asks the network for a script that current browsers need (custom elements, version 0); without it the page
stays empty. It is given the same from Debian's libjs-webcomponentsjs-custom-element-v0, written into the page.
Needs .venv/tools (scripts/tools-venv) and Chromium; says so and ends with 0 where one is missing.
"""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "tools"))
import browser  # noqa: E402

POLYFILL = "/usr/lib/javascript/webcomponentsjs-custom-element-v0/CustomElements.js"
# The rest of what the viewer takes from that script: a dialog's own tree, and the name of the running script from before
# it was a standard.
OLDER = """Object.defineProperty(document, "_currentScript", { get: () => document.currentScript });
Element.prototype.createShadowRoot ??= function () {
  try { return this.attachShadow({ mode: "open" }); } catch { return this; }
};"""
# What each viewer has once its events are read: pdhost's box, viztracer's model.
WATCH = """(() => {
  const ready = () => document.querySelector(".timeline")?.timeline ?? document.getElementById("trace-viewer")?.model;
  const look = () => {
    if (!ready()) setTimeout(look, 2);
    else requestAnimationFrame(() => requestAnimationFrame(() => { window.openedMs = performance.now(); }));
  };
  look();
})();"""
WAIT = """for (let i = 0; !window.openedMs && i < 6000; i++) await new Promise((next) => setTimeout(next, 10));
  return window.openedMs ?? 0;"""


def write_pages(pdhost, folder, steps, polyfill):
    """The two pages of one run, and how many events it has."""
    from viztracer.report_builder import ReportBuilder
    trace = folder / "run.json"
    subprocess.run([os.path.abspath(pdhost), "--scenario", "tiny_ops", "--device", "cpu", "--batch_size", "4", "--image_size",
                    "16", "--warmup_steps", "1", "--profile_steps", str(steps), "-q", "--sink",
                    f"chrome_trace:path={trace}", "--sink", f"html:path={folder / 'pdhost.html'},timeline=64MiB",
                    "-o", f"run.trace_dir={folder}"], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    page = folder / "viztracer.html"
    ReportBuilder([str(trace)], verbose=0).save(str(page))
    text = page.read_text(encoding="utf-8")
    scripts = re.findall(r'<script src="https?://[^>]*></script>', text)
    elements = f"<script>{OLDER}{pathlib.Path(polyfill).read_text(encoding='utf-8')}</script>"
    for number, script in enumerate(scripts):
        text = text.replace(script, "" if number else elements)
    page.write_text(text, encoding="utf-8")
    told = re.search(r"The whole window: (\d+) events", (folder / "pdhost.html").read_text(encoding="utf-8"))
    return {"pdhost": folder / "pdhost.html", "viztracer": page}, int(told[1])


def opened(engine, page, pane):
    engine.open(f"file://{page}{pane}")
    milliseconds = engine.run(WAIT)
    if not milliseconds:
        sys.exit(f"html_viewers: {page}: was not opened within a minute: {engine.errors}")
    return milliseconds


def line(what, values):
    print(f"{what:<56}  {statistics.median(values):>10.1f}  {min(values):>10.1f} .. {max(values):.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdhost")
    parser.add_argument("--steps", type=int, nargs="+", default=[12, 120])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--polyfill", default=POLYFILL)
    given = parser.parse_args()
    program = browser.program_of(browser.Chromium)
    try:
        import viztracer
    except ImportError:
        viztracer = None
    for missing, remedy in ((not viztracer, "viztracer: scripts/tools-venv, and run it with .venv/tools/bin/python"),
                            (not program, "Chromium: scripts/setup --lint"),
                            (not os.path.exists(given.polyfill),
                             f"{given.polyfill}: apt-get install libjs-webcomponentsjs-custom-element-v0")):
        if missing:
            print(f"left out: there is no {remedy}")
            return
    print(f"viztracer {viztracer.__version__}; rounds: {given.rounds}; times in ms")
    for steps in given.steps:
        with tempfile.TemporaryDirectory(prefix="pdhost viewers ") as name:
            pages, events = write_pages(given.pdhost, pathlib.Path(name), steps, given.polyfill)
            times = {viewer: [] for viewer in pages}
            engine = browser.Chromium(program)
            try:
                engine.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
                for turn in range(given.rounds):
                    for viewer, page in (list(pages.items())[::1 if turn % 2 else -1]):
                        times[viewer].append(opened(engine, page, "#timeline" if viewer == "pdhost" else ""))
            finally:
                engine.close()
            for viewer, page in pages.items():
                line(f"{events} events, size, KiB, {viewer}", [page.stat().st_size / 1024])
            for viewer, values in times.items():
                line(f"{events} events, opening, ms, {viewer}", values)


if __name__ == "__main__":
    main()

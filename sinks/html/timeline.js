// The timeline's parts on the page: keys, wheel, pointer, search, and what is selected.
const KEYS = "Wheel or + and -: zoom. Drag or arrow keys: move. Shift and drag, or drag on the ruler: sums of a span. " +
  "Click: select. N and P: next and previous event of the row, O and I: the event around and within, " +
  "[ and ]: step before and after, F: the selection, 0: all, /: search, Escape: nothing selected.";
const SUMS_SHOWN = 40;

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

class Timeline {
  constructor(box, data) {
    this.box = box;
    this.data = data;
    this.step = -1;
    this.build();
    this.view = new TimelineView(data, this.canvas);
    this.view.show(this.data.steps[0]?.start ?? 0, this.data.steps.at(-1)?.end ?? data.last);
    this.listen();
    this.resize();
  }

  button(label, title, act) {
    const made = element("button", { type: "button", title, "aria-label": title }, label);
    made.addEventListener("click", () => {
      act();
      this.redraw();
    });
    return made;
  }

  build() {
    this.input = element("input", { type: "search", "aria-label": "Search names" });
    this.found = element("span", { role: "status", class: "matches" });
    const tools = element("div", { class: "tools" }, element("label", {}, "Search ", this.input),
      this.button("\u2039", "Previous match", () => this.jump(-1)), this.button("\u203A", "Next match", () => this.jump(1)),
      this.found, element("span", { class: "gap" }), this.button("\u2212", "Zoom out", () => this.zoom(2)),
      this.button("+", "Zoom in", () => this.zoom(0.5)), this.button("All", "Show everything", () => this.all()),
      this.button("\u2039 Step", "Step before", () => this.goStep(-1)),
      this.button("Step \u203A", "Step after", () => this.goStep(1)));
    const keys = element("p", { class: "note keys" }, KEYS);
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.tip = element("div", { class: "tip", hidden: "" });
    this.area = element("div", { class: "area", tabindex: "0", role: "application", "aria-label":
      `Timeline of ${this.data.count} events in ${this.data.lanes.length} lanes` }, this.canvas, this.tip);
    this.panel = element("div", { class: "card told", role: "status", "aria-label": "Selection" });
    this.panel.append("Nothing is selected.");
    this.box.replaceChildren(tools, this.area, this.panel, keys);
  }

  listen() {
    const area = this.area;
    area.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    area.addEventListener("pointerdown", (event) => this.onDown(event));
    area.addEventListener("pointermove", (event) => this.onMove(event));
    area.addEventListener("pointerup", (event) => this.onUp(event));
    area.addEventListener("pointerleave", () => this.hover(-1));
    area.addEventListener("keydown", (event) => this.onKey(event));
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.jump(event.shiftKey ? -1 : 1);
    });
    new ResizeObserver(() => this.resize()).observe(area);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.resize());
  }

  resize() {
    if (!this.area.offsetParent) return; // its pane is not shown
    this.view.resize();
    this.view.layout();
    const wanted = Math.min(Math.max(this.view.content + 8, 160), Math.max(300, innerHeight - 230));
    if (Math.abs(this.area.clientHeight - wanted) > 1) {
      this.area.style.height = `${wanted}px`;
      this.view.resize();
    }
    this.view.draw();
  }

  // At most once a frame.
  redraw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      if (this.area.offsetParent) this.view.draw();
    });
  }

  // ---- moving ----

  zoom(factor, x = this.view.width / 2) {
    const { view } = this, time = view.timeOf(x), span = (view.to - view.from) * factor;
    view.show(time - (x / view.width) * span, time + (1 - x / view.width) * span);
  }

  pan(pixels) {
    const { view } = this, time = pixels / view.scale;
    view.show(view.from + time, view.to + time);
  }

  all() {
    this.view.show(0, this.data.last);
  }

  goStep(direction) {
    const { steps } = this.data, middle = (this.view.from + this.view.to) / 2;
    let at = this.step;
    if (at < 0) at = Math.max(0, steps.findIndex((step) => step.end > middle)) - (direction > 0 ? 1 : 0);
    this.showStep(Math.min(Math.max(at + direction, 0), steps.length - 1));
  }

  // False: the timeline does not have it.
  showStep(number) {
    const step = this.data.steps[number];
    if (!step) return false;
    const margin = 0.02 * (step.end - step.start);
    this.step = number;
    this.view.show(step.start - margin, step.end + margin);
    this.range = [step.start, step.end];
    this.tellSums(step.start, step.end, `Step ${step.number}`);
    this.redraw();
    return true;
  }

  onWheel(event) {
    event.preventDefault();
    const x = event.clientX - this.area.getBoundingClientRect().left;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX || event.deltaY);
    else this.zoom(Math.exp(Math.max(-240, Math.min(240, event.deltaY)) * 0.0025), x);
    this.step = -1;
    this.redraw();
  }

  // ---- pointer ----

  place(event) {
    const box = this.area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  onDown(event) {
    if (event.button) return;
    const [x, y] = this.place(event);
    this.area.focus({ preventScroll: true });
    this.area.setPointerCapture(event.pointerId);
    const spans = event.shiftKey || Boolean(this.view.at(x, y).ruler);
    this.drag = { x, y, moved: false, spans, scroll: this.view.scroll };
    if (spans) this.view.range = [this.view.timeOf(x), this.view.timeOf(x)];
  }

  onMove(event) {
    const [x, y] = this.place(event), { drag, view } = this;
    if (!drag) {
      this.hover(view.at(x, y).event ?? -1, x, y);
      return;
    }
    drag.moved = drag.moved || Math.hypot(x - drag.x, y - drag.y) > 3;
    if (!drag.moved) return;
    if (drag.spans) {
      view.range[1] = view.timeOf(x);
    } else {
      this.pan(drag.x - x);
      view.scroll = drag.scroll + (drag.startY ?? (drag.startY = drag.y)) - y;
      drag.x = x;
    }
    this.step = -1;
    this.redraw();
  }

  onUp(event) {
    const { drag, view } = this, [x, y] = this.place(event);
    this.drag = null;
    if (!drag) return;
    if (drag.moved && drag.spans) {
      const [from, to] = [Math.min(...view.range), Math.max(...view.range)];
      this.tellSums(from, to, "Selected span");
    } else if (!drag.moved) {
      const hit = view.at(x, y);
      view.range = null;
      if (hit.lane !== undefined) {
        if (!view.folded.delete(hit.lane)) view.folded.add(hit.lane);
      } else {
        this.select(hit.event ?? -1);
      }
    }
    this.redraw();
  }

  hover(event, x, y) {
    if (event !== this.view.hovered) {
      this.view.hovered = event;
      this.redraw();
    }
    this.tip.hidden = event < 0;
    if (event < 0) return;
    const { data } = this;
    this.tip.textContent = [data.texts[data.name[event]], timeText(data.end[event] - data.start[event]),
      data.texts[data.details[event]]].filter(Boolean).join("\n");
    const left = Math.min(x + 14, this.view.width - this.tip.offsetWidth - 4);
    const top = y + 18 + this.tip.offsetHeight < this.view.height ? y + 18 : Math.max(y - this.tip.offsetHeight - 8, 0);
    this.tip.style.transform = `translate(${Math.max(left, 0)}px, ${top}px)`;
  }

  // ---- keys ----

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { view, data } = this, selected = view.selected;
    const row = selected < 0 ? null : data.rowOf(selected);
    const acts = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), w: () => this.zoom(0.7),
      s: () => this.zoom(1.4), a: () => this.pan(-120), d: () => this.pan(120), ArrowLeft: () => this.pan(-120),
      ArrowRight: () => this.pan(120), ArrowUp: () => { view.scroll -= 45; }, ArrowDown: () => { view.scroll += 45; },
      0: () => this.all(), Home: () => this.all(), "[": () => this.goStep(-1), "]": () => this.goStep(1),
      "/": () => this.input.focus(), Escape: () => this.select(-1),
      f: () => {
        if (selected >= 0) view.show(data.start[selected] - 1, data.end[selected] + 1);
        else if (view.range) view.show(Math.min(...view.range), Math.max(...view.range));
      },
      n: () => this.reveal(row ? Math.min(selected + 1, row.end - 1) : view.placed[0]?.row.first ?? -1),
      p: () => this.reveal(row ? Math.max(selected - 1, row.first) : view.placed[0]?.row.first ?? -1),
      o: () => this.reveal(row ? data.outer(selected) : -1),
      i: () => this.reveal(row ? data.inner(selected) : -1),
    };
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    if (!"[]".includes(event.key)) this.step = -1;
    act();
    this.redraw();
  }

  reveal(event) {
    if (event < 0) return;
    this.select(event);
    this.view.reveal(event);
  }

  // ---- texts ----

  select(event) {
    const { view, data } = this;
    view.selected = event;
    view.links = event < 0 ? [] : data.linked(event);
    view.range = event < 0 ? null : view.range;
    if (event < 0) {
      this.panel.replaceChildren("Nothing is selected.");
      return;
    }
    const rows = [["Name", data.texts[data.name[event]]], ["Kind", data.kinds[data.kind[event]]],
      ["Takes", timeText(data.end[event] - data.start[event])], ["Begins", timeText(data.start[event] - data.zero)],
      ["Lane", data.lanes[data.rowOf(event).lane].title]];
    for (const line of data.texts[data.details[event]].split("\n").filter(Boolean)) {
      const at = line.search(/ [^ ]*[0-9(]|^in /);
      rows.push(at > 0 ? [line.slice(0, at), line.slice(at + 1)] : ["", line]);
    }
    const isCall = data.kind[event] === KIND_CALL;
    if (view.links.length === 1) {
      const other = view.links[0];
      const [call, work] = isCall ? [event, other] : [other, event];
      rows.push([isCall ? "Launches" : "Launched by", data.texts[data.name[other]]]);
      rows.push(["Launch to work", timeText(data.start[work] - data.start[call])]);
    } else if (view.links.length) {
      rows.push(["Launches", `${view.links.length} device records`]);
    }
    const list = element("dl", {});
    for (const [name, value] of rows)
      list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
    this.panel.replaceChildren(list);
    if (view.links.length)
      this.panel.append(this.button(isCall ? "Go to its work" : "Go to its launch", isCall ? "Go to its work" :
        "Go to its launch", () => this.reveal(view.links[0])));
  }

  tellSums(from, to, title) {
    const { data } = this, sums = data.sums(from, to);
    this.view.range = [from, to];
    const body = element("tbody", {});
    for (const sum of sums.slice(0, SUMS_SHOWN)) {
      body.append(element("tr", {}, element("th", { scope: "row" }, data.texts[sum.name]),
        element("td", {}, data.lanes[sum.lane].title), element("td", { "data-sort": sum.count }, String(sum.count)),
        element("td", { "data-sort": sum.time }, timeText(sum.time)),
        element("td", { "data-sort": sum.time }, `${((100 * sum.time) / (to - from)).toFixed(1)} %`)));
    }
    const more = sums.length > SUMS_SHOWN ? `; the first ${SUMS_SHOWN} of ${sums.length}` : "";
    const caption = `${title}: ${timeText(to - from)}. Time within it by lane and name${more}`;
    const heads = ["Name", "Lane", "Events", "Time", "Of it"].map((text) => element("th", { scope: "col" }, text));
    this.panel.replaceChildren(element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Sums" },
      element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads)), body)));
  }

  search() {
    const words = this.input.value.trim();
    this.view.found = words ? this.data.search(words) : null;
    this.matches = null;
    const { found } = this.view;
    this.found.textContent = found ? `${found.count} events, ${timeText(found.total)}` : "";
    this.redraw();
  }

  jump(direction) {
    const { view, data } = this;
    if (!view.found?.count) return;
    if (!this.matches) {
      this.matches = [];
      for (let i = 0; i < data.count; i++) if (view.found.before[i + 1] > view.found.before[i]) this.matches.push(i);
      this.matches.sort((a, b) => data.start[a] - data.start[b]);
      this.match = direction > 0 ? -1 : 0;
    }
    this.match = (this.match + direction + this.matches.length) % this.matches.length;
    this.reveal(this.matches[this.match]);
    this.redraw();
  }
}

// Opened when its pane is first shown.
function openTimeline(box) {
  if (box.opening) return box.opening;
  const began = performance.now();
  box.replaceChildren(element("p", {}, "Opening the timeline\u2026"));
  box.opening = TimelineData.open(box.nextElementSibling.textContent).then((data) => {
    box.timeline = new Timeline(box, data);
    box.dataset.openMs = (performance.now() - began).toFixed(0);
    return box.timeline;
  });
  box.opening.catch((error) => {
    box.replaceChildren(element("p", {}, `The timeline cannot be shown: ${error.message}`));
  });
  return box.opening;
}

async function showPane() {
  const box = document.querySelector(".pane.shown .timeline");
  if (box) (await openTimeline(box)).resize();
}
document.addEventListener("pdhost:pane", showPane);
showPane();

// A click on a bar of the steps shows that step.
document.addEventListener("pdhost:step", async (event) => {
  const box = document.querySelector(`.timeline[data-window="${event.detail.window}"]`);
  if (!box) return;
  location.hash = box.closest(".pane").id;
  const timeline = await openTimeline(box);
  requestAnimationFrame(() => {
    timeline.resize();
    if (!timeline.showStep(event.detail.step)) timeline.panel.replaceChildren("The timeline does not have this step.");
  });
});

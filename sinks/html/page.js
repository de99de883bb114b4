// Panes as tabs, tables to sort and filter, commands to copy. The page is whole without it.
const root = document.documentElement;
const windows = Array.from(document.querySelectorAll(".window"));
const panes = Array.from(document.querySelectorAll(".pane"));
let shownWindow = windows[0];

// Shows the pane of this id and its window; an unknown id shows the overview.
function show(id) {
  if (!panes.length) return;
  const pane = panes.find((one) => one.id === id) ?? shownWindow?.querySelector(".pane") ?? panes[0];
  shownWindow = pane.closest(".window") ?? shownWindow;
  for (const one of panes) one.classList.toggle("shown", one === pane);
  for (const one of windows) one.classList.toggle("shown", one === shownWindow);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${pane.id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.dispatchEvent(new CustomEvent("pdhost:pane", { detail: { id: pane.id } }));
}

// What all ranks did together is known when the windows are written: their first screens then lead to it.
function leadToRanks(pane) {
  for (const run of document.querySelectorAll('nav a[href="#run"]')) {
    const link = document.createElement("a");
    link.href = `#${pane.id}`;
    link.textContent = pane.querySelector("h2").textContent;
    run.before(link, "\n");
  }
  for (const overview of document.querySelectorAll('.window > .pane[id$="overview"]')) {
    const line = document.createElement("p"), link = document.createElement("a");
    line.className = "card";
    link.href = `#${pane.id}`;
    link.textContent = "All ranks";
    line.append(link, `: ${pane.querySelector(".sentence").textContent}`);
    overview.querySelector(".verdict, .pair").before(line);
  }
}
const together = document.getElementById("all-ranks");
if (together) leadToRanks(together);

root.classList.add("js");
addEventListener("hashchange", () => {
  show(location.hash.slice(1));
  scrollTo(0, 0);
});
if (windows.length > 1) {
  const select = document.createElement("select");
  select.setAttribute("aria-label", "Window");
  for (const [number, one] of windows.entries()) select.append(new Option(one.dataset.title, String(number)));
  select.addEventListener("change", () => {
    location.hash = windows[Number(select.value)].querySelector(".pane").id;
  });
  document.addEventListener("pdhost:pane", () => { select.value = String(windows.indexOf(shownWindow)); });
  document.querySelector("header").append(select);
}
show(location.hash.slice(1));

function valueOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
}

// Numbers before texts, the largest first.
function compare(a, b) {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return typeof a === "number" ? b - a : a.localeCompare(b);
}

// Rows keep those that they hold beneath them.
function families(rows) {
  const found = [];
  for (const row of rows) {
    const inner = /level[1-9]/.test(row.cells[0]?.className ?? "");
    if (inner && found.length) found[found.length - 1].push(row);
    else found.push([row]);
  }
  return found;
}

// Columns that the terminal shows with --wide alone are folded away, and a box brings them back.
function foldWide(table) {
  const wide = Array.from(table.tHead.rows[0].cells).map((heading) => heading.dataset.wide !== undefined);
  if (!wide.includes(true)) return;
  const label = document.createElement("label"), box = document.createElement("input");
  box.type = "checkbox";
  label.className = "filter";
  label.append(box, " All columns");
  table.parentElement.before(label);
  const fold = () => {
    for (const row of table.rows)
      for (const [column, cell] of Array.from(row.cells).entries()) cell.hidden = wide[column] && !box.checked;
  };
  box.addEventListener("change", fold);
  fold();
}

function sortable(table) {
  const body = table.tBodies[0];
  const found = families(Array.from(body.rows));
  for (const [column, heading] of Array.from(table.tHead.rows[0].cells).entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const backwards = heading.getAttribute("aria-sort") === "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", backwards ? "ascending" : "descending");
      found.sort((a, b) => (backwards ? -1 : 1) * compare(valueOf(a[0], column), valueOf(b[0], column)));
      body.append(...found.flat());
    });
  }
  foldWide(table);
  if (body.rows.length <= 8) return;
  const label = document.createElement("label");
  const input = document.createElement("input");
  const shown = document.createElement("span");
  input.type = "search";
  label.className = "filter";
  label.append("Filter ", input, " ", shown);
  table.parentElement.before(label);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    let count = 0;
    for (const row of body.rows) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
      count += row.hidden ? 0 : 1;
    }
    shown.textContent = wanted ? `${count} of ${body.rows.length} rows` : "";
  });
}
document.querySelectorAll("table.sortable").forEach(sortable);

// A page of a file may not have the clipboard: then the command is selected, for the reader to copy.
async function copy(command, button) {
  try {
    await navigator.clipboard.writeText(command.textContent.trim());
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(command);
    button.textContent = "Selected: copy it";
  }
}
for (const command of document.querySelectorAll("pre.command")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", () => copy(command, button));
  command.after(button);
}

// The bars of the steps: a click shows the step in the timeline; so do the steps' numbers in the tables.
function showStep(window, step) {
  document.dispatchEvent(new CustomEvent("pdhost:step", { detail: { window, step } }));
}
for (const chart of document.querySelectorAll("svg.steps")) {
  chart.addEventListener("click", (event) => {
    const x = event.clientX - chart.getBoundingClientRect().left;
    const step = Math.floor(x / Number(chart.dataset.stepWidth));
    if (step < Number(chart.dataset.steps)) showStep(chart.dataset.window, step);
  });
}
for (const table of document.querySelectorAll("table[data-id=active_steps], table[data-id=ledger_steps]")) {
  const box = table.closest(".window")?.querySelector(".timeline");
  if (!box) continue;
  for (const [step, row] of Array.from(table.tBodies[0].rows).entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Show it in the timeline";
    button.append(...row.cells[0].childNodes);
    row.cells[0].append(button);
    button.addEventListener("click", () => showStep(box.dataset.window, step));
  }
}

// A click on a frame of a flame graph makes it as wide as the graph.
for (const graph of document.querySelectorAll("svg.flame")) {
  const frames = Array.from(graph.querySelectorAll("g"));
  const whole = Number(frames[0].dataset.w);
  graph.addEventListener("click", (event) => {
    const chosen = event.target.closest("g");
    if (!chosen) return;
    const from = Number(chosen.dataset.x), scale = whole / Number(chosen.dataset.w);
    for (const frame of frames) {
      const x = (Number(frame.dataset.x) - from) * scale, width = Number(frame.dataset.w) * scale;
      const left = Math.max(x, 0), right = Math.min(x + width, whole);
      frame.style.display = right - left > 0.3 ? "" : "none";
      const [title, box, text] = frame.children;
      box.setAttribute("x", left);
      box.setAttribute("width", Math.max(right - left - 0.5, 0.3));
      text.setAttribute("x", left + 3);
      const name = title.textContent.replace(/: [^:]*$/, "");
      text.textContent = right - left >= 36 ? name.slice(0, Math.floor((right - left - 6) / 6.4)) : "";
    }
  });
}

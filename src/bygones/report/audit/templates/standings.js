// The table of all agents: choose a half-life, search, sort, show all, and download the numbers.
"use strict";

(() => {
  const { shown, half_lives, unit, words, rows } = window.bygones.data("standings");
  const root = document.getElementById("standings");
  if (!root) return;
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const headers = [...root.querySelectorAll("th[data-column]")];
  const columns = headers.map((header) => header.dataset.column);
  const view = { half_life: 0, search: "", column: "", down: true, all: false };
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  function found() {
    const wanted = plain(view.search.trim());
    const some = rows[view.half_life].filter((row) => plain(row.agent).includes(wanted));
    if (!view.column) return some;
    const key = (row) => (view.column === "agent" ? row.agent : row.number[view.column]);
    const sign = view.down ? -1 : 1;
    return some.sort((one, two) => {
      const [a, b] = [key(one), key(two)];
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (typeof a === "string" ? a.localeCompare(b) : a - b);
    });
  }

  function cell(kind, text, ...classes) {
    const made = document.createElement(kind);
    made.textContent = text;
    made.className = classes.filter(Boolean).join(" ");
    return made;
  }

  function line(row) {
    const made = document.createElement("tr");
    for (const column of columns) {
      if (column === "agent") {
        const name = cell("th", row.agent);
        name.scope = "row";
        made.append(name);
      } else {
        const side = column === "owed" || column === "per_unit" ? row.side : "";
        made.append(cell("td", row.shown[column], column === "since" ? "since" : "number", side));
      }
    }
    return made;
  }

  function show() {
    const some = found();
    const first = view.all ? some : some.slice(0, shown);
    root.querySelector("tbody").replaceChildren(...first.map(line));
    const name = part("half-life").selectedOptions[0].textContent.trim();
    const count = first.length < some.length ? `The first ${first.length} of ${some.length} agents` : `${some.length} agents`;
    part("count").textContent = `${count}, ${name}`;
    part("all").hidden = first.length === some.length;
    part("all").textContent = `Show all ${some.length} agents`;
    for (const header of headers) {
      if (header.dataset.column === view.column) header.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else header.removeAttribute("aria-sort");
    }
  }

  // A cell that a spreadsheet would take for a formula gets an apostrophe in front.
  function csvCell(value) {
    if (value === null) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function download() {
    const numbers = columns.filter((column) => column !== "agent");
    const titles = numbers.map((column) => words[column] ?? column);
    const lines = [["half-life", "agent", ...titles, "unit"]];
    rows.forEach((each, n) => {
      for (const row of each) lines.push([half_lives[n], row.agent, ...numbers.map((column) => row.number[column]), unit]);
    });
    const text = lines.map((cells) => cells.map(csvCell).join(",")).join("\r\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`\ufeff${text}\r\n`], { type: "text/csv" }));
    link.download = "standings.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  part("half-life").addEventListener("change", (event) => { view.half_life = Number(event.target.value); show(); });
  part("search").addEventListener("input", (event) => { view.search = event.target.value; show(); });
  part("all").addEventListener("click", () => { view.all = true; show(); });
  part("download").addEventListener("click", download);
  root.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  for (const header of headers) {
    header.querySelector("button").addEventListener("click", () => {
      const same = view.column === header.dataset.column;
      Object.assign(view, { column: header.dataset.column, down: same ? !view.down : header.dataset.column !== "agent" });
      show();
    });
  }
})();

// Long tables: choose one of several, search, sort, show all rows, and download the numbers.
"use strict";

for (const root of document.querySelectorAll("[data-listing]")) {
  const { label, choices, columns, titles, tables, shown } = JSON.parse(document.getElementById(root.dataset.listing).textContent);
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const headings = [...root.querySelectorAll("[data-column]")];
  const view = { choice: 0, search: "", column: -1, down: true, all: false };
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

  function rowsInView() {
    const wanted = plain(view.search.trim());
    const rows = tables[view.choice].filter((row) => plain(row[0].text).includes(wanted));
    if (view.column < 0) return rows;
    const sign = view.down ? -1 : 1;
    return rows.sort((one, two) => {
      const [a, b] = [one[view.column].value, two[view.column].value];
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (typeof a === "string" ? a.localeCompare(b) : a - b);
    });
  }

  function line(row) {
    const element = document.createElement("tr");
    row.forEach((cell, j) => {
      const place = document.createElement(j ? "td" : "th");
      if (!j) place.scope = "row";
      place.className = cell.classes;
      if (cell.share === null) {
        place.textContent = cell.text;
      } else {
        const bar = document.createElement("span");
        bar.className = "bar";
        bar.style.width = `${cell.share}%`;
        place.append(bar);
      }
      element.append(place);
    });
    return element;
  }

  function show() {
    const rows = rowsInView();
    const first = view.all ? rows : rows.slice(0, shown);
    root.querySelector("tbody").replaceChildren(...first.map(line));
    const count = first.length < rows.length ? `, the first ${first.length} of ${rows.length}` : "";
    part("caption").textContent = `${titles[view.choice]}${count}`;
    part("all").hidden = first.length === rows.length;
    part("all").textContent = `Show all ${rows.length}`;
    for (const heading of headings) {
      const cell = heading.closest("th");
      if (Number(heading.dataset.column) === view.column) cell.setAttribute("aria-sort", view.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
  }

  // A cell that a spreadsheet would take for a formula gets an apostrophe in front.
  function csvCell(value) {
    if (value === null) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function download() {
    const kept = [...columns.keys()].filter((j) => columns[j]);
    const several = choices.length > 1;
    const lines = [[...(several ? [label] : []), ...kept.map((j) => columns[j])]];
    tables.forEach((rows, n) => {
      for (const row of rows) lines.push([...(several ? [choices[n]] : []), ...kept.map((j) => row[j].value)]);
    });
    const text = lines.map((cells) => cells.map(csvCell).join(",")).join("\r\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`\ufeff${text}\r\n`], { type: "text/csv" }));
    link.download = "table.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  part("choice")?.addEventListener("change", (event) => { view.choice = Number(event.target.value); show(); });
  part("search").addEventListener("input", (event) => { view.search = event.target.value; show(); });
  part("all").addEventListener("click", () => { view.all = true; show(); });
  part("download").addEventListener("click", download);
  root.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  for (const heading of headings) {
    heading.addEventListener("click", () => {
      const column = Number(heading.dataset.column);
      Object.assign(view, { column, down: column === view.column ? !view.down : column > 0 });
      show();
    });
  }
}

// Lets the reader choose runs; updates the chart, its description, its numbers and the training curves.
"use strict";

(() => {
  const { runs, drawFitted, whenSeen } = window.bygones;
  const root = document.getElementById("chooser");
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const selects = Object.fromEntries([...root.querySelectorAll("select")].map((select) => [select.name, select]));
  const words = Object.fromEntries(runs.AXES.map((axis) => [axis, Object.fromEntries([...selects[axis].options].map((option) => [option.value, option.textContent.trim()]))]));
  const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
  const choice = () => Object.fromEntries(runs.AXES.map((axis) => [axis, selects[axis].value]));

  // Not every combination was run: after a choice without runs, the other selects move to the nearest one with runs.
  function settle(changed) {
    const wanted = choice();
    if (runs.panelsOf(wanted).length) return;
    const likeness = (panel) => runs.AXES.filter((axis) => panel[axis] === wanted[axis]).length;
    const [nearest] = runs.packed.panels.filter((panel) => panel[changed] === wanted[changed]).sort((a, b) => likeness(b) - likeness(a));
    for (const axis of runs.AXES) selects[axis].value = nearest[axis];
  }

  function offerHorizons() {
    const horizons = runs.horizonsOf(runs.panelsOf(choice()));
    const before = Number(selects.horizon.value);
    selects.horizon.replaceChildren(...horizons.map((horizon) => new Option(runs.steps(horizon), horizon)));
    selects.horizon.value = horizons.includes(before) ? before : horizons.at(-1);
  }

  function describe(panels, metric) {
    const horizon = runs.horizonsOf(panels).at(-1);
    const values = runs.memoriesOf(panels).flatMap((memory) => panels.flatMap((panel) => {
      const cell = runs.cellOf(panel, memory.gamma, horizon);
      if (!cell) return [];
      const yours = panel.origin === runs.YOURS && panels.length > 1 ? " in your runs" : "";
      return [`${memory.label}${yours}: ${runs.read(runs.mean(runs.valuesOf(cell, metric)), metric)}`];
    }));
    const references = runs.referencesOf(panels, horizon, metric);
    values.push(...runs.packed.rules.map((rule) => `${rule} without training: ${runs.read(references[rule], metric)}`));
    const { welfare, aggregation, observation_scale: scale } = choice();
    return `${capital(words.welfare[welfare])}, ${words.aggregation[aggregation]} utilities, ${words.observation_scale[scale]}. Mean ${runs.metrics[metric].label} at ${runs.atHorizon(horizon)}: ${values.join("; ")}.`;
  }

  function cell(kind, text, scope) {
    const made = document.createElement(kind);
    made.textContent = text;
    if (scope) made.scope = scope;
    return made;
  }

  function tabulate(panels, metric) {
    const horizons = runs.horizonsOf(panels);
    const head = document.createElement("tr");
    head.append(cell("th", "memory", "col"), ...horizons.map((horizon) => cell("th", runs.atHorizon(horizon), "col")));
    const rows = panels.flatMap((panel) => runs.memoriesOf([panel]).map((memory) => {
      const row = document.createElement("tr");
      const yours = panel.origin === runs.YOURS && panels.length > 1 ? ", your runs" : "";
      row.append(cell("th", memory.label + yours, "row"));
      for (const horizon of horizons) {
        const found = runs.cellOf(panel, memory.gamma, horizon);
        const values = found ? runs.valuesOf(found, metric) : [];
        const spread = values.length > 1 ? ` (${runs.read(Math.min(...values), metric)} to ${runs.read(Math.max(...values), metric)})` : "";
        row.append(cell("td", values.length ? `${runs.read(runs.mean(values), metric)}${spread}` : "–"));
      }
      return row;
    }));
    const references = panels.at(-1).references;
    rows.push(...Object.keys(references[0].rules).map((rule) => {
      const row = document.createElement("tr");
      const values = horizons.map((horizon) => references.find((one) => one.horizon === horizon)?.rules[rule][metric]);
      row.append(cell("th", `${rule}, without training`, "row"));
      row.append(...values.map((value) => cell("td", value === undefined ? "–" : runs.read(value, metric))));
      return row;
    }));
    part("numbers").tHead.replaceChildren(head);
    part("numbers").tBodies[0].replaceChildren(...rows);
  }

  function drawCurves() {
    if (!part("curves").open) return;
    const asked = selects.metric.value;
    const metric = runs.metrics[asked].has_curve ? asked : "gini";
    const horizon = Number(selects.horizon.value);
    const everySeed = part("every-seed").checked;
    const title = `${runs.metrics[metric].label} over training at ${runs.atHorizon(horizon)}`;
    part("curve-note").textContent = metric === asked ? "" : `Only final values were stored for “${runs.metrics[asked].label}”, so this chart shows the ${runs.metrics[metric].label}.`;
    part("curve-chart").setAttribute("aria-label", `${title}: one line per memory, with a band of one standard error over seeds.`);
    drawFitted(part("curve-chart"), runs.trainingCurves(choice(), metric, horizon, everySeed));
  }

  function show() {
    const panels = runs.panelsOf(choice());
    const metric = selects.metric.value;
    const description = describe(panels, metric);
    part("description").textContent = description;
    part("better").textContent = runs.metrics[metric].better && `${capital(runs.metrics[metric].better)}.`;
    part("chart").setAttribute("aria-label", `${runs.metrics[metric].label} against the horizon, one line per memory. ${description}`);
    drawFitted(part("chart"), runs.againstHorizon(choice(), metric));
    tabulate(panels, metric);
    drawCurves();
  }

  for (const select of root.querySelectorAll("[data-part='choices'] select")) {
    select.addEventListener("change", () => {
      if (runs.AXES.includes(select.name)) settle(select.name);
      offerHorizons();
      show();
    });
  }
  selects.horizon.addEventListener("change", drawCurves);
  part("every-seed").addEventListener("change", drawCurves);
  part("curves").addEventListener("toggle", drawCurves);
  offerHorizons();
  whenSeen(root, show);
})();

// The runs: decoded from the page, and drawn against the horizon, the observation scale or the steps of training.
"use strict";

// On a phone the legend stands below the plot, and long names on the axis are turned. The chart grows by as much, so the
// plot keeps its height.
window.bygones.drawFitted = (element, figure) => {
  const { draw } = window.bygones;
  const [NARROW, LINE, LETTER, SAMPLE, AXIS, TURNED] = [520, 20, 7, 44, 64, 140];
  element.dataset.height ??= element.clientHeight;
  if (element.clientWidth >= NARROW) return draw(element, figure);
  const { layout } = figure;
  const names = figure.data.filter((trace) => trace.name && trace.showlegend !== false).map((trace) => trace.name);
  const entry = SAMPLE + LETTER * Math.max(0, ...names.map((name) => name.length));
  const lines = Math.ceil(names.length / Math.max(1, Math.floor((element.clientWidth - 24) / entry)));
  const turned = layout.xaxis.ticktext?.some((text) => String(text).includes("<br>"));
  const xaxis = turned ? { ...layout.xaxis, tickangle: 90, ticktext: layout.xaxis.ticktext.map(inHalves) } : layout.xaxis;
  const below = (turned ? TURNED : AXIS) + LINE * lines;
  element.style.height = `${Number(element.dataset.height) + below - AXIS}px`;
  const legend = { ...layout.legend, yref: "container", y: 0, yanchor: "bottom", xref: "container", x: 0, tracegroupgap: 0 };
  return draw(element, { ...figure, layout: { ...layout, xaxis, legend, margin: { ...layout.margin, b: below } } });

  // A text in two lines of about the same length.
  function inHalves(text) {
    const words = text.split("<br>").flatMap((part) => part.split(" "));
    let first = words.shift();
    while (words.length && first.length + words[0].length < text.length / 2) first += ` ${words.shift()}`;
    return words.length ? `${first}<br>${words.join(" ")}` : first;
  }
};

window.bygones.runs = (() => {
  const { data, shown } = window.bygones;
  const packed = data("runs");
  const YOURS = "own";
  const INK = "#1F2933";
  const unpacked = (text, Kind) => new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const finals = Object.fromEntries(Object.entries(packed.finals).map(([name, text]) => [name, unpacked(text, Float32Array)]));
  const curves = Object.fromEntries(Object.entries(packed.curves).map(([name, text]) => [name, unpacked(text, Uint16Array)]));
  const metrics = Object.fromEntries(packed.metrics.map((metric) => [metric.name, metric]));
  const AXES = ["variant", "observation_scale", "welfare", "aggregation"];

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const steps = (number) => number.toLocaleString("en");
  const atHorizon = (horizon) => `T\u00a0=\u00a0${steps(horizon)}`;
  const distinct = (values) => [...new Set(values)];

  function panelsOf(choice) {
    return packed.panels.filter((panel) => AXES.every((axis) => panel[axis] === choice[axis]));
  }

  function cellOf(panel, gamma, horizon) {
    return panel.cells.find((cell) => cell.gamma === gamma && cell.horizon === horizon);
  }

  // One value per seed.
  function valuesOf(cell, metric) {
    return Array.from(finals[metric].subarray(cell.first, cell.first + cell.seeds.length));
  }

  // One curve per seed; null for a missing value.
  function curvesOf(cell, metric) {
    const at = packed.steps[cell.steps];
    const [low, high] = cell.ranges[metric];
    return cell.seeds.map((_, seed) => {
      const start = cell.offset + seed * at.length;
      const whole = curves[metric].subarray(start, start + at.length);
      return Array.from(whole, (value) => (value === 65535 ? null : low + ((high - low) * value) / 65534));
    });
  }

  function horizonsOf(panels) {
    return distinct(panels.flatMap((panel) => panel.cells.map((cell) => cell.horizon))).sort((a, b) => a - b);
  }

  // The memories of some panels; if names are given, only the named ones, under these names.
  function memoriesOf(panels, names) {
    const there = new Set(panels.flatMap((panel) => panel.cells.map((cell) => cell.gamma)));
    const found = packed.memories.filter((memory) => there.has(memory.gamma) && (!names || memory.gamma in names));
    return names ? found.map((memory) => ({ ...memory, label: names[memory.gamma] })) : found;
  }

  // Totals of long episodes are much larger than those of short ones, so these scores are drawn on an axis that is
  // linear near zero and logarithmic beyond.
  function axisOf(choice, metric) {
    const stretched = metric === "welfare" && choice.welfare === "egalitarian" && choice.aggregation === "additive";
    if (!stretched) {
      const fromZero = ["gini", "share", "utility_least", "utility_most"].includes(metric);
      return { place: (value) => value, layout: { rangemode: fromZero ? "tozero" : "normal", tickformat: metric === "share" ? ".0%" : "" } };
    }
    const ticks = [0, 10, 100, 1000];
    const place = (value) => Math.asinh(value / 10);
    return { place, layout: { tickvals: ticks.map(place), ticktext: ticks.map(steps), rangemode: "tozero" } };
  }

  // Shares and Ginis have a fixed number of decimals, so columns of them can be compared.
  function read(value, metric) {
    if (metric === "share") return `${(100 * value).toFixed(1)}%`;
    return metric === "gini" ? value.toFixed(3) : shown(value, 3);
  }

  // Your own runs are marked if there are others in the chart.
  function isMarked(panel, panels) {
    return panel.origin === YOURS && panels.some((other) => other.origin !== YOURS);
  }

  // Dots for the seeds of several cells and a line through their means; positions are numbers of the x axis.
  function seedsAndMeans(yours, memory, cells, shift, metric, place) {
    const dots = { x: [], y: [], text: [] };
    const means = { x: [], y: [], text: [] };
    for (const { at, cell, where } of cells) {
      const values = valuesOf(cell, metric);
      values.forEach((value, index) => {
        dots.x.push(yours ? at : at + shift);
        dots.y.push(place(value));
        dots.text.push(`${memory.label}, ${where}<br>${yours ? "your run" : "run"}, seed ${cell.seeds[index]}: <b>${read(value, metric)}</b>`);
      });
      means.x.push(at);
      means.y.push(place(mean(values)));
      means.text.push(`${memory.label}, ${where}<br>mean of ${values.length}: <b>${read(mean(values), metric)}</b>`);
    }
    const group = { legendgroup: memory.label, hovertemplate: "%{text}<extra></extra>" };
    const line = { color: memory.color, dash: yours ? "solid" : memory.dash, width: memory.width };
    return [
      { ...means, ...group, mode: "lines", name: memory.label, line, opacity: 0.85, showlegend: !yours, connectgaps: true },
      {
        ...dots, ...group, mode: "markers", showlegend: false,
        marker: yours
          ? { color: memory.color, size: 12, symbol: "diamond", line: { color: INK, width: 1.5 } }
          : { color: memory.color, size: 6, opacity: 0.6 },
      },
    ];
  }

  const yoursInLegend = { x: [null], y: [null], mode: "markers", name: "your runs", marker: { symbol: "diamond-open", size: 11, color: INK } };

  function againstHorizon(choice, metric, names, extra = {}) {
    const panels = panelsOf(choice);
    const horizons = horizonsOf(panels);
    const memories = memoriesOf(panels, names);
    const { place, layout } = axisOf(choice, metric);
    const traces = panels.flatMap((panel) => memories.flatMap((memory, index) => {
      const shift = 0.07 * (index - (memories.length - 1) / 2);
      const cells = horizons.flatMap((horizon, at) => {
        const cell = cellOf(panel, memory.gamma, horizon);
        return cell ? [{ at, cell, where: atHorizon(horizon) }] : [];
      });
      return cells.length ? seedsAndMeans(isMarked(panel, panels), memory, cells, shift, metric, place) : [];
    }));
    for (const { variant, gamma, label, color } of Object.values(extra)) {
      const [panel] = panelsOf({ ...choice, variant });
      const memory = { label, color, dash: "solid", width: 2.2 };
      const cells = horizons.flatMap((horizon, at) => {
        const cell = panel && cellOf(panel, gamma, horizon);
        return cell ? [{ at, cell, where: atHorizon(horizon) }] : [];
      });
      if (cells.length) traces.push(...seedsAndMeans(false, memory, cells, 0.14, metric, place));
    }
    traces.push(...referenceLines(panels, horizons, metric, place));
    if (panels.some((panel) => isMarked(panel, panels))) traces.push(yoursInLegend);
    return withRuleNames({
      data: traces,
      layout: {
        xaxis: { tickvals: horizons.map((_, at) => at), ticktext: horizons.map(steps), title: { text: "horizon T (steps in an episode)" }, range: [-0.35, horizons.length - 0.65], showgrid: false, fixedrange: true },
        yaxis: { title: { text: metrics[metric].label }, fixedrange: true, ...layout },
        legend: { font: { size: 11 } },
        hovermode: "closest",
      },
    });
  }

  // What the best policy and the rules that need no training reach.
  const MARKERS = ["triangle-up-open", "x-thin-open", "line-ns-open"];
  const bestLook = { color: INK, width: 1.3, dash: "dot" };
  const ruleLook = { color: INK, width: 0.8 };
  const LINE = 0.1; // of a label, as a share of the chart's height

  function referencesOf(panels, horizon, metric) {
    const one = panels.flatMap((panel) => panel.references).find((each) => each.horizon === horizon);
    if (!one) return {};
    const rules = Object.fromEntries(packed.rules.map((rule) => [rule, one.rules[rule][metric]]));
    return metrics[metric].reference ? { [metrics[metric].reference]: one.best[metric], ...rules } : rules;
  }

  function referenceLines(panels, horizons, metric, place) {
    const known = horizons.map((horizon) => referencesOf(panels, horizon, metric));
    return Object.keys(known.at(-1) ?? {}).map((name) => {
      const rule = packed.rules.indexOf(name);
      const label = rule < 0 ? name : `${name}, without training`;
      const look = rule < 0 ? { mode: "lines", line: bestLook } : { mode: "lines+markers", line: ruleLook, showlegend: false, marker: { color: INK, symbol: MARKERS[rule], size: 8 } };
      return {
        x: horizons.map((_, at) => at), y: known.map((values) => place(values[name])), name, hovertemplate: "%{text}<extra></extra>", ...look,
        text: known.map((values, at) => `${label}, ${atHorizon(horizons[at])}: <b>${read(values[name], metric)}</b>`),
      };
    });
  }

  // The rules as level lines across the chart.
  function ruleLevels(panels, horizon, metric, [from, to]) {
    const values = referencesOf(panels, horizon, metric);
    return packed.rules.filter((rule) => rule in values).map((rule) => ({
      x: [from, (from + to) / 2, to], y: Array(3).fill(values[rule]), mode: "lines", name: rule, line: ruleLook, showlegend: false,
      hovertemplate: `${rule}, without training, ${atHorizon(horizon)}: <b>${read(values[rule], metric)}</b><extra></extra>`,
    }));
  }

  // The names of the rules at the ends of their lines; names that would overlap share a label.
  function withRuleNames({ data: traces, layout }) {
    const heights = traces.flatMap((trace) => trace.y.filter((y) => y !== null));
    const line = LINE * (Math.max(...heights) - Math.min(...heights));
    const ends = traces.filter((trace) => packed.rules.includes(trace.name)).map(({ name, y }) => ({ name, y: y.at(-1) })).sort((a, b) => b.y - a.y);
    const middle = (group) => mean(group.map((end) => end.y));
    const overlap = (above, below) => middle(above) - middle(below) < line * (above.length + below.length) / 2;
    const groups = [];
    for (const end of ends) {
      let group = [end];
      while (groups.length && overlap(groups.at(-1), group)) group = [...groups.pop(), ...group];
      groups.push(group);
    }
    const annotations = groups.map((group) => ({
      text: group.map((end) => end.name).join("<br>"), y: middle(group), xref: "paper", x: 1, xanchor: "left",
      xshift: 4, showarrow: false, align: "left", font: { size: 11 },
    }));
    return { data: traces, layout: { ...layout, annotations, margin: { r: 68 } } };
  }

  // The words for a scale in short lines, without the noun that all share.
  function inLines(scale) {
    const lines = [];
    for (const word of packed.scales[scale].replace("memory ", "").split(" ")) {
      if (lines.length && lines.at(-1).length + word.length < 11) lines.push(`${lines.pop()} ${word}`);
      else lines.push(word);
    }
    return lines.join("<br>");
  }

  function againstScale(choice, metric, horizon, names) {
    const scales = distinct(packed.panels.filter((panel) => panel.variant === choice.variant).map((panel) => panel.observation_scale));
    const memories = memoriesOf(packed.panels, names);
    const origins = distinct(packed.panels.map((panel) => panel.origin));
    const traces = origins.flatMap((origin) => memories.flatMap((memory, index) => {
      const found = scales.flatMap((scale, at) => {
        const panel = panelsOf({ ...choice, observation_scale: scale }).find((one) => one.origin === origin);
        const cell = panel && cellOf(panel, memory.gamma, horizon);
        return cell ? [{ at, cell, where: packed.scales[scale] }] : [];
      });
      if (!found.length) return [];
      const shift = 0.16 * (index - (memories.length - 1) / 2);
      const [means, dots] = seedsAndMeans(origin === YOURS && origins.length > 1, memory, found, shift, metric, (value) => value);
      return [{ ...means, x: means.x.map((x) => x + shift), mode: "markers", marker: { symbol: "line-ew-open", size: 18, color: memory.color, line: { width: 2.5 } } }, dots];
    }));
    traces.push(...ruleLevels(panelsOf(choice), horizon, metric, [-0.5, scales.length - 0.5]));
    return withRuleNames({
      data: traces,
      layout: {
        xaxis: { tickvals: scales.map((_, at) => at), ticktext: scales.map(inLines), tickangle: 0, tickfont: { size: 10 }, title: { text: "" }, range: [-0.5, scales.length - 0.5], showgrid: false, fixedrange: true },
        yaxis: { title: { text: metrics[metric].label }, rangemode: "tozero", fixedrange: true },
        hovermode: "closest",
      },
    });
  }

  // The mean over seeds with a band of one standard error, and optionally each seed as a thin line.
  function trainingCurves(choice, metric, horizon, everySeed) {
    const panels = panelsOf(choice);
    const traces = panels.flatMap((panel) => memoriesOf(panels).flatMap((memory) => {
      const cell = cellOf(panel, memory.gamma, horizon);
      if (!cell) return [];
      const yours = isMarked(panel, panels);
      const x = packed.steps[cell.steps].map((step) => step / 1e6);
      const seeds = curvesOf(cell, metric);
      const known = x.map((_, at) => seeds.map((seed) => seed[at]).filter((value) => value !== null));
      const means = known.map((values) => (values.length ? mean(values) : null));
      const errors = known.map((values) => (values.length > 1 ? Math.sqrt(values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1) / values.length) : 0));
      const group = { legendgroup: memory.label };
      const band = {
        ...group, x: [...x, ...[...x].reverse()],
        y: [...means.map((value, at) => value + errors[at]), ...means.map((value, at) => value - errors[at]).reverse()],
        fill: "toself", fillcolor: memory.color, opacity: 0.18, line: { width: 0 }, mode: "lines", hoverinfo: "skip", showlegend: false,
      };
      const thin = seeds.map((seed, index) => ({
        ...group, x, y: seed, mode: "lines", line: { color: memory.color, width: 0.8 }, opacity: 0.45, showlegend: false,
        hovertemplate: `${memory.label}, seed ${cell.seeds[index]}, after %{x:.2f} million steps: <b>%{y:.3g}</b><extra></extra>`,
      }));
      const line = { color: memory.color, dash: yours ? "solid" : memory.dash, width: yours ? 2.6 : 1.8 };
      const title = `${memory.label}, ${yours ? "your runs" : `mean of ${seeds.length}`}`;
      const main = { ...group, x, y: means, mode: yours ? "lines+markers" : "lines", marker: { symbol: "diamond", size: 6, color: memory.color }, line, name: memory.label, showlegend: !yours, hovertemplate: `${title}, after %{x:.2f} million steps: <b>%{y:.3g}</b><extra></extra>` };
      return [...(seeds.length > 1 ? [band] : []), ...(everySeed ? thin : []), main];
    }));
    if (panels.length > 1) traces.push(yoursInLegend);
    const last = Math.max(...traces.flatMap((trace) => trace.x.map(Number)));
    traces.push(...ruleLevels(panels, horizon, metric, [0, last]));
    return withRuleNames({
      data: traces,
      layout: {
        xaxis: { title: { text: "million steps of training" }, rangemode: "tozero", fixedrange: true },
        yaxis: { title: { text: metrics[metric].label }, fixedrange: true, rangemode: metric === "gini" ? "tozero" : "normal" },
        hovermode: "closest",
      },
    });
  }

  return { packed, metrics, AXES, panelsOf, horizonsOf, memoriesOf, cellOf, valuesOf, curvesOf, referencesOf, againstHorizon, againstScale, trainingCurves, read, mean, steps, atHorizon, YOURS };
})();

// The charts that are drawn without a choice of the reader.
for (const element of document.querySelectorAll("[data-runs]")) {
  const { runs, drawFitted, whenSeen } = window.bygones;
  const { kind, choice, metric, names, horizon, extra } = JSON.parse(element.dataset.runs);
  whenSeen(element, () => drawFitted(element, kind === "scale"
    ? runs.againstScale(choice, metric, horizon, names)
    : runs.againstHorizon(choice, metric, names, extra)));
}

// A link to a claim opens it.
function openClaim() {
  const claim = location.hash && document.getElementById(location.hash.slice(1));
  if (claim && claim.tagName === "DETAILS") claim.open = true;
}
window.addEventListener("hashchange", openClaim);
openClaim();

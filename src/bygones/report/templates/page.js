// Common to all pages: the page's data, figures in the page's colours, drawn when they come into view, and numbers.
"use strict";

window.bygones = (() => {
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();
  const colours = data("colours");
  const plotly = unpackPlotly();

  function data(name) {
    return JSON.parse(document.getElementById(`data-${name}`).textContent);
  }

  // Plotly is embedded compressed; the page's security policy allows it by its hash.
  async function unpackPlotly() {
    const packed = document.getElementById("plotly");
    if (!packed) return;
    const bytes = Uint8Array.from(atob(packed.textContent), (character) => character.charCodeAt(0));
    const source = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(source).text();
    document.head.append(script);
  }

  function shown(number, digits = 4) {
    if (number === null || !Number.isFinite(number)) return "–";
    return Number(number.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 12 }).replace("-", "−");
  }

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }

  // The figure's own colours, with those that are too dark for a dark page replaced.
  function recoloured(value, key = "") {
    if (Array.isArray(value)) return value.map((one) => recoloured(one, key));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, recoloured(inner, name)]));
    }
    return typeof value === "string" && key.endsWith("color") ? colours.byNight[value.toUpperCase()] ?? value : value;
  }

  function houseLayout() {
    const axis = {
      gridcolor: colour("rule"), linecolor: colour("line"), zerolinecolor: colour("rule"), tickcolor: colour("line"),
      automargin: true, title: { standoff: 8 },
    };
    return {
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("ink") },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      xaxis: { ...axis, zeroline: false }, yaxis: axis,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      hoverlabel: { bgcolor: colour("panel"), bordercolor: colour("line"), font: { color: colour("ink") } },
      margin: { l: 56, r: 12, t: 24, b: 48 },
      dragmode: false,
      colorway: colours.palette.map((one) => (night.matches ? colours.byNight[one] ?? one : one)),
    };
  }

  const CONFIG = { displayModeBar: false, displaylogo: false, responsive: true, scrollZoom: false, showTips: false };

  async function draw(element, figure) {
    drawn.set(element, figure);
    await plotly;
    const latest = drawn.get(element);
    const { data: traces, layout } = night.matches ? recoloured(latest) : latest;
    const template = { layout: houseLayout() };
    return Plotly.react(element, traces, { ...layout, template }, CONFIG);
  }

  // Printing and a capture of the whole page scroll nowhere: elements out of sight count as seen before a print, and as
  // soon as there is time.
  function whenSeen(element, action) {
    let done = false;
    const seen = () => {
      if (done) return;
      done = true;
      watcher.disconnect();
      window.removeEventListener("beforeprint", seen);
      action();
    };
    const watcher = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) seen();
    }, { rootMargin: "400px" });
    watcher.observe(element);
    window.addEventListener("beforeprint", seen);
    if (document.readyState === "complete") whenIdle(seen);
    else window.addEventListener("load", () => whenIdle(seen));
  }

  function whenIdle(action) {
    if (window.requestIdleCallback) window.requestIdleCallback(action, { timeout: 2000 });
    else setTimeout(action, 500);
  }

  plotly.catch(() => document.getElementById("no-figures")?.removeAttribute("hidden"));
  night.addEventListener("change", () => drawn.forEach((figure, element) => draw(element, figure)));
  for (const element of document.querySelectorAll("[data-chart]")) {
    const figure = JSON.parse(document.getElementById(element.dataset.chart).textContent);
    whenSeen(element, () => draw(element, figure));
  }
  return { data, draw, whenSeen, shown, colour };
})();

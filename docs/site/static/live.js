// Pictures with a slider. An element <div class="live" data-live="NAME"> is replaced by the picture of that name below.
// Nothing is loaded. A test compares the numbers with the package.
"use strict";

const weight = (days, halfLife) => 2 ** (-days / halfLife);
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const shown = (number) => (Math.abs(number) < 0.05 ? 0 : number).toFixed(1);
const signed = (number) => (number > 0.05 ? "+" : number < -0.05 ? "−" : "") + shown(Math.abs(number));

// The agents' shifts and jobs: the amount, and its age in days.
const SHIFTS = { Ana: [[8, 21], [4, 2]], Ben: [[9, 7]] };
const USAGE = {
  ana: [[192, 23], [192, 16]], ben: [[24, 24], [192, 1]], cem: [[4, 17], [144, 10]], dana: [[48, 3], [20, 0]],
};
const WORK = { Ana: 30, Ben: 10, Cem: 22 }; // recent hours
const NIGHT = 10; // hours of the next night
const PRICE = 1.52; // Ana's price, if Ben's is 1
const BENS_NEED = 6;

const recentTotal = (events, halfLife) => sum(events.map(([amount, days]) => amount * weight(days, halfLife)));

function element(name, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "circle", "text"].includes(name);
  const created = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

// One bar per row: [label, length, words]. All are drawn to the same scale.
function bars(rows, most) {
  return element("div", { class: "bars" }, ...rows.map(([label, length, words]) =>
    element("div", { class: "row" },
      element("span", { class: "name" }, label),
      element("span", { class: "track" }, element("span", {
        class: "bar", style: `width: ${Math.max(0, Math.min(100, (100 * length) / most))}%` })),
      element("span", { class: "value" }, words))));
}

function curve(halfLife) {
  const [width, height, days] = [640, 180, 180];
  const x = (day) => 40 + ((width - 50) * day) / days;
  const y = (share) => 12 + (height - 40) * (1 - share);
  const points = Array.from({ length: days + 1 }, (_, day) => `${x(day).toFixed(1)},${y(weight(day, halfLife)).toFixed(1)}`);
  const ticks = [0, 30, 60, 90, 120, 150, 180].map((day) =>
    element("text", { x: x(day), y: height - 8, "text-anchor": "middle" }, String(day)));
  return element("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Weight against days" },
    element("line", { class: "axis", x1: x(0), x2: x(days), y1: y(0), y2: y(0) }),
    element("line", { class: "guide", x1: x(0), x2: x(days), y1: y(0.5), y2: y(0.5) }),
    element("text", { x: 34, y: y(1) + 4, "text-anchor": "end" }, "1"),
    element("text", { x: 34, y: y(0.5) + 4, "text-anchor": "end" }, "½"),
    element("text", { x: 34, y: y(0) + 4, "text-anchor": "end" }, "0"),
    ...ticks,
    element("path", { class: "curve", d: `M${points.join(" L")}` }),
    element("circle", { class: "dot", cx: x(halfLife), cy: y(0.5), r: 5 }));
}

const LIVE = {
  memory: {
    label: "Half-life in days", least: 1, most: 60, start: 14,
    draw(halfLife) {
      const rows = Object.entries(SHIFTS).map(([name, events]) => [name, recentTotal(events, halfLife)]);
      const [[, ana], [, ben]] = rows;
      const ahead = ana > ben ? "Ana has more recent hours, so Ben takes the next shift"
        : "Ben has more recent hours, so Ana takes the next shift";
      return [bars(rows.map(([name, value]) => [name, value, `${shown(value)} h`]), 12),
        `With a half-life of ${halfLife} days, ${ahead}.`];
    },
  },
  "half-life": {
    label: "Half-life in days", least: 1, most: 90, start: 30,
    draw(halfLife) {
      const month = 100 * (1 - weight(30, halfLife));
      return [curve(halfLife), `A shift of 8 hours counts as ${shown(8 * weight(30, halfLife))} hours after 30 days. ` +
        `The last 30 days hold ${month.toFixed(0)}% of the total weight.`];
    },
  },
  welfare: {
    label: "Units for Ana", least: 0, most: 10, start: 2,
    draw(ana) {
      const ben = 10 - ana;
      const values = [["Utilitarian", 10], ["Nash", Math.sqrt(ana * ben)], ["Egalitarian", Math.min(ana, ben)]];
      return [bars(values.map(([name, value]) => [name, value, shown(value)]), 10),
        `Ana has ${ana} and Ben has ${ben}. ${ana === 5 ? "Nash and egalitarian welfare are largest here." : ""}`];
    },
  },
  prices: {
    label: "Ana's need", least: 0, most: 8, step: 0.1, start: 2,
    draw(need) {
      const [ana, ben] = [need * PRICE, BENS_NEED];
      return [bars([["Ana", ana, `${shown(need)} × ${PRICE} = ${shown(ana)}`], ["Ben", ben, `${BENS_NEED} × 1 = ${shown(ben)}`]], 13),
        `One step serves Ana, who is behind. Prices serve ${ana > ben ? "Ana, whose need is large enough today" : "Ben"}.`];
    },
  },
  burdens: {
    label: "Ben's share of the load", least: 0.2, most: 1, step: 0.1, start: 1,
    draw(share) {
      const shares = { Ana: 1, Ben: share, Cem: 1 };
      const names = Object.keys(WORK);
      // The hours of all three per share if one of them works the night, the heaviest first.
      const loads = (turn) => names.map((name) => (WORK[name] + (name === turn ? NIGHT : 0)) / shares[name]).sort((a, b) => b - a);
      const lighter = (a, b) => a.map((load, i) => load - b[i]).find((difference) => difference !== 0) ?? 0;
      const due = [...names].sort((a, b) => lighter(loads(a), loads(b)))[0];
      const rows = names.map((name) => [name, WORK[name] / shares[name]]);
      return [bars(rows.map(([name, load]) => [name, load, `${WORK[name]} ÷ ${shares[name]} = ${shown(load)}`]), 50),
        `With a share of ${share}, Ben's ${WORK.Ben} hours weigh ${shown(WORK.Ben / share)}. ${due} is due next.`];
    },
  },
  standing: {
    label: "Half-life in days", least: 1, most: 60, start: 7,
    draw(halfLife) {
      const rows = Object.entries(USAGE).map(([name, jobs]) => [name, sum(jobs.map(([hours]) => hours)), recentTotal(jobs, halfLife)]);
      const share = sum(rows.map((row) => row[2])) / rows.length;
      rows.sort((a, b) => a[2] - b[2]);
      const cells = rows.map(([name, received, value]) =>
        element("tr", {}, element("th", { scope: "row" }, name),
          ...[String(received), shown(value), signed(share - value)].map((text) => element("td", {}, text))));
      const head = ["agent", "total", "recent total", "owed"].map((text) => element("th", { scope: "col" }, text));
      return [element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...cells)),
        `With a half-life of ${halfLife} days, ${rows[0][0]} is owed most.`];
    },
  },
};

function start(place, number) {
  const { label, least, most, step = 1, start: value, draw } = LIVE[place.dataset.live];
  const id = `live-${number}`;
  const slider = element("input", { type: "range", id, min: least, max: most, step, value });
  const reading = element("output", { for: id, class: "reading" });
  const picture = element("div", { class: "picture" });
  const sentence = element("p", { "aria-live": "polite" });
  const update = () => {
    const [drawn, words] = draw(Number(slider.value));
    reading.textContent = slider.value;
    picture.replaceChildren(drawn);
    sentence.textContent = words;
  };
  slider.addEventListener("input", update);
  place.append(element("label", { for: id }, label, " ", reading), slider, picture, sentence);
  update();
}

document.querySelectorAll(".live").forEach(start);

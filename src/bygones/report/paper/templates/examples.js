// Simulates the paper's two examples: who gets the cake and the donut, for a memory with a given half-life.
"use strict";

window.bygones.examples = (() => {
  const { examples, halfLives, steps } = window.bygones.data("examples");
  const TIE = 1e-12;

  const gammaOf = (halfLife) => (halfLife === null ? 1 : halfLife === 0 ? 0 : Math.pow(0.5, 1 / halfLife));

  // Every allocation of the items to the agents present: one owner per item.
  function allocations(items, present) {
    return items.reduce((ways) => ways.flatMap((way) => present.map((agent) => [...way, agent])), [[]]);
  }

  // The best for the worst-off agent, then for the second worst-off, and so on: egalitarian welfare, ties by leximin.
  function best(memories, present) {
    const keys = memories.map((memory) => present.map((agent) => memory[agent]).sort((a, b) => a - b));
    let tied = keys.map((_, index) => index);
    for (let place = 0; place < present.length; place += 1) {
      const highest = Math.max(...tied.map((index) => keys[index][place]));
      tied = tied.filter((index) => keys[index][place] >= highest - TIE * Math.max(1, Math.abs(highest)));
    }
    return tied[0];
  }

  // Z ← γ Z + u, with the u that is best for the worst-off agent.
  function play(example, gamma) {
    let memory = example.agents.map(() => 0);
    const history = { owners: [], utilities: [], remembered: [] };
    for (let step = 0; step < steps; step += 1) {
      const present = example.joins.flatMap((joins, agent) => (joins <= step ? [agent] : []));
      const ways = allocations(example.items, present);
      const received = ways.map((way) => example.agents.map((_, agent) => way.reduce((sum, owner, item) => sum + (owner === agent ? example.utilities[agent][item] : 0), 0)));
      const ahead = received.map((utilities) => utilities.map((utility, agent) => gamma * memory[agent] + utility));
      const chosen = best(ahead, present);
      memory = ahead[chosen];
      history.owners.push(ways[chosen]);
      history.utilities.push(received[chosen]);
      history.remembered.push(memory);
    }
    const totals = example.agents.map(() => 0);
    history.cumulative = history.utilities.map((row) => row.map((utility, agent) => (totals[agent] += utility)));
    history.lead = history.cumulative.map(([first, second]) => first - second);
    history.perceived = history.remembered.map(([first, second]) => first - second);
    return history;
  }

  return { examples, halfLives, steps, gammaOf, play };
})();

(() => {
  const { drawFitted, whenSeen, shown, examples: { examples, halfLives, gammaOf, play } } = window.bygones;
  const root = document.getElementById("alice-and-bob");
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const slider = part("half-life");
  const INK = "#1F2933";
  const LOOK = { chosen: { color: "#0072B2", width: 3 }, instantaneous: { color: "#6B7280", dash: "2px,2.4px", width: 1.4 }, recall: { color: "#D55E00", width: 1.4 } };

  const inWords = (halfLife) => (halfLife === null ? "Perfect recall: the half-life is inf" : halfLife === 0 ? "No memory" : `A half-life of ${shown(halfLife, 3)} ${halfLife === 1 ? "step" : "steps"}`);

  function lines(example, chosen, kind) {
    const named = [["no memory", play(example, 0), LOOK.instantaneous], ["perfect recall", play(example, 1), LOOK.recall], ["your half-life", chosen, LOOK.chosen]];
    return named.map(([name, history, line]) => ({
      x: history[kind].map((_, step) => step + 1), y: history[kind], name, line, mode: "lines",
      hovertemplate: `${name}, step %{x}: <b>%{y:.2f}</b><extra></extra>`,
    }));
  }

  function figure(example, chosen, kind, title) {
    const joined = Math.max(...example.joins);
    const mark = { shapes: [{ type: "line", x0: joined + 0.5, x1: joined + 0.5, y0: 0, y1: 1, yref: "paper", line: { color: "#6B7280", width: 1, dash: "dot" } }],
      annotations: [{ x: joined + 0.8, y: 1, yref: "paper", xanchor: "left", yanchor: "top", text: "Bob joins", showarrow: false }] };
    return {
      data: lines(example, chosen, kind),
      layout: {
        ...(joined ? mark : {}),
        xaxis: { title: { text: "step" }, fixedrange: true, zeroline: false }, yaxis: { title: { text: title }, fixedrange: true, zerolinecolor: INK },
        hovermode: "x",
      },
    };
  }

  // A row of squares per item, one for each step, with the colour and the initial of the agent that got it.
  function handedOut(example, history) {
    part("handed-out").replaceChildren(...example.items.map((item, index) => {
      const row = document.createElement("div");
      row.className = "row";
      const name = document.createElement("span");
      name.className = "item";
      name.textContent = item;
      row.append(name, ...history.owners.map((owners) => {
        const square = document.createElement("span");
        square.className = `square agent-${owners[index]}`;
        square.textContent = example.agents[owners[index]][0];
        return square;
      }));
      return row;
    }));
    const times = (agent) => history.owners.flat().filter((owner) => owner === agent).length;
    part("handed-out").setAttribute("aria-label", `Who gets what, step by step: ${example.agents.map((name, agent) => `${name} ${times(agent)} items`).join(", ")}.`);
  }

  function put(name, value) {
    const place = part(name);
    place.textContent = shown(value, 4);
    place.dataset.value = value;
  }

  function story(example, history) {
    const joined = Math.max(...example.joins);
    if (!joined) return "";
    const again = history.owners.slice(joined).findIndex((owners) => owners.includes(0));
    const steps = again < 0 ? history.owners.length - joined : again;
    if (!steps) return "After Bob joins, Alice still gets an item at once.";
    return `After Bob joins, Alice gets nothing for ${steps} ${steps === 1 ? "step" : "steps"}${again < 0 ? ", until the end" : ""}.`;
  }

  function show() {
    const example = examples[root.querySelector("input[name=example]:checked").value];
    const halfLife = halfLives[Number(slider.value)];
    const gamma = gammaOf(halfLife);
    const history = play(example, gamma);
    slider.setAttribute("aria-valuetext", inWords(halfLife));
    part("in-words").textContent = `${inWords(halfLife)}.`;
    put("gamma", gamma);
    put("alice", history.cumulative.at(-1)[0]);
    put("bob", history.cumulative.at(-1)[1]);
    put("lead", history.lead.at(-1));
    put("perceived", history.perceived.at(-1));
    part("story").textContent = story(example, history);
    handedOut(example, history);
    const [lead, perceived] = [part("lead-chart"), part("perceived-chart")];
    lead.setAttribute("aria-label", `Alice's lead over Bob in total utility, step by step. At the end: ${shown(history.lead.at(-1))}.`);
    perceived.setAttribute("aria-label", `Alice's lead over Bob in the memory, step by step. At the end: ${shown(history.perceived.at(-1))}.`);
    drawFitted(lead, figure(example, history, "lead", "Alice's lead in total utility"));
    drawFitted(perceived, figure(example, history, "perceived", "Alice's lead in the memory"));
  }

  slider.addEventListener("input", show);
  for (const choice of root.querySelectorAll("input[name=example]")) choice.addEventListener("change", show);
  whenSeen(root, show);
})();

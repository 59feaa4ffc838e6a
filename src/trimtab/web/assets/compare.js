// Compare: what this very cycle would have decided with two candidates, side by side.

import { clean, clock, el, named, table } from "./dom.js";
import { ask, request } from "./feed.js";

const MOST_ROWS = 200;
const LIMITS = [
  ["low", "under up to", "the policy's", 0, 100, "any"],
  ["high", "over above", "the policy's", 0, 100, "any"],
  ["perNode", "evictions a node", "the policy's", 1, 10000, 1],
  ["total", "evictions in all", "the policy's", 1, 10000, 1],
];

/** Draws the two forms once; answers follow every change. */
export async function showCompare(place, silent, session, beside) {
  place.replaceChildren(el("h2", {}, "Compare"), beside.chooser(session), el("h3", {}, "What would this cycle decide?"));
  if (silent) {
    place.append(el("p", { class: "quiet" }, silent));
    place.dataset.answered = "1";
    return;
  }
  const told = el("p", { role: "status", "data-part": "asked" });
  const answer = el("div", { "aria-live": "polite", "data-part": "answer" }, "asking…");
  const scores = await ask("scores").catch(() => []);
  const sides = ["A", "B"].map((side) => form(side, scores, session, told, () => compare()));
  place.append(el("div", { class: "sides" }, ...sides.map((side) => side.form)), told, answer);
  let asked = 0;

  async function compare() {
    const mine = ++asked;
    const [a, b] = sides.map((side) => JSON.stringify(side.read()));
    try {
      const found = await ask("compare", { a, b });
      if (mine === asked) answer.replaceChildren(...shown(found));
    } catch (error) {
      if (mine === asked) answer.replaceChildren(el("p", { class: "quiet" }, error.message));
    }
    if (mine === asked) place.dataset.answered = String(Number(place.dataset.answered ?? 0) + 1);
  }

  await compare();
}

function form(side, scores, session, told, changed) {
  const score = el("select", { onchange: changed, "data-field": "score" }, el("option", { value: "" }, "as in the policy"));
  for (const each of scores) score.append(el("option", { value: each.name }, each.name + (each.chosen ? " (chosen)" : "")));
  const numbers = LIMITS.map(([name, label, placeholder, min, max, step]) => ({
    name,
    label,
    input: el("input", { type: "number", min, max, step, placeholder, onchange: changed, "data-field": name }),
  }));
  const read = () => {
    const candidate = { score: score.value };
    for (const { name, input } of numbers) if (input.value !== "" && input.checkValidity()) candidate[name] = Number(input.value);
    return candidate;
  };
  const apply = async () => {
    told.textContent = "asking…";
    try {
      told.textContent = clean(await request("policy", read(), session.csrf));
    } catch (error) {
      told.textContent = `not done: ${clean(error.message)}`;
    }
  };
  const made = el(
    "fieldset",
    { "data-side": side },
    el("legend", {}, side),
    el("label", {}, "Score ", score),
    ...numbers.map(({ label, input }) => el("label", {}, `${label} `, input)),
    session.applies ? el("button", { type: "button", onclick: apply }, `Apply ${side} to the lab`) : null,
  );
  return { form: made, read };
}

function shown({ at, a, b }) {
  const names = [...new Set([...Object.keys(a.nodes), ...Object.keys(b.nodes)])].sort();
  const of = (tried, name) => (Object.hasOwn(tried.nodes, name) ? tried.nodes[name] : {});
  const rows = names.map((name) => {
    const [one, other] = [of(a, name), of(b, name)];
    return [named(name), judged(one), judged(other), one.kind === other.kind ? "" : "≠"];
  });
  rows.sort((x, y) => (y[3] === "≠") - (x[3] === "≠"));
  const gone = (tried) => new Set(tried.evictions.map(([vm]) => vm));
  const both = [...gone(a)].filter((vm) => gone(b).has(vm)).length;
  return [
    el("p", { "data-part": "verdict" }, `At ${clock(at)}: A ${verdict(a)}; B ${verdict(b)}; ${both} VMs are evicted by both.`),
    table("What each makes of the nodes; ≠ where they differ", ["node", "A", "B", ""], rows.slice(0, MOST_ROWS)),
    rows.length > MOST_ROWS ? el("p", { class: "quiet" }, `… and ${rows.length - MOST_ROWS} more nodes`) : null,
    table("Evictions, in order", ["", "A", "B"], evictions(a, b)),
  ].filter(Boolean);
}

const verdict = (tried) => (tried.evictions.length ? `evicts ${tried.evictions.length}` : `evicts nothing${tried.problem ? `: ${tried.problem}` : ""}`);

function judged(node) {
  const sign = node.kind === "over" ? " ▲" : node.kind === "under" ? " ▼" : "";
  const number = node.percent === undefined ? "–" : `${node.percent.toFixed(0)} %`;
  return el("span", { class: node.kind === "over" || node.kind === "under" ? node.kind : null }, number + sign);
}

function evictions(a, b) {
  const cell = (tried, at) => (tried.evictions[at] ? el("span", {}, named(tried.evictions[at][0]), " from ", named(tried.evictions[at][1])) : "");
  const count = Math.max(a.evictions.length, b.evictions.length);
  return Array.from({ length: Math.min(count, MOST_ROWS) }, (_, at) => [String(at + 1), cell(a, at), cell(b, at)]);
}

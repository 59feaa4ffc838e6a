// What the other services say of themselves: the balancer's plans, promised availability, the advisor's plans.

import { clean, clock, el, named, table } from "./dom.js";
import { ask, request } from "./feed.js";

/** `told` is what came of the change after which all is asked for again. */
export async function showPlaces(place, session, told = "") {
  const title = el("h2", {}, "Plans and promises");
  const said = el("p", { role: "status", "data-part": "asked" }, told);
  place.replaceChildren(title, said, el("p", {}, told ? "" : "asking…"));
  const change = session.changes ? (body) => act(place, session, said, body) : null;
  try {
    const found = await ask("places");
    const parts = [plans(found.plans, change), accounts(found.accounts), configs(found.configs, change)].flat();
    const none = el("p", { class: "quiet" }, "Neither the balancer nor QoS nor the advisor is installed here, or the page may not read what they write.");
    place.replaceChildren(title, said, ...(parts.length ? parts : [none]));
    await predict(place, found.configs ?? []);
  } catch (error) {
    place.replaceChildren(title, el("p", { class: "quiet" }, error.message));
  }
  place.dataset.answered = "1";
}

/** Asks for a change of a plan, then shows everything anew. */
async function act(place, session, said, body) {
  said.textContent = "asking…";
  try {
    const asked = clean(await request("plan", body, session.csrf));
    if (!place.hidden) await showPlaces(place, session, asked);
  } catch (error) {
    said.textContent = `not done: ${clean(error.message)}`;
  }
}

const buttons = (label, ...children) => el("div", { class: "actions", role: "group", "aria-label": label }, ...children);

function plans(found, change) {
  if (!found) return [];
  const head = el("h3", {}, `Plans of the balancer: ${found.length}`);
  return [
    head,
    ...found.map((plan) =>
      el("details", { "data-plan": plan.name, open: plan.waits }, el("summary", {}, named(plan.name), ` · ${plan.phase || "new"} · ${plan.moves.length} moves`), ...planParts(plan, change)),
    ),
  ];
}

function planButtons(plan, change) {
  const ask = (action) => () => change({ kind: "plan", action, name: plan.name });
  return buttons(
    `Change ${plan.name}`,
    plan.waits ? el("button", { type: "button", onclick: ask("approve") }, "Approve") : null,
    el("button", { type: "button", onclick: ask("cancel") }, "Cancel"),
  );
}

function planParts(plan, change) {
  const least = plan.leastMoves ? `, ${plan.leastMoves} needed at least` : "";
  const end = plan.over ? `, ${plan.excessNow.toFixed(1)} at its end` : "";
  const excess = `excess ${plan.excessBefore.toFixed(1)} points → ${plan.excessAfter.toFixed(1)} planned${end}`;
  const rows = plan.moves.map((move) => [
    named(move.vm),
    named(move.source),
    named(move.target),
    `${move.gain.toFixed(1)}`,
    `${move.seconds.toFixed(0)} s${move.actual ? ` (took ${move.actual.toFixed(0)} s)` : ""}`,
    move.outcome + (move.reason ? `: ${move.reason}` : ""),
    move.why,
  ]);
  return [
    el("p", {}, `${clock(plan.at)} · mode ${plan.mode} · ${plan.moves.length} moves planned${least} · ${excess}`),
    plan.message ? el("p", {}, plan.message) : null,
    change && !plan.over ? planButtons(plan, change) : null,
    table("Its moves", ["VM", "from", "to", "gain", "copy", "outcome", "why"], rows),
  ].filter(Boolean);
}

function accounts(found) {
  if (!found) return [];
  const behind = found.filter((each) => each.state === "violated").length;
  const risk = found.filter((each) => each.state === "atRisk").length;
  const rows = found.map((each) => [named(each.name), each.state, each.qos, each.ttv, each.running, each.waiting, each.gap]);
  return [
    el("h3", {}, `Promised availability: ${found.length} accounts, ${behind} behind, ${risk} at risk`),
    table("Who is behind comes first", ["controller", "state", "availability", "left until it is missed", "ran", "waited", "not known"], rows),
  ];
}

function configs(found, change) {
  if (!found) return [];
  return found.flatMap((config) => [
    el("h3", {}, "Advisor: ", named(config.name), ` · ${config.phase || "new"}`, config.severity ? ` · impact ${config.severity}` : ""),
    config.message ? el("p", {}, config.message) : null,
    config.next ? el("p", { class: "quiet" }, `Next: ${config.next}`) : null,
    config.candidate ? el("p", { "data-effect": config.name }) : null,
    change && (config.waits || config.canGoBack) ? configButtons(config, change) : null,
    ...config.items.map(shownItem),
    config.history.length ? el("details", {}, el("summary", {}, "What happened"), el("ul", {}, ...config.history.map((line) => el("li", {}, line)))) : null,
  ].filter(Boolean));
}

function configButtons(config, change) {
  const ask = (action) => () => change({ kind: "config", action, name: config.name, shown: config.plan });
  const what = config.reverse ? "Approve the way back" : "Approve this plan";
  return buttons(
    `Change ${config.name}`,
    config.waits ? el("button", { type: "button", onclick: ask("approve") }, `${what} (${config.plan})`) : null,
    config.canGoBack ? el("button", { type: "button", onclick: ask("rollback") }, "Roll back") : null,
  );
}

function shownItem(item) {
  const head = el("summary", {}, named(item.name), ` · ${item.verb && item.verb !== "apply" ? `${item.verb} · ` : ""}${item.state}`);
  return el(
    "details",
    { open: item.state === "Pending" && Boolean(item.diff) },
    head,
    item.impact ? el("p", {}, `Impact: ${item.impact}`) : null,
    item.message ? el("p", {}, item.message) : null,
    item.diff ? el("pre", { tabindex: 0, "aria-label": `Diff of ${clean(item.name)}` }, ...item.diff.split("\n").map(diffLine)) : null,
  );
}

const diffLine = (line) => el("span", { class: line.startsWith("+") ? "good" : line.startsWith("-") ? "bad" : null }, `${line}\n`);

/** What the values of a plan would have decided on the newest look, beside the policy's. */
async function predict(place, configs) {
  for (const config of configs) {
    const said = [...place.querySelectorAll("[data-effect]")].find((each) => each.dataset.effect === config.name);
    if (!said) continue;
    try {
      const { at, a, b } = await ask("compare", { a: "{}", b: JSON.stringify(config.candidate) });
      said.textContent = `Predicted on the look of ${clock(at)}: a cycle evicts ${a.evictions.length} with the policy of today, ${effectOf(b)} with the values of this plan.`;
    } catch (error) {
      said.textContent = `No prediction: ${clean(error.message)}`;
    }
  }
}

const effectOf = (tried) => {
  const over = Object.values(tried.nodes).filter((node) => node.kind === "over").length;
  return tried.problem ? `nothing (${tried.problem})` : `${tried.evictions.length} (${over} nodes over)`;
};

// What the other services say of themselves: the balancer's plans, promised availability, the advisor's plans.

import { clock, el, named, table } from "./dom.js";
import { ask } from "./feed.js";

export async function showPlaces(place) {
  const title = el("h2", {}, "Plans and promises");
  place.replaceChildren(title, el("p", {}, "asking…"));
  try {
    const found = await ask("places");
    const parts = [plans(found.plans), accounts(found.accounts), configs(found.configs)].flat();
    const none = el("p", { class: "quiet" }, "Neither the balancer nor QoS nor the advisor is installed here, or the page may not read what they write.");
    place.replaceChildren(title, ...(parts.length ? parts : [none]));
  } catch (error) {
    place.replaceChildren(title, el("p", { class: "quiet" }, error.message));
  }
  place.dataset.answered = "1";
}

function plans(found) {
  if (!found) return [];
  const head = el("h3", {}, `Plans of the balancer: ${found.length}`);
  return [head, ...found.map((plan) => el("details", { "data-plan": plan.name }, el("summary", {}, named(plan.name), ` · ${plan.phase || "new"} · ${plan.moves.length} moves`), ...planParts(plan)))];
}

function planParts(plan) {
  const least = plan.leastMoves ? `, ${plan.leastMoves} needed at least` : "";
  const excess = `excess ${plan.excessBefore.toFixed(1)} points → ${plan.excessAfter.toFixed(1)} planned, ${plan.excessNow.toFixed(1)} now`;
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

function configs(found) {
  if (!found) return [];
  return found.flatMap((config) => [
    el("h3", {}, "Advisor: ", named(config.name), ` · ${config.phase || "new"}`, config.severity ? ` · impact ${config.severity}` : ""),
    config.message ? el("p", {}, config.message) : null,
    ...config.items.map((item) => el("details", {}, el("summary", {}, named(item.name), ` · ${item.state}`), el("p", {}, item.message), item.diff ? el("pre", {}, item.diff) : null)),
    config.history.length ? el("details", {}, el("summary", {}, "What happened"), el("ul", {}, ...config.history.map((line) => el("li", {}, line)))) : null,
  ].filter(Boolean));
}

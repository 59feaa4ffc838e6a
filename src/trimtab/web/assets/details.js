// What a click answers: why a node is over or under, why a VM goes or stays.

import { byId, clean, clock, el, gib, named, percent, points, table } from "./dom.js";
import { vmActions } from "./changes.js";
import { ask } from "./feed.js";

export class Details {
  /** `open(what)` selects another node or VM; `session()` says what the viewer may change. */
  constructor(place, open, session) {
    this.place = place;
    this.open = open;
    this.session = session;
    this.asked = 0;
    this.follow = () => {}; // fits what changes from look to look to the newest state
  }

  close() {
    this.asked += 1;
    this.follow = () => {};
    this.place.hidden = true;
    this.place.replaceChildren();
  }

  /** Shows what is known at once and the answer when it comes; an older answer is dropped.
   *  `silent` says why nobody can be asked. */
  async show(what, timeline, index, silent) {
    const mine = ++this.asked;
    const state = timeline.stateAt(index);
    const body = what.vm ? this.vmFacts(what.vm, state, timeline, index) : this.nodeFacts(what.node, state);
    const vm = what.vm && !silent ? state.vms.get(what.vm) : null;
    const actions = vm ? vmActions(what.vm, vm, state, this.session()) : null;
    this.follow = (now) => {
      body.follow?.(now);
      actions?.follow(now);
    };
    const why = el("div", { "aria-live": "polite" }, silent ? "" : "asking why…");
    const close = el("button", { class: "close", type: "button", "aria-label": "Close details", onclick: () => this.close() }, "×");
    this.place.replaceChildren(close, ...body.head, ...(actions ? [actions.place] : []), why, ...body.rest);
    this.place.hidden = false;
    if (silent) {
      why.replaceChildren(el("p", { class: "quiet" }, silent));
      this.place.dataset.answered = what.vm ?? what.node;
      return;
    }
    try {
      const answer = what.vm ? await ask("vm", { name: what.vm }) : await ask("node", { name: what.node });
      if (mine === this.asked) why.replaceChildren(...(what.vm ? vmWhy(answer, this.open) : nodeWhy(answer)));
    } catch (error) {
      if (mine === this.asked) why.replaceChildren(el("p", { class: "quiet" }, error.message));
    }
    if (mine === this.asked) this.place.dataset.answered = what.vm ?? what.node;
  }

  nodeFacts(name, state) {
    const node = state.nodes.get(name);
    if (!node) return gone("Node ", name);
    const vms = [...state.vms].filter(([, vm]) => vm.node === name).sort((a, b) => (b[1].cpu ?? 0) - (a[1].cpu ?? 0));
    const marks = [node.ready === false ? "not Ready" : "", node.cordoned ? "cordoned" : "", node.zone ?? ""];
    const head = [
      el("h2", {}, "Node ", named(name)),
      el("p", {}, kindOf(node), ` · CPU ${percent(node.cpu, 1)} · memory ${percent(node.memory, 1)} · pressure ${percent(node.pressure, 1)}`),
      el("p", { class: "quiet" }, marks.filter(Boolean).join(" · ")),
    ];
    const rest = [
      el("h3", {}, `${vms.length} VMs`),
      el("ul", {}, ...vms.slice(0, 100).map(([vm, known]) => el("li", {}, this.link(vm, { node: name, vm }), ` ${cores(known.cpu)}, ${gib(known.memory)}`))),
      vms.length > 100 ? el("p", { class: "quiet" }, `… and ${vms.length - 100} more; search finds them`) : null,
    ];
    return { head, rest: rest.filter(Boolean) };
  }

  vmFacts(name, state, timeline, index) {
    const vm = state.vms.get(name);
    if (!vm) return gone("VM ", name);
    const moves = el("div", { "data-part": "moves" });
    const follow = (now) => moves.replaceChildren(...movesOf(name, now));
    follow(state);
    const places = timeline.placesOf(name, index).slice(-12);
    const head = [
      el("h2", {}, "VM ", named(name)),
      el("p", {}, "on ", this.link(vm.node ?? "", { node: vm.node }), ` · ${cores(vm.cpu)} · ${gib(vm.memory)}`),
      vm.evict ? el("p", { class: "over" }, "◆ A cycle now would evict it.") : null,
      vm.stays ? el("p", {}, "It cannot move now: ", vm.stays) : null,
      moves,
    ];
    const rest = [
      el("h3", {}, "Where it was"),
      el("ul", {}, ...places.map((place) => el("li", {}, `${clock(place.at)} `, place.node === null ? "nowhere" : named(place.node)))),
    ];
    return { head: head.filter(Boolean), rest, follow };
  }

  link(text, what) {
    return el("button", { class: "link", type: "button", onclick: () => this.open(what) }, named(text));
  }
}

const gone = (what, name) => ({
  head: [el("h2", {}, what, named(name)), el("p", {}, "It is not there at this moment.")],
  rest: [],
});

function movesOf(name, state) {
  const mine = [...state.moves.values()].filter((move) => move.vm === name);
  return mine.map((move) =>
    el("p", {}, `Move ${move.phase ?? "Pending"}: `, named(move.source ?? "…"), " → ", named(move.target ?? "…"), move.reason ? ` (${move.reason})` : ""),
  );
}

const cores = (cpu) => (cpu === null || cpu === undefined ? "CPU not known" : `${cpu.toFixed(2)} cores`);

function kindOf(node) {
  const kind = node.kind || "class not known";
  return el("strong", { class: node.kind }, kind);
}

function nodeWhy(answer) {
  const parts = [el("h3", {}, `Why, at ${clock(answer.at)}`), el("p", { "data-part": "verdict" }, answer.verdict)];
  for (const run of answer.runs) {
    const { node } = run;
    const classes = node.possible?.length ? node.possible.join(" or ") : node.nodeClass;
    parts.push(el("p", { "data-part": "class" }, `${run.plugin}: ${classes}`));
    for (const [resource, d] of Object.entries(node.distances ?? {})) {
      const mean = run.average[resource] === undefined ? "" : `mean ${run.average[resource].toFixed(2)}, `;
      parts.push(
        el(
          "p",
          { "data-part": "distance" },
          `${resource}: ${d.percent === null ? "–" : `${d.percent.toFixed(0)} %`}; ${mean}under up to ${d.low.toFixed(2)}, over above ${d.high.toFixed(2)}; ${points(d.aboveHigh)} above high, ${points(d.aboveLow)} above low`,
        ),
      );
    }
    if (node.stop) parts.push(el("p", { "data-part": "stop" }, `then: ${node.stop} (${node.stopRule})`));
    if (node.note) parts.push(el("p", { "data-part": "note" }, node.note));
    if (run.evictions.length) {
      parts.push(table("Would go", ["pod", "why this one"], run.evictions.map((e) => [named(`${e.namespace}/${e.name}`), e.why])));
    }
    const pods = run.pods.filter((pod) => pod.verdict !== "evicted");
    if (pods.length) {
      parts.push(table("Pods that stay", ["pod", "verdict", "rule", "why"], pods.slice(0, 60).map((p) => [named(`${p.namespace}/${p.name}`), p.verdict, p.rule, p.text])));
      if (pods.length > 60) parts.push(el("p", { class: "quiet" }, `… and ${pods.length - 60} more (trimtab explain --all)`));
    }
  }
  return parts;
}

function vmWhy(answer) {
  const parts = [el("h3", {}, `What the planner thinks, at ${clock(answer.at)}`), el("p", { "data-part": "why" }, answer.why)];
  if (answer.targets.length) {
    const rows = answer.targets.map((t) => [named(t.target), t.gain.toFixed(1), `${t.seconds.toFixed(0)} s`, t.rule, t.why]);
    parts.push(table("Targets, best first", ["target", "gain", "copy", "rule", "why not, or why"], rows));
  }
  if (answer.pods.length || answer.evictions.length) parts.push(el("h3", {}, "What the descheduler thinks"));
  for (const each of answer.evictions) parts.push(el("p", { "data-part": "evicted" }, `it would be evicted: ${each.why}`));
  for (const pod of answer.pods) parts.push(el("p", { "data-part": "pod" }, `${pod.verdict} (${pod.rule}): ${pod.text}`));
  return parts;
}

/** All scores side by side, and which of them would act now. */
export async function showScores(place, silent, session) {
  if (silent) {
    place.replaceChildren(el("h2", {}, "All scores, now"), el("p", { class: "quiet" }, silent));
    return;
  }
  place.replaceChildren(el("h2", {}, "All scores, now"), el("p", {}, "asking…"));
  try {
    const scores = await ask("scores");
    place.replaceChildren(el("h2", {}, "All scores, now"), scoreTable(scores, session.prometheus));
  } catch (error) {
    place.replaceChildren(el("h2", {}, "All scores, now"), el("p", { class: "quiet" }, error.message));
  }
  place.dataset.answered = "1";
}

function scoreTable(scores, prometheus) {
  const nodes = [...new Set(scores.flatMap((score) => Object.keys(score.values)))].sort().slice(0, 40);
  const rows = scores.map((score) => {
    const acts = score.problem || (score.evictions ? `evicts ${score.evictions}` : "does nothing");
    const over = new Set(score.over);
    const under = new Set(score.under);
    return [
      el("span", { title: score.choose }, prometheus ? queryLink(prometheus, score.query, score.name) : score.name, score.chosen ? " (chosen)" : ""),
      acts,
      ...nodes.map((node) => {
        const value = Object.hasOwn(score.values, node) ? (100 * score.values[node]).toFixed(0) : "–";
        const sign = over.has(node) ? " ▲" : under.has(node) ? " ▼" : "";
        const shown = prometheus && value !== "–" ? queryLink(prometheus, `${score.query}{instance=${JSON.stringify(node)}}`, value + sign) : value + sign;
        return el("span", { class: over.has(node) ? "over" : under.has(node) ? "under" : null }, shown);
      }),
    ];
  });
  return table("Per cent for each node; ▲ over, ▼ under with this score", ["score", "a cycle now", ...nodes], rows);
}

/** What is shown leads to its query in Prometheus' own pages. */
function queryLink(prometheus, query, shown) {
  const href = `${prometheus}/query?${new URLSearchParams({ "g0.expr": query, "g0.tab": "table" })}`;
  return el("a", { href, target: "_blank", rel: "noopener noreferrer" }, shown);
}

/** The table behind the picture. Rows stay and only texts that changed are written: that costs
 *  a tenth of new rows, and whoever reads with a screen reader keeps the place. */
export function fillTable(map, state) {
  write(
    byId("node-rows"),
    map.boxes.map(({ name, node, vms }) => {
      const left = node.high === undefined || node.percent === undefined ? null : node.high - node.percent;
      return [
        clean(name),
        node.kind || "?",
        node.percent === undefined ? "–" : `${points(node.percent)} %`,
        points(left),
        percent(node.cpu),
        percent(node.memory),
        percent(node.pressure),
        String(vms.length),
        clean(node.zone ?? ""),
      ];
    }),
  );
  const moves = [...state.moves.values()];
  write(
    byId("move-rows"),
    moves.map((move) => [clean(move.vm), clean(move.source ?? "…"), clean(move.target ?? "…"), move.phase ?? "Pending"]),
  );
}

function write(body, rows) {
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((texts, at) => {
    const row = body.rows[at] ?? body.appendChild(emptyRow(texts.length));
    texts.forEach((text, column) => {
      const place = row.cells[column].firstChild;
      if (place.textContent !== text) place.textContent = text;
    });
  });
}

const emptyRow = (columns) =>
  el(
    "tr",
    {},
    ...Array.from({ length: columns }, (_, at) => el(at ? "td" : "th", at ? {} : { scope: "row" }, el("bdi", { class: "name" }))),
  );

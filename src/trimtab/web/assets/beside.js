// Compare over time: a second map beside the first, at the same moment of another time, as the
// balancer would have it, or of another file.

import { byId, clean, el, named, table } from "./dom.js";
import { ask } from "./feed.js";
import { NodeMap } from "./map.js";
import { Timeline } from "./timeline.js";

const MOST_ROWS = 50;
const SHADOW_POINTS = 60; // states that are computed for the line of what the balancer would have
const AGO = [
  [600, "10 minutes before"],
  [3600, "an hour before"],
  [86400, "a day before"],
  [604800, "a week before"],
];

export class Beside {
  /** `moved()`: the choice changed, so the page is drawn again. */
  constructor(timeline, moved) {
    this.timeline = timeline;
    this.moved = moved;
    this.mode = "";
    this.other = new Timeline();
    this.plans = [];
    this.map = new NodeMap(byId("map-beside"), () => null);
    this.cached = [null, null]; // the timeline's newest change, and the line up to it
  }

  get open() {
    return this.mode !== "";
  }

  /** The choice of what stands beside; drawn into the place Compare. */
  chooser(session) {
    const select = el("select", { id: "beside-what", onchange: () => this.choose(select.value) }, el("option", { value: "" }, "nothing: candidates on the newest look"));
    for (const [seconds, text] of AGO) select.append(el("option", { value: String(seconds) }, `the same cluster ${text}`));
    select.append(el("option", { value: "shadow" }, "as the balancer would have it (its newest plan)"));
    if (session.beside) select.append(el("option", { value: "file" }, clean(session.beside)));
    select.value = this.mode;
    return el("label", {}, "Beside the map ", select);
  }

  async choose(mode) {
    this.mode = mode;
    this.cached = [null, null];
    try {
      if (mode === "file") {
        this.other = new Timeline();
        this.other.take(await ask("beside"));
      }
      if (mode === "shadow") this.plans = (await ask("places")).plans ?? [];
      this.problem = mode === "shadow" && !this.plans.length ? "The balancer made no plan that the page can read." : "";
    } catch (error) {
      this.problem = clean(error.message);
    }
    this.moved();
  }

  /** The moment of the other side that belongs to a moment of this one; null where there is none. */
  momentFor(at) {
    const mine = this.timeline.changes;
    const changes = this.mode === "file" ? this.other.changes : mine;
    if (!changes.length) return null;
    let wanted = at;
    if (this.mode === "file") {
      // another day, or the clock of a simulation: the same time since both started
      const apart = changes.at(-1).at < mine[0].at || changes[0].at > mine.at(-1).at;
      if (apart) wanted = changes[0].at + (at - mine[0].at);
    } else if (this.mode !== "shadow") wanted = at - Number(this.mode);
    return wanted < changes[0].at ? null : wanted;
  }

  stateFor(at) {
    const wanted = this.momentFor(at);
    if (wanted === null) return null;
    if (this.mode === "file") return this.other.stateAt(this.other.indexAt(wanted));
    const state = this.timeline.stateAt(this.timeline.indexAt(wanted));
    return this.mode === "shadow" ? shadowOf(state, planAt(this.plans, at)) : state;
  }

  /** Draws the other side for the moment that is shown. */
  show(state, look) {
    byId("beside-place").hidden = !this.open;
    if (!this.open) return;
    const other = this.problem ? null : this.stateFor(state.at);
    byId("map-beside").hidden = !other;
    byId("beside-text").textContent = this.problem || (other ? "" : "Nothing is known of that moment.");
    byId("beside-differences").replaceChildren();
    document.documentElement.dataset.beside = other ? String(other.at) : "none";
    if (!other) return;
    this.map.order = look.order;
    this.map.colour = look.colour;
    this.map.search = look.search;
    this.map.show(other);
    const elsewhere = [...state.vms].filter(([name, vm]) => other.vms.has(name) && other.vms.get(name).node !== vm.node);
    const when = this.mode === "shadow" ? "As the balancer would have it" : `At ${new Date(1000 * other.at).toLocaleString()}`;
    byId("beside-text").textContent =
      `${when}: imbalance ${told(other)} points (left ${told(state)}), ${elsewhere.length} VMs elsewhere than on the left.`;
    if (!elsewhere.length) return;
    const rows = elsewhere.slice(0, MOST_ROWS).map(([name, vm]) => [named(name), named(vm.node ?? ""), named(other.vms.get(name).node ?? "")]);
    byId("beside-differences").replaceChildren(
      el("summary", {}, "Which VMs"),
      table("VMs that are elsewhere", ["VM", "left", "right"], rows),
      elsewhere.length > MOST_ROWS ? el("p", { class: "quiet" }, `… and ${elsewhere.length - MOST_ROWS} more`) : "",
    );
  }

  /** The imbalance of the other side at the times of the strip. */
  line(times) {
    if (!this.open || this.problem) return times.map(() => null);
    const newest = this.timeline.changes.at(-1);
    if (this.cached[0] !== newest || this.cached[1].length !== times.length) this.cached = [newest, this.computed(times)];
    return this.cached[1];
  }

  computed(times) {
    if (this.mode === "shadow") {
      const step = Math.max(1, Math.ceil(times.length / SHADOW_POINTS));
      return times.map((at, number) => (number % step && number !== times.length - 1 ? null : (this.stateFor(at)?.cluster.imbalance ?? null)));
    }
    const source = this.mode === "file" ? this.other : this.timeline;
    const values = imbalances(source);
    return times.map((at) => {
      const wanted = this.momentFor(at);
      return wanted === null ? null : (values[source.indexAt(wanted)] ?? null);
    });
  }
}

const told = (state) => (state.cluster.imbalance === undefined ? "unknown" : state.cluster.imbalance.toFixed(1));

function imbalances(timeline) {
  let cluster = {};
  return timeline.changes.map((change) => (cluster = change.cluster ?? cluster).imbalance);
}

/** The newest plan at a moment; plans come newest first. */
const planAt = (plans, at) => plans.find((plan) => plan.at <= at && plan.moves.length);

/** The cluster with the moves of a plan made: VMs at their targets, loads with them. */
export function shadowOf(state, plan) {
  const shadow = { ...state, nodes: new Map(state.nodes), vms: new Map(state.vms), moves: new Map() };
  for (const move of plan?.moves ?? []) {
    const vm = shadow.vms.get(move.vm);
    if (!vm || vm.node !== move.source || !shadow.nodes.has(move.target)) continue; // it moved meanwhile
    shadow.vms.set(move.vm, { ...vm, node: move.target });
    shift(shadow.nodes, vm.node, vm, -1);
    shift(shadow.nodes, move.target, vm, 1);
  }
  // classes are the descheduler's, and it has not seen this
  for (const [name, node] of shadow.nodes) shadow.nodes.set(name, { ...node, kind: "", percent: undefined });
  shadow.cluster = { ...state.cluster, imbalance: imbalanceOf(shadow.nodes) };
  return shadow;
}

function shift(nodes, name, vm, sign) {
  const node = nodes.get(name);
  if (!node) return;
  const [cores, bytes] = node.capacity ?? [0, 0];
  const moved = { ...node };
  if (node.cpu !== undefined && vm.cpu !== undefined && cores) moved.cpu = Math.max(0, node.cpu + (sign * vm.cpu) / cores);
  if (node.memory !== undefined && vm.memory !== undefined && bytes) moved.memory = Math.max(0, node.memory + (sign * vm.memory) / bytes);
  nodes.set(name, moved);
}

/** As trimtab.web.feed.from_snapshot.imbalance: the deviation of CPU and memory, in points. */
function imbalanceOf(nodes) {
  const ready = [...nodes.values()].filter((node) => node.ready !== false && typeof node.cpu === "number" && typeof node.memory === "number");
  if (!ready.length) return undefined;
  const variance = (values) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    return values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  };
  return 100 * Math.sqrt(variance(ready.map((node) => node.cpu)) + variance(ready.map((node) => node.memory)));
}

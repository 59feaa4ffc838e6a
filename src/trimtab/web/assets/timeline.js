// Pictures over time: a base, the changes after it, and a state at any of them.
// The same rules as trimtab.web.feed.events: an entry that is null is gone.

const PARTS = ["nodes", "vms", "moves"];
const KEY_EVERY = 64;
const MOST = 3600;
const GAP_S = 120; // nobody looked for so long: no line leads over it

const emptyState = () => ({ at: 0, cluster: {}, nodes: new Map(), vms: new Map(), moves: new Map() });

// Maps, not objects: a node may be called __proto__.
function fromPicture(picture) {
  const state = emptyState();
  state.at = picture.at ?? 0;
  state.cluster = picture.cluster ?? {};
  for (const part of PARTS) state[part] = new Map(Object.entries(picture[part] ?? {}));
  return state;
}

const copyOf = (state) => ({
  at: state.at,
  cluster: state.cluster,
  nodes: new Map(state.nodes),
  vms: new Map(state.vms),
  moves: new Map(state.moves),
});

export function applyChange(state, change) {
  state.at = change.at ?? 0;
  if (change.cluster !== undefined) state.cluster = change.cluster;
  for (const part of PARTS) {
    for (const [name, value] of Object.entries(change[part] ?? {})) {
      if (value === null) state[part].delete(name);
      else state[part].set(name, value);
    }
  }
}

function differenceOf(old, next) {
  const change = { at: next.at, cluster: next.cluster };
  for (const part of PARTS) {
    const entries = [];
    for (const [name, value] of next[part]) entries.push([name, value]);
    for (const name of old[part].keys()) if (!next[part].has(name)) entries.push([name, null]);
    change[part] = Object.fromEntries(entries);
  }
  return change;
}

export class Timeline {
  constructor() {
    this.base = emptyState();
    this.changes = [];
    this.latest = emptyState();
    this.keys = new Map(); // number of applied changes -> state
  }

  /** Takes a whole history; what was seen before a restart of the server stays. */
  take(history) {
    const fresh = new Timeline();
    fresh.base = fromPicture(history.base);
    fresh.latest = copyOf(fresh.base);
    for (const change of history.changes) fresh.add(change);
    const first = fresh.changes[0]?.at ?? fresh.base.at;
    const mine = this.changes[0]?.at ?? Infinity;
    if (!this.changes.length || first <= mine) Object.assign(this, fresh);
    else if (fresh.changes.length) this.add(differenceOf(this.latest, fresh.latest));
  }

  add(change) {
    applyChange(this.latest, change);
    this.changes.push(change);
    if (this.changes.length % KEY_EVERY === 0) this.keys.set(this.changes.length, copyOf(this.latest));
    if (this.changes.length > MOST) this.forget(KEY_EVERY);
  }

  forget(count) {
    for (const change of this.changes.splice(0, count)) applyChange(this.base, change);
    this.keys = new Map([...this.keys].filter(([at]) => at > count).map(([at, state]) => [at - count, state]));
  }

  /** The state after change number `index`; the newest one for anything beyond. */
  stateAt(index) {
    if (index >= this.changes.length - 1) return this.latest;
    const wanted = index + 1;
    const key = Math.floor(wanted / KEY_EVERY) * KEY_EVERY;
    const state = copyOf(this.keys.get(key) ?? this.base);
    for (let at = this.keys.has(key) ? key : 0; at < wanted; at++) applyChange(state, this.changes[at]);
    return state;
  }

  /** The last change at or before a moment. */
  indexAt(moment) {
    let low = 0;
    let high = this.changes.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.changes[middle].at <= moment) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Where a VM was: [{at, node}], oldest first. */
  placesOf(vm, until) {
    const places = [];
    let node = this.base.vms.get(vm)?.node;
    if (node !== undefined) places.push({ at: this.base.at, node });
    for (const change of this.changes.slice(0, until + 1)) {
      if (!change.vms || !Object.hasOwn(change.vms, vm)) continue;
      const now = change.vms[vm] === null ? null : (change.vms[vm].node ?? "");
      if (now !== node) places.push({ at: change.at, node: now });
      node = now;
    }
    return places;
  }

  /** The lines of the strip: times, imbalance, nodes over, evictions due, moves under way. */
  lines() {
    const columns = [[], [], [], [], []];
    let cluster = this.base.cluster;
    for (const change of this.changes) {
      cluster = change.cluster ?? cluster;
      const before = columns[0].at(-1);
      if (before !== undefined && (change.at ?? 0) - before > GAP_S) {
        columns[0].push(before + 1);
        for (const column of columns.slice(1)) column.push(null);
      }
      columns[0].push(change.at ?? 0);
      columns[1].push(cluster.imbalance ?? null);
      columns[2].push(cluster.over ?? 0);
      columns[3].push(cluster.evictions ?? 0);
      columns[4].push(cluster.moving ?? 0);
    }
    return columns;
  }
}

// Pictures over time: changes, the first of which is a whole picture, and a state at any of them.
// The same rules as trimtab.web.feed.picture: an entry that is null is gone.

const PARTS = ["nodes", "vms", "moves"];
const KEY_EVERY = 64;
const KEY_ENTRIES = 20_000; // in a big cluster 64 changes are too many to go through for one moment
const MOST = 3600;
const MOST_ENTRIES = 1_500_000; // nodes, VMs and moves in all changes
const GAP_S = 120; // nothing is known for so long: no line leads over it

// Maps, not objects: a node may be called __proto__.
const emptyState = () => ({ at: 0, cluster: {}, nodes: new Map(), vms: new Map(), moves: new Map() });

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
    const entries = change[part] ?? {};
    // keys, not entries: those of 16,000 VMs as pairs take three times as long
    for (const name of Object.keys(entries)) {
      if (entries[name] === null) state[part].delete(name);
      else state[part].set(name, entries[name]);
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

/** The one change that leads where two in a row lead. */
function joined(first, second) {
  const change = { at: second.at, cluster: second.cluster ?? first.cluster };
  for (const part of PARTS) {
    if (first[part] || second[part]) change[part] = Object.fromEntries([...Object.entries(first[part] ?? {}), ...Object.entries(second[part] ?? {})]);
  }
  return change;
}

const entriesOf = (change) => PARTS.reduce((sum, part) => sum + Object.keys(change[part] ?? {}).length, 1);

export class Timeline {
  constructor() {
    this.changes = [];
    this.latest = emptyState();
    this.forgetKeys();
    this.entries = 0;
  }

  /** Takes a whole history; what was seen before a restart of the server stays. */
  take(history) {
    const fresh = new Timeline();
    for (const change of history.changes) fresh.add(change);
    const first = fresh.changes[0]?.at ?? 0;
    const mine = this.changes[0]?.at ?? Infinity;
    if (!this.changes.length || first <= mine) Object.assign(this, fresh);
    else if (fresh.changes.length) this.add(differenceOf(this.latest, fresh.latest));
  }

  add(change) {
    applyChange(this.latest, change);
    this.changes.push(change);
    this.entries += entriesOf(change);
    this.keep(this.changes.length, this.latest);
    if (this.changes.length > MOST || (this.entries > MOST_ENTRIES && this.changes.length > 2)) this.thin();
  }

  forgetKeys() {
    this.keys = new Map(); // number of applied changes -> state
    this.lastKey = 0;
    this.sinceKey = 0; // entries of the changes since the last key
  }

  /** Keeps a copy of the state after so many changes if the last copy is far away. */
  keep(count, state) {
    this.sinceKey += entriesOf(this.changes[count - 1]);
    const far = Math.max(KEY_ENTRIES, 4 * (state.nodes.size + state.vms.size));
    if (count - this.lastKey < KEY_EVERY && this.sinceKey < far) return;
    this.keys.set(count, copyOf(state));
    this.lastKey = count;
    this.sinceKey = 0;
  }

  /** Pairs of the older half become one, so that the first moment stays within reach for ever. */
  thin() {
    const half = Math.max(3, this.changes.length >> 1);
    const thinned = this.changes.slice(0, 1);
    for (let at = 1; at < half; at += 2) {
      const [first, second] = this.changes.slice(at, Math.min(at + 2, half));
      thinned.push(second ? joined(first, second) : first);
    }
    this.changes = [...thinned, ...this.changes.slice(half)];
    this.entries = this.changes.reduce((sum, change) => sum + entriesOf(change), 0);
    this.forgetKeys();
    const state = emptyState();
    this.changes.forEach((change, at) => {
      applyChange(state, change);
      this.keep(at + 1, state);
    });
  }

  /** The state after change number `index`; the newest one for anything beyond. */
  stateAt(index) {
    if (index >= this.changes.length - 1) return this.latest;
    const wanted = index + 1;
    let key = wanted;
    while (key > 0 && !this.keys.has(key)) key -= 1;
    const state = key ? copyOf(this.keys.get(key)) : emptyState();
    for (let at = key; at < wanted; at++) applyChange(state, this.changes[at]);
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
    let node;
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
    let cluster = {};
    const known = (count) => (count === undefined ? 0 : count); // null: nobody can tell
    for (const change of this.changes) {
      cluster = change.cluster ?? cluster;
      const before = columns[0].at(-1);
      if (before !== undefined && (change.at ?? 0) - before > GAP_S) {
        columns[0].push(before + 1);
        for (const column of columns.slice(1)) column.push(null);
      }
      columns[0].push(change.at ?? 0);
      columns[1].push(cluster.imbalance ?? null);
      columns[2].push(known(cluster.over));
      columns[3].push(known(cluster.evictions));
      columns[4].push(cluster.moving ?? 0);
    }
    return columns;
  }
}

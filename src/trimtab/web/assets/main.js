// The page: one timeline, one moment that is shown, and everything follows it.

import { Beside } from "./beside.js";
import { byId, clean, clock } from "./dom.js";
import { showCompare } from "./compare.js";
import { Details, fillTable, showScores } from "./details.js";
import { Feed } from "./feed.js";
import { NodeMap, niceAbove, readTheme } from "./map.js";
import { showPlaces } from "./places.js";
import { Strip } from "./strip.js";
import { Timeline } from "./timeline.js";

const TABLE_MS = 2000;
const TICK_MS = 100;
const timeline = new Timeline();
let index = 0;
let live = true;
let playing = null;
let tableAt = -Infinity;

const details = new Details(byId("details"), (what) => map.select(what), () => feed.session);
const map = new NodeMap(byId("map"), pick);
const strip = new Strip(byId("strip"), (at) => goTo(timeline.indexAt(at)));
const beside = new Beside(timeline, () => render());
const feed = new Feed({ history: takeHistory, change: takeChange, status: sayStatus, signIn: askToken });

function takeHistory(history, source) {
  const shown = timeline.stateAt(index).at;
  timeline.take(history);
  if (!live) index = timeline.indexAt(shown);
  byId("source").textContent = clean(source);
  document.title = `${clean(source)} · trimtab`;
  if (live) index = timeline.changes.length - 1;
  render();
}

function takeChange(change) {
  const shown = timeline.changes[index]?.at ?? 0;
  timeline.add(change);
  index = live ? timeline.changes.length - 1 : timeline.indexAt(shown);
  render(!live);
}

function sayStatus(text, lost) {
  const place = byId("connection");
  if (place.textContent !== text) place.textContent = text;
  place.classList.toggle("lost", lost);
  document.documentElement.dataset.connected = lost ? "no" : "yes";
}

/** Viewers of a cluster sign in with their own token; it leaves the page at once. */
function askToken() {
  sayStatus("sign in to look", true);
  if (!byId("sign-in").open) byId("sign-in").showModal();
}

async function signIn(event) {
  event.preventDefault();
  const field = byId("token");
  const token = field.value.trim();
  field.value = "";
  const refused = await feed.enter(token).catch((error) => error.message);
  byId("refused").textContent = refused;
  if (refused) return;
  byId("sign-in").close();
  await feed.load();
}

/** Everything for the moment that is shown; `stripOnly` while the past is looked at. */
function render(stripOnly = false) {
  const state = timeline.stateAt(index);
  const slider = byId("moment");
  slider.max = String(Math.max(0, timeline.changes.length - 1));
  slider.value = String(index);
  slider.setAttribute("aria-valuetext", clock(state.at));
  byId("shown-at").textContent = clock(state.at);
  byId("live").setAttribute("aria-pressed", String(live));
  if (timeline.changes.length) {
    const lines = timeline.lines();
    strip.show([...lines, beside.line(lines[0])], state.at, beside.open);
  }
  if (stripOnly) return;
  sayCluster(state);
  beside.show(state, map); // before the map: it takes half of its room
  map.show(state);
  sayScale();
  details.follow(state);
  const now = performance.now();
  if (now - tableAt > TABLE_MS || !live) {
    tableAt = now;
    fillTable(map, state);
  } else scheduleTable();
  document.documentElement.dataset.drawn = String(index + 1);
}

let tableLater = 0;
function scheduleTable() {
  clearTimeout(tableLater);
  tableLater = setTimeout(() => {
    tableAt = performance.now();
    fillTable(map, timeline.stateAt(index));
  }, TABLE_MS);
}

function sayCluster(state) {
  const { cluster } = state;
  const parts = [`${state.nodes.size} nodes, ${state.vms.size} VMs`, cluster.verdict];
  if (cluster.imbalance !== undefined) parts.push(`imbalance ${cluster.imbalance.toFixed(1)} points`);
  parts.push(`${cluster.moving ?? 0} moving, ${cluster.moved ?? 0} moved`);
  byId("verdict").textContent = parts.filter(Boolean).join(" · ");
  const problem = byId("problem");
  problem.hidden = !cluster.problem;
  const text = clean(cluster.problem ?? "");
  if (problem.textContent !== text) problem.textContent = text;
  byId("notes").textContent = (cluster.notes ?? []).map(clean).join(" · ");
  const told = (count) => (count === null ? "an unknown number of" : String(count ?? 0));
  byId("strip-text").textContent =
    `At ${clock(state.at)}: imbalance ${cluster.imbalance ?? "unknown"} points, ${told(cluster.over)} nodes over, ` +
    `${told(cluster.evictions)} evictions due, ${cluster.moving ?? 0} moves under way.`;
}

function sayScale() {
  const pen = byId("scale").getContext("2d");
  const theme = readTheme();
  for (let x = 0; x < 120; x++) {
    pen.fillStyle = theme.ramp(x / 119);
    pen.fillRect(x, 0, 1, 12);
  }
  const byCpu = map.colour === "cpu";
  byId("scale-text").textContent = byCpu ? `0 to ${niceAbove(map.most)} cores of a VM; size is memory` : "0 to 100 % score of its node; size is memory";
}

/** Why the server cannot be asked about this moment; empty if it can. */
function unasked() {
  if (!feed.explains) return "This file holds numbers only: why is answered for a lab, a cluster or a snapshot.";
  return live ? "" : "Why is answered for the newest look; press Live to ask.";
}

function pick(what) {
  details.show(what, timeline, index, unasked());
  byId("selected").textContent = clean(what.vm ?? what.node);
}

function goTo(wanted, goLive = false) {
  index = Math.min(Math.max(0, wanted), Math.max(0, timeline.changes.length - 1));
  live = goLive || index === timeline.changes.length - 1;
  render();
  if (!byId("details").hidden && map.selected) details.show(map.selected, timeline, index, unasked());
}

function play() {
  if (playing) {
    clearInterval(playing);
    playing = null;
  } else {
    if (index >= timeline.changes.length - 1) goTo(0);
    let at = timeline.changes[index]?.at ?? 0;
    playing = setInterval(() => {
      at += (TICK_MS / 1000) * Number(byId("speed").value);
      const next = timeline.indexAt(at);
      if (next !== index) goTo(next);
      if (next >= timeline.changes.length - 1) play();
    }, TICK_MS);
  }
  byId("play").textContent = playing ? "Pause" : "Play";
}

/** Places beside the map, by their buttons: one is open at a time. */
const PLACES = {
  ask: ["scores", (place) => showScores(place, unasked(), feed.session)],
  try: ["compare", (place) => showCompare(place, unasked(), feed.session, beside)],
  others: ["places", (place) => showPlaces(place, feed.session)],
};

function toggle(button) {
  for (const [each, [id, show]] of Object.entries(PLACES)) {
    const place = byId(id);
    place.hidden = each === button ? !place.hidden : true;
    byId(each).setAttribute("aria-expanded", String(!place.hidden));
    delete place.dataset.answered;
    if (!place.hidden) show(place);
    else place.replaceChildren();
  }
}

function toggleTable() {
  const place = byId("nodes");
  const shown = place.classList.toggle("shown");
  byId("tables").setAttribute("aria-expanded", String(shown));
  place.tabIndex = shown ? 0 : -1; // what scrolls must be reached by keyboard
  if (!shown) return;
  fillTable(map, timeline.stateAt(index));
  place.scrollIntoView({ block: "nearest" });
}

function nextOrder() {
  const sort = byId("sort");
  sort.selectedIndex = (sort.selectedIndex + 1) % sort.options.length;
  sort.dispatchEvent(new Event("change"));
}

function closePlaces() {
  const open = Object.entries(PLACES).find(([, [id]]) => !byId(id).hidden);
  if (open) toggle(open[0]);
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const KEYS = {
  "/": () => byId("search").focus(),
  "?": () => byId("keys").showModal(),
  s: nextOrder,
  c: () => toggle("ask"),
  v: () => toggle("try"),
  p: () => toggle("others"),
  t: toggleTable,
  l: () => goTo(Infinity, true),
  "[": () => goTo(index - 1),
  "]": () => goTo(index + 1),
  " ": play,
  Escape: () => (details.place.hidden ? closePlaces() : details.close()),
};

function onMapKey(event) {
  const step = ARROWS[event.key];
  if (step) {
    const box = map.step(...step);
    if (box) byId("selected").textContent = `${clean(box.name)}, ${box.node.kind || "class not known"}, ${box.vms.length} VMs`;
    event.preventDefault();
  } else if (event.key === "Enter" && map.selected) {
    pick(map.selected);
    byId("details").focus();
  }
}

function onKey(event) {
  const leaving = event.key === "Escape" && event.target.closest(".place"); // Esc closes a place from its fields too
  const typing = event.target.matches("input:not([type=range]), select") && !leaving;
  const button = event.target.matches("button, input[type=range]") && event.key === " ";
  if (typing || button || event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

function onSearch(event) {
  map.search = event.target.value.trim().toLowerCase();
  map.update();
}

function onSearchKey(event) {
  if (event.key === "Escape") {
    event.target.value = "";
    onSearch(event);
    byId("map").focus();
  }
  if (event.key !== "Enter" || !map.search) return;
  const box = map.boxes.find((each) => map.matches(each));
  const vm = box?.vms.find(([name]) => name.toLowerCase().includes(map.search));
  if (box) map.select(box.name.toLowerCase().includes(map.search) || !vm ? { node: box.name } : { node: box.name, vm: vm[0] });
}

byId("sort").addEventListener("change", (event) => {
  map.order = event.target.value;
  render();
});
byId("colour").addEventListener("change", (event) => {
  map.colour = event.target.value;
  render();
});
byId("search").addEventListener("input", onSearch);
byId("search").addEventListener("keydown", onSearchKey);
byId("moment").addEventListener("input", (event) => goTo(Number(event.target.value)));
byId("play").addEventListener("click", play);
byId("live").addEventListener("click", () => goTo(Infinity, true));
for (const button of Object.keys(PLACES)) byId(button).addEventListener("click", () => toggle(button));
byId("tables").addEventListener("click", toggleTable);
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("map").addEventListener("keydown", onMapKey);
byId("sign-in-form").addEventListener("submit", signIn);
document.addEventListener("keydown", onKey);

// for tests and the curious
globalThis.trimtabPage = { timeline, map, strip, feed, beside };
await feed.start();

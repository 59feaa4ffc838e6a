// The map: every node a box, every VM a cell in it, every move an arc.
// Boxes and cells are painted once for each picture into a second canvas; a frame while
// things move copies that and draws the arcs only.

import { clean } from "./dom.js";

const SMALLEST = 26;
const LARGEST = 260;
const GAP = 5;
// how far arcs bend aside: the usual first, steeper ones beside it, flat ones where these leave the map
const SLOPES = [0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 0.2, 0.15, 0.1, 0.05];
const EDGE = 4;
const DIGITS = new Intl.Collator(undefined, { numeric: true });
const PHASES = { Pending: 0.1, Scheduling: 0.25, Scheduled: 0.35, PreparingTarget: 0.45, TargetReady: 0.5 };
const REDUCED = matchMedia("(prefers-reduced-motion: reduce)");

const load = (node) => Math.max(node.cpu ?? -1, node.memory ?? -1);
const ORDERS = {
  load: (a, b) => load(b[1]) - load(a[1]),
  score: (a, b) => (b[1].percent ?? -1) - (a[1].percent ?? -1),
  zone: (a, b) => DIGITS.compare(a[1].zone ?? "", b[1].zone ?? ""),
  name: () => 0,
};

export class NodeMap {
  constructor(canvas, picked) {
    this.canvas = canvas;
    this.picked = picked;
    this.painted = document.createElement("canvas");
    this.boxes = [];
    this.byName = new Map();
    this.byVm = new Map();
    this.order = "load";
    this.colour = "cpu";
    this.search = "";
    this.selected = null; // {node} or {node, vm}
    this.state = null;
    this.most = 1;
    this.frame = 0;
    canvas.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.update()).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.update());
    REDUCED.addEventListener("change", () => this.animate());
  }

  show(state) {
    this.state = state;
    this.update();
  }

  update() {
    if (!this.state) return;
    this.theme = readTheme();
    this.layOut();
    this.paint();
    this.draw();
    this.animate();
  }

  layOut() {
    const { nodes, vms } = this.state;
    const entries = [...nodes].sort((a, b) => ORDERS[this.order](a, b) || DIGITS.compare(a[0], b[0]));
    const width = this.canvas.parentElement.clientWidth;
    const room = Math.max(220, innerHeight - this.canvas.getBoundingClientRect().top - scrollY - 230);
    const side = boxSide(entries.length, width, room);
    this.columns = Math.max(1, Math.floor((width + GAP) / (side + GAP)));
    const rows = Math.ceil(entries.length / this.columns);
    this.width = width;
    this.height = Math.max(40, rows * (side + GAP) - GAP);
    this.side = side;
    this.boxes = entries.map(([name, node], at) => ({
      name,
      node,
      x: (at % this.columns) * (side + GAP),
      y: Math.floor(at / this.columns) * (side + GAP),
      vms: [],
      cells: [],
    }));
    this.byName = new Map(this.boxes.map((box, at) => [box.name, at]));
    this.byVm = new Map();
    this.most = 0.001;
    for (const [name, vm] of vms) {
      this.byVm.set(name, vm.node ?? "");
      this.most = Math.max(this.most, vm.cpu ?? 0);
      const at = this.byName.get(vm.node);
      if (at !== undefined) this.boxes[at].vms.push([name, vm]);
    }
    this.most = niceAbove(this.most);
    for (const box of this.boxes) this.layOutCells(box);
  }

  /** Cells fill the box from below as far as memory is taken: what is free stays empty. */
  layOutCells(box) {
    const { inner, head } = frameOf(this.side);
    const left = box.x + 3;
    const top = box.y + head;
    const capacity = box.node.capacity?.[1] || 0;
    const known = box.vms.map(([name, vm]) => [name, vm, vm.memory ?? 2 ** 30]);
    const total = known.reduce((sum, each) => sum + each[2], 0);
    const scale = (inner.width * inner.height) / Math.max(capacity, total, 1);
    known.sort((a, b) => b[2] - a[2] || (a[0] < b[0] ? -1 : 1));
    box.cells = stripes(known, left, top, inner.width, inner.height, scale);
  }

  paint() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    for (const canvas of [this.canvas, this.painted]) {
      canvas.width = Math.max(1, Math.round(this.width * ratio));
      canvas.height = Math.max(1, Math.round(this.height * ratio));
    }
    this.canvas.style.height = `${this.height}px`;
    this.ratio = ratio;
    const pen = this.painted.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    for (const box of this.boxes) this.paintBox(pen, box);
  }

  paintBox(pen, box) {
    const { theme, side } = this;
    const { node } = box;
    const { head } = frameOf(side);
    const found = this.matches(box);
    pen.globalAlpha = found ? 1 : 0.25;
    pen.fillStyle = theme.box;
    pen.fillRect(box.x, box.y, side, side);
    for (const cell of box.cells) {
      pen.fillStyle = theme.ramp(this.colour === "cpu" ? (cell.vm.cpu ?? 0) / this.most : (node.percent ?? 0) / 100);
      pen.fillRect(cell.x, cell.y, cell.w, cell.h);
      if (cell.vm.evict) mark(pen, theme, cell);
    }
    this.paintEdge(pen, box);
    this.paintGauge(pen, box);
    if (side >= 54) this.paintHead(pen, box, head);
    pen.globalAlpha = 1;
  }

  paintEdge(pen, box) {
    const { theme, side } = this;
    const { node } = box;
    const strong = node.kind === "over" || node.kind === "under";
    pen.strokeStyle = node.ready === false ? theme.bad : (theme[node.kind] ?? theme.line);
    pen.lineWidth = strong || node.ready === false ? (side < 54 ? 2 : 3) : 1;
    pen.setLineDash(node.ready === false ? [4, 3] : node.cordoned ? [1, 3] : []);
    const half = pen.lineWidth / 2;
    pen.strokeRect(box.x + half, box.y + half, side - 2 * half, side - 2 * half);
    pen.setLineDash([]);
  }

  /** The score from 0 to 100 % below the cells, with a tick at each threshold. */
  paintGauge(pen, box) {
    const { theme, side } = this;
    const { node } = box;
    if (node.percent === undefined || node.percent === null) return;
    const y = box.y + side - 7;
    const width = side - 6;
    const at = (value) => box.x + 3 + (width * Math.min(100, Math.max(0, value))) / 100;
    pen.fillStyle = theme.line;
    pen.fillRect(box.x + 3, y, width, 4);
    pen.fillStyle = theme[node.kind] ?? theme.quiet;
    pen.fillRect(box.x + 3, y, at(node.percent) - box.x - 3, 4);
    pen.fillStyle = theme.text;
    for (const tick of [node.low, node.high]) {
      if (tick !== undefined && tick !== null) pen.fillRect(at(tick) - 0.75, y - 2, 1.5, 7);
    }
  }

  paintHead(pen, box, head) {
    const { theme, side } = this;
    const { node } = box;
    const sign = { over: "▲", under: "▼" }[node.kind] ?? (node.ready === false ? "!" : node.cordoned ? "∥" : "");
    const score = node.percent === undefined || node.percent === null ? "" : `${node.percent.toFixed(0)} %`;
    pen.font = `${side >= 110 ? 12 : 10}px system-ui, sans-serif`;
    pen.textBaseline = "middle";
    pen.fillStyle = theme[node.kind] ?? theme.text;
    pen.textAlign = "right";
    const right = side >= 80 ? `${score} ${sign}`.trim() : sign;
    pen.fillText(right, box.x + side - 5, box.y + head / 2 + 1);
    const room = side - 12 - pen.measureText(right).width;
    pen.textAlign = "left";
    pen.fillStyle = theme.text;
    pen.fillText(fitted(pen, clean(box.name), room), box.x + 5, box.y + head / 2 + 1);
  }

  matches(box) {
    if (!this.search) return true;
    if (box.name.toLowerCase().includes(this.search)) return true;
    return box.vms.some(([name]) => name.toLowerCase().includes(this.search));
  }

  draw(now = 0) {
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.painted, 0, 0);
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    for (const [move, route] of this.routes()) this.drawMove(pen, move, route, now);
    this.drawSelection(pen);
  }

  drawSelection(pen) {
    const at = this.byName.get(this.selected?.node);
    if (at === undefined) return;
    const box = this.boxes[at];
    pen.strokeStyle = this.theme.focus;
    pen.lineWidth = 2;
    pen.setLineDash([]);
    // inside the edge, whose colour tells the class
    pen.strokeRect(box.x + 4, box.y + 4, this.side - 8, this.side - 8);
    const cell = box.cells.find((each) => each.name === this.selected.vm);
    if (cell) pen.strokeRect(cell.x - 1, cell.y - 1, cell.w + 2, cell.h + 2);
  }

  /** Where each move is drawn; those between the same two nodes lie beside each other. */
  routes() {
    const alike = new Map();
    const found = [];
    for (const move of this.state.moves.values()) {
      const source = move.source || this.byVm.get(move.vm);
      const from = this.centre(source);
      const to = this.centre(move.target);
      if (!from) continue;
      const pair = [source, move.target].sort().join(" ");
      const before = alike.get(pair) ?? 0;
      alike.set(pair, before + 1);
      // there and back are the same bends
      const bends = to && (source < move.target ? this.bends(from, to) : this.bends(to, from));
      found.push([move, { from, bend: bends && bends[before % bends.length], to }]);
    }
    return found;
  }

  /** The bends of arcs between two places that stay on the map, on both sides. */
  bends(from, to) {
    const middle = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
    const found = [];
    for (const slope of SLOPES.flatMap((each) => [each, -each])) {
      const aside = { x: (to.y - from.y) * slope, y: (from.x - to.x) * slope };
      // an arc goes half as far aside as its bend
      const x = middle.x + aside.x / 2;
      const y = middle.y + aside.y / 2;
      if (x > EDGE && y > EDGE && x < this.width - EDGE && y < this.height - EDGE)
        found.push({ x: middle.x + aside.x, y: middle.y + aside.y });
    }
    return found.length ? found : [middle];
  }

  drawMove(pen, move, { from, bend, to }, now) {
    const failed = move.phase === "Failed" || move.phase === "Cancelled";
    pen.strokeStyle = failed ? this.theme.bad : this.theme.focus;
    pen.fillStyle = pen.strokeStyle;
    pen.lineWidth = 2.5;
    if (!to) {
      // The target is not chosen yet: a ring around where it leaves from.
      pen.beginPath();
      pen.arc(from.x, from.y, 7, 0, 7);
      pen.stroke();
      return;
    }
    pen.setLineDash(move.ended ? [] : [7, 5]);
    pen.lineDashOffset = REDUCED.matches ? 0 : -now / 40;
    pen.beginPath();
    pen.moveTo(from.x, from.y);
    pen.quadraticCurveTo(bend.x, bend.y, to.x, to.y);
    pen.stroke();
    pen.setLineDash([]);
    const done = progress(move);
    const rest = 1 - done;
    const x = rest * rest * from.x + 2 * rest * done * bend.x + done * done * to.x;
    const y = rest * rest * from.y + 2 * rest * done * bend.y + done * done * to.y;
    pen.beginPath();
    pen.arc(x, y, 5, 0, 7);
    pen.fill();
    if (failed) {
      pen.font = "bold 16px system-ui, sans-serif";
      pen.fillText("✕", x + 7, y);
    }
  }

  centre(name) {
    const at = this.byName.get(name);
    if (at === undefined) return null;
    return { x: this.boxes[at].x + this.side / 2, y: this.boxes[at].y + this.side / 2 };
  }

  /** Frames only while something is under way and motion is wanted. */
  animate() {
    cancelAnimationFrame(this.frame);
    const moving = this.state && [...this.state.moves.values()].some((move) => !move.ended);
    if (!moving || REDUCED.matches) return;
    const step = (now) => {
      this.draw(now);
      this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }

  click(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const hit = this.at(event.clientX - left, event.clientY - top);
    if (hit) this.select(hit);
  }

  at(x, y) {
    const column = Math.floor(x / (this.side + GAP));
    const box = this.boxes[Math.floor(y / (this.side + GAP)) * this.columns + column];
    if (!box || column >= this.columns || x > box.x + this.side || y > box.y + this.side) return null;
    const cell = box.cells.find((c) => x >= c.x && x <= c.x + c.w && y >= c.y && y <= c.y + c.h);
    return cell ? { node: box.name, vm: cell.name } : { node: box.name };
  }

  select(what) {
    this.highlight(what);
    this.picked(what);
  }

  highlight(what) {
    this.selected = what;
    if (this.state) this.draw();
  }

  /** The next node in a direction; the first one if there is none selected. */
  step(columns, rows) {
    const at = this.byName.get(this.selected?.node);
    const next = at === undefined ? 0 : at + columns + rows * this.columns;
    if (!this.boxes[next]) return null;
    this.highlight({ node: this.boxes[next].name });
    return this.boxes[next];
  }
}

function boxSide(count, width, room) {
  let side = LARGEST;
  while (side > SMALLEST) {
    const columns = Math.max(1, Math.floor((width + GAP) / (side + GAP)));
    if (Math.ceil(count / columns) * (side + GAP) <= room) break;
    side -= 1;
  }
  return Math.min(side, Math.max(SMALLEST, width));
}

function frameOf(side) {
  const head = side >= 54 ? 18 : 4;
  return { head, inner: { width: side - 6, height: side - head - 10 } };
}

/** Cells in horizontal stripes, from below, each as wide as its part of the stripe. */
function stripes(items, left, top, width, height, scale) {
  const cells = [];
  const perRow = Math.max(1, Math.round(Math.sqrt((items.length * width) / Math.max(height, 1))));
  let bottom = top + height;
  for (let at = 0; at < items.length; at += perRow) {
    const row = items.slice(at, at + perRow);
    const area = row.reduce((sum, each) => sum + each[2] * scale, 0);
    const tall = area / width;
    let x = left;
    for (const [name, vm, memory] of row) {
      const wide = area ? (width * memory * scale) / area : 0;
      const gap = wide > 4 && tall > 4 ? 1 : 0;
      cells.push({ name, vm, x, y: bottom - tall, w: Math.max(0.5, wide - gap), h: Math.max(0.5, tall - gap) });
      x += wide;
    }
    bottom -= tall;
  }
  return cells;
}

function mark(pen, theme, cell) {
  const size = Math.max(2, Math.min(cell.w, cell.h, 14) / 2);
  const x = cell.x + cell.w / 2;
  const y = cell.y + cell.h / 2;
  pen.beginPath();
  pen.moveTo(x, y - size);
  pen.lineTo(x + size, y);
  pen.lineTo(x, y + size);
  pen.lineTo(x - size, y);
  pen.closePath();
  pen.fillStyle = theme.back;
  pen.fill();
  pen.strokeStyle = theme.text;
  pen.lineWidth = 1.5;
  pen.stroke();
}

/** Kubernetes tells phases and no bytes: the dot stands where the phase is. */
function progress(move) {
  if (move.ended) return move.phase === "Succeeded" ? 1 : 0.5;
  return PHASES[move.phase ?? "Pending"] ?? 0.65;
}

function fitted(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let length = text.length;
  // the end of a name tells nodes apart, so the beginning is left out
  while (length > 1 && pen.measureText(`…${text.slice(-length)}`).width > room) length -= 1;
  return length > 1 ? `…${text.slice(-length)}` : "";
}

export function niceAbove(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["back", "text", "quiet", "line", "box", "over", "under", "bad", "focus"];
  const theme = Object.fromEntries(names.map((name) => [name, get(name)]));
  const stops = ["c0", "c1", "c2", "c3"].map((name) => rgb(get(name)));
  const cached = Array.from({ length: 65 }, (_, at) => mixed(stops, at / 64));
  theme.ramp = (share) => cached[Math.round(64 * Math.min(1, Math.max(0, share)))];
  return theme;
}

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function mixed(stops, share) {
  const place = share * (stops.length - 1);
  const at = Math.min(stops.length - 2, Math.floor(place));
  const part = place - at;
  return `rgb(${stops[at].map((value, i) => Math.round(value + part * (stops[at + 1][i] - value))).join(" ")})`;
}

// The strip: lines over time by uPlot, and a moment that can be dragged.

import { readTheme } from "./map.js";

const DASHES = [[], [6, 3], [2, 3], [10, 3, 2, 3], [1, 2]];
const NAMES = ["imbalance (points)", "nodes over", "evictions due", "moves under way", "imbalance beside"];
const POINTS = [0, 4]; // lines that are measured in points, not counted
const HEIGHT = 150;
// whole seconds and more: what is looked at every few seconds has no finer times
const STEPS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 7 * 86400, 28 * 86400];
const SECONDS = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const MINUTES = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

export class Strip {
  /** `moved(seconds)`: somebody drags to this moment. */
  constructor(place, moved) {
    this.place = place;
    this.moved = moved;
    this.moment = null;
    this.columns = NAMES.map(() => []).concat([[]]);
    this.beside = false;
    this.chart = null;
    this.pending = 0;
    new ResizeObserver(() => this.chart?.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.build());
    place.addEventListener("pointerdown", (event) => this.drag(event));
    place.addEventListener("pointermove", (event) => event.buttons === 1 && this.drag(event));
  }

  /** `beside`: whether the last line, that of what is compared with, is shown. */
  show(columns, moment, beside) {
    this.columns = beside ? columns : columns.slice(0, NAMES.length);
    this.moment = moment;
    if (!this.chart || beside !== this.beside) {
      this.beside = beside;
      this.build();
    }
    // at most one redraw a frame, however quickly changes come
    cancelAnimationFrame(this.pending);
    this.pending = requestAnimationFrame(() => this.chart.setData(this.columns));
  }

  build() {
    if (!this.columns[0].length) return;
    const theme = readTheme();
    const colours = [theme.text, theme.over, theme.bad, theme.under, theme.focus];
    const axis = { stroke: theme.quiet, grid: { stroke: theme.line, width: 0.5 }, ticks: { stroke: theme.line } };
    this.chart?.destroy();
    this.chart = new globalThis.uPlot(
      {
        width: this.place.clientWidth,
        height: HEIGHT,
        cursor: { drag: { x: false, y: false } },
        legend: { live: false },
        scales: { points: { range: upFromZero }, count: { range: upFromZero } },
        axes: [{ ...axis, size: 44, space: 60, incrs: STEPS, values: times }, { ...axis, scale: "points", size: 40 }, { ...axis, scale: "count", side: 1, size: 40, grid: { show: false } }],
        series: [
          {},
          ...NAMES.slice(0, this.beside ? NAMES.length : -1).map((label, at) => ({
            label,
            stroke: colours[at],
            dash: DASHES[at],
            width: 1.5,
            scale: POINTS.includes(at) ? "points" : "count",
            points: { show: false },
            spanGaps: at === 4,
          })),
        ],
        hooks: { draw: [(chart) => this.drawMoment(chart, theme)] },
      },
      this.columns,
      this.place,
    );
  }

  drawMoment(chart, theme) {
    if (this.moment === null) return;
    const x = chart.valToPos(this.moment, "x", true);
    chart.ctx.fillStyle = theme.focus;
    chart.ctx.fillRect(x - 1, chart.bbox.top, 2, chart.bbox.height);
  }

  drag(event) {
    if (!this.chart) return;
    const over = this.chart.over.getBoundingClientRect();
    if (event.clientX < over.left || event.clientX > over.right) return;
    if (event.clientY > over.bottom) return;
    this.moved(this.chart.posToVal(event.clientX - over.left, "x"));
  }
}

const upFromZero = (_, low, high) => [0, Math.max(1, (high ?? 1) * 1.1)];

/** The time of each tick, and below it the day where one begins. */
function times(_, ticks, __, ___, step) {
  let before = "";
  return ticks.map((tick) => {
    const date = new Date(1000 * tick);
    const day = DAY.format(date);
    const time = step < 60 ? SECONDS.format(date) : step < 86400 ? MINUTES.format(date) : "";
    const lines = [time, day === before ? "" : day].filter(Boolean);
    before = day;
    return lines.join("\n");
  });
}

// The page of a what-if: the recorded cluster and its settings side by side.
const RECORDED = data.candidates.length - 1;
const labelOf = (candidate) => data.candidates[candidate].label;
function looksOf(candidate) {
  if (candidate === NOTHING) return { color: colour("muted"), type: "dashed" };
  if (candidate === RECORDED) return { color: MOVED, type: "dotted" };
  if (candidate === data.default) return { color: colour("accent"), type: "solid" };
  return { color: colour("gold"), type: "solid" };
}
function lineOf(candidate, values, extra = {}) {
  const { color, type } = looksOf(candidate);
  return {
    type: "line",
    name: labelOf(candidate),
    data: values,
    symbol: "none",
    lineStyle: { color, width: 2, type },
    itemStyle: { color },
    ...extra,
  };
}
const overTime = (picture, unit) =>
  tooltip(
    (items) =>
      `${escape(items[0].name)} ${longRun(picture) ? "h" : "min"}<br>${items.map((i) => `${i.marker}${escape(i.seriesName)} ${digits(i.value)}${unit}`).join("<br>")}`,
    { trigger: "axis" },
  );
const valueAxis = (name) => axis({ type: "value", min: 0, name, nameLocation: "middle", nameGap: 40 });
const GRID = { left: 60, right: 20, top: 50, bottom: 44 };

function drawLevel() {
  const picture = pictureOf(0, data.default);
  draw("chart-level", {
    grid: GRID,
    legend: legend({ top: 0 }),
    tooltip: overTime(picture, " points"),
    xAxis: timeAxis(picture),
    yAxis: valueAxis("points"),
    series: data.lines.map(({ candidate, level }) => lineOf(candidate, level)),
  });
}
function drawMoves() {
  const picture = pictureOf(0, data.default);
  const shown = data.lines.map(({ candidate }) => candidate);
  draw("chart-moves", {
    grid: GRID,
    legend: legend({ top: 0 }),
    tooltip: overTime(picture, ""),
    xAxis: timeAxis(picture),
    yAxis: valueAxis("migrations"),
    series: shown.map((candidate) => lineOf(candidate, data.moved[candidate], { step: "end" })),
  });
}
function drawDays() {
  const { names, level } = data.days;
  const candidate = (name) => data.candidates.findIndex(({ label }) => label === name);
  draw("chart-days", {
    grid: GRID,
    legend: legend({ top: 0 }),
    tooltip: tooltip(
      (items) =>
        `day ${escape(items[0].name)}<br>${items.map((i) => `${i.marker}${escape(i.seriesName)} ${digits(i.value)} points`).join("<br>")}`,
      { trigger: "axis" },
    ),
    xAxis: axis({ type: "category", data: level[0].map((_, day) => day + 1), name: "day", nameLocation: "middle", nameGap: 26 }),
    yAxis: valueAxis("points"),
    series: names.map((name, at) => ({
      type: "bar",
      name,
      data: level[at],
      itemStyle: { color: looksOf(candidate(name)).color },
    })),
  });
}
function drawReplay() {
  const times = data.replay.map((_, at) => at * data.replayStep);
  if (!times.length) return;
  const course = { times };
  draw("chart-replay", {
    grid: { ...GRID, top: 20 },
    tooltip: overTime(course, " points"),
    xAxis: timeAxis(course),
    yAxis: valueAxis("points off"),
    series: [{ ...lineOf(data.default, data.replay), name: "CPU of all nodes" }],
  });
}
function drawSides() {
  const shown = data.candidates.map(({ label }, at) => [at, label]).filter(([at]) => pictureOf(0, at));
  for (const side of ["left", "right"]) {
    const select = element(`pick-${side}`);
    select.replaceChildren(...shown.map(([at, label]) => new Option(label, at, false, at === state[side])));
    drawHeat(`chart-heat-${side}`, state[side]);
  }
  drawMap("chart-map-before", state.left, "before");
  drawMap("chart-map-after", state.left, "after");
}
function drawAll() {
  drawLevel();
  drawDays();
  drawMoves();
  drawReplay();
  drawSides();
}

state.right = RECORDED;
element("pick-layer").addEventListener("change", (event) => {
  state.layer = event.target.value;
  drawSides();
});
for (const side of ["left", "right"])
  element(`pick-${side}`).addEventListener("change", (event) => {
    state[side] = Number(event.target.value);
    drawSides();
  });

// The charts of a study's report. Everything comes from the JSON in #data; nothing is fetched.
// `state` says what is shown; each draw function turns it into one ECharts option.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const NOTHING = 0;
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const MOVED = "#8257d8";
const HEAT = ["#2c7a8c", "#7cc0b5", "#e9eecb", "#f6c65b", "#ea7d3c", "#b3202c"];
const CLASS_NAMES = ["under-utilised", "appropriate", "over-utilised"];
const CLASS_COLOURS = ["#5aa9c4", "#b9c4c9", "#d9503f"];
const element = (id) => document.getElementById(id);
const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const short = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
const digits = (value, count = 3) => value === null || value === undefined ? "–"
  : value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 100 ? 4 : count });
const range = (estimate) => `${digits(estimate.value)} (${digits(estimate.low)} to ${digits(estimate.high)})`;
const bytes = (text, Type) => new Type(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

const pictures = new Map(data.pictures.map((picture) => [`${picture.scenario}/${picture.candidate}`, picture]));
const pictureOf = (scenario, candidate) => pictures.get(`${scenario}/${candidate}`);
const state = { table: 0, scenario: 0, left: data.tables[0].pick, right: NOTHING, layer: "cpu" };
if (state.left === NOTHING) state.left = data.default;

// ---- charts and theme -------------------------------------------------------------------------
const charts = new Map();
const dark = () => document.documentElement.dataset.theme
  ? document.documentElement.dataset.theme === "dark"
  : matchMedia("(prefers-color-scheme: dark)").matches;
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function draw(id, option, renderer = "svg") {
  const node = element(id);
  let chart = charts.get(id);
  if (!chart) {
    chart = echarts.init(node, null, { renderer });
    charts.set(id, chart);
  }
  chart.setOption({ animation: false, textStyle: { fontFamily: FONT, color: colour("ink") }, ...option }, true);
  return chart;
}
const axis = (extra = {}) => ({
  nameTextStyle: { color: colour("muted") },
  axisLabel: { color: colour("muted"), ...extra.axisLabel },
  axisLine: { lineStyle: { color: colour("line") } },
  axisTick: { show: false },
  splitLine: { lineStyle: { color: colour("line") } },
  ...Object.fromEntries(Object.entries(extra).filter(([key]) => key !== "axisLabel")),
});
const tooltip = (formatter, extra = {}) => ({
  backgroundColor: colour("card"), borderColor: colour("line"), textStyle: { color: colour("ink"), fontSize: 12.5 }, confine: true, formatter, ...extra,
});
const legend = (extra = {}) => ({ textStyle: { color: colour("muted") }, itemWidth: 14, itemHeight: 10, ...extra });

// ---- balance against migrations ---------------------------------------------------------------
function kindOf(row, table) {
  if (row.candidate === NOTHING) return "nothing";
  if (row.candidate === table.pick) return "pick";
  if (row.candidate === table.best) return "best";
  if (row.candidate === data.default) return "default";
  return "other";
}
function drawFront() {
  const table = data.tables[state.table];
  const look = {
    nothing: { color: colour("muted"), symbol: "diamond", size: 14 }, pick: { color: colour("gold"), symbol: "circle", size: 17 },
    best: { color: colour("accent"), symbol: "circle", size: 14 }, default: { color: colour("accent"), symbol: "emptyCircle", size: 13 },
    other: { color: colour("accent"), symbol: "circle", size: 8 },
  };
  const most = Math.max(...table.rows.map((row) => row.measures.migrations.value));
  const points = table.rows.map((row) => {
    const kind = kindOf(row, table);
    return {
      name: data.candidates[row.candidate].label, value: [row.measures.migrations.value, row.measures.imbalance.value],
      row, symbol: look[kind].symbol, symbolSize: look[kind].size,
      itemStyle: { color: look[kind].color, opacity: kind === "other" ? 0.55 : 1 },
      label: { show: kind !== "other", position: row.measures.migrations.value > 0.6 * most ? "left" : "right", formatter: () => short(`${data.candidates[row.candidate].label}${kind === "other" || kind === "nothing" ? "" : ` (${kind})`}`, 48) },
    };
  });
  const bars = table.rows.map((row) => [
    row.measures.migrations.value, row.measures.imbalance.value, row.measures.migrations.low, row.measures.migrations.high,
    row.measures.imbalance.low, row.measures.imbalance.high,
  ]);
  const front = table.rows.filter((row) => row.onFront).map((row) => [row.measures.migrations.value, row.measures.imbalance.value]).sort((a, b) => a[0] - b[0]);
  const cross = (params, api) => {
    const at = (x, y) => api.coord([x, y]);
    const line = (from, to) => ({ type: "line", shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] }, style: { stroke: colour("muted"), lineWidth: 1, opacity: 0.5 } });
    return { type: "group", children: [line(at(api.value(2), api.value(1)), at(api.value(3), api.value(1))), line(at(api.value(0), api.value(4)), at(api.value(0), api.value(5)))] };
  };
  draw("chart-front", {
    grid: { left: 60, right: 30, top: 24, bottom: 50 },
    tooltip: tooltip((p) => p.data.row ? `<strong>${escape(p.name)}</strong><br>imbalance ${range(p.data.row.measures.imbalance)} points<br>migrations ${range(p.data.row.measures.migrations)}<br>rank ${p.data.row.rank}` : "", { trigger: "item" }),
    xAxis: axis({ type: "value", name: "migrations per run", nameLocation: "middle", nameGap: 30 }),
    yAxis: axis({ type: "value", name: "imbalance, points", nameLocation: "middle", nameGap: 42, scale: true }),
    series: [
      { type: "line", name: "front", data: front, symbol: "none", silent: true, lineStyle: { color: colour("gold"), type: "dashed", width: 1.5 } },
      { type: "custom", name: "intervals", data: bars, renderItem: cross, silent: true, encode: { x: [0, 2, 3], y: [1, 4, 5] } },
      { type: "scatter", name: "candidates", data: points, labelLayout: { hideOverlap: true }, label: { position: "right", color: colour("ink"), fontSize: 12 } },
    ],
  }).off("click").on("click", (p) => p.data.row && choose(p.data.row.candidate));
}

// ---- over time --------------------------------------------------------------------------------
const minutes = (picture) => picture.times.map((time) => digits(time / (longRun(picture) ? 3600 : 60), 3));
const longRun = (picture) => picture.times.at(-1) > 3 * 3600;
const timeAxis = (picture, extra = {}) => axis({ type: "category", data: minutes(picture), name: longRun(picture) ? "hours" : "minutes", nameLocation: "middle", nameGap: 26, splitLine: { show: false }, ...extra });

function drawHeat(id, candidate) {
  const picture = pictureOf(state.scenario, candidate);
  const nodes = data.scenarios[state.scenario].nodes;
  const values = bytes(picture[state.layer], Uint8Array);
  const cells = [];
  for (let row = 0; row < picture.times.length; row++) {
    for (let node = 0; node < nodes.length; node++) cells.push([row, node, values[row * nodes.length + node]]);
  }
  const what = element("pick-layer").selectedOptions[0].textContent;
  draw(id, {
    grid: { left: 96, right: 44, top: 8, bottom: 78 },
    tooltip: tooltip((p) => `<strong>${escape(nodes[p.data[1]])}</strong><br>${escape(p.name)} ${longRun(picture) ? "h" : "min"}: ${escape(what)} ${p.data[2]} %`),
    xAxis: timeAxis(picture),
    yAxis: axis({ type: "category", data: nodes, inverse: true, axisLabel: { formatter: (name) => short(name, 13) } }),
    visualMap: { min: 0, max: 100, type: "continuous", orient: "horizontal", left: "center", bottom: 0, itemWidth: 12, itemHeight: 160, text: ["100 %", "0"], textStyle: { color: colour("muted") }, inRange: { color: HEAT } },
    series: [{ type: "heatmap", name: what, data: cells, progressive: 0, emphasis: { itemStyle: { borderColor: colour("ink"), borderWidth: 1 } } }],
  }, "canvas");
}
function drawCourse(id, candidate) {
  const picture = pictureOf(state.scenario, candidate);
  const nodes = data.scenarios[state.scenario].nodes.length;
  const classes = bytes(picture.classes, Int8Array);
  const counts = [[], [], []];
  for (let row = 0; row < picture.times.length; row++) {
    const slice = classes.subarray(row * nodes, (row + 1) * nodes);
    [-1, 0, 1].forEach((kind, index) => counts[index].push(slice.filter((c) => c === kind).length));
  }
  draw(id, {
    grid: { left: 96, right: 44, top: 30, bottom: 34 },
    legend: legend({ top: 0 }),
    graphic: candidate === NOTHING ? { type: "text", left: "center", top: "middle", style: { text: "nothing is classified, nothing moves", fill: colour("ink"), font: `13px ${FONT}` } } : [],
    tooltip: tooltip((items) => `${escape(items[0].name)} ${longRun(picture) ? "h" : "min"}<br>${items.map((i) => `${i.marker}${escape(i.seriesName)} ${i.value}`).join("<br>")}`, { trigger: "axis" }),
    xAxis: timeAxis(picture, { name: "" }),
    yAxis: [axis({ type: "value", max: nodes, name: "nodes", nameLocation: "middle", nameGap: 34, minInterval: 1 }), axis({ type: "value", minInterval: 1, splitLine: { show: false }, name: "migrations", nameLocation: "middle", nameGap: 26, max: (v) => Math.max(5, v.max) })],
    series: [
      ...CLASS_NAMES.map((name, index) => ({ type: "bar", name, stack: "classes", data: counts[index], barCategoryGap: "0%", itemStyle: { color: CLASS_COLOURS[index], opacity: 0.75 } })),
      { type: "line", name: "migrations", yAxisIndex: 1, data: picture.migrations, step: "middle", symbol: "none", lineStyle: { color: colour("ink"), width: 1.8 }, itemStyle: { color: colour("ink") } },
    ],
  });
}

// ---- node map ---------------------------------------------------------------------------------
function stacks(scenario, place) {
  // One block per VM, [node, from, to, vm] in percent of the node: VMs stand on each other.
  const heights = scenario.nodes.map(() => 0);
  const blocks = [];
  place.forEach((node, vm) => {
    if (node < 0) return;
    const share = (100 * scenario.cores[vm]) / scenario.capacity[node];
    blocks.push([node, heights[node], heights[node] + share, vm]);
    heights[node] += share;
  });
  return { blocks, heights };
}
const shade = (percent) => HEAT[Math.max(0, Math.min(HEAT.length - 1, Math.floor((percent / 100) * HEAT.length)))];
function drawMap(id, candidate, which) {
  const picture = pictureOf(state.scenario, candidate);
  const scenario = data.scenarios[state.scenario];
  const before = bytes(picture.before, Int16Array);
  const after = bytes(picture.after, Int16Array);
  const { blocks, heights } = stacks(scenario, which === "before" ? before : after);
  const tallest = Math.max(100, ...stacks(scenario, before).heights, ...stacks(scenario, after).heights);
  const moved = (vm) => before[vm] !== after[vm] && after[vm] >= 0;
  const mean = heights.reduce((sum, height) => sum + height, 0) / heights.length;
  const block = (params, api) => {
    const [x, top] = api.coord([api.value(0), api.value(2)]);
    const bottom = api.coord([api.value(0), api.value(1)])[1];
    const width = api.size([1, 0])[0] * 0.8;
    const gap = bottom - top > 4 ? 1 : 0;
    const fill = moved(api.value(3)) ? MOVED : shade(heights[api.value(0)]);
    return { type: "rect", shape: { x: x - width / 2, y: top + gap, width, height: Math.max(bottom - top - gap, 0.5) }, style: { fill } };
  };
  const vmsOn = (node) => blocks.filter((b) => b[0] === node).length;
  draw(id, {
    grid: { left: 52, right: 12, top: 14, bottom: 56 },
    tooltip: tooltip((p) => `<strong>${escape(scenario.nodes[p.data[0]])}</strong>: ${digits(heights[p.data[0]])} % of its CPU, ${vmsOn(p.data[0])} VMs<br>${escape(scenario.vms[p.data[3]])}: ${digits(scenario.cores[p.data[3]])} cores${moved(p.data[3]) ? "<br>moved" : ""}`),
    xAxis: axis({ type: "category", data: scenario.nodes, splitLine: { show: false }, axisLabel: { rotate: scenario.nodes.length > 6 ? 40 : 0, formatter: (name) => short(name, 12), fontSize: 11 } }),
    yAxis: axis({ type: "value", max: Math.ceil(tallest / 20) * 20, axisLabel: { formatter: "{value} %" } }),
    series: [{
      type: "custom", name: which, data: blocks, renderItem: block, encode: { x: 0, y: [1, 2] },
      markLine: { silent: true, symbol: "none", label: { show: false }, data: [{ yAxis: mean, lineStyle: { color: colour("ink"), type: "dashed" } }, { yAxis: 100, lineStyle: { color: colour("bad"), type: "solid", width: 1 } }] },
    }],
  }, "canvas");
}

// ---- thresholds and gap -----------------------------------------------------------------------
function families() {
  // Candidates that differ in their thresholds only.
  const found = new Map();
  data.candidates.forEach((candidate, index) => {
    if (index === NOTHING || !candidate.thresholds) return;
    if (!found.has(candidate.family)) found.set(candidate.family, []);
    found.get(candidate.family).push(index);
  });
  const own = data.candidates[data.default].family;
  return [...found.entries()].filter(([, members]) => members.length > 1).sort(([a], [b]) => (b === own) - (a === own)).slice(0, 5);
}
function drawThresholds() {
  const groups = families();
  const section = element("thresholds");
  if (!groups.length) {
    element("thresholds-lead").textContent = "This study has one pair of thresholds only. List several under thresholds: in the study file (or under also:, for one score) to compare them.";
    element("chart-thresholds").remove();
    return;
  }
  const table = data.tables[state.table];
  const rowOf = new Map(table.rows.map((row) => [row.candidate, row]));
  const pairs = [...new Map(groups.flatMap(([, members]) => members).map((m) => [data.candidates[m].thresholds.join(" : "), data.candidates[m].thresholds])).values()].sort((a, b) => a[1] - b[1] || a[0] - b[0]);
  const names = pairs.map((pair) => `${pair[0]} below, ${pair[1]} above`);
  const palette = [colour("accent"), colour("gold"), "#7b8fd4", "#6aa76f", "#b072b8"];
  const pick = (members, name) => pairs.map((pair) => {
    const member = members.find((m) => data.candidates[m].thresholds.join() === pair.join());
    return member === undefined ? null : rowOf.get(member).measures[name];
  });
  const whisker = (params, api) => {
    const [x, low] = api.coord([api.value(0), api.value(1)]);
    const high = api.coord([api.value(0), api.value(2)])[1];
    const shift = (api.value(3) - (groups.length - 1) / 2) * (api.size([1, 0])[0] * 0.6 / groups.length);
    const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colour("ink"), lineWidth: 1.2 } });
    return { type: "group", children: [line(x + shift, low, x + shift, high), line(x + shift - 4, low, x + shift + 4, low), line(x + shift - 4, high, x + shift + 4, high)] };
  };
  draw("chart-thresholds", {
    grid: { left: 60, right: 60, top: 40, bottom: 34 },
    legend: legend({ top: 0, data: groups.flatMap(([name]) => [`${short(name, 40)}: imbalance`, `${short(name, 40)}: migrations`]) }),
    tooltip: tooltip((items) => `<strong>${escape(items[0].name)}</strong><br>${items.filter((i) => i.data && i.data.estimate).map((i) => `${i.marker}${escape(i.seriesName)} ${range(i.data.estimate)}`).join("<br>")}`, { trigger: "axis" }),
    xAxis: axis({ type: "category", data: names, splitLine: { show: false } }),
    yAxis: [axis({ type: "value", name: "imbalance, points" }), axis({ type: "value", name: "migrations", splitLine: { show: false } })],
    series: groups.flatMap(([name, members], index) => [
      { type: "bar", name: `${short(name, 40)}: imbalance`, barWidth: `${60 / groups.length}%`, barGap: "0%", data: pick(members, "imbalance").map((e) => e && { value: e.value, estimate: e }), itemStyle: { color: palette[index], opacity: 0.55, borderRadius: [4, 4, 0, 0] } },
      { type: "line", name: `${short(name, 40)}: migrations`, yAxisIndex: 1, data: pick(members, "migrations").map((e) => e && { value: e.value, estimate: e }), symbolSize: 8, lineStyle: { color: palette[index], width: 2 }, itemStyle: { color: palette[index] } },
      { type: "custom", name: "intervals", silent: true, tooltip: { show: false }, renderItem: whisker, data: pick(members, "imbalance").flatMap((e, at) => (e ? [[at, e.low, e.high, index]] : [])), encode: { x: 0, y: [1, 2] } },
    ]),
  });
  section.dataset.ready = "true";
}
function drawGap() {
  const table = data.tables[state.table];
  const rows = table.rows.filter((row) => row.candidate !== NOTHING).slice(0, 40);
  element("chart-gap").style.height = `${60 + rows.length * 22}px`;
  const chart = draw("chart-gap", {
    grid: { left: 290, right: 60, top: 30, bottom: 30 },
    legend: legend({ top: 0 }),
    tooltip: tooltip((p) => `<strong>${escape(p.name)}</strong><br>migrations ${range(p.data.row.measures.migrations)}<br>minimum ${digits(p.data.row.measures.minimum.value)}<br>${digits(p.data.row.gap.value)} times the minimum`),
    xAxis: axis({ type: "value", name: "migrations", nameLocation: "middle", nameGap: 24 }),
    yAxis: axis({ type: "category", inverse: true, data: rows.map((row) => data.candidates[row.candidate].label), splitLine: { show: false }, axisLabel: { width: 270, overflow: "truncate", color: colour("ink") } }),
    series: [
      { type: "bar", name: "migrations", barWidth: "62%", data: rows.map((row) => ({ value: row.measures.migrations.value, row, itemStyle: { color: row.candidate === table.pick ? colour("gold") : colour("accent"), opacity: row.candidate === table.pick ? 0.9 : 0.6, borderRadius: [0, 4, 4, 0] } })), label: { show: true, position: "right", color: colour("muted"), formatter: (p) => (p.data.row.gap.value === null ? "" : `${digits(p.data.row.gap.value, 2)}×`) }, itemStyle: { color: colour("accent") } },
      { type: "scatter", name: "minimum", data: rows.map((row) => ({ value: row.measures.minimum.value, row })), symbol: "rect", symbolSize: [3, 18], itemStyle: { color: colour("ink") } },
    ],
  });
  chart.resize();
}

// ---- choosing ---------------------------------------------------------------------------------
function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => {
    const option = new Option(text, value);
    option.selected = Number(value) === chosen;
    return option;
  }));
}
function drawCourses() {
  const shown = data.candidates.map((candidate, index) => [index, candidate.label]).filter(([index]) => pictureOf(state.scenario, index));
  for (const side of ["left", "right"]) {
    if (!pictureOf(state.scenario, state[side])) state[side] = shown[0][0];
    fill(element(`pick-${side}`), shown, state[side]);
    drawHeat(`chart-heat-${side}`, state[side]);
    drawCourse(`chart-course-${side}`, state[side]);
  }
  fill(element("pick-scenario"), data.scenarios.map((scenario, index) => [index, scenario.name]), state.scenario);
  element("picture-seed").textContent = pictureOf(state.scenario, state.left).seed;
  element("map-name").textContent = data.candidates[state.left].label;
  drawMap("chart-map-before", state.left, "before");
  drawMap("chart-map-after", state.left, "after");
  document.querySelectorAll("tr[data-candidate]").forEach((row) => row.classList.toggle("selected", Number(row.dataset.candidate) === state.left));
}
function drawTables() {
  document.querySelectorAll(".scope").forEach((scope) => {
    const shown = Number(scope.dataset.table) === state.table;
    scope.classList.toggle("shown", shown);
    if (scope instanceof HTMLDetailsElement) scope.open = shown;
  });
  document.querySelectorAll(".pills button").forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.table) === state.table)));
  drawFront();
  if (element("chart-thresholds")) drawThresholds();
  drawGap();
}
function choose(candidate) {
  if (!pictureOf(state.scenario, candidate)) return;
  state.left = candidate;
  drawCourses();
}
function drawAll() {
  drawTables();
  drawCourses();
}

document.querySelectorAll(".chart-only, .pills, #theme").forEach((node) => { node.hidden = false; });
document.querySelectorAll(".pills button").forEach((button) => button.addEventListener("click", () => {
  state.table = Number(button.dataset.table);
  if (state.table > 0) state.scenario = state.table - 1;
  drawAll();
}));
document.querySelectorAll("tr[data-candidate]").forEach((row) => {
  row.tabIndex = 0;
  const pick = () => choose(Number(row.dataset.candidate));
  row.addEventListener("click", pick);
  row.addEventListener("keydown", (event) => { if (event.key === "Enter") pick(); });
});
element("pick-scenario").addEventListener("change", (event) => { state.scenario = Number(event.target.value); drawCourses(); });
element("pick-layer").addEventListener("change", (event) => { state.layer = event.target.value; drawCourses(); });
for (const side of ["left", "right"]) element(`pick-${side}`).addEventListener("change", (event) => { state[side] = Number(event.target.value); drawCourses(); });
element("theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; drawAll(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
addEventListener("beforeprint", () => charts.forEach((chart) => chart.resize()));
drawAll();
document.documentElement.dataset.drawn = "true";
})();

// Charts of one run: load and classes over time, VMs on their nodes before and after.
const longRun = (picture) => picture.times.at(-1) > 3 * 3600;
const clock = (seconds) =>
  `${Math.floor(seconds / 3600)}:${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")}`;
const moments = (picture) =>
  picture.times.map((time) => timeText(picture, time));
const ROUND_STEPS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
const roundStep = (end) => ROUND_STEPS.find((seconds) => end / seconds <= 8) || end;
const timeText = (picture, time) => (longRun(picture) ? clock(time) : digits(time / 60));
function roundTicks(picture) {
  // Round times, each at the row that is nearest to it.
  const end = picture.times.at(-1);
  const step = roundStep(end);
  const ticks = new Map();
  for (let time = 0; time <= end; time += step) {
    const away = picture.times.map((each) => Math.abs(each - time));
    ticks.set(away.indexOf(Math.min(...away)), timeText(picture, time));
  }
  return ticks;
}
function timeLabels(picture) {
  const ticks = roundTicks(picture);
  return { interval: (index) => ticks.has(index), formatter: (_, index) => ticks.get(index) ?? "" };
}
const timeAxis = (picture, extra = {}) =>
  axis({
    type: "category",
    data: moments(picture),
    name: longRun(picture) ? "hours" : "minutes",
    nameLocation: "middle",
    nameGap: 26,
    splitLine: { show: false },
    axisLabel: timeLabels(picture),
    ...extra,
  });

function drawHeat(id, candidate) {
  const picture = pictureOf(state.scenario, candidate);
  const nodes = data.scenarios[state.scenario].nodes;
  const values = bytes(picture[state.layer], Uint8Array);
  const cells = [];
  for (let row = 0; row < picture.times.length; row++) {
    for (let node = 0; node < nodes.length; node++)
      cells.push([row, node, values[row * nodes.length + node]]);
  }
  const what = element("pick-layer").selectedOptions[0].textContent;
  draw(
    id,
    {
      grid: { left: 96, right: 44, top: 8, bottom: 78 },
      tooltip: tooltip(
        (p) =>
          `<strong>${escape(nodes[p.data[1]])}</strong><br>${escape(p.name)} ${longRun(picture) ? "h" : "min"}: ${escape(what)} ${p.data[2]} %`,
      ),
      xAxis: timeAxis(picture),
      yAxis: axis({
        type: "category",
        data: nodes,
        inverse: true,
        axisLabel: { formatter: (name) => short(name, 13), interval: Math.ceil(nodes.length / 20) - 1 },
      }),
      visualMap: {
        min: 0,
        max: 100,
        type: "continuous",
        orient: "horizontal",
        left: "center",
        bottom: 0,
        itemWidth: 12,
        itemHeight: 160,
        text: ["100 %", "0"],
        textStyle: { color: colour("muted") },
        inRange: { color: HEAT },
      },
      series: [
        {
          type: "heatmap",
          name: what,
          data: cells,
          progressive: 0,
          emphasis: { itemStyle: { borderColor: colour("ink"), borderWidth: 1 } },
        },
      ],
    },
    "canvas",
  );
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
    grid: { left: 96, right: 44, top: element(id).clientWidth < 420 ? 50 : 30, bottom: 34 },
    legend: legend({ top: 0 }),
    graphic:
      candidate === NOTHING
        ? {
            type: "text",
            z: 100,
            left: "center",
            top: "middle",
            style: {
              text: "nothing is classified, nothing moves",
              fill: colour("ink"),
              font: `13px ${FONT}`,
            },
          }
        : [],
    tooltip: tooltip(
      (items) =>
        `${escape(items[0].name)} ${longRun(picture) ? "h" : "min"}<br>${items.map((i) => `${i.marker}${escape(i.seriesName)} ${i.value}`).join("<br>")}`,
      { trigger: "axis" },
    ),
    xAxis: timeAxis(picture, { name: "" }),
    yAxis: [
      axis({ type: "value", max: nodes, name: "nodes", nameLocation: "middle", nameGap: 34, minInterval: 1 }),
      axis({
        type: "value",
        minInterval: 1,
        splitLine: { show: false },
        name: "migrations",
        nameLocation: "middle",
        nameGap: 26,
        max: (v) => Math.max(5, v.max),
      }),
    ],
    series: [
      ...CLASS_NAMES.map((name, index) => ({
        type: "bar",
        name,
        stack: "classes",
        data: counts[index],
        barCategoryGap: "0%",
        itemStyle: { color: CLASS_COLOURS[index], opacity: 0.75 },
      })),
      {
        type: "line",
        name: "migrations",
        yAxisIndex: 1,
        data: picture.migrations,
        step: "middle",
        symbol: "none",
        lineStyle: { color: colour("ink"), width: 1.8 },
        itemStyle: { color: colour("ink") },
      },
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
const shade = (percent) =>
  HEAT[Math.max(0, Math.min(HEAT.length - 1, Math.floor((percent / 100) * HEAT.length)))];
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
    return {
      type: "rect",
      shape: { x: x - width / 2, y: top + gap, width, height: Math.max(bottom - top - gap, 0.5) },
      style: { fill },
    };
  };
  const vmsOn = (node) => blocks.filter((b) => b[0] === node).length;
  draw(
    id,
    {
      grid: { left: 52, right: 12, top: 14, bottom: 56 },
      tooltip: tooltip(
        (p) =>
          `<strong>${escape(scenario.nodes[p.data[0]])}</strong>: ${digits(heights[p.data[0]])} % of its CPU, ${vmsOn(p.data[0])} VMs<br>${escape(scenario.vms[p.data[3]])}: ${digits(scenario.cores[p.data[3]])} cores${moved(p.data[3]) ? "<br>moved" : ""}`,
      ),
      xAxis: axis({
        type: "category",
        data: scenario.nodes,
        splitLine: { show: false },
        axisLabel: {
          rotate: scenario.nodes.length > 6 ? 40 : 0,
          formatter: (name) => short(name, 12),
          fontSize: 11,
        },
      }),
      yAxis: axis({
        type: "value",
        max: Math.ceil(tallest / 20) * 20,
        axisLabel: { formatter: "{value} %" },
      }),
      series: [
        {
          type: "custom",
          name: which,
          data: blocks,
          renderItem: block,
          encode: { x: 0, y: [1, 2] },
          markLine: {
            silent: true,
            symbol: "none",
            label: { show: false },
            data: [
              { yAxis: mean, lineStyle: { color: colour("ink"), type: "dashed" } },
              { yAxis: 100, lineStyle: { color: colour("bad"), type: "solid", width: 1 } },
            ],
          },
        },
      ],
    },
    "canvas",
  );
}

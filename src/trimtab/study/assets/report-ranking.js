// Charts of the candidates: thresholds, gap to the bound.
function families() {
  // Candidates that differ in their thresholds only.
  const found = new Map();
  data.candidates.forEach((candidate, index) => {
    if (index === NOTHING || !candidate.thresholds) return;
    if (!found.has(candidate.family)) found.set(candidate.family, []);
    found.get(candidate.family).push(index);
  });
  const own = data.candidates[data.default].family;
  return [...found.entries()]
    .filter(([, members]) => members.length > 1)
    .sort(([a], [b]) => (b === own) - (a === own))
    .slice(0, 5);
}
function drawThresholds() {
  const groups = families();
  const section = element("thresholds");
  if (!groups.length) {
    element("thresholds-lead").textContent =
      "This study has one pair of thresholds only. List several under thresholds: in the study file (or under also:, for one score) to compare them.";
    element("chart-thresholds").remove();
    return;
  }
  const table = data.tables[state.table];
  const rowOf = new Map(table.rows.map((row) => [row.candidate, row]));
  const pairs = [
    ...new Map(
      groups
        .flatMap(([, members]) => members)
        .map((m) => [data.candidates[m].thresholds.join(" : "), data.candidates[m].thresholds]),
    ).values(),
  ].sort((a, b) => a[1] - b[1] || a[0] - b[0]);
  const names = pairs.map((pair) => `${pair[0]} below,\n${pair[1]} above`);
  const palette = [colour("accent"), colour("gold"), "#7b8fd4", "#6aa76f", "#b072b8"];
  const pick = (members, name) =>
    pairs.map((pair) => {
      const member = members.find((m) => data.candidates[m].thresholds.join() === pair.join());
      return member === undefined ? null : rowOf.get(member).measures[name];
    });
  const whisker = (params, api) => {
    const [x, low] = api.coord([api.value(0), api.value(1)]);
    const high = api.coord([api.value(0), api.value(2)])[1];
    const shift = (api.value(3) - (groups.length - 1) / 2) * ((api.size([1, 0])[0] * 0.6) / groups.length);
    const line = (x1, y1, x2, y2) => ({
      type: "line",
      shape: { x1, y1, x2, y2 },
      style: { stroke: colour("ink"), lineWidth: 1.2 },
    });
    return {
      type: "group",
      children: [
        line(x + shift, low, x + shift, high),
        line(x + shift - 4, low, x + shift + 4, low),
        line(x + shift - 4, high, x + shift + 4, high),
      ],
    };
  };
  draw("chart-thresholds", {
    grid: { left: 60, right: 60, top: 64, bottom: 44 },
    legend: legend({
      top: 0,
      type: "scroll",
      data: groups.flatMap(([name]) => [`${short(name, 40)}: imbalance`, `${short(name, 40)}: migrations`]),
    }),
    tooltip: tooltip(
      (items) =>
        `<strong>${escape(items[0].name)}</strong><br>${items
          .filter((i) => i.data && i.data.estimate)
          .map((i) => `${i.marker}${escape(i.seriesName)} ${range(i.data.estimate)}`)
          .join("<br>")}`,
      { trigger: "axis" },
    ),
    xAxis: axis({ type: "category", data: names, splitLine: { show: false }, axisLabel: { lineHeight: 17, interval: 0 } }),
    yAxis: [
      axis({ type: "value", name: "imbalance, points" }),
      axis({ type: "value", name: "migrations", splitLine: { show: false } }),
    ],
    series: groups.flatMap(([name, members], index) => [
      {
        type: "bar",
        name: `${short(name, 40)}: imbalance`,
        barWidth: `${60 / groups.length}%`,
        barGap: "0%",
        data: pick(members, "imbalance").map((e) => e && { value: e.value, estimate: e }),
        itemStyle: { color: palette[index], opacity: 0.55, borderRadius: [4, 4, 0, 0] },
      },
      {
        type: "line",
        name: `${short(name, 40)}: migrations`,
        yAxisIndex: 1,
        data: pick(members, "migrations").map((e) => e && { value: e.value, estimate: e }),
        symbolSize: 8,
        lineStyle: { color: palette[index], width: 2 },
        itemStyle: { color: palette[index] },
      },
      {
        type: "custom",
        name: "intervals",
        silent: true,
        tooltip: { show: false },
        renderItem: whisker,
        data: pick(members, "imbalance").flatMap((e, at) => (e ? [[at, e.low, e.high, index]] : [])),
        encode: { x: 0, y: [1, 2] },
      },
    ]),
  });
  section.dataset.ready = "true";
}
const isRatio = (row) => /^[\d.,]+$/.test(row.gap);
const times = (row) => (isRatio(row) ? `${row.gap}×` : row.gap);
function drawGap() {
  const table = data.tables[state.table];
  const rows = table.rows.filter((row) => row.candidate !== NOTHING).slice(0, 40);
  element("chart-gap").style.height = `${70 + rows.length * 22}px`;
  const names = Math.min(290, element("chart-gap").clientWidth * 0.42);
  const scale = migrationScale(rows);
  const chart = draw("chart-gap", {
    grid: { left: names, right: 86, top: 30, bottom: 40 },
    legend: legend({ top: 0, data: ["migrations", "minimum"] }),
    tooltip: tooltip(
      (p) =>
        `<strong>${escape(p.name)}</strong><br>migrations ${range(p.data.row.measures.migrations)}<br>minimum ${digits(p.data.row.measures.minimum.value)}<br>${times(p.data.row)}${isRatio(p.data.row) ? " the minimum" : ""}`,
    ),
    xAxis: axis({ type: "value", nameLocation: "middle", nameGap: 24, ...scale.axis }),
    yAxis: axis({
      type: "category",
      inverse: true,
      data: rows.map((row) => `${row.rank} ${data.candidates[row.candidate].label}`),
      splitLine: { show: false },
      axisLabel: { width: names - 20, overflow: "truncate", color: colour("ink") },
    }),
    series: [
      {
        type: "bar",
        name: "migrations",
        barWidth: "62%",
        data: rows.map((row) => ({
          value: scale.of(row.measures.migrations.value),
          row,
          itemStyle: {
            color: row.candidate === table.pick ? colour("gold") : colour("accent"),
            opacity: row.candidate === table.pick ? 0.9 : 0.6,
            borderRadius: [0, 4, 4, 0],
          },
        })),
        itemStyle: { color: colour("accent") },
      },
      {
        type: "scatter",
        name: "minimum",
        data: rows.map((row) => ({ value: scale.of(row.measures.minimum.value), row })),
        symbol: "rect",
        symbolSize: [3, 18],
        itemStyle: { color: colour("ink") },
      },
      {
        // Behind the bar and the tick, whichever is longer: under the tick nobody could read it.
        type: "scatter",
        name: "ratio",
        data: rows.map((row) => ({
          value: scale.of(Math.max(row.measures.migrations.value, row.measures.minimum.value)),
          row,
        })),
        symbolSize: 1,
        silent: true,
        itemStyle: { opacity: 0 },
        label: {
          show: true,
          position: "right",
          distance: 6,
          color: colour("muted"),
          opacity: 1,
          formatter: (p) => times(p.data.row),
        },
      },
    ],
  });
  chart.resize();
}

// Balance against migrations: every candidate a point with its rank, the notable ones with names.
const KINDS = ["pick", "best", "stock", "default", "own", "nothing", "other"];
function kindOf(row, table) {
  if (row.candidate === NOTHING) return "nothing";
  if (row.candidate === table.pick) return "pick";
  if (row.candidate === table.best) return "best";
  if (row.candidate === table.stockPick) return "stock";
  if (row.candidate === data.default) return "default";
  return data.candidates[row.candidate].own ? "own" : "other";
}
const kindLooks = () => ({
  nothing: { color: colour("muted"), symbol: "diamond", size: 14 },
  pick: { color: colour("gold"), symbol: "circle", size: 17 },
  stock: { color: colour("gold"), symbol: "emptyCircle", size: 14 },
  best: { color: colour("accent"), symbol: "circle", size: 14 },
  default: { color: colour("accent"), symbol: "emptyCircle", size: 13 },
  own: { color: MOVED, symbol: "circle", size: 12 },
  other: { color: colour("accent"), symbol: "circle", size: 8 },
});
function wordsOf(row, table) {
  const is = (candidate) => row.candidate === candidate && candidate !== NOTHING;
  const words = [
    is(table.best) && "best",
    is(table.pick) ? "pick" : is(table.stockPick) && "pick of today",
    is(data.default) && "default",
    data.candidates[row.candidate].own && "own score",
  ].filter(Boolean);
  return words.length ? ` (${words.join(", ")})` : "";
}
// ---- the axis of migrations ---------------------------------------------------------------------
function countScale(values, most) {
  // Logarithmic where a quarter of the values would share the first tenth of the length.
  const log = values.filter((value) => value < most / 10).length >= Math.max(2, values.length / 4);
  if (!log) return { of: (x) => x, word: "", axis: { min: 0 } };
  const of = (x) => Math.log10(1 + x);
  const ticks = [0];
  for (let ten = 1; ticks.at(-1) < most; ten *= 10) ticks.push(ten, 2 * ten, 5 * ten);
  const end = ticks.findIndex((tick) => tick >= most);
  const customValues = ticks.slice(0, end + 1).map(of);
  return {
    of,
    word: ", logarithmic",
    axis: {
      min: 0,
      max: customValues.at(-1),
      axisTick: { show: false, customValues },
      axisLabel: { customValues, formatter: (value) => digits(Math.round(10 ** value - 1)) },
    },
  };
}
function migrationScale(rows) {
  const values = rows.filter((row) => row.candidate !== NOTHING).map((row) => row.measures.migrations.value);
  const most = Math.max(1, ...rows.map((row) => row.measures.migrations.high));
  const scale = countScale(values, most);
  return { ...scale, axis: { name: `migrations per run${scale.word}`, ...scale.axis } };
}
const pixelLine = (from, to, opacity) => ({
  type: "line",
  shape: { x1: from[0], y1: from[1], x2: to[0], y2: to[1] },
  style: { stroke: colour("muted"), lineWidth: 1, opacity },
});
function cross(params, api) {
  const at = (x, y) => api.coord([api.value(x), api.value(y)]);
  return { type: "group", children: [pixelLine(at(2, 1), at(3, 1), 0.5), pixelLine(at(0, 4), at(0, 5), 0.5)] };
}
function labelDrawer(points, table) {
  return (params, api) => {
    if (!params.context.places) {
      const { x, y, height } = params.coordSys;
      const area = { x: x + 3, y: 2, right: api.getWidth() - 2, bottom: y + height - 3 };
      const marks = points.map((point) => {
        const [left, top] = api.coord(point.value);
        const named = point.kind !== "other";
        return {
          x: left, y: top, r: point.symbolSize / 2, named,
          name: `${point.row.rank} ${point.name}`, words: wordsOf(point.row, table), short: String(point.row.rank), size: named ? 12 : 10.5,
        };
      });
      params.context.marks = marks;
      params.context.places = placeLabels(marks, area);
    }
    const place = params.context.places[params.dataIndex];
    const mark = params.context.marks[params.dataIndex];
    if (!place) return { type: "group", children: [] };
    const nearest = [
      Math.min(Math.max(mark.x, place.x), place.x + place.width),
      Math.min(Math.max(mark.y, place.y), place.y + place.height),
    ];
    const text = {
      type: "text",
      style: {
        text: place.text, x: place.x + 1, y: place.y + LABEL_HEIGHT / 2, verticalAlign: "middle",
        font: labelFont(mark.size), fill: colour(mark.named ? "ink" : "muted"),
        ...(points[params.dataIndex].boxed
          ? { backgroundColor: colour("card"), padding: [1, 0] }
          : { stroke: colour("card"), lineWidth: 2 }),
      },
    };
    return {
      type: "group",
      children: place.distance > 12 ? [pixelLine([mark.x, mark.y], nearest, 0.8), text] : [text],
    };
  };
}
function drawFront() {
  const table = data.tables[state.table];
  const looks = kindLooks();
  const scale = migrationScale(table.rows);
  const place = (row) => [scale.of(row.measures.migrations.value), row.measures.imbalance.value];
  const points = table.rows
    .map((row) => ({ row, kind: kindOf(row, table) }))
    .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
    .map(({ row, kind }) => ({
      name: data.candidates[row.candidate].label,
      value: place(row),
      row,
      kind,
      symbol: looks[kind].symbol,
      symbolSize: looks[kind].size,
      itemStyle: { color: looks[kind].color, opacity: kind === "other" ? 0.55 : 1 },
    }));
  const bars = table.rows.map(({ measures: { migrations, imbalance } }) => [
    scale.of(migrations.value), imbalance.value,
    scale.of(migrations.low), scale.of(migrations.high), imbalance.low, imbalance.high,
  ]);
  const front = table.rows.filter((row) => row.onFront).map(place).sort((a, b) => a[0] - b[0]);
  draw("chart-front", {
    grid: { left: 52, right: 16, top: 20, bottom: 50 },
    tooltip: tooltip(
      (p) =>
        p.data.row
          ? `<strong>${escape(p.name)}</strong><br>imbalance ${range(p.data.row.measures.imbalance)} points<br>migrations ${range(p.data.row.measures.migrations)}<br>rank ${p.data.row.rank}`
          : "",
      { trigger: "item" },
    ),
    xAxis: axis({ type: "value", nameLocation: "middle", nameGap: 30, ...scale.axis }),
    yAxis: axis({ type: "value", name: "imbalance, points", nameLocation: "middle", nameGap: 36, min: 0 }),
    series: [
      {
        type: "line",
        name: "front",
        data: front,
        symbol: "none",
        silent: true,
        lineStyle: { color: colour("gold"), type: "dashed", width: 1.5 },
      },
      {
        type: "custom",
        name: "intervals",
        data: bars,
        renderItem: cross,
        silent: true,
        encode: { x: [0, 2, 3], y: [1, 4, 5] },
      },
      { type: "scatter", name: "candidates", data: points },
      {
        type: "custom",
        name: "labels",
        data: points.map((point) => point.value),
        renderItem: labelDrawer(points, table),
        silent: true,
        z: 5,
      },
    ],
  })
    .off("click")
    .on("click", (p) => p.data.row && choose(p.data.row.candidate));
}

// Migrations of all candidates of a scenario over time.
function drawMoves() {
  const { times, moved } = data.counts[state.scenario];
  const table = data.tables[data.tables.length > 1 ? state.scenario + 1 : 0];
  const looks = kindLooks();
  const ends = moved.map((counts) => counts.at(-1) ?? 0);
  const scale = countScale(ends.slice(1), Math.max(1, ...ends));
  const course = { times };
  const end = times.at(-1);
  const step = roundStep(end);
  const customValues = Array.from({ length: Math.floor(end / step) + 1 }, (_, at) => at * step);
  const shown = table.rows
    .filter((row) => row.candidate !== NOTHING && moved[row.candidate].length)
    .map((row) => ({ row, kind: kindOf(row, table), name: data.candidates[row.candidate].label }))
    .sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  const points = shown.map(({ row, kind, name }) => ({
    row, kind, name, boxed: true, symbolSize: 4, value: [end, scale.of(ends[row.candidate])],
  }));
  element("moves-scenario").textContent = data.scenarios[state.scenario].name;
  draw("chart-moves", {
    grid: { left: 52, right: 30, top: 20, bottom: 50 },
    tooltip: tooltip(
      (p) =>
        `<strong>${escape(p.seriesName)}</strong><br>${digits(ends[p.data[2]])} migrations in this run<br>rank ${p.data[3]}`,
      { trigger: "item" },
    ),
    xAxis: axis({
      type: "value", min: 0, max: end, name: longRun(course) ? "hours" : "minutes",
      nameLocation: "middle", nameGap: 32,
      axisTick: { show: false, customValues },
      axisLabel: { customValues, margin: 13, formatter: (time) => timeText(course, time) },
    }),
    yAxis: axis({
      type: "value", name: `migrations so far${scale.word}`, nameLocation: "middle", nameGap: 36, ...scale.axis,
    }),
    series: [
      ...shown.map(({ row, kind, name }) => ({
        type: "line",
        name,
        data: [
          [0, 0, row.candidate, row.rank],
          ...moved[row.candidate].map((count, at) => [times[at], scale.of(count), row.candidate, row.rank]),
        ],
        step: "end",
        symbol: "circle",
        symbolSize: 3,
        showSymbol: false,
        triggerLineEvent: true,
        z: kind === "other" ? 2 : 3,
        lineStyle: {
          color: looks[kind].color,
          width: kind === "other" ? 1.2 : 2.4,
          opacity: kind === "other" ? 0.45 : 1,
          type: kind === "stock" || kind === "default" ? "dashed" : "solid",
        },
        itemStyle: { color: looks[kind].color },
        emphasis: { focus: "series", lineStyle: { width: 3.2 } },
      })),
      {
        type: "custom",
        name: "labels",
        data: points.map((point) => point.value),
        renderItem: labelDrawer(points, table),
        silent: true,
        z: 5,
      },
    ],
  });
}

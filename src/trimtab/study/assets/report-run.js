// The page of one run: doing nothing on the right, imbalance of both over time.
const RUN = 1;
function drawImbalance() {
  const picture = pictureOf(0, RUN);
  const line = (which, color, type) => ({
    type: "line",
    name: data.candidates[which].label,
    data: data.imbalance[which],
    symbol: "none",
    lineStyle: { color, width: 2.2, type },
    itemStyle: { color },
  });
  draw("chart-imbalance", {
    grid: { left: 60, right: 20, top: 34, bottom: 44 },
    legend: legend({ top: 0 }),
    tooltip: tooltip(
      (items) =>
        `${escape(items[0].name)} ${longRun(picture) ? "h" : "min"}<br>${items.map((i) => `${i.marker}${escape(i.seriesName)} ${digits(i.value)} points`).join("<br>")}`,
      { trigger: "axis" },
    ),
    xAxis: timeAxis(picture),
    yAxis: axis({ type: "value", min: 0, name: "points", nameLocation: "middle", nameGap: 40 }),
    series: [line(NOTHING, colour("muted"), "dashed"), line(RUN, colour("accent"), "solid")],
  });
}
function drawLoads() {
  drawHeat("chart-heat-left", RUN);
  drawHeat("chart-heat-right", NOTHING);
}
function drawAll() {
  drawImbalance();
  drawLoads();
  drawCourse("chart-course-left", RUN);
  drawMap("chart-map-before", RUN, "before");
  drawMap("chart-map-after", RUN, "after");
}

element("pick-layer").addEventListener("change", (event) => {
  state.layer = event.target.value;
  drawLoads();
});

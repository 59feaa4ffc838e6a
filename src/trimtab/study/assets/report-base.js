// What all charts of the report share: the data, what is shown, colours, axes.
// The report-*.js files are put together in one function; nothing is fetched.
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
const digits = (value, count = 3) =>
  value === null || value === undefined
    ? "–"
    : value.toLocaleString("en", { maximumSignificantDigits: Math.abs(value) >= 100 ? 4 : count });
const range = (estimate) => `${digits(estimate.value)} (${digits(estimate.low)} to ${digits(estimate.high)})`;
const bytes = (text, Type) => new Type(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

const pictures = new Map(
  data.pictures.map((picture) => [`${picture.scenario}/${picture.candidate}`, picture]),
);
const pictureOf = (scenario, candidate) => pictures.get(`${scenario}/${candidate}`);
const state = { table: 0, scenario: 0, left: data.tables[0].pick, right: NOTHING, layer: "cpu" };
if (state.left === NOTHING) state.left = data.default;

const charts = new Map();
const dark = () =>
  document.documentElement.dataset.theme
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
  chart.setOption(
    { animation: false, textStyle: { fontFamily: FONT, color: colour("ink") }, ...option },
    true,
  );
  return chart;
}
const axis = (extra = {}) => ({
  nameTextStyle: { color: colour("muted") },
  axisLabel: { color: colour("muted"), hideOverlap: true, ...extra.axisLabel },
  axisLine: { lineStyle: { color: colour("line") } },
  axisTick: { show: false },
  splitLine: { lineStyle: { color: colour("line") } },
  ...Object.fromEntries(Object.entries(extra).filter(([key]) => key !== "axisLabel")),
});
const tooltip = (formatter, extra = {}) => ({
  backgroundColor: colour("card"),
  borderColor: colour("line"),
  textStyle: { color: colour("ink"), fontSize: 12.5 },
  confine: true,
  formatter,
  ...extra,
});
const legend = (extra = {}) => ({
  textStyle: { color: colour("muted") },
  itemWidth: 14,
  itemHeight: 10,
  ...extra,
});

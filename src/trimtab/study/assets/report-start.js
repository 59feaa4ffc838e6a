// The last part of every page: show what needs a script, draw, and draw again when colours change.
document.querySelectorAll(".chart-only, .pills, #theme").forEach((node) => {
  node.hidden = false;
});
element("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  drawAll();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
addEventListener("beforeprint", () => charts.forEach((chart) => chart.resize()));
drawAll();
document.documentElement.dataset.drawn = "true";

// The last part of every page: show what needs a script, draw, and draw again when colours change.
document.querySelectorAll(".chart-only, .pills, #theme").forEach((node) => {
  node.hidden = false;
});
element("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  drawAll();
});
// A table that is wider than its card says so, until its end is in sight.
function hintScroll(node) {
  node.classList.toggle("more", node.scrollLeft + node.clientWidth < node.scrollWidth - 2);
}
const scrolls = document.querySelectorAll(".scroll");
scrolls.forEach((node) => {
  new ResizeObserver(() => hintScroll(node)).observe(node);
  node.addEventListener("scroll", () => hintScroll(node), { passive: true });
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("resize", () => charts.forEach((chart) => chart.resize()));
addEventListener("beforeprint", () => charts.forEach((chart) => chart.resize()));
drawAll();
document.documentElement.dataset.drawn = "true";

// What the page does when something is chosen.
function fill(select, options, chosen) {
  select.replaceChildren(
    ...options.map(([value, text]) => {
      const option = new Option(text, value);
      option.selected = Number(value) === chosen;
      return option;
    }),
  );
}
function drawCourses() {
  const shown = data.candidates
    .map((candidate, index) => [index, candidate.label])
    .filter(([index]) => pictureOf(state.scenario, index));
  for (const side of ["left", "right"]) {
    if (!pictureOf(state.scenario, state[side])) state[side] = shown[0][0];
    fill(element(`pick-${side}`), shown, state[side]);
    drawHeat(`chart-heat-${side}`, state[side]);
    drawCourse(`chart-course-${side}`, state[side]);
  }
  fill(
    element("pick-scenario"),
    data.scenarios.map((scenario, index) => [index, scenario.name]),
    state.scenario,
  );
  element("picture-seed").textContent = pictureOf(state.scenario, state.left).seed;
  element("map-name").textContent = data.candidates[state.left].label;
  drawMoves();
  drawMap("chart-map-before", state.left, "before");
  drawMap("chart-map-after", state.left, "after");
  document
    .querySelectorAll("tr[data-candidate]")
    .forEach((row) => row.classList.toggle("selected", Number(row.dataset.candidate) === state.left));
}
function drawTables() {
  document.querySelectorAll(".scope").forEach((scope) => {
    const shown = Number(scope.dataset.table) === state.table;
    scope.classList.toggle("shown", shown);
    if (scope instanceof HTMLDetailsElement) scope.open = shown;
  });
  document
    .querySelectorAll(".pills button")
    .forEach((button) =>
      button.setAttribute("aria-pressed", String(Number(button.dataset.table) === state.table)),
    );
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

document.querySelectorAll(".pills button").forEach((button) =>
  button.addEventListener("click", () => {
    state.table = Number(button.dataset.table);
    if (state.table > 0) state.scenario = state.table - 1;
    drawAll();
  }),
);
document.querySelectorAll("tr[data-candidate]").forEach((row) => {
  row.tabIndex = 0;
  const pick = () => choose(Number(row.dataset.candidate));
  row.addEventListener("click", pick);
  row.addEventListener("keydown", (event) => {
    if (event.key === "Enter") pick();
  });
});
element("pick-scenario").addEventListener("change", (event) => {
  state.scenario = Number(event.target.value);
  drawCourses();
});
element("pick-layer").addEventListener("change", (event) => {
  state.layer = event.target.value;
  drawCourses();
});
for (const side of ["left", "right"])
  element(`pick-${side}`).addEventListener("change", (event) => {
    state[side] = Number(event.target.value);
    drawCourses();
  });

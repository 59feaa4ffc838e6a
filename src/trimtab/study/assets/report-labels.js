// Labels that avoid each other, the marks and the edges of a chart.
const ruler = document.createElement("canvas").getContext("2d");
const LABEL_HEIGHT = 15;
const labelFont = (size) => `${size}px ${FONT}`;
function textWidth(text, size) {
  ruler.font = labelFont(size);
  return Math.ceil(ruler.measureText(text).width) + 2;
}
function fitted(name, words, size, width) {
  // As much of the name as fits beside the words.
  let length = name.length;
  while (length > 6 && textWidth(short(name, length) + words, size) > width) length -= 1;
  return short(name, length) + words;
}
const meet = (a, b) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
const boxOf = (mark) => ({ x: mark.x - mark.r, y: mark.y - mark.r, width: 2 * mark.r, height: 2 * mark.r });
function* placesAround(mark, width) {
  // Nearest first; a label touches the circle of each distance with its nearest side or corner.
  for (const distance of [4, 12, 22, 34, 48, 64, 82, 102, 126, 154, 190]) {
    const d = mark.r + distance;
    for (let turn = 0; turn < 16; turn++) {
      const angle = (turn * Math.PI) / 8;
      const [dx, dy] = [Math.cos(angle), Math.sin(angle)];
      const x = mark.x + d * dx - (width * (1 - dx)) / 2;
      const y = mark.y + d * dy - (LABEL_HEIGHT * (1 - dy)) / 2;
      yield { x, y, width, height: LABEL_HEIGHT, distance };
    }
  }
}
function placeLabels(marks, area) {
  // One place, or none, for the label of each mark. The first marks choose first. A label with
  // a name may stand away from its mark, with a line to it, and may cover marks without one;
  // if there is no room for the name, the short text is tried, and at last left out.
  const boxes = marks.map(boxOf);
  const placed = [];
  const inside = (box) =>
    box.x >= area.x && box.y >= area.y && box.x + box.width <= area.right && box.y + box.height <= area.bottom;
  const find = (mark, text, far) => {
    let best = null;
    for (const box of placesAround(mark, textWidth(text, mark.size))) {
      if (!far && box.distance > 4) break;
      if (best && box.distance >= best.cost) break;
      if (!inside(box) || placed.some((other) => other && meet(box, other))) continue;
      const covered = boxes.filter((other, at) => meet(box, other) && (marks[at].named || !far)).length;
      if (covered) continue;
      const hidden = boxes.filter((other) => meet(box, other)).length;
      const cost = box.distance + 30 * hidden;
      if (!best || cost < best.cost) best = { ...box, text, cost };
    }
    return best;
  };
  marks.forEach((mark) => {
    const name = mark.named && find(mark, fitted(mark.name, mark.words, mark.size, 0.72 * (area.right - area.x)), true);
    placed.push(name || find(mark, mark.short, Boolean(mark.named)));
  });
  return placed;
}

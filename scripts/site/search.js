// Search in all sections: every word must occur; headings count more than text.
const field = document.getElementById("search");
const list = document.getElementById("found");
const up = document.body.dataset.up;
function rank([, title, heading, text], words) {
  let sum = 0;
  for (const word of words) {
    const places = [title, heading, text].map((part) => part.toLowerCase().includes(word));
    if (!places.some(Boolean)) return 0;
    sum += 4 * places[0] + 6 * places[1] + places[2];
  }
  return sum;
}
function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
  return (at ? "…" : "") + text.slice(at, at + 160);
}
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = words.length
    ? window.INDEX.map((entry) => [rank(entry, words), entry]).filter(([sum]) => sum).sort((a, b) => b[0] - a[0]).slice(0, 20)
    : [];
  list.hidden = !words.length;
  list.replaceChildren(
    ...hits.map(([, [address, title, heading, text]]) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = up + address;
      link.textContent = heading && heading !== title ? `${title}: ${heading}` : title;
      const said = document.createElement("p");
      said.textContent = excerpt(text, words[0]);
      item.append(link, said);
      return item;
    }),
  );
  if (words.length && !hits.length) list.textContent = "nothing found";
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) {
    event.preventDefault();
    field.focus();
  }
  if (event.key === "Escape") list.hidden = true;
});

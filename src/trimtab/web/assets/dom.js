// Elements with text: names of the cluster never become markup.

export const byId = (id) => document.getElementById(id);

/** An element; children are elements or texts, `on…` functions become listeners. */
export function el(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A name from the cluster: kept apart from the text around it, whatever script it is in. */
export const named = (text) => el("bdi", { class: "name" }, clean(text));

/** Control and direction characters are shown, not obeyed. */
export const clean = (text) =>
  String(text).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\u00b7");

export const percent = (share, digits = 0) =>
  share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;

export const points = (value) => (value === null || value === undefined ? "–" : `${value.toFixed(1)}`);

export const gib = (bytes) => (bytes === null || bytes === undefined ? "–" : `${(bytes / 2 ** 30).toFixed(1)} GiB`);

export const clock = (at) => (at ? new Date(1000 * at).toLocaleTimeString() : "–");

export function table(caption, columns, rows) {
  return el(
    "table",
    {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell))))),
  );
}

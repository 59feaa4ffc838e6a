// What a viewer may change, where the page was started with --allow-changes: migrate, cancel, protect.

import { clean, el } from "./dom.js";
import { request } from "./feed.js";

/** The buttons for one VM, and a function that fits them to another look; null where nothing may be changed. */
export function vmActions(name, vm, state, session) {
  if (!session.changes) return null;
  const told = el("p", { role: "status", "data-part": "asked" });
  const act = (action, to = "") => async () => {
    told.textContent = "asking…";
    try {
      told.textContent = clean(await request("change", { action, vm: name, to }, session.csrf));
    } catch (error) {
      told.textContent = `not done: ${clean(error.message)}`;
    }
  };
  const targets = [...state.nodes.keys()].filter((node) => node !== vm.node).sort();
  const target = el("select", { id: "target" }, el("option", { value: "" }, "the scheduler chooses"));
  for (const node of targets) target.append(el("option", { value: node }, clean(node)));
  const button = (id, text, onclick) => el("button", { type: "button", id, onclick }, text);
  const migrate = button("migrate", "Migrate", () => act("migrate", target.value)());
  const cancel = button("cancel", "Cancel its move", act("cancel"));
  const release = button("release", "Let it move again", act("release"));
  const protect = button("protect", "Keep it here", act("protect"));
  const follow = (now) => {
    migrate.disabled = [...now.moves.values()].some((move) => move.vm === name && !move.ended);
    cancel.disabled = !migrate.disabled;
    release.hidden = !now.vms.get(name)?.protected;
    protect.hidden = !release.hidden;
  };
  follow(state);
  const place = el("div", { class: "actions", role: "group", "aria-label": "Change this VM" }, el("label", {}, "Target ", target), migrate, cancel, release, protect, told);
  return { place, follow };
}

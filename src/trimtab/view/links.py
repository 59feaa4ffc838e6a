"""The link test as a person reads it: one line per link, the broken ones with a way out."""

from collections.abc import Sequence

from trimtab.stacks.loop.state.links import Link
from trimtab.view.terminal import err, out, show_json

_SIGNS = {"ok": "✓", "late": "!", "broken": "✗", "untested": "–"}


def show_link(link: Link) -> None:
    """One link, as soon as it is known."""
    out.print(f"{_SIGNS[link.state]} {link.name:<12} {link.detail}", markup=False)
    if link.look_at:
        out.print(f"  {'':<12} look at: {link.look_at}", markup=False)


def show_links(links: Sequence[Link], *, json: bool) -> None:
    """The verdict; as JSON with every link."""
    broken = [link.name for link in links if link.state not in ("ok", "late")]
    if json:
        show_json({"ok": not broken, "links": links})
    elif broken:
        err.print(f"the loop is open at: {broken[0]}", markup=False)
    else:
        late = any(link.state == "late" for link in links)
        err.print(f"the loop is closed{', and falls behind' if late else ''}", markup=False)

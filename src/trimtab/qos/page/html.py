"""The page for a browser: those in danger first, a legend, and it loads itself again.

Everything from the cluster is escaped; there is no script, so nothing can run. `curl` and all
who do not ask for HTML get the plain table of `page`.
"""

from collections.abc import Iterable, Sequence
from html import escape

from trimtab.qos.page.slo_status import AccountView
from trimtab.qos.page.text import duration, ratios

RELOAD_S = 5
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'",
    "Cache-Control": "no-store",
    "Vary": "Accept",
}
_RANK = {"violated": 0, "atRisk": 1, "ok": 2}
_WORDS = {"violated": "violated", "atRisk": "at risk", "ok": "kept"}
_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; }
body { margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .3rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; white-space: nowrap; }
th { position: sticky; top: 0; background: Canvas; border-bottom: 2px solid var(--line); }
td { border-bottom: 1px solid var(--line); }
.name { text-align: left; }
.violated td { background: #d1242f22; } .atRisk td { background: #bf870022; }
.state { font-weight: 600; } .violated .state { color: #cf222e; } .atRisk .state { color: #9a6700; }
@media (prefers-color-scheme: dark) {
  .violated .state { color: #ff8182; } .atRisk .state { color: #e3b341; }
}
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { font-weight: 600; } dd { margin: 0; }
"""
_LEGEND = (
    ("QoS / SLO", "share of its life that it ran, and the share that was promised"),
    ("Time left", "how long it may wait before the promise is missed; below zero it is owed that"),
    ("State", "violated: below its promise; at risk: it will be, soon, as things go; kept"),
    ("Running, waiting", "time of all its pods, those that are gone included"),
    ("Pods", "running and waiting now"),
)


def in_danger_first(views: Iterable[AccountView]) -> list[AccountView]:
    """Violated, then at risk, then the rest; within each the one with the least time left."""
    never = float("inf")
    return sorted(
        views,
        key=lambda view: (
            _RANK[view.state],
            never if view.ttv is None else view.ttv,
            view.owner.namespace,
            view.owner.name,
        ),
    )


def html_page(views: Sequence[AccountView], as_of: str, namespace: str = "") -> str:
    """A whole document."""
    danger = sum(view.state != "ok" for view in views)
    where = f" in {escape(namespace)}" if namespace else ""
    summary = f"{len(views)} controllers{where}, {danger} in danger. As of {escape(as_of)}."
    body = "".join(map(_row, in_danger_first(views)))
    legend = "".join(f"<dt>{term}</dt><dd>{meaning}</dd>" for term, meaning in _LEGEND)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="refresh" content="{RELOAD_S}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{danger} in danger · promised availability</title><style>{_STYLE}</style></head>"
        f"<body><h1>Promised availability</h1><p>{summary} "
        f"Loads again every {RELOAD_S} seconds.</p>"
        '<div class="scroll"><table><thead><tr><th class="name" scope="col">Controller</th>'
        '<th class="name" scope="col">State</th><th scope="col">QoS / SLO</th>'
        '<th scope="col">Time left</th><th scope="col">Running</th><th scope="col">Waiting</th>'
        '<th scope="col">Pods</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div><h2>What it says</h2><dl>{legend}</dl>"
        '<p>The same as text: <code>curl</code>; as JSON: <a href="v1/controllers">'
        "v1/controllers</a>.</p></body></html>\n"
    )


def _row(view: AccountView) -> str:
    state, owner, reading = view.state, view.owner, view.reading
    cells = (
        ratios(view.qos, view.slo),
        "never misses" if view.deadline is None and state == "ok" else duration(view.ttv),
        duration(reading.running),
        duration(reading.waiting),
        f"{reading.pace.running} + {reading.pace.waiting}",
    )
    name = f"{escape(owner.namespace)}/{escape(owner.name)}"
    return (
        f'<tr class="{state}"><td class="name">{name} <small>{escape(owner.kind)}</small></td>'
        f'<td class="name state">{_WORDS[state]}</td>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
    )

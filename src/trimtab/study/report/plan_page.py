"""A plan of moves as a page that stands alone: moves, every node before and after, the proof."""

from typing import Any

from trimtab import __version__
from trimtab.balance.document import PlanDocument
from trimtab.balance.price import MigrationCost
from trimtab.study.report.page import render_page

_GIB = 1024.0**3


def plan_page(
    plan: PlanDocument, name: str, verdict: str, proof: list[str], cost: MigrationCost
) -> str:
    """The page; `name` says which cluster it is about."""
    words = {
        "what": "plan",
        "id": "",
        "name": name,
        "versions": {"trimtab": __version__},
        "verdict": verdict,
        "proof": proof,
        "broken": plan.broken,
        "tiles": _tiles(plan),
        "moves": plan.moves,
        "nodes": sorted(plan.nodes, key=lambda n: -max(n.cpu_before, n.memory_before)),
        "staying": plan.staying,
        "facts": _facts(plan, cost),
    }
    return render_page("plan.html.j2", (), {}, words, charts=False)


def _tiles(plan: PlanDocument) -> list[dict[str, str]]:
    least = f"at least {plan.bound.moves} by any balancer" if plan.bound is not None else ""
    excess = f"{plan.excess_before:.1f} → {plan.excess_after:.1f}"
    return [
        {"what": "Moves", "value": str(len(plan.moves)), "how": least},
        {"what": "Excess, points", "value": excess, "how": "above the band, over all nodes"},
        {
            "what": "To copy",
            "value": f"{plan.copy_bytes / _GIB:.1f} GiB",
            "how": f"{plan.copy_seconds:.0f} s in all",
        },
    ]


def _facts(plan: PlanDocument, cost: MigrationCost) -> dict[str, Any]:
    first = plan.nodes[0] if plan.nodes else None
    level = f"{first.cpu_ceiling:.1f} % CPU, {first.memory_ceiling:.1f} % memory" if first else ""
    return {
        "Loads": plan.loads_from or "not told",
        "Level up to": level,
        "Transfer rate": f"{cost.bandwidth / 1024**2:.0f} MiB/s ({cost.source})",
    }

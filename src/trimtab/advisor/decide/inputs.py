"""Inputs from outside the spec: limits of HyperConverged, what the descheduler's CRD can do.

The inputs that the plan was made from are compared with the inputs of now. The objects that the
plan writes are not compared here: if somebody changes those, that is drift (`decide/drift.py`).
"""

from collections.abc import Mapping
from typing import Any

from trimtab.advisor.decide.conditions import INPUT_DRIFT
from trimtab.advisor.decide.situation import ConfigSituation, WriteStatus
from trimtab.advisor.decide.transition import become, mark
from trimtab.advisor.plan.plan import differs, stored
from trimtab.advisor.plan.profile import Draft


def inputs_changed(s: ConfigSituation, draft: Draft) -> bool:
    """Whether other inputs lead to another plan."""
    same = stored(draft.inputs) == s.status.inputs
    return not same and differs(s.status.items, draft.desired_objects)


def input_drift(s: ConfigSituation, draft: Draft) -> WriteStatus:
    """Plan again, and have it reviewed whatever the action says."""
    names = changed_inputs(s.status.inputs, stored(draft.inputs))
    text = "Changed since it was planned: " + ", ".join(names)
    return become(s, "Drafting", status=mark(s, s.status, INPUT_DRIFT, True, "InputChanged", text))


def changed_inputs(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} ({before.get(name)} → {now.get(name)})"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]

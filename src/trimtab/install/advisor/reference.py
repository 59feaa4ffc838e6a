"""docs/reference/virtplatformconfig.md, printed from the definition and the phases."""

from trimtab.advisor.decide.approval import REQUESTED_BY
from trimtab.advisor.decide.conditions import EDIT_WAR, INPUT_DRIFT, REVIEW_AGAIN, TEXTS, UPGRADE
from trimtab.advisor.decide.refresh_request import LOOK_AGAIN
from trimtab.advisor.plan.profile import AUTO_CREATED, CATEGORY, DESCRIPTION, IMPACT_SUMMARY
from trimtab.install.advisor.alerts import alert_groups
from trimtab.install.advisor.crd import config_crd
from trimtab.install.manifests import field_table, name_table, refusals

FILE = "docs/reference/virtplatformconfig.md"
_HEAD = """\
# VirtPlatformConfig

<!-- Written by `make generate` from trimtab/install/advisor/reference.py; change it there. -->

API version `advisor.kubevirt.io/v1alpha1`, cluster-scoped, one object per profile.
How to use it: [the advisor](../guide/advisor.md).
"""
_MARKERS = {
    UPGRADE: "this version of the operator would plan it differently",
    INPUT_DRIFT: "something that the plan was made from changed; review it again",
    REVIEW_AGAIN: "options or owners of fields changed during the review; review it again",
    EDIT_WAR: "somebody else writes the same fields; re-applying is paused",
}
_NOTES = {
    REQUESTED_BY: "annotation: who asked for it last, written by admission",
    LOOK_AGAIN: "annotation: another value asks the operator to look at the cluster again",
    AUTO_CREATED: "annotation: the operator created the object to advertise the profile",
    DESCRIPTION: "annotation: what the profile does",
    IMPACT_SUMMARY: "annotation: what it does to the cluster",
    CATEGORY: "label: what kind of profile it is",
}


def generate() -> dict[str, str]:
    schema = config_crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    parts = [
        _HEAD,
        field_table("spec", schema["properties"]["spec"]),
        refusals(schema),
        field_table("status", schema["properties"]["status"]),
        name_table("Phases", ("phase", "meaning"), TEXTS),
        "Each phase has a condition of its name; exactly one of them is True "
        "(`Completed` also with `CompletedWithUpgrade`).\n"
        "`Ready`, `Progressing` and `Degraded` say the same for machines.\n",
        name_table("Markers", ("condition", "True when"), _MARKERS),
        name_table("Labels and annotations", ("name", "meaning"), _NOTES),
        _alerts(),
    ]
    return {FILE: "\n".join(parts)}


def _alerts() -> str:
    rules = alert_groups()["groups"][0]["rules"]
    rows = {r["alert"]: f"`{r['expr'].replace('|', chr(92) + '|')}` for {r['for']}" for r in rules}
    return name_table("Alerts", ("alert", "when"), rows)

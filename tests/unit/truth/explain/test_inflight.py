"""How many evictions may be in flight that nobody but the descheduler knows of."""

from typing import Any

import pytest
from msgspec.structs import replace

from builders.worlds.snapshots import a_launcher, a_policy, a_snapshot
from trimtab.model.snapshot import EVICTION_IN_PROGRESS, REQUEST_EVICT_ONLY, Snapshot
from trimtab.policy.snapshot_view import policy_of
from trimtab.truth.explain.outcome_texts import EVACUATING
from trimtab.truth.explain.remarks import InFlightReport, in_flight_report

ASKED = {REQUEST_EVICT_ONLY: ""}


def a_cluster(flying: int, marked: int = 0, **policy: Any) -> Snapshot:
    """Six VMs on n1 and two on n2; the first of them are in flight, the next ones marked."""
    pods = []
    for at in range(8):
        known = dict(ASKED)
        if at < flying:
            known[EVICTION_IN_PROGRESS] = "true"
        elif at < flying + marked:
            known[EVACUATING] = "n1"
        pods.append(a_launcher(f"vm-{at}", "n1" if at < 6 else "n2", annotations=known))
    return a_snapshot({"n1": 80, "n2": 10}, a_policy(**policy), pods=tuple(pods))


NO_LIMITS: dict[str, Any] = {"maxNoOfPodsToEvictTotal": None, "maxNoOfPodsToEvictPerNode": None}


@pytest.mark.parametrize(
    ("snapshot", "report"),
    [
        pytest.param(a_cluster(0, **NO_LIMITS), InFlightReport(0, 0, 8, 8), id="no limits"),
        pytest.param(a_cluster(0), InFlightReport(0, 0, 4, 4), id="two a node"),
        pytest.param(a_cluster(2), InFlightReport(2, 0, 4, 2), id="a node's slots are taken"),
        pytest.param(
            a_cluster(1, maxNoOfPodsToEvictTotal=1), InFlightReport(1, 0, 1, 0), id="one in all"
        ),
        pytest.param(
            a_cluster(0, maxNoOfPodsToEvictPerNamespace=3, **NO_LIMITS),
            InFlightReport(0, 0, 3, 3),
            id="three a namespace",
        ),
        pytest.param(a_cluster(1, 2), InFlightReport(1, 2, 4, 3), id="marked VMs are likely ones"),
    ],
)
def test_the_bound(snapshot: Snapshot, report: InFlightReport) -> None:
    assert in_flight_report(snapshot, policy_of(snapshot)) == report


def test_without_the_gate_nothing_is_in_flight() -> None:
    snapshot = replace(a_cluster(2), evictions_in_background=False)
    assert in_flight_report(snapshot, policy_of(snapshot)) == InFlightReport(0, 0, 0, 0)

"""Mistakes in a file's values, and doubts about what is correct."""

from typing import Any

import pytest

from builders.values.scenarios import a_file, a_group
from trimtab.model.scenarios.check import check_file
from trimtab.model.scenarios.expand import expand
from trimtab.model.scenarios.file import ScenarioFile
from trimtab.model.scenarios.summary import doubts

TRACE = {"file": "day.csv"}


@pytest.mark.parametrize(
    ("file", "mistake"),
    [
        (a_file(apiVersion="v2"), "apiVersion: 'v2' is not known; write trimtab.dev/v1alpha1"),
        (a_file(nodes=[]), "nodes: a scenario needs at least one node"),
        (a_file(duration="soon"), "duration: 'soon' is not a duration; write it like"),
        (a_file(duration=0), "duration: 0 must be above 0"),
        (a_file(nodes=[{"name": "a", "count": -1}]), "nodes[0].count: must not be negative"),
        (a_file(nodes=[{"name": "a", "cpu": "4 cores"}]), "nodes[0].cpu: '4 cores' is not a quan"),
        (a_file(nodes=[{"name": "a", "memory": 0}]), "nodes[0].memory: 0 must be above 0"),
        (a_file(nodes=[{"name": "a", "pods": 0}]), "nodes[0].pods: must be at least 1"),
        (a_group(count=-1), "vms[0].count: must not be negative"),
        (a_group(cpu="-1"), "vms[0].cpu: '-1' must be above 0"),
        (a_group(memory="4GB"), "vms[0].memory: '4GB' is not a quantity; write it like"),
        (a_group(utilization={"cpu": -0.1}), "vms[0].utilization.cpu: -0.1 must be within 0.."),
        (a_group(utilization={"memory": 1.1}), "vms[0].utilization.memory: 1.1 must be within 0"),
        (
            a_group(utilization={"cpu": {"min": 0.5, "max": 0.4}}),
            "vms[0].utilization.cpu: min is above max",
        ),
        (
            a_group(utilization={"memory": {"min": 0.5, "max": 1.5}}),
            "vms[0].utilization.memory: 1.5 must be within 0..1",
        ),
        (
            a_group(load={"cpu": {"type": "trace", "values": []}}),
            "vms[0].load.cpu: a trace needs at least one value",
        ),
        (
            a_group(load={"memory": {"type": "constant", "value": 1.2}}),
            "vms[0].load.memory: a VM cannot use more memory than it has",
        ),
        (a_group(stagger="later"), "vms[0].stagger: 'later' is not a duration"),
        (a_group(priority=2 * 10**9), "vms[0].priority: must be at most 1000000000"),
        (a_group(dirtyRate="-1Mi"), "vms[0].dirtyRate: '-1Mi' must not be negative"),
        (
            a_group(trace=TRACE, load={"cpu": {"type": "constant", "value": 1}}),
            "vms[0].load.cpu: the trace decides it; leave one of them out",
        ),
        (a_group(trace=TRACE, stagger="5m"), "vms[0].stagger: every machine of a trace has its"),
        (a_group(trace=TRACE, count=3), "vms[0].count: the trace decides it; write trace.limit"),
        (a_group(trace=TRACE | {"limit": 0}), "vms[0].trace.limit: must be at least 1"),
        (a_group(trace=TRACE | {"cpuFactor": 0}), "vms[0].trace.cpuFactor: must be above 0"),
        (
            a_file(events=[{"type": "vmDeparts", "at": -1, "vm": "web"}]),
            "events[0].at: -1 must be within 0..1e+09 seconds",
        ),
        (
            a_file(events=[{"type": "nodeFails", "at": 1, "node": "node-1", "lasts": 0}]),
            "events[0].lasts: 0 must be above 0",
        ),
        (
            a_file(events=[{"type": "vmsArrive", "at": 1, "vms": {"name": "b", "cpu": 0}}]),
            "events[0].vms.cpu: 0 must be above 0",
        ),
        (a_file(nodes=[{"name": "a", "count": 10**9}]), "nodes[0].count: more than 200000 nodes"),
        (a_group(count=10**12), "vms[0].count: more than 2000000 VMs; use fewer"),
        (
            a_file(events=[{"type": "vmsArrive", "at": 1, "vms": {"name": "b", "count": 10**10}}]),
            "events[0].vms.count: more than 2000000 VMs; use fewer",
        ),
        (a_file(nodes=[{"name": "a", "pods": 10**30}]), "nodes[0].pods: must be at least 1 and at"),
        (a_group(cpu="1e999"), "vms[0].cpu: '1e999' must be at most 1M"),
        (a_group(cpu=10**25), f"vms[0].cpu: {10**25} must be at most 1M"),
        (a_group(cpu=10**400), "vms[0].cpu: 1000"),
        (a_group(cpu="9" * 5000), "vms[0].cpu: '9999"),
        (a_group(memory="2Ei"), "vms[0].memory: '2Ei' must be at most 1Ei"),
        (a_group(utilization={"cpu": 1e308}), "vms[0].utilization.cpu: 1e+308 must be within 0.."),
        (a_group(stagger=10**400), "vms[0].stagger: 1000"),
        (a_group(stagger="9" * 400), "vms[0].stagger: '9999"),
        (a_file(duration=1e300), "duration: 1e+300 must be within 0..1e+09 seconds"),
        (a_file(migration={"perCluster": 10**30}), "migration.perCluster: must be at least 1 and"),
        (a_file(migration={"perCluster": 0}), "migration.perCluster: must be at least 1"),
        (a_file(migration={"perNodeOutbound": 0}), "migration.perNodeOutbound: must be at least 1"),
        (a_file(migration={"failureRate": 1}), "migration.failureRate: must be at least 0 and bel"),
        (a_file(migration={"bandwidth": 0}), "migration.bandwidth: 0 must be above 0"),
        (a_file(migration={"timeoutPerGib": 0}), "migration.timeoutPerGib: 0 must be above 0"),
        (a_file(migration={"backoff": "x"}), "migration.backoff: 'x' is not a duration"),
    ],
    ids=lambda value: value.partition(";")[0] if isinstance(value, str) else "",
)
def test_a_mistake_is_told_in_the_words_of_the_file(file: ScenarioFile, mistake: str) -> None:
    (found,) = check_file(file)
    assert found.startswith(mistake)


def test_all_mistakes_are_told_at_once() -> None:
    file = a_file(
        duration=0, nodes=[{"name": "a", "cpu": 0}], vms=[{"name": "b", "cpu": "x", "memory": 0}]
    )
    assert [mistake.partition(":")[0] for mistake in check_file(file)] == [
        "duration",
        "nodes[0].cpu",
        "vms[0].cpu",
        "vms[0].memory",
    ]


@pytest.mark.parametrize(
    ("changed", "doubt"),
    [
        pytest.param(
            {"events": [{"type": "vmDeparts", "at": "2h", "vm": "web"}]},
            "events: depart web at 2h comes after the end; raise duration above 1h",
            id="an event after the end",
        ),
        pytest.param(
            {"vms": [{"name": "huge", "count": 2, "cpu": 80}]},
            "vm 'huge-1' and 1 others: no node can hold 40 cores and 3.2Gi of memory; "
            "it will stay pending",
            id="a VM that fits nowhere",
        ),
        pytest.param(
            {"vms": [{"name": "web", "count": 9, "cpu": 8, "node": "node-1"}]},
            "node 'node-1': its 9 VMs request 36 of 32 cores and 28.8Gi of 128Gi, 110 pods; "
            "some will stay pending",
            id="more than a node can hold at the start",
        ),
    ],
)
def test_a_doubt_is_told_without_refusing(changed: dict[str, Any], doubt: str) -> None:
    assert list(doubts(expand(a_file(**changed)))) == [doubt]


def test_overcommitted_requests_fit_where_consumption_does_not() -> None:
    vms = [{"name": "web", "count": 9, "cpu": 8, "node": "node-1"}]
    assert list(doubts(expand(a_file(vms=vms, requests="overcommit")))) == []

"""For every kind of finding a case that has it, and its nearest neighbour that has not."""

from typing import Any

import pytest
import yaml
from msgspec import Struct

from builders.values import vm_lint_cases as vms
from builders.worlds.snapshots import (
    NOON,
    SOFT,
    WORKER,
    a_launcher,
    a_policy,
    a_snapshot,
)
from trimtab.model.snapshot import QueryResult, Sample, SnapshotNode, Toleration
from trimtab.truth.lint import DeschedulerProgram, Facts

RECORD = "descheduler:node:mine:avg1m"
NODES = ("n1", "n2", "n3")


class Pair(Struct, frozen=True):
    """Facts with one finding, and facts like them without any."""

    id: str
    bad: Facts
    good: Facts


def text(**changes: Any) -> str:
    written: str = yaml.dump(a_policy(**changes), Dumper=yaml.CSafeDumper, sort_keys=False)
    return written


def facts(policy: str | None = None, **fields: Any) -> Facts:
    return Facts(policy=policy or text(), **fields)


def asking(query: str) -> str:
    metrics = {"source": "Prometheus", "prometheus": {"query": query}}
    return text(args={"metricsUtilization": metrics})


def at(url: str) -> str:
    return text(metricsProviders=[{"source": "Prometheus", "prometheus": {"url": url}}])


def answer(*values: str, label: str = "instance", names: tuple[str, ...] = NODES) -> QueryResult:
    pairs = zip(names, values, strict=False)
    samples = tuple(Sample({label: name}, value) for name, value in pairs)
    return QueryResult(time=NOON, query="score", samples=samples)


def cluster(**fields: Any) -> Any:
    return a_snapshot({"n1": 80, "n2": 30, "n3": 10}, **fields)


def soft(*, tolerated: bool) -> Any:
    nodes = tuple(SnapshotNode(n, WORKER, (SOFT,)) for n in NODES)
    tolerations = (Toleration(SOFT.key, "Exists"),) if tolerated else ()
    return cluster(nodes=nodes, pods=(a_launcher("vm", "n1", tolerations=tolerations),))


BY_REQUESTS = text(
    args={
        "thresholds": {"cpu": 0},
        "targetThresholds": {"cpu": 10},
        "metricsUtilization": None,
        "evictionLimits": None,
    },
    evictor={"evictLocalStoragePods": True},
    metricsProviders=None,
)
_AWARE = {"enabled": ["DefaultEvictor", "KubevirtMigrationAware"]}
OF_OPENSHIFT = text(
    profiles=[
        {
            **a_policy()["profiles"][0],
            "pluginConfig": [
                *a_policy()["profiles"][0]["pluginConfig"],
                {"name": "KubevirtMigrationAware", "args": {}},
            ],
            "plugins": {
                "balance": {"enabled": ["LowNodeUtilization"]},
                "filter": _AWARE,
                "preevictionfilter": _AWARE,
            },
        }
    ]
)
"""As OpenShift's operator writes it."""
FITTING: str = yaml.dump(vms.NODE_FIT, Dumper=yaml.CSafeDumper, sort_keys=False)
GOOD = answer("0.8", "0.3", "0.1")
PAIRS = [
    Pair("policy-refused", facts(text(low=-1)), facts()),
    Pair("api-version-missing", facts(text(apiVersion="")), facts()),
    Pair(
        "plugin-openshift-only",
        facts(OF_OPENSHIFT, program=DeschedulerProgram(openshift=False)),
        facts(OF_OPENSHIFT, program=DeschedulerProgram(openshift=True)),
    ),
    Pair("usage-is-requests", facts(BY_REQUESTS), facts()),
    Pair("field-ignored", facts(text(maxNoOfPodsToEvictPerNodes=3)), facts()),
    Pair(
        "nothing-enabled",
        facts(text().replace("enabled:\n      - LowNodeUtilization", "enabled: []")),
        facts(),
    ),
    Pair("provider-missing", facts(text(metricsProviders=None)), facts()),
    Pair(
        "query-no-instance",
        facts(asking("avg by (node) (score)")),
        facts(asking("avg by (node, instance) (score)")),
    ),
    Pair(
        "query-no-instance",
        facts(query=answer("0.8", "0.3", "0.1", label="node")),
        facts(query=GOOD),
    ),
    Pair(
        "query-no-instance",
        facts(asking(RECORD), records={RECORD: "sum by (node) (x)"}),
        facts(asking(RECORD), records={RECORD: "sum by (instance) (x)"}),
    ),
    Pair(
        "instance-not-node",
        facts(
            query=answer("0.8", "0.3", "0.1", names=("n1:9100", "n2:9100", "n3:9100")),
            cluster=cluster(),
        ),
        facts(query=GOOD, cluster=cluster()),
    ),
    Pair(
        "node-no-sample",
        facts(query=answer("0.8", "0.3"), cluster=cluster()),
        facts(query=GOOD, cluster=cluster()),
    ),
    Pair("query-out-of-range", facts(asking("100 * score")), facts(asking("score"))),
    Pair("query-out-of-range", facts(query=answer("80", "0.3", "0.1")), facts(query=GOOD)),
    Pair("query-nan", facts(query=answer("NaN", "0.3", "0.1")), facts(query=GOOD)),
    Pair(
        "query-failed",
        facts(query=QueryResult(time=NOON, result_type="scalar", samples=GOOD.samples)),
        facts(query=GOOD),
    ),
    Pair("query-no-samples", facts(query=answer()), facts(query=GOOD)),
    Pair(
        "query-unknown-record",
        facts(asking(RECORD), records={"other:record": "x"}),
        facts(asking(RECORD), records={RECORD: "x"}),
    ),
    Pair(
        "same-percent",
        facts(query=answer("0.121", "0.125", "0.129")),
        facts(query=answer("0.12", "0.12", "0.12")),
    ),
    Pair(
        "thresholds-saturate",
        facts(query=answer("0.95", "0.97", "0.92")),
        facts(query=answer("0.85", "0.97", "0.82")),
    ),
    Pair("thresholds-saturate", facts(text(high=100)), facts(text(high=99))),
    Pair("node-limit-missing", facts(text(args={"evictionLimits": None})), facts()),
    Pair("url-scheme", facts(at("prometheus:9090")), facts(at("http://prometheus:9090"))),
    Pair(
        "url-https-port", facts(at("https://prom.example:9090")), facts(at("https://prom.example"))
    ),
    Pair(
        "version-no-prometheus",
        facts(program=DeschedulerProgram("", "v0.35.1")),
        facts(program=DeschedulerProgram("", "v0.36.0")),
    ),
    Pair(
        "version-no-prometheus",
        facts(program=DeschedulerProgram("", "v0.32.2")),
        facts(program=DeschedulerProgram("", "v0.34.0")),
    ),
    Pair(
        "version-https-only",
        facts(program=DeschedulerProgram("", "v0.33.0")),
        facts(at("https://prom.example"), program=DeschedulerProgram("", "v0.33.0")),
    ),
    Pair(
        "background-off",
        facts(program=DeschedulerProgram("", "v0.36.0", False)),
        facts(program=DeschedulerProgram("", "v0.36.0", True)),
    ),
    Pair("soft-taints", facts(cluster=soft(tolerated=False)), facts(cluster=soft(tolerated=True))),
    Pair(
        "pdb-protects-all",
        facts(text(evictor={"evictLocalStoragePods": True, "ignorePodsWithoutPDB": True})),
        facts(text(evictor={"evictLocalStoragePods": True})),
    ),
    Pair("local-storage", facts(text(evictor={})), facts()),
    Pair(
        "two-balancers",
        facts(cluster=cluster(), acting_balancer="plan-0a1b2c3d4e"),
        facts(cluster=cluster()),
    ),
    Pair("vms-protected", facts(text(evictor={}), cluster=cluster()), facts(cluster=cluster())),
    Pair(
        "node-fit-selector",
        facts(
            text(evictor={"evictLocalStoragePods": True, "nodeFit": True, "nodeSelector": "a=b,,"})
        ),
        facts(
            text(evictor={"evictLocalStoragePods": True, "nodeFit": True, "nodeSelector": "a=b"})
        ),
    ),
    Pair(
        "launcher-keeps-hostname",
        facts(FITTING, cluster=vms.bound(vms.FREED)),
        facts(FITTING, cluster=vms.bound(None)),
    ),
    Pair(
        "vm-not-migratable",
        facts(
            cluster=vms.with_vms(
                vms.a_vm("a", not_migratable="DisksNotLiveMigratable"), vms.a_vm("b")
            )
        ),
        facts(cluster=vms.with_vms(vms.a_vm("a"), vms.a_vm("b"))),
    ),
    Pair(
        "vm-stops-when-evicted",
        facts(cluster=vms.with_vms(vms.a_vm("a", eviction_strategy="None"))),
        facts(cluster=vms.with_vms(vms.a_vm("a", eviction_strategy="LiveMigrateIfPossible"))),
    ),
    Pair(
        "vm-moved-by-others",
        facts(cluster=vms.with_vms(vms.a_vm("a", eviction_strategy="External"))),
        facts(cluster=vms.with_vms(vms.a_vm("a", eviction_strategy=""))),
    ),
    Pair(
        "two-eviction-webhooks",
        facts(
            cluster=vms.with_kubevirt(eviction_webhooks=("trimtab-eviction", "virt-api-validator"))
        ),
        facts(cluster=vms.with_kubevirt(eviction_webhooks=("virt-api-validator",))),
    ),
    Pair(
        "completed-launchers",
        facts(cluster=vms.with_completed("Succeeded")),
        facts(cluster=vms.with_completed("Running")),
    ),
    Pair(
        "migrations-wait",
        facts(
            cluster=vms.with_kubevirt(
                migrations=vms.migrations(a="Running n1", b="Scheduling n1", c="Pending n1")
            )
        ),
        facts(
            cluster=vms.with_kubevirt(
                migrations=vms.migrations(a="Running n1", b="Running n2", c="Pending n1")
            )
        ),
    ),
    Pair(
        "migration-policies",
        facts(cluster=vms.with_policy(bandwidthPerMigration="64Mi")),
        facts(cluster=vms.with_policy()),
    ),
]
CASES = [pytest.param(pair, id=f"{pair.id} {number}") for number, pair in enumerate(PAIRS)]

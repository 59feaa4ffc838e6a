"""`trimtab lint`: what is wrong with a descheduler policy, before it runs or while it does."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from trimtab.cli.cluster.options import MonitoringOptions
from trimtab.cli.common.output import Json, emit, examples

app = App(
    name="lint",
    help="Find what is wrong with a descheduler policy; exit 1 if anything is.",
    help_epilogue=examples(
        "trimtab lint k8s/descheduler-policy.yaml --rules k8s/prometheus-rules.yaml "
        "--deployment k8s/descheduler.yaml",
        "trimtab lint configmap --kubeconfig F --prometheus http://127.0.0.1:9090",
        "trimtab lint policy.yaml --lab default",
        "trimtab lint policy.yaml --sarif > lint.sarif",
    ),
)

NOWHERE = MonitoringOptions()


@app.default
def lint(
    policy: str,
    *,
    rules: Path | None = None,
    where: MonitoringOptions = NOWHERE,
    deployment: Path | None = None,
    descheduler_version: str = "",
    json: Json = False,
    sarif: Annotated[bool, Parameter(name="--sarif", negative=())] = False,
) -> int:
    """Check a policy by what is given: the text alone, or also rules, samples and a cluster.

    A file is judged alone unless --kubeconfig, --context or --lab names a cluster (its nodes,
    pods and descheduler) or --prometheus an address (its rules, and what the query gives).

    Parameters
    ----------
    policy
        A policy file or the name of an example, a manifest of its ConfigMap, or
        configmap[:NAMESPACE/NAME[:KEY]].
    rules
        A file with recording rules: Prometheus' own form, or PrometheusRule objects.
    deployment
        A manifest of the descheduler, for its version and flags.
    descheduler_version
        The version if nothing else tells it, as v0.36.0.
    sarif
        Print SARIF 2.1.0.
    """
    from trimtab.cli.diagnosis.lint_facts import gather, program
    from trimtab.truth.lint import lint as find
    from trimtab.view.lint import sarif as as_sarif
    from trimtab.view.lint import show_findings
    from trimtab.view.terminal import show_json

    facts = asyncio.run(gather(policy, where, rules, program(deployment, descheduler_version)))
    findings = find(facts)
    if sarif:
        show_json(as_sarif(findings, facts.file))
    else:
        emit(findings, json, lambda found: show_findings(found, facts))
    return 1 if any(found.severity != "note" for found in findings) else 0

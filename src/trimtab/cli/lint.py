"""`trimtab lint`: what is wrong with a descheduler policy, before it runs or while it does."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from trimtab.cli.examples import examples

if TYPE_CHECKING:
    from trimtab.policy.lint import Program

app = App(
    name="lint",
    help="Find what is wrong with a descheduler policy; exit 1 if anything is, else silence.",
    help_epilogue=examples(
        "trimtab lint k8s/descheduler-policy.yaml --rules k8s/prometheus-rules.yaml "
        "--deployment k8s/descheduler.yaml",
        "trimtab lint configmap --kubeconfig F --prometheus http://127.0.0.1:9090",
        "trimtab lint policy.yaml --lab default",
        "trimtab lint policy.yaml --sarif > lint.sarif",
    ),
)


@app.default
def lint(
    policy: str,
    *,
    rules: Path | None = None,
    prometheus: str = "",
    kubeconfig: Path | None = None,
    lab: str = "",
    deployment: Path | None = None,
    descheduler_version: str = "",
    prometheus_token_file: Path | None = None,
    json: Annotated[bool, Parameter(name="--json", negative=())] = False,
    sarif: Annotated[bool, Parameter(name="--sarif", negative=())] = False,
) -> int:
    """Check a policy by what is given: the text alone, or also rules, samples and a cluster.

    Parameters
    ----------
    policy
        A policy file, a manifest of its ConfigMap, or configmap[:NAMESPACE/NAME[:KEY]].
    rules
        A file with recording rules: Prometheus' own form, or PrometheusRule objects.
    prometheus
        Address of Prometheus: its rules, and what the query really gives.
    kubeconfig
        A cluster: its nodes, pods and descheduler.
    lab
        A lab by its name, with its Prometheus.
    deployment
        A manifest of the descheduler, for its version and flags.
    descheduler_version
        The version if nothing else tells it, as v0.36.0.
    prometheus_token_file
        A file with the bearer token for Prometheus.
    json
        Print JSON instead of text.
    sarif
        Print SARIF 2.1.0.
    """
    import asyncio

    from trimtab.cli.lint_live import gather
    from trimtab.cli.live import Live
    from trimtab.policy.lint import lint as find
    from trimtab.view.lint import sarif as as_sarif
    from trimtab.view.lint import show_findings
    from trimtab.view.terminal import show_json

    live = Live(
        kubeconfig=kubeconfig,
        lab=lab,
        prometheus=prometheus,
        prometheus_token_file=prometheus_token_file,
        policy=policy,
    )
    facts = asyncio.run(gather(live, rules, _program(deployment, descheduler_version)))
    findings = find(facts)
    if sarif:
        show_json(as_sarif(findings, facts.file))
    elif json:
        show_json(findings)
    else:
        show_findings(findings, facts.file)
    return 1 if findings else 0


def _program(deployment: Path | None, version: str) -> "Program":
    """What a manifest or the user says of the descheduler."""
    import yaml

    from trimtab.errors import ConfigError
    from trimtab.observe.descheduler import deschedulers_in
    from trimtab.policy.lint import Program

    if deployment is None:
        return Program(version=version)
    try:
        documents = list(yaml.safe_load_all(deployment.read_text()))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"--deployment {deployment}: {' '.join(str(error).split())}") from error
    found = deschedulers_in(d for d in documents if isinstance(d, dict))
    if not found:
        raise ConfigError(f"--deployment {deployment}: no container in it runs a descheduler")
    return Program(found[0].name, version or found[0].version, found[0].in_background)

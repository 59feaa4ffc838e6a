"""`trimtab rules`: recording rules and alerts for Prometheus, from the catalogue of scores."""

import sys
from typing import Literal

from cyclopts import App

from trimtab.cli.common.output import OutputFile, examples
from trimtab.cli.common.output_files import check_file, writing
from trimtab.errors import ConfigError

app = App(
    name="rules",
    help="Write the recording rules and alerts for Prometheus.",
    help_epilogue=examples(
        "trimtab rules > trimtab.rules.yaml",
        "trimtab rules --algorithms robust,sustained --nodes 200 -o rules.yaml",
        "trimtab rules --algorithms my_score.py --format operator | kubectl apply -f -",
        "trimtab rules --flavor openshift --algorithms risk",
    ),
)

Flavor = Literal["trimtab", "openshift"]
Format = Literal["prometheus", "operator", "configmap"]


@app.default
def rules(
    *,
    algorithms: str | None = None,
    format: Format = "prometheus",
    flavor: Flavor = "trimtab",
    scale: float = 1.0,
    nodes: int = 50,
    interval: float | None = None,
    output: OutputFile = None,
) -> None:
    """Write the recording rules and alerts for Prometheus.

    Parameters
    ----------
    algorithms
        Names, comma-separated; a name that ends in .py is a file with a score of your own.
        All of the catalogue without it; with the OpenShift flavor none.
    format
        A plain rule file, a PrometheusRule for the Prometheus operator, or the ConfigMap
        monitoring/trimtab-rules that a lab watches.
    flavor
        trimtab reads our exporter. openshift reads node-exporter and kube-state-metrics and
        also records what OpenShift's descheduler operator does, under its names.
    scale
        Simulated seconds per second; every time in the file is divided by it.
    nodes
        The most nodes the cluster may have. Up to 50 the rules find the Pareto fronts
        themselves; above that the exporter does, and the rules take what it sends.
    interval
        Seconds between evaluations, before scaling: 15, for OpenShift's flavor 30. Ship fewer
        algorithms to a large cluster; the alert TrimtabRulesSlow tells when it is too much.
    output
        A file instead of the terminal.
    """
    from trimtab.scores import CATALOG, RuleSettings, choose_score, rule_groups
    from trimtab.scores.prometheus.files import render

    if output is not None:
        check_file(output, "--output")
    names = [name.strip() for name in algorithms.split(",") if name.strip()] if algorithms else []
    everything = [] if flavor == "openshift" else list(CATALOG.values())
    chosen = [choose_score(name) for name in names] or everything
    usual = 30.0 if flavor == "openshift" else 15.0
    seconds = usual if interval is None else interval
    if not 0 < seconds < float("inf"):
        raise ConfigError(f"--interval {seconds:g}: must be more than 0 seconds")
    settings = RuleSettings(scale=scale, interval_s=seconds, nodes=nodes)
    command = f"# Written by: trimtab rules --flavor {flavor} --scale {scale:g} --nodes {nodes}\n"
    text = render(rule_groups(chosen, settings, flavor), format, command)
    if output is None:
        sys.stdout.write(text)
    else:
        with writing(output, "--output"):
            output.write_text(text, encoding="utf-8")

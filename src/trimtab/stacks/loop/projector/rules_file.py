"""Rule files: what a lab starts with, and what it makes of the one in its ConfigMap."""

import subprocess
import tempfile
from pathlib import Path

from trimtab.errors import ConfigError
from trimtab.scores import CATALOG, RuleSettings, rule_groups
from trimtab.scores.prometheus.files import render

LIMIT_S = 60.0


def shipped_rules(nodes: int) -> str:
    """All scores and alerts at their unscaled settings, for a cluster of up to `nodes`."""
    settings = RuleSettings(nodes=max(nodes, RuleSettings().nodes))
    return render(rule_groups(list(CATALOG.values()), settings))


def check_rules(text: str, promtool: Path) -> None:
    """Prometheus' own opinion, asked before the file is put in its place."""
    with tempfile.NamedTemporaryFile("w", suffix=".rules.yaml") as file:
        file.write(text)
        file.flush()
        done = subprocess.run(
            [promtool, "check", "rules", file.name],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode:
            told = (done.stderr or done.stdout).replace(file.name, "rules")
            raise ConfigError(" ".join(told.split()))

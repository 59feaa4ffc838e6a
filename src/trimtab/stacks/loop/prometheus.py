"""Prometheus in a lab: its configuration, and its description as a component.

Only the exporter is scraped at the lab's pace; what the services say about themselves is not
part of the loop. `honor_labels` keeps the exporter's own `instance`, which production rules
read as the node's name.
"""

from pathlib import Path
from typing import Any

from trimtab.files.yaml import as_yaml
from trimtab.lab import Component, Lab
from trimtab.lab.components.component import HttpGet
from trimtab.scores.prometheus.records import duration
from trimtab.stacks.loop.settings import SCRAPE_S

CONFIG_FILE = "config/prometheus.yml"
SERVICE_SCRAPE = "5s"
PLAIN = ("vm-controller", "projector", "scenario")
ENCRYPTED = ("webhook", "descheduler")


def prometheus(lab: Lab) -> Component:
    url = f"http://127.0.0.1:{lab.port('prometheus')}"
    return Component(
        name="prometheus",
        argv=(
            lab.program("prometheus"),
            f"--config.file={CONFIG_FILE}",
            f"--web.listen-address=127.0.0.1:{lab.port('prometheus')}",
            "--storage.tsdb.path=data/prometheus",
            # hidden: without it the first sample comes five seconds after the start
            "--scrape.discovery-reload-interval=100ms",
        ),
        probes=(HttpGet(f"{url}/-/ready"), HttpGet(f"{url}/api/v1/rules", '"rules":[{')),
        needs=("projector", "exporter"),
        reload="hup",
        url=url,
        reads=(CONFIG_FILE,),
    )


def pages(lab: Lab) -> dict[str, Path]:
    """The link to its own pages that this Prometheus serves, or to one that says how to make
    them."""
    return {"static": lab.locate("prometheus-ui")}


def prometheus_config(lab: Lab) -> str:
    """The file; rules are in a file beside it, which the projector writes."""
    pace_s = SCRAPE_S / lab.spec.clock.scale
    config = {
        "global": {
            "scrape_interval": SERVICE_SCRAPE,
            "scrape_timeout": SERVICE_SCRAPE,
            "evaluation_interval": duration(pace_s),
        },
        "rule_files": ["trimtab.rules.yaml"],
        "scrape_configs": [
            _exporter(lab, pace_s),
            *(_job(lab, name) for name in (*PLAIN, "prometheus")),
            *(_job(lab, name) | _encrypted() for name in ENCRYPTED),
        ],
    }
    return as_yaml(config)


def _exporter(lab: Lab, pace_s: float) -> dict[str, Any]:
    pace = {"scrape_interval": duration(pace_s), "scrape_timeout": duration(min(pace_s, 10.0))}
    return _job(lab, "exporter") | {"honor_labels": True} | pace


def _job(lab: Lab, name: str) -> dict[str, Any]:
    targets = [{"targets": [f"127.0.0.1:{lab.port(name)}"]}]
    return {"job_name": name, "static_configs": targets}


def _encrypted() -> dict[str, Any]:
    return {"scheme": "https", "tls_config": {"ca_file": "../pki/ca.crt"}}

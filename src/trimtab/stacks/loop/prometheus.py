"""Prometheus in a lab: its configuration, and its description as a component.

Only the exporter is scraped at the lab's pace; what the services say about themselves is not
part of the loop. `honor_labels` keeps the exporter's own `instance`, which production rules
read as the node's name.
"""

from pathlib import Path
from typing import Any

from trimtab.files.yaml import as_yaml
from trimtab.lab.components.component import Component, HttpGet
from trimtab.lab.components.stack import Lab
from trimtab.scores.prometheus.records import duration
from trimtab.stacks.loop.settings import KUBEVIRT_STACK, SCRAPE_S

CONFIG_FILE = "config/prometheus.yml"
SERVICE_SCRAPE = "5s"
PLAIN = ("projector", "scenario")
OWN = ("vm-controller",), ("webhook",)
KUBEVIRT = ("virt-handler-player",), ("virt-api", "virt-controller")
"""Who keeps the VMs, on plain HTTP and over TLS: trimtab's own services, or KubeVirt's."""
SHORTEST_S, LONGEST_S = 5.0, 180.0
"""Of the scrapes of virt-controller; Prometheus forgets a sample after 300 s."""


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
    theirs = KUBEVIRT_STACK in lab.spec.stacks
    plain, encrypted = KUBEVIRT if theirs else OWN
    config = {
        "global": {
            "scrape_interval": SERVICE_SCRAPE,
            "scrape_timeout": SERVICE_SCRAPE,
            "evaluation_interval": duration(pace_s),
        },
        "rule_files": ["trimtab.rules.yaml"],
        "scrape_configs": [
            _exporter(lab, pace_s),
            *([_guests(lab, pace_s)] if theirs else []),
            *(_job(lab, name) for name in (*plain, *PLAIN, "prometheus")),
            *(_tls_job(lab, name) for name in (*encrypted, "descheduler")),
        ],
    }
    return as_yaml(config)


def _exporter(lab: Lab, pace_s: float) -> dict[str, Any]:
    pace = {"scrape_interval": duration(pace_s), "scrape_timeout": duration(min(pace_s, 10.0))}
    return _job(lab, "exporter") | {"honor_labels": True} | pace


def _guests(lab: Lab, pace_s: float) -> dict[str, Any]:
    """What virt-handler and cAdvisor would say; KubeVirt's rules call the job so."""
    job = _job(lab, "virt-handler-player")
    pace = {"scrape_interval": duration(pace_s), "scrape_timeout": duration(min(pace_s, 10.0))}
    path = {"metrics_path": "/guests/metrics", "honor_labels": True}
    return job | {"job_name": "kubevirt-prometheus-metrics"} | path | pace


def controller_pace_s(nodes: int) -> float:
    """Time between two scrapes of virt-controller, if there are ten VMs on a node.

    For each VMI it looks through all pods of the namespace, so a scrape costs with the square of
    the VMs: 1.2 s of CPU for 1,260. It finishes a scrape that nobody waits for any more, so
    scrapes that take longer than their interval pile up. Up to 500 nodes this pace should cost
    about a tenth of a core.
    """
    return min(max(SHORTEST_S, nodes**2 / 1000), LONGEST_S)


def _tls_job(lab: Lab, name: str) -> dict[str, Any]:
    job = _job(lab, name) | _encrypted()
    if name != "virt-controller":
        return job
    pace = duration(controller_pace_s(lab.spec.nodes))
    return job | {"scrape_interval": pace, "scrape_timeout": pace}


def _job(lab: Lab, name: str) -> dict[str, Any]:
    targets = [{"targets": [f"127.0.0.1:{lab.port(name)}"]}]
    return {"job_name": name, "static_configs": targets}


def _encrypted() -> dict[str, Any]:
    return {"scheme": "https", "tls_config": {"ca_file": "../pki/ca.crt"}}

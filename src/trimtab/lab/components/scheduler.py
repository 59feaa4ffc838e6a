"""The kube-scheduler: its description and its configuration file.

`spread` prefers the node with the most room, `binpack` the one with the least that still fits.
A configuration of the user's replaces ours; only what ties it to this lab is filled in.
"""

from pathlib import Path
from typing import Any

import yaml

from trimtab.errors import ConfigError
from trimtab.files.yaml import as_yaml
from trimtab.lab.components.component import Component, HttpsGet
from trimtab.lab.components.identity import kubeconfig_file
from trimtab.lab.components.stack import Lab
from trimtab.lab.spec import Placement

CONFIG_FILE = "config/scheduler.yaml"
OWN_CONFIG_FILE = "config/scheduler.own.yaml"
API_VERSION = "kubescheduler.config.k8s.io/v1"
DEFAULT_NAME = "default-scheduler"


def kube_scheduler(lab: Lab) -> Component:
    port, config = lab.port("kube-scheduler"), kubeconfig_file("kube-scheduler")
    return Component(
        name="kube-scheduler",
        argv=(
            lab.program("kube-scheduler"),
            f"--config={CONFIG_FILE}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            "--tls-cert-file=pki/kube-scheduler-server.crt",
            "--tls-private-key-file=pki/kube-scheduler-server.key",
        ),
        probes=(HttpsGet(f"https://127.0.0.1:{port}/readyz"),),
        needs=("kube-apiserver",),
        reads=(CONFIG_FILE,),
    )


def scheduler_config(placement: Placement, scale: int, own: str | None) -> str:
    """The file's text: the user's configuration or ours, bound to the lab and its pace."""
    config = parse_config(own, OWN_CONFIG_FILE) if own is not None else _placing(placement)
    config |= {
        "clientConnection": {
            "qps": 5000,
            "burst": 10000,
            **(config.get("clientConnection") or {}),
            "kubeconfig": kubeconfig_file("kube-scheduler"),
        },
        "leaderElection": {"leaderElect": False},
        "podInitialBackoffSeconds": config.get("podInitialBackoffSeconds", 1),
        "podMaxBackoffSeconds": config.get("podMaxBackoffSeconds", max(1, 10 // scale)),
    }
    return as_yaml(config)


def parse_config(text: str, where: str | Path) -> dict[str, Any]:
    """The user's configuration, if it is one; what is in it the scheduler itself judges."""
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise ConfigError(f"{where}: not YAML: {problem}") from error
    if not isinstance(config, dict) or config.get("kind") != "KubeSchedulerConfiguration":
        raise ConfigError(f"{where}: expected one document of kind KubeSchedulerConfiguration")
    if config.get("apiVersion") != API_VERSION:
        raise ConfigError(f"{where}: apiVersion {config.get('apiVersion')}; use {API_VERSION}")
    return config


def probe_scheduler_name(text: str) -> str:
    """A scheduler that this configuration runs: the first profile's, for the probe pod."""
    profiles = yaml.safe_load(text).get("profiles") or [{}]
    return str(profiles[0].get("schedulerName") or DEFAULT_NAME)


def _placing(placement: Placement) -> dict[str, Any]:
    strategy = "LeastAllocated" if placement == "spread" else "MostAllocated"
    resources = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
    fit = {"scoringStrategy": {"type": strategy, "resources": resources}}
    # by itself the other scores (balance, topology) could outvote it
    weighted = {"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 10}]}}
    profile = {
        "schedulerName": DEFAULT_NAME,
        "plugins": weighted,
        "pluginConfig": [{"name": "NodeResourcesFit", "args": fit}],
    }
    return {"apiVersion": API_VERSION, "kind": "KubeSchedulerConfiguration", "profiles": [profile]}

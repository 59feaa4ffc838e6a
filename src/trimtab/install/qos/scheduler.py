"""The scheduler's configuration with QosAware in it: the shipped file, and a lab's.

Both have the same values, which are also those of `trimtab qos experiment`. All profiles of a
scheduler share one queue, so each of them gets the same plugin with the same arguments.
Measuring alone leaves the stock order and still times every binding.
"""

from typing import Any, Literal

import yaml

from trimtab.files.yaml import as_yaml
from trimtab.lab.components.scheduler import API_VERSION

PLUGIN = "QosAware"
Order = Literal["qos", "stock"]
Manifest = dict[str, Any]
_MEASURING = ("reserve", "preBind", "postBind")
"""Reserve is where a failed binding is heard of; the others are the two ends of a good one."""
BACKOFF = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
"""The scheduler orders pods that failed by the second in which their back-off ends, and by their
stamps only within it: with one second for all, the stamps decide. Without a change in the cluster
nobody is tried again, however short the back-off."""


def enabled(order: Order) -> Manifest:
    """What a profile says under `plugins`; a queue has exactly one order, so ours replaces it."""
    plugins: Manifest = {point: {"enabled": [{"name": PLUGIN}]} for point in _MEASURING}
    if order == "qos":
        ours = {"enabled": [{"name": PLUGIN}], "disabled": [{"name": "*"}]}
        plugins = {"queueSort": ours, "preFilter": {"enabled": [{"name": PLUGIN}]}} | plugins
    return plugins


def with_plugin(text: str, order: Order, arguments: Manifest) -> str:
    """A configuration whose every profile uses the plugin, beside all that it used before."""
    config = yaml.safe_load(text)
    for profile in config.setdefault("profiles", [{"schedulerName": "default-scheduler"}]):
        profile["plugins"] = (profile.get("plugins") or {}) | enabled(order)
        others = [c for c in profile.get("pluginConfig") or () if c["name"] != PLUGIN]
        profile["pluginConfig"] = [*others, {"name": PLUGIN, "args": arguments}]
    return as_yaml(config | _backoff(order))


def _backoff(order: Order) -> Manifest:
    """Measuring alone leaves the scheduler as it is."""
    return BACKOFF if order == "qos" else {}


def in_a_cluster(order: Order) -> str:
    """The shipped /etc/kubernetes/scheduler-config.conf, for the host of a control plane."""
    config = {
        "apiVersion": API_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": "/etc/kubernetes/scheduler.conf"},
        "leaderElection": {"leaderElect": True},
        **_backoff(order),
        "profiles": [{"schedulerName": "default-scheduler", "plugins": enabled(order)}],
    }
    return as_yaml(config)

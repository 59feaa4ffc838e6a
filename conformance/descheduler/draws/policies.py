"""What a session is about: a policy, and what is done to it; the themes are in `themes`."""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from conformance.descheduler.plane import TOKEN
from trimtab.policy.file.yaml_text import dump_yaml

Mode = Literal["prometheus", "requests", "metrics", "high"]
Args = dict[str, Any]
QUERY = "score"
POOL = "pool=main"
FIT = "fit=yes"
"""Where nodeFit looks: a few nodes only, so that it has something to refuse."""
LOCAL_STORAGE = "PodsWithLocalStorage"


class Theme(Struct, frozen=True, kw_only=True):
    """What a session is about."""

    name: str
    mode: Mode
    args: Args
    evictor: Args = {}
    top: Args = {}
    background: bool = True
    steps: Sequence[str] = ()
    """What its steps are about, unless they are the usual mixture."""
    provided: bool = True
    """Whether the policy names a provider of the usage that it asks for."""

    @property
    def static(self) -> bool:
        return not self.args.get("useDeviationThresholds")

    def text(self, prometheus: str) -> str:
        """The policy file."""
        name = "HighNodeUtilization" if self.mode == "high" else "LowNodeUtilization"
        profile = {
            "name": self.name.replace(" ", "-"),
            "pluginConfig": [
                {"name": name, "args": self.args},
                {"name": "DefaultEvictor", "args": self.evictor},
            ],
            "plugins": {"balance": {"enabled": [name]}},
        }
        head = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
        tree = head | {"nodeSelector": POOL} | self.top | self._providers(prometheus)
        return dump_yaml(tree | {"profiles": [profile]})

    def _providers(self, prometheus: str) -> Args:
        if not self.provided or self.mode not in ("prometheus", "metrics"):
            return {}
        if self.mode == "metrics":
            return {"metricsProviders": [{"source": "KubernetesMetrics"}]}
        source = {"url": prometheus, "authToken": {"secretReference": TOKEN}}
        return {"metricsProviders": [{"source": "Prometheus", "prometheus": source}]}


def query(low: float, high: float, *, deviation: bool = True, **more: Any) -> Args:
    return {
        "useDeviationThresholds": deviation,
        "thresholds": {"MetricResource": low},
        "targetThresholds": {"MetricResource": high},
        "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": QUERY}},
        **more,
    }


def levels(pairs: dict[str, tuple[float, float]], **more: Any) -> Args:
    return {
        "thresholds": {name: low for name, (low, _) in pairs.items()},
        "targetThresholds": {name: high for name, (_, high) in pairs.items()},
        **more,
    }


def limit(n: int) -> Args:
    return {"evictionLimits": {"node": n}}


def loose(**more: Any) -> Args:
    """Pods with local storage may go, as VMs need it."""
    return {"podProtections": {"defaultDisabled": [LOCAL_STORAGE]}, **more}

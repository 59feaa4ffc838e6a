"""The mocks and the samples as the files that people apply."""

from typing import Any

import msgspec

from trimtab.advisor.api import GROUP, VERSION
from trimtab.advisor.mocks.baseline import LAB_WORKERS, baseline
from trimtab.advisor.mocks.hyperconverged import hyperconverged, hyperconverged_v1
from trimtab.advisor.mocks.kube_descheduler import RELEASES, Release, kube_descheduler
from trimtab.advisor.mocks.machine_config import machine_config, machine_config_pool
from trimtab.files.yaml import as_yaml

Manifest = dict[str, Any]
_HEAD = "# Written by `make generate` from src/trimtab/advisor/mocks; change it there.\n"
_MOCKS, _SAMPLES = "k8s/advisor/mocks", "k8s/advisor/samples"


def definitions(release: Release) -> list[Manifest]:
    """Everything that a release of OpenShift would define, as far as profiles care."""
    machines = [machine_config(), machine_config_pool()]
    return [kube_descheduler(release), *machines, hyperconverged()]


def sample() -> Manifest:
    """The plan of the guide: a preview."""
    options = {
        "deschedulingIntervalSeconds": 60,
        "mode": "Automatic",
        "enablePSIMetrics": True,
        "devDeviationThresholds": "AsymmetricLow",
    }
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "VirtPlatformConfig",
        "metadata": {"name": "load-aware-rebalancing"},
        "spec": {
            "profile": "load-aware-rebalancing",
            "action": "DryRun",
            "failurePolicy": "Abort",
            "options": {"loadAware": options},
        },
    }


def generate() -> dict[str, str]:
    """The files by path."""
    mocks = {f"kubedescheduler_v{r.replace('.', '')}": kube_descheduler(r) for r in RELEASES}
    mocks |= {
        "machineconfig": machine_config(),
        "machineconfigpool": machine_config_pool(),
        "hyperconverged_v1beta1": hyperconverged(),
        "hyperconverged_v1": hyperconverged_v1(),
    }
    files = {f"{_MOCKS}/{name}.yaml": [mock] for name, mock in mocks.items()}
    files[f"{_SAMPLES}/mock_baseline_resources.yaml"] = baseline(workers=LAB_WORKERS)
    files[f"{_SAMPLES}/loadaware_sample.yaml"] = [sample()]
    return {path: _HEAD + "---\n".join(map(_text, each)) for path, each in files.items()}


def _text(manifest: Manifest) -> str:
    """Every value written out where it stands: readers of YAML need not follow anchors."""
    return as_yaml(msgspec.json.decode(msgspec.json.encode(manifest)))

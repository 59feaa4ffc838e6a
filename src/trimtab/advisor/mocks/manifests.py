"""The mocks and the samples as the files that people apply."""

from typing import Any

import msgspec

from trimtab.advisor.api import GROUP, VERSION
from trimtab.advisor.kinds import (
    HYPERCONVERGEDS,
    HYPERCONVERGEDS_V1,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
)
from trimtab.advisor.mocks.baseline import LAB_WORKERS, baseline
from trimtab.advisor.mocks.kube_descheduler import RELEASES, Release, kube_descheduler
from trimtab.advisor.mocks.schema import (
    FLAG,
    FREE,
    INT,
    TEXT,
    Schema,
    conditions,
    definition,
    items,
    record,
    selector,
)
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


# HyperConverged in its two versions: v1 keeps the same settings one level deeper.
#
# Each is a definition of its own, since converting between them is the real operator's work.
Migration = dict[str, int]
V1BETA1: Migration = {"parallelMigrationsPerCluster": 5, "parallelOutboundMigrationsPerNode": 2}
V1: Migration = {"parallelMigrationsPerCluster": 5, "parallelOutboundMigrationsPerNode": 1}
_OVERCOMMIT = {"memoryOvercommitPercentage": 100}


def hyperconverged() -> Schema:
    """v1beta1."""
    default = {"liveMigrationConfig": V1BETA1, "higherWorkloadDensity": _OVERCOMMIT}
    spec = record(_settings(V1BETA1), default=default, **{_KEEP: True})
    return definition(HYPERCONVERGEDS, spec, dict(FREE))


def hyperconverged_v1() -> Schema:
    default = {"liveMigrationConfig": V1, "higherWorkloadDensity": _OVERCOMMIT}
    virtualization = record(_settings(V1), default=default, **{_KEEP: True})
    spec = record(
        {"virtualization": virtualization}, default={"virtualization": default}, **{_KEEP: True}
    )
    return definition(HYPERCONVERGEDS_V1, spec, dict(FREE))


_KEEP = "x-kubernetes-preserve-unknown-fields"


def _settings(migration: Migration) -> Schema:
    limits: dict[str, Any] = {name: INT | {"default": n} for name, n in migration.items()}
    more = {
        "allowAutoConverge": FLAG | {"default": False},
        "allowPostCopy": FLAG | {"default": False},
        "bandwidthPerMigration": TEXT,
        "completionTimeoutPerGiB": INT | {"default": 150},
        "network": TEXT,
        "progressTimeout": INT | {"default": 150},
    }
    overcommit = INT | {"minimum": 10, "default": 100}
    return {
        "liveMigrationConfig": record(limits | more, default=migration),
        "higherWorkloadDensity": record(
            {"memoryOvercommitPercentage": overcommit}, default=_OVERCOMMIT
        ),
        "ksmConfiguration": record({"nodeLabelSelector": selector()}),
    }


# MachineConfig and MachineConfigPool as OpenShift defines them, with the fields that are read here.
_COUNTS = ("machineCount", "updatedMachineCount", "readyMachineCount")
_TROUBLE = ("unavailableMachineCount", "degradedMachineCount")


def machine_config() -> Schema:
    atomic = {"x-kubernetes-list-type": "atomic", "nullable": True}
    spec = record(
        {
            "baseOSExtensionsContainerImage": TEXT,
            "config": dict(FREE),
            "extensions": items(TEXT, **atomic),
            "fips": FLAG,
            "kernelArguments": items(TEXT, **atomic),
            "kernelType": TEXT,
            "osImageURL": TEXT,
        }
    )
    return definition(MACHINE_CONFIGS, spec, dict(FREE), short="mc")


def machine_config_pool() -> Schema:
    """Its status is no subresource, so that a test can play machine-config operator by hand."""
    spec = record(
        {
            "configuration": _configuration(),
            "machineConfigSelector": selector(),
            "nodeSelector": selector(),
            "maxUnavailable": {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
            },
            "paused": FLAG,
        }
    )
    status = record(
        {
            "conditions": conditions(),
            "configuration": _configuration(),
            "observedGeneration": {"type": "integer", "format": "int64"},
            **dict.fromkeys((*_COUNTS, *_TROUBLE), INT),
        }
    )
    return definition(MACHINE_CONFIG_POOLS, spec, status, subresource=False, short="mcp")


def _configuration() -> Schema:
    reference = dict.fromkeys(("apiVersion", "kind", "name"), TEXT)
    source = items(record(reference), **{"x-kubernetes-list-type": "atomic"})
    return record(reference | {"source": source})

"""HyperConverged in its two versions: v1 keeps the same settings one level deeper.

Each is a definition of its own, since converting between them is the real operator's work.
"""

from typing import Any

from trimtab.advisor.kinds import HYPERCONVERGEDS, HYPERCONVERGEDS_V1
from trimtab.advisor.mocks.schema import FLAG, FREE, INT, TEXT, Schema, definition, record, selector

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

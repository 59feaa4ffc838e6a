"""MachineConfig and MachineConfigPool as OpenShift defines them, as far as anybody here looks."""

from trimtab.advisor.kinds import MACHINE_CONFIG_POOLS, MACHINE_CONFIGS
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

"""Small scenario files to start from: everything right, one thing to change."""

from typing import Any

import msgspec

from trimtab.model.scenarios.file import ScenarioFile


def scenario_data(**changed: Any) -> dict[str, Any]:
    """A file as parsed YAML: two nodes and a VM, unless `changed`."""
    data: dict[str, Any] = {
        "name": "small",
        "nodes": [{"name": "node", "count": 2}],
        "vms": [{"name": "web"}],
    }
    return data | changed


def a_file(**changed: Any) -> ScenarioFile:
    """The same as a value."""
    return msgspec.convert(scenario_data(**changed), ScenarioFile)


def a_group(**changed: Any) -> ScenarioFile:
    """A file whose only group of VMs is changed."""
    return a_file(vms=[{"name": "web"} | changed])

"""One API server for all of these tests.

pytest takes files by their names: `test_accepted` asks it before the base is applied for good,
which is what `test_programs` begins with.
"""

from collections.abc import Iterator

import pytest

from builders.labs.kubectl import kubectl
from builders.values.manifests import K8S
from conformance.apiserver import ApiServer, running_apiserver

FIRST = ("namespaces.yaml", "virtualmachine-crd.yaml")


@pytest.fixture(scope="package")
def server() -> Iterator[ApiServer]:
    """With namespaces and definitions, because other objects need them."""
    with running_apiserver() as server:
        files = [option for name in FIRST for option in ("-f", str(K8S / name))]
        kubectl(server, "apply", "--server-side", "--validate=strict", *files, may_warn=False)
        definitions = [f"crd/virtualmachine{s}.trimtab.dev" for s in ("s", "migrations")]
        wait = ("wait", "--for=condition=Established", "--timeout=300s")
        kubectl(server, *wait, *definitions, may_warn=False)
        yield server

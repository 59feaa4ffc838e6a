"""One API server for all of these tests.

pytest takes files by their names: `test_accepted` asks it before the base is applied for good,
which is what `test_programs` begins with.
"""

import subprocess
from collections.abc import Iterator

import pytest

from builders.values.manifests import K8S
from builders.waiting import LIMIT_S
from conformance.apiserver import ApiServer, running_apiserver
from trimtab.engines import locate

FIRST = ("namespaces.yaml", "virtualmachine-crd.yaml")


@pytest.fixture(scope="package")
def server() -> Iterator[ApiServer]:
    """With namespaces and definitions, because other objects need them."""
    with running_apiserver() as server:
        files = [option for name in FIRST for option in ("-f", str(K8S / name))]
        kubectl(server, "apply", "--server-side", "--validate=strict", *files)
        definitions = [f"crd/virtualmachine{s}.trimtab.dev" for s in ("s", "migrations")]
        kubectl(server, "wait", "--for=condition=Established", "--timeout=300s", *definitions)
        yield server


def kubectl(server: ApiServer, *arguments: str) -> None:
    done = subprocess.run(
        [str(locate("kubectl")), f"--kubeconfig={server.kubeconfig}", *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr

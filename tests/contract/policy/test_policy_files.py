"""The real descheduler reads the same policy files: it must refuse what we refuse, and no more.

It reads its policy before it asks the API server for anything, so a server that is not
there tells the two apart: "connection refused" means that the file was taken.
"""

import subprocess
from pathlib import Path

import pytest

from builders.values.policy_files import ACCEPTED, IN_GO, REFUSED, REFUSED_LATER
from builders.waiting import LIMIT_S
from trimtab.engines import locate

pytestmark = pytest.mark.engines

EXAMPLES = Path(__file__).parents[3] / "examples" / "policies"
NOBODY = """\
apiVersion: v1
kind: Config
clusters: [{name: nobody, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: nobody, user: {token: none}}]
contexts: [{name: nobody, context: {cluster: nobody, user: nobody}}]
current-context: nobody
"""
TAKEN = "connect: connection refused"


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nobody") / "kubeconfig"
    path.write_text(NOBODY)
    return path


def start(policy: Path, kubeconfig: Path) -> str:
    """What the descheduler says last, without the escapes of its log."""
    command = [
        str(locate("descheduler")),
        "--secure-port=0",
        f"--kubeconfig={kubeconfig}",
        f"--policy-config-file={policy}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode != 0
    last = [line for line in done.stderr.splitlines() if "command failed" in line]
    return last[-1].replace('\\"', '"')


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_we_refuse_it_refuses(
    text: str, message: str, kubeconfig: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id
    policy = tmp_path / "policy.yaml"
    policy.write_text(text)
    said = start(policy, kubeconfig)
    assert (TAKEN if name in REFUSED_LATER else IN_GO.get(name, message)) in said


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_we_take_it_takes(text: str, kubeconfig: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(text)
    assert TAKEN in start(policy, kubeconfig)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_it_takes_our_examples(path: Path, kubeconfig: Path) -> None:
    assert TAKEN in start(path, kubeconfig)

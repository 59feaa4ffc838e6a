"""The guides of clusters: every file and command that they name is there."""

import re
import shlex
from pathlib import Path

import pytest

from builders.values.manifests import REPOSITORY
from trimtab.cli.main import app

GUIDE = REPOSITORY / "docs/guide"
PAGES = ["cluster", "podman", "resource-model", "scheduler-integration", "from-node-classifier-sim"]
THEN = [
    "descheduler",
    "descheduler-policy",
    "prometheus",
    "prometheus-rules",
    "kwok-nodes",
    "metrics-exporter",
    "eviction-webhook",
    "vm-controller",
    "virtualmachine-crd",
]
METHODS = [
    "create_pod",
    "delete_pod",
    "migrate_vm_pod",
    "get_pod_node_assignment",
    "update_vm_node_assignments",
    "sync_pods_with_vms",
    "move_vm",
]
# named as such in the text, without what they need to run
GROUPS = [["vm"], ["run", "vm-controller"], ["run", "webhook"], ["run", "exporter"]]


def text(page: str) -> str:
    return (GUIDE / f"{page}.md").read_text()


def commands(page: str) -> list[str]:
    """What begins with `trimtab`, in code blocks and between back-ticks."""
    found = re.findall(r"^ *(trimtab [^\n#]+)$|`(trimtab [a-z][^`]*)`", text(page), re.MULTILINE)
    return [(block or inline).strip() for block, inline in found]


@pytest.mark.parametrize("page", PAGES)
def test_links_and_files_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", text(page)):
        assert link.startswith("https://") or (GUIDE / link).exists(), link
    for path in re.findall(r"`((?:k8s|src|examples|docs)/[\w./-]+)`", text(page)):
        assert (REPOSITORY / path).exists(), path


@pytest.mark.parametrize("command", [each for page in PAGES for each in commands(page)])
def test_a_command_exists_with_its_options(command: str) -> None:
    words = [{"NAME": "volume", "FILE": "x.yaml"}.get(w, w) for w in shlex.split(command)[1:]]
    if words in GROUPS:
        words.append("--help")
    if words[-1] == "--help":
        app(words, result_action="return_value", exit_on_error=False)
    else:
        app.parse_args(words, exit_on_error=False, print_error=False)


def test_the_map_names_every_file_and_method() -> None:
    page = text("from-node-classifier-sim")
    for name in THEN:
        assert f"k8s/{name}.yaml" in page
        assert (REPOSITORY / "k8s" / f"{name}.yaml").exists()
    operations = Path(REPOSITORY / "src/trimtab/vm/operations.py").read_text()
    for name in METHODS:
        assert f"`{name}(" in page
        assert f"def {name}(" in operations


def test_the_cluster_guide_says_what_is_not_exercised() -> None:
    assert "never exercised by our CI" in text("cluster")

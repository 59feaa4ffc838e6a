"""Every example of a VirtPlatformConfig can be planned, and samples are what they say."""

from pathlib import Path

import pytest
import yaml

from builders.worlds.openshift import a_cluster, added, planned
from trimtab.advisor.api import CONFIGS, VirtPlatformConfig
from trimtab.advisor.mocks.manifests import generate, sample
from trimtab.advisor.profiles.registry import built_in
from trimtab.cli.services.advisor.where import options_of

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples" / "platform-configs").glob("*.yaml"))
FILES = generate()
PLACES = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    for name in ("kube-descheduler", "monitoring")
]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_can_be_planned(file: Path) -> None:
    config = yaml.safe_load(file.read_text())
    assert config["metadata"]["name"] == config["spec"]["profile"]
    assert config["spec"]["action"] == "DryRun", "an example shows before it acts"
    cluster = added(a_cluster("5.32"), *PLACES)
    plan = planned(cluster, options_of(config), config["spec"]["profile"])
    assert plan.items


def test_the_sample_is_a_preview_of_a_profile_there_is() -> None:
    config = sample()
    assert config["kind"] == CONFIGS.kind
    assert config["spec"]["profile"] in built_in()
    assert options_of(config) is not None
    assert VirtPlatformConfig().spec.action == config["spec"]["action"] == "DryRun"


@pytest.mark.parametrize("path", sorted(FILES))
def test_mocks_and_samples_are_one_object_per_document_without_anchors(path: str) -> None:
    text = FILES[path]
    assert "&id" not in text
    assert all(document["kind"] for document in yaml.load_all(text, Loader=yaml.CSafeLoader))

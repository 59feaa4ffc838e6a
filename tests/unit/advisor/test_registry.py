"""The profiles by name, and what each tells about itself."""

import pytest

from builders.worlds.openshift import DENSITY, LOAD_AWARE, a_cluster, added, drafted, load_aware
from trimtab.advisor.kinds import NAMESPACES, resource_of
from trimtab.advisor.plan.profile import MissingError, OptionError
from trimtab.advisor.profiles.higher_density import HigherDensity
from trimtab.advisor.profiles.load_aware import LoadAware
from trimtab.advisor.profiles.registry import Example, Registry, built_in
from trimtab.errors import ConfigError

EXAMPLE = "example-profile"


def test_profiles_are_registered_once() -> None:
    registry = Registry()
    assert registry.names() == ()
    registry.register(Example())
    assert registry.names() == (EXAMPLE,)
    with pytest.raises(ConfigError, match="already registered"):
        registry.register(Example())
    assert Registry(LoadAware(), HigherDensity(), Example()).names() == built_in().names()


def test_an_unknown_name_is_an_error_that_lists_the_known() -> None:
    assert built_in().get(EXAMPLE).name == EXAMPLE
    with pytest.raises(ConfigError, match=f"not found; there are: {LOAD_AWARE}"):
        built_in().get("no-such")


def test_every_profile_can_be_advertised_with_words() -> None:
    profiles = list(built_in())
    assert {profile.advertisable for profile in profiles} == {True, False}
    for profile in profiles:
        assert 0 < len(profile.description) <= 200
        assert profile.category
        assert profile.impact_summary


def test_what_the_built_in_ones_say_of_themselves() -> None:
    said = {p.name: (p.category, p.advertisable, p.impact) for p in built_in()}
    assert said == {
        LOAD_AWARE: ("scheduling", True, "High"),
        DENSITY: ("density", True, "High"),
        EXAMPLE: ("example", False, "Low"),
    }
    density = built_in().get(DENSITY)
    assert "density" in density.description
    assert "swap" in density.impact_summary
    assert "CNV_SWAP" in density.impact_summary


@pytest.mark.parametrize("name", built_in().names())
def test_every_target_is_of_a_kind_that_the_profile_says_it_writes(name: str) -> None:
    profile = built_in().get(name)
    kinds = {resource_of(ref.api_version, ref.kind) for ref in profile.targets()}
    assert kinds == set(profile.manages())


def test_the_example_writes_one_config_map_and_has_no_options() -> None:
    (wanted,) = drafted(a_cluster(), None, EXAMPLE).desired_objects
    assert (wanted.name, wanted.desired["data"]["replicas"]) == (
        "configure-example-component",
        "3",
    )
    with pytest.raises(OptionError, match="example-profile has none"):
        drafted(a_cluster(), load_aware(), EXAMPLE)


def test_the_examples_namespace_must_exist() -> None:
    alone = a_cluster(without=[NAMESPACES.ref("openshift-cnv")])
    with pytest.raises(MissingError, match="openshift-cnv"):
        drafted(alone, None, EXAMPLE)
    named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openshift-cnv"}}
    assert drafted(added(alone, named), None, EXAMPLE).desired_objects

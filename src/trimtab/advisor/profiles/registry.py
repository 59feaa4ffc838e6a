"""The profiles by name."""

from collections.abc import Iterator

from trimtab.advisor.api import Options, Severity, TargetRef
from trimtab.advisor.kinds import CONFIG_MAPS, EXAMPLE, NAMESPACES, namespace_of
from trimtab.advisor.plan.profile import (
    ClusterFacts,
    DesiredObject,
    Draft,
    OptionError,
    PlatformProfile,
    Prerequisite,
    Resource,
    manifest_head,
)
from trimtab.advisor.profiles.higher_density import HigherDensity
from trimtab.advisor.profiles.load_aware import LoadAware, require
from trimtab.errors import ConfigError


class Registry:
    """Profiles under their names, in the order in which they were registered."""

    def __init__(self, *profiles: PlatformProfile) -> None:
        self._profiles: dict[str, PlatformProfile] = {}
        for profile in profiles:
            self.register(profile)

    def register(self, profile: PlatformProfile) -> None:
        if profile.name in self._profiles:
            raise ConfigError(f'profile "{profile.name}" is already registered; rename one')
        self._profiles[profile.name] = profile

    def get(self, name: str) -> PlatformProfile:
        if name not in self._profiles:
            known = ", ".join(self._profiles) or "none"
            raise ConfigError(f'profile "{name}" was not found; there are: {known}')
        return self._profiles[name]

    def __contains__(self, name: str) -> bool:
        return name in self._profiles

    def __iter__(self) -> Iterator[PlatformProfile]:
        return iter(self._profiles.values())

    def names(self) -> tuple[str, ...]:
        return tuple(self._profiles)

    def resources(self) -> tuple[Resource, ...]:
        """Every kind that some profile writes or reads, once."""
        kinds = [k for profile in self for k in (*profile.manages(), *profile.looks_at())]
        return tuple(dict.fromkeys(kinds))


def built_in() -> Registry:
    """A registry with the profiles of this package."""
    return Registry(LoadAware(), HigherDensity(), Example())


# `example-profile`: one ConfigMap, nothing else; to try the workflow, and to copy from.
ITEM = "configure-example-component"
DATA = {"enabled": "true", "replicas": "3"}


class Example:
    name = "example-profile"
    description = "Writes one ConfigMap; shows the way from preview to drift and back"
    category = "example"
    impact_summary = "Low: one ConfigMap that nothing reads"
    impact: Severity = "Low"
    advertisable = False

    def manages(self) -> tuple[Resource, ...]:
        return (CONFIG_MAPS,)

    def looks_at(self) -> tuple[Resource, ...]:
        return (NAMESPACES,)

    def targets(self) -> tuple[TargetRef, ...]:
        return (EXAMPLE,)

    def needs(self, options: Options | None) -> tuple[Prerequisite, ...]:
        return ()

    def lists(self, options: Options | None) -> tuple[Resource, ...]:
        return ()

    def reads(self, options: Options | None, facts: ClusterFacts) -> tuple[TargetRef, ...]:
        return (EXAMPLE, namespace_of(EXAMPLE))

    def draft(self, options: Options | None, facts: ClusterFacts) -> Draft:
        if options is not None:
            raise OptionError("spec.options: example-profile has none; remove them")
        require(namespace_of(EXAMPLE), facts)
        wanted = DesiredObject(
            name=ITEM,
            desired={**manifest_head(EXAMPLE), "data": DATA},
            managed_fields=("data",),
            severity="Low",
            impact="nothing reads it",
            message=f"ConfigMap '{EXAMPLE.name}' will be configured",
            reasons={"data": "an example of what a profile sets"},
        )
        return Draft(desired_objects=(wanted,))

"""The profiles by name."""

from collections.abc import Iterator

from trimtab.advisor.plan.profile import PlatformProfile, Resource
from trimtab.advisor.profiles.example import Example
from trimtab.advisor.profiles.higher_density import HigherDensity
from trimtab.advisor.profiles.load_aware import LoadAware
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

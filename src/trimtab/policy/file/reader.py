"""Reads a `descheduler/v1alpha2` policy file as v0.36 does: decode, validate, default, build.

What the descheduler refuses is refused here with its words and the field; what it drops
without a word is kept in `Policy.ignored`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from trimtab.errors import ConfigError
from trimtab.policy.file import wire
from trimtab.policy.file.plugins import (
    build_evictor,
    build_high,
    build_low,
    build_migration_aware,
    prometheus_url,
)
from trimtab.policy.file.selector_text import parse_selector
from trimtab.policy.file.settings import Evictor, Plugin, Policy, Profile
from trimtab.policy.file.validation import (
    PolicyError,
    ValidationProblem,
    check_evictor,
    check_high,
    check_low,
    check_providers,
)
from trimtab.policy.file.yaml_text import load_yaml
from trimtab.policy.pods.migration_aware import PLUGIN as MIGRATION_AWARE
from trimtab.policy.pods.migration_aware import MigrationAware

Decoded = TypeVar("Decoded", bound=Struct)

EVICTOR = "DefaultEvictor"
LOW = "LowNodeUtilization"
HIGH = "HighNodeUtilization"
OPENSHIFT_ONLY = (MIGRATION_AWARE,)
"""Upstream's descheduler does not start with these; `lint` says so where it knows which runs."""
_ARGS: dict[str, type[wire.Args]] = {
    EVICTOR: wire.DefaultEvictorArgs,
    LOW: wire.LowNodeUtilizationArgs,
    HIGH: wire.HighNodeUtilizationArgs,
    MIGRATION_AWARE: wire.MigrationAwareArgs,
}
_POINTS = {
    "deschedule": {
        "PodLifeTime",
        "RemoveFailedPods",
        "RemovePodsHavingTooManyRestarts",
        "RemovePodsViolatingInterPodAntiAffinity",
        "RemovePodsViolatingNodeAffinity",
        "RemovePodsViolatingNodeTaints",
    },
    "balance": {LOW, HIGH, "RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"},
    "filter": {EVICTOR, MIGRATION_AWARE},
    "preevictionfilter": {EVICTOR, MIGRATION_AWARE},
}
_REGISTERED = set().union(*_POINTS.values())


def load_policy(path: Path) -> Policy:
    """Read a policy file."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    return read_policy(text, str(path))


def read_policy(
    text: str, file: str = "policy", priority_classes: Mapping[str, int] | None = None
) -> Policy:
    """Read the text of a policy; `file` names it in errors.

    `priority_classes` gives the values of the classes that priorityThreshold.name may
    name: the descheduler asks the API server for them when it starts.
    """
    return _Reader(file, priority_classes or {}).policy(load_yaml(text, file))


class _Header(Struct, frozen=True):
    """What decides how the rest of a policy file is read."""

    apiversion: str | None = None
    kind: str | None = None


class _Config(Struct, frozen=True):
    """One entry of pluginConfig; `args` is None for plugins that trimtab does not reproduce."""

    field: str
    name: str
    args: wire.Args | None


class _Reader:
    def __init__(self, file: str, priority_classes: Mapping[str, int]) -> None:
        self._file, self._classes = file, priority_classes

    def policy(self, tree: Any) -> Policy:
        if not isinstance(tree, dict):
            self._fail("", "a policy is an object; start with apiVersion: descheduler/v1alpha2")
        # Of these two keys alone the letter case does not matter.
        header = self._decode({key.lower(): tree[key] for key in tree}, _Header, "")
        self._check_kind(header)
        if not header.apiversion:
            return Policy(profiles=(), unversioned=True)
        file = self._decode(tree, wire.PolicyFile, "")
        profiles = file.profiles or ()
        configs = [list(self._configs(at, profile)) for at, profile in enumerate(profiles)]
        self._validate(file, [config for of_profile in configs for config in of_profile])
        built = (self._profile(at, p, configs[at], file) for at, p in enumerate(profiles))
        return Policy(
            profiles=tuple(built),
            node_selector=parse_selector(file.node_selector or "", f"{self._file}: nodeSelector"),
            max_total=file.max_no_of_pods_to_evict_total,
            max_per_node=file.max_no_of_pods_to_evict_per_node,
            max_per_namespace=file.max_no_of_pods_to_evict_per_namespace,
            grace_period_s=file.grace_period_seconds,
            prometheus_url=prometheus_url(file),
            openshift_only=tuple(_openshift_only(configs)),
            unmodelled=tuple(name for p in profiles for name in _unmodelled(p)),
            ignored=tuple(
                field
                for field in wire.unknown_fields(tree, wire.PolicyFile)
                if field.lower() not in _Header.__struct_fields__
            ),
        )

    def _check_kind(self, header: "_Header") -> None:
        """What is there must be right. Without apiVersion nothing else is read, see `Policy`."""
        if (header.apiversion or "descheduler/v1alpha2") != "descheduler/v1alpha2":
            text = f"{header.apiversion!r} is not registered; use descheduler/v1alpha2"
            self._fail("apiVersion", text)
        if (header.kind or "DeschedulerPolicy") != "DeschedulerPolicy":
            self._fail("kind", f"{header.kind!r} is not registered; use DeschedulerPolicy")

    def _configs(self, at: int, profile: wire.ProfileObject) -> Iterator[_Config]:
        for index, config in enumerate(profile.plugin_config or ()):
            field, name = f"profiles[{at}].pluginConfig[{index}].args", config.name or ""
            if name not in _REGISTERED:
                text = f"plugin {name} in pluginConfig not registered"
                self._fail(f"profiles[{at}].pluginConfig[{index}].name", text)
            yield _Config(field, name, self._args(name, config.args, field))

    def _args(self, name: str, given: Any, field: str) -> wire.Args | None:
        wanted = _ARGS.get(name)
        if wanted is None:
            return None
        tree = {} if given is None else given
        decoded = self._decode(tree, wanted, field)
        if unknown := list(wire.unknown_fields(tree, wanted)):
            listed = ", ".join(f'unknown field "{path}"' for path in sorted(unknown))
            self._fail(field, f"strict decoding error: {listed}")
        return decoded

    def _decode(self, tree: Any, wanted: type[Decoded], field: str) -> Decoded:
        try:
            return msgspec.convert(wire.without_nulls(tree, wanted), wanted)
        except msgspec.ValidationError as error:
            raise PolicyError(self._file, [_located(error, field)]) from error

    def _validate(self, file: wire.PolicyFile, configs: list[_Config]) -> None:
        problems = [problem for config in configs for problem in _problems(config)]
        problems.extend(check_providers(file))
        if problems:
            raise PolicyError(self._file, problems)

    def _profile(
        self, at: int, profile: wire.ProfileObject, configs: list[_Config], file: wire.PolicyFile
    ) -> Profile:
        # Of several entries for one plugin the first counts.
        by_name = {config.name: config for config in reversed(configs)}
        self._check_enabled(f"profiles[{at}].plugins", profile, {EVICTOR, *by_name})
        return Profile(
            name=profile.name or "",
            evictor=self._evictor(by_name.get(EVICTOR), self._migration_aware(profile, by_name)),
            plugins=tuple(self._plugins(_enabled(profile, "balance"), by_name, file)),
        )

    def _check_enabled(self, field: str, profile: wire.ProfileObject, configured: set[str]) -> None:
        for point, known in _POINTS.items():
            for name in _enabled(profile, point):
                if name not in known:
                    self._fail(
                        f"{field}.{point}.enabled",
                        f'profile "{profile.name or ""}" configures {point} extension point '
                        f"of non-existing plugins: {name}",
                    )
                if name not in configured:
                    text = f'unable to find "{name}" plugin config'
                    self._fail(f"{field}.{point}.enabled", text)

    def _evictor(self, config: _Config | None, aware: MigrationAware | None) -> Evictor:
        if config is None or not isinstance(config.args, wire.DefaultEvictorArgs):
            return Evictor(migration_aware=aware)
        evictor = build_evictor(config.args, f"{self._file}: {config.field}", self._classes)
        return replace(evictor, migration_aware=aware)

    def _migration_aware(
        self, profile: wire.ProfileObject, configs: Mapping[str, _Config]
    ) -> MigrationAware | None:
        """Only where a point enables it; OpenShift's operator enables it at both."""
        enabled = (*_enabled(profile, "filter"), *_enabled(profile, "preevictionfilter"))
        config = configs.get(MIGRATION_AWARE)
        if MIGRATION_AWARE not in enabled or config is None:
            return None
        assert isinstance(config.args, wire.MigrationAwareArgs)
        return build_migration_aware(config.args, f"{self._file}: {config.field}")

    def _plugins(
        self, enabled: tuple[str, ...], configs: Mapping[str, _Config], file: wire.PolicyFile
    ) -> Iterator[tuple[str, Plugin]]:
        for name in enabled:
            config = configs[name]
            if isinstance(config.args, wire.LowNodeUtilizationArgs):
                yield name, build_low(config.args, file, f"{self._file}: {config.field}")
            elif isinstance(config.args, wire.HighNodeUtilizationArgs):
                yield name, build_high(config.args)

    def _fail(self, field: str, text: str) -> NoReturn:
        raise PolicyError(self._file, [ValidationProblem(field, text)])


def _problems(config: _Config) -> Iterator[ValidationProblem]:
    match config.args:
        case wire.DefaultEvictorArgs():
            yield from check_evictor(config.args, config.field)
        case wire.LowNodeUtilizationArgs():
            yield from check_low(config.args, config.field)
        case wire.HighNodeUtilizationArgs():
            yield from check_high(config.args, config.field)


def _enabled(profile: wire.ProfileObject, point: str) -> tuple[str, ...]:
    plugins: wire.PluginSet | None = getattr(profile.plugins or wire.Plugins(), point)
    return (plugins and plugins.enabled) or ()


def _openshift_only(configs: list[list[_Config]]) -> Iterator[str]:
    names = (config.name for of_profile in configs for config in of_profile)
    return (name for name in dict.fromkeys(names) if name in OPENSHIFT_ONLY)


def _unmodelled(profile: wire.ProfileObject) -> Iterator[str]:
    for point in ("deschedule", "balance"):
        yield from (name for name in _enabled(profile, point) if name not in _ARGS)


def _located(error: msgspec.ValidationError, field: str) -> ValidationProblem:
    """`Expected `int`, got `str` - at `$.a.b`` becomes field a.b and the rest."""
    text, _, path = str(error).partition(" - at ")
    inner = re.sub(r"^\$\.?", "", path.strip("`"))
    place = ".".join(part for part in (field, inner) if part)
    return ValidationProblem(place, text.replace("`", "") or "is not what it should be")

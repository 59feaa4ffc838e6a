"""What the descheduler refuses in a policy, in its own words, with the field that is at fault.

The first group is checked when the file is read, before the API server is asked for
anything; `config` adds what fails later, when the plugins are built.
"""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from trimtab.errors import ConfigError
from trimtab.policy.file.settings import DEFAULT_PROTECTIONS, Protection
from trimtab.policy.file.wire import (
    DefaultEvictorArgs,
    HighNodeUtilizationArgs,
    LowNodeUtilizationArgs,
    Namespaces,
    Percentages,
    PodProtections,
    PolicyFile,
    PrometheusServer,
)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_AUTHORITY = re.compile(r"//(?:[^@/]*@)?(\[[^\]/]*\]|[^:/?#]*)(?::(?P<port>[^/?#]*))?")


class ValidationProblem(Struct, frozen=True):
    """One reason why the descheduler would not start."""

    field: str
    text: str

    def __str__(self) -> str:
        return f"{self.field}: {self.text}" if self.field else self.text


class PolicyError(ConfigError):
    """The descheduler would not start with this policy."""

    def __init__(self, file: str, problems: list[ValidationProblem]) -> None:
        super().__init__(f"{file}: " + "; ".join(map(str, problems)))
        self.file, self.problems = file, tuple(problems)


def check_low(args: LowNodeUtilizationArgs, at: str) -> Iterator[ValidationProblem]:
    """One problem at most, as the descheduler stops at the first."""
    yield from _first(
        _namespaces(args.evictable_namespaces, at), _low_thresholds(args, at), _metrics(args, at)
    )


def check_high(args: HighNodeUtilizationArgs, at: str) -> Iterator[ValidationProblem]:
    unknown = [m for m in args.eviction_modes or () if m != "OnlyThresholdingResources"]
    modes = [
        ValidationProblem(f"{at}.evictionModes", f"invalid eviction mode {mode}")
        for mode in unknown
    ]
    yield from _first(
        _namespaces(args.evictable_namespaces, at),
        (ValidationProblem(f"{at}.thresholds", text) for text in _thresholds(args.thresholds)),
        iter(modes),
    )


def _first(*checks: Iterator[ValidationProblem]) -> Iterator[ValidationProblem]:
    for check in checks:
        for problem in check:
            yield problem
            return


def _namespaces(namespaces: Namespaces | None, at: str) -> Iterator[ValidationProblem]:
    if namespaces and namespaces.include:
        text = "only Exclude namespaces can be set, inclusion is not supported"
        yield ValidationProblem(f"{at}.evictableNamespaces.include", text)


def _thresholds(thresholds: Percentages | None) -> Iterator[str]:
    if not thresholds:
        yield "no resource threshold is configured"
    for name, percent in (thresholds or {}).items():
        if percent is not None and not 0 <= percent <= 100:
            yield f"{name} threshold not in [0, 100] range"


def _low_thresholds(args: LowNodeUtilizationArgs, at: str) -> Iterator[ValidationProblem]:
    for field, given in (
        ("thresholds", args.thresholds),
        ("targetThresholds", args.target_thresholds),
    ):
        for text in _thresholds(given):
            yield ValidationProblem(f"{at}.{field}", f"{field} config is not valid: {text}")
    low, high = args.thresholds or {}, args.target_thresholds or {}
    if low.keys() != high.keys():
        text = "thresholds and targetThresholds configured different resources"
        yield ValidationProblem(f"{at}.targetThresholds", text)
        return
    for name, percent in low.items():
        if (percent or 0) > (high[name] or 0) and not args.use_deviation_thresholds:
            text = f"thresholds' {name} percentage is greater than targetThresholds'"
            yield ValidationProblem(f"{at}.thresholds.{name}", text)


def _metrics(args: LowNodeUtilizationArgs, at: str) -> Iterator[ValidationProblem]:
    metrics, field = args.metrics_utilization, f"{at}.metricsUtilization"
    if metrics is None:
        return
    if metrics.source == "KubernetesMetrics" and metrics.metrics_server:
        yield ValidationProblem(
            field, 'it is not allowed to set both "KubernetesMetrics" source and metricsServer'
        )
    if metrics.source == "KubernetesMetrics" and metrics.prometheus is not None:
        yield ValidationProblem(
            f"{field}.prometheus",
            "prometheus configuration is not allowed to set when source is set to "
            '"KubernetesMetrics"',
        )
    if metrics.source == "Prometheus" and not (metrics.prometheus and metrics.prometheus.query):
        yield ValidationProblem(
            f"{field}.prometheus.query",
            'prometheus query is required when metrics source is set to "Prometheus"',
        )


def check_evictor(args: DefaultEvictorArgs, at: str) -> Iterator[ValidationProblem]:
    """All problems: here the descheduler collects them."""
    priority, protections = args.priority_threshold, args.pod_protections or PodProtections()
    if priority and priority.value is not None and priority.name:
        text = "priority threshold misconfigured, only one of priorityThreshold fields can be set"
        yield ValidationProblem(f"{at}.priorityThreshold", text)
    if args.no_eviction_policy not in (None, "", "Preferred", "Mandatory"):
        text = 'noEvictionPolicy accepts only ["Preferred" "Mandatory"] values'
        yield ValidationProblem(f"{at}.noEvictionPolicy", text)
    if not (protections.extra_enabled or protections.default_disabled):
        return
    if any(legacy_flags(args).values()):
        text = (
            "cannot use Deprecated fields alongside PodProtections.ExtraEnabled "
            "or PodProtections.DefaultDisabled"
        )
        yield ValidationProblem(f"{at}.podProtections", text)
    yield from _protections(protections, f"{at}.podProtections")


def legacy_flags(args: DefaultEvictorArgs) -> Mapping[str, bool]:
    """The deprecated booleans by name."""
    return {
        "evictLocalStoragePods": bool(args.evict_local_storage_pods),
        "evictDaemonSetPods": bool(args.evict_daemon_set_pods),
        "evictSystemCriticalPods": bool(args.evict_system_critical_pods),
        "evictFailedBarePods": bool(args.evict_failed_bare_pods),
        "ignorePvcPods": bool(args.ignore_pvc_pods),
        "ignorePodsWithoutPDB": bool(args.ignore_pods_without_pdb),
    }


def _protections(protections: PodProtections, at: str) -> Iterator[ValidationProblem]:
    extra, disabled = protections.extra_enabled or (), protections.default_disabled or ()
    default = [p.value for p in Protection if p in DEFAULT_PROTECTIONS]
    optional = [p.value for p in Protection if p not in DEFAULT_PROTECTIONS]
    for field, given, valid in (
        ("extraEnabled", extra, optional),
        ("defaultDisabled", disabled, default),
    ):
        title = field[0].upper() + field[1:]
        for name in given:
            if name not in valid:
                yield ValidationProblem(
                    f"{at}.{field}",
                    f'invalid pod protection policy in {title}: "{name}". '
                    f"Valid options are: [{' '.join(valid)}]",
                )
        if len(set(given)) < len(given):
            text = f"PodProtections.{title} contains duplicate entries"
            yield ValidationProblem(f"{at}.{field}", text)
    if "PodsWithPVC" in extra:
        yield from _storage_classes(protections, at)


def _storage_classes(protections: PodProtections, at: str) -> Iterator[ValidationProblem]:
    config = protections.config and protections.config.pods_with_pvc
    for index, storage_class in enumerate((config and config.protected_storage_classes) or ()):
        if not storage_class.name:
            yield ValidationProblem(
                f"{at}.config.PodsWithPVC.protectedStorageClasses[{index}].name",
                f"PodProtections.Config.PodsWithPVC.ProtectedStorageClasses[{index}] "
                "name cannot be empty",
            )


def check_providers(policy: PolicyFile) -> Iterator[ValidationProblem]:
    """metricsProviders and the older metricsCollector."""
    seen: dict[str, PrometheusServer | None] = {}
    for index, provider in enumerate(policy.metrics_providers or ()):
        source = provider.source or ""
        if source in seen:
            yield ValidationProblem(
                f"metricsProviders[{index}]",
                f'metric provider "{source}" is already configured, '
                "each source can be configured only once",
            )
        else:
            seen[source] = provider.prometheus
    collector = policy.metrics_collector
    if "KubernetesMetrics" in seen and collector and collector.enabled:
        yield ValidationProblem(
            "metricsCollector",
            "it is not allowed to combine metrics provider when metrics collector is enabled",
        )
    if "Prometheus" in seen:
        yield from _prometheus(seen["Prometheus"])


def _prometheus(server: PrometheusServer | None) -> Iterator[ValidationProblem]:
    at = "metricsProviders.prometheus"
    if server is None:
        yield ValidationProblem(
            at, "prometheus configuration is required when prometheus source is enabled"
        )
        return
    if not server.url:
        yield ValidationProblem(
            f"{at}.url", "prometheus URL is required when prometheus is enabled"
        )
    elif problem := url_problem(server.url):
        yield ValidationProblem(f"{at}.url", f"error parsing prometheus URL: {problem}")
    if server.auth_token is None:
        return
    secret = server.auth_token.secret_reference
    if secret is None:
        text = "prometheus authToken secret is expected to be set when authToken field is"
        yield ValidationProblem(f"{at}.authToken", text)
    elif not (secret.name and secret.namespace):
        text = "prometheus authToken secret reference does not set both namespace and name"
        yield ValidationProblem(f"{at}.authToken.secretReference", text)


def url_problem(url: str) -> str | None:
    """Why Go's URL parser refuses it; it takes far more than Prometheus ever answers to."""
    if any(character < " " or character == "\x7f" for character in url):
        return "invalid control character in URL"
    if re.search(r"%(?![0-9A-Fa-f]{2})", url.split("?")[0]):
        return "invalid URL escape"
    scheme = _SCHEME.match(url)
    if not scheme:
        first = url.split("/")[0].split("?")[0]
        return "first path segment in URL cannot contain colon" if ":" in first else None
    authority = _AUTHORITY.match(url, scheme.end())
    if authority and not re.fullmatch(r"[0-9]*", authority["port"] or ""):
        return f'invalid port ":{authority["port"]}" after host'
    if authority and " " in authority[1]:
        return 'invalid character " " in host name'
    return None

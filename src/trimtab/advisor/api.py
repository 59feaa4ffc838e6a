"""VirtPlatformConfig on the wire: the fields a user writes and the ones the operator answers.

Names and defaults are those of `advisor.kubevirt.io/v1alpha1`, so existing manifests keep
working; what is ours beyond that says so in its docstring. `crd.py` prints the schema of
these types and holds the limits; `None` means "the user said nothing".
"""

from datetime import datetime
from typing import Any, Literal

from msgspec import field

from trimtab.kube.resources import Condition, Free, Kind, Object, Wire, free_kind

GROUP, VERSION = "advisor.kubevirt.io", "v1alpha1"
MANAGER = "virt-advisor-operator"
"""Field manager of every server-side apply of ours."""

ProfileName = Literal["load-aware-rebalancing", "virt-higher-density", "example-profile"]
Action = Literal["DryRun", "Apply", "Ignore", "Rollback"]
FailurePolicy = Literal["Abort", "Continue"]
Mode = Literal["Automatic", "Predictive"]
Deviation = Literal["Low", "Medium", "High", "AsymmetricLow", "AsymmetricMedium", "AsymmetricHigh"]
Target = Literal["openshift", "upstream"]
Severity = Literal["Low", "Medium", "High"]
ItemState = Literal["Pending", "InProgress", "Completed", "Failed"]
Verb = Literal["apply", "delete", "restore"]
Phase = Literal[
    "Pending",
    "Drafting",
    "PrerequisiteFailed",
    "ReviewRequired",
    "InProgress",
    "Completed",
    "CompletedWithErrors",
    "CompletedWithUpgrade",
    "Failed",
    "Drifted",
    "Ignored",
    "RollingBack",
    "RolledBack",
]


class LabelRequirement(Wire, frozen=True):
    key: str = ""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = "Exists"
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True):
    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelRequirement, ...] = ()


class LoadAwareOptions(Wire, frozen=True, omit_defaults=False):
    descheduling_interval_seconds: int = 60
    mode: Mode = "Automatic"
    """Predictive only simulates."""
    enable_psi_metrics: bool = field(default=True, name="enablePSIMetrics")
    dev_deviation_thresholds: Deviation = "AsymmetricLow"
    eviction_limit_total: int | None = None
    """None: from HyperConverged's migration limits."""
    eviction_limit_node: int | None = None
    target: Target = "openshift"
    """`upstream` manages the upstream descheduler's policy and the recording rules."""
    algorithm: str = ""
    """Ours, for `upstream`: the node score; empty = the default one."""
    background_evictions: bool = False
    """Set devEnableEvictionsInBackground also where LongLifecycle is all there is."""


class KsmConfiguration(Wire, frozen=True, omit_defaults=False):
    enabled: bool = True
    node_label_selector: LabelSelector = LabelSelector()


class HigherDensityOptions(Wire, frozen=True):
    enable_swap: bool | None = None
    """None: true."""
    ksm_configuration: KsmConfiguration | None = None
    memory_to_request_ratio: int | None = None
    """None: 150 with swap, 120 without; an explicit value wins over HyperConverged's."""


class Options(Wire, frozen=True):
    """A union: only the member that belongs to the profile may be present."""

    load_aware: LoadAwareOptions | None = None
    virt_higher_density: HigherDensityOptions | None = None


class Ignore(Wire, frozen=True):
    """A field by its path, or all fields that a manager owns, left to others."""

    field: str = ""
    manager: str = ""
    item: str = ""
    """Only in this item of the plan; empty: in all."""


class Ignored(Wire, frozen=True):
    """A field that a plan leaves to others, and because of which manager."""

    field: str = ""
    manager: str = ""


class Accepted(Wire, frozen=True):
    """A value that somebody else gave a field and that may stay."""

    item: str = ""
    field: str = ""
    value: Any = None
    removed: bool = False
    """The field is not there, and may stay away."""


class FieldChange(Wire, frozen=True):
    """A field that is not as it was applied, as it is now."""

    field: str = ""
    value: Any = None
    removed: bool = False
    added: bool = False
    """Nobody of us asked for it."""
    by: tuple[str, ...] = ()


class Spec(Wire, frozen=True):
    profile: str = ""
    action: Action = "DryRun"
    failure_policy: FailurePolicy = "Abort"
    bypass_optimistic_lock: bool = False
    """Also re-applies after drift, until the edit-war guard says stop."""
    wait_timeout: str = ""
    """Go duration; empty waits forever."""
    options: Options | None = None
    approved_plan: str = ""
    """Approves the plan with this id, for one start."""
    ignore: tuple[Ignore, ...] = ()
    """What plans neither write nor compare."""
    accepted: tuple[Accepted, ...] = ()
    """Drift that may stay."""


class TargetRef(Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"


class Taking(Wire, frozen=True):
    """A field that another manager owns and this plan takes over."""

    field: str = ""
    manager: str = ""


class FieldReason(Wire, frozen=True):
    """Why the profile sets a field; `changes` where the plan gives it another value."""

    field: str = ""
    why: str = ""
    changes: bool = False


class Item(Wire, frozen=True):
    """One object of the plan; `desired_state` is what is applied, byte for byte."""

    name: str = ""
    target_ref: TargetRef = TargetRef()
    verb: Verb = "apply"
    """`delete` for objects that leave the plan, `restore` in a rollback."""
    impact_severity: Severity | Literal[""] = ""
    impact: str = ""
    """The severity in words."""
    diff: str = ""
    desired_state: Free | None = None
    state: ItemState = "Pending"
    message: str = ""
    last_transition_time: datetime | None = None
    managed_fields: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    """Names of items that must be Completed, in effect, before this one starts."""
    takes: tuple[Taking, ...] = ()
    warnings: tuple[str, ...] = ()
    reasons: tuple[FieldReason, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    """Fields that it leaves to others, because the spec says so."""
    applied: bool = False
    """The write was made; what is still waited for is its effect."""
    drifted: bool = False
    """It was Completed, and is not as it was then."""
    drift: tuple[FieldChange, ...] = ()
    """In which fields."""
    accepted: tuple[Accepted, ...] = ()
    """Values of others that it leaves as they are."""


class Approval(Wire, frozen=True):
    """Who approved which plan, as admission saw it."""

    plan_id: str = ""
    by: str = ""
    at: datetime | None = None


class Asked(Wire, frozen=True):
    """What the spec asked for when it was last looked at; see `approval`."""

    generation: int = 0
    action: str = ""
    approved_plan: str = ""
    options: str = ""
    """Digest of the options."""
    plan: str = ""
    """The plan that `action: Apply` stands for, until it is started."""
    used: bool = False
    """`approved_plan` has started its plan."""
    by: str = ""
    at: datetime | None = None


class Remediation(Wire, frozen=True):
    """Re-applies after drift, for the guard against edit wars."""

    at: tuple[datetime, ...] = ()
    running: bool = False
    """The plan under way puts back what drifted: the baseline stays what it was."""
    paused: bool = False


class HistoryLine(Wire, frozen=True):
    """One line of the bounded audit history."""

    at: datetime | None = None
    what: str = ""
    plan_id: str = ""
    by: str = ""
    outcome: str = ""
    diff: str = ""
    """What a plan that was started changed; kept of the newest plans."""


class PlatformStatus(Wire, frozen=True):
    phase: Phase | Literal[""] = ""
    impact_severity: Severity | Literal[""] = ""
    observed_generation: int = 0
    source_snapshot_hash: str = ""
    operator_version: str = ""
    applied_options: Options | None = None
    applied_ignore: tuple[Ignore, ...] = ()
    """What the plan was told to leave to others."""
    applied_accepted: tuple[Accepted, ...] = ()
    looked_at: datetime | None = None
    """As of when the plan holds."""
    looked_for: str = ""
    """Which request for another look that answers."""
    items: tuple[Item, ...] = ()
    conditions: tuple[Condition, ...] = ()
    plan_id: str = ""
    """Hash of the items and of every input they were made from."""
    inputs: Free = field(default_factory=dict)
    """The input values the plan was made from, by name; a change re-plans."""
    approval: Approval | None = None
    asked: Asked | None = None
    reverse: bool = False
    """This plan takes back what was applied."""
    remediation: Remediation | None = None
    warnings: tuple[str, ...] = ()
    history: tuple[HistoryLine, ...] = ()


class VirtPlatformConfig(Object, frozen=True):
    spec: Spec = Spec()
    status: PlatformStatus = PlatformStatus()


CONFIGS = Kind(
    GROUP,
    VERSION,
    "virtplatformconfigs",
    "VirtPlatformConfig",
    VirtPlatformConfig,
    namespaced=False,
)
FREE_CONFIGS = free_kind(GROUP, VERSION, CONFIGS.plural, CONFIGS.kind, namespaced=False)
"""The same, undecoded: what nobody here knows of is written back as it was."""

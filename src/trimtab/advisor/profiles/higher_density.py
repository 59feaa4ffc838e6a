"""`virt-higher-density`: more VMs per node, with swap, shared pages and memory overcommit."""

import msgspec

from trimtab.advisor.api import (
    HigherDensityOptions,
    KsmConfiguration,
    LabelSelector,
    Options,
    Severity,
    TargetRef,
)
from trimtab.advisor.kinds import (
    HYPERCONVERGED,
    HYPERCONVERGED_V1,
    HYPERCONVERGEDS,
    HYPERCONVERGEDS_V1,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
    NAMESPACES,
    namespace_of,
)
from trimtab.advisor.plan.pools import machines, taken_by
from trimtab.advisor.plan.pools import reads as rendered_configs
from trimtab.advisor.plan.profile import (
    ClusterFacts,
    DesiredObject,
    Draft,
    MissingError,
    OptionError,
    Prerequisite,
    Resource,
    dig,
    manifest_head,
)
from trimtab.advisor.profiles import swap
from trimtab.advisor.profiles.load_aware import MACHINE_CONFIG_NEED, require
from trimtab.kube.resources import Free

SWAP_ITEM, HCO_ITEM = "enable-kubelet-swap", "configure-higher-density"
RATIO_WITH_SWAP, RATIO_WITHOUT = 150, 120
UNTOUCHED = 100
"""HyperConverged's own default: no overcommit."""
RATIO_INPUT = "hyperconverged.higherWorkloadDensity.memoryOvercommitPercentage"
HCO_NEED = Prerequisite(
    HYPERCONVERGEDS,
    "install OpenShift Virtualization, or the HyperConverged operator",
    any_version=True,
)


class Choice(msgspec.Struct, frozen=True):
    """The options with their defaults filled in, in the order that makes sense."""

    swap: bool
    ksm: KsmConfiguration | None
    ratio: int
    explicit_ratio: bool


def chosen(options: Options | None) -> Choice:
    """Swap decides the default ratio, so `enableSwap: false` alone is valid."""
    given = (options and options.virt_higher_density) or HigherDensityOptions()
    swapping = given.enable_swap is not False
    ksm = given.ksm_configuration or KsmConfiguration()
    ratio = given.memory_to_request_ratio
    if ratio is not None and ratio > RATIO_WITHOUT and not swapping:
        raise OptionError(
            f"options.virtHigherDensity.memoryToRequestRatio {ratio} needs swap; set enableSwap: "
            f"true, or a ratio of at most {RATIO_WITHOUT}"
        )
    default = RATIO_WITH_SWAP if swapping else RATIO_WITHOUT
    explicit = ratio is not None
    return Choice(swapping, ksm if ksm.enabled else None, ratio or default, explicit)


class HigherDensity:
    name = "virt-higher-density"
    description = "Fits more VMs on each node: memory density by swap, shared pages and overcommit"
    category = "density"
    impact_summary = (
        "High: reboots workers to turn on swap, which needs a partition labelled CNV_SWAP; "
        "memory is then overcommitted"
    )
    impact: Severity = "High"
    advertisable = True

    def manages(self) -> tuple[Resource, ...]:
        return (MACHINE_CONFIGS, HYPERCONVERGEDS, HYPERCONVERGEDS_V1)

    def looks_at(self) -> tuple[Resource, ...]:
        return (MACHINE_CONFIG_POOLS, NAMESPACES)

    def targets(self) -> tuple[TargetRef, ...]:
        return (MACHINE_CONFIGS.ref(swap.NAME), HYPERCONVERGED, HYPERCONVERGED_V1)

    def needs(self, options: Options | None) -> tuple[Prerequisite, ...]:
        given = options.virt_higher_density if options else None
        off = given is not None and given.enable_swap is False
        hint = "part of OpenShift; on other clusters set enableSwap: false"
        machine = Prerequisite(MACHINE_CONFIG_NEED.resource, hint)
        return (HCO_NEED,) if off else (machine, HCO_NEED)

    def lists(self, options: Options | None) -> tuple[Resource, ...]:
        return (MACHINE_CONFIG_POOLS,)

    def reads(self, options: Options | None, facts: ClusterFacts) -> tuple[TargetRef, ...]:
        home = namespace_of(HYPERCONVERGED)
        return (HYPERCONVERGED, HYPERCONVERGED_V1, home, *rendered_configs(facts))

    def draft(self, options: Options | None, facts: ClusterFacts) -> Draft:
        choice = chosen(options)
        require(namespace_of(HYPERCONVERGED), facts)
        _require_hyperconverged(facts)
        desired_objects = [_swap_object(facts)] if choice.swap else []
        depends_on = tuple(wanted.name for wanted in desired_objects)
        desired_objects.append(_density_object(choice, facts, depends_on))
        inputs = {} if choice.explicit_ratio else {RATIO_INPUT: _foreign_ratio(choice, facts)}
        return Draft(desired_objects=tuple(desired_objects), inputs=inputs)


def _require_hyperconverged(facts: ClusterFacts) -> None:
    """Creating it would install all of KubeVirt, and deleting it on the way back remove it."""
    ref, _ = served(facts)
    if facts.get(ref) is None:
        raise MissingError(f"{ref} was not found; install OpenShift Virtualization first")


def _swap_object(facts: ClusterFacts) -> DesiredObject:
    desired = swap.machine_config()
    pools = taken_by(desired, facts.all(MACHINE_CONFIG_POOLS))
    names = ", ".join(f"'{dig(pool, 'metadata', 'name')}'" for pool in pools) or "'worker'"
    count = sum(machines(pool) for pool in pools)
    who = f"the {count} machines" if count else "every machine"
    return DesiredObject(
        name=SWAP_ITEM,
        desired=desired,
        managed_fields=("spec.config",),
        severity="High",
        impact=f"reboots {who} of pool {names}, one after another",
        message=f"MachineConfig '{swap.NAME}' will turn on swap (partition {swap.LABEL}) for VMs",
        reasons={
            "spec.config": f"turns on the partition {swap.LABEL} and lets kubelets give it to VMs "
            "only, so that overcommitted memory has somewhere to go"
        },
        warnings=(f"nodes without a partition labelled {swap.LABEL} run without swap",),
    )


def _density_object(
    choice: Choice, facts: ClusterFacts, depends_on: tuple[str, ...]
) -> DesiredObject:
    ref, prefix = served(facts)
    body: Free = {"higherWorkloadDensity": {"memoryOvercommitPercentage": choice.ratio}}
    fields = ["higherWorkloadDensity.memoryOvercommitPercentage"]
    shared = ""
    if choice.ksm is not None:
        body["ksmConfiguration"] = {"nodeLabelSelector": written(choice.ksm.node_label_selector)}
        fields.append("ksmConfiguration")  # whole: an empty one left behind is not what was before
        shared = " and share equal pages (KSM)"
    spec = body if not prefix else {prefix: body}
    where = ".".join(part for part in ("spec", prefix) if part)
    return DesiredObject(
        name=HCO_ITEM,
        desired={**manifest_head(ref), "spec": spec},
        managed_fields=tuple(f"{where}.{field}" for field in fields),
        severity="Medium",
        impact="VMs that start from now on reserve less memory than they may use",
        message=f"HyperConverged '{ref.name}' will overcommit memory to {choice.ratio} %{shared}",
        depends_on=depends_on,
        reasons={
            f"{where}.higherWorkloadDensity": f"VMs reserve 100/{choice.ratio} of their memory, so "
            "that more of them fit on a node; options.virtHigherDensity.memoryToRequestRatio",
            f"{where}.ksmConfiguration": "equal pages of VMs are kept once; "
            "options.virtHigherDensity.ksmConfiguration",
        },
    )


def written(selector: LabelSelector) -> Free:
    """The selector as the user wrote it: an operator is named even where it is the usual one."""
    expressions = [
        {"key": rule.key, "operator": rule.operator}
        | ({"values": list(rule.values)} if rule.values else {})
        for rule in selector.match_expressions
    ]
    shown: Free = {"matchLabels": dict(selector.match_labels)} if selector.match_labels else {}
    return shown | ({"matchExpressions": expressions} if expressions else {})


def served(facts: ClusterFacts) -> tuple[TargetRef, str]:
    """HyperConverged in the version to write, and the key under spec where things are there."""
    versions = dig(facts.crds.get(HYPERCONVERGEDS.crd), "spec", "versions") or ()
    names = [version.get("name") for version in versions if version.get("served")]
    if "v1" in names and "v1beta1" not in names:
        return HYPERCONVERGED_V1, "virtualization"
    return HYPERCONVERGED, ""


def _foreign_ratio(choice: Choice, facts: ClusterFacts) -> int | None:
    """A ratio that somebody else wants; None if there is none, or it is ours."""
    ref, prefix = served(facts)
    path = ("spec", prefix) if prefix else ("spec",)
    live = dig(facts.get(ref), *path, "higherWorkloadDensity", "memoryOvercommitPercentage")
    return None if live in (None, UNTOUCHED, choice.ratio) else int(live)

"""`load-aware-rebalancing`: nodes report pressure, and a descheduler moves VMs by real load."""

from trimtab.advisor.api import LoadAwareOptions, Options, Severity, TargetRef
from trimtab.advisor.kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    DESCHEDULER,
    HYPERCONVERGEDS,
    HYPERCONVERGEDS_V1,
    KUBE_DESCHEDULERS,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
    NAMESPACES,
    POLICY,
    RULES,
    SCHEDULER,
    SCHEDULERS,
    UPSTREAM_DESCHEDULER,
    namespace_of,
)
from trimtab.advisor.plan.pools import reads as rendered_configs
from trimtab.advisor.plan.profile import ClusterFacts, Draft, MissingError, Prerequisite, Resource
from trimtab.advisor.profiles.descheduling import descheduler_object
from trimtab.advisor.profiles.eviction_limits import HYPERCONVERGED_REFS
from trimtab.advisor.profiles.psi import capabilities, machine_config, psi_objects
from trimtab.advisor.profiles.upstream import upstream_draft

UPSTREAM_TARGETS = (POLICY, RULES, UPSTREAM_DESCHEDULER)
DESCHEDULER_NEED = Prerequisite(
    KUBE_DESCHEDULERS, "install the Kube Descheduler Operator from the OperatorHub"
)
MACHINE_CONFIG_NEED = Prerequisite(
    MACHINE_CONFIGS, "part of OpenShift; on other clusters set enablePSIMetrics: false"
)


def chosen(options: Options | None) -> LoadAwareOptions:
    """The options of this profile, or their defaults."""
    return (options and options.load_aware) or LoadAwareOptions()


class LoadAware:
    name = "load-aware-rebalancing"
    description = "Moves VMs away from nodes under pressure, by real load instead of requests"
    category = "scheduling"
    impact_summary = (
        "High: enabling PSI metrics reboots nodes; afterwards VMs are live-migrated by load"
    )
    impact: Severity = "High"
    advertisable = True

    def manages(self) -> tuple[Resource, ...]:
        return (KUBE_DESCHEDULERS, MACHINE_CONFIGS, CONFIG_MAPS, DEPLOYMENTS)

    def looks_at(self) -> tuple[Resource, ...]:
        pools = (MACHINE_CONFIG_POOLS, SCHEDULERS, NAMESPACES)
        return (*pools, HYPERCONVERGEDS, HYPERCONVERGEDS_V1)

    def targets(self) -> tuple[TargetRef, ...]:
        configs = [machine_config(role)["metadata"]["name"] for role in ("worker", "master")]
        return (DESCHEDULER, *map(MACHINE_CONFIGS.ref, configs), *UPSTREAM_TARGETS)

    def needs(self, options: Options | None) -> tuple[Prerequisite, ...]:
        wanted = chosen(options)
        if wanted.target == "upstream":
            return ()
        psi = (MACHINE_CONFIG_NEED,) if wanted.enable_psi_metrics else ()
        return (DESCHEDULER_NEED, *psi)

    def lists(self, options: Options | None) -> tuple[Resource, ...]:
        return () if chosen(options).target == "upstream" else (MACHINE_CONFIG_POOLS,)

    def reads(self, options: Options | None, facts: ClusterFacts) -> tuple[TargetRef, ...]:
        if chosen(options).target == "upstream":
            spaces = (namespace_of(POLICY), namespace_of(RULES))
            return (*HYPERCONVERGED_REFS, *spaces, *UPSTREAM_TARGETS)
        home = namespace_of(DESCHEDULER)
        return (DESCHEDULER, home, SCHEDULER, *HYPERCONVERGED_REFS, *rendered_configs(facts))

    def draft(self, options: Options | None, facts: ClusterFacts) -> Draft:
        wanted = chosen(options)
        if wanted.target == "upstream":
            require(namespace_of(POLICY), facts)
            require(namespace_of(RULES), facts)
            return upstream_draft(wanted, facts)
        require(namespace_of(DESCHEDULER), facts)
        return _openshift_draft(wanted, facts)


def require(namespace: TargetRef, facts: ClusterFacts) -> None:
    """A namespace that was looked for and is not there is somebody's to create, not ours."""
    if namespace in facts.objects and facts.get(namespace) is None:
        raise MissingError(f"namespace {namespace.name} does not exist; create it first")


def _openshift_draft(wanted: LoadAwareOptions, facts: ClusterFacts) -> Draft:
    able = capabilities(facts.crds.get(KUBE_DESCHEDULERS.crd))
    pools = facts.all(MACHINE_CONFIG_POOLS)
    psi = psi_objects(facts, pools) if wanted.enable_psi_metrics else ()
    descheduler, limits = descheduler_object(
        wanted, able, facts, depends_on=tuple(each.name for each in psi)
    )
    inputs = {
        "descheduler.profile": able.profile,
        "descheduler.customizations": list(able.customizations or ()),
        "descheduler.evictionLimits": list(able.limits),
        "psi.pools": [each.desired["metadata"]["name"] for each in psi],
    }
    return Draft(desired_objects=(*psi, descheduler), inputs=inputs | limits)

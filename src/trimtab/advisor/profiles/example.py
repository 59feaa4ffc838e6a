"""`example-profile`: one ConfigMap, nothing else; to try the workflow, and to copy from."""

from trimtab.advisor.api import Options, Severity, TargetRef
from trimtab.advisor.kinds import CONFIG_MAPS, EXAMPLE, NAMESPACES, namespace_of
from trimtab.advisor.plan.profile import (
    ClusterFacts,
    DesiredObject,
    Draft,
    OptionError,
    Prerequisite,
    Resource,
)
from trimtab.advisor.profiles.load_aware import require

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
        wish = DesiredObject(
            name=ITEM,
            desired={
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": EXAMPLE.name, "namespace": EXAMPLE.namespace},
                "data": DATA,
            },
            managed_fields=("data",),
            severity="Low",
            impact="nothing reads it",
            message=f"ConfigMap '{EXAMPLE.name}' will be configured",
            reasons={"data": "an example of what a profile sets"},
        )
        return Draft(wishes=(wish,))

"""Kinds that profiles read and write, and where their well-known objects live.

None of them is ours: OpenShift's descheduler operator, its machine configuration, KubeVirt's
HyperConverged, and the two ConfigMaps that an upstream descheduler goes by.
"""

from trimtab.advisor.api import TargetRef
from trimtab.advisor.plan.profile import Resource

KUBE_DESCHEDULERS = Resource("operator.openshift.io", "v1", "KubeDescheduler", "kubedeschedulers")
MACHINE_CONFIGS = Resource(
    "machineconfiguration.openshift.io", "v1", "MachineConfig", "machineconfigs", namespaced=False
)
MACHINE_CONFIG_POOLS = Resource(
    "machineconfiguration.openshift.io",
    "v1",
    "MachineConfigPool",
    "machineconfigpools",
    namespaced=False,
)
HYPERCONVERGEDS = Resource("hco.kubevirt.io", "v1beta1", "HyperConverged", "hyperconvergeds")
HYPERCONVERGEDS_V1 = Resource("hco.kubevirt.io", "v1", "HyperConverged", "hyperconvergeds")
SCHEDULERS = Resource("config.openshift.io", "v1", "Scheduler", "schedulers", namespaced=False)
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps")
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments")

ROLE = "machineconfiguration.openshift.io/role"
"""Label of a MachineConfig: the role of the pools that take it."""

DESCHEDULER = KUBE_DESCHEDULERS.ref("cluster", "openshift-kube-descheduler-operator")
HYPERCONVERGED = HYPERCONVERGEDS.ref("kubevirt-hyperconverged", "openshift-cnv")
HYPERCONVERGED_V1 = HYPERCONVERGEDS_V1.ref("kubevirt-hyperconverged", "openshift-cnv")
SCHEDULER = SCHEDULERS.ref("cluster")
POLICY = CONFIG_MAPS.ref("descheduler-policy", "kube-descheduler")
RULES = CONFIG_MAPS.ref("trimtab-rules", "monitoring")
UPSTREAM_DESCHEDULER = DEPLOYMENTS.ref("descheduler", "kube-descheduler")
EXAMPLE = CONFIG_MAPS.ref("example-config", "openshift-cnv")

KINDS = (
    KUBE_DESCHEDULERS,
    MACHINE_CONFIGS,
    MACHINE_CONFIG_POOLS,
    HYPERCONVERGEDS,
    HYPERCONVERGEDS_V1,
    SCHEDULERS,
    NAMESPACES,
    CONFIG_MAPS,
    DEPLOYMENTS,
)


def namespace_of(ref: TargetRef) -> TargetRef:
    """The Namespace that an object lives in."""
    return NAMESPACES.ref(ref.namespace)


def resource_of(api_version: str, kind: str) -> Resource | None:
    """The kind that an object or a reference names, if it is one of these."""
    return next((k for k in KINDS if (k.api_version, k.kind) == (api_version, kind)), None)
